/* SPDX-License-Identifier: BSD-3-Clause */
/* The main() of a program of tests that has none. */
#include "test.h"

int
main(void)
{
	return run_all_tests(NULL, NULL);
}
