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
#include "hash/hash.h"
#include "hostile_images.h"
#include "image.h"
#include "small_image.h"
#include "support.h"
#include "ways.h"

/* The exit statuses of the command. */
enum status { READS = 0, FAILS = 1, REFUSES = 3, LOSES = 4 };
enum check { SAFE, UNSAFE, NO_CHECK };

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

/* What became of one try. */
struct outcome {
	enum status status;
	unsigned char digest[IMAGE_DIGEST_MAX];
	char text[512];
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
	{"a fixed VHD with a sector behind its footer", hostile_vhd_fixed,
		"vhd", REFUSES, UNSAFE, {{0}}, 0, add_sector},
	/* VMDK */
	{"a streamOptimized VMDK with a damaged grain", VMDK, REFUSES, SAFE,
		{{0}}, 0, damage_grain},
};

static const struct image_algorithm *sha256;

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

static void
digest_of(const struct hostile_image *image, struct image_expect *expect)
{
	struct image_error err;
	struct image_hash *hash;

	expect->algorithm = sha256;
	assert_int_equal(image_hash_create(&hash, sha256, &err), 0);
	assert_int_equal(image_hash_begin(hash, &err), 0);
	assert_int_equal(
		image_hash_add(hash, image->bytes, image->length, &err), 0);
	assert_int_equal(image_hash_end(hash, expect->bytes, &err), 0);
	image_hash_destroy(hash);
}

static struct outcome
failed(const struct image_error *err)
{
	struct outcome outcome = {.status = FAILS};

	if (err->refused || err->damaged)
		outcome.status = REFUSES;
	else if (err->again)
		outcome.status = LOSES;
	snprintf(outcome.text, sizeof(outcome.text), "%s", err->text);
	return outcome;
}

/* As hone digest --untrusted does. */
static struct outcome
read_image(const char *address, const struct image_open *how)
{
	struct image_digests digests = {
		.count = 1, .list = {{.algorithm = sha256}}};
	struct image_run run = {.block = 4096, .threads = 2};
	struct outcome outcome = {.status = READS};
	struct image_source *source;
	struct image_error err;

	if (image_open(address, how, &source, &err) < 0)
		return failed(&err);
	if (image_digest(source, &run, &digests, &err) < 0) {
		image_source_settle(source, &err);
		outcome = failed(&err);
	}
	memcpy(outcome.digest, digests.list[0].bytes, sizeof(outcome.digest));
	image_close(source);
	return outcome;
}

static void
ignore(void *opaque, const struct image_finding *finding)
{
	(void)opaque;
	(void)finding;
}

static enum check
check_image(const char *address, const struct image_open *how)
{
	struct image_checked checked;
	struct image_error err;

	if (image_check(address, how, ignore, NULL, &checked, &err) < 0)
		return NO_CHECK;
	return checked.safe ? SAFE : UNSAFE;
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
	enum way way, struct outcome *first)
{
	static const char *const names[] = {"untrusted", "with its digest"};
	struct image_expect expect;
	struct image_open how = {.whole = true,
		.threads = 1,
		.format =
			one->format ? image_format_by_name(one->format) : NULL};
	unsigned wrong = 0;

	digest_of(image, &expect);
	for (int i = 0; i < 2; i++) {
		how.untrusted = true;
		how.expect = i ? &expect : NULL;
		const char *address = way_begin(
			way, "disk.image", image->bytes, image->length);
		struct outcome found = read_image(address, &how);
		way_end(way);
		wrong += differs(one, way, names[i], one->read, found.status,
			found.text);
		if (way == WAY_FILE && i == 0)
			*first = found;
		if (found.status == READS && first->status == READS)
			assert_memory_equal(found.digest, first->digest,
				image_algorithm_length(sha256));
	}
	how.untrusted = false;
	how.expect = NULL;
	const char *address =
		way_begin(way, "disk.image", image->bytes, image->length);
	enum check check = check_image(address, &how);
	way_end(way);
	return wrong + differs(one, way, "check", one->check, check, "");
}

TEST(one_image_has_one_verdict_on_each_way)
{
	struct hostile_image *image = malloc(sizeof(*image));
	unsigned wrong = 0;

	assert_non_null(image);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct outcome first = {.status = FAILS};
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
	sha256 = image_algorithm_by_name("sha256", strlen("sha256"));
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
