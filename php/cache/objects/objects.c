/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes new objects from the stored structure (values/graph.h) after all
 * classes were looked up. Values that unserialize() would reject are passed to
 * it, as text. The methods are called when all objects are complete.
 */
#include "../cache.h"
#include "ext/standard/basic_functions.h"
#include "../values/graph.h"
#include "zend_enum.h"
#include "zend_exceptions.h"

enum made {
	MADE,
	/* the caller uses unserialize() */
	DOUBT,
	/* there is an exception */
	FAILED,
};

struct class_of {
	zend_class_entry *class; /* NULL before the lookup */
	const zval *defaults;
	size_t size; /* of an object, in bytes */
	uint32_t kind;
	uint32_t declared; /* stored properties; 0 with an answer */
	bool typed;
	bool loose; /* objects may have dynamic properties */
};

struct making {
	const zval *nodes; /* of the objects */
	uint32_t n_objects;
	const zval *lists; /* the arrays with objects */
	uint32_t n_arrays;
	struct class_of *classes;
	uint32_t n_shapes;
	/* Without a reference to each: all objects and arrays have markers, and
	 * put_made() counts these references. */
	zend_object **objects;
	zend_array **arrays;
	uint32_t made, arrays_made;
	uint32_t *marked; /* the numbers of the objects that have markers */
	uint32_t n_marked;
	bool listed;       /* dynamic properties of an object are in `arrays` */
	const zval *calls; /* the numbers of objects */
	uint32_t n_calls;
};

static zend_always_inline const zval *
list_of(const zval *list)
{
	return Z_ARR_P(list)->arPacked;
}

/* Whether the class has the stored declared properties, in the stored order. */
static bool
has_properties(const zend_class_entry *class, const zval *names, uint32_t n)
{
	if ((uint32_t) class->default_properties_count != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const zend_property_info *info =
			class->properties_info_table[i];
		if (info == NULL ||
			!zend_string_equals(info->name, Z_STR(names[i])))
			return false;
	}
	return true;
}

static bool
has_types(const zend_class_entry *class)
{
	for (int i = 0; i < class->default_properties_count; i++)
		if (ZEND_TYPE_IS_SET(class->properties_info_table[i]->type))
			return true;
	return false;
}

static enum made
look_up(struct class_of *of, const zend_array *shape)
{
	const zval *head = shape->arPacked;
	uint32_t kind = (uint32_t)Z_LVAL(head[PHP_HONE_SHAPE_KIND]);
	uint32_t declared = shape->nNumUsed - PHP_HONE_SHAPE_HEAD;
	zend_class_entry *class;

	/* As in unserialize(): the autoloader may itself call unserialize(). */
	BG(serialize_lock)++;
	class = zend_lookup_class(Z_STR(head[PHP_HONE_SHAPE_CLASS]));
	BG(serialize_lock)--;
	if (EG(exception))
		return FAILED;
	if (class == NULL ||
		(php_hone_class_kind(class) & ~(uint32_t)PHP_HONE_KIND_SLEEP) !=
			kind ||
		(kind != PHP_HONE_KIND_DATA &&
			!has_properties(
				class, head + PHP_HONE_SHAPE_HEAD, declared)))
		return DOUBT;
	/* Of an enum, unserialize() evaluates only the case. */
	if (kind != PHP_HONE_KIND_ENUM &&
		!(class->ce_flags & ZEND_ACC_CONSTANTS_UPDATED) &&
		zend_update_class_constants(class) != SUCCESS)
		return FAILED;
	of->class = class;
	of->defaults = CE_DEFAULT_PROPERTIES_TABLE(class);
	of->kind = kind;
	of->declared = declared;
	of->typed = kind != PHP_HONE_KIND_DATA && has_types(class);
	of->loose = php_hone_class_is_loose(class);
	of->size = sizeof(zend_object) + zend_object_properties_size(class);
	return MADE;
}

static zend_always_inline const struct class_of *
class_of(const struct making *making, const zval *node)
{
	const zval *shape = list_of(&node[PHP_HONE_NODE_SHAPE]);

	return &making->classes[Z_LVAL(shape[PHP_HONE_SHAPE_NUMBER])];
}

static enum made
look_up_all(struct making *making)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < making->n_objects && seen < making->n_shapes;
		i++) {
		const zval *node = list_of(&making->nodes[i]);
		struct class_of *of = (struct class_of *)class_of(making, node);
		enum made result;
		if (of->class != NULL)
			continue;
		result = look_up(of, Z_ARR(node[PHP_HONE_NODE_SHAPE]));
		if (result != MADE)
			return result;
		seen++;
	}
	return MADE;
}

/* Whether a value other than an object has the type of the property. */
static zend_always_inline bool
fits(const zend_class_entry *class, uint32_t i, const zval *value)
{
	const zend_property_info *info = class->properties_info_table[i];

	return !ZEND_TYPE_IS_SET(info->type) ||
	       ZEND_TYPE_CONTAINS_CODE(info->type, Z_TYPE_P(value));
}

static zend_object *
case_of(const zend_class_entry *class, zend_string *name)
{
	zend_class_constant *constant = zend_hash_find_ptr(
		CE_CONSTANTS_TABLE((zend_class_entry *)class), name);

	if (constant == NULL ||
		!(ZEND_CLASS_CONST_FLAGS(constant) & ZEND_CLASS_CONST_IS_CASE))
		return NULL;
	/* zend_enum_get_case() assumes that this succeeds. */
	if (Z_TYPE(constant->value) == IS_CONSTANT_AST &&
		zval_update_constant_ex(&constant->value, constant->ce) !=
			SUCCESS)
		return NULL;
	return zend_enum_get_case((zend_class_entry *)class, name);
}

/* What a fill() has found, as bits. */
enum {
	FOUND_MARKER = 1,
	FOUND_MISFIT = 2, /* a value that does not have the type */
};

static zend_always_inline unsigned
fill(zend_object *object, const struct class_of *of, const zval *from)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < of->declared; i++) {
		zval *to = &object->properties_table[i];
		to->u2.extra = 0;
		if (Z_TYPE(from[i]) == IS_UNDEF) {
			ZVAL_COPY_PROP(to, &of->defaults[i]);
		} else if (Z_TYPE(from[i]) == IS_OBJECT) {
			ZVAL_UNDEF(to);
			found |= FOUND_MARKER;
		} else {
			ZVAL_COPY(to, &from[i]);
			if (of->typed && !fits(of->class, i, to))
				found |= FOUND_MISFIT;
		}
	}
	return found;
}

/* Does what zend_objects_new() does, with the size that is known. The caller
 * sets the properties before the next allocation. */
static zend_always_inline zend_object *
new_object(const struct class_of *of)
{
	const size_t least = sizeof(zend_object) - sizeof(zval);
	zend_object *object =
		of->size == least ? emalloc(least) : emalloc(of->size);

	zend_object_std_init(object, of->class);
#if PHP_VERSION_ID >= 80300
	object->handlers = of->class->default_object_handlers;
#else
	object->handlers = zend_get_std_object_handlers();
#endif
	return object;
}

/* A constant size leads to the list of free memory of this size. */
static zend_always_inline void *
new_buckets(size_t size)
{
	const size_t size_of_8 =
		HT_SIZE_EX(HT_MIN_SIZE, HT_SIZE_TO_MASK(HT_MIN_SIZE));

	if (size == size_of_8)
		return emalloc(size_of_8);
	if (size == size_of_8 * 2)
		return emalloc(size_of_8 * 2);
	return emalloc(size);
}

/* Copies a table of properties, which is not empty, as zend_array_dup() does.
 * The elements of an immutable table need no reference. */
static zend_always_inline zend_array *
copy_table(zend_array *from)
{
	zend_array *to;

	if (!(GC_FLAGS(from) & IS_ARRAY_IMMUTABLE))
		return zend_array_dup(from);
	to = emalloc(sizeof(*to));
	*to = *from;
	GC_SET_REFCOUNT(to, 1);
	GC_TYPE_INFO(to) = GC_ARRAY;
	to->pDestructor = ZVAL_PTR_DTOR;
	HT_SET_DATA_ADDR(to, new_buckets(HT_SIZE(from)));
	memcpy(HT_GET_DATA_ADDR(to), HT_GET_DATA_ADDR(from),
		HT_USED_SIZE(from));
	return to;
}

static void
add_object(struct making *making, zend_object *object)
{
	GC_SET_REFCOUNT(object, 0);
	making->objects[making->made++] = object;
}

/* Make an object for __unserialize(), which sets its state. */
static enum made
make_empty(struct making *making, zend_class_entry *class)
{
	zval object;

	if (object_init_ex(&object, class) != SUCCESS)
		return EG(exception) ? FAILED : DOUBT;
	add_object(making, Z_OBJ(object));
	return EG(exception) ? FAILED : MADE;
}

static enum made
make_case(struct making *making, const struct class_of *of, const zval *node)
{
	zend_object *object =
		case_of(of->class, Z_STR(node[PHP_HONE_NODE_HEAD]));

	if (object == NULL)
		return EG(exception) ? FAILED : DOUBT;
	making->objects[making->made++] = object;
	return MADE;
}

static zend_always_inline enum made
make_plain(struct making *making, const struct class_of *of, const zval *node)
{
	const zval *properties = &node[PHP_HONE_NODE_PROPERTIES];
	zend_object *object;
	unsigned found;

	/* unserialize() warns of dynamic properties, or throws. */
	if (Z_TYPE_P(properties) != IS_NULL && !of->loose)
		return DOUBT;
	object = new_object(of);
	found = fill(object, of, node + PHP_HONE_NODE_HEAD);
	add_object(making, object);
	if (Z_TYPE_P(properties) == IS_ARRAY) {
		/* A copy, because array_walk() writes to the table and ignores
		 * its reference count. */
		object->properties = copy_table(Z_ARR_P(properties));
	} else if (Z_TYPE_P(properties) == IS_OBJECT) {
		making->listed = true;
		found |= FOUND_MARKER;
	}
	if (found & FOUND_MARKER)
		making->marked[making->n_marked++] = making->made - 1;
	return found & FOUND_MISFIT ? DOUBT : MADE;
}

static zend_always_inline void
put_made(const struct making *making, zval *to, zend_long number)
{
	if (number >= 0) {
		ZVAL_OBJ_COPY(to, making->objects[number]);
	} else {
		GC_ADDREF(making->arrays[~number]);
		ZVAL_ARR(to, making->arrays[~number]);
	}
}

static zend_always_inline void
replace_marker(const struct making *making, zval *element)
{
	if (Z_TYPE_INFO_P(element) == IS_OBJECT)
		put_made(making, element, Z_LVAL_P(element));
}

static void
make_array(struct making *making, zend_array *from)
{
	zend_array *array = zend_array_dup(from);

	if (HT_IS_PACKED(array))
		for (uint32_t i = 0; i < array->nNumUsed; i++)
			replace_marker(making, &array->arPacked[i]);
	else
		for (uint32_t i = 0; i < array->nNumUsed; i++)
			replace_marker(making, &array->arData[i].val);
	GC_SET_REFCOUNT(array, 0);
	making->arrays[making->arrays_made++] = array;
}

static enum made
verify(const zend_class_entry *class, uint32_t i, zval *value)
{
	zend_property_info *info = class->properties_info_table[i];

	if (fits(class, i, value))
		return MADE;
	if (Z_TYPE_P(value) != IS_OBJECT)
		return DOUBT;
	if (ZEND_TYPE_HAS_NAME(info->type) &&
		zend_string_equals(
			ZEND_TYPE_NAME(info->type), Z_OBJCE_P(value)->name))
		return MADE;
	/* zend_verify_property_type() looks up class names, and calls no code
	 * of the user. */
	if (zend_verify_property_type(info, value, true))
		return MADE;
	zend_clear_exception();
	return DOUBT;
}

static enum made
complete(struct making *making, zend_object *object, const zval *node)
{
	const struct class_of *of = class_of(making, node);
	const zval *properties = &node[PHP_HONE_NODE_PROPERTIES];
	const zval *from = node + PHP_HONE_NODE_HEAD;
	zval array;

	if (Z_TYPE_P(properties) == IS_OBJECT) {
		put_made(making, &array, Z_LVAL_P(properties));
		object->properties = Z_ARR(array);
	}
	for (uint32_t i = 0; i < of->declared; i++) {
		zval *to = &object->properties_table[i];
		if (Z_TYPE(from[i]) != IS_OBJECT)
			continue;
		put_made(making, to, Z_LVAL(from[i]));
		if (of->typed && verify(of->class, i, to) != MADE)
			return DOUBT;
	}
	return MADE;
}

/* Copy tables of dynamic properties that the value also has as arrays:
 * array_walk() would change both. */
static void
separate_properties(struct making *making)
{
	for (uint32_t i = 0; i < making->n_objects; i++) {
		zend_object *object = making->objects[i];
		const struct class_of *of =
			class_of(making, list_of(&making->nodes[i]));
		zend_array *table = object->properties;
		if (table != NULL && GC_REFCOUNT(table) > 1 &&
			of->kind != PHP_HONE_KIND_DATA) {
			object->properties = zend_array_dup(table);
			GC_DELREF(table);
		}
	}
}

static enum made
make_objects(struct making *making)
{
	enum made result = MADE;

	for (uint32_t i = 0; i < making->n_objects && result == MADE; i++) {
		const zval *node = list_of(&making->nodes[i]);
		const struct class_of *of = class_of(making, node);
		if (PHP_HONE_HAS_OOM())
			return FAILED;
		if (of->kind == PHP_HONE_KIND_ENUM)
			result = make_case(making, of, node);
		else if (of->kind == PHP_HONE_KIND_DATA)
			result = make_empty(making, of->class);
		else
			result = make_plain(making, of, node);
	}
	return result;
}

static enum made
make_all(struct making *making)
{
	enum made result = make_objects(making);

	if (result != MADE)
		return result;
	for (uint32_t i = 0; i < making->n_arrays; i++) {
		if (PHP_HONE_HAS_OOM())
			return FAILED;
		make_array(making, Z_ARR(making->lists[i]));
	}
	for (uint32_t i = 0; i < making->n_marked && result == MADE; i++) {
		uint32_t number = making->marked[i];
		result = complete(making, making->objects[number],
			list_of(&making->nodes[number]));
	}
	if (result == MADE && making->listed)
		separate_properties(making);
	return result;
}

/* Free all objects and arrays without destructors, as unserialize() does. */
static void
unmake(struct making *making)
{
	zval value;

	for (uint32_t i = 0; i < making->made; i++)
		GC_ADDREF(making->objects[i]);
	for (uint32_t i = 0; i < making->arrays_made; i++)
		GC_ADDREF(making->arrays[i]);
	for (uint32_t i = 0; i < making->made; i++) {
		zend_object *object = making->objects[i];
		if (object->ce->ce_flags & ZEND_ACC_ENUM)
			continue;
		GC_ADD_FLAGS(object, IS_OBJ_DESTRUCTOR_CALLED);
		for (int k = 0; k < object->ce->default_properties_count; k++) {
			ZVAL_COPY_VALUE(&value, &object->properties_table[k]);
			ZVAL_UNDEF(&object->properties_table[k]);
			zval_ptr_dtor(&value);
		}
	}
	for (uint32_t i = 0; i < making->arrays_made; i++)
		zend_array_release(making->arrays[i]);
	for (uint32_t i = 0; i < making->made; i++)
		OBJ_RELEASE(making->objects[i]);
}

struct call {
	zend_object *object;
	zval data; /* undefined: __wakeup() */
};

static void
take_calls(struct making *making, struct call *calls)
{
	for (uint32_t i = 0; i < making->n_calls; i++) {
		zend_long number = Z_LVAL(making->calls[i]);
		const zval *node = list_of(&making->nodes[number]);
		const zval *data = &node[PHP_HONE_NODE_PROPERTIES];
		calls[i].object = making->objects[number];
		GC_ADDREF(calls[i].object);
		if (class_of(making, node)->kind != PHP_HONE_KIND_DATA)
			ZVAL_UNDEF(&calls[i].data);
		else if (Z_TYPE_P(data) == IS_OBJECT)
			put_made(making, &calls[i].data, Z_LVAL_P(data));
		else
			ZVAL_COPY(&calls[i].data, data);
	}
}

/* As unserialize() does. */
static bool
call(struct call *call)
{
	zval object, name, result;
	bool good;

	BG(serialize_lock)++;
	if (Z_TYPE(call->data) == IS_UNDEF) {
		ZVAL_OBJ(&object, call->object);
		ZVAL_STRINGL(&name, "__wakeup", sizeof "__wakeup" - 1);
		ZVAL_UNDEF(&result);
		good = call_user_function(NULL, &object, &name, &result, 0,
			       NULL) != FAILURE &&
		       Z_TYPE(result) != IS_UNDEF;
		zval_ptr_dtor(&result);
		zval_ptr_dtor(&name);
	} else if (!PHP_HONE_HAS_OOM() &&
		   php_hone_date_make(call->object, &call->data)) {
		good = true;
	} else {
		zend_call_known_instance_method_with_1_params(
			call->object->ce->__unserialize, call->object, NULL,
			&call->data);
		good = !EG(exception);
		if (good)
			php_hone_date_learn(call->object, &call->data);
	}
	BG(serialize_lock)--;
	return good;
}

/* As the last step of unserialize(): after a method has failed, the remaining
 * objects are freed without destructors, and no list holds references during
 * the calls. */
static enum made
call_all(struct making *making)
{
	uint32_t n = making->n_calls;
	struct call *calls = safe_emalloc(n, sizeof(*calls), 0);
	bool good = true;

	take_calls(making, calls);
	for (uint32_t i = 0; i < n; i++) {
		good = good && call(&calls[i]);
		if (!good)
			GC_ADD_FLAGS(calls[i].object, IS_OBJ_DESTRUCTOR_CALLED);
		OBJ_RELEASE(calls[i].object);
		zval_ptr_dtor(&calls[i].data);
	}
	efree(calls);
	return EG(exception) ? FAILED : MADE;
}

static enum made
make(struct making *making, const zval *root, zval *value)
{
	enum made result = look_up_all(making);

	if (result != MADE)
		return result;
	result = make_all(making);
	if (result != MADE) {
		unmake(making);
		return result;
	}
	put_made(making, value, Z_LVAL_P(root));
	if (making->n_calls == 0)
		return MADE;
	result = call_all(making);
	if (result == FAILED)
		zval_ptr_dtor(value);
	return result;
}

/* By its name: the offset of BG(unserialize_max_depth) depends on _REENTRANT,
 * which a PHP with threads may define while this file does not. */
static zend_long
most_depth(void)
{
	const zend_ini_entry *entry = HONE_G(cache).most_depth;

	if (entry == NULL) {
		entry = zend_hash_str_find_ptr(
			EG(ini_directives), ZEND_STRL("unserialize_max_depth"));
		HONE_G(cache).most_depth = entry;
	}
	/* The default needs no parser. */
	if (entry != NULL && entry->value != NULL &&
		zend_string_equals_literal(entry->value, "4096"))
		return 4096;
	return zend_ini_long(ZEND_STRL("unserialize_max_depth"), 0);
}

static bool
is_too_deep(const zval *directory)
{
	zend_long depth = Z_LVAL(directory[PHP_HONE_DEPTH_AT]), most;

	/* A limit is at least 1. */
	if (depth <= 1)
		return false;
	most = most_depth();
	return most > 0 && depth > most;
}

/* Sets the elements of a list, or of null. Returns their number. */
static uint32_t
take_list(const zval *list, const zval **elements)
{
	*elements = Z_TYPE_P(list) == IS_ARRAY ? list_of(list) : NULL;
	return *elements != NULL ? Z_ARR_P(list)->nNumUsed : 0;
}

bool
php_hone_objects_make(const zend_array *directory, zval *value)
{
	const zval *head = directory->arPacked;
	struct making making = {
		.n_shapes = (uint32_t)Z_LVAL(head[PHP_HONE_SHAPES_AT]),
	};
	enum made result = DOUBT;
	zend_string *text;
	bool good;

	making.n_objects = take_list(&head[PHP_HONE_OBJECTS_AT], &making.nodes);
	making.n_arrays = take_list(&head[PHP_HONE_ARRAYS_AT], &making.lists);
	making.n_calls = take_list(&head[PHP_HONE_CALLS_AT], &making.calls);
	if (!is_too_deep(head)) {
		making.classes =
			ecalloc(making.n_shapes, sizeof(*making.classes));
		making.objects = safe_emalloc(
			making.n_objects, sizeof(*making.objects), 0);
		making.arrays = safe_emalloc(
			making.n_arrays, sizeof(*making.arrays), 0);
		making.marked = safe_emalloc(
			making.n_objects, sizeof(*making.marked), 0);
		result = make(&making, &head[PHP_HONE_VALUE_AT], value);
		efree(making.marked);
		efree(making.arrays);
		efree(making.objects);
		efree(making.classes);
	}
	if (result == MADE)
		return true;
	text = result == DOUBT ? php_hone_objects_text(directory) : NULL;
	if (text == NULL) {
		ZVAL_NULL(value);
		return false;
	}
	good = php_hone_value_unserialize(value, text, PHP_HONE_SERIALIZED);
	zend_string_release_ex(text, 0);
	return good;
}
