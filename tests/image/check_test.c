/* SPDX-License-Identifier: BSD-3-Clause */
/* image_check() of a small qcow2 image, sound and damaged in one place. */
#include "fake_memory.h"
#include "format/qcow2/check.h"
#include "format/format.h"
#include "small_image.h"
#include "source_support.h"
#include "support.h"

/* A change to the image, and what is found then. */
struct damage {
	size_t at;
	size_t bytes;
	uint64_t value;
	/* tests that fail, in the order of their report; "": none */
	const char *failed;
	/* part of the text of the first of them, or of "leaks" */
	const char *text;
};

struct found {
	char failed[256];
	char text[512];
	char leaks[512];
};

static void
note(void *opaque, const struct image_finding *finding)
{
	struct found *found = opaque;

	if (strcmp(finding->name, "leaks") == 0)
		memcpy(found->leaks, finding->text, sizeof(found->leaks));
	if (finding->faults == 0)
		return;
	size_t used = strlen(found->failed);
	if (used == 0)
		memcpy(found->text, finding->text, sizeof(found->text));
	snprintf(found->failed + used, sizeof(found->failed) - used, "%s%s",
		used ? " " : "", finding->name);
}

static struct found found;
static struct image_checked checked;
static struct image_error err;

static int
check(const void *bytes, size_t length)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_verdict verdict = {
		.report = note, .opaque = &found, .checked = &checked};
	struct image_store *store;

	found = (struct found){{0}, {0}, {0}};
	assert_ok(memory_store_open(bytes, length, "bytes", &store, &err));
	int rc = image_check_store(store, &how, &verdict, &err);
	image_store_close(store);
	return rc;
}

/* These tests fail, the first of them with that text; "": none, and it is the
 * text of the leaks. */
static void
judge_bytes(
	const void *image, size_t length, const char *failed, const char *text)
{
	if (check(image, length) < 0)
		fail_msg("not \"%s\": %s", text, err.text);
	const char *said = failed[0] ? found.text : found.leaks;
	if (strcmp(found.failed, failed) != 0 || !strstr(said, text))
		fail_msg("not \"%s\", \"%s\" but \"%s\", \"%s\"", failed, text,
			found.failed, said);
	assert_int_equal(checked.safe, failed[0] == 0);
	assert_int_equal(
		checked.leaked_bytes, checked.leaked_clusters * SMALL_CLUSTER);
}

static void
judge(const unsigned char *image, const char *failed, const char *text)
{
	judge_bytes(image, SMALL_BYTES, failed, text);
}

static void
judge_each(const struct damage *damage, size_t n)
{
	unsigned char image[SMALL_BYTES];

	for (size_t i = 0; i < n; i++) {
		small_image(image);
		small_put(
			image, damage[i].at, damage[i].bytes, damage[i].value);
		judge(image, damage[i].failed, damage[i].text);
	}
}

#define JUDGE(table) judge_each(table, sizeof(table) / sizeof((table)[0]))

TEST(marks_of_the_header_are_found)
{
	static const struct damage damage[] = {
		{96, 4, 7, "well_formed", "refcount_order 7"},
		{72, 8, 2, "corrupt", "marked corrupt"},
		{72, 8, 32, "unknown_features", "bit 5"},
		{32, 4, 1, "encryption", "is encrypted (aes)"},
	};
	JUDGE(damage);
}

TEST(entries_are_judged_as_by_the_reader)
{
	static const struct damage damage[] = {
		{SMALL_ENTRY(0), 8, SMALL_AT(SMALL_DATA) | 2, "well_formed",
			"of guest offset 0x0 has reserved bits set"},
		{SMALL_ENTRY(63), 8, SMALL_AT(64), "well_formed",
			"data cluster of guest offset 0x7e00 at 0x8000"},
		{SMALL_ENTRY(65), 8, SMALL_AT(64), "well_formed",
			"data cluster of guest offset 0x8200 at 0x8000"},
		{SMALL_AT(SMALL_SNAPSHOT_L1), 8, 2, "well_formed",
			"L1 table of snapshot 0 entry 0"},
		{SMALL_AT(SMALL_L1), 8, 0x40000, "well_formed",
			"L2 table at 0x40000 of L1 table entry 0"},
		/* a zero cluster with a place past the end of the file: the
		 * first one there is what QEMU may leave */
		{SMALL_ENTRY(63), 8, SMALL_AT(SMALL_CLUSTERS) | 1, "", "none"},
		{SMALL_ENTRY(63), 8, SMALL_AT(SMALL_CLUSTERS + 1) | 1,
			"well_formed", "at 0x2a00 lies past the end"},
	};
	JUDGE(damage);
}

TEST(counts_are_compared)
{
	static const struct damage damage[] = {
		{SMALL_COUNT(SMALL_DATA), 2, 0, "refcounts copied",
			"reference count 0 of the cluster at 0x1000 is less "
			"than its references (1)"},
		{SMALL_COUNT(SMALL_DATA + 4), 2, 1, "refcounts copied",
			"reference count 1 of the cluster at 0x1800 is less "
			"than its references (2)"},
		{SMALL_COUNT(SMALL_PACKED), 2, 1, "refcounts",
			"references (2)"},
		{SMALL_COUNT(SMALL_L2 + 1), 2, 1, "refcounts copied",
			"the cluster at 0xa00"},
		{SMALL_AT(SMALL_REFCOUNT_TABLE), 8, 0, "refcounts copied",
			"reference count 0 of the cluster at 0x0 is less than "
			"its references (1)"},
		{SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8, 0x100000, "well_formed",
			"refcount block at 0x100000 of refcount table entry 1"},
		{SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8, 0x401, "well_formed",
			"refcount table entry 1, 0x0000000000000401"},
		{SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8, UINT64_MAX - 511,
			"well_formed", "refcount table entry 1"},
		{SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8, 0x500, "well_formed",
			"refcount table entry 1, 0x0000000000000500"},
	};
	JUDGE(damage);

	/* that of each cluster of the metadata */
	static const unsigned clusters[] = {SMALL_HEADER, SMALL_REFCOUNT_TABLE,
		SMALL_REFCOUNT_BLOCK, SMALL_L1, SMALL_SNAPSHOTS,
		SMALL_SNAPSHOT_L1, SMALL_BITMAPS, SMALL_BITMAP_TABLE,
		SMALL_BITMAP};
	for (size_t i = 0; i < sizeof(clusters) / sizeof(*clusters); i++) {
		char text[40];
		snprintf(text, sizeof(text), "the cluster at 0x%zx ",
			SMALL_AT(clusters[i]));
		judge_each(&(struct damage){SMALL_COUNT(clusters[i]), 2, 0,
				   "refcounts", text},
			1);
	}
}

TEST(sound_images_and_leaks_are_safe)
{
	static const struct damage damage[] = {
		{0, 0, 0, "", "none"},
		{SMALL_COUNT(SMALL_HEADER), 2, 2, "", "leaked clusters: 1"},
		{SMALL_COUNT(SMALL_DATA), 2, 2, "copied", "is not 1"},
		{SMALL_COUNT(SMALL_DATA + 4), 2, 3, "",
			"leaked clusters: 1 (512 bytes)"},
		{SMALL_ENTRY(0), 8, 0, "", "leaked clusters: 1 (512 bytes)"},
		{SMALL_ENTRY(4), 8, 0, "", "leaked clusters: 1 (512 bytes)"},
		/* the L2 table and what it alone refers to */
		{SMALL_AT(SMALL_L1), 8, 0, "", "leaked clusters: 6"},
		{SMALL_AT(SMALL_BITMAP_TABLE), 8, 0, "", "leaked clusters: 1"},
		/* without the bit, bitmaps count for nothing */
		{88, 8, 0, "", "leaked clusters: 3"},
		/* counts past the end of the file */
		{SMALL_COUNT(SMALL_CLUSTERS), 2, 1, "", "none"},
	};
	JUDGE(damage);
}

TEST(bit_63_is_compared)
{
	static const struct damage damage[] = {
		{SMALL_ENTRY(0), 8, SMALL_AT(SMALL_DATA), "copied",
			"data cluster at 0x1000 is 0, but its reference count "
			"is 1"},
		{SMALL_ENTRY(64), 8, SMALL_AT(SMALL_DATA + 4) | SMALL_COPIED,
			"copied",
			"data cluster at 0x1800 is 1, but its reference count "
			"is not 1"},
		{SMALL_AT(SMALL_L1), 8, SMALL_AT(SMALL_L2), "copied",
			"L2 table at 0x800 is 0"},
		{SMALL_AT(SMALL_L1) + 8, 8,
			SMALL_AT(SMALL_L2 + 1) | SMALL_COPIED, "copied",
			"L2 table at 0xa00 is 1"},
		/* in snapshots it may be anything */
		{SMALL_AT(SMALL_SNAPSHOT_L1) + 8, 8,
			SMALL_AT(SMALL_L2 + 1) | SMALL_COPIED, "", "none"},
	};
	JUDGE(damage);
}

TEST(counts_that_agree_hide_no_overlap)
{
	static const size_t tables[] = {
		SMALL_L1, SMALL_REFCOUNT_TABLE, SMALL_REFCOUNT_BLOCK};
	unsigned char image[SMALL_BYTES];

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		small_image(image);
		small_put(image, SMALL_COUNT(tables[i]), 2, 2);
		small_put(image, SMALL_ENTRY(20), 8, SMALL_AT(tables[i]));
		judge(image, "overlaps", " overlaps a");
	}
}

TEST(no_data_lies_on_anything_else)
{
	static const struct {
		uint64_t entry;
		const char *text;
	} cases[] = {
		{SMALL_AT(SMALL_L1), "data cluster at 0x600 overlaps an L1"},
		{SMALL_AT(SMALL_REFCOUNT_TABLE), "overlaps a refcount table"},
		{SMALL_AT(SMALL_REFCOUNT_BLOCK), "overlaps a refcount block"},
		{SMALL_AT(SMALL_L2), "overlaps an L2 table"},
		{SMALL_AT(SMALL_SNAPSHOTS), "overlaps a snapshot table"},
		{SMALL_AT(SMALL_BITMAP), "overlaps a cluster of a bitmap"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		judge_each(&(struct damage){SMALL_ENTRY(20), 8,
				   cases[i].entry | SMALL_COPIED,
				   "overlaps refcounts", cases[i].text},
			1);
}

TEST(nothing_lies_on_anything_else)
{
	static const struct damage damage[] = {
		{SMALL_ENTRY(20), 8, SMALL_AT(SMALL_PACKED),
			"overlaps refcounts", "overlaps a compressed cluster"},
		{SMALL_ENTRY(20), 8, SMALL_COMPRESSED | 1, "overlaps refcounts",
			"compressed cluster at 0x0 overlaps a header"},
		{SMALL_ENTRY(1), 8, SMALL_AT(SMALL_DATA) | SMALL_COPIED,
			"overlaps refcounts",
			"data cluster at 0x1000 is used twice by the disk"},
		{SMALL_AT(SMALL_L1) + 8, 8, SMALL_AT(SMALL_L2) | SMALL_COPIED,
			"overlaps refcounts",
			"L2 table at 0x800 is used twice by the disk"},
		{SMALL_AT(SMALL_L1) + 8, 8,
			SMALL_AT(SMALL_BITMAPS) | SMALL_COPIED,
			"overlaps refcounts",
			"L2 table at 0x2200 overlaps a bitmap directory"},
		{SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8,
			SMALL_AT(SMALL_REFCOUNT_BLOCK), "overlaps refcounts",
			"refcount block at 0x400 overlaps a refcount block"},
		{SMALL_AT(SMALL_REFCOUNT_TABLE), 8, SMALL_AT(SMALL_SNAPSHOTS),
			"overlaps refcounts copied",
			"refcount block at 0xc00 overlaps a snapshot table"},
		{48, 8, SMALL_AT(SMALL_L1), "well_formed overlaps refcounts",
			"refcount block at 0x8000000000000800"},
		{SMALL_AT(SMALL_SNAPSHOTS), 8, SMALL_AT(SMALL_L1),
			"overlaps refcounts", "overlaps an L1 table"},
		{SMALL_AT(SMALL_BITMAPS), 8, SMALL_AT(SMALL_SNAPSHOTS),
			"overlaps refcounts",
			"bitmap table at 0xc00 overlaps a snapshot table"},
	};
	JUDGE(damage);
}

/* In a table of two states, a cluster that three entries have. */
TEST(more_references_than_states)
{
	unsigned char image[SMALL_BYTES];

	small_image(image);
	small_put(image, SMALL_ENTRY(70), 8, SMALL_AT(SMALL_DATA + 4));
	small_put(image, SMALL_COUNT(SMALL_DATA + 4), 2, 4);
	judge(image, "overlaps", "is used twice by the disk");
	/* of the snapshot alone */
	small_put(image, SMALL_AT(SMALL_L1) + 8, 8, 0);
	small_put(image, SMALL_COUNT(SMALL_L2 + 1), 2, 1);
	small_put(image, SMALL_COUNT(SMALL_DATA + 4), 2, 3);
	small_put(image, SMALL_ENTRY(71), 8, SMALL_AT(SMALL_DATA + 4));
	judge(image, "overlaps",
		"cluster at 0x1800 has 3 references, but the image has only 2 "
		"states");
}

TEST(snapshots_and_bitmaps_are_judged)
{
	size_t snapshot = SMALL_AT(SMALL_SNAPSHOTS);
	size_t bitmap = SMALL_AT(SMALL_BITMAPS);
	const struct damage damage[] = {
		{snapshot + 8, 4, 1, "snapshots",
			"L1 table of snapshot 0 has 1 entry, too few"},
		{snapshot + 36, 4, 1025, "snapshots", "1025 bytes of extra"},
		{112, 4, 0x12345678, "bitmaps", "no bitmaps extension"},
		{144, 8, 0x2385287500000000, "bitmaps",
			"header has 2 bitmaps extensions"},
		{120, 4, 0, "bitmaps", "nb_bitmaps 0"},
		{120, 4, 65536, "bitmaps", "nb_bitmaps 65536"},
		{120, 4, 2, "bitmaps", "entry 1 extends past the end"},
		{116, 4, 32, "bitmaps", "bitmaps extension has 32 bytes"},
		{128, 8, 40, "bitmaps", "has 40 bytes, but its 1 entry has"},
		{128, 8, 24, "bitmaps", "extends past the end of the"},
		{128, 8, UINT64_C(1) << 40, "bitmaps", "bitmap_directory_size"},
		{136, 8, bitmap + 8, "bitmaps", "bitmap directory offset 0x"},
		{136, 8, UINT64_C(1) << 50, "bitmaps", "bitmap directory at"},
		{bitmap, 8, UINT64_C(1) << 50, "bitmaps", "bitmap table at"},
		{bitmap, 8, 7, "bitmaps", "bitmap table offset"},
		{bitmap + 8, 4, 100000, "bitmaps", "bitmap table at 0x2400"},
		{bitmap + 12, 4, 8, "bitmaps", "entry 0 has flags 8, which"},
		{bitmap + 16, 1, 0, "bitmaps", "type 0"},
		{bitmap + 16, 1, 2, "bitmaps", "type 2"},
		{bitmap + 17, 1, 8, "bitmaps", "granularity_bits 8"},
		{bitmap + 17, 1, 32, "bitmaps", "granularity_bits 32"},
		{bitmap + 18, 2, 0, "bitmaps", "entry 0 has name_size 0,"},
		{bitmap + 18, 2, 1024, "bitmaps", "extends past the end"},
		{bitmap + 20, 4, UINT32_MAX, "bitmaps", "extends past the end"},
		{SMALL_AT(SMALL_BITMAP_TABLE), 8, 3, "bitmaps",
			"bitmap table entry 0, 0x0000000000000003"},
		{SMALL_AT(SMALL_BITMAP_TABLE), 8, UINT64_C(1) << 60, "bitmaps",
			"bitmap table entry 0"},
		{SMALL_AT(SMALL_BITMAP_TABLE) + 8, 8,
			SMALL_AT(SMALL_BITMAP) | 1, "bitmaps",
			"bitmap table entry 1"},
		{SMALL_AT(SMALL_BITMAP_TABLE), 8, SMALL_AT(SMALL_CLUSTERS),
			"bitmaps", "bitmap table entry 0"},
	};
	JUDGE(damage);
}

/* The file ends anywhere: never a failure to check, never a bad read. */
TEST(any_length_can_be_checked)
{
	unsigned char image[SMALL_BYTES];

	small_image(image);
	for (size_t length = 0; length <= SMALL_BYTES; length += 61) {
		unsigned char *bytes = malloc(length + 1);
		assert_non_null(bytes);
		memcpy(bytes, image, length);
		assert_ok(check(bytes, length));
		/* the last clusters are those of the bitmap */
		if (length <= SMALL_AT(SMALL_PACKED))
			assert_false(checked.safe);
		free(bytes);
	}
}

/* The map of references: it keeps each entry, sorts, and has a bound. */

#define PAGES 3072

/* Clusters in no order, each on a page of its own. */
static uint64_t
cluster_of(uint64_t i)
{
	return (i * 1021 % PAGES) * QCOW2_REFS_PAGE * 3 + i % QCOW2_REFS_PAGE;
}

static uint32_t *
get(struct qcow2_refs *refs, uint64_t cluster)
{
	uint32_t *entry = NULL;

	assert_ok(qcow2_refs_get(refs, cluster, &entry, &err));
	return entry;
}

TEST(every_entry_is_kept)
{
	struct qcow2_refs refs = {.n_pages = 0};

	for (uint64_t i = 0; i < PAGES; i++)
		*get(&refs, cluster_of(i)) = (uint32_t)i + 1;
	assert_int_equal(refs.n_pages, PAGES);
	for (uint64_t i = 0; i < PAGES; i++)
		assert_int_equal(*get(&refs, cluster_of(i)), i + 1);
	assert_int_equal(refs.n_pages, PAGES);
	/* a neighbour on the same page */
	assert_int_equal(*get(&refs, cluster_of(0) + 1), 0);
	assert_int_equal(refs.n_pages, PAGES);

	struct qcow2_refs_page **pages = qcow2_refs_sorted(&refs);
	assert_non_null(pages);
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(pages[i]->index, 3 * i);
	free(pages);
	qcow2_refs_destroy(&refs);
}

/* These are in one bucket if the factor is that of Fibonacci hashing. */
TEST(pages_of_one_bucket_cannot_be_chosen)
{
	/* of 0x9e3779b97f4a7c15 modulo 2^64 */
	const uint64_t inverse = UINT64_C(0xf1de83e19937733d);
	struct qcow2_refs refs = {.n_pages = 0};
	size_t longest = 0;

	for (uint64_t i = 0; i < 256; i++)
		assert_ok(qcow2_refs_find(&refs, i * inverse, &err));
	for (size_t i = 0; i < 1 << QCOW2_REFS_BUCKET_BITS; i++) {
		size_t length = 0;
		for (struct qcow2_refs_page *p = refs.buckets[i]; p;
			p = p->next)
			length++;
		if (length > longest)
			longest = length;
	}
	/* usually 1; more than 64 in less than one of 10^6 runs */
	assert_in_range(longest, 1, 64);
	qcow2_refs_destroy(&refs);
}

TEST(the_map_has_a_bound)
{
	struct qcow2_refs refs = {.n_pages = 0};
	uint32_t *entry;

	*get(&refs, 7) = 1;
	refs.n_pages = QCOW2_REFS_BYTES / sizeof(struct qcow2_refs_page);
	assert_int_equal(
		qcow2_refs_get(&refs, QCOW2_REFS_PAGE, &entry, &err), -E2BIG);
	assert_non_null(strstr(err.text, "more than 512 MiB"));
	/* what it has can still be looked up */
	assert_int_equal(*get(&refs, 7), 1);
	qcow2_refs_destroy(&refs);
}

/* An image whose file fails, changes, or ends anywhere. */

static struct counted file;

/* Returns what image_check_store() does; no test of the image may fail. */
static int
check_file(void)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_verdict verdict = {
		.report = note, .opaque = &found, .checked = &checked};

	found = (struct found){{0}, {0}, {0}};
	int rc = image_check_store(&file.memory.store, &how, &verdict, &err);
	assert_string_equal(found.failed, "");
	return rc;
}

TEST(every_read_may_fail)
{
	static unsigned char image[SMALL_BYTES];
	unsigned reads = 0;
	int rc = -EIO;

	small_image(image);
	while (rc < 0) {
		counted_init(&file, image, sizeof(image));
		file.fail_at = ++reads;
		rc = check_file();
		assert_true(rc == 0 || rc == -EIO);
		if (rc < 0)
			assert_non_null(strstr(err.text, "cannot be read"));
	}
	assert_true(reads > 10);
}

TEST(a_file_that_changes_is_not_judged)
{
	static unsigned char image[SMALL_BYTES];

	small_image(image);
	counted_init(&file, image, sizeof(image));
	file.changed = true;
	assert_int_equal(check_file(), -EIO);
	file.changed = false;
	assert_ok(check_file());
}

static int
failing_reach(struct image_store *store, uint64_t offset, size_t length,
	uint64_t *reached, struct image_error *why)
{
	(void)length;
	if (offset == 0) {
		*reached = 1 << 20;
		return 0;
	}
	return image_fail(why, store->name, -EIO, "cannot be read");
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
	struct image_verdict verdict = {
		.report = note, .opaque = &found, .checked = &checked};

	assert_int_equal(image_check_store(&store, &how, &verdict, &err), -EIO);
	assert_true(store.size == IMAGE_SIZE_UNKNOWN);
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

	judge_bytes(image, SMALL_BYTES - 100, "", "");
	assert_int_equal(checked.leaked_clusters, 0);
	/* it is counted though nothing uses it */
	small_put(image, SMALL_COUNT(SMALL_CLUSTERS), 2, 1);
	judge_bytes(image, SMALL_BYTES + 1, "", "leaked clusters: 1");
	free(image);
}

TEST(a_refcount_block_lies_in_the_file)
{
	unsigned char *image = large_image();

	small_put(image, SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8,
		SMALL_AT(SMALL_CLUSTERS));
	judge_bytes(
		image, SMALL_BYTES, "well_formed", "past the end of the file");
	judge_bytes(image, SMALL_BYTES + SMALL_CLUSTER - 1, "well_formed",
		"refcount block at 0x2800 of refcount table entry 1 lies past");
	free(image);
}

TEST(a_refcount_block_counts_once)
{
	unsigned char *image = large_image();

	small_put(image, SMALL_AT(SMALL_REFCOUNT_TABLE) + 8, 8,
		SMALL_AT(SMALL_REFCOUNT_BLOCK));
	small_put(image, SMALL_COUNT(SMALL_REFCOUNT_BLOCK), 2, 2);
	judge_bytes(
		image, LARGE_BYTES, "overlaps", "overlaps a refcount block");
	assert_int_equal(checked.leaked_clusters, 0);
	free(image);
}

TEST(a_signature_may_end_with_the_file)
{
	static const char iso[] = {'C', 'D', '0', '0', '1'};
	const size_t at = 32769;
	unsigned char *image = large_image();

	memcpy(image + at, iso, sizeof(iso));
	judge_bytes(image, at + 4, "", "");
	judge_bytes(image, at + 5, "polyglot", "ISO 9660 at offset 32769");
	free(image);
}
