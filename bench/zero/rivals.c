/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <string.h>
#include "rivals.h"

bool
rival_naive(const void *buf, size_t len)
{
	const unsigned char *p = buf;

	for (size_t i = 0; i < len; i++)
		if (p[i] != 0)
			return false;
	return true;
}

bool
rival_memcmp(const void *buf, size_t len)
{
	const unsigned char *p = buf;

	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

static uint64_t
word(const unsigned char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* For 4 to 255 bytes: unaligned loads at both ends, aligned words between. */
static bool
words_are_zero(const unsigned char *p, size_t len)
{
	const unsigned char *q, *end;
	uint32_t head, tail;
	uint64_t any;

	if (len <= 8) {
		memcpy(&head, p, sizeof(head));
		memcpy(&tail, p + len - 4, sizeof(tail));
		return (head | tail) == 0;
	}
	any = word(p) | word(p + len - 8);
	q = (const unsigned char *)(((uintptr_t)p + 8) & ~(uintptr_t)7);
	end = (const unsigned char *)(((uintptr_t)p + len - 1) & ~(uintptr_t)7);
	for (; q < end; q += 8)
		any |= word(q);
	return any == 0;
}

typedef bool block_fn(const unsigned char *p, size_t len);

#if defined(__x86_64__)
#include <immintrin.h>
#define VEC __m256i
#define VEC_TARGET __attribute__((target("avx2")))
#define LOADU(p) _mm256_loadu_si256((const void *)(p))
#define LOADA(p) _mm256_load_si256((const void *)(p))
#define OR(a, b) _mm256_or_si256(a, b)
#define ALL_ZERO(v)                                                            \
	(_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256())) == \
		-1)
#elif defined(__aarch64__)
#include <arm_neon.h>
#define VEC uint8x16_t
#define VEC_TARGET
#define LOADU(p) vld1q_u8(p)
#define LOADA(p) vld1q_u8(p)
#define OR(a, b) vorrq_u8(a, b)
#define ALL_ZERO(v) (vmaxvq_u32(vreinterpretq_u32_u8(v)) == 0)
#endif

#ifdef VEC
/* For 256 bytes or more. The first test is of the ends, the loop of blocks. */
VEC_TARGET static bool
blocks_are_zero(const unsigned char *p, size_t len)
{
	const size_t n = sizeof(VEC), block = 8 * sizeof(VEC);
	const unsigned char *q =
		(const unsigned char *)(((uintptr_t)p + n) & ~(n - 1));
	const unsigned char *end =
		(const unsigned char *)(((uintptr_t)p + len - 1) & ~(n - 1));
	VEC any = OR(LOADU(p), LOADU(p + len - n));

	for (size_t i = 1; i < 8; i++) /* the partial block at the end */
		any = OR(any, LOADA(end - i * n));
	for (; (size_t)(end - q) >= block; q += block) {
		if (!ALL_ZERO(any))
			return false;
		any = OR(OR(OR(LOADA(q), LOADA(q + n)),
				 OR(LOADA(q + 2 * n), LOADA(q + 3 * n))),
			OR(OR(LOADA(q + 4 * n), LOADA(q + 5 * n)),
				OR(LOADA(q + 6 * n), LOADA(q + 7 * n))));
	}
	return ALL_ZERO(any);
}
#endif

static bool
long_words_are_zero(const unsigned char *p, size_t len)
{
	uint64_t any = 0;

	for (; len >= 64; p += 64, len -= 64) {
		if (any != 0)
			return false;
		for (size_t i = 0; i < 64; i += 8)
			any |= word(p + i);
	}
	for (; len > 0; p++, len--)
		any |= *p;
	return any == 0;
}

static block_fn *
pick(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx2") ? blocks_are_zero
					      : long_words_are_zero;
#elif defined(VEC)
	return blocks_are_zero;
#else
	return long_words_are_zero;
#endif
}

bool
rival_qemu(const void *buf, size_t len)
{
	static block_fn *volatile blocks;
	const unsigned char *p = buf;

	if (len == 0)
		return true;
	if (p[0] | p[len / 2] | p[len - 1])
		return false;
	if (len <= 3)
		return true;
	if (len < 256)
		return words_are_zero(p, len);
	if (!blocks)
		blocks = pick();
	return blocks(p, len);
}
