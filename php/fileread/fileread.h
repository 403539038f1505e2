/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_H
#define PHP_HONE_FILEREAD_H
/*
 * PHP's functions that read whole files, with fewer system calls.
 *
 * handlers.c wraps the handlers of these functions when the module starts. A
 * call for a plain local file takes the fast path here. Every other call falls
 * back to the handler that was there before, and so does every error that is
 * found before anything has happened. A file that turns out odd after it was
 * opened continues in PHP's own stream code, on the same descriptor.
 * docs/design/php-files.md has the reasons.
 *
 * A call with a path takes these steps, each in a file of its own:
 *
 *	accept.c	may the path take the fast path?
 *	known.c		its entry in PHP's realpath cache
 *	open.c		open it by that entry; or PHP opens it
 *	whole.c		read it into one string
 *	resume.c	PHP continues with what is open
 *
 * contents.c, output.c and copy.c have the functions, which call these steps in
 * this order. stream.c has the functions that are given a stream. memory.c
 * serves all of them.
 */
#include "../php_hone.h"
#include "ext/standard/file.h"
#include "ext/standard/php_filestat.h"

void php_hone_fileread_minit(int type);
void php_hone_fileread_rinit(void);
void php_hone_fileread_mshutdown(void);
void php_hone_fileread_minfo(void);

/*
 * The fast paths. Return true if the call is served; false if it falls back to
 * PHP's own handler, and then nothing has happened.
 */
#define PHP_HONE_FUNCTION(constant, name, after_php)                           \
	bool php_hone_##name(zend_execute_data *execute_data, zval *result);
#include "functions.def"
#undef PHP_HONE_FUNCTION

/* After a copy() by PHP's own handler. */
void php_hone_after_copy(zend_execute_data *execute_data, const zval *result);

/* Counts a call that falls back. Returns false, for the caller to return. */
static zend_always_inline bool
php_hone_fall_back(enum php_hone_reason reason)
{
	HONE_G(fileread).fallen_back[reason]++;
	return false;
}

/* Linux reads at most this at once (MAX_RW_COUNT with pages of 64 KiB). */
#define PHP_HONE_READ_MAX ((size_t)0x7fff0000)

/* What PHP reads at once, unless a script or an extension sets another size. */
#define PHP_HONE_CHUNK ((size_t)8192)

/* A file with fewer bytes is read for output, any other is mapped:
 * bench/php/reads.py, readfile. PHP maps both. */
#define PHP_HONE_UNMAPPED ((size_t)8192)

/* The longest file that every PHP maps and puts out as one piece. From 8.2.36
 * and 8.4.24 on at the latest, PHP puts out longer files as it reads them. */
#define PHP_HONE_ONE_PIECE ((uint64_t)4 << 20)

/* PHP 8.4 drops its last stat() at each read, which changes the time of access.
 */
static zend_always_inline void
php_hone_forget_stat(void)
{
#if PHP_VERSION_ID >= 80400
	php_clear_stat_cache(0, NULL, 0);
#endif
}

/* accept.c: whether the arguments after a path are absent or the defaults of
 * file_get_contents(), whose second is that of readfile() too. */
bool php_hone_rest_is_default(zend_execute_data *execute_data);

/*
 * accept.c: returns true if PHP would use its plain files for this path, and
 * there is memory for a small file. False is counted.
 */
bool php_hone_accepts(const zend_string *path);

/*
 * known.c: the entry of PHP's realpath cache for an accepted path, valid until
 * the next use of the cache. Its `realpath` is the name that PHP opens, even
 * after a symbolic link was changed. *place is set to what the table has about
 * the path.
 *
 * Returns NULL if there is no entry: the file is new to this process, or does
 * not exist. Returns NULL without a search if PHP failed to open the path the
 * last time.
 */
const realpath_cache_bucket *php_hone_known(
	const zend_string *path, struct php_hone_path **place);

/* known.c: records that PHP opened an accepted path, or failed to. */
void php_hone_note_opened(const zend_string *path, bool opened);

/* A file that a call has open, and what was read of it. */
struct php_hone_file {
	int fd;
	/* what the table has about its path */
	struct php_hone_path *place;
	/* the whole file */
	zend_string *contents;
	/* what was read from the front if PHP has to continue */
	size_t head_len;
	char head[PHP_HONE_CHUNK];
};

/* open.c: what happened to a path. */
enum php_hone_open {
	PHP_HONE_OPENED,
	/* PHP's realpath cache has no entry: php_hone_open_by_php() */
	PHP_HONE_OPEN_UNKNOWN,
	/* open() failed, or it is a directory; counted: the call falls back */
	PHP_HONE_OPEN_FAILED,
	/* a signal came while open() waited, for a FIFO. PHP gives up then, and
	 * so does this: the warning is out, and the result is false */
	PHP_HONE_OPEN_REPORTED
};

/* Opens an accepted path for reading: sets fd and place. `context`: whether the
 * call makes the default context. */
enum php_hone_open php_hone_open(
	struct php_hone_file *file, const zend_string *path, bool context);

/*
 * PHP opens a path without an entry in its realpath cache, and reports errors.
 * PHP resolves every folder of the path for this, and should do so only once.
 * Returns NULL if PHP reported an error.
 */
php_stream *php_hone_open_by_php(const zend_string *path, bool context);

/* whole.c: what happened to an open file. */
enum php_hone_whole {
	/* `contents` is the file, which is closed */
	PHP_HONE_WHOLE_READ,
	/* PHP has to continue after `head`; counted */
	PHP_HONE_WHOLE_RESUME,
	/* there might be too little memory: nothing was read, and the file is
	 * closed; counted */
	PHP_HONE_WHOLE_FALL_BACK
};

/* Reads the whole file that php_hone_open() opened. */
enum php_hone_whole php_hone_read_whole(
	struct php_hone_file *file, enum php_hone_function function);

/*
 * PHP makes a default context at the first call, and a stream for each file.
 * Each takes a resource number, and scripts see the number of a later resource.
 * This takes as many.
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

/*
 * resume.c: PHP's own stream on an open file, as PHP's opener makes it, and as
 * if the `len` bytes at `head` were still to be read.
 */
php_stream *php_hone_resume(int fd, const zend_string *path, const char *mode,
	const char *head, size_t len);

/*
 * resume.c: puts bytes that were read from the file of a stream into the
 * stream's buffer, which is empty; PHP_HONE_CHUNK bytes at most.
 */
void php_hone_give_back(php_stream *stream, const char *bytes, size_t len);

/* resume.c: file_get_contents() reads without a buffer, which shows in the
 * sizes that errors name. */
void php_hone_choose_buffer(
	php_stream *stream, enum php_hone_function function);

/* resume.c: the rest of a stream, read by PHP as PHP's `function` reads it. The
 * stream is closed. */
zend_string *php_hone_rest_by_php(
	php_stream *stream, enum php_hone_function function);

/*
 * stream.c: the same by one read, where possible. Returns NULL if there might
 * be too little memory, which is counted: nothing was read, and the stream is
 * open.
 */
zend_string *php_hone_rest(php_stream *stream, enum php_hone_function function);

/*
 * memory.c: returns true if PHP has the memory that a function needs for `size`
 * bytes of a file: PHP neither refuses it, nor collects garbage to make room.
 * False is counted: the call falls back before anything has happened.
 */
bool php_hone_fits(enum php_hone_function function, size_t size);

/*
 * memory.c: as zend_string_alloc(len). The first `used` bytes are going to be
 * filled: huge pages are requested for them if they are worth it, before the
 * head of the string touches the first page. Returns NULL as described above.
 */
zend_string *php_hone_allocate(size_t len, size_t used);

#endif
