/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rte_memcpy() is inline, and the compiler's flags decide on its width. Meson
 * compiles this file once for each width and sets NAME.
 */
#include <rte_memcpy.h>
#include "rivals.h"

void
NAME(void *dst, const void *src, size_t n)
{
	rte_memcpy(dst, src, n);
}
