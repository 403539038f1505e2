/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For ./dev check coverage: gcov writes its counts at exit(). A child of a test
 * ends by _exit(), or the library aborts it. The linker redirects both to this
 * file.
 */
#include "support.h"

void __gcov_dump(void);

STANDS_FOR(void, _exit, int status)
{
	__gcov_dump();
	__real__exit(status);
}

STANDS_FOR(void, abort, void)
{
	__gcov_dump();
	__real_abort();
}
