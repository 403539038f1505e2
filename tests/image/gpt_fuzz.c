/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes laid by XOR over the tables of a disk with a GPT, which then moves.
 * The first bytes choose the sectors, the new size, which checksums are set
 * right, and whether the disk is a stream. A disk that is accepted has its
 * partitions as they were, and moves once more without a change.
 */
#include <stdlib.h>
#include <string.h>
#include "codec/join.h"
#include "fake_memory.h"
#include "format/bytes.h"
#include "format/format.h"

#define COUNT 4u
#define ARRAY (COUNT * 128u)
#define HEADER 92u

enum { LARGE = 1, CHECKSUMS = 2, ARRAYS = 4, STREAM = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A GPT needs 67 sectors of 512 bytes, or 11 of 4096. */
#define SMALL 80u
#define LONGEST (64u * 4096)

static unsigned char disk[LONGEST], view[LONGEST];
static unsigned sectors;

static void
put_header(unsigned char *to, uint64_t my, uint64_t other, uint64_t entries,
	uint64_t reserved)
{
	memcpy(to, "EFI PART", 8);
	image_put_le32(to + 8, 0x10000);
	image_put_le32(to + 12, HEADER);
	image_put_le64(to + 24, my);
	image_put_le64(to + 32, other);
	image_put_le64(to + 40, 2 + reserved);
	image_put_le64(to + 48, sectors - 2 - reserved);
	image_put_le64(to + 72, entries);
	image_put_le32(to + 80, COUNT);
	image_put_le32(to + 84, 128);
}

/* Lay bytes over; returns how many were used. */
static size_t
lay(unsigned char *to, size_t length, const uint8_t *data, size_t size)
{
	size_t n = size < length ? size : length;

	for (size_t i = 0; i < n; i++)
		to[i] ^= data[i];
	return n;
}

static void
set_checksums(unsigned char *header, const unsigned char *array, int how)
{
	uint32_t length = image_le32(header + 12);

	if (how & ARRAYS)
		image_put_le32(header + 88, image_crc32(array, ARRAY));
	if (!(how & CHECKSUMS) || length < HEADER || length > 512)
		return;
	image_put_le32(header + 16, 0);
	image_put_le32(header + 16, image_crc32(header, length));
}

static void
make(size_t sector, int how, const uint8_t *data, size_t size)
{
	uint64_t reserved = 16384 / sector;
	uint64_t entries = sectors - 1 - reserved;
	struct {
		unsigned char *at;
		size_t length;
	} parts[] = {{disk + 446, 66}, {disk + sector, HEADER},
		{disk + (sectors - 1) * sector, HEADER},
		{disk + 2 * sector, ARRAY}, {disk + entries * sector, ARRAY}};

	memset(disk, 0, sectors * sector);
	disk[450] = 0xee;
	disk[454] = 1;
	image_put_le16(disk + 510, 0xaa55);
	put_header(parts[1].at, 1, sectors - 1, 2, reserved);
	put_header(parts[2].at, sectors - 1, 1, entries, reserved);
	for (int i = 3; i < 5; i++) {
		parts[i].at[0] = 1;
		image_put_le64(parts[i].at + 32, 2 + reserved);
		image_put_le64(parts[i].at + 40, 5 + reserved);
	}
	for (int i = 0; i < 5; i++) {
		size_t n = lay(parts[i].at, parts[i].length, data, size);
		data += n;
		size -= n;
	}
	set_checksums(parts[1].at, parts[3].at, how);
	set_checksums(parts[2].at, parts[how & STREAM ? 3 : 4].at, how);
}

static struct image_source *
open_disk(const unsigned char *bytes, size_t length, bool stream)
{
	const struct image_open how = {.format = &image_format_raw};
	struct image_source *source;
	struct image_store *store;
	struct image_error err;

	if (memory_store_open(bytes, length, "bytes", &store, &err) < 0)
		abort();
	store->forward = stream;
	if (image_open_store(store, &how, &source, &err) < 0)
		abort();
	return source;
}

/* Read the disk by its extents. */
static void
read_all(struct image_source *source, unsigned char *to)
{
	struct image_scratch scratch = {0};
	struct image_extent e;
	struct image_error err;

	for (uint64_t at = 0; at < source->size; at += e.length) {
		if (source->ops->extent(
			    source, at, source->size - at, &e, &err) < 0 ||
			e.offset != at || e.length == 0 ||
			e.length > source->size - at)
			abort();
		memset(to + at, 0, e.length);
		if (e.kind == IMAGE_DATA &&
			source->ops->read(source, &scratch, at, to + at,
				e.length, &err) < 0)
			abort();
	}
	image_scratch_destroy(&scratch);
}

/* The moved disk is in the view. */
static void
check(size_t sector, uint64_t wanted)
{
	static unsigned char again[sizeof(view)];
	const unsigned char *header = view + sector;
	uint64_t first = image_le64(header + 40),
		 last = image_le64(header + 48);
	struct image_error err;

	if (last >= wanted / sector || first > last)
		abort();
	for (unsigned i = 0; i < COUNT; i++) {
		const unsigned char *e = disk +
					 image_le64(header + 72) * sector +
					 i * image_le32(header + 84);
		uint64_t begin = image_le64(e + 32), end = image_le64(e + 40);
		if (i >= image_le32(header + 80) ||
			memcmp(e, (char[16]){0}, 16) == 0)
			continue;
		if (begin < first || end < begin || end > last ||
			memcmp(disk + begin * sector, view + begin * sector,
				(end - begin + 1) * sector) != 0)
			abort();
	}
	struct image_source *source = open_disk(view, wanted, false);
	if (image_source_move_gpt(&source, wanted, &err) < 0)
		abort();
	read_all(source, again);
	if (memcmp(again, view, wanted) != 0)
		abort();
	image_close(source);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_error err;

	if (size < 2)
		return 0;
	int how = data[0];
	size_t sector = how & LARGE ? 4096 : 512;
	sectors = how & LARGE ? 20 : SMALL;
	uint64_t wanted = (uint64_t)(data[1] % (2 * sectors + 1)) * sector;
	uint64_t length = sectors * sector;
	make(sector, how, data + 2, size - 2);
	struct image_source *source = open_disk(disk, length, how & STREAM);
	int rc = image_source_move_gpt(&source, wanted, &err);
	if (rc == 0 && wanted < length)
		rc = image_source_cut(source, wanted, &err);
	if (rc == 0) {
		if (source->size != wanted ||
			image_source_whole_size(source) != length)
			abort();
		read_all(source, view);
		check(sector, wanted);
	}
	image_close(source);
	return 0;
}
