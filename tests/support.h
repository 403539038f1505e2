/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_SUPPORT_H
#define HONE_TESTS_SUPPORT_H
/*
 * What the tests share: cmocka with the headers it wants before it, seeded
 * random numbers, and skips that say why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* From HONE_SEED if set, else from the clock; printed as a TAP comment. */
uint64_t support_seed(void);

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift
 * generators, scrambled", 2016. state is never 0. */
uint64_t support_random(uint64_t *state);

/* 0 to below - 1. */
size_t support_below(uint64_t *state, size_t below);

/*
 * The head of a function that the linker puts in the place of one that the
 * library calls, --wrap in meson.build; that one is then __real_NAME().
 */
#define STANDS_FOR(type, name, ...)                                            \
	type __real_##name(__VA_ARGS__);                                       \
	type __wrap_##name(__VA_ARGS__);                                       \
	type __wrap_##name(__VA_ARGS__)

/*
 * An assertion for threads, of which cmocka knows nothing: counted in the
 * member "errors" of *run, an _Atomic unsigned; the first ones are printed.
 */
#define EXPECT(cond, run)                                                      \
	do {                                                                   \
		if (!(cond) && atomic_fetch_add(&(run)->errors, 1) < 5)        \
			printf("# not so: %s\n", #cond);                       \
	} while (0)

/* A cmocka teardown: every feature of the CPU may be used again. */
int support_lift_limit(void **state);

/*
 * Tell the harness that the whole program is skipped, and why; or that this
 * is a failure, if HONE_MUST_RUN (words split by commas) names what. Returns
 * the exit status.
 */
int support_skip_all(const char *what, const char *why);

/* What a test of a part's variants was told to do. */
struct support_choice {
	const void *variant; /* NULL: exit with this status */
	int status;
	size_t stride;
};

/*
 * The arguments of such a test: VARIANT [STRIDE]. A table of n entries of so
 * many bytes, each of which begins with its name and the features it needs. A
 * variant that this CPU cannot run is skipped.
 */
struct support_choice support_choose(
	int argc, char **argv, const void *table, size_t n, size_t bytes);

#endif
