/* SPDX-License-Identifier: BSD-3-Clause */
/* What the qcow2 source promises beside the bytes: few reads, any thread. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Read the whole disk at once; returns the number of reads of the file. */
static unsigned
reads_of_all(const struct shape *shape)
{
	struct image_scratch scratch = {0};
	struct image_error err;
	struct built b;
	build(&b, shape, 1);
	struct image_source *source = open_built(&b);
	unsigned char *buf = malloc(b.size);

	int rc = source->ops->read(source, &scratch, 0, buf, b.size, &err);
	assert_int_equal(rc, 0);
	assert_memory_equal(buf, b.disk, b.size);
	unsigned reads = b.counted.reads;
	free(buf);
	image_scratch_destroy(&scratch);
	image_close(source);
	assert_true(b.counted.closed);
	unbuild(&b);
	return reads;
}

/* One of the L2 table besides. */
TEST(clusters_that_lie_together_are_one_read)
{
	for (enum image_codec_id id = IMAGE_CODEC_ZLIB; id <= IMAGE_CODEC_ZSTD;
		id++)
		assert_int_equal(reads_of_all(&(struct shape){
					 16, false, id, "c", 16, 0}),
			2);
	assert_int_equal(
		reads_of_all(&(struct shape){16, false, 0, "s", 16, 0}), 2);
	assert_int_equal(
		reads_of_all(&(struct shape){16, true, 0, "s", 16, 0}), 2);
	assert_int_equal(
		reads_of_all(&(struct shape){9, false, 0, "c", 64, 0}), 2);
	/* 5 L2 tables; 128 clusters at most are decompressed from one read */
	assert_int_equal(
		reads_of_all(&(struct shape){9, false, 0, "c", 300, 0}), 5 + 3);
}

TEST(clusters_that_lie_apart_are_read_apart)
{
	assert_int_equal(
		reads_of_all(&(struct shape){16, false, 0, "g", 4, 0}), 1 + 4);
	assert_int_equal(
		reads_of_all(&(struct shape){16, false, 0, "f", 4, 0}), 1 + 4);
	/* a gap of zeros in the guest is none in the file */
	assert_int_equal(
		reads_of_all(&(struct shape){16, false, 0, "cz-", 4, 0}), 2);
	/* as far as one read may reach, and not further */
	unsigned reads =
		reads_of_all(&(struct shape){16, false, 0, "c", 200, 0});
	assert_in_range(reads, 4, 8);
}

TEST(holes_are_not_read)
{
	assert_int_equal(
		reads_of_all(&(struct shape){16, false, 0, "z-", 8, 0}), 1);
}

TEST(the_last_compressed_cluster_may_pass_the_end_of_the_disk)
{
	reads_of_all(&(struct shape){16, false, 0, "c", 3, 65535});
	reads_of_all(&(struct shape){16, false, 0, "cs", 3, 512});
	reads_of_all(&(struct shape){16, true, 0, "cm", 3, 512});
}

TEST(compressed_clusters_may_lie_in_any_order)
{
	enum { CLUSTERS = 8, SIZE = 65536, L2 = 0x30000 };
	struct image_scratch scratch = {0};
	struct image_error err;
	struct built b;
	uint64_t entries[CLUSTERS];

	build(&b, &(struct shape){16, false, 0, "c", CLUSTERS, 0}, 1);
	memcpy(entries, b.bytes + L2, sizeof(entries));
	for (unsigned i = 0; i < CLUSTERS; i++)
		memcpy(b.bytes + L2 + 8 * i, &entries[CLUSTERS - 1 - i], 8);
	unsigned char *buf = malloc(b.size);
	struct image_source *source = open_built(&b);
	int rc = source->ops->read(source, &scratch, 0, buf, b.size, &err);
	assert_int_equal(rc, 0);
	for (unsigned i = 0; i < CLUSTERS; i++)
		assert_memory_equal(buf + i * SIZE,
			b.disk + (CLUSTERS - 1 - i) * SIZE, SIZE);
	assert_int_equal(b.counted.reads, 2);
	image_close(source);
	image_scratch_destroy(&scratch);
	unbuild(&b);
	free(buf);
}

/* An L2 table of clusters of 128 KiB is two slices. */
TEST(a_table_of_several_slices_is_read_where_it_is_needed)
{
	enum { ENTRIES = 8192 };
	char *clusters = malloc(ENTRIES + 2);
	unsigned char *buf = malloc(128 * KIB);
	struct image_scratch scratch = {0};
	struct image_error err;
	struct built b;

	memset(clusters, '-', ENTRIES);
	memcpy(clusters + ENTRIES, "s", 2);
	build(&b, &(struct shape){17, false, 0, clusters, 1, 0}, 1);
	struct image_source *source = open_built(&b);
	uint64_t last = ENTRIES * 128 * KIB;
	int rc =
		source->ops->read(source, &scratch, last, buf, 128 * KIB, &err);
	assert_int_equal(rc, 0);
	assert_memory_equal(buf, b.disk + last, 128 * KIB);
	assert_int_equal(b.counted.reads, 2);
	image_close(source);
	unbuild(&b);
	free(buf);
	free(clusters);
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
	struct built *built;
	struct image_source *source;
	uint64_t seed;
	unsigned turns;
	_Atomic unsigned errors;
};

/* Read ranges at random; they begin and end anywhere. */
static void *
read_ranges(void *opaque)
{
	struct run *run = opaque;
	const struct built *b = run->built;
	struct image_scratch scratch = {0};
	struct image_error err;
	unsigned char *buf = malloc(b->size);
	uint64_t seed = run->seed;

	for (unsigned i = 0; i < run->turns; i++) {
		size_t offset = support_below(&seed, b->size);
		size_t most = b->size - offset;
		if (support_below(&seed, 2) && most > 4096)
			most = 4096;
		size_t length = 1 + support_below(&seed, most);
		int rc = run->source->ops->read(
			run->source, &scratch, offset, buf, length, &err);
		EXPECT(rc == 0, run);
		EXPECT(rc || memcmp(buf, b->disk + offset, length) == 0, run);
	}
	image_scratch_destroy(&scratch);
	free(buf);
	return NULL;
}

/* The extents cover the disk, and holes are zeros. */
static void *
list_extents(void *opaque)
{
	struct run *run = opaque;
	const struct built *b = run->built;
	struct image_error err;
	uint64_t at = 0;

	while (at < b->size) {
		struct image_extent e;
		int rc = run->source->ops->extent(
			run->source, at, b->size - at, &e, &err);
		EXPECT(rc == 0, run);
		if (rc < 0)
			break;
		EXPECT(e.offset == at && e.length > 0, run);
		EXPECT(e.length <= b->size - at, run);
		if (e.kind == IMAGE_HOLE)
			EXPECT(b->disk[at] == 0 &&
					memcmp(b->disk + at, b->disk + at + 1,
						e.length - 1) == 0,
				run);
		EXPECT((e.kind == IMAGE_HOLE || e.compressed) ==
				(e.host == IMAGE_NO_HOST),
			run);
		if (e.kind == IMAGE_DATA && !e.compressed)
			EXPECT(memcmp(b->bytes + e.host, b->disk + at,
				       e.length) == 0,
				run);
		at += e.length;
	}
	return NULL;
}

TEST(any_range_is_read_by_any_thread)
{
	uint64_t seed = support_seed();

	for (size_t i = 0; i < N_SHAPES; i++) {
		struct built b;
		build(&b, &shapes[i], seed);
		struct run runs[THREADS];
		pthread_t threads[THREADS];
		struct image_source *source = open_built(&b);
		for (unsigned t = 0; t < THREADS; t++) {
			runs[t] = (struct run){.built = &b,
				.source = source,
				.seed = support_random(&seed),
				.turns = 10};
			assert_int_equal(pthread_create(&threads[t], NULL,
						 t ? read_ranges : list_extents,
						 &runs[t]),
				0);
		}
		for (unsigned t = 0; t < THREADS; t++) {
			pthread_join(threads[t], NULL);
			assert_int_equal(runs[t].errors, 0);
		}
		image_close(source);
		unbuild(&b);
	}
}

/* Open the image, read all of it, close it. */
static int
open_and_read(struct built *b, unsigned char *buf, struct image_error *err)
{
	struct image_open how = {0};
	struct image_scratch scratch = {0};
	struct image_source *source = NULL;

	b->counted.closed = false;
	b->counted.reads = 0;
	int rc = image_format_qcow2.open(
		&b->counted.memory.store, &how, &source, err);
	/* on failure, the store stays the caller's */
	assert_false(b->counted.closed);
	if (rc < 0)
		return rc;
	rc = source->ops->read(source, &scratch, 0, buf, b->size, err);
	image_close(source);
	image_scratch_destroy(&scratch);
	assert_true(b->counted.closed);
	return rc;
}

TEST(every_read_and_allocation_may_fail)
{
	struct image_error err;
	/* every fifth one, and of each shape others */
	unsigned step = 5;

	for (unsigned i = 0; i < N_SHAPES; i++) {
		struct built b;
		build(&b, &shapes[i], 1);
		unsigned char *buf = malloc(b.size);
		int rc = -EIO;
		for (unsigned at = 1 + i % step; rc != 0; at += step) {
			b.counted.fail_at = at;
			rc = open_and_read(&b, buf, &err);
			assert_true(rc == 0 || rc == -EIO);
			assert_int_equal(rc == 0, b.counted.reads < at);
			if (rc)
				assert_string_equal(err.file, "built");
		}
		b.counted.fail_at = 0;
		rc = -ENOMEM;
		for (unsigned at = 1 + i % step; rc != 0; at += step) {
			memset(buf, 0, b.size);
			atomic_store(&fail_allocation, (int)at);
			rc = open_and_read(&b, buf, &err);
			bool failed = atomic_exchange(&fail_allocation, 0) == 0;
			assert_int_equal(rc, failed ? -ENOMEM : 0);
		}
		assert_memory_equal(buf, b.disk, b.size);
		free(buf);
		unbuild(&b);
	}
}
