/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a value to its records and strings, in one pass, depth first. An element
 * is put; if it is an array without a record yet, that record begins at the end
 * of builder->arrays and comes next. build_record() does so by recursion, and
 * build_deep() with a stack in memory.
 */
#include "text.h"
#include "zend_closures.h"

/* zend_array.pDestructor of a record whose elements are being copied. */
#define INCOMPLETE ((dtor_func_t)(uintptr_t)1)

/* ---- strings ---- */

/*
 * The pointer to a string's copy in builder->strings. On out of memory, sets
 * builder->refused.
 */
static zend_always_inline zend_string *
append_string(struct php_hone_builder *builder, const zend_string *string)
{
	struct php_hone_buffer *strings = &builder->strings;
	size_t size = php_hone_string_size(ZSTR_LEN(string));

	if (UNEXPECTED(!php_hone_buffer_reserve(strings, size))) {
		builder->refused = PHP_HONE_NO_MEMORY;
		return NULL;
	}
	php_hone_write_string(
		strings->bytes + strings->used, string, ZSTR_H(string));
	strings->used += size;
	return (zend_string *)(uintptr_t)(strings->used - size + 1);
}

/*
 * The same for one that may have been appended already. A string with one
 * reference cannot appear twice. Others are looked up by their address in a
 * table without chains: a miss costs memory, not correctness.
 */
static zend_always_inline zend_string *
put_string(struct php_hone_builder *builder, const zend_string *string)
{
	struct php_hone_repeated *entry;
	uintptr_t bits = (uintptr_t)string;
	zend_string *copy;

	if (!ZSTR_IS_INTERNED(string) && GC_REFCOUNT(string) == 1)
		return append_string(builder, string);
	entry = &builder->repeated[(bits >> 3 ^ bits >> 10) %
				   PHP_HONE_REPEATED];
	if (entry->string == string && entry->build == builder->build)
		return (zend_string *)((uintptr_t)entry->at * 8 + 1);
	copy = append_string(builder, string);
	entry->string = string;
	entry->build = builder->build;
	entry->at = (uint32_t)((uintptr_t)copy / 8);
	return copy;
}

/* ---- elements ---- */

/* What an element of a symbol table or of a table of properties stands for. */
static zend_always_inline const zval *
direct(const zval *element)
{
	return Z_TYPE_P(element) == IS_INDIRECT ? Z_INDIRECT_P(element)
						: element;
}

/* The type of a value, and what PHP keeps beside it. */
static zend_always_inline void
set_type(zval *to, uint32_t type, uint32_t next)
{
#ifdef WORDS_BIGENDIAN
	Z_TYPE_INFO_P(to) = type;
	Z_NEXT_P(to) = next;
#else
	/* One store: compilers make two, or join them in a vector register. */
	uint64_t both = type | (uint64_t)next << 32;
	memcpy(&to->u1, &both, sizeof(both));
#endif
}

static zend_always_inline const zend_array *put(
	struct php_hone_builder *builder, const zval *element, zval *to,
	uint32_t next);

/*
 * Set *to to an array that is in the data, or will be next: that one is
 * returned. `once`: nothing else can lead to the array.
 */
static const zend_array *
put_array(struct php_hone_builder *builder, const zend_array *array, bool once,
	zval *to, uint32_t chain)
{
	size_t at = builder->arrays.used;
	const zend_array *next = array;

	if (array->nNumOfElements == 0 &&
		array->nNextFreeElement == zend_empty_array.nNextFreeElement) {
		if (builder->empty != UINT32_MAX) {
			at = (size_t)builder->empty * 8;
			next = NULL;
		} else {
			builder->empty = (uint32_t)(at / 8);
		}
	} else if (!once && php_hone_shared_find(builder, array, &at)) {
		const zend_array *record =
			(const zend_array *)(builder->arrays.bytes + at);
		if (record->pDestructor == INCOMPLETE)
			builder->refused = "an array that contains itself";
		next = NULL;
	}
	to->value.counted = (zend_refcounted *)(uintptr_t)at;
	set_type(to, IS_ARRAY, chain);
	return next;
}

static void
put_object(struct php_hone_builder *builder, const zend_object *object)
{
	if (object->ce == zend_ce_closure)
		builder->refused = "a closure";
	else
		builder->object = true;
}

/* Elements that are neither a number nor a string. */
static zend_never_inline const zend_array *
put_other(struct php_hone_builder *builder, const zval *element, zval *to,
	uint32_t next)
{
	bool once = true;

	element = direct(element);
	if (Z_ISREF_P(element)) {
		once = Z_REFCOUNT_P(element) == 1;
		element = Z_REFVAL_P(element);
	}
	if (Z_TYPE_P(element) == IS_ARRAY) {
		once = once && GC_REFCOUNT(Z_ARR_P(element)) == 1;
		return put_array(builder, Z_ARR_P(element), once, to, next);
	}
	to->value.dval = 0;
	set_type(to, IS_NULL, next);
	switch (Z_TYPE_P(element)) {
	case IS_UNDEF:
		break;
	case IS_OBJECT:
		put_object(builder, Z_OBJ_P(element));
		break;
	case IS_RESOURCE:
		builder->refused = "a resource";
		break;
	default:
		if (Z_TYPE_P(element) < IS_OBJECT)
			return put(builder, element, to, next);
		builder->refused = "a value of an unknown type";
	}
	return NULL;
}

/*
 * Write an element. Returns the array that it has, if the data has no record
 * of that array yet: its record must begin at the end of builder->arrays.
 */
static zend_always_inline const zend_array *
put(struct php_hone_builder *builder, const zval *element, zval *to,
	uint32_t next)
{
	uint32_t type = Z_TYPE_P(element);

	if (EXPECTED(type < IS_STRING)) {
		zend_value value = element->value;
		/* That of null, false and true is what was there before. */
		if (type < IS_LONG)
			value.dval = 0;
		to->value = value;
		set_type(to, type, next);
		return NULL;
	}
	if (EXPECTED(type == IS_STRING)) {
		to->value.str = put_string(builder, Z_STR_P(element));
		set_type(to, IS_STRING, next);
		return NULL;
	}
	/* Nothing else can lead to an array with one reference. */
	if (EXPECTED(type == IS_ARRAY) && GC_REFCOUNT(Z_ARR_P(element)) == 1 &&
		Z_ARR_P(element)->nNumOfElements != 0) {
		to->value.arr = (zend_array *)(uintptr_t)builder->arrays.used;
		set_type(to, IS_ARRAY, next);
		return Z_ARR_P(element);
	}
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
 * Whether the hash index and the buckets can be copied as they are. A table
 * with holes has keys that were freed; one that is nearly empty would waste
 * memory; opcache makes masks that do not belong to the size.
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

/*
 * Begin a record at the end of builder->arrays. NULL on out of memory, with
 * builder->refused set.
 */
static zend_always_inline zend_array *
begin_record(struct php_hone_builder *builder, const zend_array *array,
	bool verbatim)
{
	bool packed = HT_IS_PACKED(array);
	uint32_t used = array->nNumUsed, elements = array->nNumOfElements;
	uint32_t table = array->nTableSize, mask = HT_MIN_MASK;
	uint32_t flags = HASH_FLAG_STATIC_KEYS;
	zend_array *record;
	size_t size;

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
	size = php_hone_record_size(mask, used, packed);
	if (UNEXPECTED(!php_hone_buffer_reserve(&builder->arrays, size))) {
		builder->refused = PHP_HONE_NO_MEMORY;
		return NULL;
	}
	record = (zend_array *)(builder->arrays.bytes + builder->arrays.used);
	builder->arrays.used += size;
	GC_SET_REFCOUNT(record, PHP_HONE_REFCOUNT);
	GC_TYPE_INFO(record) = PHP_HONE_ARRAY_INFO;
	HT_FLAGS(record) = flags;
	record->nTableMask = mask;
	record->arData = NULL;
	record->nNumUsed = used;
	record->nNumOfElements = elements;
	record->nTableSize = table;
	record->nInternalPointer = 0;
	record->nNextFreeElement = array->nNextFreeElement;
	record->pDestructor = used != 0 ? INCOMPLETE : NULL;
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

/* ---- arrays of any depth ---- */

/*
 * With a stack in memory: for what is nested deeper than build_record() goes,
 * so that the depth of a value is limited by memory and not by the stack of the
 * thread, and for hash tables that need a new index. Each hash table gets one.
 */

/* An array whose elements are being copied. */
struct frame {
	const zend_array *source;
	size_t record; /* offset in builder->arrays */
	uint32_t from; /* the next element of the source */
	uint32_t to;   /* the next element of the record */
};

static const zend_array *
copy_packed(struct php_hone_builder *builder, struct frame *frame, zval *to)
{
	const zval *from = frame->source->arPacked;

	while (frame->from < frame->source->nNumUsed) {
		uint32_t i = frame->from++;
		const zend_array *next = put(builder, &from[i], &to[i], 0);
		if (next != NULL)
			return next;
	}
	return NULL;
}

/* Without what is empty, and with a new index. */
static const zend_array *
copy_hash(struct php_hone_builder *builder, struct frame *frame, Bucket *to,
	uint32_t mask)
{
	const Bucket *from = frame->source->arData;

	while (frame->from < frame->source->nNumUsed) {
		const Bucket *bucket = &from[frame->from++];
		uint32_t *slot = &HT_HASH_EX(to, (uint32_t)bucket->h | mask);
		uint32_t next = *slot;
		const zend_array *array;

		if (Z_TYPE_P(direct(&bucket->val)) == IS_UNDEF)
			continue;
		*slot = HT_IDX_TO_HASH(frame->to);
		array = put_bucket(builder, bucket, &to[frame->to++], next);
		if (array != NULL)
			return array;
	}
	return NULL;
}

/* The next array that needs a record; NULL at the end of this one. */
static const zend_array *
copy_elements(struct php_hone_builder *builder, struct frame *frame)
{
	zend_array *record =
		(zend_array *)(builder->arrays.bytes + frame->record);
	void *to = php_hone_record_elements(record, record->nTableMask);

	if (record->nNumUsed == 0)
		return NULL;
	if (HT_IS_PACKED(record))
		return copy_packed(builder, frame, to);
	return copy_hash(builder, frame, to, record->nTableMask);
}

/* Begin a record, and make its array the one whose elements are copied. */
static struct frame *
push(struct php_hone_builder *builder, const zend_array *array)
{
	struct php_hone_buffer *frames = &builder->frames;
	struct frame *frame;

	if (UNEXPECTED(!php_hone_buffer_reserve(frames, sizeof(*frame)))) {
		builder->refused = PHP_HONE_NO_MEMORY;
		return NULL;
	}
	frame = (struct frame *)(frames->bytes + frames->used);
	frames->used += sizeof(*frame);
	frame->source = array;
	frame->record = builder->arrays.used;
	frame->from = 0;
	frame->to = 0;
	if (begin_record(builder, array, false) == NULL)
		return NULL;
	return frame;
}

/* The frame of the parent; NULL: that was the root. */
static struct frame *
pop(struct php_hone_builder *builder, const struct frame *frame)
{
	struct php_hone_buffer *frames = &builder->frames;
	zend_array *record =
		(zend_array *)(builder->arrays.bytes + frame->record);

	record->pDestructor = NULL;
	frames->used -= sizeof(*frame);
	if (frames->used == 0)
		return NULL;
	return (struct frame *)(frames->bytes + frames->used) - 1;
}

static zend_never_inline void
build_deep(struct php_hone_builder *builder, const zend_array *root)
{
	struct frame *frame = push(builder, root);

	while (frame != NULL && builder->refused == NULL) {
		const zend_array *next = copy_elements(builder, frame);
		frame = next != NULL ? push(builder, next)
				     : pop(builder, frame);
	}
}

/* ---- arrays, by recursion ---- */

/* Deeper than nearly all values, and less than 16 KiB of the stack. */
#define DEPTH 64

static void build_record(struct php_hone_builder *builder,
	const zend_array *array, unsigned depth);

/* What is at `to` in builder->arrays contains `next`; returns where `to` is
 * after that array's record was built. */
static zend_always_inline void *
build_next(struct php_hone_builder *builder, const zend_array *next,
	unsigned depth, void *to)
{
	size_t at = (size_t)((unsigned char *)to - builder->arrays.bytes);

	if (depth == DEPTH)
		build_deep(builder, next);
	else
		build_record(builder, next, depth + 1);
	return builder->arrays.bytes + at;
}

static zend_always_inline void
build_packed(struct php_hone_builder *builder, const zend_array *array,
	zval *to, unsigned depth)
{
	const zval *from = array->arPacked, *end = from + array->nNumUsed;

	for (; from != end; from++, to++) {
		const zend_array *next = put(builder, from, to, 0);
		if (next != NULL) {
			to = build_next(builder, next, depth, to);
			if (UNEXPECTED(builder->refused != NULL))
				return;
		}
	}
}

static zend_always_inline void
build_buckets(struct php_hone_builder *builder, const zend_array *array,
	Bucket *to, unsigned depth)
{
	const Bucket *from = array->arData, *end = from + array->nNumUsed;

	for (; from != end; from++, to++) {
		const zend_array *next =
			put_bucket(builder, from, to, Z_NEXT(from->val));
		if (next != NULL) {
			to = build_next(builder, next, depth, to);
			if (UNEXPECTED(builder->refused != NULL))
				return;
		}
	}
}

static void
build_record(struct php_hone_builder *builder, const zend_array *array,
	unsigned depth)
{
	size_t at = builder->arrays.used;
	bool packed = HT_IS_PACKED(array);
	zend_array *record;
	void *to;

	if (!packed && !is_verbatim(array)) {
		build_deep(builder, array);
		return;
	}
	record = begin_record(builder, array, true);
	if (UNEXPECTED(record == NULL) || record->nNumUsed == 0)
		return;
	to = php_hone_record_elements(record, record->nTableMask);
	if (packed)
		build_packed(builder, array, to, depth);
	else
		build_buckets(builder, array, to, depth);
	record = (zend_array *)(builder->arrays.bytes + at);
	record->pDestructor = NULL;
}

/* ---- a value ---- */

/* Entries of earlier builds become invalid by their number. */
static void
begin_build(struct php_hone_builder *builder)
{
	builder->build++;
	if (UNEXPECTED(builder->build == 0)) {
		builder->build = 1;
		memset(builder->repeated, 0, sizeof(builder->repeated));
		if (builder->shared != NULL)
			memset(builder->shared, 0,
				builder->shared_room *
					sizeof(*builder->shared));
	}
	builder->arrays.used = 0;
	builder->strings.used = 0;
	builder->frames.used = 0;
	builder->n_shared = 0;
	builder->empty = UINT32_MAX;
	builder->object = false;
}

static void
build_array(struct php_hone_builder *builder, const zend_array *root, bool once)
{
	size_t at;

	if (!once)
		php_hone_shared_find(builder, root, &at);
	if (builder->refused == NULL)
		build_record(builder, root, 0);
	builder->size = builder->arrays.used + builder->strings.used;
}

static enum php_hone_built
build_root_array(
	struct php_hone_builder *builder, const zend_array *array, bool once)
{
	begin_build(builder);
	build_array(builder, array, once);
	if (builder->refused != NULL)
		return PHP_HONE_BUILT_REFUSED;
	return builder->object ? PHP_HONE_BUILT_OBJECT : PHP_HONE_BUILT_DATA;
}

static void
build_root_string(struct php_hone_builder *builder, const zend_string *string)
{
	builder->string = string;
	builder->size = php_hone_string_size(ZSTR_LEN(string));
}

static enum php_hone_built
refuse(struct php_hone_builder *builder, const char *reason)
{
	builder->refused = reason;
	return PHP_HONE_BUILT_REFUSED;
}

enum php_hone_built
php_hone_value_build(struct php_hone_builder *builder, const zval *value)
{
	bool once = true;

	if (Z_ISREF_P(value)) {
		once = Z_REFCOUNT_P(value) == 1;
		value = Z_REFVAL_P(value);
	}
	builder->size = 0;
	builder->refused = NULL;
	builder->string = NULL;
	memset(&builder->root, 0, sizeof(builder->root));
	Z_TYPE_INFO(builder->root) = Z_TYPE_P(value);
	switch (Z_TYPE_P(value)) {
	case IS_UNDEF:
		Z_TYPE_INFO(builder->root) = IS_NULL;
		return PHP_HONE_BUILT_SCALAR;
	case IS_NULL:
	case IS_FALSE:
	case IS_TRUE:
		return PHP_HONE_BUILT_SCALAR;
	case IS_LONG:
	case IS_DOUBLE:
		builder->root.value = value->value;
		return PHP_HONE_BUILT_SCALAR;
	case IS_STRING:
		build_root_string(builder, Z_STR_P(value));
		return PHP_HONE_BUILT_DATA;
	case IS_ARRAY:
		once = once && GC_REFCOUNT(Z_ARR_P(value)) == 1;
		return build_root_array(builder, Z_ARR_P(value), once);
	case IS_OBJECT:
		if (Z_OBJCE_P(value) == zend_ce_closure)
			return refuse(builder, "a closure");
		return PHP_HONE_BUILT_OBJECT;
	case IS_RESOURCE:
		return refuse(builder, "a resource");
	default:
		return refuse(builder, "a value of an unknown type");
	}
}
