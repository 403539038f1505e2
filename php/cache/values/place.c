/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies values to their final addresses. One pass copies the arrays and
 * changes their pointers: a second pass over the copy is slower by 4 to 11 %.
 */
#include "text.h"
#include <hone/hone.h>

/* What is added to a value of each type: an offset to a pointer, otherwise 0.
 * A marker (graph.h) is of the type IS_OBJECT. */
struct moved {
	uint64_t by[IS_OBJECT + 1];
};

static struct moved
moved_by(uintptr_t arrays, uintptr_t strings)
{
	return (struct moved){{[IS_STRING] = strings, [IS_ARRAY] = arrays}};
}

/* Without a branch, since the types of neighbours differ. */
static zend_always_inline void
move_value(const zval *from, zval *to, const struct moved *moved)
{
	uint64_t by = moved->by[Z_TYPE_P(from)];

	*to = *from;
	to->value.lval = (zend_long)((uint64_t)from->value.lval + by);
}

/* Not 0 if one of four values may be a string or an array: these have the
 * largest types, but for markers. */
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

static zend_always_inline void
move_packed(const zval *from, zval *to, uint32_t n, const struct moved *moved)
{
	const zval *end = from + n;

	for (; end - from >= 4; from += 4, to += 4) {
		if (!has_pointers(from)) {
			memcpy(to, from, 4 * sizeof(*to));
			continue;
		}
		move_value(&from[0], &to[0], moved);
		move_value(&from[1], &to[1], moved);
		move_value(&from[2], &to[2], moved);
		move_value(&from[3], &to[3], moved);
	}
	for (; from != end; from++, to++)
		move_value(from, to, moved);
}

static zend_always_inline void
move_buckets(
	const Bucket *from, Bucket *to, uint32_t n, const struct moved *moved)
{
	for (const Bucket *end = from + n; from != end; from++, to++) {
		uintptr_t key = (uintptr_t)from->key;
		if (key != 0)
			key += moved->by[IS_STRING];
		move_value(&from->val, &to->val, moved);
		to->h = from->h;
		to->key = (zend_string *)key;
	}
}

/* Copy the record at `from` to `to`, with pointers for readers at `view`.
 * Returns its size. */
static zend_always_inline size_t
move_record(const zend_array *from, zend_array *to, const zend_array *view,
	const struct moved *moved)
{
	/* Read before `to` is written, which might be the same memory to a
	 * compiler. */
	uint32_t mask = from->nTableMask, n = from->nNumUsed;
	bool packed = HT_IS_PACKED(from);
	size_t index = HT_HASH_SIZE(mask);
	const void *elements = php_hone_record_elements(from, mask);
	void *copies = php_hone_record_elements(to, mask);

	memcpy(to, from, sizeof(*to));
	to->arData = php_hone_record_elements(view, mask);
	/* A copy of a constant size is faster. Half of all arrays have at most
	 * 8 elements. */
	if (index == 8)
		memcpy(to + 1, from + 1, 8);
	else if (index == HT_HASH_SIZE(HT_SIZE_TO_MASK(HT_MIN_SIZE)))
		memcpy(to + 1, from + 1, 64);
	else
		memcpy(to + 1, from + 1, index);
	if (packed)
		move_packed(elements, copies, n, moved);
	else
		move_buckets(elements, copies, n, moved);
	return php_hone_record_size(mask, n, packed);
}

/* Returns the size of the arrays at `from`, in bytes. */
static size_t
move_arrays(const unsigned char *from, size_t size, unsigned char *to,
	const unsigned char *view, const struct moved *moved)
{
	size_t at = 0;

	while (at < size && php_hone_is_record(from + at))
		at += move_record((const zend_array *)(from + at),
			(zend_array *)(to + at),
			(const zend_array *)(view + at), moved);
	return at;
}

/* Not inline: a store of one string needs no table. */
static zend_never_inline void
place_arrays(const struct php_hone_builder *builder, unsigned char *to,
	const unsigned char *view)
{
	size_t arrays = builder->arrays.used;
	struct moved moved =
		moved_by((uintptr_t)view, (uintptr_t)view + arrays - 1);

	move_arrays(builder->arrays.bytes, arrays, to, view, &moved);
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
	struct moved moved = moved_by(by, by);
	size_t arrays;

	if (stored->data == NULL) {
		*copy = stored->root;
		return;
	}
	arrays = move_arrays(stored->data, stored->size, to, view, &moved);
	if (arrays < stored->size)
		hone_memcpy((unsigned char *)to + arrays,
			(const unsigned char *)stored->data + arrays,
			stored->size - arrays, HONE_COPY_KEEP);
	set_root(copy, Z_TYPE(stored->root), view);
}
