/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images that are built at their final place. The sizes of both parts are a
 * guess: the strings may need less, and what the arrays do not need becomes a
 * string that nothing points to, so that the image has no gap.
 */
#include "text.h"

/* The largest part of the arrays' share that may be such a string. */
#define UNUSED_MOST 8

static bool
fill(struct php_hone_builder *builder)
{
	size_t gap = builder->arrays.room - builder->arrays.used;
	unsigned char *at = builder->arrays.bytes + builder->arrays.used;
	zend_string *string = (zend_string *)at;

	if (gap == 0)
		return true;
	if (gap < php_hone_string_size(0) ||
		gap > builder->arrays.room / UNUSED_MOST)
		return false;
	memset(at, 0, gap);
	GC_SET_REFCOUNT(string, PHP_HONE_REFCOUNT);
	GC_TYPE_INFO(string) = PHP_HONE_STRING_INFO;
	ZSTR_LEN(string) = gap - _ZSTR_STRUCT_SIZE(0);
	ZSTR_H(string) =
		php_hone_image_hash(ZSTR_VAL(string), ZSTR_LEN(string));
	return true;
}

bool
php_hone_image_build_at(struct php_hone_builder *builder, const zval *array,
	void *to, const void *view, const struct php_hone_parts *parts,
	zval *root)
{
	struct php_hone_buffer arrays = builder->arrays;
	struct php_hone_buffer strings = builder->strings;
	bool good;

	builder->arrays = (struct php_hone_buffer){
		.bytes = to, .room = parts->arrays, .fixed = true};
	builder->strings = (struct php_hone_buffer){
		.bytes = (unsigned char *)to + parts->arrays,
		.room = parts->strings,
		.fixed = true};
	builder->refused = NULL;
	builder->string = NULL;
	builder->image = NULL;
	php_hone_begin_build(
		builder, (uintptr_t)view, (uintptr_t)view + parts->arrays);
	php_hone_build_root(
		builder, Z_ARR_P(array), GC_REFCOUNT(Z_ARR_P(array)) == 1);
	good = builder->refused == NULL && !builder->object && fill(builder);
	builder->size = parts->arrays + builder->strings.used;
	builder->arrays = arrays;
	builder->strings = strings;
	memset(root, 0, sizeof(*root));
	root->value.ptr = (void *)(uintptr_t)view;
	Z_TYPE_INFO_P(root) = IS_ARRAY;
	return good;
}
