/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "test.h"

/* The linker defines them for a section whose name is a word of C. */
extern const struct test_row *const __start_test_rows[];
extern const struct test_row *const __stop_test_rows[];

static int
compare(const void *a, const void *b)
{
	const struct test_row *const *left = a, *const *right = b;

	return ((*left)->number > (*right)->number) -
	       ((*left)->number < (*right)->number);
}

int
run_all_tests(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	size_t n = (size_t)(__stop_test_rows - __start_test_rows);
	const struct test_row **rows = calloc(n, sizeof(void *));
	struct CMUnitTest *tests = calloc(n, sizeof(*tests));
	int failed;

	if (rows == NULL || tests == NULL)
		abort();
	memcpy(rows, __start_test_rows, n * sizeof(void *));
	qsort(rows, n, sizeof(void *), compare);
	for (size_t i = 0; i < n; i++)
		tests[i] = rows[i]->test;
	/* The macro for arrays is this function with their size. */
	failed = _cmocka_run_group_tests(
		program_invocation_short_name, tests, n, setup, teardown);
	free(tests);
	free(rows);
	return failed;
}
