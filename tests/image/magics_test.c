/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of which no raw image is made, though they have no header of one: each
 * row of containers.def, packed files, and archives. */
#include "format/formats.h"
#include "fake_memory.h"
#include "blocks/blocks.h"
#include "support.h"

#define SIZE ((size_t)8192)

static unsigned char bytes[SIZE];
static struct image_error err;

struct row {
	const char *what;
	bool from_end;
	size_t offset;
	const char *magic;
	size_t length;
	const char *way;
};

static const struct row rows[] = {
#define IMAGE_CONTAINER(what, from_end, offset, magic, way)                    \
	{what, from_end, offset, magic, sizeof(magic) - 1, way},
#include "format/containers.def"
#undef IMAGE_CONTAINER
};

#define COUNT (sizeof(rows) / sizeof(rows[0]))

/* A disk: no byte of it is zero, and no two sectors are alike. */
static void
fill_disk(void)
{
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(1 + (i * 7 + i / 512) % 251);
}

static void
put(const struct row *row)
{
	fill_disk();
	memcpy(bytes + (row->from_end ? SIZE - row->offset : row->offset),
		row->magic, row->length);
}

/* Open the bytes as a file, or as a stream, and visit them to their end. */
static int
open_named(const char *name, bool forward, const struct image_open *how)
{
	struct image_source *source;
	struct image_stream *stream;
	struct image_store *store;
	uint64_t reached;

	assert_ok(memory_store_open(bytes, SIZE, name, &store, &err));
	if (forward) {
		assert_ok(image_stream_of_store(store, &stream, &err));
		assert_ok(image_blocks_open(stream, 0, &store, &err));
	}
	int rc = image_open_store(store, how, &source, &err);
	if (rc < 0)
		return rc;
	assert_string_equal(source->format->name, "raw");
	assert_int_equal(image_store_reach(store, 0, SIZE, &reached, &err), 0);
	rc = source->ops->ended ? source->ops->ended(source, &err) : 0;
	image_close(source);
	return rc;
}

static const struct image_open detect;
static const struct image_open raw = {.format = &image_format_raw};

TEST(each_row_is_refused_with_what_it_is_and_what_opens_it)
{
	for (size_t i = 0; i < COUNT; i++)
		for (int forward = 0; forward < 2; forward++) {
			put(&rows[i]);
			assert_int_equal(
				open_named("disk.img", forward, &detect),
				-EINVAL);
			if (!strstr(err.text, rows[i].what))
				fail_msg("%s: %s", rows[i].what, err.text);
			assert_non_null(strstr(err.text, rows[i].way));
			assert_non_null(strstr(err.text, "-f raw"));
			/* The whole message fits. */
			assert_int_equal(err.text[strlen(err.text) - 1], 'e');
		}
}

TEST(the_user_may_say_that_it_is_raw)
{
	for (size_t i = 0; i < COUNT; i++)
		for (int forward = 0; forward < 2; forward++) {
			put(&rows[i]);
			assert_ok(open_named("disk.img", forward, &raw));
		}
}

TEST(a_magic_with_another_byte_or_place_is_a_disk)
{
	for (size_t i = 0; i < COUNT; i++) {
		const struct row *row = &rows[i];
		put(row);
		size_t at = row->from_end ? SIZE - row->offset : row->offset;
		bytes[at + row->length / 2] ^= 0x80;
		assert_ok(open_named("disk.img", false, &detect));
		fill_disk();
		memcpy(bytes + 1024, row->magic, row->length);
		assert_ok(open_named("disk.img", false, &detect));
	}
}

TEST(the_magic_is_the_whole_file)
{
	struct image_source *source;
	struct image_store *store;

	for (size_t i = 0; i < COUNT; i++) {
		const struct row *row = &rows[i];
		if (row->from_end)
			continue;
		for (size_t cut = 0; cut < 2; cut++) {
			assert_ok(memory_store_open(row->magic,
				row->length - cut, "a", &store, &err));
			int rc =
				image_open_store(store, &detect, &source, &err);
			assert_int_equal(rc, cut ? 0 : -EINVAL);
			image_close(source);
		}
	}
}

/* What is a disk stays one: its first bytes are no container's. */
TEST(disks_are_raw)
{
	static const struct row disks[] = {
		{"MBR", false, 510, "\x55\xaa", 2, ""},
		{"GPT", false, 512, "EFI PART", 8, ""},
		{"ISO 9660", false, 4097, "CD001", 5, ""},
		{"SquashFS", false, 0, "hsqs", 4, ""},
		{"XFS", false, 0, "XFSB", 4, ""},
		{"FAT", false, 0, "\xeb\x3c\x90mkfs.fat", 11, ""},
		{"a fat binary", false, 0, "\xca\xfe\xba\xbe", 4, ""}};

	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		put(&disks[i]);
		assert_ok(open_named("disk.img", false, &detect));
		assert_ok(open_named("disk", true, &detect));
	}
}

TEST(a_packed_file_is_refused_with_the_option)
{
	static const struct row packed[] = {
		{"gzip", false, 0, "\x1f\x8b\x08", 3, ""},
		{"xz", false, 0,
			"\xfd"
			"7zXZ\0",
			6, ""},
		{"zstd", false, 0, "\x28\xb5\x2f\xfd", 4, ""},
		{"bzip2", false, 0, "BZh9", 4, ""}};
	static const struct image_open none = {.packing = IMAGE_PACKING_NONE};

	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
		put(&packed[i]);
		assert_int_equal(
			open_named("disk.img", false, &detect), -EINVAL);
		assert_true(err.refused);
		assert_non_null(strstr(err.text, "begins as "));
		assert_non_null(strstr(err.text, packed[i].what));
		assert_non_null(strstr(err.text, " or -f raw"));
		assert_ok(open_named("disk.img", false, &raw));
		assert_ok(open_named("disk.img", false, &none));
	}
}
