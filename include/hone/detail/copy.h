/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_COPY_H
#define HONE_DETAIL_COPY_H
#include <string.h>

HONE_BEGIN_DECLS

/* Constant sizes up to this are left to the compiler: it expands them. */
#define HONE_COPY_INLINE_MAX 128

/*
 * Where the chosen variant's kept copy is, and everything else; private. Data,
 * not a function, so that there is one jump to the variant (random sizes up to
 * 64 bytes on Zen 4: 4.8 -> 3.8 ns). Only the library writes it.
 */
HONE_API extern void (*hone_detail_copy_keep)(
	void *dst, const void *src, size_t n);
HONE_API void hone_detail_memcpy(
	void *dst, const void *src, size_t n, int policy);

HONE_INLINE void
hone_memcpy(void *dst, const void *src, size_t n, int policy)
{
#if defined(__GNUC__)
	if (policy == HONE_COPY_KEEP && __builtin_constant_p(n) &&
		n <= HONE_COPY_INLINE_MAX) {
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
	hone_memcpy(dst, src, blocks * 64, HONE_COPY_KEEP);
}

HONE_INLINE void
hone_copy_pointers(void **dst, void *const *src, size_t n)
{
	hone_memcpy(dst, src, n * sizeof(*dst), HONE_COPY_KEEP);
}

HONE_END_DECLS
#endif
