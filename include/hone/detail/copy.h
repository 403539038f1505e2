/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_COPY_H
#define HONE_DETAIL_COPY_H
#include <string.h>

HONE_BEGIN_DECLS

/*
 * Constant sizes up to this are left to the compiler: it expands them. They
 * are too short to be streamed, so the policy does not matter.
 */
#define HONE_COPY_INLINE_MAX 128

/*
 * Where the chosen variant's kept copy is, and everything else; private. Data,
 * not a function, so that there is one jump to the variant (bench/copy_bench,
 * lengths-1..64, on Zen 4: 4.8 -> 3.6 ns). Only the library writes it.
 */
HONE_API extern void (*hone_detail_copy_keep)(
	void *dst, const void *src, size_t n);
HONE_API void hone_detail_memcpy(
	void *dst, const void *src, size_t n, int policy);

HONE_INLINE void
hone_memcpy(void *dst, const void *src, size_t n, int policy)
{
#if defined(__GNUC__)
	if (__builtin_constant_p(n) && n <= HONE_COPY_INLINE_MAX) {
		if (n > 0) /* with 0 they may be NULL, for memcpy() not */
			memcpy(dst, src, n);
		return;
	}
	if (policy == HONE_COPY_KEEP) {
		__atomic_load_n(&hone_detail_copy_keep, __ATOMIC_RELAXED)(
			dst, src, n);
		return;
	}
#endif
	hone_detail_memcpy(dst, src, n, policy);
}

HONE_INLINE void
hone_copy_blocks(void *dst, const void *src, size_t blocks)
{
#if defined(__GNUC__)
	/* A line is shorter than its call: 1.2 ns, not 2.4. Two are not. */
	if (blocks == 1) {
		memcpy(__builtin_assume_aligned(dst, 64),
			__builtin_assume_aligned(src, 64), 64);
		return;
	}
#endif
	hone_memcpy(dst, src, blocks * 64, HONE_COPY_KEEP);
}

HONE_INLINE void
hone_copy_pointers(void **dst, void *const *src, size_t n)
{
	hone_memcpy(dst, src, n * sizeof(*dst), HONE_COPY_KEEP);
}

HONE_END_DECLS
#endif
