/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_H
#define PHP_HONE_FILEREAD_H
/*
 * PHP's functions that read whole files, with fewer system calls.
 *
 * handlers.c wraps the handlers of these functions when the module starts. A
 * call for a plain local file takes the fast path here. Every other call falls
 * back to the original handler. A call also falls back after an error, if the
 * error comes before any effect. If an open file does not have the expected
 * kind or size, PHP's own stream code continues on the same descriptor.
 * docs/design/php-files.md has the reasons.
 *
 * A call with a path takes these steps:
 *
 *	path.c		1. whether the path may take the fast path
 *			2. its entry in PHP's realpath cache
 *			3. opens the path by this entry, or by PHP
 *	contents.c	4. reads the file into one string
 *	stream.c	5. PHP continues with the open file
 *
 * contents.c, output.c and copy.c have the functions with a path, stream.c
 * those whose argument is a stream.
 */
#include "../php_hone.h"
#include "ext/standard/file.h"
#include "ext/standard/php_filestat.h"

void php_hone_fileread_minit(int type);
void php_hone_fileread_rinit(void);
void php_hone_fileread_mshutdown(void);
void php_hone_fileread_minfo(void);

/*
 * The fast paths. Return true if the call is complete. Return false, without
 * any effect, if the call falls back to PHP's own handler.
 */
#define PHP_HONE_FUNCTION(constant, name)                                      \
	bool php_hone_##name(zend_execute_data *execute_data, zval *result);
#include "functions.def"
#undef PHP_HONE_FUNCTION

/* Counts a call that falls back. Returns false, for the caller to return. */
static zend_always_inline bool
php_hone_fall_back(enum php_hone_reason reason)
{
	HONE_G(fileread).fallen_back[reason]++;
	return false;
}

/* PHP reads this many bytes at once, unless a script or an extension sets
 * another size. */
#define PHP_HONE_CHUNK ((size_t)8192)

/* For output, a file with fewer bytes is read, and a larger file is mapped:
 * bench/php/reads.py, readfile. PHP maps both. */
#define PHP_HONE_UNMAPPED ((size_t)8192)

/* The longest file that every version of PHP maps and outputs as one piece. PHP
 * 8.2.36, 8.4.24 and later output longer files as they read them. */
#define PHP_HONE_ONE_PIECE ((uint64_t)4 << 20)

/* PHP 8.4 discards its cached stat() at each read, because a read changes the
 * time of access. */
static zend_always_inline void
php_hone_forget_stat(void)
{
#if PHP_VERSION_ID >= 80400
	php_clear_stat_cache(0, NULL, 0);
#endif
}

/*
 * PHP makes a default context at the first call, and a stream for each file.
 * Each of them takes a resource number. Scripts see the numbers of later
 * resources, so this function takes the same count of numbers.
 */
static zend_always_inline void
php_hone_take_numbers(zend_long streams, bool context)
{
	HashTable *list = &EG(regular_list);

	if (context)
		(void)php_stream_context_from_zval(NULL, 0);
	if (list->nNextFreeElement == 0)
		list->nNextFreeElement = 1;
	list->nNextFreeElement += streams;
}

/* ---- handlers.c ---- */

/* PHP's operations when the module started, only read afterwards. */
extern const php_stream_wrapper_ops *php_hone_wrapper_ops;
extern php_stream_ops php_hone_stream_ops;

/*
 * Whether the operations that a read may call are unchanged. Compares one by
 * one and inline: memcmp() costs 10 ns more (bench/php/reads.py, fread 12 of
 * 64k wanted). `write` is left out: phpdbg replaces it for the output of the
 * script, and no read calls it.
 */
static zend_always_inline bool
php_hone_same_streams(void)
{
	const php_stream_ops *now = &php_stream_stdio_ops;
	const php_stream_ops *was = &php_hone_stream_ops;

	return now->read == was->read && now->close == was->close &&
	       now->stat == was->stat && now->seek == was->seek &&
	       now->cast == was->cast && now->set_option == was->set_option &&
	       now->flush == was->flush;
}

/* ---- path.c ---- */

/* Whether the arguments after a path are absent or equal the defaults of
 * file_get_contents(). The second argument has the same default in
 * readfile(). */
bool php_hone_rest_is_default(zend_execute_data *execute_data);

/* Whether PHP would use its plain files for this path, and memory is enough for
 * a small file. Otherwise counts the reason. */
bool php_hone_accepts(const zend_string *path);

/*
 * The entry of PHP's realpath cache for an accepted path, valid until the next
 * use of the cache. `realpath` of the entry is the name that PHP opens, even
 * after a symbolic link was changed. Sets *place to the entry of the path in
 * the table of known paths.
 *
 * Returns NULL if there is no entry: the file is new to this process, or does
 * not exist. Returns NULL without a search if PHP failed to open the path
 * before.
 */
const realpath_cache_bucket *php_hone_known(
	const zend_string *path, struct php_hone_path **place);

/* Records that PHP opened an accepted path, or failed to. */
void php_hone_note_opened(const zend_string *path, bool opened);

/* The open file of a call, and its contents. */
struct php_hone_file {
	int fd;
	struct php_hone_path *place;
	zend_string *contents; /* the whole file */
	/* the bytes read so far if PHP has to continue */
	size_t head_len;
	char head[PHP_HONE_CHUNK];
};

enum php_hone_open {
	PHP_HONE_OPENED,
	/* PHP's realpath cache has no entry: php_hone_open_by_php() */
	PHP_HONE_OPEN_UNKNOWN,
	/* open() failed, or the path is a directory; counted: the call falls
	 * back */
	PHP_HONE_OPEN_FAILED,
	/* a signal interrupted open(), which waited for a FIFO; as PHP does,
	 * the call has reported a warning, and its result is false */
	PHP_HONE_OPEN_REPORTED
};

/* Opens an accepted path for reading, and sets fd and place. `context`: whether
 * the call makes the default context. */
enum php_hone_open php_hone_open(
	struct php_hone_file *file, const zend_string *path, bool context);

/*
 * PHP opens a path without an entry in its realpath cache, and reports errors.
 * This makes PHP resolve every folder of the path, but only once. Returns NULL
 * if PHP reported an error.
 */
php_stream *php_hone_open_by_php(const zend_string *path, bool context);

/* ---- contents.c ---- */

/*
 * Whether a function can get the memory for `size` bytes of a file without an
 * error and without a garbage collection. Otherwise counts the reason: the call
 * falls back before it has any effect.
 */
bool php_hone_fits(enum php_hone_function function, size_t size);

/*
 * As zend_string_alloc(len). The caller is going to fill the first `used`
 * bytes. If these bytes are many, requests huge pages for them before the
 * header of the string touches the first page. Returns NULL as
 * PHP_HONE_EMALLOC() does.
 */
zend_string *php_hone_allocate(size_t len, size_t used);

/* ---- output.c ---- */

/* Writes all bytes to PHP's output, as PHP does. Returns the number of bytes
 * that PHP accepted. */
size_t php_hone_write_all(const char *data, size_t size);

/* ---- copy.c ---- */

/* After a copy() by PHP's own handler. */
void php_hone_after_copy(zend_execute_data *execute_data, const zval *result);

/* ---- stream.c ---- */

/*
 * PHP's own stream on an open file, as PHP's opener makes it. The stream starts
 * with the `len` bytes at `head`, which were read already.
 */
php_stream *php_hone_resume(int fd, const zend_string *path, const char *mode,
	const char *head, size_t len);

/* PHP reads the rest of a stream as PHP's `function` does. Closes the
 * stream. */
zend_string *php_hone_rest_by_php(
	php_stream *stream, enum php_hone_function function);

/*
 * The same by one read, if possible. Returns NULL if memory might not be
 * enough, which is counted. Then nothing was read, and the stream is open.
 */
zend_string *php_hone_rest(php_stream *stream, enum php_hone_function function);

#endif
