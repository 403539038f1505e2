/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target whose first and last bytes are written last. A disk has its
 * partition tables there: without them, nothing uses what was written so far.
 */
#include <stdlib.h>
#include <string.h>
#include "store/store.h"

/* Bytes at each end: more than a partition table and a boot sector. */
#define HELD ((uint64_t)1 << 20)

/* Bytes that are kept in memory. */
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
	last->length = end - first->length;
	if (last->length > HELD)
		last->length = HELD;
	last->offset = end - last->length;
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
	struct image_store *inner = held(target)->inner;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < 2; i++) {
		const struct part *part = &held(target)->parts[i];
		if (part->length)
			rc = inner->ops->zero(
				inner, part->offset, part->length, err);
	}
	return rc == 0 ? inner->ops->flush(inner, err) : rc;
}

int
image_target_release(struct image_store *target, struct image_error *err)
{
	struct image_store *inner = held(target)->inner;

	/* All else is on the disk when the partition table appears. */
	int rc = inner->ops->flush(inner, err);
	for (size_t i = 2; rc == 0 && i-- > 0;) {
		const struct part *part = &held(target)->parts[i];
		rc = image_store_write(inner, part->offset, part->bytes,
			(size_t)part->length, err);
	}
	return rc;
}
