/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that are given a stream. PHP reads 8 KiB at a time into the
 * stream's buffer and copies; here whole chunks go straight to where they are
 * wanted, and PHP reads the rest: position, buffer and end of file are then
 * what they would have been.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fileread.h"
#include "ext/standard/file.h"

/* What PHP reads at once, unless a script sets another size. */
#define CHUNK 8192

/* Two save a read and cost an fstat: bench/php_reads.py, fread 20000. */
#define LEAST_CHUNKS 4

/* php_stream_stdio_ops.read as it was when the module started; only read from
 * then on. */
static ssize_t (*php_plain_read)(php_stream *, char *, size_t);

void
hone_fileread_know_stream(void)
{
	php_plain_read = php_stream_stdio_ops.read;
}

/* A file that is open, and how much of it can be read without PHP. */
struct plain {
	php_stream *stream;
	int fd;
	/* in the stream's buffer, to be taken first */
	size_t buffered;
	/* in the file, behind what is in the buffer */
	size_t behind;
};

/* PHP's own plain file, read by nothing but PHP's own buffer. */
static zend_always_inline bool
is_plain_stream(const php_stream *stream)
{
	return stream->ops == &php_stream_stdio_ops &&
	       stream->ops->read == php_plain_read &&
	       stream->wrapper == &php_plain_files_wrapper &&
	       stream->readfilters.head == NULL && stream->ctx == NULL &&
	       stream->stdiocast == NULL &&
	       (stream->flags &
		       (PHP_STREAM_FLAG_NO_BUFFER | PHP_STREAM_FLAG_NO_SEEK |
			       PHP_STREAM_FLAG_IS_DIR)) == 0 &&
	       /* Any other length of the buffer, and PHP's reads are not of
		* one chunk each. */
	       stream->chunk_size > 1 &&
	       (stream->readbuf == NULL ||
		       stream->readbuflen == stream->chunk_size);
}

static zend_always_inline php_stream *
stream_of(const zval *arg)
{
	const zend_resource *resource = Z_RES_P(arg);

	if (resource->type != php_file_le_stream() &&
		resource->type != php_file_le_pstream())
		return NULL;
	return resource->ptr;
}

static zend_always_inline bool
know(struct plain *plain, php_stream *stream)
{
	struct stat st;
	zend_off_t behind;

	if (stream == NULL || !is_plain_stream(stream))
		return hone_fileread_pass(HONE_PASS_STREAM);
	plain->stream = stream;
	plain->buffered = (size_t)(stream->writepos - stream->readpos);
	if (stream->ops->cast(stream, PHP_STREAM_AS_FD, (void **)&plain->fd) !=
			SUCCESS ||
		fstat(plain->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return hone_fileread_pass(HONE_PASS_KIND);
	behind = st.st_size - stream->position - (zend_off_t)plain->buffered;
	if (stream->position < 0 || behind <= 0)
		return hone_fileread_pass(HONE_PASS_SHORT);
	plain->behind = (size_t)behind;
	return true;
}

/*
 * What is in the stream's buffer, and then n bytes from the file itself. How
 * many came; fewer if the file changes, and then PHP's next read will see
 * what PHP would have seen.
 */
static size_t
read_straight(const struct plain *plain, char *to, size_t n)
{
	php_stream *stream = plain->stream;
	ssize_t got;

	if (plain->buffered > 0)
		php_stream_read(stream, to, plain->buffered);
	got = read(plain->fd, to + plain->buffered, n);
	hone_fileread_forget_stat();
	if (got < 0)
		return plain->buffered;
	stream->position += got;
	return plain->buffered + (size_t)got;
}

/* Bytes in whole chunks, of those that are wanted from the file itself. */
static size_t
whole_chunks(const struct plain *plain, size_t wanted)
{
	size_t n = wanted > plain->buffered ? wanted - plain->buffered : 0;

	if (n > plain->behind)
		n = plain->behind;
	if (n > HONE_FILEREAD_MAX)
		n = HONE_FILEREAD_MAX;
	return n - n % plain->stream->chunk_size;
}

/* Cut as PHP cuts what it read. */
static zend_string *
cut(zend_string *string, size_t len)
{
	size_t asked = ZSTR_LEN(string);

	ZSTR_LEN(string) = len;
	ZSTR_VAL(string)[len] = '\0';
	return len < asked / 2 ? zend_string_truncate(string, len, 0) : string;
}

/* Up to `wanted` bytes as fread() gives them; NULL: the read failed. */
static zend_string *
read_some(const struct plain *plain, size_t wanted, size_t straight)
{
	/* PHP's own allocation of the same size, with PHP's own error. */
	zend_string *string = hone_fileread_allocate(wanted, straight);
	size_t len = read_straight(plain, ZSTR_VAL(string), straight);
	ssize_t more;

	if (len == wanted)
		return cut(string, len);
	more = php_stream_read(
		plain->stream, ZSTR_VAL(string) + len, wanted - len);
	if (more < 0 && len == 0) {
		zend_string_efree(string);
		return NULL;
	}
	return cut(string, len + (more > 0 ? (size_t)more : 0));
}

bool
hone_fread(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	struct plain plain;
	zend_string *string;
	size_t straight;

	if (ZEND_NUM_ARGS() != 2 || Z_TYPE(arg[0]) != IS_RESOURCE ||
		Z_TYPE(arg[1]) != IS_LONG)
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	/* Most calls are for one chunk, and not worth a look. */
	if (Z_LVAL(arg[1]) < LEAST_CHUNKS * CHUNK)
		return hone_fileread_pass(HONE_PASS_SHORT);
	if (!know(&plain, stream_of(arg)))
		return false;
	straight = whole_chunks(&plain, (size_t)Z_LVAL(arg[1]));
	if (straight < LEAST_CHUNKS * plain.stream->chunk_size)
		return hone_fileread_pass(HONE_PASS_SHORT);
	string = read_some(&plain, (size_t)Z_LVAL(arg[1]), straight);
	if (string != NULL)
		ZVAL_STR(result, string);
	else
		ZVAL_FALSE(result);
	HONE_G(fileread).taken[HONE_FREAD]++;
	return true;
}

/* A file that did not end where it should have: the rest is PHP's. */
static zend_string *
with_rest(php_stream *stream, zend_string *string, size_t len)
{
	zend_string *rest =
		php_stream_copy_to_mem(stream, PHP_STREAM_COPY_ALL, 0);
	size_t more = rest != NULL ? ZSTR_LEN(rest) : 0;

	string = zend_string_realloc(string, len + more, 0);
	if (more > 0)
		memcpy(ZSTR_VAL(string) + len, ZSTR_VAL(rest), more);
	ZSTR_VAL(string)[len + more] = '\0';
	if (rest != NULL)
		zend_string_release(rest);
	return string;
}

/* Everything up to the end; NULL: there might not be memory for it. */
static zend_string *
read_all(const struct plain *plain)
{
	size_t size = plain->buffered + plain->behind, len;
	zend_string *string;

	if (plain->behind >= HONE_FILEREAD_MAX ||
		hone_fileread_memory_is_tight(size)) {
		hone_fileread_pass(HONE_PASS_MEMORY);
		return NULL;
	}
	string = hone_fileread_allocate(size, size);
	/* One more than there is, to the place of the zero byte behind. */
	len = read_straight(plain, ZSTR_VAL(string), plain->behind + 1);
	if (len != size)
		return with_rest(plain->stream, string, len);
	/* PHP's last read gets nothing, and takes that for the end. */
	plain->stream->eof = 1;
	ZSTR_VAL(string)[size] = '\0';
	return string;
}

bool
hone_stream_get_contents(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	struct plain plain;
	zend_string *string;

	if (n < 1 || n > 3 || Z_TYPE(arg[0]) != IS_RESOURCE ||
		(n > 1 && Z_TYPE(arg[1]) != IS_NULL) ||
		(n > 2 && (Z_TYPE(arg[2]) != IS_LONG || Z_LVAL(arg[2]) != -1)))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!know(&plain, stream_of(arg)))
		return false;
	string = read_all(&plain);
	if (string == NULL)
		return false;
	ZVAL_STR(result, string);
	HONE_G(fileread).taken[HONE_STREAM_GET_CONTENTS]++;
	return true;
}

/* PHP reads so for this function: errors tell how much was asked for. */
static void
choose_buffer(php_stream *stream, enum hone_fileread_function function)
{
	if (function == HONE_FILE_GET_CONTENTS)
		php_stream_set_option(stream, PHP_STREAM_OPTION_READ_BUFFER,
			PHP_STREAM_BUFFER_NONE, NULL);
}

zend_string *
hone_fileread_by_php(php_stream *stream, enum hone_fileread_function function)
{
	zend_string *string;

	choose_buffer(stream, function);
	string = php_stream_copy_to_mem(stream, PHP_STREAM_COPY_ALL, 0);
	php_stream_close(stream);
	return string != NULL ? string : ZSTR_EMPTY_ALLOC();
}

zend_string *
hone_fileread_rest(php_stream *stream, enum hone_fileread_function function)
{
	struct plain plain;
	zend_string *string = NULL;

	if (know(&plain, stream)) {
		choose_buffer(stream, function);
		string = read_all(&plain);
	}
	if (string == NULL)
		return hone_fileread_by_php(stream, function);
	HONE_G(fileread).taken[function]++;
	php_stream_close(stream);
	return string;
}

/* What fpassthru() puts out, read or mapped; false if neither can be. */
static bool
put_out(const struct plain *plain, zval *result)
{
	char small[HONE_FILEREAD_UNMAPPED];
	size_t size = plain->buffered + plain->behind;
	zend_off_t position = plain->stream->position;
	char *mapped;

	if (size < sizeof small) {
		if (pread(plain->fd, small, size, position) != (ssize_t)size)
			return false;
		ZVAL_LONG(result, hone_fileread_write(small, size));
		return true;
	}
	mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, plain->fd, position);
	if (mapped == MAP_FAILED)
		return false;
	ZVAL_LONG(result, hone_fileread_write_mapped(mapped, size));
	return true;
}

/*
 * PHP maps the rest of a file if it begins at a page, and moves the stream
 * behind it afterwards. So does this, but for what is small.
 */
bool
hone_fpassthru(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	struct plain plain;
	php_stream *stream;

	if (ZEND_NUM_ARGS() != 1 || Z_TYPE_P(arg) != IS_RESOURCE)
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	stream = stream_of(arg);
	if (stream != NULL && stream->position % getpagesize() != 0)
		return hone_fileread_pass(HONE_PASS_SHORT);
	if (!know(&plain, stream))
		return false;
	if (!put_out(&plain, result))
		return hone_fileread_pass(HONE_PASS_SHORT);
	/* A callback of ob_start() may have closed it. */
	if (stream_of(arg) == stream)
		php_stream_seek(stream,
			(zend_off_t)(plain.buffered + plain.behind), SEEK_CUR);
	HONE_G(fileread).taken[HONE_FPASSTHRU]++;
	return true;
}
