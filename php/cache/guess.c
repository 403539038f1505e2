/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large arrays are built at their final place, if the key has an array that is
 * likely to have an image of about the same size: to place what was built in
 * memory of the process takes a quarter of a store.
 */
#include "cache.h"
#include "image/inside.h"

/* Bytes of the records from which an array is large: others wait for the mutex
 * while a smaller one is built. */
#define LEAST 32768
/* One part of the records, and of the strings, is added to each. */
#define MORE_RECORDS 256
#define MORE_STRINGS 64
/* The number of elements may differ by one part of it. */
#define DIFFERENCE 128

/* Arrays in one another of which the first ones are looked at. */
#define LEVELS 3

bool
php_hone_has_many(const zend_array *array)
{
	size_t n = 1;

	for (unsigned i = 0; i < LEVELS && array->nNumOfElements != 0; i++) {
		n *= array->nNumOfElements;
		if (n >= PHP_HONE_MANY)
			return true;
		if (Z_TYPE_P(php_hone_first(array)) != IS_ARRAY)
			return false;
		array = Z_ARR_P(php_hone_first(array));
	}
	return false;
}

struct guess {
	uint32_t elements; /* of the new array */
	struct php_hone_parts *parts;
};

static size_t
with_more(size_t size, size_t part)
{
	return (size + size / part + 256) & ~(size_t)7;
}

/* Always false: nothing is to be changed. */
static bool
look(const struct php_hone_entry *entry, uint64_t *to, void *opaque)
{
	const zend_array *root =
		(const zend_array *)((const char *)entry + entry->image_at);
	const struct guess *guess = opaque;
	size_t records = (size_t)(entry->value[1] >> 32) * 8;
	uint32_t had;

	(void)to;
	if ((uint8_t)entry->value[1] != IS_ARRAY || records < LEAST)
		return false;
	/* An array of another size is likely not to fit: it would be built
	 * twice. */
	had = root->nNumOfElements;
	if (guess->elements > had + had / DIFFERENCE ||
		guess->elements < had - had / DIFFERENCE)
		return false;
	guess->parts->arrays = with_more(records, MORE_RECORDS);
	guess->parts->strings =
		with_more(entry->image_size - records, MORE_STRINGS);
	return false;
}

/* What was fetched is copied as a block. */
static bool
is_image(const struct php_hone_member *member, const zend_array *array)
{
	return (GC_FLAGS(array) & IS_ARRAY_IMMUTABLE) &&
	       php_hone_store_contains(member->store, array);
}

bool
php_hone_guess_parts(struct php_hone_member *member, zend_string *key,
	const zend_array *array, struct php_hone_parts *parts)
{
	struct guess guess = {array->nNumOfElements, parts};
	struct php_hone_key of;

	parts->arrays = 0;
	if (is_image(member, array))
		return false;
	php_hone_key_of(&of, key);
	php_hone_store_change(member, &of, look, &guess);
	return parts->arrays != 0;
}
