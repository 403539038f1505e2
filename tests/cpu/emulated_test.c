/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library finds on a CPU that QEMU emulates. The argument names the
 * features that it has to find, split by commas; without QEMU it is "skip".
 */
#include <hone/hone.h>
#include "support.h"

static uint64_t expected;

TEST(the_features_of_the_cpu_are_found)
{
	assert_int_equal(hone_cpu_features(), expected);
}

TEST(every_part_has_a_variant_that_runs)
{
	unsigned char from[300] = {[299] = 1}, to[300] = {0};

	hone_memcpy(to, from, sizeof(to), HONE_COPY_KEEP);
	assert_memory_equal(to, from, sizeof(to));
	assert_int_equal(hone_find_nonzero(to, sizeof(to)), 299);
}

int
main(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[1], "skip") == 0)
		return support_skip_all("qemu", "qemu-x86_64 is not installed");
	for (const char *name = argv[1]; *name;) {
		size_t n = strcspn(name, ",");

		expected |= hone_cpu_feature_by_name(name, n);
		name += n + (name[n] == ',');
	}
	return run_all_tests(NULL, NULL);
}
