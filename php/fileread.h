/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_H
#define PHP_HONE_FILEREAD_H
/*
 * PHP's functions that read whole files, by fewer system calls.
 *
 * Their handlers are wrapped when the module starts. A call for a plain local
 * file is served here; any other goes to the handler that was there before,
 * and so does every error before anything has happened. What turns out odd
 * only once the file is open goes on in PHP's own stream code, with the
 * descriptor that is open. docs/design/php-files.md has the argument.
 */
#include "php_hone.h"
#include "ext/standard/php_filestat.h"

/* The functions, in the order of phpinfo(). */
enum hone_fileread_function {
	HONE_FILE_GET_CONTENTS,
	HONE_READFILE,
	HONE_FILE,
	HONE_COPY,
	HONE_FREAD,
	HONE_STREAM_GET_CONTENTS,
	HONE_FPASSTHRU,
	HONE_FILEREAD_FUNCTIONS
};

/* Why a call was passed on. fileread.c has the words. */
enum hone_fileread_reason {
	HONE_PASS_OFF,
	HONE_PASS_ARGUMENTS,
	HONE_PASS_PATH,
	HONE_PASS_BASEDIR,
	HONE_PASS_WRAPPER,
	HONE_PASS_PHAR,
	HONE_PASS_STREAM,
	HONE_PASS_SHORT,
	HONE_PASS_OUTPUT,
	HONE_PASS_UNKNOWN,
	HONE_PASS_OPEN,
	HONE_PASS_KIND,
	HONE_PASS_CHANGED,
	HONE_PASS_LARGE,
	HONE_PASS_COPY,
	HONE_PASS_MEMORY,
	HONE_PASS_REASONS
};

void hone_fileread_minit(int type);
void hone_fileread_rinit(void);
void hone_fileread_mshutdown(void);
void hone_fileread_minfo(void);

/* Count a call that was passed on, and say so. */
static zend_always_inline bool
hone_fileread_pass(enum hone_fileread_reason reason)
{
	HONE_G(fileread).passed[reason]++;
	return false;
}

/* Linux never reads more at once (MAX_RW_COUNT with pages of 64 KiB). */
#define HONE_FILEREAD_MAX ((size_t)0x7fff0000)

/* PHP 8.4 forgets what it knows of the last file that was asked about, for
 * reading changes the time of access. */
static zend_always_inline void
hone_fileread_forget_stat(void)
{
#if PHP_VERSION_ID >= 80400
	php_clear_stat_cache(0, NULL, 0);
#endif
}

/*
 * A file of up to that many bytes is read to be put out, a longer one mapped,
 * as PHP does with both: bench/php_reads.py, readfile.
 */
#define HONE_FILEREAD_UNMAPPED ((size_t)8192)

/* The longest file that every PHP maps and puts out as one piece: from 8.2.36
 * and 8.4.24 on at the latest longer ones go out as they are read. */
#define HONE_FILEREAD_ONE_PIECE ((uint64_t)4 << 20)

/* What PHP reads at once, unless a script or an extension sets another size. */
#define HONE_FILEREAD_CHUNK ((size_t)8192)

/* What was read from the front of a file that goes on in PHP's hands. */
struct hone_fileread_head {
	size_t len;
	char bytes[HONE_FILEREAD_CHUNK];
};

/* True if PHP would take this path to its plain files, and so may we. */
bool hone_fileread_is_plain(const zend_string *path);

/*
 * fileread_known.c: what PHP's realpath cache knows of such a path; valid until
 * the cache is used again. `realpath` is the name that PHP opens, even if a
 * symbolic link was changed since. NULL: it is not there, as for a file that is
 * new to this process, or does not exist; or it was not asked, for PHP failed
 * to open the path the last time.
 */
const realpath_cache_bucket *hone_fileread_known(const zend_string *path);

/* To be told when PHP opened such a path, or failed to. */
void hone_fileread_opened(const zend_string *path, bool opened);

/* Whether the path that hone_fileread_known() found last was a regular file of
 * less than a chunk the time before; to be changed. */
bool *hone_fileread_was_small(void);

/*
 * Open such a path to read. HONE_FILEREAD_UNKNOWN if its name is; -1 if that
 * failed, or it is a directory, which is counted; HONE_FILEREAD_TOLD if a
 * signal came while it waited, for a FIFO: PHP gives up then, and has been told
 * so. `context`: whether the call makes the default context.
 */
#define HONE_FILEREAD_UNKNOWN (-2)
#define HONE_FILEREAD_TOLD (-3)
int hone_fileread_open(const zend_string *path, bool context);

/* What is left in a stream, which is closed, as `function` of PHP reads it. */
zend_string *hone_fileread_by_php(
	php_stream *stream, enum hone_fileread_function function);

/* The same; by one read if that can be. NULL: there might be too little memory,
 * which is counted, and nothing was read. */
zend_string *hone_fileread_rest(
	php_stream *stream, enum hone_fileread_function function);

/*
 * The whole file that was opened last, which is closed then; or NULL, which is
 * counted. Then *fd is -1, and the call is PHP's from its beginning, for there
 * might be too little memory; or it stands for PHP behind what is in `head`,
 * where that is not nothing.
 */
zend_string *hone_fileread_whole(int *fd, enum hone_fileread_function function,
	struct hone_fileread_head *head);

/*
 * Stock PHP makes a default context at the first call, and a stream for each
 * file: all take a number, and scripts see what number a later resource gets.
 */
void hone_fileread_take_numbers(zend_long streams, bool context);

/*
 * PHP's own stream over a file that is open, as PHP's opener makes it, and as
 * if `head`, which may be NULL, were still to be read.
 */
php_stream *hone_fileread_stream(int fd, const zend_string *path,
	const char *mode, const struct hone_fileread_head *head);

/*
 * Put into a stream's buffer, which is empty, what was read from its file, for
 * PHP to take from there: HONE_FILEREAD_CHUNK bytes at most.
 */
void hone_fileread_give_back(php_stream *stream, const char *bytes, size_t len);

/* Give all to PHP's output, as PHP does; how much it took. */
size_t hone_fileread_write(const char *data, size_t size);

/*
 * fileread_memory.c: whether PHP has the memory that a function needs for that
 * much of a file, so that it neither refuses it nor collects garbage before it
 * grants it. False, which is counted: the call is PHP's, before anything has
 * happened.
 */
bool hone_fileread_fits(enum hone_fileread_function function, size_t size);

/*
 * Debian's PHP 8.2.36 gives NULL if asked so, and remembers the error, which
 * ends the request when the function has returned. What is asked for in any
 * other way is granted up to twice the limit, and beyond it the process is
 * killed. Other PHPs leave by longjmp.
 */
#ifdef ZEND_HAS_OOM
#define HONE_FILEREAD_EMALLOC(size) femalloc(size, true)
#define HONE_FILEREAD_REALLOC(string, len)                                     \
	zend_string_frealloc(string, len, false, true)
#define HONE_FILEREAD_HAS_OOM() ZEND_HAS_OOM()
#else
#define HONE_FILEREAD_EMALLOC(size) emalloc(size)
#define HONE_FILEREAD_REALLOC(string, len) zend_string_realloc(string, len, 0)
#define HONE_FILEREAD_HAS_OOM() false
#endif

/*
 * As zend_string_alloc(len), but huge pages are asked for if `used` bytes from
 * the front are going to be filled and are worth it; before the head of the
 * string touches the first of them. NULL: as above.
 */
zend_string *hone_fileread_allocate(size_t len, size_t used);

/*
 * The short ways: true if the call is done; false if it is for PHP's own
 * handler, and then nothing has happened.
 */
bool hone_file_get_contents(zend_execute_data *execute_data, zval *result);
bool hone_readfile(zend_execute_data *execute_data, zval *result);
bool hone_file(zend_execute_data *execute_data, zval *result);
bool hone_copy(zend_execute_data *execute_data, zval *result);
bool hone_fread(zend_execute_data *execute_data, zval *result);
bool hone_stream_get_contents(zend_execute_data *execute_data, zval *result);
bool hone_fpassthru(zend_execute_data *execute_data, zval *result);

/* What PHP's own copy() did in the end. */
void hone_copy_passed(zend_execute_data *execute_data, const zval *result);

#endif
