/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One image has one verdict, on each way on which it comes: as a file, in a
 * pipe, and from servers with ranges, without ranges and without a length; with
 * --untrusted, with its digest expected besides, and by hone check.
 *
 * A case is a row of `cases`: a sound image, and what is wrong with it: numbers
 * that are changed, bytes that are cut off, or a function for more than that.
 * `read` is the exit status of hone digest --untrusted, and `check` tells what
 * hone check says. Both are what is right: a row whose ways differ fails, and
 * the code is to be mended, not the row.
 */
#include "format/formats.h"
#include "format/vhd/vhd.h"
#include "fake_memory.h"
#include "small_image.h"
#include "support.h"
#include "fakes.h"
#include "verdicts.h"

/* ---- sound images in memory ---- */

/* The most bytes that an image has, also after a damage. */
#define HOSTILE_ROOM ((size_t)1 << 20)

struct hostile_image {
	unsigned char bytes[HOSTILE_ROOM];
	size_t length;
};

/* Numbers of `bytes` bytes. */
static void
hostile_put_be(
	struct hostile_image *image, size_t at, size_t bytes, uint64_t value)
{
	small_put(image->bytes, at, bytes, value);
}

static void
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

/* A raw disk of random bytes. */
static void
hostile_raw(struct hostile_image *image)
{
	image->length = (size_t)96 << 10;
	fill(image->bytes, image->length);
}

/* That of small_image.h. */
static void
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

/* A fixed VHD: the disk, and a footer. */
static void
hostile_vhd_fixed(struct hostile_image *image)
{
	size_t size = (size_t)96 << 10;

	fill(image->bytes, size);
	put_footer(image, size, VHD_FIXED, UINT64_MAX, size);
	image->length = size + VHD_FOOTER;
}

/* Set the checksums of both footers and of the header anew. */
static void
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

/*
 * A dynamic VHD: the copy of the footer, the header at 512, the table of four
 * entries at VHD_TABLE, three blocks of VHD_BLOCK bytes, each behind a sector
 * with its bitmap, and the footer. Entry 1 has no block.
 */
#define HOSTILE_VHD_TABLE 1536
#define HOSTILE_VHD_BLOCK ((size_t)16384)
static void
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
	assert_ok(memory_store_open(disk, length, "disk", &store, &err));
	assert_ok(image_open_store(store, &how, &source, &err));
	assert_ok(image_create(
		fd, "disk.image", format, &create, &write, &sink, &err));
	assert_ok(image_copy(source, sink, &run, &copied, &err));
	assert_ok(image_finish(sink, &err));
	image_sink_close(sink);
	image_close(source);
	ssize_t n = pread(fd, image->bytes, HOSTILE_ROOM, 0);
	assert_true(n > 0 && (size_t)n < HOSTILE_ROOM);
	image->length = (size_t)n;
	close(fd);
}

/* A streamOptimized VMDK as hone convert writes it, of five grains: the second
 * one is zero. */
#define HOSTILE_VMDK_GRAIN ((size_t)65536)
static void
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

/* ---- what is wrong with them ---- */

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
