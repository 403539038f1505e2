/* SPDX-License-Identifier: BSD-3-Clause */
/* image_check() of an image whose file fails, changes, or ends anywhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/verdict.h"
#include "fake_memory.h"
#include "small_image.h"
#include "support.h"

static struct {
	const struct image_store_ops *real;
	/* reads that succeed */
	unsigned good;
	bool has_changed;
} now;

static int
failing_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	if (now.good-- == 0)
		return image_fail(err, store->name, -EIO, "cannot be read");
	return now.real->read(store, offset, buf, length, err);
}

static int
unchanged(struct image_store *store, struct image_error *err)
{
	if (now.has_changed)
		return image_fail(err, store->name, -EIO, "changed");
	return 0;
}

static void
count_faults(void *opaque, const struct image_finding *finding)
{
	*(uint64_t *)opaque += finding->faults;
}

/* Returns what image_check_store() does; no test of the image may fail. */
static int
check(struct image_error *err)
{
	static unsigned char image[SMALL_BYTES];
	static struct image_store_ops ops;
	struct image_open how = {.format = &image_format_qcow2};
	struct image_checked checked;
	uint64_t faults = 0;
	struct image_verdict verdict = {
		.report = count_faults, .opaque = &faults, .checked = &checked};
	struct image_store *store;

	small_image(image);
	assert_int_equal(
		memory_store_open(image, SMALL_BYTES, "image", &store, err), 0);
	now.real = store->ops;
	ops = *store->ops;
	ops.read = failing_read;
	ops.unchanged = unchanged;
	store->ops = &ops;
	int rc = image_check_store(store, &how, &verdict, err);
	image_store_close(store);
	assert_int_equal(faults, 0);
	return rc;
}

TEST(every_read_may_fail)
{
	struct image_error err;
	unsigned reads = 0;
	int rc;

	do {
		now.good = reads++;
		rc = check(&err);
		if (rc < 0) {
			assert_int_equal(rc, -EIO);
			assert_non_null(strstr(err.text, "cannot be read"));
		}
	} while (rc < 0);
	assert_true(reads > 10);
}

TEST(a_file_that_changes_is_not_judged)
{
	struct image_error err;

	now.good = UINT32_MAX;
	now.has_changed = true;
	assert_int_equal(check(&err), -EIO);
	now.has_changed = false;
	assert_int_equal(check(&err), 0);
}

static int
failing_reach(struct image_store *store, uint64_t offset, size_t length,
	uint64_t *reached, struct image_error *err)
{
	(void)length;
	if (offset == 0) {
		*reached = 1 << 20;
		return 0;
	}
	return image_fail(err, store->name, -EIO, "cannot be read");
}

TEST(a_stream_that_fails_keeps_its_size)
{
	static const struct image_store_ops ops = {.reach = failing_reach};
	static char name[] = "stream";
	const struct image_open how = {.format = &image_format_qcow2};
	struct image_store store = {.ops = &ops,
		.name = name,
		.size = IMAGE_SIZE_UNKNOWN,
		.forward = true};
	struct image_checked checked;
	struct image_verdict verdict = {
		.report = count_faults, .checked = &checked};
	struct image_error err;

	assert_int_equal(image_check_store(&store, &how, &verdict, &err), -EIO);
	assert_true(store.size == IMAGE_SIZE_UNKNOWN);
}

struct found {
	char failed[256];
	char text[256];
};

static void
note(void *opaque, const struct image_finding *finding)
{
	struct found *found = opaque;

	if (finding->faults == 0)
		return;
	strncat(found->failed, finding->name,
		sizeof(found->failed) - strlen(found->failed) - 1);
	snprintf(found->text, sizeof(found->text), "%.255s", finding->text);
}

/* That one test fails, or none if failed is "". Returns leaked clusters. */
static uint64_t
judge(const void *image, size_t length, const char *failed, const char *text)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_checked checked;
	struct found found = {"", ""};
	struct image_verdict verdict = {
		.report = note, .opaque = &found, .checked = &checked};
	struct image_store *store;
	struct image_error err;

	assert_int_equal(
		memory_store_open(image, length, "image", &store, &err), 0);
	assert_int_equal(image_check_store(store, &how, &verdict, &err), 0);
	image_store_close(store);
	if (strcmp(found.failed, failed) != 0 || !strstr(found.text, text))
		fail_msg("%s: %s", found.failed, found.text);
	assert_int_equal(checked.safe, !*failed);
	return checked.leaked_clusters;
}

/* More than one refcount block counts. */
#define LARGE_BYTES (300 * SMALL_CLUSTER)

static unsigned char *
large_image(void)
{
	unsigned char *image = calloc(1, LARGE_BYTES);

	assert_non_null(image);
	small_image(image);
	return image;
}

TEST(the_last_cluster_may_be_cut)
{
	unsigned char *image = large_image();

	assert_int_equal(judge(image, SMALL_BYTES - 100, "", ""), 0);
	/* it is counted though nothing uses it */
	small_put(image, SMALL_COUNT(SMALL_CLUSTERS), 2, 1);
	assert_int_equal(judge(image, SMALL_BYTES + 1, "", ""), 1);
	free(image);
}

TEST(a_refcount_block_lies_in_the_file)
{
	unsigned char *image = large_image();

	small_put(image, SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8,
		SMALL_AT(SMALL_CLUSTERS));
	judge(image, SMALL_BYTES, "well_formed", "past the end of the file");
	judge(image, SMALL_BYTES + SMALL_CLUSTER - 1, "well_formed",
		"refcount block at 0x2800 of refcount table entry 1 lies past");
	free(image);
}

TEST(a_refcount_block_counts_once)
{
	unsigned char *image = large_image();

	small_put(image, SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8,
		SMALL_AT(SMALL_REFCOUNT_BLOCK));
	small_put(image, SMALL_COUNT(SMALL_REFCOUNT_BLOCK), 2, 2);
	assert_int_equal(judge(image, LARGE_BYTES, "overlaps",
				 "overlaps a refcount block"),
		0);
	free(image);
}

TEST(a_signature_may_end_with_the_file)
{
	static const char iso[] = {'C', 'D', '0', '0', '1'};
	const size_t at = 32769;
	unsigned char *image = large_image();

	memcpy(image + at, iso, sizeof(iso));
	judge(image, at + 4, "", "");
	judge(image, at + 5, "polyglot", "ISO 9660 at offset 32769");
	free(image);
}
