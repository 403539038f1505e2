/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One image has one verdict, on each way on which it comes: as a file, in a
 * pipe, and from servers with ranges, without ranges and without a length; with
 * --untrusted, with its digest expected besides, and by hone check.
 *
 * A case is a row of `cases`: a sound image of hostile_images.h, and what is
 * wrong with it: numbers that are changed, bytes that are cut off, or a
 * function for more than that. `read` is the exit status of hone digest
 * --untrusted, and `check` tells what hone check says. Both are what is right:
 * a row whose ways differ fails, and the code is to be mended, not the row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/vhd/vhd.h"
#include "hostile_images.h"
#include "small_image.h"
#include "support.h"
#include "verdicts.h"

/* Bytes from `at` on become a number. bytes 0: none. */
struct change {
	size_t at;
	size_t bytes;
	uint64_t value;
};

struct hostile_case {
	const char *title;
	void (*make)(struct hostile_image *image);
	/* the format that is forced; NULL: none. A pipe has no name that shows
	 * one. */
	const char *format;
	enum status read;
	enum check check;
	/* in big endian, as in qcow2 and VHD */
	struct change change[2];
	/* bytes that the end lacks */
	size_t cut;
	/* the last step; NULL: none */
	void (*damage)(struct hostile_image *image);
};

static void
begin_as_qcow2(struct hostile_image *image)
{
	memcpy(image->bytes, "QFI\xfb\0\0\0\3", 8);
}

static void
add_sector(struct hostile_image *image)
{
	memset(image->bytes + image->length, 0, 512);
	image->length += 512;
}

/* The first byte of the compressed data of the first grain. */
static void
damage_grain(struct hostile_image *image)
{
	static const unsigned char zlib[] = {0x78};
	size_t at = 128 * 512;

	while (memcmp(image->bytes + at + 12, zlib, 1) != 0)
		at += 512;
	memset(image->bytes + at + 12, 0xff, 16);
}

/* A sector of the last block is lost, and what follows moves up. */
static void
lose_sector(struct hostile_image *image)
{
	unsigned char *end = image->bytes + image->length;

	memmove(end - 4 * 512, end - 3 * 512, 3 * 512);
	image->length -= 512;
}

static void
lose_footer(struct hostile_image *image)
{
	memset(image->bytes + image->length - 512, 'x', 512);
}

/* Blocks of 2 KiB. QEMU has no bitmap for them. */
static void
shrink_blocks(struct hostile_image *image)
{
	const size_t footers[] = {0, image->length - 512};

	for (size_t i = 0; i < 2; i++)
		hostile_put_be(image, footers[i] + 48, 8, UINT64_C(4) * 2048);
	hostile_put_be(image, 512 + 32, 4, 2048);
	hostile_vhd_sums(image);
}

/* A creator that QEMU does not know, and a geometry of 50 KiB. */
static void
doubt_size(struct hostile_image *image, bool data)
{
	size_t at = image->length - 512;

	if (!data)
		memset(image->bytes + 50 * 1024, 0, at - 50 * 1024);
	hostile_put_be(image, at + 28, 4, 0x2a696d67);
	hostile_put_be(image, at + 56, 4, 0x00010164);
	hostile_put_be(
		image, at + 64, 4, vhd_checksum(image->bytes + at, 512, 64));
}

static void
doubt_data(struct hostile_image *image)
{
	doubt_size(image, true);
}

static void
doubt_zeros(struct hostile_image *image)
{
	doubt_size(image, false);
}

/*
 * The grain table, behind its marker, loses an entry. Without --untrusted, a
 * file is read by its tables, as QEMU does; a stream has its data before them,
 * and fails at its end.
 */
static void
lose_entry(struct hostile_image *image)
{
	static const unsigned char marker[16] = {4, [12] = 1};
	size_t at = 0;

	while (memcmp(image->bytes + at, marker, sizeof(marker)) != 0)
		at += 512;
	hostile_put_le(image, at + 512 + 3 * 4, 4, 0);
}

#define QCOW2 hostile_qcow2, "qcow2"
#define VHD hostile_vhd, "vhd"
#define VMDK hostile_vmdk, "vmdk"

static const struct hostile_case cases[] = {
	/* what is sound */
	{"a raw disk", hostile_raw, "raw", READS, SAFE, {{0}}, 0, NULL},
	{"a qcow2 image", QCOW2, READS, SAFE, {{0}}, 0, NULL},
	{"a fixed VHD", hostile_vhd_fixed, "vhd", READS, SAFE, {{0}}, 0, NULL},
	{"a dynamic VHD", VHD, READS, SAFE, {{0}}, 0, NULL},
	{"a streamOptimized VMDK", VMDK, READS, SAFE, {{0}}, 0, NULL},
	{"a qcow2 image that is found", hostile_qcow2, NULL, READS, SAFE, {{0}},
		0, NULL},
	{"a dynamic VHD that is found", hostile_vhd, NULL, READS, SAFE, {{0}},
		0, NULL},
	{"a streamOptimized VMDK that is found", hostile_vmdk, NULL, READS,
		SAFE, {{0}}, 0, NULL},
	/* raw */
	{"a raw disk that begins as qcow2", hostile_raw, "raw", REFUSES, UNSAFE,
		{{0}}, 0, begin_as_qcow2},
	/* qcow2 */
	{"a qcow2 image that is cut", QCOW2, REFUSES, UNSAFE, {{0}},
		SMALL_BYTES - SMALL_AT(SMALL_DATA), NULL},
	{"a qcow2 image with a feature that is not known", QCOW2, REFUSES,
		UNSAFE, {{72, 8, 32}}, 0, NULL},
	{"a qcow2 image that is encrypted", QCOW2, REFUSES, UNSAFE,
		{{32, 4, 1}}, 0, NULL},
	{"a qcow2 image with an entry with reserved bits", QCOW2, REFUSES,
		UNSAFE, {{SMALL_ENTRY(0), 8, SMALL_AT(SMALL_DATA) | 2}}, 0,
		NULL},
	{"a qcow2 image with an entry past its end", QCOW2, REFUSES, UNSAFE,
		{{SMALL_ENTRY(63), 8, SMALL_AT(64)}}, 0, NULL},
	{"a qcow2 image whose data lies on a table", QCOW2, REFUSES, UNSAFE,
		{{SMALL_ENTRY(20), 8, SMALL_AT(SMALL_L1) | SMALL_COPIED}}, 0,
		NULL},
	{"a qcow2 image with a cluster twice", QCOW2, REFUSES, UNSAFE,
		{{SMALL_ENTRY(1), 8, SMALL_AT(SMALL_DATA) | SMALL_COPIED}}, 0,
		NULL},
	{"a qcow2 image with a count that is too small", QCOW2, REFUSES, UNSAFE,
		{{SMALL_COUNT(SMALL_DATA), 2, 0}}, 0, NULL},
	{"a qcow2 image with a table of its snapshot past its end", QCOW2,
		REFUSES, UNSAFE, {{SMALL_AT(SMALL_SNAPSHOT_L1), 8, 2}}, 0,
		NULL},
	{"a qcow2 image whose size QEMU rounds down", QCOW2, REFUSES, UNSAFE,
		{{30, 2, 0xff01}}, 0, NULL},
	{"a qcow2 image with a damaged compressed cluster", QCOW2, REFUSES,
		SAFE, {{SMALL_AT(SMALL_PACKED), 8, UINT64_MAX}}, 0, NULL},
	/* VHD */
	{"a dynamic VHD with a footer whose sum is wrong", VHD, REFUSES, UNSAFE,
		{{8, 4, 7}}, 0, NULL},
	{"a dynamic VHD with a header whose sum is wrong", VHD, REFUSES, UNSAFE,
		{{512 + 40, 4, 7}}, 0, NULL},
	{"a dynamic VHD with a block past its end", VHD, REFUSES, UNSAFE,
		{{HOSTILE_VHD_TABLE + 4, 4, 4096}}, 0, NULL},
	{"a dynamic VHD with a block on its table", VHD, REFUSES, UNSAFE,
		{{HOSTILE_VHD_TABLE + 4, 4, 3}}, 0, NULL},
	{"a dynamic VHD with a block twice", VHD, REFUSES, UNSAFE,
		{{HOSTILE_VHD_TABLE + 4, 4, 4}}, 0, NULL},
	{"a dynamic VHD that lost a sector", VHD, REFUSES, UNSAFE, {{0}}, 0,
		lose_sector},
	{"a dynamic VHD that lost its footer", VHD, REFUSES, UNSAFE, {{0}}, 0,
		lose_footer},
	{"a dynamic VHD with a clear bit over data", VHD, REFUSES, UNSAFE,
		{{HOSTILE_VHD_TABLE + 512, 1, 0xfb}}, 0, NULL},
	{"a dynamic VHD with small blocks", VHD, REFUSES, UNSAFE, {{0}}, 0,
		shrink_blocks},
	{"a fixed VHD with data behind its geometry", hostile_vhd_fixed, "vhd",
		REFUSES, UNSAFE, {{0}}, 0, doubt_data},
	{"a fixed VHD with zeros behind its geometry", hostile_vhd_fixed, "vhd",
		READS, SAFE, {{0}}, 0, doubt_zeros},
	{"a fixed VHD with a sector behind its footer", hostile_vhd_fixed,
		"vhd", REFUSES, UNSAFE, {{0}}, 0, add_sector},
	/* VMDK */
	{"a streamOptimized VMDK with a grain that no table has", VMDK, REFUSES,
		UNSAFE, {{0}}, 0, lose_entry},
	{"a streamOptimized VMDK with a damaged grain", VMDK, REFUSES, SAFE,
		{{0}}, 0, damage_grain},
};

static void
make_case(const struct hostile_case *one, struct hostile_image *image)
{
	memset(image, 0, sizeof(*image));
	one->make(image);
	for (size_t i = 0; i < 2; i++)
		if (one->change[i].bytes)
			hostile_put_be(image, one->change[i].at,
				one->change[i].bytes, one->change[i].value);
	image->length -= one->cut;
	if (one->damage)
		one->damage(image);
	assert_true(image->length <= HOSTILE_ROOM);
}

/* Counts a verdict that is wrong. */
static unsigned
differs(const struct hostile_case *one, enum way way, const char *what,
	int wanted, int found, const char *text)
{
	if (wanted == found)
		return 0;
	printf("# %s, by %s, %s: %d and not %d%s%s\n", one->title,
		way_name(way), what, found, wanted, text[0] ? ": " : "", text);
	return 1;
}

/* Returns the number of verdicts that are wrong. */
static unsigned
judge(const struct hostile_case *one, const struct hostile_image *image,
	enum way way, struct verdicts *first)
{
	static struct verdicts found;
	unsigned wrong = 0;

	verdicts_of(&found, way, "disk.image", one->format, image->bytes,
		image->length);
	if (way == WAY_FILE)
		*first = found;
	for (int i = PLAIN; i < VERDICT_TRIES; i++) {
		const struct outcome *read = &found.read[i];
		if (i == PLAIN && one->damage == lose_entry &&
			read->status == REFUSES)
			continue;
		/* Without --untrusted, unsafe images may be read: on each way,
		 * or on none. */
		wrong += differs(one, way, verdict_try(i),
			i == PLAIN ? (int)first->read[i].status
				   : (int)one->read,
			(int)read->status, read->text);
		assert_memory_equal(read->digest, first->read[i].digest,
			sizeof(read->digest));
	}
	return wrong + differs(one, way, "check", (int)one->check,
			       (int)found.check, found.text);
}

TEST(one_image_has_one_verdict_on_each_way)
{
	struct hostile_image *image = malloc(sizeof(*image));
	unsigned wrong = 0;

	assert_non_null(image);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		static struct verdicts first;
		make_case(&cases[i], image);
		for (enum way way = 0; way < WAYS; way++) {
			if (way_is_served(way) && !image_http_library())
				continue;
			wrong += judge(&cases[i], image, way, &first);
		}
	}
	free(image);
	assert_int_equal(wrong, 0);
}

FIXTURE(begin)
{
	ways_begin();
	return 0;
}

FIXTURE(end)
{
	ways_end();
	return 0;
}

int
main(void)
{
	if (!image_digest_library())
		return support_skip_all("digests", "no OpenSSL");
	return run_all_tests(begin, end);
}
