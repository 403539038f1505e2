/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_ZERO_SHORT_H
#define HONE_ZERO_SHORT_H
/*
 * Buffers shorter than a vector, in two or three overlapping loads that are
 * put together as one little-endian number: byte i of the buffer is bits
 * 8 * i and up. Little-endian only.
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

/* len is 0 to 8. Bytes that are read twice land on the same bits. */
static inline uint64_t
word_upto8(const unsigned char *p, size_t len)
{
	uint32_t low, high;

	if (len == 8)
		return word_at(p);
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

/* len is 0 to 16. */
static inline bool
upto16_is(const unsigned char *p, size_t len)
{
	if (len >= 8)
		return (word_at(p) | word_at(p + len - 8)) == 0;
	return word_upto8(p, len) == 0;
}

static inline size_t
upto16_find(const unsigned char *p, size_t len)
{
	uint64_t word = len >= 8 ? word_at(p) : word_upto8(p, len);
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
	uint64_t word = len >= 8 ? word_at(p + at) : word_upto8(p, len);

	if (word == 0 && at > 0) {
		at = 0;
		word = word_at(p);
	}
	return word == 0 ? len : at + 7 - (size_t)__builtin_clzll(word) / 8;
}

#endif
