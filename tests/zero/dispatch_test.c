/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispatch while other threads change the limit. ThreadSanitizer runs it
 * too. */
#include <pthread.h>
#include <stdatomic.h>
#include <hone/hone.h>
#include "support.h"
#include "zero.h"

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
