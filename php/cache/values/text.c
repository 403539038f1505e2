/* SPDX-License-Identifier: BSD-3-Clause */
/* PHP's hash of long strings (text.h has the sum), and their copy. */
#include "text.h"
#include <hone/hone.h>

const uint64_t php_hone_inverse[8] = {
	UINT64_C(0x4262b966e4648f01),
	UINT64_C(0x8eb9e64370f66f21),
	UINT64_C(0x65f6aeb18fc45341),
	UINT64_C(0x24cc84e3884ebb61),
	UINT64_C(0xbe5d215492262781),
	UINT64_C(0x8a014be6d6eb17a1),
	UINT64_C(0xca2ac8c1b44e0bc1),
	UINT64_C(0x0f83e0f83e0f83e1),
};

#if defined(__x86_64__)
#include <immintrin.h>

#define P8 PHP_HONE_33_8
#define P16 (P8 * P8)
#define P24 (P16 * P8)
#define P32 (P16 * P16)
/* The sum of 128 in each of 32 characters. */
#define BIAS32 (PHP_HONE_BIAS * (P8 + 1) * (P16 + 1))

/* 32 characters per iteration; `len` is a multiple of 32. */
__attribute__((target("avx2"))) static uint64_t
hash_avx2(uint64_t hash, const char *bytes, size_t len)
{
	const __m256i sign = _mm256_set1_epi8((char)0x80);
	const __m256i by_33 = _mm256_set1_epi16(1 << 8 | 33);
	const __m256i by_33_2 = _mm256_set1_epi32(1 << 16 | 33 * 33);
	const __m256i by_33_4 = _mm256_set1_epi32((int)PHP_HONE_33_4);

	for (const char *end = bytes + len; bytes != end; bytes += 32) {
		__m256i c = _mm256_xor_si256(
			_mm256_loadu_si256((const __m256i *)bytes), sign);
		__m256i fours = _mm256_madd_epi16(
			_mm256_maddubs_epi16(c, by_33), by_33_2);
		__m256i eights =
			_mm256_add_epi64(_mm256_mul_epu32(fours, by_33_4),
				_mm256_srli_epi64(fours, 32));
		__m128i low = _mm256_castsi256_si128(eights);
		__m128i high = _mm256_extracti128_si256(eights, 1);
		uint64_t sum = (uint64_t)_mm_cvtsi128_si64(low) * P24 +
			       (uint64_t)_mm_extract_epi64(low, 1) * P16 +
			       (uint64_t)_mm_cvtsi128_si64(high) * P8 +
			       (uint64_t)_mm_extract_epi64(high, 1);
		hash = hash * P32 + (sum - BIAS32);
	}
	return hash;
}

#endif

zend_ulong
php_hone_string_hash(const char *bytes, size_t len)
{
	size_t left = len;
	uint64_t sum = PHP_HONE_HASH_BEGIN, word = 0;

#if defined(__x86_64__)
	if (len > PHP_HONE_SHORT && (hone_cpu_features() & HONE_CPU_AVX2)) {
		left %= 32;
		sum = hash_avx2(sum, bytes, len - left);
		bytes += len - left;
	}
#endif
	for (; left >= 8; left -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		sum = php_hone_hash_word(sum, word);
	}
	/* There may be no readable byte after the last one. */
	word = 0;
	memcpy(&word, bytes, left);
	return php_hone_hash_last(sum, word, left);
}

void
php_hone_write_long(
	zend_string *copy, const zend_string *string, zend_ulong hash)
{
	size_t len = ZSTR_LEN(string);
	size_t whole = len & ~(size_t)7;
	uint64_t word =
		php_hone_last_word(ZSTR_VAL(string) + whole, len - whole);

	copy->h =
		hash != 0 ? hash : php_hone_string_hash(ZSTR_VAL(string), len);
	hone_memcpy(ZSTR_VAL(copy), ZSTR_VAL(string), whole, HONE_COPY_KEEP);
	memcpy(ZSTR_VAL(copy) + whole, &word, 8);
}
