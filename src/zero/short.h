/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_ZERO_SHORT_H
#define HONE_ZERO_SHORT_H
/*
 * Buffers shorter than a vector: two or three overlapping loads, combined to
 * one little-endian number. Byte i of the buffer is in bits 8 * i and up. For
 * little-endian CPUs only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t
word_at(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* len is 0 to 7. Bytes that are read twice go to the same bits. */
static inline uint64_t
word_upto7(const unsigned char *p, size_t len)
{
	uint32_t low, high;

	if (len >= 4) {
		memcpy(&low, p, sizeof(low));
		memcpy(&high, p + len - 4, sizeof(high));
		return low | (uint64_t)high << 8 * (len - 4);
	}
	if (len == 0)
		return 0;
	return p[0] | (uint64_t)p[len / 2] << 8 * (len / 2) |
	       (uint64_t)p[len - 1] << 8 * (len - 1);
}

static inline uint32_t
half_at(const unsigned char *p)
{
	uint32_t half;

	memcpy(&half, p, sizeof(half));
	return half;
}

/* len is 0 to 3. */
static inline bool
upto3_is(const unsigned char *p, size_t len)
{
	return len == 0 || (p[0] | p[len / 2] | p[len - 1]) == 0;
}

/*
 * len is 0 to 16. From 4 bytes on, four loads without a branch on the length:
 * up to 7 bytes, each end is read twice.
 */
static inline bool
upto16_is(const unsigned char *p, size_t len)
{
	size_t next = (len & 8) / 2;

	if (len >= 4 && len < 16) {
		const unsigned char *last = p + len - 4;

		return (half_at(p) | half_at(p + next) | half_at(last - next) |
			       half_at(last)) == 0;
	}
	if (len == 16)
		return (word_at(p) | word_at(p + 8)) == 0;
	return upto3_is(p, len);
}

static inline size_t
upto16_find(const unsigned char *p, size_t len)
{
	uint64_t word = len >= 8 ? word_at(p) : word_upto7(p, len);
	size_t at = 0;

	if (word == 0 && len > 8) {
		at = len - 8;
		word = word_at(p + at);
	}
	return word == 0 ? len : at + (size_t)__builtin_ctzll(word) / 8;
}

static inline size_t
upto16_rfind(const unsigned char *p, size_t len)
{
	size_t at = len > 8 ? len - 8 : 0;
	uint64_t word = len >= 8 ? word_at(p + at) : word_upto7(p, len);

	if (word == 0 && at > 0) {
		at = 0;
		word = word_at(p);
	}
	return word == 0 ? len : at + 7 - (size_t)__builtin_clzll(word) / 8;
}

#endif
