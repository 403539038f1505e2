/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that are given a path: open, fstat, read, close. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"
#include "ext/standard/file.h"
#include "ext/standard/php_filestat.h"

/* Up to here a file is read into the stack and its string made after close. */
#define SMALL ((size_t)4096)

/* Linux never reads more at once (MAX_RW_COUNT with pages of 64 KiB). */
#define READ_MAX ((size_t)0x7fff0000)

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

/* True if PHP would take this path to its plain files, and so may we. */
static zend_always_inline bool
is_plain(const zend_string *path)
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

/*
 * Open a file as PHP's stream would, which means: the name that the realpath
 * cache has for the path, even if a symbolic link has been changed since. The
 * cache is asked first with the path as it is, as PHP does, unless the path
 * ends in a way that PHP removes beforehand.
 */
static zend_always_inline int
open_path(const zend_string *path)
{
	char expanded[MAXPATHLEN];
	const char *name = NULL;
	char last = ZSTR_VAL(path)[ZSTR_LEN(path) - 1];
	int fd;

	if (HONE_G(fileread).realpath_cache && ZSTR_VAL(path)[0] == '/' &&
		last != '/' && last != '.') {
		const realpath_cache_bucket *known = realpath_cache_lookup(
			ZSTR_VAL(path), ZSTR_LEN(path), time(NULL));

		if (known != NULL)
			name = known->realpath;
	}
	if (name == NULL)
		name = expand_filepath(ZSTR_VAL(path), expanded);
	fd = name == NULL ? -1 : open(name, O_RDONLY);
	if (fd < 0)
		hone_fileread_pass(HONE_PASS_OPEN);
	return fd;
}

/*
 * Stock PHP makes a default context at the first call and a stream at each:
 * both take a number that scripts see in the resources they get later.
 */
static zend_always_inline void
take_numbers(void)
{
	HashTable *list = &EG(regular_list);

	(void)php_stream_context_from_zval(NULL, 0);
	list->nNextFreeElement =
		list->nNextFreeElement == 0 ? 2 : list->nNextFreeElement + 1;
}

/* PHP 8.4 forgets what it knows of the last file that was asked about, for
 * reading changes the time of access. */
static zend_always_inline void
forget_stat(void)
{
#if PHP_VERSION_ID >= 80400
	php_clear_stat_cache(0, NULL, 0);
#endif
}

/* Memory that PHP may refuse, or grant only after a garbage collection. */
static bool
memory_is_tight(size_t size)
{
	size_t limit = (size_t)PG(memory_limit);

	/* A string may need a whole new chunk; so may what else is done. */
	return PG(memory_limit) > 0 &&
	       zend_memory_usage(true) + size + 2 * ZEND_MM_CHUNK_SIZE > limit;
}

/*
 * As zend_string_alloc(), but huge pages are asked for before the head of the
 * string touches the first of them.
 */
static zend_string *
allocate(size_t len)
{
	size_t size = ZEND_MM_ALIGNED_SIZE(_ZSTR_STRUCT_SIZE(len));
	zend_string *string;

	if (size < ZEND_MM_CHUNK_SIZE || !HONE_G(fileread).huge_pages ||
		!is_zend_mm())
		return zend_string_alloc(len, 0);
	/* PHP maps as much for this alone, at a multiple of 2 MiB. */
	string = emalloc(size);
	(void)madvise(string, size, MADV_HUGEPAGE);
	GC_SET_REFCOUNT(string, 1);
	GC_TYPE_INFO(string) = GC_STRING;
	ZSTR_H(string) = 0;
	ZSTR_LEN(string) = len;
	return string;
}

/* If there is no memory PHP leaves by longjmp: not without the descriptor. */
static zend_string *
allocate_or_close(size_t len, int fd)
{
	zend_string *volatile string = NULL;

	zend_try
	{
		string = allocate(len);
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

	if (size >= READ_MAX || memory_is_tight(size)) {
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

/*
 * The whole file, which is closed; or NULL, and then it stands at its
 * beginning for PHP to read.
 */
static zend_always_inline zend_string *
read_whole(int fd)
{
	char small[SMALL];
	struct stat st;

	forget_stat();
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

/* PHP's own stream over a file that is open, as its opener makes it. */
static php_stream *
stream_of(int fd, const zend_string *path)
{
	php_stream *stream = php_stream_fopen_from_fd(fd, "rb", NULL);

	stream->wrapper = &php_plain_files_wrapper;
	stream->orig_path = estrndup(ZSTR_VAL(path), ZSTR_LEN(path));
	return stream;
}

static zend_string *
rest_of(php_stream *stream)
{
	zend_string *string =
		php_stream_copy_to_mem(stream, PHP_STREAM_COPY_ALL, 0);

	php_stream_close(stream);
	return string != NULL ? string : ZSTR_EMPTY_ALLOC();
}

/* The arguments from the second on are absent or say what they say then. */
static bool
rest_is_default(zend_execute_data *execute_data)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();

	return n <= 5 && Z_TYPE(arg[1]) == IS_FALSE &&
	       (n < 3 || Z_TYPE(arg[2]) == IS_NULL) &&
	       (n < 4 || (Z_TYPE(arg[3]) == IS_LONG && Z_LVAL(arg[3]) == 0)) &&
	       (n < 5 || Z_TYPE(arg[4]) == IS_NULL);
}

bool
hone_file_get_contents(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	zend_string *contents;
	php_stream *stream;
	int fd;

	if (ZEND_NUM_ARGS() == 0 || Z_TYPE_P(arg) != IS_STRING ||
		(ZEND_NUM_ARGS() > 1 && !rest_is_default(execute_data)))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!is_plain(Z_STR_P(arg)) || (fd = open_path(Z_STR_P(arg))) < 0)
		return false;
	contents = read_whole(fd);
	if (contents != NULL) {
		take_numbers();
		ZVAL_STR(result, contents);
		HONE_G(fileread).taken[HONE_FILE_GET_CONTENTS]++;
		return true;
	}
	(void)php_stream_context_from_zval(NULL, 0);
	stream = stream_of(fd, Z_STR_P(arg));
	php_stream_set_option(stream, PHP_STREAM_OPTION_READ_BUFFER,
		PHP_STREAM_BUFFER_NONE, NULL);
	ZVAL_STR(result, rest_of(stream));
	return true;
}
