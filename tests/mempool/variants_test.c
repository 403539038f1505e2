/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every variant of the pool's short slots, one a run: mempool_variants_test
 * NAME [STRIDE]. STRIDE reduces the numbers of objects where an emulator or a
 * sanitizer runs the test (1: all).
 */
#include <stdlib.h>
#include <string.h>
#include <hone/cpu.h>
#include "fence.h"
#include "slots.h"
#include "mempool_support.h"

#define MOST 530 /* more than a magazine holds */
#define LINE 64  /* pointers and slots begin at any place in one */

static const struct hone_mempool_variant *variant;
static size_t stride;
static struct fence slots_fence, objs_fence;

/* Upper halves, with every bit at its border set and not. */
static const uint64_t uppers[] = {
	0, UINT64_C(0x7f0155aa00000000), UINT64_C(0xffff800100000000)};

/* The lower halves are different, and some have their highest bit set. */
static void *
pointer(uint64_t upper, size_t i)
{
	return (void *)(uintptr_t)(upper | (uint32_t)(i * 0x9e3779b1u));
}

/* The same pointers, in any order. */
static void
same_objects(void *const *objs, size_t n, uint64_t upper)
{
	void *got[MOST], *want[MOST];

	memcpy(got, objs, n * sizeof(*got));
	for (size_t i = 0; i < n; i++)
		want[i] = pointer(upper, i);
	qsort(got, n, sizeof(*got), by_address);
	qsort(want, n, sizeof(*want), by_address);
	assert_memory_equal(got, want, n * sizeof(*got));
}

/* Copy there and back between these two places. */
static void
must_keep(uint32_t *slots, void **objs, size_t n, uint64_t upper)
{
	for (size_t i = 0; i < n; i++)
		objs[i] = pointer(upper, i);
	variant->to_short(slots, objs, n);
	memset(objs, 0x5a, n * sizeof(*objs));
	variant->from_short(objs, slots, n, (uintptr_t)upper);
	same_objects(objs, n, upper);
}

static void
every_number_keeps_its_objects_and_stays_in_between(void **state)
{
	(void)state;
	for (size_t n = 0; n <= MOST; n += n < 80 ? 1 : stride) {
		uint32_t *first = (uint32_t *)slots_fence.start;
		uint32_t *last = (uint32_t *)slots_fence.end - n;
		void **lowest = (void **)objs_fence.start;
		void **highest = (void **)objs_fence.end - n;

		must_keep(first, highest, n, uppers[n % 3]);
		must_keep(last, lowest, n, uppers[n % 3]);
	}
}

static void
every_alignment_keeps_its_objects(void **state)
{
	(void)state;
	for (size_t a = 0; a < LINE / sizeof(uint32_t); a++)
		for (size_t b = 0; b < LINE / sizeof(void *); b++)
			for (size_t n = 1; n <= 100; n += stride)
				must_keep((uint32_t *)slots_fence.start + a,
					(void **)objs_fence.start + b, n,
					uppers[1]);
}

/* A burst is put at one place and taken at another, from the same pool. */
static void
slots_are_taken_across_the_bursts_that_were_put(void **state)
{
	uint32_t *slots = (uint32_t *)slots_fence.start;
	void **objs = (void **)objs_fence.start;

	(void)state;
	for (size_t at = 0; at <= 256; at++) {
		for (size_t i = 0; i < 512; i++)
			objs[i] = pointer(uppers[1], i);
		for (size_t i = 0; i < 512; i += 32)
			variant->to_short(slots + i, objs + i, 32);
		memset(objs, 0x5a, 512 * sizeof(*objs));
		variant->from_short(objs, slots, at, (uintptr_t)uppers[1]);
		variant->from_short(
			objs + at, slots + at, 512 - at, (uintptr_t)uppers[1]);
		same_objects(objs, 512, uppers[1]);
	}
}

static int
limit(void **state)
{
	(void)state;
	hone_cpu_limit(variant->row.needs);
	assert_string_equal(hone_cpu_variant("mempool"), variant->row.name);
	return 0;
}

static void
a_pool_goes_by_it(void **state)
{
	struct hone_mempool_attr attr = attributes(2000, 0, 2);
	struct hone_mempool *pool;
	struct hone_mempool_cache *c;
	void *objs[2000];

	(void)state;
	attr.flags = HONE_MEMPOOL_SHORT_SLOTS;
	assert_int_equal(hone_mempool_create(&pool, &attr), 0);
	c = opened(pool);
	for (size_t n = 1; n <= 700; n += stride) {
		size_t got = 0;

		while (hone_mempool_get_bulk(c, objs + got, n) == 0)
			got += n;
		assert_int_equal(got, 2000 / n * n);
		all_different(objs, got);
		audited(pool, got);
		for (size_t i = 0; i < got; i += n)
			hone_mempool_put_bulk(c, objs + i, n);
	}
	hone_mempool_cache_close(c);
	destroyed(pool);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_number_keeps_its_objects_and_stays_in_between),
		cmocka_unit_test(every_alignment_keeps_its_objects),
		cmocka_unit_test(
			slots_are_taken_across_the_bursts_that_were_put),
		cmocka_unit_test_setup_teardown(
			a_pool_goes_by_it, limit, support_lift_limit),
	};
	const struct support_choice choice =
		support_choose(argc, argv, hone_mempool_variants,
			hone_mempool_n_variants, sizeof(*variant));

	if (!(variant = choice.variant))
		return choice.status;
	stride = choice.stride;
	fence_create(&slots_fence, MOST * sizeof(uint32_t), 4096);
	fence_create(&objs_fence, MOST * sizeof(void *), 4096);
	return cmocka_run_group_tests_name(
		variant->row.name, tests, NULL, NULL);
}
