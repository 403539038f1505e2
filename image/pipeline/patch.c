/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "format/source.h"
#include "pipeline/patch.h"
#include "pipeline/pieces.h"

const struct image_patch *
image_patch_at(const struct image_patches *patches, uint64_t at, uint64_t *end)
{
	for (size_t i = 0; i < patches->count; i++) {
		const struct image_patch *p = &patches->list[i];
		if (p->offset > at && p->offset < *end)
			*end = p->offset;
		if (at < p->offset || at - p->offset >= p->length)
			continue;
		if (*end > p->offset + p->length)
			*end = p->offset + p->length;
		return p;
	}
	return NULL;
}

static int
patched_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	const struct image_patched *p = (struct image_patched *)source;
	struct image_source *inner = p->inner;
	uint64_t end = offset + length;
	/* A stream is past what is in memory. */
	bool held = p->base.store->forward && offset < p->head_length;
	bool data = image_patch_at(&p->patches, offset, &end) || held;

	if (held && end > p->head_length)
		end = p->head_length;
	if (data || offset >= inner->size) {
		*extent = (struct image_extent){
			.offset = offset,
			.length = end - offset,
			.kind = data ? IMAGE_DATA : IMAGE_HOLE,
			.host = IMAGE_NO_HOST,
		};
		return 0;
	}
	if (end > inner->size)
		end = inner->size;
	return inner->ops->extent(inner, offset, end - offset, extent, err);
}

/* Exchange the bytes that have patches; none of them is read by two threads at
 * once, since each thread has a chunk of its own. */
static void
lay_over(const struct image_patches *patches, uint64_t offset,
	unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < patches->count; i++) {
		const struct image_patch *p = &patches->list[i];
		uint64_t from = offset > p->offset ? offset : p->offset;
		uint64_t to = p->offset + p->length;
		if (to > offset + length)
			to = offset + length;
		if (from >= to)
			continue;
		size_t at = (size_t)(from - p->offset);
		memcpy(p->was + at, bytes + (from - offset), to - from);
		memcpy(bytes + (from - offset), p->now + at, to - from);
	}
}

static int
patched_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err)
{
	const struct image_patched *p = (struct image_patched *)source;
	struct image_source *inner = p->inner;
	unsigned char *to = buf;
	size_t done = 0;
	int rc = 0;

	if (offset < p->head_length) {
		done = p->head_length - (size_t)offset;
		if (done > length)
			done = length;
		memcpy(to, p->head + offset, done);
	}
	uint64_t at = offset + done;
	if (done < length && at < inner->size) {
		uint64_t left = inner->size - at;
		size_t n = left < length - done ? (size_t)left : length - done;
		rc = inner->ops->read(inner, scratch, at, to + done, n, err);
		done += n;
	}
	memset(to + done, 0, length - done);
	if (rc == 0)
		lay_over(&p->patches, offset, to, length);
	return rc;
}

static int
patched_ended(struct image_source *source, struct image_error *err)
{
	struct image_source *inner = ((struct image_patched *)source)->inner;
	return inner->ops->ended(inner, err);
}

static bool
patched_any(
	const struct image_source *source, image_store_test *test, void *opaque)
{
	const struct image_patched *p = (const struct image_patched *)source;
	return image_source_any(p->inner, test, opaque);
}

static void
patched_close(struct image_source *source)
{
	struct image_patched *p = (struct image_patched *)source;

	image_source_free(p->inner);
	image_patched_destroy(p);
}

/* In whole chunks, as a visit reads. */
static int
read_head(struct image_patched *p, size_t length, struct image_error *err)
{
	struct image_source *inner = p->inner;
	struct image_scratch scratch = {0};
	size_t chunk = image_chunk_size(inner);
	int rc = 0;

	length = (length + chunk - 1) / chunk * chunk;
	if (length > inner->size)
		length = (size_t)inner->size;
	p->head = malloc(length + 1);
	if (!p->head)
		return image_no_memory(err);
	for (size_t at = 0, n; rc == 0 && at < length; at += n) {
		n = length - at < chunk ? length - at : chunk;
		rc = inner->ops->read(
			inner, &scratch, at, p->head + at, n, err);
	}
	p->head_length = length;
	image_scratch_destroy(&scratch);
	return rc;
}

int
image_patched_create(struct image_source *inner, uint64_t size, size_t head,
	struct image_patched **out, struct image_error *err)
{
	struct image_patched *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return image_no_memory(err);
	p->inner = inner;
	p->ops = (struct image_source_ops){
		.extent = patched_extent,
		.read = patched_read,
		.ended = inner->ops->ended ? patched_ended : NULL,
		.any = patched_any,
		.close = patched_close,
	};
	p->base = *inner;
	p->base.ops = &p->ops;
	p->base.patches = &p->patches;
	p->patches.size = inner->size;
	if (p->base.size < size)
		p->base.size = size;
	int rc = read_head(p, head, err);
	if (rc < 0) {
		image_patched_destroy(p);
		return rc;
	}
	*out = p;
	return 0;
}

void
image_patched_destroy(struct image_patched *patched)
{
	if (!patched)
		return;
	for (size_t i = 0; i < patched->patches.count; i++)
		free(patched->patches.list[i].now);
	free(patched->head);
	free(patched);
}

int
image_patched_add(struct image_patched *patched, uint64_t offset, size_t length,
	const unsigned char *bytes, struct image_error *err)
{
	struct image_patches *patches = &patched->patches;
	unsigned char *now = calloc(2, length);

	assert(patches->count < IMAGE_PATCHES && length > 0);
	if (!now)
		return image_no_memory(err);
	if (bytes)
		memcpy(now, bytes, length);
	patches->list[patches->count++] = (struct image_patch){
		.offset = offset,
		.length = length,
		.now = now,
		.was = now + length,
	};
	return 0;
}

uint64_t
image_source_whole_size(const struct image_source *source)
{
	return source->patches ? source->patches->size
			       : source->size + source->cut;
}

/* of sectors of 4096 bytes, at the end of a disk: 128 entries and a header */
#define BACKUP_GPT 20480

int
image_source_cut(
	struct image_source *source, uint64_t size, struct image_error *err)
{
	uint64_t data;

	int rc = image_source_find_data(source, size, source->size, &data, err);
	if (rc < 0)
		return rc;
	if (data < source->size)
		return image_fail(err, source->store->name, -EINVAL,
			"has data at offset %" PRIu64 ", behind the %" PRIu64
			" bytes of the new disk%s",
			data, size,
			source->size - data <= BACKUP_GPT
				? "; if this is the backup GPT, add --move-gpt"
				: "");
	source->cut += source->size - size;
	source->size = size;
	return 0;
}
