/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PHP's realpath cache knows of a path, without its hash of every byte.
 *
 * A table remembers in which chain of the cache a path was found last, by the
 * hash of the string, which strings carry along. The path is then looked for
 * in that chain: what is found is compared in full, so that a wrong chain can
 * only mean that nothing is found, and then the cache itself is asked.
 */
#include "fileread.h"

/* The place of a string's hash, and the part of it that tells whose it is. */
static zend_always_inline struct hone_fileread_path *
place_of(zend_string *path, uint32_t *tag)
{
	zend_ulong hash = zend_string_hash_val(path);

	*tag = (uint32_t)(hash / HONE_FILEREAD_PATHS);
	return &HONE_G(fileread).paths[hash % HONE_FILEREAD_PATHS];
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
hone_fileread_known(zend_string *path)
{
	char last = ZSTR_VAL(path)[ZSTR_LEN(path) - 1];
	struct hone_fileread_path *place;
	uint32_t tag;

	if (!HONE_G(fileread).realpath_cache || last == '/' || last == '.')
		return NULL;
	place = place_of(path, &tag);
	if (place->failed && place->tag == tag)
		return NULL;
	if (ZSTR_VAL(path)[0] != '/')
		return find_relative(place, tag, path);
	return find(place, tag, ZSTR_VAL(path), ZSTR_LEN(path));
}

void
hone_fileread_opened(zend_string *path, bool opened)
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

bool
hone_fileread_was_small(zend_string *path)
{
	uint32_t tag;
	const struct hone_fileread_path *place = place_of(path, &tag);

	return place->small && place->tag == tag;
}

void
hone_fileread_is_small(zend_string *path, bool small)
{
	uint32_t tag;
	struct hone_fileread_path *place = place_of(path, &tag);

	if (place->tag == tag)
		place->small = small;
}
