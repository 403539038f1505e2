/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the x86-64 variants of every width. */
#include <emmintrin.h>

/* Not by ?:, at which clang 14 crashes without an optimizer. */
#define PREFETCH(p, into_l2)                                                   \
	do {                                                                   \
		if (into_l2)                                                   \
			_mm_prefetch((const char *)(p), _MM_HINT_T1);          \
		else                                                           \
			_mm_prefetch((const char *)(p), _MM_HINT_NTA);         \
	} while (0)
#define FENCE() _mm_sfence()
