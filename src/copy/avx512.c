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
	if (HONE_SANITIZED) {
		memcpy(d, s, n);
		return;
	}
	memcpy(&first, s, sizeof(first));
	_mm512_mask_storeu_epi8(d, in, _mm512_maskz_loadu_epi8(in, s));
	/* Hides from the compiler that the second store changes nothing. */
	__asm__ volatile("" : "+r"(first) : : "memory");
	memcpy(d, &first, sizeof(first));
}

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

/*
 * As copy_upto64(), with a branch below 4 bytes, not 8: at random sizes it is
 * mispredicted. On Zen 4: 1..16 bytes 3.2 ns instead of 5.2. Without any branch
 * 1..16 bytes took 2.6 ns, but one size in a row 1.6 instead of 1.4, and copies
 * of 1 to 3 bytes that are read next 14 instead of 11 (docs/design/copy.md).
 * Not for pointers, which are never fewer than 8 bytes.
 *
 * In assembly, since GCC makes a branch of a choice between two addresses, and
 * aligns the stack of a function that has a vector of 64 bytes and a variable
 * in memory: four instructions.
 */
TARGET UNPROTECTED __attribute__((aligned(64))) void
hone_copy_short_avx512(void *dst, const void *src, size_t n)
{
	uint64_t word, aside;

	if (__builtin_expect(n < sizeof(uint32_t), 0)) {
		copy_upto3(dst, src, n);
		return;
	}
	if (HONE_SANITIZED) {
		copy_upto64(dst, src, n);
		return;
	}
	/* The masked move; then the first 4 bytes alone; then the first 8, or
	 * any 8 to aside. */
	__asm__("" : "=m"(aside)); /* any value */
	__asm__ volatile("mov (%[src]), %k[word]\n\t"
			 "vmovdqu8 (%[src]), %%zmm16%{%[in]%}%{z%}\n\t"
			 "cmp $8, %[n]\n\t"
			 "cmovb %[aside], %[src]\n\t"
			 "vmovdqu8 %%zmm16, (%[dst])%{%[in]%}\n\t"
			 "mov %k[word], (%[dst])\n\t"
			 "mov (%[src]), %[word]\n\t"
			 "cmovb %[aside], %[dst]\n\t"
			 "mov %[word], (%[dst])"
			 : [dst] "+r"(dst), [src] "+&r"(src), [word] "=&r"(word)
			 : [n] "r"(n), [aside] "r"(&aside),
			 [in] "Yk"(_bzhi_u64(~0ull, (unsigned)n))
			 : "xmm16", "cc", "memory");
}

TARGET static inline void
clear_upto64(unsigned char *d, size_t n)
{
	__mmask64 in = _bzhi_u64(~0ull, (unsigned)n);

	if (HONE_SANITIZED && n > 0)
		memset(d, 0, n);
	else
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
