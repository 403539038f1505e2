/* SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#include "masked.h"
#include "zero.h"

#define TARGET __attribute__((target("avx512f,avx512bw,bmi2")))

#define OR(a, b) _mm512_or_si512(a, b)
#define OR3_TABLE 0xfe /* vpternlog truth table of a | b | c */
#define OR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, OR3_TABLE)

/*
 * Reads each eighth byte and the last, for sanitizers: what they put between
 * two buffers has 8 bytes or more. Inlined, clang 14 fails with ASan and UBSan
 * at -O1 and -O2. Without a sanitizer, an optimizer removes the call.
 */
__attribute__((noinline)) TARGET static void
touch(const unsigned char *p, size_t len)
{
	const volatile unsigned char *bytes = p;

	if (!HONE_SANITIZED || len == 0)
		return;
	for (size_t i = 0; i < len; i += 8)
		(void)bytes[i];
	(void)bytes[len - 1];
}

/*
 * Tests up to 64 bytes in one masked load: bit i of the result for byte i. If
 * 64 bytes from p would reach into the next page, the load ends with the buffer
 * instead of starting with it. Its first bytes are then in the page of p, which
 * is present.
 */
TARGET static inline uint64_t
nonzero_upto64(const unsigned char *p, size_t len)
{
	unsigned back =
		reaches_next_page(p, 64) ? (64 - (unsigned)len) % 64 : 0;
	__mmask64 in = _bzhi_u64(~0ull, (unsigned)len) << back;
	const void *at = (const void *)((uintptr_t)p - back);
	__m512i v = _mm512_maskz_loadu_epi8(in, at);

	touch(p, len);
	return _mm512_test_epi8_mask(v, v) >> back;
}

TARGET static inline size_t
avx512_short_find(const unsigned char *p, size_t len)
{
	uint64_t bits = nonzero_upto64(p, len);

	return bits == 0 ? len : (size_t)__builtin_ctzll(bits);
}

TARGET static inline size_t
avx512_short_rfind(const unsigned char *p, size_t len)
{
	uint64_t bits = nonzero_upto64(p, len);

	return bits == 0 ? len : 63 - (size_t)__builtin_clzll(bits);
}

TARGET static inline bool
avx512_is_zero(__m512i v)
{
	__mmask16 words = _mm512_test_epi32_mask(v, v);

	return _mm512_kortestz(words, words);
}

/*
 * Tests up to 256 bytes in four masked loads for every length. Below 64 bytes
 * all four read the same bytes. Above, they are 64 bytes apart, except for the
 * last, which ends with the buffer. Four loads where one would suffice cost
 * less than a mispredicted branch (docs/design/zero.md, unpredictable lengths).
 */
TARGET static inline bool
avx512_short_is(const unsigned char *p, size_t len)
{
	size_t last = larger(len, 64) - 64;
	__mmask64 in = _bzhi_u64(~0ull, (unsigned)smaller(len, 64));
	__m512i a, b, c, d;

	if (__builtin_expect(len == 0, 0)) /* p may lie in an absent page */
		return true;
	if (__builtin_expect(reaches_next_page(p, 64) & (len < 64), 0))
		return nonzero_upto64(p, len) == 0;
	touch(p, len);
	a = _mm512_maskz_loadu_epi8(in, p);
	b = _mm512_maskz_loadu_epi8(in, p + smaller(64, last));
	c = _mm512_maskz_loadu_epi8(in, p + smaller(128, last));
	d = _mm512_maskz_loadu_epi8(in, p + last);
	return avx512_is_zero(OR3(OR(a, b), c, d));
}

#define IS_FN hone_zero_is_avx512
#define FIND_FN hone_zero_find_avx512
#define RFIND_FN hone_zero_rfind_avx512
#define VARIANT avx512
#define VEC __m512i
#define VEC_BYTES 64
#define LOAD(p) _mm512_loadu_si512(p)
#define IS_ZERO(v) avx512_is_zero(v)
#define FIRST(v) (size_t) __builtin_ctzll(_mm512_test_epi8_mask(v, v))
#define LAST(v) (63 - (size_t)__builtin_clzll(_mm512_test_epi8_mask(v, v)))
#define SHORT avx512_short_
#define SHORT_MAX 256
#define ENDS_MAX CLAMP_MAX
#include "vector.h"
