/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a VHD: opened, described and read. The checksums are set right,
 * so that the fields behind them are reached. What is described as a hole reads
 * as zeros.
 */
#include <stdlib.h>
#include <hone/zero.h>
#include "format/vhd/vhd.h"
#include "fake_memory.h"

/* Disks may be far larger than their files; as much as this is visited. */
#define MOST ((uint64_t)1 << 20)
#define CHUNK ((size_t)64 << 10)
#define LONGEST ((size_t)128 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
set_checksum(unsigned char *raw, size_t length, size_t at)
{
	uint32_t sum = vhd_checksum(raw, length, at);

	for (int i = 3; i >= 0; i--, sum >>= 8)
		raw[at + (size_t)i] = (unsigned char)sum;
}

static void
set_checksums(unsigned char *bytes, size_t size)
{
	if (size < VHD_FOOTER)
		return;
	set_checksum(bytes + size - VHD_FOOTER, VHD_FOOTER, 64);
	if (!vhd_has_cookie(bytes, size))
		return;
	set_checksum(bytes, VHD_FOOTER, 64);
	uint64_t header = image_be64(bytes + 16);
	if (size >= VHD_HEADER && header <= size - VHD_HEADER)
		set_checksum(bytes + header, VHD_HEADER, 36);
}

/* The extent at offset, and its first bytes. */
static int
visit(struct image_source *source, uint64_t offset, uint64_t *next)
{
	static unsigned char buf[CHUNK];
	struct image_scratch scratch = {0};
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
	rc = source->ops->read(source, &scratch, offset, buf, length, &err);
	/* All was checked when the image was opened. */
	if (rc < 0 || (extent.kind == IMAGE_HOLE &&
			      !hone_buffer_is_zero(buf, length)))
		abort();
	return 0;
}

static void
ignore(void *opaque, const struct image_field *field)
{
	(void)opaque;
	(void)field;
}

static void
visit_all(const unsigned char *data, size_t size, bool inspect)
{
	struct image_open how = {
		.format = &image_format_vhd, .inspect = inspect};
	struct image_source *source;
	struct image_store *store;
	struct image_error err;
	uint64_t at = 0;

	if (memory_store_open(data, size, "bytes", &store, &err) < 0)
		abort();
	if (image_open_store(store, &how, &source, &err) < 0)
		return;
	image_info(source, ignore, NULL);
	while (!inspect && at < source->size && at < MOST)
		visit(source, at, &at);
	/* The end, too. */
	if (!inspect && source->size > MOST)
		visit(source, source->size - 1, &at);
	image_close(source);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char bytes[LONGEST];

	if (size > sizeof(bytes))
		return 0;
	memcpy(bytes, data, size);
	set_checksums(bytes, size);
	visit_all(bytes, size, false);
	visit_all(bytes, size, true);
	return 0;
}
