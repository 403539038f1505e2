/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reference, and the variant of CPUs without another one: the C library is
 * optimised for these CPUs. This variant cannot stream.
 */
#include <stdatomic.h>
#include <string.h>
#include "copy.h"

void
hone_copy_keep_generic(void *dst, const void *src, size_t n)
{
	if (n > 0)
		memcpy(dst, src, n);
}

void
hone_copy_stream_generic(void *dst, const void *src, size_t n)
{
	hone_copy_keep_generic(dst, src, n);
}

void
hone_copy_protect_generic(void *dst, const void *src, size_t n)
{
	hone_copy_keep_generic(dst, src, n);
}

void
hone_copy_clear_generic(void *dst, size_t n)
{
	if (n > 0)
		memset(dst, 0, n);
}

void
hone_copy_clear_stream_generic(void *dst, size_t n)
{
	hone_copy_clear_generic(dst, n);
}

void
hone_copy_fence_generic(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}
