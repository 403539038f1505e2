/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a qcow2 image: opened, described and read, with and without
 * image_open.inspect. What is described as a hole reads as zeros.
 */
#include <stdlib.h>
#include <hone/zero.h>
#include "format/format.h"
#include "fake_memory.h"

/* Disks may be far larger than their files; as much as this is visited. */
#define MOST ((uint64_t)1 << 20)
#define CHUNK ((size_t)64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Info reports text that ends, and lists that end. */
struct listing {
	size_t characters;
	int depth;
};

static void
report(void *opaque, const struct image_field *field)
{
	struct listing *listing = opaque;

	for (const char *at = field->text; at && *at; at++)
		listing->characters++;
	if (field->type == IMAGE_FIELD_LIST || field->type == IMAGE_FIELD_ITEM)
		listing->depth++;
	if (field->type == IMAGE_FIELD_END)
		listing->depth--;
}

/* The extent at offset, and its first bytes. */
static int
visit(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, uint64_t *next)
{
	static unsigned char buf[CHUNK];
	struct image_extent extent;
	struct image_error err;

	int rc = source->ops->extent(
		source, offset, source->size - offset, &extent, &err);
	if (rc < 0)
		return rc;
	if (extent.offset != offset || extent.length == 0 ||
		extent.length > source->size - offset)
		abort();
	size_t length = extent.length < CHUNK ? (size_t)extent.length : CHUNK;
	*next = offset + length;
	rc = source->ops->read(source, scratch, offset, buf, length, &err);
	if (rc == 0 && extent.kind == IMAGE_HOLE &&
		!hone_buffer_is_zero(buf, length))
		abort();
	return rc;
}

static void
visit_all(const uint8_t *data, size_t size, bool inspect)
{
	struct image_open how = {
		.format = &image_format_qcow2, .inspect = inspect};
	struct image_scratch scratch = {0};
	struct listing listing = {0};
	struct image_source *source;
	struct image_store *store;
	struct image_error err;
	uint64_t at = 0;

	if (memory_store_open(data, size, "bytes", &store, &err) < 0)
		abort();
	if (image_open_store(store, &how, &source, &err) < 0)
		return;
	image_info(source, report, &listing);
	if (listing.depth != 0)
		abort();
	while (at < source->size && at < MOST)
		if (visit(source, &scratch, at, &at) < 0)
			break;
	/* The end, too. */
	if (source->size > MOST)
		visit(source, &scratch, source->size - 1, &at);
	image_close(source);
	image_scratch_destroy(&scratch);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	visit_all(data, size, false);
	visit_all(data, size, true);
	return 0;
}
