/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_SUPPORT_H
#define HONE_TESTS_SUPPORT_H
/*
 * What the tests share: TEST() and cmocka, seeded random numbers, and skips
 * with reasons.
 */
#include "test.h"

/* Whether this program has the sanitizer: 0 or 1. */
#if defined(__has_feature)
#define SUPPORT_FEATURE(name) __has_feature(name)
#else
#define SUPPORT_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SUPPORT_FEATURE(address_sanitizer)
#define ASAN 1
#else
#define ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || SUPPORT_FEATURE(thread_sanitizer)
#define TSAN 1
#else
#define TSAN 0
#endif

/* From HONE_SEED if set, else from the clock; printed as a TAP comment. */
uint64_t support_seed(void);

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift
 * generators, scrambled", 2016. state is never 0. */
uint64_t support_random(uint64_t *state);

/* 0 to below - 1. */
size_t support_below(uint64_t *state, size_t below);

/*
 * The head of a function that the linker puts in place of one that the library
 * calls. __real_NAME() is the original. wraps.awk finds the names in the
 * sources.
 */
#define STANDS_FOR(type, name, ...)                                            \
	type __real_##name(__VA_ARGS__);                                       \
	type __wrap_##name(__VA_ARGS__);                                       \
	type __wrap_##name(__VA_ARGS__)

/*
 * An assertion for threads, which cmocka does not support. Failures are counted
 * in the member "errors" of *run, an _Atomic unsigned; the first ones are
 * printed.
 */
#define EXPECT(cond, run)                                                      \
	do {                                                                   \
		if (!(cond) && atomic_fetch_add(&(run)->errors, 1) < 5)        \
			printf("# not so: %s\n", #cond);                       \
	} while (0)

/*
 * Runs fn in n threads at a time, each with another argument, and waits for
 * their ends. The arguments are `size` bytes apart; 0: all threads have the
 * same one.
 */
void support_threads(
	void *(*fn)(void *), void *arguments, unsigned n, size_t size);

/* Waits for the end of a child. Returns its status, as waitpid() sets it. */
int support_end_of(pid_t child);
/* The same; the child must exit with 0. */
void support_exits_with_0(pid_t child);

/* From now on, this process and its children run on one CPU: single steps take
 * half of the time there. */
void support_one_cpu(void);

/* A cmocka teardown: allows every feature of the CPU again. */
int support_lift_limit(void **state);

/*
 * Reports that the whole program is skipped, and why. If HONE_MUST_RUN (words
 * split by commas) contains what, the skip is a failure. Returns the exit
 * status.
 */
int support_skip_all(const char *what, const char *why);

/* The arguments of a test of a part's variants. */
struct support_choice {
	const void *variant; /* NULL: exit with this status */
	int status;
	size_t stride;
};

/*
 * Parses these arguments: VARIANT [STRIDE]. The table has n entries of that
 * many bytes, each of which begins with its struct hone_variant. A variant that
 * this CPU cannot run is skipped.
 */
struct support_choice support_choose(
	int argc, char **argv, const void *table, size_t n, size_t bytes);

/*
 * Memory between two unreadable pages: code that reads one byte too many, or
 * one byte too early, faults.
 */
struct fence {
	unsigned char *start; /* first byte; the one before it faults */
	unsigned char *end;   /* one past the last byte; reading it faults */
	void *map;
	size_t map_size;
};

/* size is rounded up to whole pages; start is aligned to align (a power of two,
 * at least a page). Exits with a message if there is no memory. */
void fence_create(struct fence *f, size_t size, size_t align);
void fence_destroy(struct fence *f);

#endif
