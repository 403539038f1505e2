/* SPDX-License-Identifier: BSD-3-Clause */
/* What the qcow2 source promises beside the bytes: few reads, any thread. */
#include "source_support.h"
#include "support.h"

#define KIB ((size_t)1024)
#define THREADS 4

/* The allocation that fails, counted down; 0: none. One thread alone sets it.
 */
static _Atomic int fail_allocation;

static bool
fails(void)
{
	return atomic_load(&fail_allocation) &&
	       atomic_fetch_sub(&fail_allocation, 1) == 1;
}

STANDS_FOR(void *, malloc, size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

STANDS_FOR(void *, calloc, size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

STANDS_FOR(void *, aligned_alloc, size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

/* The image of a test, and what its reads need. */
static struct built image;
static struct image_scratch scratch;
static struct image_error err;

FIXTURE(end)
{
	image_scratch_destroy(&scratch);
	unbuild(&image);
	image = (struct built){.bytes = NULL};
	return 0;
}

#define SOURCE_TEST(name) TEST_WITH(name, NULL, end)

/* Build an image in place of the last one. */
static void
begin(const struct shape *shape)
{
	end(NULL);
	build(&image, shape, 1);
}

static int
read_disk(
	struct image_source *source, uint64_t offset, void *buf, size_t length)
{
	return source->ops->read(source, &scratch, offset, buf, length, &err);
}

/* Read the whole disk at once; returns the number of reads of the file. */
static unsigned
reads_of_all(const struct shape *shape)
{
	begin(shape);
	struct image_source *source = open_built(&image);
	unsigned char *buf = malloc(image.size);

	assert_ok(read_disk(source, 0, buf, image.size));
	assert_memory_equal(buf, image.disk, image.size);
	free(buf);
	image_close(source);
	assert_true(image.counted.closed);
	return image.counted.reads;
}

SOURCE_TEST(clusters_that_lie_together_are_one_read)
{
	static const struct {
		struct shape shape;
		/* reads, one of which is that of an L2 table */
		unsigned least, most;
	} cases[] = {
		{{16, false, IMAGE_CODEC_ZLIB, "c", 16, 0}, 2, 2},
		{{16, false, IMAGE_CODEC_ZSTD, "c", 16, 0}, 2, 2},
		{{16, false, 0, "s", 16, 0}, 2, 2},
		{{16, true, 0, "s", 16, 0}, 2, 2},
		{{9, false, 0, "c", 64, 0}, 2, 2},
		/* 5 L2 tables; 128 clusters at most are decompressed from one
		 * read */
		{{9, false, 0, "c", 300, 0}, 5 + 3, 5 + 3},
		/* clusters that lie apart are read apart */
		{{16, false, 0, "g", 4, 0}, 1 + 4, 1 + 4},
		{{16, false, 0, "f", 4, 0}, 1 + 4, 1 + 4},
		/* a gap of zeros in the guest is none in the file */
		{{16, false, 0, "cz-", 4, 0}, 2, 2},
		/* as far as one read may reach, and not further */
		{{16, false, 0, "c", 200, 0}, 4, 8},
		/* holes are not read */
		{{16, false, 0, "z-", 8, 0}, 1, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_in_range(reads_of_all(&cases[i].shape), cases[i].least,
			cases[i].most);
}

SOURCE_TEST(the_last_compressed_cluster_may_pass_the_end_of_the_disk)
{
	reads_of_all(&(struct shape){16, false, 0, "c", 3, 65535});
	reads_of_all(&(struct shape){16, false, 0, "cs", 3, 512});
	reads_of_all(&(struct shape){16, true, 0, "cm", 3, 512});
}

SOURCE_TEST(compressed_clusters_may_lie_in_any_order)
{
	enum { CLUSTERS = 8, SIZE = 65536, L2 = 0x30000 };
	static unsigned char buf[CLUSTERS * SIZE];
	uint64_t entries[CLUSTERS];

	begin(&(struct shape){16, false, 0, "c", CLUSTERS, 0});
	memcpy(entries, image.bytes + L2, sizeof(entries));
	for (unsigned i = 0; i < CLUSTERS; i++)
		memcpy(image.bytes + L2 + 8 * i, &entries[CLUSTERS - 1 - i], 8);
	struct image_source *source = open_built(&image);
	assert_ok(read_disk(source, 0, buf, image.size));
	for (unsigned i = 0; i < CLUSTERS; i++)
		assert_memory_equal(buf + i * SIZE,
			image.disk + (CLUSTERS - 1 - i) * SIZE, SIZE);
	assert_int_equal(image.counted.reads, 2);
	image_close(source);
}

/* An L2 table of clusters of 128 KiB is two slices. */
SOURCE_TEST(a_table_of_several_slices_is_read_where_it_is_needed)
{
	enum { ENTRIES = 8192 };
	static unsigned char buf[128 * KIB];
	char clusters[ENTRIES + 2];
	uint64_t last = ENTRIES * 128 * KIB;

	memset(clusters, '-', ENTRIES);
	memcpy(clusters + ENTRIES, "s", 2);
	begin(&(struct shape){17, false, 0, clusters, 1, 0});
	struct image_source *source = open_built(&image);
	assert_ok(read_disk(source, last, buf, sizeof(buf)));
	assert_memory_equal(buf, image.disk + last, sizeof(buf));
	assert_int_equal(image.counted.reads, 2);
	image_close(source);
}

static const struct shape shapes[] = {
	{9, false, IMAGE_CODEC_ZLIB, "csfz-cg", 40, 100},
	{12, false, IMAGE_CODEC_ZSTD, "cccsfz-ssscg", 30, 512},
	{14, true, IMAGE_CODEC_ZLIB, "mmcsf-zmg", 20, 0},
	{16, false, IMAGE_CODEC_ZLIB, "cccccsfz-g", 4, 1},
	{21, true, IMAGE_CODEC_ZSTD, "mc", 1, 4096},
};

#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

struct run {
	struct image_source *source;
	/* list extents; else, read ranges */
	bool lists;
	uint64_t seed;
	unsigned turns;
	_Atomic unsigned errors;
};

/* Read ranges at random; they begin and end anywhere. */
static void
read_ranges(struct run *run)
{
	struct image_scratch own = {0};
	struct image_error failure;
	unsigned char *buf = malloc(image.size);
	uint64_t seed = run->seed;

	for (unsigned i = 0; i < run->turns; i++) {
		size_t offset = support_below(&seed, image.size);
		size_t most = image.size - offset;
		if (support_below(&seed, 2) && most > 4096)
			most = 4096;
		size_t length = 1 + support_below(&seed, most);
		int rc = run->source->ops->read(
			run->source, &own, offset, buf, length, &failure);
		EXPECT(rc == 0, run);
		EXPECT(rc || memcmp(buf, image.disk + offset, length) == 0,
			run);
	}
	image_scratch_destroy(&own);
	free(buf);
}

/* The extents cover the disk, and holes are zeros. */
static void
list_extents(struct run *run)
{
	struct image_error failure;
	uint64_t at = 0;

	while (at < image.size) {
		struct image_extent e;
		int rc = run->source->ops->extent(
			run->source, at, image.size - at, &e, &failure);
		EXPECT(rc == 0, run);
		if (rc < 0)
			break;
		EXPECT(e.offset == at && e.length > 0, run);
		EXPECT(e.length <= image.size - at, run);
		if (e.kind == IMAGE_HOLE)
			EXPECT(image.disk[at] == 0 &&
					memcmp(image.disk + at,
						image.disk + at + 1,
						e.length - 1) == 0,
				run);
		EXPECT((e.kind == IMAGE_HOLE || e.compressed) ==
				(e.host == IMAGE_NO_HOST),
			run);
		if (e.kind == IMAGE_DATA && !e.compressed)
			EXPECT(memcmp(image.bytes + e.host, image.disk + at,
				       e.length) == 0,
				run);
		at += e.length;
	}
}

static void *
use_source(void *opaque)
{
	struct run *run = opaque;

	if (run->lists)
		list_extents(run);
	else
		read_ranges(run);
	return NULL;
}

SOURCE_TEST(any_range_is_read_by_any_thread)
{
	uint64_t seed = support_seed();

	for (size_t i = 0; i < N_SHAPES; i++) {
		end(NULL);
		build(&image, &shapes[i], seed);
		struct run runs[THREADS];
		struct image_source *source = open_built(&image);
		for (unsigned t = 0; t < THREADS; t++)
			runs[t] = (struct run){.source = source,
				.lists = t == 0,
				.seed = support_random(&seed),
				.turns = 10};
		support_threads(use_source, runs, THREADS, sizeof(*runs));
		for (unsigned t = 0; t < THREADS; t++)
			assert_int_equal(runs[t].errors, 0);
		image_close(source);
	}
}

/* Open the image, read all of it, close it. */
static int
open_and_read(unsigned char *buf)
{
	struct image_open how = {0};
	struct image_source *source = NULL;

	image.counted.closed = false;
	image.counted.reads = 0;
	int rc = image_format_qcow2.open(
		&image.counted.memory.store, &how, &source, &err);
	/* on failure, the store stays the caller's */
	assert_false(image.counted.closed);
	if (rc < 0)
		return rc;
	rc = read_disk(source, 0, buf, image.size);
	image_close(source);
	/* each allocation is made again */
	image_scratch_destroy(&scratch);
	assert_true(image.counted.closed);
	return rc;
}

SOURCE_TEST(every_read_and_allocation_may_fail)
{
	/* every fifth one, and of each shape others */
	unsigned step = 5;

	for (unsigned i = 0; i < N_SHAPES; i++) {
		begin(&shapes[i]);
		unsigned char *buf = malloc(image.size);
		int rc = -EIO;
		for (unsigned at = 1 + i % step; rc != 0; at += step) {
			image.counted.fail_at = at;
			rc = open_and_read(buf);
			assert_true(rc == 0 || rc == -EIO);
			assert_int_equal(rc == 0, image.counted.reads < at);
			if (rc)
				assert_string_equal(err.file, "built");
		}
		image.counted.fail_at = 0;
		rc = -ENOMEM;
		for (unsigned at = 1 + i % step; rc != 0; at += step) {
			memset(buf, 0, image.size);
			atomic_store(&fail_allocation, (int)at);
			rc = open_and_read(buf);
			bool failed = atomic_exchange(&fail_allocation, 0) == 0;
			assert_int_equal(rc, failed ? -ENOMEM : 0);
		}
		assert_memory_equal(buf, image.disk, image.size);
		free(buf);
	}
}

/* Damaged qcow2 images: what is refused, and by which sentence. */

/* Where build() puts the tables of an image with clusters of 64 KiB. */
#define REFCOUNTS 0x10000
#define L1 0x20000
#define L2 0x30000
#define DATA 0x40000

#define COPIED (UINT64_C(1) << 63)
#define COMPRESSED (UINT64_C(1) << 62)

/* Clusters 0 to 5 of the images below. */
static const struct shape plain = {
	16, false, IMAGE_CODEC_ZLIB, "sscz-c", 1, 512};
static const struct shape extended = {
	16, true, IMAGE_CODEC_ZSTD, "sscz-m", 1, 512};

struct damage {
	/* a number of so many bytes at this offset */
	size_t at;
	unsigned bytes;
	uint64_t value;
	/* NULL: the image is read all the same */
	const char *words;
};

static int
read_and_describe(void)
{
	struct image_open how = {0};
	struct image_source *source;

	int rc = image_format_qcow2.open(
		&image.counted.memory.store, &how, &source, &err);
	if (rc < 0)
		return rc;
	unsigned char *buf = malloc((size_t)source->size + 1);
	assert_non_null(buf);
	rc = read_disk(source, 0, buf, (size_t)source->size);
	struct image_extent e = {0};
	struct image_error other;
	int found = 0;
	for (uint64_t at = 0; found == 0 && at < source->size; at += e.length) {
		found = source->ops->extent(
			source, at, source->size - at, &e, &other);
		assert_true(found < 0 || e.length > 0);
	}
	/* both find the same fault, but for what only decompressing shows */
	if (found < 0) {
		assert_int_equal(rc, found);
		assert_string_equal(err.text, other.text);
	}
	free(buf);
	image_close(source);
	return rc;
}

static void
judge(const struct shape *shape, const struct damage *damage)
{
	begin(shape);
	for (unsigned i = 0; i < damage->bytes; i++)
		image.bytes[damage->at + i] =
			(unsigned char)(damage->value >>
					8 * (damage->bytes - 1 - i));
	err.text[0] = '\0';
	int rc = read_and_describe();
	if (!damage->words) {
		if (rc < 0)
			fail_msg("0x%zx: %s", damage->at, err.text);
	} else if (rc == 0 || !strstr(err.text, damage->words) ||
		   strcmp(err.file, "built") != 0) {
		fail_msg("0x%zx: not \"%s\": %d, %s", damage->at, damage->words,
			rc, err.text);
	}
}

static void
judge_all(const struct shape *shape, const struct damage *damages, size_t count)
{
	/* nothing that the damage does not do */
	judge(shape, &(struct damage){0, 0, 0, NULL});
	for (size_t i = 0; i < count; i++)
		judge(shape, &damages[i]);
}

#define JUDGE_ALL(shape, damages)                                              \
	judge_all(shape, damages, sizeof(damages) / sizeof((damages)[0]))

SOURCE_TEST(fields_of_the_header_have_ranges)
{
	static const struct damage damages[] = {
		{0, 4, 0x514649fa, "first bytes 51 46 49 fa"},
		{4, 4, 1, "version 1"},
		{4, 4, 4, "version 4"},
		{20, 4, 8, "cluster_bits 8"},
		{20, 4, 22, "cluster_bits 22"},
		{20, 4, 0, "cluster_bits 0"},
		{20, 4, 64, "cluster_bits 64"},
		{20, 4, UINT32_MAX, "cluster_bits 4294967295"},
		{24, 8, UINT64_C(1) << 63, "larger than any file"},
		{24, 8, UINT64_C(1) << 62, "l1_size 1 is less than the"},
		{32, 4, 3, "crypt_method 3"},
		{32, 4, 2, "contradicts the encryption header"},
		{32, 4, 1, "is encrypted (aes)"},
		{36, 4, 0, "less than the 1 entry that a disk"},
		/* more than the disk needs: saved states of machines */
		{36, 4, 100, NULL},
		{36, 4, (32 << 17) + 1, "more than 32 MiB"},
		{36, 4, UINT32_MAX, "l1_size 4294967295 needs more"},
		{36, 4, 32 << 17, "L1 table at 0x20000"},
		{40, 8, 0, "L1 table offset is 0"},
		{40, 8, L1 + 512, "L1 table offset 0x20200"},
		{40, 8, UINT64_C(1) << 63, "L1 table at 0x8000000000000000"},
		{40, 8, 0x7fffff0000, "L1 table at 0x7fffff0000"},
		{40, 8, UINT64_MAX - 65535, "past the end of the file"},
		{48, 8, 0, "refcount table offset is 0"},
		{48, 8, REFCOUNTS + 512, "refcount table offset"},
		{48, 8, UINT64_MAX - 65535, "refcount table at"},
		{56, 4, 0, "refcount_table_clusters is 0"},
		{56, 4, 129, "refcount_table_clusters 129"},
		{56, 4, UINT32_MAX, "refcount_table_clusters 4294967295"},
		{56, 4, 128, "refcount table at"},
		{60, 4, 65537, "nb_snapshots 65537"},
		{60, 4, UINT32_MAX, "nb_snapshots 4294967295"},
		{60, 4, 1, "snapshot table offset is 0"},
		{64, 8, 512, "snapshot table offset 0x200"},
		{64, 8, UINT64_C(1) << 63, "snapshot table at"},
		{64, 8, 0x10000000, NULL},
		{72, 8, 2, "is marked corrupt"},
		{72, 8, 4, "does not name it"},
		{72, 8, 8, "compression_type 0 contradicts"},
		{72, 8, 32, "feature bit 5"},
		{72, 8, UINT64_C(1) << 63, "feature bit 63"},
		{72, 8, 1, NULL},
		{80, 8, UINT64_MAX, NULL},
		{88, 8, 2, "no external data file"},
		{88, 8, UINT64_MAX - 2, NULL},
		{96, 4, 7, "refcount_order 7"},
		{96, 4, UINT32_MAX, "refcount_order 4294967295"},
		{96, 4, 6, NULL},
		{100, 4, 0, "header_length 0"},
		{100, 4, 96, "header_length 96"},
		{100, 4, 0xfffffff8, "header_length 4294967288"},
		{100, 4, 108, "header_length 108"},
		{100, 4, 65536 + 8, "header_length 65544"},
		{100, 4, 104, NULL},
		{104, 1, 1, "compression_type 1 contradicts"},
		{8, 8, 104, "backing_file_offset 0x68"},
		{8, 8, 65537, "backing_file_offset 0x10001"},
		{8, 8, 65536, "backing file name has 0 bytes"},
	};

	JUDGE_ALL(&plain, damages);
}

SOURCE_TEST(the_fields_of_version_2_end_sooner)
{
	/* what is there is a header extension: its type is 0 */
	static const struct damage damages[] = {{4, 4, 2, NULL}};
	static const struct shape v2 = {
		16, false, IMAGE_CODEC_ZLIB, "ss-c", 1, 512};

	JUDGE_ALL(&v2, damages);
	judge(&plain, &(struct damage){4, 4, 2, "reserved bits"});
}

SOURCE_TEST(header_extensions_end_in_the_header)
{
	static const struct damage damages[] = {
		{112, 8, 0x1234567800000000 + 65536 - 120, NULL},
		{112, 8, 0x1234567800000000 + 65536 - 119,
			"extends past the end"},
		{112, 8, 0x12345678ffffffff, "has 4294967295 bytes"},
		{112, 8, 0x00000000ffffffff, "extends past the end"},
		{112, 8, 0xe2792aca00000000, "backing file format has 0 bytes"},
		{112, 8, 0xe2792aca00000010, "backing file format has 16"},
		{112, 8, 0xe2792aca00000001, "contains a zero byte"},
		{112, 8, 0x4441544100000400, "data file name has 1024 bytes"},
		{112, 8, 0x6803f85700000031, "has 49 bytes, which"},
		{112, 8, 0x6803f85700000001, "has 1 byte, which is not a"},
		{112, 8, 0x6803f85700000030, NULL},
		{112, 8, 0x0537be7700000001, "has 1 byte, which is not 16"},
		{112, 8, 0x0537be7700000010, "contradicts the encryption"},
	};

	JUDGE_ALL(&plain, damages);
}

SOURCE_TEST(entries_of_the_l1_table_are_checked)
{
	static const struct damage damages[] = {
		{L1, 8, L2 | COPIED | 1, "reserved bits"},
		{L1, 8, L2 | UINT64_C(1) << 56, "reserved bits"},
		{L1, 8, L2 + 512, "not a multiple of the cluster size 65536"},
		{L1, 8, COPIED, "points at the header"},
		{L1, 8, 0x100000000, "L2 table at 0x100000000"},
		{L1, 8, DATA + 0x20000, "L2 table at 0x60000"},
		{L1, 8, L2, NULL},
		{L1, 8, 0, NULL},
	};

	JUDGE_ALL(&plain, damages);
}

SOURCE_TEST(two_entries_have_no_table_in_common)
{
	static const struct shape many = {
		9, false, IMAGE_CODEC_ZLIB, "s-----------", 32, 0};

	/* the second and the fifth, of six tables */
	judge(&many, &(struct damage){1024 + 8, 8, 1536 + 4 * 512,
			     "have the same L2 table at 0xe00"});
}

SOURCE_TEST(entries_of_l2_tables_are_checked)
{
	static const struct damage damages[] = {
		{L2, 8, DATA | 2, "reserved bits"},
		{L2, 8, DATA | UINT64_C(1) << 61, "reserved bits"},
		{L2, 8, DATA + 512, "not a multiple of the cluster size"},
		{L2, 8, COPIED, "has bit 63 set but no offset"},
		{L2, 8, 0x100000000, "data cluster of guest offset 0x0"},
		{L2 + 8, 8, 0x60000, "data cluster of guest offset 0x10000 at"},
		{L2, 8, L1, "overlaps the L1 table"},
		{L2, 8, REFCOUNTS, "overlaps the refcount table"},
		{L2, 8, DATA, NULL},
		{L2, 8, DATA | COPIED | 1, NULL},
		{L2, 8, DATA + 512 + 1, "not a multiple"},
		{L2 + 16, 8, COMPRESSED | 0x100000000, "compressed cluster"},
		{L2 + 16, 8, COMPRESSED, "overlaps the header"},
		{L2 + 16, 8, COMPRESSED | L1, "overlaps the L1 table"},
		{L2 + 16, 8, COMPRESSED | COPIED | 0x60000, "bit 63 set"},
		{L2 + 16, 8, COMPRESSED | DATA, "does not decompress to"},
		{0x60001, 8, 0, "compressed cluster of guest offset 0x20000"},
	};

	JUDGE_ALL(&plain, damages);
}

SOURCE_TEST(subclusters_are_checked)
{
	static const struct damage damages[] = {
		{L2 + 8, 8, 0x1ffffffff, "both allocated and zero"},
		{L2, 8, 0, "the cluster has no offset"},
		{L2, 8, DATA | 1, "reserved bits"},
		{L2 + 40, 8, 1, "but the cluster is compressed"},
		{L2 + 8, 8, 0, NULL},
		/* the file ends after half a cluster: bit 16 is past it */
		{L2 + 16, 8, 0xb0000, "lies past the end"},
	};

	JUDGE_ALL(&extended, damages);
	judge(&(struct shape){13, false, 0, "s", 1, 0},
		&(struct damage){72, 8, 16, "cluster_bits 13 is less than 14"});
}

/* QEMU leaves the rest of the last sector out, and clusters unfinished. */
SOURCE_TEST(the_file_may_end_behind_the_last_byte_that_is_used)
{
	static const struct {
		struct shape shape;
		/* of the last cluster; 0: as far as its bytes */
		size_t used;
	} images[] = {
		{{16, false, IMAGE_CODEC_ZLIB, "c", 1, 0}, 0},
		{{16, false, IMAGE_CODEC_ZSTD, "sc", 1, 0}, 0},
		{{16, false, IMAGE_CODEC_ZLIB, "s", 1, 1000}, 64536},
		{{16, true, IMAGE_CODEC_ZLIB, "s", 1, 1000}, 64536},
		{{16, true, IMAGE_CODEC_ZLIB, "h", 1, 0}, 32768},
	};

	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		begin(&images[i].shape);
		size_t end =
			images[i].used ? DATA + images[i].used : image.length;
		image.counted.memory.store.size = end;
		assert_ok(read_and_describe());
		image.counted.memory.store.size = end - 1;
		assert_int_equal(read_and_describe(), -EINVAL);
	}
}

/* One sector more than there is in the file is not what QEMU leaves. */
SOURCE_TEST(a_compressed_cluster_may_lack_a_part_of_a_sector)
{
	begin(&plain);
	/* the last one in the file; bits 54 on count its sectors */
	assert_true((image.bytes[L2 + 40] & 0xc0) == 0x40);
	image.bytes[L2 + 41] = (unsigned char)(image.bytes[L2 + 41] + 0x40);
	assert_int_equal(read_and_describe(), -EINVAL);
	assert_non_null(strstr(err.text, "lies past the end"));
}

SOURCE_TEST(a_zero_cluster_that_has_a_place_reads_as_zeros)
{
	unsigned char buf[512];

	begin(&plain);
	image.bytes[L2 + 7] |= 1;
	memset(image.disk, 0, sizeof(buf));
	struct image_source *source = open_built(&image);
	assert_ok(read_disk(source, 0, buf, sizeof(buf)));
	assert_memory_equal(buf, image.disk, sizeof(buf));
	image_close(source);
}

SOURCE_TEST(every_truncation_is_refused)
{
	begin(&plain);
	/* the compressed cluster at the end is what is missed last */
	for (size_t size = image.length; size-- > 0;) {
		image.counted.memory.store.size = size;
		int rc = read_and_describe();
		assert_true(rc == -EINVAL);
		if (size > 512 && size < image.length - 512)
			size -= support_below(&(uint64_t){size}, 509);
	}
}
