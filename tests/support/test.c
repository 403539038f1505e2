/* SPDX-License-Identifier: BSD-3-Clause */
#include <fnmatch.h>
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

/* Keep the tests of HONE_TEST, a name or a pattern of the shell. */
static size_t
chosen(struct CMUnitTest *tests, size_t n)
{
	const char *pattern = getenv("HONE_TEST");
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!pattern || fnmatch(pattern, tests[i].name, 0) == 0)
			tests[kept++] = tests[i];
	return kept;
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
	n = chosen(tests, n);
	if (n == 0)
		fprintf(stderr, "no test has the name in HONE_TEST\n");
	/* The macro for arrays is this function with their size. */
	failed = _cmocka_run_group_tests(
		program_invocation_short_name, tests, n, setup, teardown);
	free(tests);
	free(rows);
	return n == 0 ? EXIT_FAILURE : failed;
}

/* Of a program that has none. */
__attribute__((weak)) int
main(void)
{
	return run_all_tests(NULL, NULL);
}
