/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_COPY_H
#define HONE_DETAIL_COPY_H
#include <string.h>

HONE_BEGIN_DECLS

/*
 * The compiler expands copies of constant sizes up to this one. They are too
 * short to be streamed, so the policy does not matter.
 */
#define HONE_COPY_INLINE_MAX 128

/*
 * Copies up to this size are made by a variant: there the C library loses time
 * by mispredicted jumps. Part of the ABI: callers have the number compiled in.
 */
#define HONE_DETAIL_COPY_SHORT 64

/*
 * Private: pointers to the chosen variant's copies for KEEP, the first one for
 * up to HONE_DETAIL_COPY_SHORT bytes, and the function for all other policies.
 * A pointer is data, not a function, so that a caller makes one jump to the
 * variant (bench/copy, lengths-1..64, on Zen 4: 4.8 -> 3.6 ns). Only the
 * library writes them.
 */
HONE_API extern void (*hone_detail_copy_short)(
	void *dst, const void *src, size_t n);
HONE_API extern void (*hone_detail_copy_keep)(
	void *dst, const void *src, size_t n);
/*
 * Private: how many sizes from HONE_DETAIL_COPY_SHORT + 1 on the C library
 * copies, called by the caller itself: a call through a pointer of ours makes
 * these copies slower (docs/design/copy.md). Only the library writes it.
 */
HONE_API extern size_t hone_detail_copy_libc;
HONE_API void hone_detail_memcpy(
	void *dst, const void *src, size_t n, int policy);

/*
 * A shorter n wraps, and is more than any count: a compare of its own would
 * have GCC warn of short arrays. GCC also warns of a constant above SIZE_MAX /
 * 2 where no call is made.
 */
static inline int
hone_detail_libc_copies(size_t n)
{
	return !(__builtin_constant_p(n) && n > (size_t)-1 / 2) &&
	       n - HONE_DETAIL_COPY_SHORT - 1 <
		       __atomic_load_n(
			       &hone_detail_copy_libc, __ATOMIC_RELAXED);
}

/* The fewest instructions for groups of pointers, which are often longer than
 * HONE_DETAIL_COPY_SHORT. */
static inline void
hone_detail_copy_any(void *dst, const void *src, size_t n)
{
	if (__builtin_expect(hone_detail_libc_copies(n), 0))
		memcpy(dst, src, n);
	else
		__atomic_load_n(&hone_detail_copy_keep, __ATOMIC_RELAXED)(
			dst, src, n);
}

/* n is above HONE_DETAIL_COPY_SHORT. Hides from GCC that n is longer than short
 * arrays. Only of a constant GCC knows that the copy is too long. */
static inline void
hone_detail_copy_long(void *dst, const void *src, size_t n)
{
	if (!__builtin_constant_p(n))
		__asm__("" : "+r"(n));
	hone_detail_copy_any(dst, src, n);
}

HONE_INLINE void
hone_memcpy(void *dst, const void *src, size_t n, int policy)
{
	if (__builtin_constant_p(n) && n <= HONE_COPY_INLINE_MAX) {
		if (n > 0) /* with 0, memcpy() does not allow NULL */
			memcpy(dst, src, n);
		return;
	}
	if (policy == HONE_COPY_KEEP) {
		/* Short copies come first: there each instruction counts. */
		if (__builtin_expect(n <= HONE_DETAIL_COPY_SHORT, 1)) {
			__atomic_load_n(&hone_detail_copy_short,
				__ATOMIC_RELAXED)(dst, src, n);
			return;
		}
		hone_detail_copy_long(dst, src, n);
		return;
	}
	hone_detail_memcpy(dst, src, n, policy);
}

HONE_INLINE void
hone_copy_blocks(void *dst, const void *src, size_t blocks)
{
	/* The copy of one line is faster than a call: 1.2 ns, not 2.4. The copy
	 * of two lines is not. */
	if (blocks <= 1) {
		if (blocks == 1)
			memcpy(__builtin_assume_aligned(dst, 64),
				__builtin_assume_aligned(src, 64), 64);
		return;
	}
	if (!__builtin_constant_p(blocks)) {
		hone_detail_copy_long(dst, src, blocks * 64);
		return;
	}
	hone_memcpy(dst, src, blocks * 64, HONE_COPY_KEEP);
}

/*
 * The compiler of the caller chooses the instructions for it: two moves of 16
 * bytes; or one of 32 bytes, if -march allows AVX. GCC 12 would move a type of
 * 64 bytes by 16 bytes with AVX2.
 */
typedef unsigned char hone_detail_half_line __attribute__((vector_size(32)));

/*
 * Constant sizes up to this one are copied inline: 0 if the largest vector of
 * the compiler has 16 bytes, as Clang says whatever -march is. Then a call is
 * faster from HONE_COPY_INLINE_MAX on. (docs/design/mempool.md, constant
 * bursts)
 */
#define HONE_DETAIL_COPY_VECTORS_MAX                                           \
	((size_t)(__BIGGEST_ALIGNMENT__ >= 32 ? 2048 : 0))

/* 128 bytes. All loads come first: a load after a store waits for it if the
 * lower 12 bits of the addresses are equal. */
static inline void
hone_detail_copy_two_lines(char *dst, const char *src)
{
	hone_detail_half_line a, b, c, d;

	memcpy(&a, src, 32);
	memcpy(&b, src + 32, 32);
	memcpy(&c, src + 64, 32);
	memcpy(&d, src + 96, 32);
	memcpy(dst, &a, 32);
	memcpy(dst + 32, &b, 32);
	memcpy(dst + 64, &c, 32);
	memcpy(dst + 96, &d, 32);
}

/* A copy of a constant size, from HONE_COPY_INLINE_MAX on. */
static inline void
hone_detail_copy_vectors(void *dst, const void *src, size_t size)
{
	char *to = (char *)dst;
	const char *from = (const char *)src;

	for (; size >= 128; size -= 128, to += 128, from += 128)
		hone_detail_copy_two_lines(to, from);
	if (size > 0)
		memcpy(to, from, size);
}

HONE_INLINE void
hone_copy_pointers(void **dst, void *const *src, size_t n)
{
	if (__builtin_constant_p(n) &&
		n > HONE_COPY_INLINE_MAX / sizeof(*dst) &&
		n <= HONE_DETAIL_COPY_VECTORS_MAX / sizeof(*dst)) {
		hone_detail_copy_vectors(dst, src, n * sizeof(*dst));
		return;
	}
	if (!__builtin_constant_p(n) ||
		n > HONE_COPY_INLINE_MAX / sizeof(*dst)) {
		hone_detail_copy_any(dst, src, n * sizeof(*dst));
		return;
	}
	hone_memcpy(dst, src, n * sizeof(*dst), HONE_COPY_KEEP);
}

HONE_END_DECLS
#endif
