/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_RECORD_H
#define PHP_HONE_VALUES_RECORD_H
/* Records in the buffers of a builder, as build.c and cold_read.c write
 * them. */
#include "graph.h"

/* zend_array.pDestructor of a record whose elements are being written. */
#define PHP_HONE_INCOMPLETE ((dtor_func_t)(uintptr_t)1)

/* New bytes at the end of a buffer. If memory is exhausted, returns NULL, and
 * the build ends. */
static zend_always_inline void *
php_hone_add(struct php_hone_builder *builder, struct php_hone_buffer *buffer,
	size_t size)
{
	void *at;

	if (UNEXPECTED(!php_hone_buffer_reserve(buffer, size))) {
		builder->refused = PHP_HONE_REFUSED_MEMORY;
		return NULL;
	}
	at = buffer->bytes + buffer->used;
	buffer->used += size;
	return at;
}

/* The record at this offset. */
static zend_always_inline zend_array *
php_hone_record_at(const struct php_hone_builder *builder, size_t at)
{
	return (zend_array *)(builder->arrays.bytes + at);
}

/* Sets the type of a value and the 32 bits that PHP keeps beside the type. */
static zend_always_inline void
php_hone_set_type(zval *to, uint32_t type, uint32_t next)
{
#ifdef WORDS_BIGENDIAN
	Z_TYPE_INFO_P(to) = type;
	Z_NEXT_P(to) = next;
#else
	/* One store by hand: compilers make two stores, or join them in a
	 * vector register. */
	uint64_t both = type | (uint64_t)next << 32;
	memcpy(&to->u1, &both, sizeof(both));
#endif
}

/* Set an element to a value that is no pointer, or to the offset of a record.
 */
static zend_always_inline void
php_hone_put(zval *to, uint32_t type, zend_long value, uint32_t next)
{
	to->value.lval = value;
	php_hone_set_type(to, type, next);
}

static zend_always_inline void
php_hone_put_marker(struct php_hone_builder *builder, zval *to,
	zend_long number, uint32_t next)
{
	php_hone_put(to, IS_OBJECT, number, next);
	builder->graph.markers++;
}

static zend_always_inline void
php_hone_record_head(
	zend_array *record, uint32_t flags, uint32_t mask, uint32_t used)
{
	GC_SET_REFCOUNT(record, PHP_HONE_REFCOUNT);
	GC_TYPE_INFO(record) = PHP_HONE_ARRAY_INFO;
	HT_FLAGS(record) = flags;
	record->nTableMask = mask;
	record->arData = NULL;
	record->nNumUsed = used;
	record->nInternalPointer = 0;
}

/* Begin a list at the end of builder->arrays. The caller writes all elements.
 */
static zend_always_inline zval *
php_hone_begin_list(struct php_hone_builder *builder, uint32_t n)
{
	zend_array *record = php_hone_add(builder, &builder->arrays,
		php_hone_record_size(HT_MIN_MASK, n, true));

	if (UNEXPECTED(record == NULL))
		return NULL;
	php_hone_record_head(record, HASH_FLAG_STATIC_KEYS | HASH_FLAG_PACKED,
		HT_MIN_MASK, n);
	record->nNumOfElements = n;
	record->nTableSize = php_hone_table_size(n);
	record->nNextFreeElement = n;
	record->pDestructor = NULL;
	memset(record + 1, 0xff, 2 * sizeof(uint32_t));
	return php_hone_record_elements(record, HT_MIN_MASK);
}

/* The elements of a list that may have moved. */
static zend_always_inline zval *
php_hone_elements_at(const struct php_hone_builder *builder, size_t record)
{
	return php_hone_record_elements(
		php_hone_record_at(builder, record), HT_MIN_MASK);
}

/* For two copies. zend_string_equals() needs PHP, and this folder has only
 * PHP's headers. */
static zend_always_inline bool
php_hone_is_equal(const zend_string *a, const zend_string *b)
{
	return ZSTR_H(a) == ZSTR_H(b) && ZSTR_LEN(a) == ZSTR_LEN(b) &&
	       memcmp(ZSTR_VAL(a), ZSTR_VAL(b), ZSTR_LEN(a)) == 0;
}

/* ---- graph.c ---- */

/* Append the offset of a record, or a number, to a buffer of them. */
bool php_hone_append(struct php_hone_builder *builder,
	struct php_hone_buffer *buffer, size_t number);
/* Begin a directory. Returns the element of the value, or NULL. */
zval *php_hone_graph_begin(struct php_hone_builder *builder);
/* Write the lists of the directory. */
void php_hone_graph_end(struct php_hone_builder *builder);
/* Enter the array at offset `record`, which has objects, and replace the
 * element that leads to it by a marker. */
void php_hone_graph_array(
	struct php_hone_builder *builder, size_t record, size_t element);

#endif
