/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and allocations of the sinks that fail, and the memory of qcow2. */
#include <malloc.h>
#include "codec/join.h"
#include "fake_source.h"
#include "format/packed/packed.h"
#include "format/qcow2/sink.h"
#include "support.h"
#include "fake_store.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

/* Allocations so far, the one that fails (0: none), bytes in use, and the most
 * that were. */
static unsigned allocations, fail_allocation;
static size_t in_use, most_in_use;

static void *
allocated(void *memory)
{
	in_use += malloc_usable_size(memory);
	if (in_use > most_in_use)
		most_in_use = in_use;
	return memory;
}

STANDS_FOR(void *, malloc, size_t size)
{
	if (++allocations == fail_allocation)
		return NULL;
	return allocated(__real_malloc(size));
}

STANDS_FOR(void *, calloc, size_t count, size_t size)
{
	if (++allocations == fail_allocation)
		return NULL;
	return allocated(__real_calloc(count, size));
}

STANDS_FOR(void *, aligned_alloc, size_t alignment, size_t size)
{
	if (++allocations == fail_allocation)
		return NULL;
	return allocated(__real_aligned_alloc(alignment, size));
}

STANDS_FOR(void *, realloc, void *memory, size_t size)
{
	if (++allocations == fail_allocation)
		return NULL;
	in_use -= malloc_usable_size(memory);
	return allocated(__real_realloc(memory, size));
}

STANDS_FOR(void, free, void *memory)
{
	in_use -= malloc_usable_size(memory);
	__real_free(memory);
}

static const struct image_create defaults = {.version = 3, .refcount_bits = 16};

/* What a sweep makes. */
struct shape {
	const struct image_format *format;
	struct image_create create;
	/* the store is a pipe */
	bool forward;
};

/* 30 ranges of data, which take two blocks of the list of gce. */
#define MAP "a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-"
#define PARTS 30

static const unsigned char bytes[150 * KIB];

/* The parts of a sink that is one stream. */
static int
append(struct image_sink *sink, struct image_error *err)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < PARTS; i++) {
		struct image_packed packed = {.guest = 2 * i * KIB,
			.bytes = bytes,
			.length = KIB,
			.stored = 100};
		rc = sink->ops->append(sink, &packed, err);
		if (rc == 0 && sink->part)
			rc = sink->ops->gap(sink, &packed, err);
		if (rc == 0)
			rc = image_sink_write(
				sink, packed.host, bytes, 100, err);
	}
	return rc;
}

/* qcow2: many places, of which nothing is written; else one of 16 units. */
static int
reserve(struct image_sink *sink, const struct shape *shape,
	struct image_error *err)
{
	bool writes = shape->format != &image_format_qcow2;
	uint64_t size = shape->create.size, guest = 0;
	int rc = 0;

	while (rc == 0 && guest < size) {
		uint64_t n = sink->compress ? sink->unit : 150 * KIB;
		struct image_place place = {.guest = guest,
			.length = n < size - guest ? n : size - guest,
			.compressed = sink->compress};
		place.stored = !sink->compress ? place.length
			       : writes        ? IMAGE_SECTOR
					       : sink->unit / 3;
		rc = sink->ops->reserve(sink, &place, err);
		if (rc == 0 && writes)
			rc = image_sink_write(sink, place.host, bytes,
				(size_t)place.stored, err);
		guest += writes ? 16 * n : place.length;
	}
	return rc;
}

/* Calls of every kind. Returns the first error. */
static int
use_sink(struct test_store *store, const struct shape *shape)
{
	struct image_store empty = {.name = store->store.name};
	struct image_error err = {0};
	struct image_sink *sink = NULL;
	struct fake fake;

	store->store.forward = shape->forward;
	fake_init(&fake, MAP, KIB, 2 * PARTS * KIB);
	fake.source.store = &empty;
	int rc = shape->create.packing ? image_packed_create(&store->store,
						 &shape->create, &sink, &err)
				       : shape->format->create(&store->store,
						 &shape->create, &sink, &err);
	if (rc < 0) {
		assert_null(sink);
		assert_false(store->closed);
	}
	if (rc == 0 && sink->ops->plan)
		rc = sink->ops->plan(sink, &fake.source, 4096, &err);
	if (rc == 0)
		rc = sink->ops->append ? append(sink, &err)
				       : reserve(sink, shape, &err);
	if (rc == 0 && shape->create.unsized)
		rc = sink->ops->resize(sink, shape->create.size, &err);
	if (rc == 0)
		rc = sink->ops->finish(sink, &err);
	if (sink) {
		sink->ops->close(sink);
		assert_true(store->closed);
	}
	fake_destroy(&fake);
	assert_true(rc == 0 || err.text[0]);
	return rc;
}

/* qcow2 images with many tables. */
#define SMALL_CLUSTERS                                                         \
	.version = 3, .refcount_bits = 64, .cluster_size = 512, .size = 40 * MIB

/* One shape for each way through the code. */
static const struct shape shapes[] = {
	{&image_format_qcow2, {SMALL_CLUSTERS}, false},
	{&image_format_qcow2, {SMALL_CLUSTERS, .compress = true}, false},
	{&image_format_qcow2, {SMALL_CLUSTERS, .preallocate = true}, false},
	{&image_format_vmdk, {.size = 100 * MIB}, false},
	{&image_format_vmdk, {.size = 100 * MIB, .unsized = true}, false},
	{&image_format_vmdk, {.size = 100 * MIB}, true},
	{&image_format_vhd, {.size = 40 * MIB}, false},
	{&image_format_vhd, {.size = 40 * MIB, .unsized = true}, false},
	{&image_format_gce, {.size = 2 * PARTS * KIB}, false},
	{&image_format_raw, {.size = 2 * GIB, .packing = IMAGE_PACKING_GZIP},
		false},
	{&image_format_raw, {.size = 2 * GIB, .packing = IMAGE_PACKING_ZSTD},
		false},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

TEST(every_failing_write_is_reported)
{
	struct test_store store;
	/* every fifth write, and of each shape others */
	unsigned step = 5;

	for (unsigned i = 0; i < SHAPES; i++) {
		int rc = -ENOSPC;
		for (unsigned at = 1 + i % step; rc < 0; at += step) {
			int fd = test_store_scratch();
			test_store_init(&store, fd);
			store.fail_at = at;
			rc = use_sink(&store, &shapes[i]);
			close(fd);
			assert_true(rc == 0 || rc == -ENOSPC || rc == -EFBIG);
			/* the last run has fewer calls */
			assert_true(
				rc < 0 ? store.calls == at : store.calls < at);
		}
		assert_true(store.calls >= 5);
	}
}

TEST(every_failing_allocation_is_reported_and_leaks_nothing)
{
	struct test_store store;
	int fd = test_store_scratch();

	for (size_t i = 0; i < SHAPES; i++) {
		unsigned failed = 0;
		int rc;
		do {
			size_t before = in_use;
			test_store_init(&store, fd);
			allocations = 0;
			fail_allocation = ++failed;
			rc = use_sink(&store, &shapes[i]);
			fail_allocation = 0;
			assert_true(rc == 0 || rc == -ENOMEM);
			assert_int_equal(in_use, before);
		} while (rc < 0);
		assert_true(failed == allocations + 1 && failed > 1);
	}
	close(fd);
}

/* Bytes that a disk with so many runs of data needs at most. */
static size_t
memory_for(uint64_t runs)
{
	struct image_create create = defaults;
	struct image_error err;
	struct test_store store;
	size_t before = in_use;

	create.size = 256 * GIB;
	most_in_use = in_use;
	struct image_sink *sink;
	test_store_init(&store, -1);
	assert_int_equal(qcow2_create(&store.store, &create, &sink, &err), 0);
	for (uint64_t i = 0; i < runs; i++) {
		struct image_place place = {
			.guest = i * 2 * 65536, .length = 512, .stored = 512};
		assert_int_equal(sink->ops->reserve(sink, &place, &err), 0);
	}
	assert_int_equal(sink->ops->finish(sink, &err), 0);
	sink->ops->close(sink);
	return most_in_use - before;
}

TEST(many_runs_take_no_more_memory_than_ten)
{
	size_t few = memory_for(10);
	size_t many = memory_for(MIB / 4);
	assert_true(few < 4 * MIB);
	/* but for 8 bytes for each block of 32768 reference counts */
	assert_true(many <= few + 4096);
}
