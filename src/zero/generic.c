/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reference, for any CPU and any byte order. The tests compare every other
 * variant with it. Kept obvious; never tuned.
 */
#include <string.h>
#include "zero.h"

static bool
word_is_zero(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word == 0;
}

size_t
hone_zero_find_generic(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	size_t i = 0;

	while (len - i >= sizeof(uint64_t) && word_is_zero(p + i))
		i += sizeof(uint64_t);
	while (i < len && p[i] == 0)
		i++;
	return i;
}

size_t
hone_zero_rfind_generic(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	size_t i = len;

	while (i >= sizeof(uint64_t) && word_is_zero(p + i - sizeof(uint64_t)))
		i -= sizeof(uint64_t);
	while (i > 0 && p[i - 1] == 0)
		i--;
	return i > 0 ? i - 1 : len;
}

bool
hone_zero_is_generic(const void *buf, size_t len)
{
	return hone_zero_find_generic(buf, len) == len;
}
