/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache of tables: bounded, and the same for every thread. */
#include "format/slices.h"
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
take(struct image_slices *cache, size_t index, struct image_slice **slice)
{
	struct image_error err;
	unsigned before = built.counted.reads;
	uint64_t word;

	int rc = image_slices_get(cache, &built.counted.memory.store,
		index * SLICE, SLICE, slice, &err);
	assert_int_equal(rc, 0);
	for (size_t i = 0; i < SLICE / 8; i++) {
		memcpy(&word, built.bytes + index * SLICE + 8 * i, 8);
		assert_int_equal((*slice)->words[i], word);
	}
	return built.counted.reads > before;
}

static bool
touch(struct image_slices *cache, size_t index)
{
	struct image_slice *slice;
	bool loaded = take(cache, index, &slice);
	image_slices_put(cache, slice);
	return loaded;
}

TEST(the_least_recently_used_slice_goes_first)
{
	struct image_slices *cache = image_slices_create(KEPT * SLICE);

	for (size_t i = 0; i < KEPT; i++)
		assert_true(touch(cache, i));
	for (size_t i = 0; i < KEPT; i++)
		assert_false(touch(cache, i));
	/* now the first one is not the oldest any more */
	assert_false(touch(cache, 0));
	assert_true(touch(cache, KEPT));
	assert_false(touch(cache, 0));
	assert_true(touch(cache, 1));
	image_slices_destroy(cache);
}

TEST(a_slice_in_use_stays)
{
	struct image_slices *cache = image_slices_create(KEPT * SLICE);
	struct image_slice *held;

	assert_true(take(cache, 3, &held));
	for (size_t i = 10; i < SLICES; i++)
		assert_true(touch(cache, i));
	assert_false(touch(cache, 3));
	image_slices_put(cache, held);
	image_slices_destroy(cache);
}

/* A cache too small for one slice still serves those in use. */
TEST(the_bound_may_be_zero)
{
	struct image_slices *cache = image_slices_create(0);
	struct image_slice *a, *b;

	assert_true(take(cache, 1, &a));
	assert_true(take(cache, 2, &b));
	assert_int_equal(a->offset, SLICE);
	image_slices_put(cache, a);
	image_slices_put(cache, b);
	assert_true(touch(cache, 3));
	assert_true(touch(cache, 1));
	image_slices_destroy(cache);
}

struct run {
	struct image_slices *cache;
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
		struct image_slice *slice;
		uint64_t word;
		int rc = image_slices_get(run->cache,
			&built.counted.memory.store, index * SLICE, SLICE,
			&slice, &err);
		EXPECT(rc == 0, run);
		memcpy(&word, built.bytes + index * SLICE, 8);
		EXPECT(slice->words[0] == word, run);
		memcpy(&word, built.bytes + (index + 1) * SLICE - 8, 8);
		EXPECT(slice->words[SLICE / 8 - 1] == word, run);
		image_slices_put(run->cache, slice);
	}
	return NULL;
}

TEST(threads_share_a_small_cache)
{
	uint64_t seed = support_seed();
	struct image_slices *cache = image_slices_create(KEPT * SLICE);
	struct run runs[THREADS];

	for (unsigned t = 0; t < THREADS; t++)
		runs[t] = (struct run){
			.cache = cache, .seed = support_random(&seed)};
	support_threads(take_at_random, runs, THREADS, sizeof(*runs));
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(runs[t].errors, 0);
	image_slices_destroy(cache);
}

int
main(void)
{
	return run_all_tests(begin, end);
}
