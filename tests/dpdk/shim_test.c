/* SPDX-License-Identifier: BSD-3-Clause */
/* The shim in front of next.c. */
#include <stdlib.h>
/* NOLINTNEXTLINE(bugprone-suspicious-include): its functions */
#include "shim.c"
#include "support.h"

extern const char *next_name;
extern void *next_config;

static char pool[1], config[1];

/* The ops that a pool gets if the program names these. */
static void
gets(const char *named, const char *ops)
{
	next_name = NULL;
	assert_int_equal(rte_mempool_set_ops_byname(
				 (struct rte_mempool *)pool, named, config),
		7);
	assert_string_equal(next_name, ops);
	assert_ptr_equal(next_config, config);
}

TEST(the_default_ops_are_replaced_and_no_others)
{
	gets("ring_mp_mc", "hone");
	gets("ring_sp_sc", "ring_sp_sc");
	gets("stack", "stack");
	gets("ring_mp_mc", "hone");
}

TEST(the_environment_names_the_ops)
{
	assert_int_equal(setenv("HONE_DPDK_OPS", "lf_stack", 1), 0);
	gets("ring_mp_mc", "lf_stack");
	gets("stack", "stack");
	assert_int_equal(unsetenv("HONE_DPDK_OPS"), 0);
	gets("ring_mp_mc", "hone");
}

TEST(an_error_is_returned)
{
	assert_int_equal(rte_mempool_set_ops_byname(NULL, "stack", NULL), -22);
}

TEST(the_rate_of_the_tsc_is_lower_for_shorter_tests)
{
	static const struct {
		const char *shorter;
		uint64_t hz;
	} cases[] = {{"1", 3000}, {"100", 30}, {"0", 3000}, {"no", 3000}};

	assert_int_equal(rte_get_tsc_hz(), 3000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			setenv("HONE_DPDK_SHORTER", cases[i].shorter, 1), 0);
		assert_int_equal(rte_get_tsc_hz(), cases[i].hz);
	}
	assert_int_equal(unsetenv("HONE_DPDK_SHORTER"), 0);
}
