/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fread() and stream_get_contents(), whose argument is a stream. PHP reads 8
 * KiB at a time into the buffer of the stream, and copies. Here whole chunks
 * are read directly to their destination, and PHP reads the rest. Position,
 * buffer and end of file are then the same as with PHP's own function.
 */
#include <unistd.h>
#include "fileread.h"

/* Two chunks would save a read and cost an fstat: bench/php/reads.py, fread
 * 20000. */
#define LEAST_CHUNKS 4

/* The number of wanted bytes that are in whole chunks of the file. */
static size_t
whole_chunks(const struct php_hone_plain *plain, size_t wanted)
{
	size_t n = wanted > plain->buffered ? wanted - plain->buffered : 0;

	if (n > plain->left)
		n = plain->left;
	return n - n % plain->stream->chunk_size;
}

/* Cuts a string as PHP cuts the result of a read. */
static zend_string *
cut(zend_string *string, size_t len)
{
	size_t requested = ZSTR_LEN(string);

	ZSTR_LEN(string) = len;
	ZSTR_VAL(string)[len] = '\0';
	return len < requested / 2 ? zend_string_truncate(string, len, 0)
				   : string;
}

/*
 * Reads the rest of the file to `to`, for a call that requests more bytes. The
 * place of a string's zero byte has room for one byte more than the file has.
 * Returns true if the file ended there. PHP notices the end when its last read
 * returns nothing.
 */
static bool
read_to_end(const struct php_hone_plain *plain, char *to, size_t *len)
{
	if (plain->left == 0) {
		*len = php_hone_read_straight(plain, to, 0);
		return php_hone_is_at_end(plain);
	}
	*len = php_hone_read_straight(plain, to, plain->left + 1);
	if (*len != plain->buffered + plain->left)
		return false;
	plain->stream->eof = 1;
	return true;
}

/*
 * Reads up to `wanted` bytes as fread() returns them, `straight` of them in
 * whole chunks. straight is 0 if the file has fewer than `wanted` bytes.
 * Returns NULL if the first read failed or memory is exhausted.
 */
static zend_string *
read_some(const struct php_hone_plain *plain, size_t wanted, size_t straight)
{
	zend_string *string = php_hone_allocate(
		wanted, straight > 0 ? straight : plain->left);
	ssize_t more;
	size_t len;

	if (string == NULL)
		return NULL;
	if (straight == 0) {
		if (read_to_end(plain, ZSTR_VAL(string), &len))
			return cut(string, len);
	} else {
		len = php_hone_read_straight(plain, ZSTR_VAL(string), straight);
	}
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

/*
 * PHP's own first read, of a chunk into its buffer. At the end of a file, or
 * with less than a chunk left, this read is half of PHP's work, and fstat()
 * would cost more than it saves. Returns true if the file may have more than a
 * chunk.
 */
static bool
first_chunk(php_stream *stream, zval *result)
{
	if (php_stream_fill_read_buffer(stream, stream->chunk_size) != SUCCESS)
		ZVAL_FALSE(result);
	else if (stream->writepos == stream->readpos)
		ZVAL_EMPTY_STRING(result);
	return stream->writepos - stream->readpos >=
	       (zend_off_t)stream->chunk_size;
}

bool
php_hone_fread(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	struct php_hone_plain plain;
	php_stream *stream;
	zend_string *string;
	size_t wanted, straight;
	bool to_end;

	if (ZEND_NUM_ARGS() != 2 || Z_TYPE(arg[0]) != IS_RESOURCE ||
		Z_TYPE(arg[1]) != IS_LONG)
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	/* Most calls request one chunk, and fall back before the stream is
	 * examined. */
	if (Z_LVAL(arg[1]) < LEAST_CHUNKS * (zend_long)PHP_HONE_CHUNK)
		return php_hone_fall_back(PHP_HONE_REASON_SHORT);
	wanted = (size_t)Z_LVAL(arg[1]);
	stream = php_hone_stream_of(arg);
	/* The buffer of PHP has the length of a chunk. */
	if (stream != NULL &&
		!php_hone_fits(PHP_HONE_FREAD, wanted + stream->chunk_size))
		return false;
	/* A string of 2 MiB gets its huge pages before anything is read. */
	if (stream != NULL && php_hone_is_plain(stream) &&
		stream->writepos == stream->readpos &&
		wanted < ZEND_MM_CHUNK_SIZE && !first_chunk(stream, result)) {
		php_hone_fall_back(PHP_HONE_REASON_SHORT);
		return stream->writepos == stream->readpos;
	}
	if (!php_hone_plain_of(&plain, stream))
		return false;
	to_end = wanted > plain.buffered + plain.left;
	straight = to_end ? 0 : whole_chunks(&plain, wanted);
	if (!to_end && straight < LEAST_CHUNKS * plain.stream->chunk_size)
		return php_hone_fall_back(PHP_HONE_REASON_SHORT);
	string = read_some(&plain, wanted, straight);
	if (string == NULL) {
		ZVAL_FALSE(result);
		php_hone_fall_back(PHP_HONE_REASON_CHANGED);
		return true;
	}
	ZVAL_STR(result, string);
	HONE_G(fileread).taken[PHP_HONE_FREAD]++;
	return true;
}

/* The file did not end at its size: PHP reads the rest. */
static zend_string *
with_rest(php_stream *stream, zend_string *string, size_t len)
{
	zend_string *rest =
		php_stream_copy_to_mem(stream, PHP_STREAM_COPY_ALL, 0);
	size_t more = rest != NULL ? ZSTR_LEN(rest) : 0;
	zend_string *whole;

	whole = PHP_HONE_REALLOC(string, len + more);
	if (whole != NULL) {
		string = whole;
		memcpy(ZSTR_VAL(string) + len, more > 0 ? ZSTR_VAL(rest) : "",
			more);
		ZSTR_VAL(string)[len + more] = '\0';
	}
	if (rest != NULL)
		zend_string_release(rest);
	return string;
}

/* Everything up to the end. Returns NULL if memory might not be enough. */
static zend_string *
read_all(const struct php_hone_plain *plain, enum php_hone_function function)
{
	size_t size = plain->buffered + plain->left, len;
	zend_string *string;

	/* The buffer of PHP has the length of a chunk. */
	if (!php_hone_fits(function, size + plain->stream->chunk_size))
		return NULL;
	string = size > 0 ? php_hone_allocate(size, size) : ZSTR_EMPTY_ALLOC();
	if (string == NULL)
		return ZSTR_EMPTY_ALLOC();
	if (!read_to_end(plain, ZSTR_VAL(string), &len))
		return with_rest(plain->stream, string, len);
	if (size > 0)
		ZSTR_VAL(string)[size] = '\0';
	return string;
}

bool
php_hone_stream_get_contents(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	uint32_t n = ZEND_NUM_ARGS();
	struct php_hone_plain plain;
	zend_string *string;

	if (n < 1 || n > 3 || Z_TYPE(arg[0]) != IS_RESOURCE ||
		(n > 1 && Z_TYPE(arg[1]) != IS_NULL) ||
		(n > 2 && (Z_TYPE(arg[2]) != IS_LONG || Z_LVAL(arg[2]) != -1)))
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	if (!php_hone_plain_of(&plain, php_hone_stream_of(arg)))
		return false;
	string = read_all(&plain, PHP_HONE_STREAM_GET_CONTENTS);
	if (string == NULL)
		return false;
	ZVAL_STR(result, string);
	HONE_G(fileread).taken[PHP_HONE_STREAM_GET_CONTENTS]++;
	return true;
}

zend_string *
php_hone_rest(php_stream *stream, enum php_hone_function function)
{
	struct php_hone_plain plain;
	zend_string *string;

	if (!php_hone_plain_of(&plain, stream))
		return php_hone_rest_by_php(stream, function);
	php_hone_choose_buffer(stream, function);
	string = read_all(&plain, function);
	if (string != NULL) {
		HONE_G(fileread).taken[function]++;
		php_stream_close(stream);
	}
	return string;
}
