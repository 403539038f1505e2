/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rte_memcpy() is inline and as wide as the flags it is compiled with: Meson
 * compiles this file once for each width, with NAME set.
 */
#include <rte_memcpy.h>
#include "copy.h"

void
NAME(void *dst, const void *src, size_t n)
{
	rte_memcpy(dst, src, n);
}
