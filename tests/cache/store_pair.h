/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_PAIR_H
#define STORE_PAIR_H
/* Two members of a store of 4 MiB, for each test anew, on a clock that stands.
 */
#include "store_support.h"

extern struct php_hone_member reader, writer;

/* cmocka's functions before and after a test; the audit of the store is a part
 * of the test. */
int pair_setup(void **state);
int pair_teardown(void **state);

#define PAIR_TEST(name) TEST_WITH(name, pair_setup, pair_teardown)

#endif
