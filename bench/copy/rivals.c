/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include "rivals.h"

#define LINE ((size_t)64)

void
rival_read(const void *buf, size_t n)
{
	const volatile uint64_t *words = buf;

	for (size_t i = 0; i < n / 8; i += 8) {
		(void)words[i];
		(void)words[i + 2];
		(void)words[i + 4];
		(void)words[i + 6];
	}
}

uint64_t
rival_chase(const void *buf, size_t n)
{
	const unsigned char *p = buf;
	uint64_t at = 0;

	for (size_t i = 0; i < n / LINE; i++)
		memcpy(&at, p + at * LINE, sizeof(at));
	return at;
}

#if defined(__x86_64__)
#include <immintrin.h>

unsigned
rival_copies(void)
{
	return __builtin_cpu_supports("avx512f") ? 512 : 128;
}

void
rival_rep_movsb(void *dst, const void *src, size_t n)
{
	__asm__ volatile("rep movsb"
			 : "+D"(dst), "+S"(src), "+c"(n)
			 :
			 : "memory");
}

void
rival_nt_loop(void *dst, const void *src, size_t n)
{
	unsigned char *d = dst;
	const unsigned char *s = src;
	size_t at = -(uintptr_t)d % 16;

	if (at > n)
		at = n;
	memcpy(d, s, at);
	for (; n - at >= 16; at += 16)
		_mm_stream_si128((void *)(d + at),
			_mm_loadu_si128((const void *)(s + at)));
	memcpy(d + at, s + at, n - at);
	_mm_sfence();
}

void
rival_store_loop(void *dst, const void *src, size_t n)
{
	__m128i *d = dst;
	const __m128i *s = src;

	for (size_t i = 0; i < n / 16; i += 4) {
		_mm_prefetch((const char *)(s + i + 16), _MM_HINT_NTA);
		__m128i a = _mm_load_si128(s + i);
		__m128i b = _mm_load_si128(s + i + 1);
		__m128i c = _mm_load_si128(s + i + 2);
		__m128i e = _mm_load_si128(s + i + 3);

		_mm_store_si128(d + i, a);
		_mm_store_si128(d + i + 1, b);
		_mm_store_si128(d + i + 2, c);
		_mm_store_si128(d + i + 3, e);
	}
}

/*
 * STREAM512 and STREAM128 copy one line. For distance 0 there is a loop without
 * the prefetch.
 */
#define STREAM512(d, s) _mm512_stream_si512((void *)(d), _mm512_load_si512(s))
#define STREAM128(d, s)                                                        \
	for (size_t k = 0; k < 4; k++)                                         \
	_mm_stream_si128((__m128i *)(void *)(d) + k,                           \
		_mm_load_si128((const __m128i *)(const void *)(s) + k))

#define LOOP(name, attribute, move, hint)                                      \
	attribute static void name(unsigned char *d, const unsigned char *s,   \
		size_t n, size_t distance)                                     \
	{                                                                      \
		size_t at = 0;                                                 \
                                                                               \
		if (distance > 0) {                                            \
			for (; at + distance < n; at += LINE) {                \
				_mm_prefetch((const char *)s + at + distance,  \
					hint);                                 \
				move(d + at, s + at);                          \
			}                                                      \
		}                                                              \
		for (; at < n; at += LINE)                                     \
			move(d + at, s + at);                                  \
	}

#define KERNEL(name, hint)                                                     \
	LOOP(name##_512, __attribute__((target("avx512f"))), STREAM512, hint)  \
	LOOP(name##_128, , STREAM128, hint)                                    \
	void name(void *dst, const void *src, size_t n, size_t distance)       \
	{                                                                      \
		if (rival_copies() == 512)                                     \
			name##_512(dst, src, n, distance);                     \
		else                                                           \
			name##_128(dst, src, n, distance);                     \
		_mm_sfence();                                                  \
	}

KERNEL(rival_stream_temporal, _MM_HINT_T1)
KERNEL(rival_stream_nt, _MM_HINT_NTA)

#else
unsigned
rival_copies(void)
{
	return 0;
}

void
rival_rep_movsb(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}

void
rival_nt_loop(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}

void
rival_store_loop(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}

#define KERNEL(name)                                                           \
	void name(void *dst, const void *src, size_t n, size_t distance)       \
	{                                                                      \
		(void)distance;                                                \
		memcpy(dst, src, n);                                           \
	}

KERNEL(rival_stream_temporal)
KERNEL(rival_stream_nt)
#endif
