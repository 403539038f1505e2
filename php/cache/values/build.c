/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the records and strings of a value in one pass, depth first. put()
 * writes an element. If the element is an array without a record, that record
 * comes next, at the end of builder->arrays. Functions with the parameter
 * `graph` have two forms: values with objects take longer.
 */
#include "record.h"
#include "text.h"
#include "zend_closures.h"

/* As in a debug build of PHP: without optimization, each copy of an inlined
 * function has its own stack, 10 KB for a level of an array. */
#ifndef __OPTIMIZE__
#undef zend_always_inline
#define zend_always_inline inline
#endif

/* Returned in place of an array: builder->graph.next_object needs a node next,
 * or the build has ended. */
static const zend_array an_object;
#define AN_OBJECT (&an_object)

/* The depth of recursion, and that of unserialize_max_depth. serialize() stores
 * what is deeper inside an object. */
#define DEPTH_MOST 4096

/* To remember a table of fewer keys takes longer than to look them up. */
#define LIKE_LEAST 4

/* Look-ups of strings by their hash that may find nothing in a row. */
#define LOOKS 64

static zend_always_inline bool
has_ended(const struct php_hone_builder *builder)
{
	return builder->refused != PHP_HONE_REFUSED_NOT;
}

/* ---- strings ---- */

/* Returns the pointer to a string's copy in builder->strings. */
static zend_always_inline zend_string *
append_string(struct php_hone_builder *builder, const zend_string *string)
{
	struct php_hone_buffer *strings = &builder->strings;
	size_t size = php_hone_string_size(ZSTR_LEN(string));

	if (UNEXPECTED(!php_hone_buffer_reserve(strings, size))) {
		builder->refused = PHP_HONE_REFUSED_MEMORY;
		return NULL;
	}
	php_hone_write_string(
		strings->bytes + strings->used, string, ZSTR_H(string));
	strings->used += size;
	return (zend_string *)(uintptr_t)(strings->used - size + 1);
}

/* The same, but reuses an equal string. The copy is written first, because it
 * has the hash. */
static zend_never_inline zend_string *
put_equal(struct php_hone_builder *builder, const zend_string *string)
{
	struct php_hone_buffer *strings = &builder->strings;
	zend_string *put = append_string(builder, string);
	const zend_string *copy, *equal;
	uint64_t *entry, at;

	if (UNEXPECTED(put == NULL))
		return NULL;
	copy = (const zend_string *)(strings->bytes + (uintptr_t)put - 1);
	entry = &builder->met_strings.equal[ZSTR_H(copy) % PHP_HONE_REPEATED];
	at = *entry ^ (uint64_t)builder->build << 32;
	if (at <= UINT32_MAX) {
		equal = (const zend_string *)(strings->bytes + at * 8);
		if (php_hone_is_equal(equal, copy)) {
			strings->used = (size_t)(uintptr_t)put - 1;
			builder->met_strings.looks = LOOKS;
			return (zend_string *)(uintptr_t)(at * 8 + 1);
		}
	}
	*entry = (uint64_t)builder->build << 32 | (uintptr_t)put / 8;
	builder->met_strings.looks--;
	return put;
}

static zend_always_inline zend_string *
put_fresh(struct php_hone_builder *builder, const zend_string *string)
{
	return EXPECTED(builder->met_strings.looks == 0)
		       ? append_string(builder, string)
		       : put_equal(builder, string);
}

/* The second entry, or a string that the data does not have yet. */
static zend_never_inline zend_string *
put_second(struct php_hone_builder *builder, const zend_string *string,
	struct php_hone_repeated *entry)
{
	struct php_hone_repeated second = entry[1];
	bool crowded = second.build == builder->build;

	entry[1] = entry[0];
	if (crowded && second.string == string) {
		entry[0] = second;
	} else {
		/* More than two strings may have these entries in turn. */
		zend_string *copy = ZSTR_IS_INTERNED(string) && !crowded
					    ? append_string(builder, string)
					    : put_fresh(builder, string);
		entry[0].string = string;
		entry[0].at = (uint32_t)((uintptr_t)copy / 8);
	}
	return (zend_string *)((uintptr_t)entry->at * 8 + 1);
}

/* The same. A string with one reference is at one place of the value. Others
 * are first looked up by their address. */
static zend_always_inline zend_string *
put_string(struct php_hone_builder *builder, const zend_string *string)
{
	uintptr_t bits = (uintptr_t)string;
	struct php_hone_repeated *entry;
	zend_string *copy;

	if (!ZSTR_IS_INTERNED(string) && GC_REFCOUNT(string) == 1)
		return put_fresh(builder, string);
	entry = &builder->met_strings.repeated[(bits >> 3 ^ bits >> 10) %
					       PHP_HONE_REPEATED * 2];
	if (entry->build == builder->build) {
		if (entry->string == string)
			return (zend_string *)((uintptr_t)entry->at * 8 + 1);
		return put_second(builder, string, entry);
	}
	copy = ZSTR_IS_INTERNED(string) ? append_string(builder, string)
					: put_fresh(builder, string);
	entry->string = string;
	entry->build = builder->build;
	entry->at = (uint32_t)((uintptr_t)copy / 8);
	return copy;
}

/* ---- elements ---- */

/* Elements of symbol tables and of properties may point to a variable. */
static zend_always_inline const zval *
direct(const zval *element)
{
	return Z_TYPE_P(element) == IS_INDIRECT ? Z_INDIRECT_P(element)
						: element;
}

static zend_always_inline const zend_array *put(
	struct php_hone_builder *builder, const zval *element, zval *to,
	uint32_t next);

/* As put(), for an array. `once`: no other element can lead to it. */
static const zend_array *
put_array(struct php_hone_builder *builder, const zend_array *array, bool once,
	zval *to, uint32_t chain)
{
	size_t at = builder->arrays.used;
	const zend_array *next = array;

	if (array->nNumOfElements == 0 &&
		array->nNextFreeElement == zend_empty_array.nNextFreeElement) {
		if (builder->met_arrays.empty != UINT32_MAX) {
			at = (size_t)builder->met_arrays.empty * 8;
			next = NULL;
		} else {
			builder->met_arrays.empty = (uint32_t)(at / 8);
		}
	} else if (!once && php_hone_shared_find(builder, array, &at)) {
		const zend_array *record = php_hone_record_at(builder, at);
		next = NULL;
		/* If the circle leads through an object, serialize() writes the
		 * array a second time, or null. */
		if (record->pDestructor == PHP_HONE_INCOMPLETE) {
			builder->refused = builder->has_objects
						   ? PHP_HONE_REFUSED_TEXT
						   : PHP_HONE_REFUSED_CIRCLE;
		} else if (record->nInternalPointer != 0) {
			php_hone_put_marker(builder, to,
				-(zend_long)record->nInternalPointer, chain);
			return NULL;
		}
	}
	to->value.counted = (zend_refcounted *)(uintptr_t)at;
	php_hone_set_type(to, IS_ARRAY, chain);
	return next;
}

/* Whether a node can keep the dynamic properties of an object: there are none,
 * or the class allows them and has no declared ones. */
static bool
has_plain_properties(const zend_object *object)
{
	const zend_array *table = object->properties;

	if (table == NULL || table->nNumOfElements == 0)
		return true;
	if (object->ce->default_properties_count == 0)
		return php_hone_class_is_loose(object->ce);
	for (uint32_t i = 0; i < table->nNumUsed; i++)
		if (Z_TYPE(table->arData[i].val) != IS_INDIRECT &&
			Z_TYPE(table->arData[i].val) != IS_UNDEF)
			return false;
	return true;
}

static zend_ulong
name_of(const zend_class_entry *class)
{
	return php_hone_string_hash(
		ZSTR_VAL(class->name), ZSTR_LEN(class->name));
}

static bool
is_left(const struct php_hone_builder *builder, const zend_class_entry *class)
{
	uint32_t n = builder->met_classes.n_left < PHP_HONE_LEFT
			     ? builder->met_classes.n_left
			     : PHP_HONE_LEFT;
	zend_ulong name = n != 0 ? name_of(class) : 0;

	for (uint32_t i = 0; i < n; i++)
		if (builder->met_classes.left[i] == name)
			return true;
	return false;
}

void
php_hone_builder_leave(
	struct php_hone_builder *builder, const zend_class_entry *class)
{
	builder->met_classes
		.left[builder->met_classes.n_left++ % PHP_HONE_LEFT] =
		name_of(class);
}

static zend_never_inline void
learn_class(struct php_hone_builder *builder, struct php_hone_class *known,
	const zend_class_entry *class)
{
	if (known->class != NULL && known->build == builder->build) {
		const zval *node = php_hone_elements_at(builder, known->node);
		size_t shape = (size_t)node[PHP_HONE_NODE_SHAPE].value.lval;
		php_hone_shared_find(builder, known->class, &shape);
		builder->met_classes.replaced = builder->build;
	}
	free(known->image);
	memset(known, 0, sizeof(*known));
	known->class = class;
	known->kind = php_hone_class_kind(class);
	known->loose = class->default_properties_count == 0 &&
		       php_hone_class_is_loose(class);
	known->date = known->kind == PHP_HONE_KIND_DATA &&
		      php_hone_class_is_date(builder, class);
	known->silent = false;
	if (known->kind == PHP_HONE_KIND_DATA)
		return;
	for (int i = 0; i < class->default_properties_count; i++)
		if (class->properties_info_table[i] == NULL)
			known->kind = PHP_HONE_KIND_OPAQUE;
	known->silent = (known->kind & ~(uint32_t)PHP_HONE_KIND_WAKEUP) == 0;
}

static zend_always_inline struct php_hone_class *
class_of(struct php_hone_builder *builder, const zend_class_entry *class)
{
	struct php_hone_class *known = php_hone_class_place(builder, class);

	if (UNEXPECTED(known->class != class))
		learn_class(builder, known, class);
	return known;
}

static zend_always_inline uint32_t
kind_of_known(struct php_hone_builder *builder, const zend_object *object,
	const struct php_hone_class *known)
{
	uint32_t kind = known->kind;

	if (UNEXPECTED(known->date) && php_hone_date_is_plain(object))
		return PHP_HONE_KIND_DATE;
	if (kind != PHP_HONE_KIND_DATA &&
		(!php_hone_object_is_plain(object) ||
			!(object->properties == NULL || known->loose ||
				has_plain_properties(object))))
		return PHP_HONE_KIND_OPAQUE;
	if ((kind & (PHP_HONE_KIND_DATA | PHP_HONE_KIND_SLEEP)) &&
		(php_hone_object_is_lazy(object) ||
			is_left(builder, object->ce)))
		return PHP_HONE_KIND_OPAQUE;
	return kind;
}

uint32_t
php_hone_object_kind(
	struct php_hone_builder *builder, const zend_object *object)
{
	return kind_of_known(builder, object, class_of(builder, object->ce));
}

/* Whether an object has a number already. If not, the object gets *number. */
static zend_always_inline bool
is_numbered(struct php_hone_builder *builder, const zend_object *object,
	uint32_t *number)
{
	struct php_hone_numbered *known;

	if (UNEXPECTED(object->handle >= builder->met_objects.room) &&
		!php_hone_numbered_grow(builder, object->handle))
		return false;
	known = &builder->met_objects.numbered[object->handle];
	if (known->build == builder->build) {
		*number = known->number;
		return true;
	}
	known->build = builder->build;
	known->number = *number;
	return false;
}

/* As put(), for an object. */
static zend_never_inline const zend_array *
put_object(struct php_hone_builder *builder, zend_object *object, zval *to,
	uint32_t next)
{
	uint32_t number =
		(uint32_t)(builder->graph.objects.used / sizeof(size_t));
	struct php_hone_class *class;
	uint32_t kind;

	if (GC_REFCOUNT(object) != 1 && is_numbered(builder, object, &number)) {
		php_hone_put_marker(builder, to, number, next);
		return NULL;
	}
	class = class_of(builder, object->ce);
	kind = kind_of_known(builder, object, class);
	if (kind & PHP_HONE_KIND_OPAQUE) {
		builder->refused = PHP_HONE_REFUSED_TEXT;
		return AN_OBJECT;
	}
	if ((kind & (PHP_HONE_KIND_DATA | PHP_HONE_KIND_SLEEP)) &&
		builder->graph.answers == NULL) {
		builder->refused = PHP_HONE_REFUSED_HOOKS;
		return AN_OBJECT;
	}
	php_hone_put_marker(builder, to, number, next);
	builder->graph.next_object = object;
	builder->graph.next_class = class;
	builder->graph.next_is_date = kind == PHP_HONE_KIND_DATE;
	builder->graph.visited += !(kind & PHP_HONE_KIND_ENUM);
	return AN_OBJECT;
}

/* Whether other places have this object. If one of them is a reference,
 * serialize() makes all of them references. */
static bool
is_repeated(struct php_hone_builder *builder, const zval *value)
{
	uint32_t own = 1;

	if (Z_TYPE_P(value) != IS_OBJECT)
		return false;
	/* The answers have each of their objects once more. */
	if (builder->graph.answers != NULL &&
		(php_hone_object_kind(builder, Z_OBJ_P(value)) &
			(PHP_HONE_KIND_DATA | PHP_HONE_KIND_SLEEP)))
		own++;
	return GC_REFCOUNT(Z_OBJ_P(value)) > own;
}

static zend_never_inline const zend_array *
put_other(struct php_hone_builder *builder, const zval *element, zval *to,
	uint32_t next)
{
	bool once = true;

	element = direct(element);
	if (Z_ISREF_P(element)) {
		once = Z_REFCOUNT_P(element) == 1;
		/* serialize() keeps several references to one variable. */
		if (builder->has_objects &&
			(!once || is_repeated(builder, Z_REFVAL_P(element)))) {
			builder->refused = PHP_HONE_REFUSED_TEXT;
			return NULL;
		}
		element = Z_REFVAL_P(element);
	}
	if (Z_TYPE_P(element) == IS_ARRAY) {
		once = once && GC_REFCOUNT(Z_ARR_P(element)) == 1;
		return put_array(builder, Z_ARR_P(element), once, to, next);
	}
	to->value.dval = 0;
	php_hone_set_type(to, IS_NULL, next);
	switch (Z_TYPE_P(element)) {
	case IS_UNDEF:
		break;
	case IS_OBJECT:
		if (builder->has_objects)
			return put_object(builder, Z_OBJ_P(element), to, next);
		if (Z_OBJCE_P(element) == zend_ce_closure)
			builder->refused = PHP_HONE_REFUSED_CLOSURE;
		else if (!builder->past_objects)
			builder->refused = PHP_HONE_REFUSED_OBJECT;
		return has_ended(builder) ? AN_OBJECT : NULL;
	case IS_RESOURCE:
		builder->refused = builder->has_objects
					   ? PHP_HONE_REFUSED_TEXT
					   : PHP_HONE_REFUSED_RESOURCE;
		break;
	default:
		if (Z_TYPE_P(element) < IS_OBJECT)
			return put(builder, element, to, next);
		builder->refused = PHP_HONE_REFUSED_UNKNOWN;
	}
	return NULL;
}

/*
 * Write an element. Returns its array if this needs a record, or AN_OBJECT if
 * it needs a node, at the end of builder->arrays. AN_OBJECT also ends the
 * build.
 */
static zend_always_inline const zend_array *
put(struct php_hone_builder *builder, const zval *element, zval *to,
	uint32_t next)
{
	uint32_t type = Z_TYPE_P(element);

	if (EXPECTED(type < IS_STRING)) {
		/* PHP leaves the value of null, false and true undefined. */
		php_hone_put(
			to, type, type < IS_LONG ? 0 : Z_LVAL_P(element), next);
		return NULL;
	}
	if (EXPECTED(type == IS_STRING)) {
		to->value.str = put_string(builder, Z_STR_P(element));
		php_hone_set_type(to, IS_STRING, next);
		return NULL;
	}
	/* No other element can lead to an array with one reference. */
	if (EXPECTED(type == IS_ARRAY) && GC_REFCOUNT(Z_ARR_P(element)) == 1 &&
		Z_ARR_P(element)->nNumOfElements != 0) {
		to->value.arr = (zend_array *)(uintptr_t)builder->arrays.used;
		php_hone_set_type(to, IS_ARRAY, next);
		return Z_ARR_P(element);
	}
	if (type == IS_OBJECT && builder->has_objects)
		return put_object(builder, Z_OBJ_P(element), to, next);
	if (type == IS_ARRAY)
		return put_array(builder, Z_ARR_P(element),
			GC_REFCOUNT(Z_ARR_P(element)) == 1, to, next);
	return put_other(builder, element, to, next);
}

static zend_always_inline const zend_array *
put_bucket(struct php_hone_builder *builder, const Bucket *from, Bucket *to,
	uint32_t next)
{
	to->h = from->h;
	to->key = from->key == NULL ? NULL : put_string(builder, from->key);
	return put(builder, &from->val, &to->val, next);
}

/* ---- records ---- */

/*
 * Whether the hash index and the buckets can be copied unchanged. A table with
 * holes has keys that were freed. A table that is nearly empty would waste
 * memory. opcache makes tables whose mask does not match their size.
 */
static zend_always_inline bool
is_verbatim(const zend_array *array)
{
	return array->nNumUsed == array->nNumOfElements &&
	       !(HT_FLAGS(array) & HASH_FLAG_HAS_EMPTY_IND) &&
	       array->nTableMask == HT_SIZE_TO_MASK(array->nTableSize) &&
	       (array->nTableSize / 4 < array->nNumUsed ||
		       array->nTableSize == HT_MIN_SIZE);
}

static inline uint32_t
count_live(const zend_array *array)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < array->nNumUsed; i++)
		n += Z_TYPE_P(direct(&array->arData[i].val)) != IS_UNDEF;
	return n;
}

/* Begin a record at the end of builder->arrays. */
static zend_always_inline zend_array *
begin_record(struct php_hone_builder *builder, const zend_array *array,
	bool verbatim)
{
	bool packed = HT_IS_PACKED(array);
	uint32_t used = array->nNumUsed, elements = array->nNumOfElements;
	uint32_t table = array->nTableSize, mask = HT_MIN_MASK;
	uint32_t flags = HASH_FLAG_STATIC_KEYS;
	zend_array *record;

	if (!packed && !verbatim)
		used = elements = count_live(array);
	if (elements == 0)
		used = 0;
	if (packed || !verbatim || used == 0)
		table = php_hone_table_size(used);
	if (used == 0)
		flags = HASH_FLAG_UNINITIALIZED;
	else if (packed)
		flags |= HASH_FLAG_PACKED;
	else
		mask = HT_SIZE_TO_MASK(table);
	record = php_hone_add(builder, &builder->arrays,
		php_hone_record_size(mask, used, packed));
	if (UNEXPECTED(record == NULL))
		return NULL;
	php_hone_record_head(record, flags, mask, used);
	record->nNumOfElements = elements;
	record->nTableSize = table;
	record->nNextFreeElement = array->nNextFreeElement;
	record->pDestructor = used != 0 ? PHP_HONE_INCOMPLETE : NULL;
	if (mask == HT_MIN_MASK)
		memset(record + 1, 0xff, 2 * sizeof(uint32_t));
	else if (!verbatim)
		memset(record + 1, 0xff, HT_HASH_SIZE(mask));
	else if (table == HT_MIN_SIZE)
		memcpy(record + 1, HT_GET_DATA_ADDR(array),
			HT_HASH_SIZE(HT_SIZE_TO_MASK(HT_MIN_SIZE)));
	else
		memcpy(record + 1, HT_GET_DATA_ADDR(array), HT_HASH_SIZE(mask));
	return record;
}

/* ---- arrays ---- */

static size_t
offset_of(const struct php_hone_builder *builder, const void *element)
{
	return (size_t)((const unsigned char *)element - builder->arrays.bytes);
}

static void build_record(struct php_hone_builder *builder,
	const zend_array *array, unsigned depth);
static void build_member(struct php_hone_builder *builder,
	const zend_array *next, unsigned depth, size_t element);

/* Build the record of `next`, which the element at `to` leads to. Returns the
 * new address of `to`, since builder->arrays may move. */
static zend_always_inline void *
build_next(struct php_hone_builder *builder, const zend_array *next,
	unsigned depth, void *to, bool graph)
{
	size_t at = offset_of(builder, to);

	if (!graph && UNEXPECTED(next == AN_OBJECT))
		return to;
	if (!graph && depth == 0) {
		builder->met_strings.looks += builder->met_strings.armed;
		builder->met_strings.armed = 0;
	}
	if (graph)
		build_member(builder, next, depth + 1, at);
	else
		build_record(builder, next, depth + 1);
	return builder->arrays.bytes + at;
}

static zend_always_inline void
build_packed(struct php_hone_builder *builder, const zend_array *array,
	zval *to, unsigned depth, bool graph)
{
	const zval *from = array->arPacked, *end = from + array->nNumUsed;

	for (; from != end; from++, to++) {
		const zend_array *next = put(builder, from, to, 0);
		if (next != NULL) {
			to = build_next(builder, next, depth, to, graph);
			if (UNEXPECTED(has_ended(builder)))
				return;
		}
	}
}

/* `like`: a table with as many keys, or NULL. Rows have their keys in the same
 * order, so that most keys need no look-up. */
static zend_always_inline void
build_buckets(struct php_hone_builder *builder, const zend_array *array,
	Bucket *to, unsigned depth, bool graph,
	const struct php_hone_like *like)
{
	const Bucket *from = array->arData, *end = from + array->nNumUsed;
	const Bucket *known = like != NULL ? like->from : NULL;
	size_t at = like != NULL ? like->at : 0;

	for (; from != end; from++, to++, at += sizeof(*to)) {
		const zend_array *next;
		if (like != NULL && known++->key == from->key) {
			const unsigned char *copy = builder->arrays.bytes + at;
			to->h = from->h;
			to->key = ((const Bucket *)copy)->key;
			next = put(builder, &from->val, &to->val,
				Z_NEXT(from->val));
		} else {
			next = put_bucket(builder, from, to, Z_NEXT(from->val));
		}
		if (next != NULL) {
			to = build_next(builder, next, depth, to, graph);
			if (UNEXPECTED(has_ended(builder)))
				return;
		}
	}
}

static zend_never_inline void
build_large(struct php_hone_builder *builder, const zend_array *array,
	Bucket *to, unsigned depth)
{
	uint32_t n = array->nNumUsed;
	struct php_hone_like *like =
		&builder->met_arrays.like[n % PHP_HONE_LIKES];
	size_t at = offset_of(builder, to);

	if (like->n == n && like->build == builder->build)
		build_buckets(
			builder, array, to, depth, builder->has_objects, like);
	else
		build_buckets(
			builder, array, to, depth, builder->has_objects, NULL);
	like->from = array->arData;
	like->at = at;
	like->n = n;
	like->build = builder->build;
}

/* Without the empty buckets, with a new index. */
static zend_never_inline void
build_anew(struct php_hone_builder *builder, const zend_array *array,
	Bucket *to, uint32_t mask, unsigned depth)
{
	const Bucket *from = array->arData, *end = from + array->nNumUsed;
	uint32_t n = 0;

	for (; from != end; from++) {
		uint32_t *slot = &HT_HASH_EX(to, (uint32_t)from->h | mask);
		uint32_t chain = *slot;
		const zend_array *next;
		if (Z_TYPE_P(direct(&from->val)) == IS_UNDEF)
			continue;
		*slot = HT_IDX_TO_HASH(n);
		next = put_bucket(builder, from, &to[n], chain);
		if (next != NULL) {
			to = (Bucket *)build_next(builder, next, depth, &to[n],
				builder->has_objects);
			if (UNEXPECTED(has_ended(builder)))
				return;
			to -= n;
		}
		n++;
	}
}

/* The two forms differ in build_next(). */
static zend_always_inline void
build_array(struct php_hone_builder *builder, const zend_array *array,
	unsigned depth, bool graph)
{
	bool packed = HT_IS_PACKED(array);
	bool verbatim = packed || is_verbatim(array);
	size_t at = builder->arrays.used;
	zend_array *record = begin_record(builder, array, verbatim);
	void *to;

	if (UNEXPECTED(record == NULL) || record->nNumUsed == 0)
		return;
	to = php_hone_record_elements(record, record->nTableMask);
	if (packed)
		build_packed(builder, array, to, depth, graph);
	else if (UNEXPECTED(!verbatim))
		build_anew(builder, array, to, record->nTableMask, depth);
	else if (depth != 0 && record->nNumUsed >= LIKE_LEAST)
		build_large(builder, array, to, depth);
	else
		build_buckets(builder, array, to, depth, graph, NULL);
	php_hone_record_at(builder, at)->pDestructor = NULL;
}

/* For a level whose number is above builder->unchecked. `refused` is for more
 * than DEPTH_MOST levels. */
static zend_never_inline void
check_level(struct php_hone_builder *builder, unsigned level,
	enum php_hone_refused refused)
{
	if (level > DEPTH_MOST)
		builder->refused = refused;
	else if (php_hone_stack_is_past(builder->stack_limit))
		builder->refused = PHP_HONE_REFUSED_STACK;
}

static void
build_record(struct php_hone_builder *builder, const zend_array *array,
	unsigned depth)
{
	if (UNEXPECTED(depth >= builder->unchecked)) {
		check_level(builder, depth + 1, PHP_HONE_REFUSED_DEPTH);
		if (has_ended(builder))
			return;
	}
	build_array(builder, array, depth, false);
}

/* ---- objects: graph.h describes the structure ---- */

static void
put_name(struct php_hone_builder *builder, zval *to, const zend_string *name)
{
	php_hone_put(to, IS_STRING,
		(zend_long)(uintptr_t)put_string(builder, name), 0);
}

static bool
put_image(struct php_hone_builder *builder, const struct php_hone_class *known)
{
	struct php_hone_buffer *arrays = &builder->arrays;
	struct php_hone_buffer *strings = &builder->strings;
	uint32_t n;
	zval *to;

	if (known->image == NULL ||
		!php_hone_buffer_reserve(arrays, known->image_arrays) ||
		!php_hone_buffer_reserve(strings, known->image_strings))
		return false;
	memcpy(arrays->bytes + arrays->used, known->image, known->image_arrays);
	memcpy(strings->bytes + strings->used,
		known->image + known->image_arrays, known->image_strings);
	to = php_hone_elements_at(builder, arrays->used);
	n = ((zend_array *)(arrays->bytes + arrays->used))->nNumUsed;
	to[PHP_HONE_SHAPE_CLASS].value.lval += (zend_long)strings->used;
	to[PHP_HONE_SHAPE_NUMBER].value.lval = builder->graph.n_shapes++;
	for (uint32_t i = PHP_HONE_SHAPE_HEAD; i < n; i++)
		to[i].value.lval += (zend_long)strings->used;
	arrays->used += known->image_arrays;
	strings->used += known->image_strings;
	return true;
}

/* Keep the image of a shape whose strings the data did not have before. */
static void
keep_image(struct php_hone_builder *builder, struct php_hone_class *known,
	size_t record, size_t strings)
{
	const zval *of = php_hone_elements_at(builder, record);
	uint32_t n = known->class->default_properties_count;
	size_t size = builder->strings.used - strings;
	zval *to;

	for (uint32_t i = PHP_HONE_SHAPE_CLASS; i < PHP_HONE_SHAPE_HEAD + n;
		i++)
		if (Z_TYPE(of[i]) == IS_STRING &&
			(size_t)Z_LVAL(of[i]) <= strings)
			return;
	known->image_arrays = (uint32_t)(builder->arrays.used - record);
	known->image_strings = (uint32_t)size;
	known->image = malloc(known->image_arrays + size);
	if (known->image == NULL)
		return;
	memcpy(known->image, builder->arrays.bytes + record,
		known->image_arrays);
	memcpy(known->image + known->image_arrays,
		builder->strings.bytes + strings, size);
	to = php_hone_record_elements((zend_array *)known->image, HT_MIN_MASK);
	to[PHP_HONE_SHAPE_CLASS].value.lval =
		of[PHP_HONE_SHAPE_CLASS].value.lval - (zend_long)strings;
	for (uint32_t i = PHP_HONE_SHAPE_HEAD; i < PHP_HONE_SHAPE_HEAD + n; i++)
		to[i].value.lval -= (zend_long)strings;
}

static void
put_shape(struct php_hone_builder *builder, const zend_class_entry *class,
	uint32_t kind, uint32_t n)
{
	struct php_hone_class *known = builder->graph.next_class;
	size_t record = builder->arrays.used, strings = builder->strings.used;
	zval *elements;

	if (has_ended(builder) || put_image(builder, known))
		return;
	elements = php_hone_begin_list(builder, PHP_HONE_SHAPE_HEAD + n);
	if (elements == NULL)
		return;
	put_name(builder, &elements[PHP_HONE_SHAPE_CLASS], class->name);
	php_hone_put(&elements[PHP_HONE_SHAPE_NUMBER], IS_LONG,
		builder->graph.n_shapes++, 0);
	php_hone_put(&elements[PHP_HONE_SHAPE_KIND], IS_LONG,
		kind & ~(uint32_t)PHP_HONE_KIND_SLEEP, 0);
	for (uint32_t i = 0; i < n; i++)
		put_name(builder, &elements[PHP_HONE_SHAPE_HEAD + i],
			class->properties_info_table[i]->name);
	if (known->shapes++ == 1 && kind != PHP_HONE_KIND_DATA &&
		!has_ended(builder))
		keep_image(builder, known, record, strings);
}

struct node {
	const zend_object *object;
	const zval *data;       /* the answer of __serialize(), or NULL */
	const uint32_t *places; /* the answer of __sleep(), or NULL */
	size_t record;          /* offset in builder->arrays */
	uint32_t kind, declared, number;
};

/* Takes the next answer. Returns false if this answer is for another object. */
static bool
take_answer(struct php_hone_builder *builder, struct node *node)
{
	const struct php_hone_answers *answers = builder->graph.answers;
	const zval *answer;

	/* A method may have changed the value since its answer. */
	if (builder->graph.answered == answers->n ||
		answers->of[builder->graph.answered].object != node->object) {
		builder->refused = PHP_HONE_REFUSED_TEXT;
		return false;
	}
	answer = &answers->of[builder->graph.answered++].data;
	if (Z_TYPE_P(answer) == IS_ARRAY)
		node->data = answer;
	else
		node->places = (const uint32_t *)Z_STRVAL_P(answer);
	return true;
}

/* Begin the list of a node. Nodes of one class begin with the same bytes, up to
 * their properties. */
static zend_always_inline bool
begin_node_list(struct php_hone_builder *builder, const struct node *node)
{
	struct php_hone_class *class = builder->graph.next_class;
	const zend_class_entry *ce = node->object->ce;
	size_t head = php_hone_record_size(HT_MIN_MASK, 1, true);
	uint32_t n = PHP_HONE_NODE_HEAD + node->declared;
	size_t size = php_hone_record_size(HT_MIN_MASK, n, true), shape;

	if (EXPECTED(class->build == builder->build)) {
		void *list = php_hone_add(builder, &builder->arrays, size);
		if (EXPECTED(list != NULL))
			memcpy(list, php_hone_record_at(builder, class->node),
				head);
		return list != NULL;
	}
	if (php_hone_begin_list(builder, n) == NULL)
		return false;
	shape = builder->arrays.used;
	class->build = builder->build;
	/* The table of shared arrays has the classes that lost their place. */
	if (builder->met_classes.replaced != builder->build ||
		!php_hone_shared_find(builder, ce, &shape))
		put_shape(builder, ce, node->kind, node->declared);
	php_hone_put(&php_hone_elements_at(
			     builder, node->record)[PHP_HONE_NODE_SHAPE],
		IS_ARRAY, (zend_long)shape, 0);
	class->node = node->record;
	return !has_ended(builder);
}

static bool
begin_node(struct php_hone_builder *builder, struct node *node)
{
	const zend_class_entry *class = node->object->ce;

	node->kind = builder->graph.next_class->kind;
	if (builder->graph.next_is_date)
		node->data = php_hone_date_answer(builder, node->object);
	else if ((node->kind & (PHP_HONE_KIND_DATA | PHP_HONE_KIND_SLEEP)) &&
		 !take_answer(builder, node))
		return false;
	if (node->kind != PHP_HONE_KIND_DATA)
		node->declared = (uint32_t) class->default_properties_count;
	node->number = (uint32_t)(builder->graph.objects.used / sizeof(size_t));
	if (!php_hone_append(builder, &builder->graph.objects, node->record))
		return false;
	return begin_node_list(builder, node);
}

/*
 * Whether the properties with objects have the order of the names that
 * __sleep() returned. serialize() calls methods in the order of the names, and
 * the build in the order of the class.
 */
static bool
is_in_order(const struct node *node, const zval *elements)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < node->declared; i++) {
		if (Z_TYPE(elements[PHP_HONE_NODE_HEAD + i]) != IS_OBJECT)
			continue;
		if (node->places[i] < last)
			return false;
		last = node->places[i];
	}
	return true;
}

static zend_always_inline zval *
put_property(struct php_hone_builder *builder, const zval *from, zval *to,
	unsigned depth)
{
	const zend_array *next = put(builder, from, to, 0);
	size_t at;

	if (next == NULL)
		return to;
	at = offset_of(builder, to);
	build_member(builder, next, depth, at);
	return (zval *)(builder->arrays.bytes + at);
}

/* The answer of __serialize(), or the dynamic properties, or null. */
static zend_always_inline zval *
put_dynamic(struct php_hone_builder *builder, const struct node *node, zval *to,
	unsigned depth)
{
	zend_array *table = node->object->properties;
	zval properties;

	if (UNEXPECTED(node->data != NULL))
		return put_property(builder, node->data, to, depth);
	if (table == NULL || node->declared != 0 ||
		table->nNumOfElements == 0 || node->places != NULL) {
		php_hone_put(to, IS_NULL, 0, 0);
		return to;
	}
	ZVAL_ARR(&properties, table);
	return put_property(builder, &properties, to, depth);
}

static zend_always_inline void
put_properties(struct php_hone_builder *builder, const struct node *node,
	unsigned depth)
{
	zval *to = &php_hone_elements_at(
		builder, node->record)[PHP_HONE_NODE_PROPERTIES];
	const zval *from = node->object->properties_table;
	uint32_t undefined = 0;

	/* Dynamic properties are not deeper than their object. */
	to = put_dynamic(builder, node, to, depth);
	for (uint32_t i = 0; i < node->declared; i++, from++) {
		to++;
		if (UNEXPECTED(Z_TYPE_P(from) == IS_UNDEF) ||
			UNEXPECTED(
				node->places != NULL && node->places[i] == 0)) {
			to->value.lval = 0;
			php_hone_set_type(to, IS_UNDEF, 0);
			undefined++;
			continue;
		}
		to = put_property(builder, from, to, depth + 1);
		if (UNEXPECTED(has_ended(builder)))
			return;
	}
	php_hone_record_at(builder, node->record)->nNumOfElements =
		PHP_HONE_NODE_HEAD + node->declared - undefined;
}

static void
build_node(struct php_hone_builder *builder, const zend_object *object,
	unsigned depth)
{
	struct node node = {.object = object, .record = builder->arrays.used};
	const zend_class_entry *outer = builder->graph.outer;

	if (!begin_node(builder, &node))
		return;
	if (outer == NULL && !builder->graph.next_is_date &&
		(node.data != NULL || node.places != NULL))
		builder->graph.outer = object->ce;
	put_properties(builder, &node, depth);
	if (UNEXPECTED(has_ended(builder)))
		return;
	if (node.kind & (PHP_HONE_KIND_DATA | PHP_HONE_KIND_WAKEUP))
		php_hone_append(builder, &builder->graph.calls, node.number);
	builder->graph.outer = outer;
	if (node.places != NULL &&
		!is_in_order(&node, php_hone_elements_at(builder, node.record)))
		builder->refused = PHP_HONE_REFUSED_TEXT;
}

/* The array or object of the element at this offset. */
static void
build_member(struct php_hone_builder *builder, const zend_array *next,
	unsigned depth, size_t element)
{
	size_t record = builder->arrays.used;
	uint32_t markers = builder->graph.markers;

	if (UNEXPECTED(depth > builder->unchecked))
		check_level(builder, depth, PHP_HONE_REFUSED_TEXT);
	if (UNEXPECTED(has_ended(builder)))
		return;
	if (depth > builder->graph.depth)
		builder->graph.depth = depth;
	if (next == AN_OBJECT) {
		build_node(builder, builder->graph.next_object, depth);
		return;
	}
	build_array(builder, next, depth, true);
	if (builder->graph.markers != markers && !has_ended(builder))
		php_hone_graph_array(builder, record, element);
}

static void
build_graph(struct php_hone_builder *builder, const zval *value)
{
	zval *first = php_hone_graph_begin(builder);
	const zend_array *next;

	if (first == NULL)
		return;
	builder->has_objects = true;
	next = put(builder, value, first, 0);
	if (next != NULL)
		build_member(builder, next, 1, offset_of(builder, first));
	php_hone_graph_end(builder);
	builder->has_objects = false;
	builder->size = builder->arrays.used + builder->strings.used;
}

/* ---- a value ---- */

const char *
php_hone_refused_text(enum php_hone_refused refused)
{
	switch (refused) {
	case PHP_HONE_REFUSED_CLOSURE:
		return "a closure";
	case PHP_HONE_REFUSED_RESOURCE:
		return "a resource";
	case PHP_HONE_REFUSED_CIRCLE:
		return "an array that contains itself";
	case PHP_HONE_REFUSED_DEPTH:
		return "an array that is nested deeper than 4,096";
	case PHP_HONE_REFUSED_STACK:
		return "more levels than the stack of this thread or fiber has "
		       "room for";
	case PHP_HONE_REFUSED_LAZY:
		return "a lazy object";
	case PHP_HONE_REFUSED_MEMORY:
		return PHP_HONE_NO_MEMORY;
	default:
		return "a value of an unknown type";
	}
}

/* The new number makes the entries of earlier builds invalid. */
static void
begin_build(struct php_hone_builder *builder)
{
	builder->build++;
	if (UNEXPECTED(builder->build == 0)) {
		builder->build = 1;
		php_hone_builder_free(builder);
		memset(&builder->met_strings, 0, sizeof(builder->met_strings));
		memset(builder->met_arrays.like, 0,
			sizeof(builder->met_arrays.like));
	}
	builder->stack_limit = php_hone_stack_limit();
	builder->unchecked = php_hone_stack_unchecked(DEPTH_MOST);
	builder->arrays.used = 0;
	builder->strings.used = 0;
	builder->met_arrays.n = 0;
	builder->met_arrays.empty = UINT32_MAX;
	builder->met_strings.looks = LOOKS;
	builder->met_strings.armed = 0;
}

static enum php_hone_built
build_root_array(
	struct php_hone_builder *builder, const zend_array *array, bool once)
{
	size_t at = 0;

	begin_build(builder);
	/* The keys of one table differ, and most tables without arrays in them
	 * have few equal values. A store of such a table makes no look-ups. */
	if (!HT_IS_PACKED(array)) {
		builder->met_strings.armed = builder->met_strings.looks;
		builder->met_strings.looks = 0;
	}
	if (!once)
		php_hone_shared_find(builder, array, &at);
	if (!has_ended(builder))
		build_record(builder, array, 0);
	builder->size = builder->arrays.used + builder->strings.used;
	if (EXPECTED(!has_ended(builder)))
		return PHP_HONE_BUILT_FLAT;
	return builder->refused == PHP_HONE_REFUSED_OBJECT
		       ? PHP_HONE_BUILT_OBJECT
		       : PHP_HONE_BUILT_REFUSED;
}

static enum php_hone_built
refuse(struct php_hone_builder *builder, enum php_hone_refused reason)
{
	builder->refused = reason;
	return PHP_HONE_BUILT_REFUSED;
}

static zend_always_inline void
begin_value(struct php_hone_builder *builder, uint32_t type)
{
	builder->size = 0;
	builder->refused = PHP_HONE_REFUSED_NOT;
	builder->string = NULL;
	memset(&builder->root, 0, sizeof(builder->root));
	Z_TYPE_INFO(builder->root) = type;
}

enum php_hone_built
php_hone_value_build(struct php_hone_builder *builder, const zval *value)
{
	bool once = true;

	if (Z_ISREF_P(value)) {
		once = Z_REFCOUNT_P(value) == 1;
		value = Z_REFVAL_P(value);
	}
	begin_value(builder, Z_TYPE_P(value));
	switch (Z_TYPE_P(value)) {
	case IS_UNDEF:
	case IS_NULL:
	case IS_FALSE:
	case IS_TRUE:
		Z_TYPE_INFO(builder->root) = MAX(Z_TYPE_P(value), IS_NULL);
		return PHP_HONE_BUILT_FLAT;
	case IS_LONG:
	case IS_DOUBLE:
		builder->root.value = value->value;
		return PHP_HONE_BUILT_FLAT;
	case IS_STRING:
		builder->string = Z_STR_P(value);
		builder->size = php_hone_string_size(Z_STRLEN_P(value));
		return PHP_HONE_BUILT_FLAT;
	case IS_ARRAY:
		once = once && GC_REFCOUNT(Z_ARR_P(value)) == 1;
		return build_root_array(builder, Z_ARR_P(value), once);
	case IS_OBJECT:
		if (Z_OBJCE_P(value) == zend_ce_closure)
			return refuse(builder, PHP_HONE_REFUSED_CLOSURE);
		return PHP_HONE_BUILT_OBJECT;
	case IS_RESOURCE:
		return refuse(builder, PHP_HONE_REFUSED_RESOURCE);
	default:
		return refuse(builder, PHP_HONE_REFUSED_UNKNOWN);
	}
}

bool
php_hone_value_is_refused(struct php_hone_builder *builder, const zval *value)
{
	enum php_hone_built built;

	builder->past_objects = true;
	built = php_hone_value_build(builder, value);
	builder->past_objects = false;
	return built == PHP_HONE_BUILT_REFUSED;
}

enum php_hone_built
php_hone_value_build_objects(struct php_hone_builder *builder,
	const zval *value, const struct php_hone_answers *answers)
{
	ZVAL_DEREF(value);
	builder->graph.answers = answers;
	begin_value(builder, IS_ARRAY);
	begin_build(builder);
	build_graph(builder, value);
	/* A method may have removed an object from the value, or made an object
	 * repeated that serialize() then writes twice. */
	if (answers != NULL && !has_ended(builder) &&
		(builder->graph.answered != answers->n ||
			builder->graph.visited != answers->objects))
		builder->refused = PHP_HONE_REFUSED_TEXT;
	builder->graph.answers = NULL;
	if (builder->refused == PHP_HONE_REFUSED_TEXT &&
		!php_hone_stack_serializes(builder->graph.depth))
		builder->refused = PHP_HONE_REFUSED_STACK;
	switch (builder->refused) {
	case PHP_HONE_REFUSED_NOT:
		return PHP_HONE_BUILT_GRAPH;
	case PHP_HONE_REFUSED_HOOKS:
		return PHP_HONE_BUILT_HOOKS;
	case PHP_HONE_REFUSED_STACK:
		return PHP_HONE_BUILT_REFUSED;
	default:
		if (answers != NULL && builder->graph.outer != NULL)
			php_hone_builder_leave(builder, builder->graph.outer);
		return PHP_HONE_BUILT_TEXT;
	}
}
