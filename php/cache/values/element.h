/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_ELEMENT_H
#define PHP_HONE_VALUES_ELEMENT_H
/* Records and their elements, in line for the loops of array.c and deep.c. */
#include "text.h"

/*
 * Whether the hash index and the buckets can be copied as they are. A table
 * with holes has keys that were freed; one that is nearly empty would waste
 * memory; opcache makes masks that do not belong to the size.
 */
static zend_always_inline bool
php_hone_is_verbatim(const zend_array *array)
{
	return array->nNumUsed == array->nNumOfElements &&
	       !(HT_FLAGS(array) & HASH_FLAG_HAS_EMPTY_IND) &&
	       array->nTableMask == HT_SIZE_TO_MASK(array->nTableSize) &&
	       (array->nTableSize / 4 < array->nNumUsed ||
		       array->nTableSize == HT_MIN_SIZE);
}

/* What an element of a symbol table or of a table of properties stands for. */
static zend_always_inline const zval *
php_hone_direct(const zval *element)
{
	return Z_TYPE_P(element) == IS_INDIRECT ? Z_INDIRECT_P(element)
						: element;
}

static inline uint32_t
php_hone_count_live(const zend_array *array)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < array->nNumUsed; i++)
		n += Z_TYPE_P(php_hone_direct(&array->arData[i].val)) !=
		     IS_UNDEF;
	return n;
}

/*
 * Begin a record at the end of builder->arrays. NULL on out of memory, with
 * builder->refused set.
 */
static zend_always_inline zend_array *
php_hone_begin_record(struct php_hone_builder *builder, const zend_array *array,
	bool verbatim)
{
	bool packed = HT_IS_PACKED(array);
	uint32_t used = array->nNumUsed, elements = array->nNumOfElements;
	uint32_t table = array->nTableSize, mask = HT_MIN_MASK;
	uint32_t flags = HASH_FLAG_STATIC_KEYS;
	zend_array *record;
	size_t size;

	if (!packed && !verbatim)
		used = elements = php_hone_count_live(array);
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

/* The type of a value, and what PHP keeps beside it. */
static zend_always_inline void
php_hone_set_type(zval *to, uint32_t type, uint32_t next)
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

/* Puts what php_hone_put() does not put itself. */
const zend_array *php_hone_put_other(struct php_hone_builder *builder,
	const zval *element, zval *to, uint32_t next);

/*
 * Write an element. Returns the array that it has, if the data has no record
 * of that array yet: its record must begin at the end of builder->arrays.
 */
static zend_always_inline const zend_array *
php_hone_put(struct php_hone_builder *builder, const zval *element, zval *to,
	uint32_t next)
{
	uint32_t type = Z_TYPE_P(element);

	if (EXPECTED(type < IS_STRING)) {
		zend_value value = element->value;
		/* That of null, false and true is what was there before. */
		if (type < IS_LONG)
			value.dval = 0;
		to->value = value;
		php_hone_set_type(to, type, next);
		return NULL;
	}
	if (EXPECTED(type == IS_STRING)) {
		to->value.str = php_hone_put_string(builder, Z_STR_P(element));
		php_hone_set_type(to, IS_STRING, next);
		return NULL;
	}
	/* Nothing else can lead to an array with one reference. */
	if (EXPECTED(type == IS_ARRAY) && GC_REFCOUNT(Z_ARR_P(element)) == 1 &&
		Z_ARR_P(element)->nNumOfElements != 0) {
		to->value.arr = (zend_array *)(uintptr_t)builder->arrays.used;
		php_hone_set_type(to, IS_ARRAY, next);
		return Z_ARR_P(element);
	}
	return php_hone_put_other(builder, element, to, next);
}

static zend_always_inline const zend_array *
php_hone_put_bucket(struct php_hone_builder *builder, const Bucket *from,
	Bucket *to, uint32_t next)
{
	to->h = from->h;
	to->key = from->key == NULL ? NULL
				    : php_hone_put_string(builder, from->key);
	return php_hone_put(builder, &from->val, &to->val, next);
}

#endif
