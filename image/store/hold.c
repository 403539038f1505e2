/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target whose first and last bytes are written last. A disk has its
 * partition tables there: without them, nothing uses what was written so far.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "store/store.h"

/* Bytes at each end: more than a partition table and a boot sector. */
#define HELD ((uint64_t)1 << 20)
/* The last part begins at a multiple, so that what lies before it can be shared
 * with another file. Zeros of this length are not written over zeros. */
#define UNIT ((uint64_t)64 << 10)

struct part {
	uint64_t offset;
	uint64_t length;
	unsigned char *bytes;
};

struct held {
	struct image_store store;
	struct image_store *inner;
	/* in ascending order */
	struct part parts[2];
	/* the target has zeros there */
	bool is_cleared;
};

static struct held *
held(struct image_store *store)
{
	return (struct held *)store;
}

/*
 * Returns the length of the piece of a range, from its beginning on, that lies
 * in one part, which is set, or outside all parts: *part is NULL.
 */
static uint64_t
piece(struct held *h, uint64_t offset, uint64_t length, struct part **part)
{
	*part = NULL;
	for (size_t i = 0; i < 2; i++) {
		struct part *p = &h->parts[i];
		uint64_t end = p->offset + p->length;
		if (offset >= end)
			continue;
		if (offset >= p->offset) {
			*part = p;
			return length < end - offset ? length : end - offset;
		}
		if (length > p->offset - offset)
			return p->offset - offset;
		return length;
	}
	return length;
}

static int
held_read(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	struct held *h = held(store);
	unsigned char *to = buf;
	struct part *part;
	int rc = 0;

	while (rc == 0 && length) {
		size_t n = (size_t)piece(h, offset, length, &part);
		if (part)
			memcpy(to, part->bytes + (offset - part->offset), n);
		else
			rc = image_store_read(h->inner, offset, to, n, err);
		offset += n;
		to += n;
		length -= n;
	}
	return rc;
}

static int
held_write(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	struct held *h = held(store);
	const unsigned char *from = buf;
	struct part *part;
	int rc = 0;

	while (rc == 0 && length) {
		size_t n = (size_t)piece(h, offset, length, &part);
		if (part)
			memcpy(part->bytes + (offset - part->offset), from, n);
		else
			rc = image_store_write(h->inner, offset, from, n, err);
		offset += n;
		from += n;
		length -= n;
	}
	return rc;
}

static int
held_zero(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	struct held *h = held(store);
	struct part *part;
	int rc = 0;

	while (rc == 0 && length) {
		uint64_t n = piece(h, offset, length, &part);
		if (part)
			memset(part->bytes + (offset - part->offset), 0,
				(size_t)n);
		else
			rc = h->inner->ops->zero(h->inner, offset, n, err);
		offset += n;
		length -= n;
	}
	return rc;
}

/* Read what lies in the parts, or share what lies between them. */
static int
take(struct held *h, bool in_parts, uint64_t offset, struct image_store *from,
	uint64_t from_offset, uint64_t length, struct image_error *err)
{
	struct part *part;
	int rc = 0;

	for (uint64_t n; rc == 0 && length; length -= n) {
		n = piece(h, offset, length, &part);
		if (part && in_parts)
			rc = image_store_read(from, from_offset,
				part->bytes + (offset - part->offset),
				(size_t)n, err);
		else if (!part && !in_parts)
			rc = h->inner->ops->share(
				h->inner, offset, from, from_offset, n, err);
		offset += n;
		from_offset += n;
	}
	return rc;
}

static int
held_share(struct image_store *store, uint64_t offset, struct image_store *from,
	uint64_t from_offset, uint64_t length, struct image_error *err)
{
	struct held *h = held(store);
	uint64_t from_here = h->parts[0].length, to_here = h->parts[1].offset;
	/* in front of what lies between the parts */
	uint64_t before = offset < from_here ? from_here - offset : 0;

	if (!h->inner->ops->share || from_here >= to_here ||
		offset >= to_here || length <= before)
		return -EOPNOTSUPP;
	/* Sharing comes first: if it fails, nothing has been read. */
	int rc = take(h, false, offset, from, from_offset, length, err);
	return rc < 0 ? rc
		      : take(h, true, offset, from, from_offset, length, err);
}

static int
held_flush(struct image_store *store, struct image_error *err)
{
	struct image_store *inner = held(store)->inner;
	return inner->ops->flush(inner, err);
}

static int
held_usage(const struct image_store *store, struct image_usage *usage,
	struct image_error *err)
{
	const struct image_store *inner = ((const struct held *)store)->inner;
	return inner->ops->usage(inner, usage, err);
}

static void
held_close(struct image_store *store)
{
	struct held *h = held(store);

	image_store_close(h->inner);
	free(h->parts[0].bytes);
	free(h->parts[1].bytes);
	free(h);
}

static const struct image_store_ops held_ops = {
	.read = held_read,
	.write = held_write,
	.zero = held_zero,
	.share = held_share,
	.flush = held_flush,
	.usage = held_usage,
	.close = held_close,
};

int
image_target_hold(
	struct image_store **target, uint64_t size, struct image_error *err)
{
	struct image_store *inner = *target;
	uint64_t end = inner->keep_rest ? size : inner->size;
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return image_no_memory(err);
	bool keep_any = inner->keep_rest && size == IMAGE_SIZE_UNKNOWN;
	if (keep_any)
		end = HELD;
	if (end > inner->size)
		end = inner->size;
	struct part *first = &h->parts[0], *last = &h->parts[1];
	first->length = end < HELD ? end : HELD;
	last->offset = end - first->length < HELD ? first->length : end - HELD;
	if (last->offset > first->length)
		last->offset &= ~(UNIT - 1);
	last->length = end - last->offset;
	/* calloc(0) may return NULL. */
	first->bytes = calloc(1, first->length + 1);
	last->bytes = calloc(1, last->length + 1);
	int rc = first->bytes && last->bytes ? 0 : image_no_memory(err);
	/* What lies behind the image stays, wherever its end is. */
	if (rc == 0 && keep_any)
		rc = image_store_read(
			inner, 0, first->bytes, (size_t)first->length, err);
	if (rc < 0) {
		free(first->bytes);
		free(last->bytes);
		free(h);
		return rc;
	}
	h->store = *inner;
	h->store.ops = &held_ops;
	h->inner = inner;
	*target = &h->store;
	return 0;
}

int
image_target_clear(struct image_store *target, struct image_error *err)
{
	struct held *h = held(target);
	struct image_store *inner = h->inner;
	struct image_error ignored;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < 2; i++) {
		const struct part *part = &h->parts[i];
		size_t length = (size_t)part->length;
		void *bytes = malloc(length + 1);
		/* What cannot be read is not known to be zero. */
		bool zeros = bytes &&
			     image_store_read(inner, part->offset, bytes,
				     length, &ignored) == 0 &&
			     hone_buffer_is_zero(bytes, length);
		if (length && !zeros)
			rc = inner->ops->zero(
				inner, part->offset, part->length, err);
		free(bytes);
	}
	h->is_cleared = rc == 0;
	return rc == 0 ? inner->ops->flush(inner, err) : rc;
}

/*
 * One call writes the part, so that a process that is killed leaves all of it
 * or nothing. Zeros around its data leave the holes that the target has.
 */
static int
write_part(struct held *h, const struct part *part, struct image_error *err)
{
	struct image_store *inner = h->inner;
	size_t length = (size_t)part->length;
	uint64_t begin = hone_find_nonzero(part->bytes, length), end = length;
	bool keeps_zeros = h->is_cleared || inner->zeros;

	if (begin == length)
		return keeps_zeros || length == 0
			       ? 0
			       : inner->ops->zero(inner, part->offset,
					 part->length, err);
	if (keeps_zeros) {
		begin &= ~(UNIT - 1);
		end = hone_rfind_nonzero(part->bytes, length) + 1;
		end = (end + UNIT - 1) & ~(UNIT - 1);
	} else {
		begin = 0;
	}
	if (end > length)
		end = length;
	return image_store_write(inner, part->offset + begin,
		part->bytes + begin, (size_t)(end - begin), err);
}

int
image_target_release(struct image_store *target, struct image_error *err)
{
	struct held *h = held(target);

	/* All else is on the disk when the partition table appears. */
	int rc = h->inner->ops->flush(h->inner, err);
	for (size_t i = 2; rc == 0 && i-- > 0;)
		rc = write_part(h, &h->parts[i], err);
	return rc;
}
