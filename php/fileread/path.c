/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps 1 to 3 of a call with a path: accepts it, finds it, opens it. */
#include <errno.h>
#include <fcntl.h>
#include "fileread.h"

bool
php_hone_rest_is_default(zend_execute_data *execute_data)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();

	return n <= 5 && Z_TYPE(arg[1]) == IS_FALSE &&
	       (n < 3 || Z_TYPE(arg[2]) == IS_NULL) &&
	       (n < 4 || (Z_TYPE(arg[3]) == IS_LONG && Z_LVAL(arg[3]) == 0)) &&
	       (n < 5 || Z_TYPE(arg[4]) == IS_NULL);
}

/* A script may register its own wrapper "file". */
static zend_always_inline bool
wrapper_is_php(void)
{
	/* The operations of PHP's wrapper are constant: their address is
	 * enough. */
	if (UNEXPECTED(php_plain_files_wrapper.wops != php_hone_wrapper_ops ||
		       !php_hone_same_streams()))
		return false;
	return EXPECTED(FG(stream_wrappers) == NULL) ||
	       zend_hash_str_find_ptr(FG(stream_wrappers), "file", 4) ==
		       &php_plain_files_wrapper;
}

bool
php_hone_accepts(const zend_string *path)
{
	if (PG(open_basedir) != NULL && *PG(open_basedir) != '\0')
		return php_hone_fall_back(PHP_HONE_REASON_BASEDIR);
	if (!wrapper_is_php())
		return php_hone_fall_back(PHP_HONE_REASON_WRAPPER);
	if (ZSTR_LEN(path) == 0 || ZSTR_LEN(path) >= MAXPATHLEN - 1 ||
		memchr(ZSTR_VAL(path), '\0', ZSTR_LEN(path)) != NULL)
		return php_hone_fall_back(PHP_HONE_REASON_PATH);
	if (!php_hone_fits(PHP_HONE_FILE_GET_CONTENTS, 0))
		return false;
	if (ZSTR_VAL(path)[0] != '/') {
		/* A scheme ends with a colon. */
		if (memchr(ZSTR_VAL(path), ':', ZSTR_LEN(path)) != NULL)
			return php_hone_fall_back(PHP_HONE_REASON_PATH);
		/* In a script from an archive, phar:// resolves it. */
		if (strncasecmp(zend_get_executed_filename(), "phar://", 7) ==
			0)
			return php_hone_fall_back(PHP_HONE_REASON_PHAR);
	}
	return true;
}

/*
 * Step 2: its entry in PHP's realpath cache. PHP's hash reads the path byte by
 * byte. So a table with another hash records the chain of the cache that had
 * the path last. The path is compared in full, so a wrong chain cannot lead to
 * a wrong entry. If the search finds nothing, PHP's own search follows.
 */

/* Hashes 16 bytes per iteration. PHP's hash of a string that was just
 * concatenated takes longer: bench/php/reads.py, path of 200 bytes. */
static zend_always_inline uint64_t
hash_of(const zend_string *path)
{
	/* From the golden ratio and its square. */
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

static zend_always_inline struct php_hone_path *
place_of(const zend_string *path, uint32_t *tag)
{
	uint64_t hash = hash_of(path);

	*tag = (uint32_t)(hash >> 32);
	return &HONE_G(fileread).paths[hash >> 24 & (PHP_HONE_PATHS - 1)];
}

/* An expired entry ends the search: PHP's own search removes it. */
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

static const realpath_cache_bucket *
find(struct php_hone_path *place, uint32_t tag, const char *key, size_t len)
{
	const realpath_cache_bucket *known;
	time_t now = time(NULL);

	if (place->tag == tag) {
		known = find_in_chain(place->chain, key, len, now);
		if (known != NULL)
			return known;
	}
	known = realpath_cache_lookup(key, len, now);
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

/* The cache stores a relative path with the current directory before it. */
static const realpath_cache_bucket *
find_relative(
	struct php_hone_path *place, uint32_t tag, const zend_string *path)
{
	char key[MAXPATHLEN];
	size_t len;

	if (VCWD_GETCWD(key, sizeof key) == NULL || key[0] != '/')
		return NULL;
	len = strlen(key);
	if (len + 1 + ZSTR_LEN(path) >= MAXPATHLEN - 1)
		return NULL;
	if (key[len - 1] != '/')
		key[len++] = '/';
	memcpy(key + len, ZSTR_VAL(path), ZSTR_LEN(path) + 1);
	return find(place, tag, key, len + ZSTR_LEN(path));
}

/* PHP searches for the unchanged path, unless it ends with '/' or '.', which
 * PHP may remove first. */
const realpath_cache_bucket *
php_hone_known(const zend_string *path, struct php_hone_path **place)
{
	char last = ZSTR_VAL(path)[ZSTR_LEN(path) - 1];
	uint32_t tag;

	if (!HONE_G(fileread).realpath_cache || last == '/' || last == '.')
		return NULL;
	*place = place_of(path, &tag);
	if ((*place)->failed && (*place)->tag == tag)
		return NULL;
	if (ZSTR_VAL(path)[0] != '/')
		return find_relative(*place, tag, path);
	return find(*place, tag, ZSTR_VAL(path), ZSTR_LEN(path));
}

void
php_hone_note_opened(const zend_string *path, bool opened)
{
	uint32_t tag;
	struct php_hone_path *place = place_of(path, &tag);

	if (!opened) {
		place->tag = tag;
		place->failed = true;
		place->small = false;
	} else if (place->tag == tag) {
		place->failed = false;
	}
}

/* Counts the failure, and reports a signal. PHP reports all other errors. */
static enum php_hone_open
not_opened(const zend_string *path, bool context, int error)
{
	php_hone_fall_back(PHP_HONE_REASON_OPEN);
	if (error != EINTR)
		return PHP_HONE_OPEN_FAILED;
	php_hone_take_numbers(0, context);
#if PHP_VERSION_ID >= 80600
	/* The context may turn the warning into an exception. */
	php_stream_wrapper_warn(&php_plain_files_wrapper, FG(default_context),
		REPORT_ERRORS, OpenFailed, "Failed to open stream: %s",
		strerror(EINTR));
#else
	php_error_docref1(NULL, ZSTR_VAL(path), E_WARNING,
		"Failed to open stream: %s", strerror(EINTR));
#endif
	return PHP_HONE_OPEN_REPORTED;
}

enum php_hone_open
php_hone_open(struct php_hone_file *file, const zend_string *path, bool context)
{
	const realpath_cache_bucket *known = php_hone_known(path, &file->place);

	if (known == NULL)
		return PHP_HONE_OPEN_UNKNOWN;
	if (known->is_dir) {
		php_hone_fall_back(PHP_HONE_REASON_KIND);
		return PHP_HONE_OPEN_FAILED;
	}
	file->fd = open(known->realpath, O_RDONLY);
	if (UNEXPECTED(file->fd < 0))
		return not_opened(path, context, errno);
	return PHP_HONE_OPENED;
}

php_stream *
php_hone_open_by_php(const zend_string *path, bool context)
{
	php_stream *stream =
		php_stream_open_wrapper_ex(ZSTR_VAL(path), "rb", REPORT_ERRORS,
			NULL, php_stream_context_from_zval(NULL, !context));

	php_hone_note_opened(path, stream != NULL);
	return stream;
}
