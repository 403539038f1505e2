/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_LAYOUT_H
#define PHP_HONE_VALUES_LAYOUT_H
/* Flags and sizes of PHP's structures in stored values. */
#include "values.h"

/* The collector of cycles ignores these structures. */
#ifdef GC_NOT_COLLECTABLE
#define PHP_HONE_NO_CYCLES GC_NOT_COLLECTABLE
#else
#define PHP_HONE_NO_CYCLES 0
#endif

/*
 * IS_STR_PERMANENT is missing because the string may be freed before the next
 * request. Without this flag, pcre does not keep the pointer.
 */
#define PHP_HONE_STRING_INFO                                                   \
	(IS_STRING | ((IS_STR_INTERNED | PHP_HONE_NO_CYCLES) << GC_FLAGS_SHIFT))
#define PHP_HONE_ARRAY_INFO                                                    \
	(IS_ARRAY |                                                            \
		((IS_ARRAY_IMMUTABLE | PHP_HONE_NO_CYCLES) << GC_FLAGS_SHIFT))

/* PHP separates an array with more than one reference before a write. The JIT
 * and spl_array check only this count. */
#define PHP_HONE_REFCOUNT 2

/* The size of a string in a stored value, in bytes. */
static zend_always_inline size_t
php_hone_string_size(size_t len)
{
	return ZEND_MM_ALIGNED_SIZE_EX(_ZSTR_STRUCT_SIZE(len), 8);
}

static zend_always_inline size_t
php_hone_element_size(bool packed)
{
	return packed ? sizeof(zval) : sizeof(Bucket);
}

/* The size of a record, in bytes. */
static zend_always_inline size_t
php_hone_record_size(uint32_t mask, uint32_t used, bool packed)
{
	return sizeof(zend_array) + HT_HASH_SIZE(mask) +
	       used * php_hone_element_size(packed);
}

/* The elements of a record with this mask. */
static zend_always_inline void *
php_hone_record_elements(const zend_array *record, uint32_t mask)
{
	return (char *)(uintptr_t)record + sizeof(zend_array) +
	       HT_HASH_SIZE(mask);
}

static zend_always_inline size_t
php_hone_record_bytes(const zend_array *record)
{
	return php_hone_record_size(
		record->nTableMask, record->nNumUsed, HT_IS_PACKED(record));
}

/* The size of the smallest table with room for `used` elements. */
static zend_always_inline uint32_t
php_hone_table_size(uint32_t used)
{
	if (used <= HT_MIN_SIZE)
		return HT_MIN_SIZE;
	return UINT32_C(1) << (32 - __builtin_clz(used - 1));
}

/* Whether the structure at this address is an array: the strings follow the
 * arrays. */
static zend_always_inline bool
php_hone_is_record(const void *at)
{
	return GC_TYPE((const zend_refcounted *)at) == IS_ARRAY;
}

/* ---- building ---- */

/* Make room for `size` more bytes. Returns false if memory is exhausted. */
bool php_hone_buffer_grow(struct php_hone_buffer *buffer, size_t size);

static zend_always_inline bool
php_hone_buffer_reserve(struct php_hone_buffer *buffer, size_t size)
{
	return EXPECTED(buffer->room - buffer->used >= size) ||
	       php_hone_buffer_grow(buffer, size);
}

/* Returns `size` new bytes at the end, or NULL. */
static zend_always_inline void *
php_hone_buffer_add(struct php_hone_buffer *buffer, size_t size)
{
	size_t at = buffer->used;

	if (UNEXPECTED(!php_hone_buffer_reserve(buffer, size)))
		return NULL;
	buffer->used = at + size;
	return buffer->bytes + at;
}

/*
 * Look for an array with several references, or a class that lost its place.
 * Returns true, and sets *at, if the data has its record or shape. Otherwise
 * enters it, for a record at *at.
 */
bool php_hone_shared_find(
	struct php_hone_builder *builder, const void *address, size_t *at);

/* Make builder->met_objects.numbered longer than `handle`. On failure, returns
 * false and sets builder->refused. */
bool php_hone_numbered_grow(struct php_hone_builder *builder, uint32_t handle);

#define PHP_HONE_NO_MEMORY "more than fits into memory"
#endif
