/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eight at a time, and no move between the halves of a vector, which takes
 * another instruction: the eight come in another order. What narrow() wrote
 * widen() puts back in order, if it takes the same eight.
 */
#include <immintrin.h>
#include "mempool/slots.h"

#define TARGET __attribute__((target("avx2")))

TARGET static inline __m256i
load(const void *p)
{
	return _mm256_loadu_si256(p);
}

TARGET static inline void
widen8(void **objs, __m256i slots, __m256i upper)
{
	_mm256_storeu_si256((void *)objs, _mm256_unpacklo_epi32(slots, upper));
	_mm256_storeu_si256(
		(void *)(objs + 4), _mm256_unpackhi_epi32(slots, upper));
}

TARGET static inline void
widen32(void **objs, const uint32_t *slots, __m256i u)
{
	__m256i a = load(slots), b = load(slots + 8);
	__m256i c = load(slots + 16), d = load(slots + 24);

	widen8(objs, a, u);
	widen8(objs + 8, b, u);
	widen8(objs + 16, c, u);
	widen8(objs + 24, d, u);
}

TARGET static __attribute__((noinline)) void
widen_any(void **objs, const uint32_t *slots, size_t n, uintptr_t upper)
{
	__m256i u = _mm256_set1_epi32((int)(upper >> 32));

	for (; n >= 32; n -= 32, objs += 32, slots += 32)
		widen32(objs, slots, u);
	if (n & 16) {
		__m256i a = load(slots), b = load(slots + 8);

		widen8(objs, a, u);
		widen8(objs + 8, b, u);
		objs += 16;
		slots += 16;
	}
	if (n & 8) {
		widen8(objs, load(slots), u);
		objs += 8;
		slots += 8;
	}
	for (n &= 7; n > 0; n--)
		*objs++ = (void *)(upper | *slots++);
}

TARGET __attribute__((aligned(64))) void
hone_mempool_widen_avx2(
	void **objs, const uint32_t *slots, size_t n, uintptr_t upper)
{
	if (__builtin_expect(n % 32 != 0 || n == 0, 0)) {
		widen_any(objs, slots, n, upper);
		return;
	}
	__m256i u = _mm256_set1_epi32((int)(upper >> 32));
	do {
		widen32(objs, slots, u);
		objs += 32;
		slots += 32;
	} while (n -= 32);
}

/* The lower halves of eight pointers. */
TARGET static inline __m256
lower8(void *const *objs)
{
	return _mm256_shuffle_ps(_mm256_loadu_ps((const void *)objs),
		_mm256_loadu_ps((const void *)(objs + 4)),
		_MM_SHUFFLE(2, 0, 2, 0));
}

TARGET static inline void
store(uint32_t *slots, __m256 v)
{
	_mm256_storeu_ps((void *)slots, v);
}

TARGET static inline void
narrow32(uint32_t *slots, void *const *objs)
{
	__m256 a = lower8(objs), b = lower8(objs + 8);
	__m256 c = lower8(objs + 16), d = lower8(objs + 24);

	store(slots, a);
	store(slots + 8, b);
	store(slots + 16, c);
	store(slots + 24, d);
}

TARGET static __attribute__((noinline)) void
narrow_any(uint32_t *slots, void *const *objs, size_t n)
{
	for (; n >= 32; n -= 32, objs += 32, slots += 32)
		narrow32(slots, objs);
	if (n & 16) {
		__m256 a = lower8(objs), b = lower8(objs + 8);

		store(slots, a);
		store(slots + 8, b);
		objs += 16;
		slots += 16;
	}
	if (n & 8) {
		store(slots, lower8(objs));
		objs += 8;
		slots += 8;
	}
	for (n &= 7; n > 0; n--)
		*slots++ = (uint32_t)(uintptr_t)*objs++;
}

TARGET __attribute__((aligned(64))) void
hone_mempool_narrow_avx2(uint32_t *slots, void *const *objs, size_t n)
{
	if (__builtin_expect(n % 32 != 0 || n == 0, 0)) {
		narrow_any(slots, objs, n);
		return;
	}
	do {
		narrow32(slots, objs);
		objs += 32;
		slots += 32;
	} while (n -= 32);
}
