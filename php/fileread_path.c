/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a path: whether it is ours to read, and reading it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"
#include "ext/standard/file.h"
#include "ext/standard/php_filestat.h"

/* Up to here a file is read into the stack and its string made after close. */
#define SMALL ((size_t)4096)

/* php_plain_files_wrapper.wops as it was when the module started; only read
 * from then on. */
static const php_stream_wrapper_ops *php_plain_ops;

void
hone_fileread_know_wrapper(void)
{
	php_plain_ops = php_plain_files_wrapper.wops;
}

/* A script may register its own "file", another extension replace PHP's. */
static zend_always_inline bool
wrapper_is_php(void)
{
	if (UNEXPECTED(php_plain_files_wrapper.wops != php_plain_ops))
		return false;
	return EXPECTED(FG(stream_wrappers) == NULL) ||
	       zend_hash_str_find_ptr(FG(stream_wrappers), "file", 4) ==
		       &php_plain_files_wrapper;
}

/* phar:// answers for relative paths of scripts that are in an archive. */
static bool
runs_in_phar(void)
{
	return strncasecmp(zend_get_executed_filename(), "phar://", 7) == 0;
}

bool
hone_fileread_is_plain(const zend_string *path)
{
	if (PG(open_basedir) != NULL && *PG(open_basedir) != '\0')
		return hone_fileread_pass(HONE_PASS_BASEDIR);
	if (!wrapper_is_php())
		return hone_fileread_pass(HONE_PASS_WRAPPER);
	if (ZSTR_LEN(path) == 0 || ZSTR_LEN(path) >= MAXPATHLEN - 1 ||
		memchr(ZSTR_VAL(path), '\0', ZSTR_LEN(path)) != NULL)
		return hone_fileread_pass(HONE_PASS_PATH);
	if (ZSTR_VAL(path)[0] != '/') {
		/* A scheme ends with one. */
		if (memchr(ZSTR_VAL(path), ':', ZSTR_LEN(path)) != NULL)
			return hone_fileread_pass(HONE_PASS_PATH);
		if (runs_in_phar())
			return hone_fileread_pass(HONE_PASS_PHAR);
	}
	return true;
}

static zend_always_inline const char *
cached_name(const char *path, size_t len)
{
	const realpath_cache_bucket *known =
		realpath_cache_lookup(path, len, time(NULL));

	return known != NULL ? known->realpath : NULL;
}

/* A relative path is known by the current directory before it. */
static const char *
cached_relative(const zend_string *path)
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
	return cached_name(whole, len + ZSTR_LEN(path));
}

/*
 * The cache is asked with the path as it is, as PHP does first, unless the
 * path ends in a way that PHP removes beforehand.
 */
const char *
hone_fileread_name(const zend_string *path)
{
	char last = ZSTR_VAL(path)[ZSTR_LEN(path) - 1];

	if (!HONE_G(fileread).realpath_cache || last == '/' || last == '.')
		return NULL;
	if (ZSTR_VAL(path)[0] != '/')
		return cached_relative(path);
	return cached_name(ZSTR_VAL(path), ZSTR_LEN(path));
}

int
hone_fileread_open(const zend_string *path, bool context)
{
	const char *name = hone_fileread_name(path);
	int fd;

	if (name == NULL)
		return HONE_FILEREAD_UNKNOWN;
	fd = open(name, O_RDONLY);
	if (fd >= 0)
		return fd;
	hone_fileread_pass(HONE_PASS_OPEN);
	if (errno != EINTR)
		return -1;
	hone_fileread_take_numbers(0, context);
	php_error_docref1(NULL, ZSTR_VAL(path), E_WARNING,
		"Failed to open stream: %s", strerror(EINTR));
	return HONE_FILEREAD_TOLD;
}

void
hone_fileread_take_numbers(zend_long streams, bool context)
{
	HashTable *list = &EG(regular_list);

	if (context)
		(void)php_stream_context_from_zval(NULL, 0);
	if (list->nNextFreeElement == 0)
		list->nNextFreeElement = 1;
	list->nNextFreeElement += streams;
}

/* If there is no memory PHP leaves by longjmp: not without the descriptor. */
static zend_string *
allocate_or_close(size_t len, int fd)
{
	zend_string *volatile string = NULL;

	zend_try
	{
		string = hone_fileread_allocate(len, len);
	}
	zend_catch
	{
		close(fd);
		zend_bailout();
	}
	zend_end_try();
	return string;
}

static zend_string *
read_large(int fd, size_t size)
{
	zend_string *string;

	if (size >= HONE_FILEREAD_MAX || hone_fileread_memory_is_tight(size)) {
		hone_fileread_pass(HONE_PASS_MEMORY);
		return NULL;
	}
	string = allocate_or_close(size, fd);
	/* One more than there is, to the place of the zero byte behind: that
	 * exactly the size comes back proves the end. */
	if (read(fd, ZSTR_VAL(string), size + 1) == (ssize_t)size) {
		close(fd);
		ZSTR_VAL(string)[size] = '\0';
		return string;
	}
	zend_string_efree(string);
	lseek(fd, 0, SEEK_SET);
	hone_fileread_pass(HONE_PASS_CHANGED);
	return NULL;
}

zend_string *
hone_fileread_whole(int fd)
{
	char small[SMALL];
	struct stat st;

	hone_fileread_forget_stat();
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		hone_fileread_pass(HONE_PASS_KIND);
		return NULL;
	}
	if ((uint64_t)st.st_size >= SMALL)
		return read_large(fd, (size_t)st.st_size);
	if (read(fd, small, SMALL) == st.st_size) {
		close(fd);
		return zend_string_init(small, (size_t)st.st_size, 0);
	}
	lseek(fd, 0, SEEK_SET);
	hone_fileread_pass(HONE_PASS_CHANGED);
	return NULL;
}

php_stream *
hone_fileread_stream(int fd, const zend_string *path, const char *mode)
{
	php_stream *stream = php_stream_fopen_from_fd(fd, mode, NULL);

	stream->wrapper = &php_plain_files_wrapper;
	stream->orig_path = estrndup(ZSTR_VAL(path), ZSTR_LEN(path));
	return stream;
}
