/* SPDX-License-Identifier: BSD-3-Clause */
/* Calibration: the vectors of 32 or of 64 bytes. */
#include "simulated.h"

/* `n64` sizes at which 64-byte vectors are clearly faster, `n32` that others.
 */
static void
make_vectors(int n64, int n32)
{
	for (int i = 0; i < VECTOR_SIZES; i++) {
		world.vector32[i] = 100 * (i + 1);
		world.vector64[i] = world.vector32[i] / 100 *
				    (i < n64                ? 94
					    : i < n64 + n32 ? 107
							    : 98);
	}
}

static void
vectors_must_be(size_t store, int n64, int n32)
{
	struct hone_copy_calibration c;

	make_vectors(n64, n32);
	world.store = store;
	calibrate(&c);
}

static void
the_vectors_that_are_faster_at_more_sizes_are_chosen(void **state)
{
	(void)state;
	world.wide = true;
	make_faster(4, 7);
	vectors_must_be(64, VECTOR_SIZES, 0);
	vectors_must_be(32, 0, VECTOR_SIZES);
	vectors_must_be(64, 1, 0);
	vectors_must_be(64, 3, 2);
	vectors_must_be(32, 2, 3);
	vectors_must_be(32, 2, 2);
	vectors_must_be(32, 0, 0);
	vectors_must_be(64, 1, 0);
	/* Nothing is clear: what was chosen stays. */
	vectors_must_be(64, 3, 3);
	vectors_must_be(64, 0, 0);
	/* two comparisons that differ are noise, three are not */
	world.slow = 1 << 13 | 1 << 15;
	vectors_must_be(64, VECTOR_SIZES, 0);
	world.slow = 1 << 12 | 1 << 14;
	vectors_must_be(32, 0, VECTOR_SIZES);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES, 0);
	world.slow |= 1 << 16;
	vectors_must_be(0, 0, VECTOR_SIZES);
	world.slow = 1 << 13 | 1 << 15 | 1 << 17;
	world.min = world.max = 0;
	vectors_must_be(0, VECTOR_SIZES, 0);
	world.slow = 0;
	world.wide = false;
}

/* The range of a CPU without ERMS, which vectors are measured without. */
static void
vectors_leave_the_range(void **state)
{
	(void)state;
	world.wide = true;
	world.hot = false;
	world.min = 12345;
	world.max = 67890;
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 0);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, 12345);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, 67890);
	vectors_must_be(64, VECTOR_SIZES, 0);
	vectors_must_be(32, 0, VECTOR_SIZES);
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 1);
	world.wide = false;
	world.hot = has_rep_movsb;
	make_faster(1, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_vectors_that_are_faster_at_more_sizes_are_chosen),
		cmocka_unit_test(vectors_leave_the_range),
	};

	begin();
	return cmocka_run_group_tests_name("copy-vector", tests, NULL, NULL);
}
