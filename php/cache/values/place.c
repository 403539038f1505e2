/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies values to their final addresses. One pass copies the arrays and
 * changes their pointers: a second pass over the copy is slower by 4 to 11 %.
 */
#include "text.h"
#include <hone/hone.h>

/* Offsets to be added to pointers. */
struct moved {
	uintptr_t arrays, strings;
};

static zend_always_inline void
move_value(zval *value, uint32_t type, const struct moved *by)
{
	if (type == IS_STRING)
		value->value.str = (zend_string *)((uintptr_t)value->value.str +
						   by->strings);
	else if (type == IS_ARRAY)
		value->value.arr = (zend_array *)((uintptr_t)value->value.arr +
						  by->arrays);
}

/* Not 0 if one of four values is a string or an array: these have the largest
 * types. */
static zend_always_inline uint32_t
has_pointers(const zval *four)
{
	_Static_assert(IS_STRING == 6 && IS_ARRAY == 7,
		"in a stored value, 2 more make a bit that no other type has");
	return ((Z_TYPE_INFO(four[0]) + 2) | (Z_TYPE_INFO(four[1]) + 2) |
		       (Z_TYPE_INFO(four[2]) + 2) |
		       (Z_TYPE_INFO(four[3]) + 2)) &
	       8;
}

static void
move_packed(const zval *from, zval *to, uint32_t n, const struct moved by)
{
	uint32_t i = 0;

	for (; n - i >= 4; i += 4) {
		memcpy(to + i, from + i, 4 * sizeof(*to));
		if (has_pointers(from + i))
			for (uint32_t k = i; k < i + 4; k++)
				move_value(&to[k], Z_TYPE(from[k]), &by);
	}
	for (; i < n; i++) {
		to[i] = from[i];
		move_value(&to[i], Z_TYPE(from[i]), &by);
	}
}

static void
move_buckets(const Bucket *from, Bucket *to, uint32_t n, const struct moved by)
{
	for (uint32_t i = 0; i < n; i++) {
		to[i] = from[i];
		if (from[i].key != NULL)
			to[i].key = (zend_string *)((uintptr_t)from[i].key +
						    by.strings);
		move_value(&to[i].val, Z_TYPE(from[i].val), &by);
	}
}

/* Copy the record at `from` to `to`, with pointers for readers at `view`. */
static void
move_record(const zend_array *from, zend_array *to, const zend_array *view,
	const struct moved by)
{
	size_t index = HT_HASH_SIZE(from->nTableMask);

	memcpy(to, from, sizeof(*to));
	to->arData = php_hone_record_elements(view, from->nTableMask);
	/* A copy of a constant size is faster. Half of all arrays have at most
	 * 8 elements. */
	if (index == 8)
		memcpy(to + 1, from + 1, 8);
	else if (index == HT_HASH_SIZE(HT_SIZE_TO_MASK(HT_MIN_SIZE)))
		memcpy(to + 1, from + 1, 64);
	else
		memcpy(to + 1, from + 1, index);
	if (HT_IS_PACKED(from))
		move_packed(php_hone_record_elements(from, from->nTableMask),
			php_hone_record_elements(to, from->nTableMask),
			from->nNumUsed, by);
	else
		move_buckets(php_hone_record_elements(from, from->nTableMask),
			php_hone_record_elements(to, from->nTableMask),
			from->nNumUsed, by);
}

/* Returns the size of the arrays at `from`, in bytes. */
static size_t
move_arrays(const unsigned char *from, size_t size, unsigned char *to,
	const unsigned char *view, const struct moved by)
{
	size_t at = 0;

	while (at < size && php_hone_is_record(from + at)) {
		const zend_array *record = (const zend_array *)(from + at);
		move_record(record, (zend_array *)(to + at),
			(const zend_array *)(view + at), by);
		at += php_hone_record_bytes(record);
	}
	return at;
}

static void
place_arrays(const struct php_hone_builder *builder, unsigned char *to,
	const unsigned char *view)
{
	size_t arrays = builder->arrays.used;
	struct moved by = {(uintptr_t)view, (uintptr_t)view + arrays - 1};

	move_arrays(builder->arrays.bytes, arrays, to, view, by);
	if (builder->strings.used != 0)
		hone_memcpy(to + arrays, builder->strings.bytes,
			builder->strings.used, HONE_COPY_AUTO);
}

static void
set_root(zval *root, uint32_t type, const void *view)
{
	memset(root, 0, sizeof(*root));
	root->value.ptr = (void *)(uintptr_t)view;
	Z_TYPE_INFO_P(root) = type;
}

void
php_hone_value_place(const struct php_hone_builder *builder, void *to,
	const void *view, zval *root)
{
	if (builder->size == 0) {
		*root = builder->root;
		return;
	}
	if (builder->string != NULL)
		php_hone_write_string(
			to, builder->string, ZSTR_H(builder->string));
	else
		place_arrays(builder, to, view);
	set_root(root, Z_TYPE(builder->root), view);
}

void
php_hone_value_copy(const struct php_hone_value *stored, void *to,
	const void *view, zval *copy)
{
	uintptr_t by = (uintptr_t)view - (uintptr_t)Z_PTR(stored->root);
	size_t arrays;

	if (stored->data == NULL) {
		*copy = stored->root;
		return;
	}
	arrays = move_arrays(
		stored->data, stored->size, to, view, (struct moved){by, by});
	if (arrays < stored->size)
		hone_memcpy((unsigned char *)to + arrays,
			(const unsigned char *)stored->data + arrays,
			stored->size - arrays, HONE_COPY_KEEP);
	set_root(copy, Z_TYPE(stored->root), view);
}
