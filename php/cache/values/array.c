/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a stored value, depth first. */
#include "element.h"

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
		php_hone_build_deep(builder, next);
	else
		build_record(builder, next, depth + 1);
	return builder->arrays.bytes + at;
}

static zend_always_inline zval *
build_packed(struct php_hone_builder *builder, const zend_array *array,
	zval *to, unsigned depth)
{
	const zval *from = array->arPacked, *end = from + array->nNumUsed;

	for (; from != end; from++, to++) {
		const zend_array *next = php_hone_put(builder, from, to, 0);
		if (next != NULL) {
			to = build_next(builder, next, depth, to);
			if (UNEXPECTED(builder->refused != NULL))
				break;
		}
	}
	return to;
}

static zend_always_inline Bucket *
build_buckets(struct php_hone_builder *builder, const zend_array *array,
	Bucket *to, unsigned depth)
{
	const Bucket *from = array->arData, *end = from + array->nNumUsed;

	for (; from != end; from++, to++) {
		const zend_array *next = php_hone_put_bucket(
			builder, from, to, Z_NEXT(from->val));
		if (next != NULL) {
			to = build_next(builder, next, depth, to);
			if (UNEXPECTED(builder->refused != NULL))
				break;
		}
	}
	return to;
}

static void
build_record(struct php_hone_builder *builder, const zend_array *array,
	unsigned depth)
{
	size_t at = builder->arrays.used;
	bool packed = HT_IS_PACKED(array);
	zend_array *record;
	void *to;

	if (!packed && !php_hone_is_verbatim(array)) {
		php_hone_build_deep(builder, array);
		return;
	}
	record = php_hone_begin_record(builder, array, true);
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

void
php_hone_build_arrays(struct php_hone_builder *builder, const zend_array *root)
{
	build_record(builder, root, 0);
}
