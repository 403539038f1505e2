/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_TEXT_H
#define PHP_HONE_VALUES_TEXT_H
/*
 * PHP's hash of strings, 8 bytes at a time, and a copy that computes the hash
 * in the same pass.
 *
 * Each character is worth 33 times the one after it:
 *
 *	5381 * 33^n + c[0] * 33^(n-1) + ... + c[n-1]	modulo 2^64
 *
 * The last word has zeros after the string. These zeros multiply the sum by a
 * power of 33. 33 is odd, so its powers have inverses, and one multiplication
 * corrects the sum. This saves a branch on the number of remaining characters.
 *
 * If char is signed, 128 is added to each character for an unsigned
 * multiplication, and PHP_HONE_BIAS is subtracted from the sum.
 */
#include "layout.h"
#include <limits.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#define PHP_HONE_HASH_BEGIN UINT64_C(5381)
#define PHP_HONE_HASH_TOP UINT64_C(0x8000000000000000)

#define PHP_HONE_33_2 (UINT64_C(33) * 33)
#define PHP_HONE_33_4 (PHP_HONE_33_2 * PHP_HONE_33_2)
#define PHP_HONE_33_8 (PHP_HONE_33_4 * PHP_HONE_33_4)

#if CHAR_MIN < 0
#define PHP_HONE_SIGN UINT64_C(0x8080808080808080)
#define PHP_HONE_BIAS                                                          \
	(UINT64_C(128) * 34 * (PHP_HONE_33_2 + 1) * (PHP_HONE_33_4 + 1))
#else
#define PHP_HONE_SIGN UINT64_C(0)
#define PHP_HONE_BIAS UINT64_C(0)
#endif

/* 33^-8, 33^-7, ... 33^-1 modulo 2^64. */
extern const uint64_t php_hone_inverse[8];

/* Reads 8 bytes at `from`. Returns the first 0 to 7 of them, then zeros. */
static zend_always_inline uint64_t
php_hone_last_word(const char *from, size_t len)
{
	uint64_t word;

	memcpy(&word, from, 8);
#ifdef WORDS_BIGENDIAN
	return len == 0 ? 0 : word & ~(UINT64_MAX >> len * 8);
#else
	return word & ((UINT64_C(1) << len * 8) - 1);
#endif
}

#if defined(__x86_64__) && CHAR_MIN < 0

/* A step multiplies and adds neighbours: bytes, pairs of bytes, halves. 13
 * instructions in place of 24, and fewer registers. */
static zend_always_inline uint64_t
php_hone_hash_word(uint64_t sum, uint64_t word)
{
	__m128i all = _mm_cvtsi64_si128((int64_t)word);
	int64_t halves;

	all = _mm_srai_epi16(_mm_unpacklo_epi8(all, all), 8);
	all = _mm_madd_epi16(all, _mm_set1_epi32(1 << 16 | 33));
	all = _mm_packs_epi32(all, all);
	all = _mm_madd_epi16(all, _mm_set1_epi32(1 << 16 | 33 * 33));
	halves = _mm_cvtsi128_si64(all);
	return sum * PHP_HONE_33_8 + (uint64_t)(int32_t)halves * PHP_HONE_33_4 +
	       (uint64_t)(halves >> 32);
}

#else

static zend_always_inline uint64_t
php_hone_hash_word(uint64_t sum, uint64_t word)
{
	const uint64_t bytes = UINT64_C(0x00ff00ff00ff00ff);
	const uint64_t pairs = UINT64_C(0x0000ffff0000ffff);

#ifdef WORDS_BIGENDIAN
	word = __builtin_bswap64(word);
#endif
	word ^= PHP_HONE_SIGN;
	word = (word & bytes) * 33 + (word >> 8 & bytes);
	word = (word & pairs) * PHP_HONE_33_2 + (word >> 16 & pairs);
	word = (word & UINT32_MAX) * PHP_HONE_33_4 + (word >> 32);
	return sum * PHP_HONE_33_8 + (word - PHP_HONE_BIAS);
}

#endif

/* `word` has `len` characters, 0 to 7, then zeros. */
static zend_always_inline zend_ulong
php_hone_hash_last(uint64_t sum, uint64_t word, size_t len)
{
	sum = php_hone_hash_word(sum, word) * php_hone_inverse[len];
	return (zend_ulong)(sum | PHP_HONE_HASH_TOP);
}

/* php_hone_write_string() for a string longer than PHP_HONE_SHORT. */
void php_hone_write_long(
	zend_string *copy, const zend_string *string, zend_ulong hash);

/* Above this, memcpy() and vectors are faster than a loop of words. */
#define PHP_HONE_SHORT 64

/*
 * Writes the bytes, a NUL, and zeros up to a multiple of 8. Reads whole words,
 * since PHP allocates a multiple of 8 bytes for a string. Returns `hash`, or
 * the computed hash if `hash` is 0.
 */
static zend_always_inline zend_ulong
php_hone_copy_short(char *to, const char *from, size_t len, zend_ulong hash)
{
	uint64_t sum = PHP_HONE_HASH_BEGIN, word;
	size_t whole = len & ~(size_t)7;

	if (hash != 0) {
		for (size_t i = 0; i < whole; i += 8)
			memcpy(to + i, from + i, 8);
		word = php_hone_last_word(from + whole, len - whole);
		memcpy(to + whole, &word, 8);
		return hash;
	}
	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, from + i, 8);
		memcpy(to + i, &word, 8);
		sum = php_hone_hash_word(sum, word);
	}
	word = php_hone_last_word(from + whole, len - whole);
	memcpy(to + whole, &word, 8);
	return php_hone_hash_last(sum, word, len - whole);
}

/* Writes php_hone_string_size() bytes to `to`. `hash`: 0 if unknown. */
static zend_always_inline void
php_hone_write_string(void *to, const zend_string *string, zend_ulong hash)
{
	zend_string *copy = to;
	size_t len = ZSTR_LEN(string);

	GC_SET_REFCOUNT(copy, PHP_HONE_REFCOUNT);
	GC_TYPE_INFO(copy) = PHP_HONE_STRING_INFO;
	ZSTR_LEN(copy) = len;
	if (EXPECTED(len <= PHP_HONE_SHORT))
		copy->h = php_hone_copy_short(
			ZSTR_VAL(copy), ZSTR_VAL(string), len, hash);
	else
		php_hone_write_long(copy, string, hash);
}

#endif
