/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrays with a stack in memory: for what is nested deeper than array.c goes,
 * so that the depth of a value is limited by memory and not by the stack of the
 * thread, and for hash tables that need a new index. Each hash table gets one.
 */
#include "element.h"

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
		const zend_array *next =
			php_hone_put(builder, &from[i], &to[i], 0);
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

		if (Z_TYPE_P(php_hone_direct(&bucket->val)) == IS_UNDEF)
			continue;
		*slot = HT_IDX_TO_HASH(frame->to);
		array = php_hone_put_bucket(
			builder, bucket, &to[frame->to++], next);
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
	if (php_hone_begin_record(builder, array, false) == NULL)
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

void
php_hone_build_deep(struct php_hone_builder *builder, const zend_array *root)
{
	struct frame *frame = push(builder, root);

	while (frame != NULL && builder->refused == NULL) {
		const zend_array *next = copy_elements(builder, frame);
		frame = next != NULL ? push(builder, next)
				     : pop(builder, frame);
	}
}
