/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the x86-64 variants of every width; vector.h undefines what is
 * defined here.
 */
#include <immintrin.h>

/*
 * STREAM and STREAM_PROTECT use the same prefetch. On Zen 4 a copy of a cold 1
 * MiB takes 65 us with a prefetch into L2 one page ahead, 57 us without a
 * prefetch, and 48 us with a non-temporal prefetch (bench/copy, prefetch-1M).
 */
#define PREFETCH(p, protect)                                                   \
	((void)(protect), _mm_prefetch((const char *)(p), _MM_HINT_NTA))
#define FENCE() _mm_sfence()
