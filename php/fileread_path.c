/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a path: whether it is ours to read, and reading it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread_others.h"
#include "ext/standard/file.h"
#include "ext/standard/php_filestat.h"

/* A script may register its own "file", another extension replace PHP's. */
static zend_always_inline bool
wrapper_is_php(void)
{
	if (UNEXPECTED(!hone_fileread_same_files()))
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
	if (!hone_fileread_fits(HONE_FILE_GET_CONTENTS, 0))
		return false;
	if (ZSTR_VAL(path)[0] != '/') {
		/* A scheme ends with one. */
		if (memchr(ZSTR_VAL(path), ':', ZSTR_LEN(path)) != NULL)
			return hone_fileread_pass(HONE_PASS_PATH);
		if (runs_in_phar())
			return hone_fileread_pass(HONE_PASS_PHAR);
	}
	return true;
}

int
hone_fileread_open(const zend_string *path, bool context)
{
	const realpath_cache_bucket *known = hone_fileread_known(path);
	int fd;

	if (known == NULL)
		return HONE_FILEREAD_UNKNOWN;
	if (known->is_dir) {
		hone_fileread_pass(HONE_PASS_KIND);
		return -1;
	}
	fd = open(known->realpath, O_RDONLY);
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

/* If there is no memory, PHP does not leave without closing it. NULL: nor does
 * it leave at once. */
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
	if (string == NULL)
		close(fd);
	return string;
}

/* Another size than it told: PHP reads on behind what came. */
static zend_string *
changed(struct hone_fileread_head *head, ssize_t got)
{
	head->len = got > 0 ? (size_t)got : 0;
	hone_fileread_pass(HONE_PASS_CHANGED);
	return NULL;
}

static zend_string *
read_large(int fd, size_t size, struct hone_fileread_head *head)
{
	zend_string *string;
	ssize_t got;

	string = allocate_or_close(size, fd);
	if (string == NULL)
		return ZSTR_EMPTY_ALLOC();
	/* One more than there is, to the place of the zero byte behind: that
	 * exactly the size comes back proves the end. */
	got = read(fd, ZSTR_VAL(string), size + 1);
	if (got == (ssize_t)size) {
		close(fd);
		ZSTR_VAL(string)[size] = '\0';
		return string;
	}
	if (got > (ssize_t)HONE_FILEREAD_CHUNK) {
		lseek(fd, 0, SEEK_SET);
		got = 0;
	} else if (got > 0) {
		memcpy(head->bytes, ZSTR_VAL(string), (size_t)got);
	}
	zend_string_efree(string);
	return changed(head, got);
}

/*
 * An empty file is one whose size is 0 and that has nothing to read. Of others
 * that say 0 (/proc, one that grows) the first bytes are in `head` then, as
 * many as PHP asks for first.
 */
static zend_string *
read_empty(int fd, struct hone_fileread_head *head)
{
	ssize_t got = read(fd, head->bytes, HONE_FILEREAD_CHUNK);

	if (got == 0) {
		close(fd);
		return ZSTR_EMPTY_ALLOC();
	}
	return changed(head, got);
}

/* A file that says it is regular and what size it has. */
static zend_string *
read_sized(int fd, size_t size, struct hone_fileread_head *head)
{
	ssize_t got;

	if (size == 0)
		return read_empty(fd, head);
	if (size >= HONE_FILEREAD_CHUNK)
		return read_large(fd, size, head);
	got = read(fd, head->bytes, HONE_FILEREAD_CHUNK);
	if (got != (ssize_t)size)
		return changed(head, got);
	close(fd);
	*hone_fileread_was_small() = true;
	return zend_string_init(head->bytes, size, 0);
}

/*
 * A second read that gets nothing says as much as fstat(), and costs less:
 * bench/php_reads.py, file_get_contents 12. PHP reads so too, and once more at
 * the end, which makes a difference to a terminal: hence only what was a
 * regular file the last time.
 */
static zend_string *
read_small(int fd, struct hone_fileread_head *head)
{
	ssize_t got = read(fd, head->bytes, HONE_FILEREAD_CHUNK), more;

	if (got == 0) {
		close(fd);
		return ZSTR_EMPTY_ALLOC();
	}
	if (got > 0 && got < (ssize_t)HONE_FILEREAD_CHUNK) {
		more = read(fd, head->bytes + got,
			HONE_FILEREAD_CHUNK - (size_t)got);
		if (more == 0) {
			close(fd);
			return zend_string_init(head->bytes, (size_t)got, 0);
		}
		if (more > 0)
			got += more;
	}
	*hone_fileread_was_small() = false;
	return changed(head, got);
}

zend_string *
hone_fileread_whole(int *fd, enum hone_fileread_function function,
	struct hone_fileread_head *head)
{
	struct stat st;

	head->len = 0;
	hone_fileread_forget_stat();
	if (*hone_fileread_was_small())
		return read_small(*fd, head);
	if (fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0) {
		hone_fileread_pass(HONE_PASS_KIND);
		return NULL;
	}
	if (hone_fileread_fits(function, (size_t)st.st_size))
		return read_sized(*fd, (size_t)st.st_size, head);
	close(*fd);
	*fd = -1;
	return NULL;
}

void
hone_fileread_give_back(php_stream *stream, const char *bytes, size_t len)
{
	if (stream->readbuf == NULL) {
		stream->readbuflen =
			MAX(stream->chunk_size, HONE_FILEREAD_CHUNK);
		stream->readbuf =
			pemalloc(stream->readbuflen, stream->is_persistent);
	}
	ZEND_ASSERT(stream->readpos == stream->writepos &&
		    len <= stream->readbuflen);
	memcpy(stream->readbuf, bytes, len);
	stream->readpos = 0;
	stream->writepos = (zend_off_t)len;
}

php_stream *
hone_fileread_stream(int fd, const zend_string *path, const char *mode,
	const struct hone_fileread_head *head)
{
	php_stream *stream = php_stream_fopen_from_fd(fd, mode, NULL);

	stream->wrapper = &php_plain_files_wrapper;
	stream->orig_path = estrndup(ZSTR_VAL(path), ZSTR_LEN(path));
	if (head != NULL && head->len > 0) {
		hone_fileread_give_back(stream, head->bytes, head->len);
		/* PHP asked the file where it stands. */
		if (stream->position > 0)
			stream->position -= (zend_off_t)head->len;
	}
	return stream;
}
