/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "archive/tar.h"

void
tar_put_number(unsigned char *to, uint64_t n)
{
	char text[32];

	if (n < UINT64_C(1) << 33) {
		snprintf(text, sizeof(text), "%011" PRIo64, n);
		memcpy(to, text, TAR_NUMBER);
		return;
	}
	memset(to, 0, TAR_NUMBER);
	to[0] = 0x80;
	for (int i = TAR_NUMBER - 1; n; i--, n >>= 8)
		to[i] = (unsigned char)n;
}

/* The block has zeros behind the text. */
static void
put_text(unsigned char *to, const char *text)
{
	while (*text)
		*to++ = (unsigned char)*text++;
}

static void
put_octal(unsigned char *to, unsigned n)
{
	char text[16];

	snprintf(text, sizeof(text), "%07o", n);
	put_text(to, text);
}

void
tar_put_sum(unsigned char *block)
{
	unsigned sum = 0;
	char text[16];

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += block[i];
	snprintf(text, sizeof(text), "%06o", sum);
	memcpy(block + 148, text, 7);
}

void
tar_put(unsigned char *block, const struct tar_entry *entry)
{
	put_text(block, entry->name);
	put_octal(block + 100, entry->mode);
	put_octal(block + 108, entry->owner);
	put_octal(block + 116, entry->owner);
	tar_put_number(block + 124, entry->size);
	tar_put_number(block + 136, 0);
	block[156] = (unsigned char)entry->type;
	put_text(block + 257, "ustar  ");
	tar_put_sum(block);
}
