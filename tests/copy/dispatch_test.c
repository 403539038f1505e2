/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies while another thread changes the limit, the threshold and the traits.
 * ThreadSanitizer runs it too.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <hone/hone.h>
#include "copy.h"
#include "support.h"

#define CALLERS 3
#define LIMITS 2000
#define LONGEST ((size_t)9000)

static atomic_bool done;
static atomic_int wrong;
static unsigned char source[LONGEST];

/* Every policy, at sizes that are kept and at sizes that are streamed. */
static void *
copy_until_done(void *state)
{
	static const int policies[] = {HONE_COPY_AUTO, HONE_COPY_KEEP,
		HONE_COPY_STREAM,
		HONE_COPY_STREAM_PROTECT | HONE_COPY_NO_FENCE};
	unsigned char target[LONGEST];
	uint64_t random = *(uint64_t *)state;

	for (size_t i = 0; !atomic_load(&done); i++) {
		size_t n = 1 + support_below(&random, LONGEST);
		int policy = policies[i % 4];

		memset(target, 0xa5, n);
		hone_memcpy(target, source, n, policy);
		hone_copy_fence();
		if (memcmp(target, source, n) != 0)
			atomic_fetch_add(&wrong, 1);
		hone_memset_zero(target, n, policy);
		if (!hone_buffer_is_zero(target, n))
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void
change_limits(void)
{
	for (size_t i = 0; i < LIMITS; i++) {
		hone_cpu_limit(
			hone_copy_variants[i % hone_copy_n_variants].row.needs);
		hone_copy_set_threshold(i % 3 * 4096);
		hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MIN, i % 5 * 1000);
		hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, i % 7 * 1500);
	}
	hone_cpu_limit(HONE_CPU_ALL);
}

/* A reset that came between the stores of a choice has undone it. */
static void
assert_choice_follows_the_traits(void)
{
#ifdef NDEBUG /* in a debug build the number is always 0 */
	size_t min = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MIN);
	unsigned char target[3];
	size_t n = 3; /* compilers replace constant copies */

	__asm__("" : "+r"(n));
	hone_memcpy(target, source, n, HONE_COPY_KEEP);
	assert_true(min > 65 && min < hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX));
	assert_int_equal(hone_detail_copy_libc, min - 65);
#endif
}

TEST(copies_stay_right_while_limit_threshold_and_traits_change)
{
	size_t min = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MIN);
	size_t max = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX);
	pthread_t threads[CALLERS];
	uint64_t seeds[CALLERS], random = support_seed();

	atomic_store(&done, false);
	for (int i = 0; i < CALLERS; i++) {
		seeds[i] = support_random(&random);
		assert_int_equal(pthread_create(&threads[i], NULL,
					 copy_until_done, &seeds[i]),
			0);
	}
	change_limits();
	atomic_store(&done, true);
	for (int i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(wrong, 0);
	assert_choice_follows_the_traits();
	hone_copy_set_threshold(0);
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MIN, min);
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, max);
}

int
main(void)
{
	for (size_t i = 0; i < LONGEST; i++)
		source[i] = (unsigned char)(i * 7 % 251 + 1);
	return run_all_tests(NULL, NULL);
}
