/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <hone/hone.h>
#include "support.h"
#include "zero/zero.h"

static void
version_is_that_of_the_headers(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", HONE_VERSION_MAJOR,
		HONE_VERSION_MINOR, HONE_VERSION_PATCH);
	assert_string_equal(HONE_VERSION_STRING, text);
	assert_string_equal(hone_version(), text);
}

static void
a_limit_takes_away_and_never_adds(void **state)
{
	uint64_t all = hone_cpu_features();

	(void)state;
	hone_cpu_limit(0);
	assert_int_equal(hone_cpu_features(), 0);
	hone_cpu_limit(HONE_CPU_AVX2);
	assert_int_equal(hone_cpu_features(), all & HONE_CPU_AVX2);
	hone_cpu_limit(HONE_CPU_ALL);
	assert_int_equal(hone_cpu_features(), all);
}

static void
without_features_every_part_uses_generic(void **state)
{
	(void)state;
	hone_cpu_limit(0);
	for (size_t i = 0; hone_cpu_part(i); i++)
		assert_string_equal(
			hone_cpu_variant(hone_cpu_part(i)), "generic");
	hone_cpu_limit(HONE_CPU_ALL);
}

static void
the_last_row_that_can_run_is_chosen(void **state)
{
	const char *last = NULL;

	(void)state;
	for (size_t i = 0; i < hone_zero_n_variants; i++)
		if (hone_cpu_has(hone_zero_variants[i].needs))
			last = hone_zero_variants[i].name;
	assert_string_equal(hone_cpu_variant("zero"), last);
}

static void
a_limit_holds_after_functions_were_used(void **state)
{
	unsigned char byte = 1, zeros[17] = {0};

	(void)state;
	for (size_t i = 0; i < hone_zero_n_variants; i++) {
		if (!hone_cpu_has(hone_zero_variants[i].needs))
			continue;
		hone_cpu_limit(hone_zero_variants[i].needs);
		assert_false(hone_buffer_is_zero(&byte, 1));
		assert_int_equal(hone_find_nonzero(&byte, 1), 0);
		assert_int_equal(hone_rfind_nonzero(&byte, 1), 0);
		/* up to 16 bytes are answered inline */
		assert_true(hone_buffer_is_zero(zeros, sizeof(zeros)));
		assert_ptr_equal(
			hone_detail_is_zero, hone_zero_variants[i].is_zero);
		assert_string_equal(
			hone_cpu_variant("zero"), hone_zero_variants[i].name);
		hone_cpu_limit(HONE_CPU_ALL);
	}
}

static void
every_feature_of_this_cpu_has_a_name(void **state)
{
	uint64_t bits = hone_cpu_features();

	(void)state;
	for (; bits != 0; bits &= bits - 1)
		assert_non_null(hone_cpu_feature_name(bits & -bits));
	assert_null(hone_cpu_feature_name(0));
	assert_null(hone_cpu_feature_name(HONE_CPU_ALL));
	assert_string_equal(hone_cpu_feature_name(HONE_CPU_AVX2), "avx2");
}

static void
unknown_parts_and_levels_are_told(void **state)
{
	(void)state;
	assert_null(hone_cpu_variant("no such part"));
	assert_null(hone_cpu_part(SIZE_MAX));
	assert_int_equal(hone_cpu_cache_size(0), 0);
	assert_int_equal(hone_cpu_cache_size(4), 0);
}

static void
caches_grow_with_their_level(void **state)
{
	size_t l1 = hone_cpu_cache_size(1), l2 = hone_cpu_cache_size(2);

	(void)state;
	assert_int_equal(l1, hone_cpu_cache_size(1));
	if (l1 == 0) { /* some virtual machines and emulators hide them */
		print_message("# skipped: the machine tells no cache sizes\n");
		skip();
	}
	assert_in_range(l1, 4096, 1 << 20);
	assert_true(l2 == 0 || l2 >= l1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_is_that_of_the_headers),
		cmocka_unit_test(a_limit_takes_away_and_never_adds),
		cmocka_unit_test(without_features_every_part_uses_generic),
		cmocka_unit_test(the_last_row_that_can_run_is_chosen),
		cmocka_unit_test(a_limit_holds_after_functions_were_used),
		cmocka_unit_test(every_feature_of_this_cpu_has_a_name),
		cmocka_unit_test(unknown_parts_and_levels_are_told),
		cmocka_unit_test(caches_grow_with_their_level),
	};

	return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
