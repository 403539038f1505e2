/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls __serialize() or __sleep() of the objects of a value, once for each
 * object and in the order of serialize(), and keeps the answers. Each call may
 * change the value. So the walk with calls holds a reference to each array and
 * object that it visits, and reads each element after the calls for earlier
 * ones.
 *
 * The same walk without calls first looks for what only serialize() can store,
 * and keeps the way to each object that has a method. The walk with calls goes
 * these ways only. If a method adds an object elsewhere, the build finds an
 * object without its answer, or another number of objects, and serialize()
 * stores the value.
 */
#include "../cache.h"
#include "ext/standard/basic_functions.h"
#include "../values/graph.h"
#include "zend_exceptions.h"

/* serialize() stores deeper values, because the walk recurs. */
#define DEPTH_MOST 1024

/* The same where the stack has no room for serialize(). */
#define DEPTH_SHORT 4096

/* Bytes of the stack for a method. PHP 8.3 throws if there are none. */
#define METHOD_STACK ((size_t)8 << 10)

/* The treatment of an array or object at its second visit. */
enum meeting {
	/* serialize() writes "r:", or the build reuses the record of the
	 * array */
	KNOWN = 1,
	/* serialize() writes the array or object a second time */
	WRITTEN_AGAIN,
	/* the array contains itself */
	IN_ITSELF,
};

/* An element that leads to an object with a method. */
struct step {
	uint32_t index; /* of the element, or the slot of the property */
	uint32_t end;   /* the number of the step after those below it */
};

/* Of what is not on the way to such an object: all elements are visited. */
#define NO_STEP UINT32_MAX

struct walk {
	struct php_hone_answers *answers;
	HashTable met;                 /* enum meeting by address */
	HashTable seen;                /* the same of the walk without calls */
	const zend_class_entry *outer; /* the class whose answer is visited */
	bool calls;                    /* false: the walk without calls */
	unsigned depth, unchecked, deepest;
	unsigned left; /* the depth of leave() */
	uintptr_t stack_limit;
	enum php_hone_built result;
	enum php_hone_refused refused; /* the reason for that result */
	struct step *steps; /* the ways to all objects with methods */
	uint32_t n, room;
	uint32_t asked; /* the number of such objects */
};

static void visit(struct walk *walk, zval *value, bool shared, uint32_t step);

static zend_always_inline bool
goes_on(const struct walk *walk)
{
	return walk->result == PHP_HONE_BUILT_GRAPH;
}

static void
leave(struct walk *walk)
{
	walk->result = PHP_HONE_BUILT_TEXT;
	walk->left = walk->depth;
}

/* The enum meeting of an address in this walk, or null at the first visit. */
static zval *
meeting_of(struct walk *walk, const void *address)
{
	return zend_hash_index_lookup(walk->calls ? &walk->met : &walk->seen,
		(zend_ulong)(uintptr_t)address);
}

/* Returns true at the first visit of an array or object. */
static bool
meet(struct walk *walk, const void *address, enum meeting again)
{
	zval *met = meeting_of(walk, address);

	if (Z_TYPE_P(met) == IS_NULL) {
		ZVAL_LONG(met, again);
		return true;
	}
	if (Z_LVAL_P(met) != KNOWN)
		leave(walk);
	return false;
}

/* Such a key becomes an integer in unserialize(). Only methods of classes in C,
 * as SplFixedArray, return such arrays. */
static bool
has_number_as_string(const zend_array *array)
{
	zend_string *key;
	zend_ulong number;

	if (HT_IS_PACKED(array))
		return false;
	ZEND_HASH_MAP_FOREACH_STR_KEY((zend_array *)array, key)
	{
		if (key != NULL && ZEND_HANDLE_NUMERIC_STR(ZSTR_VAL(key),
					   ZSTR_LEN(key), number))
			return true;
	}
	ZEND_HASH_FOREACH_END();
	return false;
}

/* Visits an element, and keeps the step if it leads to a method. */
static zend_always_inline void
visit_step(struct walk *walk, zval *value, bool shared, uint32_t index)
{
	uint32_t step = walk->n, asked = walk->asked;

	if (UNEXPECTED(step == walk->room)) {
		walk->room = walk->room == 0 ? 16 : walk->room * 2;
		walk->steps = safe_erealloc(
			walk->steps, walk->room, sizeof(*walk->steps), 0);
	}
	walk->steps[step].index = index;
	walk->n = step + 1;
	visit(walk, value, shared, NO_STEP);
	if (EXPECTED(walk->asked == asked))
		walk->n = step;
	else
		walk->steps[step].end = walk->n;
}

static zend_always_inline bool
are_flat(const zval *first, size_t size, uint32_t n)
{
	const char *at = (const char *)first;

	for (; n != 0; n--, at += size)
		if (Z_TYPE_P((const zval *)at) > IS_STRING)
			return false;
	return true;
}

/* Whether a visit would only count the object. */
static zend_always_inline bool
is_flat(const zend_object *object)
{
	const zend_array *table = object->properties;
	uint32_t n = (uint32_t)object->ce->default_properties_count;

	return GC_REFCOUNT(object) == 1 &&
	       php_hone_object_is_silent(&HONE_G(cache).builder, object) &&
	       are_flat(object->properties_table, sizeof(zval), n) &&
	       (n != 0 || table == NULL ||
		       (!HT_IS_PACKED(table) &&
			       are_flat(&table->arData->val, sizeof(Bucket),
				       table->nNumUsed)));
}

/* The walk without calls. */
static zend_always_inline void
look_at(struct walk *walk, zval *first, size_t size, uint32_t n, bool shared)
{
	for (uint32_t i = 0; i < n && goes_on(walk); i++) {
		zval *value = (zval *)((char *)first + i * size);
		if (EXPECTED(Z_TYPE_P(value) <= IS_STRING))
			continue;
		if (!shared && Z_TYPE_P(value) == IS_OBJECT &&
			is_flat(Z_OBJ_P(value)))
			walk->answers->objects++;
		else
			visit_step(walk, value, shared, i);
	}
}

/* Whether the walk with calls goes on below an element by its steps. */
static zend_always_inline bool
has_steps(const struct walk *walk, uint32_t step)
{
	return step != NO_STEP && walk->steps[step].end != step + 1;
}

/* The walk with calls. A method may have changed what it visits. */
static void
visit_again(struct walk *walk, zval *first, size_t size, uint32_t n,
	bool shared, uint32_t step)
{
	uint32_t end = has_steps(walk, step) ? walk->steps[step].end : 0;

	for (uint32_t i = 0; end == 0 && i < n && goes_on(walk); i++) {
		zval *value = (zval *)((char *)first + i * size);
		if (Z_TYPE_P(value) > IS_STRING)
			visit(walk, value, shared, NO_STEP);
	}
	for (uint32_t i = step + 1; i < end && goes_on(walk);
		i = walk->steps[i].end) {
		uint32_t index = walk->steps[i].index;
		if (index < n)
			visit(walk, (zval *)((char *)first + index * size),
				shared, i);
	}
}

/* Elements at a distance of `size` bytes, of the element of `step`. */
static zend_always_inline void
visit_elements(struct walk *walk, zval *first, size_t size, uint32_t n,
	bool shared, uint32_t step)
{
	if (walk->calls)
		visit_again(walk, first, size, n, shared, step);
	else
		look_at(walk, first, size, n, shared);
}

static void
visit_array(struct walk *walk, zend_array *array, bool shared, uint32_t step)
{
	/* Only constants of classes and of opcache are immutable. */
	if (GC_FLAGS(array) & IS_ARRAY_IMMUTABLE ||
		zend_hash_num_elements(array) == 0)
		return;
	GC_ADDREF(array);
	if (HT_IS_PACKED(array))
		visit_elements(walk, array->arPacked, sizeof(zval),
			array->nNumUsed, shared, step);
	else
		visit_elements(walk, &array->arData->val, sizeof(Bucket),
			array->nNumUsed, shared, step);
	zend_array_release(array);
}

static void
visit_properties(struct walk *walk, zend_object *object, uint32_t step)
{
	uint32_t n = (uint32_t)object->ce->default_properties_count;

	if (n != 0)
		visit_elements(walk, object->properties_table, sizeof(zval), n,
			false, step);
	else if (object->properties != NULL)
		visit_array(walk, object->properties, false, step);
}

static void
add_answer(struct walk *walk, zend_object *object, const zval *data)
{
	struct php_hone_answers *answers = walk->answers;

	if (answers->n == answers->room) {
		answers->room = answers->room == 0 ? 16 : answers->room * 2;
		answers->of = safe_erealloc(
			answers->of, answers->room, sizeof(*answers->of), 0);
	}
	GC_ADDREF(object);
	answers->of[answers->n].object = object;
	ZVAL_COPY_VALUE(&answers->of[answers->n].data, data);
	answers->n++;
}

static void
visit_answer(struct walk *walk, zend_object *object)
{
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
		walk->result = PHP_HONE_BUILT_REFUSED;
		return;
	}
	add_answer(walk, object, &data);
	if (has_number_as_string(Z_ARR(data)))
		leave(walk);
	else
		visit_array(walk, Z_ARR(data), GC_REFCOUNT(Z_ARR(data)) > 1,
			NO_STEP);
}

/* The number of the declared property that __sleep() names, or -1. */
static int
slot_of(zend_class_entry *class, zend_string *name)
{
	const zend_property_info *info = NULL;
	int n = class->default_properties_count;

	if (ZSTR_VAL(name)[0] == '\0') {
		for (int i = 0; i < n; i++)
			if (class->properties_info_table[i] != NULL &&
				zend_string_equals(
					class->properties_info_table[i]->name,
					name))
				return i;
		return -1;
	}
	info = zend_hash_find_ptr(&class->properties_info, name);
	if (info == NULL || (info->flags & ZEND_ACC_STATIC) ||
		((info->flags & ZEND_ACC_PRIVATE) && info->ce != class))
		return -1;
	for (int i = 0; i < n; i++)
		if (class->properties_info_table[i] == info)
			return i;
	return -1;
}

/* Sets places and slots, in the order of the names. Returns false if
 * serialize() warns of a name, or throws. */
static bool
place_names(zend_object *object, zend_array *names, uint32_t *places,
	uint32_t *slots)
{
	uint32_t place = 0;
	zval *name;

	ZEND_HASH_FOREACH_VAL(names, name)
	{
		int i = -1;
		/* A later method may change the variable of a reference. */
		if (Z_TYPE_P(name) == IS_STRING)
			i = slot_of(object->ce, Z_STR_P(name));
		if (i < 0 || places[i] != 0 ||
			Z_TYPE(object->properties_table[i]) == IS_UNDEF)
			return false;
		slots[place] = (uint32_t)i;
		places[i] = ++place;
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

/* Keeps the answer of __sleep(), and visits the properties in the order of the
 * names. */
static void
visit_named(struct walk *walk, zend_object *object, zend_array *names)
{
	uint32_t n = (uint32_t)object->ce->default_properties_count;
	uint32_t *slots = safe_emalloc(n, sizeof(*slots), 1);
	zval places;

	ZVAL_STR(&places, zend_string_alloc(n * sizeof(uint32_t), false));
	memset(Z_STRVAL(places), 0, n * sizeof(uint32_t));
	add_answer(walk, object, &places);
	if (!place_names(object, names, (uint32_t *)Z_STRVAL(places), slots))
		leave(walk);
	for (uint32_t i = 0; i < zend_hash_num_elements(names) && goes_on(walk);
		i++)
		visit(walk, &object->properties_table[slots[i]], false,
			NO_STEP);
	efree(slots);
}

static void
visit_sleeper(struct walk *walk, zend_object *object)
{
	zend_function *sleep = zend_hash_str_find_ptr(
		&object->ce->function_table, "__sleep", sizeof "__sleep" - 1);
	zval names;

	ZVAL_UNDEF(&names);
	BG(serialize_lock)++;
	zend_call_known_instance_method_with_0_params(sleep, object, &names);
	BG(serialize_lock)--;
	if (EG(exception)) {
		walk->result = PHP_HONE_BUILT_REFUSED;
	} else if (Z_TYPE(names) != IS_ARRAY) {
		leave(walk);
	} else {
		visit_named(walk, object, Z_ARR(names));
	}
	zval_ptr_dtor(&names);
}

static void
visit_asked(struct walk *walk, zend_object *object, uint32_t kind)
{
	const zend_class_entry *outer = walk->outer;

	if (php_hone_object_is_lazy(object)) {
		leave(walk);
		return;
	}
	if (outer == NULL)
		walk->outer = object->ce;
	if (kind == PHP_HONE_KIND_DATA)
		visit_answer(walk, object);
	else
		visit_sleeper(walk, object);
	if (goes_on(walk))
		walk->outer = outer;
}

static void
visit_object(struct walk *walk, zend_object *object, bool shared, uint32_t step)
{
	/* serialize() looks for a repeated object only if the object or an
	 * outer array has several references. */
	bool repeated = shared || GC_REFCOUNT(object) > 1;
	uint32_t kind;
	bool asked;

	if (object->ce->ce_flags & ZEND_ACC_ENUM)
		return;
	kind = php_hone_object_kind(&HONE_G(cache).builder, object);
	asked = kind & (PHP_HONE_KIND_DATA | PHP_HONE_KIND_SLEEP);
	/* The others are counted: a build visits each object once. */
	if ((repeated || (asked && walk->calls)) &&
		!meet(walk, object, repeated ? KNOWN : WRITTEN_AGAIN))
		return;
	if (kind & PHP_HONE_KIND_OPAQUE) {
		leave(walk);
		return;
	}
	if (asked && !walk->calls) {
		walk->asked++;
		return;
	}
	/* The walk without calls has counted what has steps, and some objects
	 * that answers have. */
	if (!walk->calls ||
		!(has_steps(walk, step) ||
			(repeated && !asked &&
				zend_hash_index_exists(&walk->seen,
					(zend_ulong)(uintptr_t)object))))
		walk->answers->objects++;
	/* The release may run PHP's cycle collector, and so destructors. */
	if (walk->calls)
		GC_ADDREF(object);
	if (asked)
		visit_asked(walk, object, kind);
	else
		visit_properties(walk, object, step);
	if (walk->calls)
		OBJ_RELEASE(object);
}

static void
visit_member(struct walk *walk, zend_array *array, bool shared, uint32_t step)
{
	enum meeting again = walk->depth == 1 ? WRITTEN_AGAIN : KNOWN;

	if (walk->outer != NULL && has_number_as_string(array)) {
		leave(walk);
	} else if (!shared && GC_REFCOUNT(array) == 1) {
		visit_array(walk, array, false, step);
	} else if (meet(walk, array, walk->calls ? again : IN_ITSELF)) {
		visit_array(walk, array, walk->depth > 1, step);
		if (!walk->calls)
			ZVAL_LONG(meeting_of(walk, array), KNOWN);
	}
}

static zend_never_inline void
check_level(struct walk *walk)
{
	if (php_hone_stack_is_past(walk->stack_limit)) {
		walk->result = PHP_HONE_BUILT_REFUSED;
		walk->refused = PHP_HONE_REFUSED_STACK;
	} else if (walk->depth == walk->deepest) {
		leave(walk);
	}
}

static void
visit(struct walk *walk, zval *value, bool shared, uint32_t step)
{
	if (Z_TYPE_P(value) == IS_INDIRECT)
		value = Z_INDIRECT_P(value);
	if (Z_ISREF_P(value)) {
		uint32_t references = Z_REFCOUNT_P(value);
		value = Z_REFVAL_P(value);
		/* serialize() makes references of all places. The walk has no
		 * table of references: answers that double through them would
		 * take exponential time. */
		if (references > 1 || (Z_TYPE_P(value) == IS_OBJECT &&
					      Z_REFCOUNT_P(value) > 1))
			leave(walk);
	}
	if (Z_TYPE_P(value) == IS_RESOURCE)
		leave(walk);
	if (UNEXPECTED(walk->depth >= walk->unchecked))
		check_level(walk);
	if (!goes_on(walk))
		return;
	walk->depth++;
	if (Z_TYPE_P(value) == IS_OBJECT)
		visit_object(walk, Z_OBJ_P(value), shared, step);
	else if (Z_TYPE_P(value) == IS_ARRAY)
		visit_member(walk, Z_ARR_P(value), shared, step);
	walk->depth--;
}

enum php_hone_built
php_hone_hooks_run(zval *value, struct php_hone_answers *answers)
{
	bool serializes = php_hone_stack_serializes(DEPTH_SHORT);
	struct walk walk = {.answers = answers,
		.unchecked = php_hone_stack_unchecked(DEPTH_MOST),
		.deepest = serializes ? DEPTH_MOST : DEPTH_SHORT,
		.stack_limit = php_hone_stack_limit() +
			       MIN(php_hone_stack_left() / 8, METHOD_STACK),
		.result = PHP_HONE_BUILT_GRAPH,
		.refused = PHP_HONE_REFUSED_TOLD};

	zend_hash_init(&walk.seen, 16, NULL, NULL, false);
	zend_hash_init(&walk.met, 16, NULL, NULL, false);
	visit_step(&walk, value, false, 0);
	if (goes_on(&walk) && walk.asked != 0) {
		walk.calls = true;
		visit(&walk, value, false, 0);
	}
	zend_hash_destroy(&walk.met);
	zend_hash_destroy(&walk.seen);
	if (walk.steps != NULL)
		efree(walk.steps);
	if (walk.result == PHP_HONE_BUILT_TEXT &&
		!php_hone_stack_serializes(walk.left)) {
		walk.result = PHP_HONE_BUILT_REFUSED;
		walk.refused = PHP_HONE_REFUSED_STACK;
	}
	/* A destructor may have thrown after the last method. */
	if (EG(exception)) {
		walk.result = PHP_HONE_BUILT_REFUSED;
		walk.refused = PHP_HONE_REFUSED_TOLD;
	}
	if (walk.result == PHP_HONE_BUILT_REFUSED)
		HONE_G(cache).builder.refused = walk.refused;
	if (walk.result == PHP_HONE_BUILT_TEXT && walk.outer != NULL)
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
	memset(answers, 0, sizeof(*answers));
}
