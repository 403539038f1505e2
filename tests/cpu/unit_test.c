/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <hone/hone.h>
#include "support.h"

TEST(version_is_that_of_the_headers)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.%d.%d", HONE_VERSION_MAJOR,
		HONE_VERSION_MINOR, HONE_VERSION_PATCH);
	assert_string_equal(HONE_VERSION_STRING, text);
	assert_string_equal(hone_version(), text);
}

TEST(a_limit_takes_away_and_never_adds)
{
	uint64_t all = hone_cpu_features();

	hone_cpu_limit(0);
	assert_int_equal(hone_cpu_features(), 0);
	hone_cpu_limit(HONE_CPU_AVX2);
	assert_int_equal(hone_cpu_features(), all & HONE_CPU_AVX2);
	hone_cpu_limit(HONE_CPU_ALL);
	assert_int_equal(hone_cpu_features(), all);
}

TEST(without_features_every_part_uses_generic)
{
	hone_cpu_limit(0);
	for (size_t i = 0; hone_cpu_part(i); i++)
		assert_string_equal(
			hone_cpu_variant(hone_cpu_part(i)), "generic");
	hone_cpu_limit(HONE_CPU_ALL);
}

TEST(every_feature_of_this_cpu_has_a_name)
{
	uint64_t bits = hone_cpu_features();

	for (; bits != 0; bits &= bits - 1)
		assert_non_null(hone_cpu_feature_name(bits & -bits));
	assert_null(hone_cpu_feature_name(0));
	assert_null(hone_cpu_feature_name(HONE_CPU_ALL));
	assert_string_equal(hone_cpu_feature_name(HONE_CPU_AVX2), "avx2");
}

TEST(every_feature_is_found_by_its_name)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t feature = UINT64_C(1) << bit;
		const char *name = hone_cpu_feature_name(feature);

		if (name)
			assert_int_equal(
				hone_cpu_feature_by_name(name, strlen(name)),
				feature);
	}
}

TEST(a_feature_name_ends_with_its_length)
{
	assert_int_equal(
		hone_cpu_feature_by_name("sse2,avx2", 4), HONE_CPU_SSE2);
	assert_int_equal(hone_cpu_feature_by_name("avx512bw", 7), 0);
	assert_int_equal(
		hone_cpu_feature_by_name("avx512f", 7), HONE_CPU_AVX512F);
	assert_int_equal(hone_cpu_feature_by_name("sse2,avx2", 9), 0);
	assert_int_equal(hone_cpu_feature_by_name("sse2", 5), 0);
}

TEST(other_names_are_no_feature)
{
	assert_int_equal(hone_cpu_feature_by_name("", 0), 0);
	assert_int_equal(hone_cpu_feature_by_name(NULL, 0), 0);
	assert_int_equal(hone_cpu_feature_by_name("SSE2", 4), 0);
	assert_int_equal(hone_cpu_feature_by_name("generic", 7), 0);
}

TEST(unknown_parts_and_levels_are_told)
{
	assert_null(hone_cpu_variant("no such part"));
	assert_null(hone_cpu_variant(NULL));
	assert_null(hone_cpu_part(SIZE_MAX));
	assert_int_equal(hone_cpu_cache_size(0), 0);
	assert_int_equal(hone_cpu_cache_size(4), 0);
}

TEST(caches_grow_with_their_level)
{
	size_t l1 = hone_cpu_cache_size(1), l2 = hone_cpu_cache_size(2);

	assert_int_equal(l1, hone_cpu_cache_size(1));
	if (l1 == 0) { /* some virtual machines and emulators hide them */
		print_message("# skipped: the machine tells no cache sizes\n");
		skip();
	}
	assert_in_range(l1, 4096, 1 << 20);
	assert_true(l2 == 0 || l2 >= l1);
}
