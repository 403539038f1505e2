/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"
#include "short.h"

#define TARGET __attribute__((target("avx512f,avx512bw,bmi2")))
#define VARIANT avx512
#include "ymm.h"

/*
 * Copies 8 to 64 bytes in one masked move. The CPU cannot forward a masked
 * store to a load. Callers are likely to read the first word next, so a second
 * store writes it alone. On Zen 4: 3.6 ns for a copy on whose first word the
 * next copy depends; without the second store 7.9 ns; glibc 6.5 ns.
 */
TARGET static inline void
copy_upto64(unsigned char *d, const unsigned char *s, size_t n)
{
	__mmask64 in = _bzhi_u64(~0ull, (unsigned)n);
	uint64_t first;

	if (__builtin_expect(n < sizeof(first), 0)) {
		copy_upto7(d, s, n);
		return;
	}
	memcpy(&first, s, sizeof(first));
	_mm512_mask_storeu_epi8(d, in, _mm512_maskz_loadu_epi8(in, s));
	/* Hides from the compiler that the second store changes nothing. */
	__asm__ volatile("" : "+r"(first) : : "memory");
	memcpy(d, &first, sizeof(first));
}

/* n is 0 to 64. */
TARGET static inline void
masked_move(void *dst, const void *src, size_t n)
{
	__mmask64 in = _bzhi_u64(~0ull, (unsigned)n);

#if defined(__clang__)
	_mm512_mask_storeu_epi8(dst, in, _mm512_maskz_loadu_epi8(in, src));
#else
	/* GCC aligns the stack of a function that has such a vector and a
	 * variable in memory: four instructions. */
	__asm__ volatile("vmovdqu8 (%1), %%zmm16%{%2%}%{z%}\n\t"
			 "vmovdqu8 %%zmm16, (%0)%{%2%}"
			 :
			 : "r"(dst), "r"(src), "Yk"(in)
			 : "xmm16", "memory");
#endif
}

/* Address and MemorySanitizer do not see what assembly does. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* A variable whose address is taken would get a stack protector: nine
 * instructions. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define UNPROTECTED __attribute__((no_stack_protector))
#endif
#endif
#ifndef UNPROTECTED
#define UNPROTECTED
#endif

/* Sets *from and *to to other if n < least. Not in C, of which GCC makes a
 * branch. With the target, as clang 14 otherwise makes two calls of it. */
TARGET static inline void
unless_shorter(
	size_t n, unsigned least, const void **from, void **to, void *other)
{
	__asm__("cmp %3, %2\n\t"
		"cmovb %4, %0\n\t"
		"cmovb %4, %1"
		: "+r"(*from), "+r"(*to)
		: "r"(n), "re"((size_t)least), "r"(other)
		: "cc");
}

/*
 * As copy_upto64(), without a branch: one below 8 bytes is mispredicted at
 * random sizes. On Zen 4: 1..16 bytes 2.6 ns instead of 5.2, 1..64 bytes 2.5
 * instead of 2.7; but one size in a row 1.6 instead of 1.4
 * (docs/design/copy.md). Not for pointers, which are never fewer than 8 bytes.
 */
TARGET UNPROTECTED __attribute__((aligned(64))) void
hone_copy_short_avx512(void *dst, const void *src, size_t n)
{
	const void *from8 = src, *from4 = src;
	void *to8 = dst, *to4 = dst;
	uint64_t aside, word8;
	uint32_t word4;

	/* At NULL, a masked load takes 100 ns, even with an empty mask. */
	if (__builtin_expect(n == 0, 0))
		return;
	if (SANITIZED) {
		copy_upto64(dst, src, n);
		return;
	}
	__asm__("" : "=m"(aside)); /* any value */
	unless_shorter(n, sizeof(word8), &from8, &to8, &aside);
	unless_shorter(n, sizeof(word4), &from4, &to4, &aside);
	memcpy(&word8, from8, sizeof(word8));
	memcpy(&word4, from4, sizeof(word4));
	masked_move(dst, src, n);
	/* Hides from the compiler that these stores change nothing. */
	__asm__ volatile("" : "+r"(word8), "+r"(word4) : : "memory");
	memcpy(to4, &word4, sizeof(word4));
	memcpy(to8, &word8, sizeof(word8));
}

TARGET static inline void
clear_upto64(unsigned char *d, size_t n)
{
	__mmask64 in = _bzhi_u64(~0ull, (unsigned)n);

	_mm512_mask_storeu_epi8(d, in, _mm512_setzero_si512());
}

#define KEEP_FN hone_copy_keep_avx512
#define STREAM_FN hone_copy_stream_avx512
#define PROTECT_FN hone_copy_protect_avx512
#define CLEAR_FN hone_copy_clear_avx512
#define CLEAR_STREAM_FN hone_copy_clear_stream_avx512
#define FENCE_FN hone_copy_fence_avx512
#define SHORT copy_upto64
#define SHORT_MAX 64
#define SHORT_CLEAR clear_upto64
#include "vector.h"
