/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PHP's realpath cache knows of a path, without its hash of every byte.
 *
 * A table remembers in which chain of the cache a path was found last, by a
 * hash of its own. The path is then looked for in that chain: what is found is
 * compared in full, so that a wrong chain can only mean that nothing is found,
 * and then the cache itself is asked.
 */
#include "fileread.h"

/*
 * Every byte counts, 16 in each turn. A string can carry a hash of PHP's, but
 * one that was just put together has none, and to make that takes longer than
 * this: bench/php_reads.py, no such file, path of 200 bytes.
 */
static zend_always_inline uint64_t
hash_of(const zend_string *path)
{
	/* Odd, with bits all over: of the golden ratio, and of its square. */
	const uint64_t one = UINT64_C(0x9e3779b97f4a7c15);
	const uint64_t two = UINT64_C(0x61c8864680b583eb);
	const char *end = ZSTR_VAL(path) + ZSTR_LEN(path), *at = ZSTR_VAL(path);
	uint64_t word[2] = {0, 0}, a = ZSTR_LEN(path), b = 0;

	for (; end - at > 16; at += 16) {
		memcpy(word, at, 16);
		a = (a ^ word[0]) * one;
		b = (b ^ word[1]) * two;
	}
	if (ZSTR_LEN(path) >= 16)
		memcpy(word, end - 16, 16);
	else
		memcpy(word, at, ZSTR_LEN(path));
	a = (a ^ word[0]) * one;
	b = (b ^ word[1]) * two;
	return (a ^ b >> 32) * one;
}

/* The place of a path's hash, and the part of it that tells whose it is. */
static zend_always_inline struct hone_fileread_path *
place_of(const zend_string *path, uint32_t *tag)
{
	uint64_t hash = hash_of(path);

	*tag = (uint32_t)(hash >> 32);
	return &HONE_G(fileread).paths[hash >> 24 & (HONE_FILEREAD_PATHS - 1)];
}

/*
 * As PHP's own search, which removes what is too old on its way; here that
 * ends the search, and PHP's own follows.
 */
static const realpath_cache_bucket *
find_in_chain(uint16_t chain, const char *path, size_t len, time_t now)
{
	const realpath_cache_bucket *known =
		realpath_cache_get_buckets()[chain];

	while (known != NULL && known->expires >= now) {
		if (known->path_len == len &&
			memcmp(known->path, path, len) == 0)
			return known;
		known = known->next;
	}
	return NULL;
}

/* `whole` is what the cache knows the path by. */
static const realpath_cache_bucket *
find(struct hone_fileread_path *place, uint32_t tag, const char *whole,
	size_t len)
{
	const realpath_cache_bucket *known;
	time_t now = time(NULL);

	if (place->tag == tag) {
		known = find_in_chain(place->chain, whole, len, now);
		if (known != NULL)
			return known;
	}
	known = realpath_cache_lookup(whole, len, now);
	if (known != NULL) {
		if (place->tag != tag)
			place->small = false;
		place->tag = tag;
		place->failed = false;
		place->chain =
			(uint16_t)(known->key % realpath_cache_max_buckets());
	}
	return known;
}

/* A relative path is known by the current directory before it. */
static const realpath_cache_bucket *
find_relative(
	struct hone_fileread_path *place, uint32_t tag, const zend_string *path)
{
	char whole[MAXPATHLEN];
	size_t len;

	if (VCWD_GETCWD(whole, sizeof whole) == NULL || whole[0] != '/')
		return NULL;
	len = strlen(whole);
	if (len + 1 + ZSTR_LEN(path) >= MAXPATHLEN - 1)
		return NULL;
	if (whole[len - 1] != '/')
		whole[len++] = '/';
	memcpy(whole + len, ZSTR_VAL(path), ZSTR_LEN(path) + 1);
	return find(place, tag, whole, len + ZSTR_LEN(path));
}

/*
 * The cache is asked with the path as it is, as PHP does first, unless the
 * path ends in a way that PHP removes beforehand.
 */
const realpath_cache_bucket *
hone_fileread_known(const zend_string *path)
{
	char last = ZSTR_VAL(path)[ZSTR_LEN(path) - 1];
	struct hone_fileread_path *place;
	uint32_t tag;

	if (!HONE_G(fileread).realpath_cache || last == '/' || last == '.')
		return NULL;
	place = place_of(path, &tag);
	HONE_G(fileread).last = place;
	if (place->failed && place->tag == tag)
		return NULL;
	if (ZSTR_VAL(path)[0] != '/')
		return find_relative(place, tag, path);
	return find(place, tag, ZSTR_VAL(path), ZSTR_LEN(path));
}

void
hone_fileread_opened(const zend_string *path, bool opened)
{
	uint32_t tag;
	struct hone_fileread_path *place = place_of(path, &tag);

	if (!opened) {
		place->tag = tag;
		place->failed = true;
		place->small = false;
	} else if (place->tag == tag) {
		place->failed = false;
	}
}

bool *
hone_fileread_was_small(void)
{
	return &HONE_G(fileread).last->small;
}
