/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and allocations of the qcow2 sink that fail, and its memory. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>
#include "format/qcow2/sink.h"
#include "support.h"
#include "test_store.h"

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

/* Calls of every kind. Returns the first error. */
static int
use_sink(struct test_store *store, const struct image_create *create)
{
	struct image_error err = {0};
	struct image_sink *sink;
	uint64_t guest = 0;

	int rc = qcow2_create(&store->store, create, &sink, &err);
	if (rc < 0) {
		assert_null(sink);
		assert_false(store->closed);
	}
	while (rc == 0 && guest < create->size) {
		uint64_t n = create->compress ? sink->unit : 150 * KIB;
		struct image_place place = {.guest = guest,
			.length = n,
			.stored = create->compress ? sink->unit / 3 : n,
			.compressed = create->compress};
		if (n > create->size - guest)
			place.length = create->size - guest;
		rc = sink->ops->reserve(sink, &place, &err);
		guest += rc == 0 ? place.length : 0;
	}
	if (rc == 0)
		rc = sink->ops->finish(sink, &err);
	if (sink) {
		sink->ops->close(sink);
		assert_true(store->closed);
	}
	assert_true(rc == 0 || err.text[0]);
	return rc;
}

/* One shape for each way through the code, with many tables. */
static const struct image_create *
shapes(size_t *count)
{
	static struct image_create all[3];

	for (size_t i = 0; i < 3; i++) {
		all[i] = defaults;
		all[i].cluster_size = 512;
		all[i].refcount_bits = 64;
		all[i].size = 40 * MIB;
	}
	all[1].compress = true;
	all[2].preallocate = true;
	*count = 3;
	return all;
}

TEST(every_failing_write_is_reported)
{
	struct test_store store;
	size_t count;
	const struct image_create *all = shapes(&count);

	for (size_t i = 0; i < count; i++) {
		unsigned failed = 0;
		int rc;
		do {
			int fd = test_store_scratch();
			test_store_init(&store, fd);
			store.fail_at = ++failed;
			rc = use_sink(&store, &all[i]);
			close(fd);
			assert_true(rc == 0 || rc == -ENOSPC || rc == -EFBIG);
			if (rc < 0)
				assert_int_equal(store.calls, failed);
		} while (rc < 0);
		assert_true(failed > 5);
	}
}

TEST(every_failing_allocation_is_reported_and_leaks_nothing)
{
	struct test_store store;
	size_t count;
	const struct image_create *all = shapes(&count);

	for (size_t i = 0; i < count; i++) {
		unsigned failed = 0;
		int rc;
		do {
			size_t before = in_use;
			test_store_init(&store, -1);
			allocations = 0;
			fail_allocation = ++failed;
			rc = use_sink(&store, &all[i]);
			fail_allocation = 0;
			assert_true(rc == 0 || rc == -ENOMEM);
			assert_int_equal(in_use, before);
		} while (rc < 0);
		assert_true(failed > 5);
	}
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

TEST(a_million_runs_take_no_more_memory_than_ten)
{
	size_t few = memory_for(10);
	size_t many = memory_for(MIB);
	assert_true(few < 4 * MIB);
	/* but for 8 bytes for each block of 32768 reference counts */
	assert_true(many <= few + 4096);
}
