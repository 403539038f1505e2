/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eight slots at a time. The order of the eight changes, since a move between
 * the lanes of a vector would take another instruction. from_short() restores
 * the order that to_short() changed, if it reads the same eight slots.
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
from_8_short(void **objs, __m256i slots, __m256i upper)
{
	_mm256_storeu_si256((void *)objs, _mm256_unpacklo_epi32(slots, upper));
	_mm256_storeu_si256(
		(void *)(objs + 4), _mm256_unpackhi_epi32(slots, upper));
}

TARGET static inline void
from_32_short(void **objs, const uint32_t *slots, __m256i u)
{
	__m256i a = load(slots), b = load(slots + 8);
	__m256i c = load(slots + 16), d = load(slots + 24);

	from_8_short(objs, a, u);
	from_8_short(objs + 8, b, u);
	from_8_short(objs + 16, c, u);
	from_8_short(objs + 24, d, u);
}

TARGET static __attribute__((noinline)) void
from_short_any(void **objs, const uint32_t *slots, size_t n, uintptr_t upper)
{
	__m256i u = _mm256_set1_epi32((int)(upper >> 32));

	for (; n >= 32; n -= 32, objs += 32, slots += 32)
		from_32_short(objs, slots, u);
	if (n & 16) {
		__m256i a = load(slots), b = load(slots + 8);

		from_8_short(objs, a, u);
		from_8_short(objs + 8, b, u);
		objs += 16;
		slots += 16;
	}
	if (n & 8) {
		from_8_short(objs, load(slots), u);
		objs += 8;
		slots += 8;
	}
	for (n &= 7; n > 0; n--)
		*objs++ = (void *)(upper | *slots++);
}

TARGET __attribute__((aligned(64))) void
hone_mempool_from_short_avx2(
	void **objs, const uint32_t *slots, size_t n, uintptr_t upper)
{
	if (__builtin_expect(n % 32 != 0 || n == 0, 0)) {
		from_short_any(objs, slots, n, upper);
		return;
	}
	__m256i u = _mm256_set1_epi32((int)(upper >> 32));
	do {
		from_32_short(objs, slots, u);
		objs += 32;
		slots += 32;
	} while (n -= 32);
}

/* The lower 32 bits of eight pointers. */
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
to_32_short(uint32_t *slots, void *const *objs)
{
	__m256 a = lower8(objs), b = lower8(objs + 8);
	__m256 c = lower8(objs + 16), d = lower8(objs + 24);

	store(slots, a);
	store(slots + 8, b);
	store(slots + 16, c);
	store(slots + 24, d);
}

TARGET static __attribute__((noinline)) void
to_short_any(uint32_t *slots, void *const *objs, size_t n)
{
	for (; n >= 32; n -= 32, objs += 32, slots += 32)
		to_32_short(slots, objs);
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
hone_mempool_to_short_avx2(uint32_t *slots, void *const *objs, size_t n)
{
	if (__builtin_expect(n % 32 != 0 || n == 0, 0)) {
		to_short_any(slots, objs, n);
		return;
	}
	do {
		to_32_short(slots, objs);
		objs += 32;
		slots += 32;
	} while (n -= 32);
}
