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

/* A cmocka teardown: every feature of the CPU may be used again. */
int support_lift_limit(void **state);

/*
 * Tell the harness that the whole program is skipped, and why; or that this
 * is a failure, if HONE_MUST_RUN (words split by commas) names what. Returns
 * the exit status.
 */
int support_skip_all(const char *what, const char *why);

#endif
