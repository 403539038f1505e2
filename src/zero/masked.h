/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_ZERO_MASKED_H
#define HONE_ZERO_MASKED_H
/*
 * What the variants with masked loads share.
 *
 * A masked load never faults on bytes that are masked out. But if such a byte
 * lies in an absent page, the load costs a microcode assist (125 ns on Sapphire
 * Rapids). So no masked load reaches into the page after the buffer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MASKED_PAGE 4096u

/* Returns true if a load of so many bytes from p on reaches into the next page.
 */
static inline bool
reaches_next_page(const unsigned char *p, unsigned bytes)
{
	return ((uintptr_t)p & (MASKED_PAGE - 1)) > MASKED_PAGE - bytes;
}

/* Minimum and maximum without a branch: GCC 12 compiles '?:' to one here. */
static inline size_t
smaller(size_t a, size_t b)
{
	__asm__("cmp %1, %0\n\tcmova %1, %0" : "+r"(a) : "r"(b) : "cc");
	return a;
}

static inline size_t
larger(size_t a, size_t b)
{
	__asm__("cmp %1, %0\n\tcmovb %1, %0" : "+r"(a) : "r"(b) : "cc");
	return a;
}

#endif
