/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_TEST_H
#define HONE_TESTS_TEST_H
/*
 * A test is a function that is declared where it is written:
 *
 *	TEST(name_of_the_promise)
 *	{
 *		assert_true(...);
 *	}
 *
 * Nothing lists the tests of a program. They run in the order of the file; with
 * HONE_TEST=name_of_the_promise, that test alone. A program without a main() of
 * its own gets that of test.c. The headers of the C library that most tests
 * need are included here.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test between a setup and a teardown; *state is what the setup sets. */
#define TEST_WITH(name, setup, teardown)                                       \
	static void name(void **state);                                        \
	TEST_CASE(#name, name, setup, teardown, NULL);                         \
	static void name(__attribute__((unused)) void **state)

/* The head of a setup or a teardown. It returns 0 if it succeeds. */
#define FIXTURE(name) static int name(__attribute__((unused)) void **state)

/* A test whose body is a function that has more cases than this one. */
#define TEST_CASE(title, function, setup, teardown, state)                     \
	TEST_ROW(__COUNTER__, title, function, setup, teardown, state)

/*
 * Each row is a pointer in a section of its own, whose ends the linker knows.
 * A compiler may change the order of rows, which their numbers restore.
 */
#define TEST_ROW(number, ...) TEST_ROW_NAMED(number, __VA_ARGS__)
#define TEST_ROW_NAMED(number, title, function, setup, teardown, state)        \
	static const struct test_row test_row_##number = {                     \
		number, {title, function, setup, teardown, state}};            \
	static const struct test_row *const test_pointer_##number              \
		__attribute__((used, section("test_rows"))) =                  \
			&test_row_##number

struct test_row {
	int number; /* ascending in a file */
	struct CMUnitTest test;
};

/* The call succeeded: it returned 0. */
#define assert_ok(call) assert_int_equal(call, 0)

/* Runs the tests of the program, between a setup and a teardown of them all.
 * Returns the exit status. */
int run_all_tests(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
