/* SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#include "zero.h"

#define TARGET __attribute__((target("avx512f,avx512bw,bmi2")))
#define PAGE 4096u

/*
 * Up to 64 bytes in one masked load, byte i in bit i of the result.
 *
 * A masked load never faults on a byte that is masked away, but when such a
 * byte lies in an absent page it costs a microcode assist (125 ns on Sapphire
 * Rapids). So where 64 bytes from p would reach into the next page, the load
 * ends with the buffer instead of starting with it; its first bytes are then
 * in the page of p, which is there. Without a branch for the compiler to
 * mispredict on random addresses.
 */
TARGET static inline __mmask64
nonzero_upto64(const unsigned char *p, size_t len)
{
	size_t slack = 64 - len;
	size_t back = ((uintptr_t)p & (PAGE - 1)) > PAGE - 64 ? slack : 0;
	__mmask64 wanted = _bzhi_u64(~0ull, (unsigned)len) << (back & 63);
	const void *at = (const void *)((uintptr_t)p - back);
	__m512i v = _mm512_maskz_loadu_epi8(wanted, at);

	return _mm512_test_epi8_mask(v, v) >> (back & 63);
}

TARGET static inline bool
upto64_is(const unsigned char *p, size_t len)
{
	return nonzero_upto64(p, len) == 0;
}

TARGET static inline size_t
upto64_find(const unsigned char *p, size_t len)
{
	uint64_t bits = nonzero_upto64(p, len);

	return bits == 0 ? len : (size_t)__builtin_ctzll(bits);
}

TARGET static inline size_t
upto64_rfind(const unsigned char *p, size_t len)
{
	uint64_t bits = nonzero_upto64(p, len);

	return bits == 0 ? len : 63 - (size_t)__builtin_clzll(bits);
}

#define OR3_TABLE 0xfe /* vpternlog truth table of a | b | c */

#define NAME avx512
#define VEC __m512i
#define VEC_BYTES 64
#define LOAD(p) _mm512_loadu_si512(p)
#define OR(a, b) _mm512_or_si512(a, b)
#define OR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, OR3_TABLE)
#define IS_ZERO(v) (_mm512_test_epi64_mask(v, v) == 0)
#define FIRST(v) (size_t) __builtin_ctzll(_mm512_test_epi8_mask(v, v))
#define LAST(v) (63 - (size_t)__builtin_clzll(_mm512_test_epi8_mask(v, v)))
#define SHORT upto64_
#define CLAMP_MAX (4 * VEC_BYTES)
#include "vector.h"
