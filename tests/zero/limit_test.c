/* SPDX-License-Identifier: BSD-3-Clause */
/* Which variant is chosen, and that hone_cpu_limit() changes the choice. */
#include <stdatomic.h>
#include <hone/hone.h>
#include "support.h"
#include "zero.h"

TEST(the_last_row_that_can_run_is_chosen)
{
	const char *last = NULL;

	for (size_t i = 0; i < hone_zero_n_variants; i++)
		if (hone_cpu_has(hone_zero_variants[i].row.needs))
			last = hone_zero_variants[i].row.name;
	assert_string_equal(hone_cpu_variant("zero"), last);
}

TEST(a_limit_holds_after_functions_were_used)
{
	unsigned char byte = 1, zeros[17] = {0};

	for (size_t i = 0; i < hone_zero_n_variants; i++) {
		if (!hone_cpu_has(hone_zero_variants[i].row.needs))
			continue;
		hone_cpu_limit(hone_zero_variants[i].row.needs);
		assert_false(hone_buffer_is_zero(&byte, 1));
		assert_int_equal(hone_find_nonzero(&byte, 1), 0);
		assert_int_equal(hone_rfind_nonzero(&byte, 1), 0);
		/* some lengths up to 16 are answered inline */
		assert_true(hone_buffer_is_zero(zeros, sizeof(zeros)));
		assert_ptr_equal(
			hone_detail_is_zero, hone_zero_variants[i].is_zero);
		assert_string_equal(hone_cpu_variant("zero"),
			hone_zero_variants[i].row.name);
		hone_cpu_limit(HONE_CPU_ALL);
	}
}

static bool
answers(const unsigned char *buf, size_t n, int function)
{
	switch (function) {
	case 0:
		return hone_find_nonzero(buf, n) == 20;
	case 1:
		return hone_rfind_nonzero(buf, n) == 30;
	default:
		return !hone_buffer_is_zero_long(buf, n) &&
		       hone_buffer_is_zero_long(buf, 20);
	}
}

TEST(any_function_may_be_the_first_after_a_limit)
{
	unsigned char buf[64] = {[20] = 1, [30] = 1};

	for (size_t i = 0; i < hone_zero_n_variants; i++)
		for (int function = 0; function < 3; function++) {
			const struct hone_zero_variant *v =
				&hone_zero_variants[i];

			if (!hone_cpu_has(v->row.needs))
				continue;
			hone_cpu_limit(v->row.needs);
			assert_true(answers(buf, sizeof(buf), function));
			assert_ptr_equal(hone_detail_is_zero, v->is_zero);
			hone_cpu_limit(HONE_CPU_ALL);
		}
}

/* Dispatch while other threads change the limit. ThreadSanitizer runs it
 * too. */

#define CALLERS 3
#define LIMITS 2000

static atomic_bool done;
static unsigned char buffer[700];

static void *
call_until_done(void *wrong)
{
	while (!atomic_load(&done))
		if (hone_buffer_is_zero(buffer, sizeof(buffer)) ||
			hone_find_nonzero(buffer, sizeof(buffer)) != 500 ||
			hone_rfind_nonzero(buffer, sizeof(buffer)) != 500)
			atomic_fetch_add((atomic_int *)wrong, 1);
	return NULL;
}

TEST(answers_stay_right_while_the_limit_changes)
{
	pthread_t threads[CALLERS];
	atomic_int wrong = 0;

	buffer[500] = 1;
	for (int i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
					 call_until_done, &wrong),
			0);
	for (size_t i = 0; i < LIMITS; i++)
		hone_cpu_limit(
			hone_zero_variants[i % hone_zero_n_variants].row.needs);
	atomic_store(&done, true);
	for (int i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(wrong, 0);
	hone_cpu_limit(HONE_CPU_ALL);
}
