/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IMAGE_VALUE_H
#define IMAGE_VALUE_H
/*
 * Images of values without a running PHP: only its headers are needed. A text
 * has the value:
 *
 *	N null   T true   F false   12 int   'x' string   _ hole in a list
 *	[1 'a']  a list   {'k':1 7:'v'} a hash table   & the last list or table
 */
#include "inside.h"

/* The address that the pointers assume: PHP_HONE_SNAPSHOT_BASE. */
#define IMAGE_BASE 64

struct image_made {
	unsigned char *bytes; /* to be freed */
	size_t size;
	zval root;
};

struct image_made image_of(const char *text);
/* The value 'x' of each length, tables with a long chain, lists in lists, and
 * others. NULL after the last. */
extern const char *const image_texts[];

#endif
