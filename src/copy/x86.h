/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the x86-64 variants of every width; vector.h undefines what is
 * defined here.
 */
#include <immintrin.h>

#define PREFETCH(p, into_l2)                                                   \
	((into_l2) ? _mm_prefetch((const char *)(p), _MM_HINT_T1)              \
		   : _mm_prefetch((const char *)(p), _MM_HINT_NTA))
#define FENCE() _mm_sfence()
