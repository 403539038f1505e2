/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_COPY_X86_H
#define HONE_COPY_X86_H
/* What the x86-64 variants share, whatever their width. */
#include <immintrin.h>

/*
 * STREAM and STREAM_PROTECT prefetch alike: one page ahead into L2 a cold 1 MiB
 * takes 65 us on Zen 4, with no prefetch at all 57, non-temporally 48
 * (bench/copy_bench, prefetch-1M).
 */
#define PREFETCH(p, protect)                                                   \
	((void)(protect), _mm_prefetch((const char *)(p), _MM_HINT_NTA))
#define FENCE() _mm_sfence()

#endif
