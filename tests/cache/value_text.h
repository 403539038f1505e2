/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALUE_TEXT_H
#define VALUE_TEXT_H
/*
 * Images of values without a running PHP: only its headers are needed. A text
 * has the value:
 *
 *	N null   T true   F false   12 int   'x' string   _ hole in a list
 *	[1 'a']  a list   {'k':1 7:'v'} a hash table   & the last list or table
 *	(O2'Class' 'a':1 'b':_)  an object of 2 declared properties
 *	#0  the first object of the text again
 *
 * In place of O: W, the class has __wakeup(); S, __sleep(), which names all
 * properties that have a value; E, an enum. (D0'Class' [1]) has __serialize(),
 * which returned the array; (T0'Class' {'a':1}) has dynamic properties.
 */
#include "cold.h"

/* The address that the pointers assume. */
#define TEXT_BASE 64

struct text_made {
	unsigned char *bytes; /* to be freed */
	size_t size;
	zval root;
};

struct text_made text_store(const char *text);
/* A list of n strings that LZ4 makes shorter, at most 64. */
struct text_made text_names(unsigned n);
/* Write the cold form of a value, with objects if `graph`, to cold->bytes. */
void text_cold(
	struct php_hone_cold *cold, const struct text_made *made, bool graph);
/* The same of a text, from the builder. Returns false if it is not an array
 * without objects. */
bool text_built(struct php_hone_cold *cold, const char *text);
/* Make a value of a cold form. If it is refused, returns false with a phrase.
 */
bool text_warm(struct php_hone_cold *cold, const void *bytes, size_t size,
	bool graph, struct text_made *made, const char **phrase);
/* The same of a copy of cold->bytes. */
bool text_again(struct php_hone_cold *cold, bool graph, struct text_made *made);
/* The value 'x' of each length, tables with a long chain, lists in lists, and
 * others. NULL after the last. */
extern const char *const value_texts[];
/* Values with objects of each kind, and no others. NULL after the last. */
extern const char *const object_texts[];

/* Ends the program if the condition does not hold. */
void value_must(bool good);

/* Reads a stored value as PHP and a fetch read it, without a running PHP. Ends
 * the program if the value is not as they expect it. `bytes` have pointers for
 * TEXT_BASE. `graph`: a directory of objects. */
void value_read(const unsigned char *bytes, const zval *root, bool graph);

#endif
