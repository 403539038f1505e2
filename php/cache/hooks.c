/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls __serialize() of the objects of a value, once for each object and in
 * the order of serialize(), and keeps the answers, which are the returned
 * arrays. The walk visits the elements that serialize() would write. Each call
 * may change the value. So the walk holds a reference to each array and object
 * that it visits, and reads each element after the calls for earlier elements.
 */
#include "cache.h"
#include "ext/standard/basic_functions.h"
#include "values/graph.h"
#include "zend_exceptions.h"

/* serialize() stores deeper values, because the walk recurs. */
#define DEPTH_MOST 1024

/* The treatment of an array or object at its second visit. */
enum meeting {
	/* serialize() writes "r:", or the build reuses the record of the
	 * array */
	KNOWN = 1,
	/* serialize() writes the array or object a second time */
	WRITTEN_AGAIN,
};

struct walk {
	struct php_hone_answers *answers;
	HashTable met;                 /* enum meeting by address */
	const zend_class_entry *outer; /* the class whose answer is visited */
	const zend_class_entry
		*plain; /* the last class without __serialize() */
	unsigned depth;
	enum php_hone_hooks result;
};

static void visit(struct walk *walk, zval *value, bool shared);

static void
leave(struct walk *walk, const zend_class_entry *class)
{
	walk->result = PHP_HONE_HOOKS_LEFT;
	if (walk->outer == NULL)
		walk->outer = class;
}

/* Returns true at the first visit of an array or object. */
static bool
meet(struct walk *walk, const void *address, enum meeting again)
{
	zend_ulong key = (zend_ulong)(uintptr_t)address;
	zval *met = zend_hash_index_find(&walk->met, key), how;

	if (met == NULL) {
		ZVAL_LONG(&how, again);
		zend_hash_index_add_new(&walk->met, key, &how);
		return true;
	}
	if (Z_LVAL_P(met) == WRITTEN_AGAIN)
		leave(walk, NULL);
	return false;
}

static void
visit_array(struct walk *walk, zend_array *array, bool shared)
{
	/* Only constants of classes and of opcache are immutable. */
	if (GC_FLAGS(array) & IS_ARRAY_IMMUTABLE ||
		zend_hash_num_elements(array) == 0)
		return;
	GC_ADDREF(array);
	for (uint32_t i = 0;
		i < array->nNumUsed && walk->result == PHP_HONE_HOOKS_RUN; i++)
		visit(walk,
			HT_IS_PACKED(array) ? &array->arPacked[i]
					    : &array->arData[i].val,
			shared);
	zend_array_release(array);
}

static void
visit_properties(struct walk *walk, zend_object *object)
{
	int n = object->ce->default_properties_count;

	if (object->ce != walk->plain &&
		php_hone_class_kind(object->ce) == PHP_HONE_KIND_OPAQUE) {
		leave(walk, NULL);
		return;
	}
	walk->plain = object->ce;

	for (int i = 0; i < n && walk->result == PHP_HONE_HOOKS_RUN; i++)
		visit(walk, &object->properties_table[i], false);
	if (n == 0 && object->properties != NULL &&
		walk->result == PHP_HONE_HOOKS_RUN)
		visit_array(walk, object->properties, false);
}

/* Calls __serialize() of an object. Returns its answer, or NULL. */
static zval *
ask(struct walk *walk, zend_object *object)
{
	struct php_hone_answers *answers = walk->answers;
	zval data;

	ZVAL_UNDEF(&data);
	BG(serialize_lock)++;
	zend_call_known_instance_method_with_0_params(
		object->ce->__serialize, object, &data);
	BG(serialize_lock)--;
	if (!EG(exception) && Z_TYPE(data) != IS_ARRAY)
		zend_type_error("%s::__serialize() must return an array",
			ZSTR_VAL(object->ce->name));
	if (EG(exception)) {
		zval_ptr_dtor(&data);
		walk->result = PHP_HONE_HOOKS_FAILED;
		return NULL;
	}
	if (answers->n == answers->room) {
		answers->room = answers->room == 0 ? 16 : answers->room * 2;
		answers->of = safe_erealloc(
			answers->of, answers->room, sizeof(*answers->of), 0);
	}
	GC_ADDREF(object);
	answers->of[answers->n].object = object;
	ZVAL_COPY_VALUE(&answers->of[answers->n].data, &data);
	return &answers->of[answers->n++].data;
}

static void
visit_answer(struct walk *walk, zend_object *object)
{
	const zend_class_entry *outer = walk->outer;
	const zval *data;

	if (php_hone_object_is_lazy(object) ||
		php_hone_class_kind(object->ce) != PHP_HONE_KIND_DATA) {
		leave(walk, NULL);
		return;
	}
	if (outer == NULL)
		walk->outer = object->ce;
	data = ask(walk, object);
	if (data != NULL)
		visit_array(
			walk, Z_ARR_P(data), GC_REFCOUNT(Z_ARR_P(data)) > 1);
	if (walk->result == PHP_HONE_HOOKS_RUN)
		walk->outer = outer;
}

static void
visit_object(struct walk *walk, zend_object *object, bool shared)
{
	/* serialize() looks for a repeated object only if the object or an
	 * outer array has several references. */
	enum meeting again =
		shared || GC_REFCOUNT(object) > 1 ? KNOWN : WRITTEN_AGAIN;

	if ((object->ce->ce_flags & ZEND_ACC_ENUM) ||
		!meet(walk, object, again))
		return;
	GC_ADDREF(object);
	if (object->ce->__serialize != NULL)
		visit_answer(walk, object);
	else
		visit_properties(walk, object);
	OBJ_RELEASE(object);
}

static void
visit(struct walk *walk, zval *value, bool shared)
{
	if (Z_TYPE_P(value) == IS_INDIRECT)
		value = Z_INDIRECT_P(value);
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) != IS_ARRAY && Z_TYPE_P(value) != IS_OBJECT)
		return;
	if (walk->depth == DEPTH_MOST) {
		leave(walk, NULL);
		return;
	}
	walk->depth++;
	if (Z_TYPE_P(value) == IS_OBJECT) {
		visit_object(walk, Z_OBJ_P(value), shared);
	} else {
		zend_array *array = Z_ARR_P(value);
		bool first = true;
		shared |= GC_REFCOUNT(array) > 1;
		if (shared)
			first = meet(walk, array,
				walk->depth == 1 ? WRITTEN_AGAIN : KNOWN);
		if (first)
			visit_array(walk, array, shared && walk->depth > 1);
	}
	walk->depth--;
}

enum php_hone_hooks
php_hone_hooks_run(zval *value, struct php_hone_answers *answers)
{
	struct walk walk = {.answers = answers, .result = PHP_HONE_HOOKS_RUN};

	memset(answers, 0, sizeof(*answers));
	zend_hash_init(&walk.met, 16, NULL, NULL, false);
	visit(&walk, value, false);
	zend_hash_destroy(&walk.met);
	if (walk.result == PHP_HONE_HOOKS_LEFT && walk.outer != NULL)
		php_hone_builder_leave(&HONE_G(cache).builder, walk.outer);
	return walk.result;
}

void
php_hone_hooks_free(struct php_hone_answers *answers)
{
	for (uint32_t i = 0; i < answers->n; i++) {
		zval_ptr_dtor(&answers->of[i].data);
		OBJ_RELEASE(answers->of[i].object);
	}
	if (answers->of != NULL)
		efree(answers->of);
}
