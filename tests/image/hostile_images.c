/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "format/formats.h"
#include "format/vhd/vhd.h"
#include "hostile_images.h"
#include "fake_memory.h"
#include "small_image.h"
#include "support.h"
#include "fake_store.h"

void
hostile_put_be(
	struct hostile_image *image, size_t at, size_t bytes, uint64_t value)
{
	small_put(image->bytes, at, bytes, value);
}

void
hostile_put_le(
	struct hostile_image *image, size_t at, size_t bytes, uint64_t value)
{
	for (size_t i = 0; i < bytes; i++)
		image->bytes[at + i] = (unsigned char)(value >> 8 * i);
}

/* The same bytes in each run, none of them a sector of zeros. */
static void
fill(unsigned char *to, size_t length)
{
	uint64_t random = 39;

	for (size_t i = 0; i < length; i++)
		to[i] = (unsigned char)(support_random(&random) >> 32);
}

void
hostile_raw(struct hostile_image *image)
{
	image->length = (size_t)96 << 10;
	fill(image->bytes, image->length);
}

void
hostile_qcow2(struct hostile_image *image)
{
	image->length = SMALL_BYTES;
	small_image(image->bytes);
}

/* The number whose bytes are these letters. */
static uint64_t
text_of(const char *letters)
{
	uint64_t number = 0;

	while (*letters)
		number = number << 8 | (unsigned char)*letters++;
	return number;
}

static void
put_footer(struct hostile_image *image, size_t at, unsigned type,
	uint64_t header, uint64_t size)
{
	unsigned char *raw = image->bytes + at;

	memset(raw, 0, VHD_FOOTER);
	small_put(raw, 0, 8, text_of("conectix"));
	small_put(raw, 12, 4, 0x10000);
	small_put(raw, 16, 8, header);
	/* A creator whose disks have the current size. */
	small_put(raw, 28, 4, text_of("win "));
	small_put(raw, 40, 8, size);
	small_put(raw, 48, 8, size);
	small_put(raw, 60, 4, type);
	small_put(raw, 64, 4, vhd_checksum(raw, VHD_FOOTER, 64));
}

void
hostile_vhd_fixed(struct hostile_image *image)
{
	size_t size = (size_t)96 << 10;

	fill(image->bytes, size);
	put_footer(image, size, VHD_FIXED, UINT64_MAX, size);
	image->length = size + VHD_FOOTER;
}

void
hostile_vhd_sums(struct hostile_image *image)
{
	const size_t footers[] = {0, image->length - VHD_FOOTER};
	unsigned char *header = image->bytes + VHD_FOOTER;

	for (size_t i = 0; i < 2; i++) {
		unsigned char *raw = image->bytes + footers[i];
		small_put(raw, 64, 4, vhd_checksum(raw, VHD_FOOTER, 64));
	}
	small_put(header, 36, 4, vhd_checksum(header, VHD_HEADER, 36));
}

void
hostile_vhd(struct hostile_image *image)
{
	const size_t entries = 4;
	uint64_t size = entries * HOSTILE_VHD_BLOCK;
	unsigned char *header = image->bytes + VHD_FOOTER;
	unsigned char *table = image->bytes + HOSTILE_VHD_TABLE;
	size_t at = HOSTILE_VHD_TABLE + VHD_SECTOR;

	memset(image->bytes, 0, HOSTILE_ROOM);
	put_footer(image, 0, VHD_DYNAMIC, VHD_FOOTER, size);
	small_put(header, 0, 8, text_of("cxsparse"));
	small_put(header, 8, 8, UINT64_MAX);
	small_put(header, 16, 8, HOSTILE_VHD_TABLE);
	small_put(header, 24, 4, 0x10000);
	small_put(header, 28, 4, entries);
	small_put(header, 32, 4, HOSTILE_VHD_BLOCK);
	memset(table, 0xff, VHD_SECTOR);
	for (size_t i = 0; i < entries; i++) {
		if (i == 1)
			continue;
		small_put(table, 4 * i, 4, at / VHD_SECTOR);
		memset(image->bytes + at, 0xff,
			HOSTILE_VHD_BLOCK / VHD_SECTOR / 8);
		fill(image->bytes + at + VHD_SECTOR, HOSTILE_VHD_BLOCK);
		at += VHD_SECTOR + HOSTILE_VHD_BLOCK;
	}
	put_footer(image, at, VHD_DYNAMIC, VHD_FOOTER, size);
	image->length = at + VHD_FOOTER;
	hostile_vhd_sums(image);
}

/* Write a disk in a format. */
static void
write_image(struct hostile_image *image, const void *disk, size_t length,
	const struct image_format *format)
{
	const struct image_open how = {.format = &image_format_raw};
	struct image_write write = {.direct = false};
	struct image_run run = {.block = 4096, .threads = 1};
	struct image_create create;
	struct image_copied copied;
	struct image_source *source;
	struct image_store *store;
	struct image_sink *sink;
	struct image_error err;
	int fd = test_store_scratch();

	image_create_init(&create);
	create.size = length;
	assert_int_equal(
		memory_store_open(disk, length, "disk", &store, &err), 0);
	assert_int_equal(image_open_store(store, &how, &source, &err), 0);
	assert_int_equal(image_create(fd, "disk.image", format, &create, &write,
				 &sink, &err),
		0);
	assert_int_equal(image_copy(source, sink, &run, &copied, &err), 0);
	assert_int_equal(image_finish(sink, &err), 0);
	image_sink_close(sink);
	image_close(source);
	ssize_t n = pread(fd, image->bytes, HOSTILE_ROOM, 0);
	assert_true(n > 0 && (size_t)n < HOSTILE_ROOM);
	image->length = (size_t)n;
	close(fd);
}

void
hostile_vmdk(struct hostile_image *image)
{
	size_t length = 5 * HOSTILE_VMDK_GRAIN;
	unsigned char *disk = malloc(length);

	assert_non_null(disk);
	fill(disk, length);
	memset(disk + HOSTILE_VMDK_GRAIN, 0, HOSTILE_VMDK_GRAIN);
	write_image(image, disk, length, image_format_by_name("vmdk"));
	free(disk);
}
