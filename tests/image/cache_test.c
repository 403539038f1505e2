/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache of L2 tables: bounded, and the same for every thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/qcow2/cache.h"
#include "source_support.h"
#include "support.h"

#define SLICE ((size_t)512)
#define SLICES 200
#define KEPT 50
#define THREADS 4

static struct built built;

/* Any image's bytes will do as tables. */
FIXTURE(begin)
{
	build(&built, &(struct shape){16, false, 0, "s", 3, 0}, 1);
	return 0;
}

FIXTURE(end)
{
	unbuild(&built);
	return 0;
}

/* Take a slice; returns whether it had to be read. */
static bool
take(struct qcow2_cache *cache, size_t index, struct qcow2_slice **slice)
{
	struct image_error err;
	unsigned before = built.counted.reads;
	uint64_t word;

	int rc = qcow2_cache_get(cache, &built.counted.memory.store,
		index * SLICE, SLICE, slice, &err);
	assert_int_equal(rc, 0);
	for (size_t i = 0; i < SLICE / 8; i++) {
		memcpy(&word, built.bytes + index * SLICE + 8 * i, 8);
		assert_int_equal((*slice)->words[i], be64toh(word));
	}
	return built.counted.reads > before;
}

static bool
touch(struct qcow2_cache *cache, size_t index)
{
	struct qcow2_slice *slice;
	bool loaded = take(cache, index, &slice);
	qcow2_cache_put(cache, slice);
	return loaded;
}

TEST(the_least_recently_used_slice_goes_first)
{
	struct qcow2_cache *cache = qcow2_cache_create(KEPT * SLICE);

	for (size_t i = 0; i < KEPT; i++)
		assert_true(touch(cache, i));
	for (size_t i = 0; i < KEPT; i++)
		assert_false(touch(cache, i));
	/* now the first one is not the oldest any more */
	assert_false(touch(cache, 0));
	assert_true(touch(cache, KEPT));
	assert_false(touch(cache, 0));
	assert_true(touch(cache, 1));
	qcow2_cache_destroy(cache);
}

TEST(a_slice_in_use_stays)
{
	struct qcow2_cache *cache = qcow2_cache_create(KEPT * SLICE);
	struct qcow2_slice *held;

	assert_true(take(cache, 3, &held));
	for (size_t i = 10; i < SLICES; i++)
		assert_true(touch(cache, i));
	assert_false(touch(cache, 3));
	qcow2_cache_put(cache, held);
	qcow2_cache_destroy(cache);
}

/* A cache too small for one slice still serves those in use. */
TEST(the_bound_may_be_zero)
{
	struct qcow2_cache *cache = qcow2_cache_create(0);
	struct qcow2_slice *a, *b;

	assert_true(take(cache, 1, &a));
	assert_true(take(cache, 2, &b));
	assert_int_equal(a->offset, SLICE);
	qcow2_cache_put(cache, a);
	qcow2_cache_put(cache, b);
	assert_true(touch(cache, 3));
	assert_true(touch(cache, 1));
	qcow2_cache_destroy(cache);
}

struct run {
	struct qcow2_cache *cache;
	uint64_t seed;
	_Atomic unsigned errors;
};

static void *
take_at_random(void *opaque)
{
	struct run *run = opaque;
	struct image_error err;
	uint64_t seed = run->seed;

	for (unsigned i = 0; i < 5000; i++) {
		size_t index = support_below(&seed, SLICES);
		struct qcow2_slice *slice;
		uint64_t word;
		int rc =
			qcow2_cache_get(run->cache, &built.counted.memory.store,
				index * SLICE, SLICE, &slice, &err);
		EXPECT(rc == 0, run);
		memcpy(&word, built.bytes + index * SLICE, 8);
		EXPECT(slice->words[0] == be64toh(word), run);
		memcpy(&word, built.bytes + (index + 1) * SLICE - 8, 8);
		EXPECT(slice->words[SLICE / 8 - 1] == be64toh(word), run);
		qcow2_cache_put(run->cache, slice);
	}
	return NULL;
}

TEST(threads_share_a_small_cache)
{
	uint64_t seed = support_seed();
	struct qcow2_cache *cache = qcow2_cache_create(KEPT * SLICE);
	struct run runs[THREADS];
	pthread_t threads[THREADS];

	for (unsigned t = 0; t < THREADS; t++) {
		runs[t] = (struct run){
			.cache = cache, .seed = support_random(&seed)};
		assert_int_equal(pthread_create(&threads[t], NULL,
					 take_at_random, &runs[t]),
			0);
	}
	for (unsigned t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		assert_int_equal(runs[t].errors, 0);
	}
	qcow2_cache_destroy(cache);
}

int
main(void)
{
	return run_all_tests(begin, end);
}
