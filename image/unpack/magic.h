/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_UNPACK_MAGIC_H
#define HONE_IMAGE_UNPACK_MAGIC_H
/* The magics of packings whose library this build may lack. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool
image_begins_xz(const unsigned char *head, size_t length)
{
	return length >= 6 && memcmp(head,
				      "\xfd"
				      "7zXZ\0",
				      6) == 0;
}

static inline bool
image_begins_bzip2(const unsigned char *head, size_t length)
{
	return length >= 4 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' &&
	       head[3] <= '9';
}

#endif
