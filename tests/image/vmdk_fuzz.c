/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a VMDK image: opened, described and read, as a file and as a
 * stream. What is described as a hole reads as zeros, and a stream that was
 * read to its end is the disk that the file is.
 */
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "format/format.h"
#include "format/verdict.h"
#include "fake_memory.h"
#include "blocks/blocks.h"

/* Disks may be far larger than their files; as much as this is visited. */
#define MOST ((size_t)1 << 20)
#define CHUNK ((size_t)64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
ignore_field(void *opaque, const struct image_field *field)
{
	size_t *characters = opaque;

	for (const char *at = field->text; at && *at; at++)
		++*characters;
}

static void
ignore_finding(void *opaque, const struct image_finding *finding)
{
	(void)opaque;
	(void)finding;
}

static struct image_store *
open_bytes(const uint8_t *data, size_t size, bool stream)
{
	struct image_store *store;
	struct image_stream *bytes;
	struct image_error err;

	if (memory_store_open(data, size, "bytes", &store, &err) < 0)
		abort();
	if (stream && (image_stream_of_store(store, &bytes, &err) < 0 ||
			      image_blocks_open(bytes, 0, &store, &err) < 0))
		abort();
	return store;
}

/* Read the first bytes of the disk. Returns the number that can be read. */
static size_t
read_disk(struct image_source *source, unsigned char *disk)
{
	struct image_scratch scratch = {0};
	struct image_error err;
	size_t at = 0;

	while (at < source->size && at < MOST) {
		struct image_extent extent;
		uint64_t left = source->size - at;
		if (source->ops->extent(source, at, left, &extent, &err) < 0)
			break;
		if (extent.offset != at || extent.length == 0 ||
			extent.length > left)
			abort();
		size_t n =
			extent.length < CHUNK ? (size_t)extent.length : CHUNK;
		n = n < MOST - at ? n : MOST - at;
		if (source->ops->read(
			    source, &scratch, at, disk + at, n, &err) < 0)
			break;
		if (extent.kind == IMAGE_HOLE &&
			!hone_buffer_is_zero(disk + at, n))
			abort();
		at += n;
	}
	image_scratch_destroy(&scratch);
	return at;
}

/* Sets *whole if all that is visited was read, and the image is unchanged. */
static size_t
visit(const uint8_t *data, size_t size, bool stream, unsigned char *disk,
	bool *whole)
{
	struct image_open how = {.format = &image_format_vmdk};
	struct image_source *source;
	struct image_error err;
	size_t characters = 0;

	*whole = false;
	if (image_open_store(
		    open_bytes(data, size, stream), &how, &source, &err) < 0)
		return 0;
	image_info(source, ignore_field, &characters);
	size_t length = read_disk(source, disk);
	*whole = (length == source->size || length == MOST) &&
		 source->ops->ended(source, &err) == 0 &&
		 source->ops->unchanged(source, &err) == 0;
	image_close(source);
	return length;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char disks[2][MOST];
	struct image_checked checked;
	struct image_verdict verdict = {
		.report = ignore_finding, .opaque = NULL, .checked = &checked};
	struct image_error err;
	bool whole[2];

	size_t stream = visit(data, size, true, disks[0], &whole[0]);
	size_t file = visit(data, size, false, disks[1], &whole[1]);
	if (whole[0] && (stream != file || !whole[1] ||
				memcmp(disks[0], disks[1], file) != 0))
		abort();
	struct image_store *store = open_bytes(data, size, false);
	(void)image_format_vmdk.check(store, &verdict, &err);
	image_store_close(store);
	return 0;
}
