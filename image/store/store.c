/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks that every kind of store needs. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "store/store.h"

int
image_store_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	assert(length <= INT64_MAX && offset <= INT64_MAX - length);
	return length ? store->ops->read(store, offset, buf, length, err) : 0;
}

int
image_store_write(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	if (offset > INT64_MAX - length)
		return image_fail(err, store->name, -EFBIG,
			"cannot be written at offset %" PRIu64
			": the offset is past the largest file size",
			offset);
	if (store->fixed && length && offset + length > store->size)
		return image_fail(err, store->name, -ENOSPC,
			"has %s, and the image has more",
			IMAGE_COUNT(store->size, "byte"));
	return length ? store->ops->write(store, offset, buf, length, err) : 0;
}

int
image_store_extent(struct image_store *store, uint64_t offset, uint64_t limit,
	uint64_t *length, bool *hole, struct image_error *err)
{
	if (store->ops->extent)
		return store->ops->extent(
			store, offset, limit, length, hole, err);
	*length = limit;
	*hole = false;
	return 0;
}

int
image_store_unchanged(struct image_store *store, struct image_error *err)
{
	return store->ops->unchanged ? store->ops->unchanged(store, err) : 0;
}

struct image_store *
image_store_origin(const struct image_store *store)
{
	while (store->below)
		store = store->below;
	/* Whoever has a store may change it. */
	return (struct image_store *)store;
}

int
image_store_usage(const struct image_store *store, struct image_usage *usage,
	struct image_error *err)
{
	store = image_store_origin(store);
	if (store->ops->usage)
		return store->ops->usage(store, usage, err);
	usage->file_size = usage->disk_usage = store->size;
	return 0;
}

void
image_store_settle(struct image_store *store, struct image_error *err)
{
	struct image_store *origin = image_store_origin(store);
	struct image_error other;

	/* A stream cannot be read twice. */
	if (err->damaged && !origin->forward &&
		image_store_unchanged(origin, &other) < 0)
		*err = other;
}

int
image_store_reach(struct image_store *store, uint64_t offset, size_t length,
	uint64_t *reached, struct image_error *err)
{
	if (store->ops->reach) {
		int rc = store->ops->reach(store, offset, length, reached, err);
		if (rc < 0 || !store->max_size || *reached == 0 ||
			offset + *reached <= store->max_size)
			return rc;
		return image_too_large(err, store->name,
			"has a disk of more than", store->max_size);
	}
	uint64_t left = offset < store->size ? store->size - offset : 0;
	*reached = left < length ? left : length;
	return 0;
}

/* More than the signatures and the footers at the end of a file. */
#define STEP ((size_t)1 << 20)

int
image_store_find_end(struct image_store *store, uint64_t at, uint64_t keep,
	struct image_error *err)
{
	uint64_t reached = STEP, length = 0;
	bool hole = false;
	int rc = 0;

	while (rc == 0 && reached == STEP) {
		if (store->size != IMAGE_SIZE_UNKNOWN && at < store->size)
			rc = image_store_extent(store, at, store->size - at,
				&length, &hole, err);
		/* Most of a hole, such as that of a member of an archive. */
		if (rc == 0 && hole)
			at += length / STEP * STEP;
		hole = false;
		if (rc == 0)
			rc = image_store_reach(store, at, STEP, &reached, err);
		if (rc == 0 && at >= STEP && at - STEP >= keep)
			image_store_release(store, at - STEP, STEP);
		at += reached;
	}
	if (rc == 0)
		store->size = at;
	return rc;
}

int
image_store_head(struct image_store *store, struct image_error *err)
{
	uint64_t reached;

	if (store->has_head)
		return 0;
	int rc = image_store_reach(store, 0, IMAGE_HEAD_SIZE, &reached, err);
	if (rc == 0)
		rc = image_store_read(
			store, 0, store->head, (size_t)reached, err);
	store->head_length = rc < 0 ? 0 : (size_t)reached;
	store->has_head = rc == 0;
	return rc;
}

void
image_auth_drop(struct image_auth *auth)
{
	if (auth && --auth->users == 0)
		auth->free(auth);
}

void
image_store_release(struct image_store *store, uint64_t offset, uint64_t length)
{
	if (store->ops->release)
		store->ops->release(store, offset, length);
}

void
image_store_close(struct image_store *store)
{
	if (store)
		store->ops->close(store);
}

void
image_trace(const struct image_trace *trace, const char *format, ...)
{
	char *text = NULL, *shown = NULL;
	va_list args;

	if (!trace)
		return;
	va_start(args, format);
	/* Without memory, the line is left out. */
	if (vasprintf(&text, format, args) >= 0) {
		shown = image_hide_secrets(text);
		free(text);
	}
	va_end(args);
	if (shown)
		trace->line(trace->opaque, shown);
	free(shown);
}

void
image_ends_pass(
	struct image_ends *ends, const unsigned char *bytes, uint64_t length)
{
	uint64_t at = ends->position;

	for (uint64_t i = 0; i < length && at + i < IMAGE_ENDS; i++)
		ends->head[at + i] = bytes ? bytes[i] : 0;
	for (uint64_t i = length > IMAGE_ENDS ? length - IMAGE_ENDS : 0;
		i < length; i++)
		ends->tail[(at + i) % IMAGE_ENDS] = bytes ? bytes[i] : 0;
	ends->position += length;
}

void
image_ends_read(const struct image_ends *ends, uint64_t offset, void *buf,
	size_t length)
{
	unsigned char *to = buf;

	assert(offset + length <= IMAGE_ENDS ||
		offset + IMAGE_ENDS >= ends->position);
	for (size_t i = 0; i < length; i++, offset++)
		to[i] = offset >= ends->position ? 0
			: offset < IMAGE_ENDS    ? ends->head[offset]
					      : ends->tail[offset % IMAGE_ENDS];
}
