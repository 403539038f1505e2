/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constant numbers of pointers, which hone_copy_pointers() copies inline if GCC
 * compiles the caller for AVX, as this program on x86-64.
 */
#include <hone/hone.h>
#include "support.h"

#define MOST 258

#if __BIGGEST_ALIGNMENT__ >= 32 && defined(__OPTIMIZE__)
#define IS_INLINE
#endif

static uintptr_t from[MOST + 2], to[MOST + 2];

/* A number of pointers that is constant for the compiler too. */
static inline __attribute__((always_inline)) void
check(size_t n)
{
	memset(to, 0xff, sizeof(to));
	hone_copy_pointers((void **)to + 1, (void **)from + 1, n);
	assert_memory_equal(to + 1, from + 1, n * sizeof(*to));
	assert_int_equal(to[0], UINTPTR_MAX);
	assert_int_equal(to[n + 1], UINTPTR_MAX);
}

TEST(constant_numbers_are_copied_and_nothing_beside_them)
{
	for (size_t i = 0; i < MOST + 2; i++)
		from[i] = i + 1;
	check(1);
	check(15);
	check(16);
	check(17);
	check(24);
	check(31);
	check(32);
	check(33);
	check(47);
	check(64);
	check(100);
	check(255);
	check(256);
	check(257);
}

#if defined(IS_INLINE)
static void
never_called(void *dst, const void *src, size_t n)
{
	(void)dst;
	(void)src;
	fail_msg("a call for %zu bytes", n);
}

TEST(constant_numbers_up_to_256_need_no_call)
{
	void (*chosen)(void *, const void *, size_t) = hone_detail_copy_keep;
	void (*short_one)(void *, const void *, size_t) =
		hone_detail_copy_short;

	hone_detail_copy_keep = hone_detail_copy_short = never_called;
	check(32);
	check(256);
	hone_detail_copy_keep = chosen;
	hone_detail_copy_short = short_one;
}
#endif

int
main(void)
{
#if defined(__AVX__)
	if (!(hone_cpu_features() & HONE_CPU_AVX2))
		return support_skip_all("avx2", "this CPU lacks it");
#endif
	return run_all_tests(NULL, NULL);
}
