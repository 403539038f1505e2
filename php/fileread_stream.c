/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that are given a stream. PHP reads 8 KiB at a time into the
 * stream's buffer and copies; here whole chunks go straight to where they are
 * wanted, and PHP reads the rest: position, buffer and end of file are then
 * what they would have been.
 */
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "fileread_plain.h"

/* Two save a read and cost an fstat: bench/php_reads.py, fread 20000. */
#define LEAST_CHUNKS 4

/* Bytes in whole chunks, of those that are wanted from the file itself. */
static size_t
whole_chunks(const struct hone_fileread_plain *plain, size_t wanted)
{
	size_t n = wanted > plain->buffered ? wanted - plain->buffered : 0;

	if (n > plain->behind)
		n = plain->behind;
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

/*
 * What is left, for an fread() that wants more than that, in `to`. True if it
 * ended there, as PHP sees when its last read gets nothing.
 */
static bool
read_to_end(const struct hone_fileread_plain *plain, char *to, size_t *len)
{
	if (plain->behind == 0) {
		*len = hone_fileread_straight(plain, to, 0);
		return hone_fileread_at_end(plain);
	}
	*len = hone_fileread_straight(plain, to, plain->behind + 1);
	if (*len != plain->buffered + plain->behind)
		return false;
	plain->stream->eof = 1;
	return true;
}

/*
 * Up to `wanted` bytes as fread() gives them, `straight` of them in whole
 * chunks; 0: there are fewer. NULL: the read failed, or there is no memory,
 * before anything was read.
 */
static zend_string *
read_some(
	const struct hone_fileread_plain *plain, size_t wanted, size_t straight)
{
	zend_string *string = hone_fileread_allocate(
		wanted, straight > 0 ? straight : plain->behind);
	ssize_t more;
	size_t len;

	if (string == NULL)
		return NULL;
	if (straight == 0) {
		if (read_to_end(plain, ZSTR_VAL(string), &len))
			return cut(string, len);
	} else {
		len = hone_fileread_straight(plain, ZSTR_VAL(string), straight);
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
 * PHP's own first read, of a chunk to its buffer: at the end of a file, and
 * where there is less than a chunk, that is half of what PHP does, and fstat()
 * would only cost. True if there may be more than a chunk.
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
hone_fread(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	struct hone_fileread_plain plain;
	php_stream *stream;
	zend_string *string;
	size_t wanted, straight;
	bool to_end;

	if (ZEND_NUM_ARGS() != 2 || Z_TYPE(arg[0]) != IS_RESOURCE ||
		Z_TYPE(arg[1]) != IS_LONG)
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	/* Most calls are for one chunk, and not worth a look. */
	if (Z_LVAL(arg[1]) < LEAST_CHUNKS * (zend_long)HONE_FILEREAD_CHUNK)
		return hone_fileread_pass(HONE_PASS_SHORT);
	wanted = (size_t)Z_LVAL(arg[1]);
	stream = hone_fileread_stream_of(arg);
	/* PHP's buffer has the length of a chunk. */
	if (stream != NULL &&
		!hone_fileread_fits(HONE_FREAD, wanted + stream->chunk_size))
		return false;
	/* Huge pages are asked for before anything is read. */
	if (stream != NULL && hone_fileread_is_plain_stream(stream) &&
		stream->writepos == stream->readpos &&
		wanted < ZEND_MM_CHUNK_SIZE && !first_chunk(stream, result)) {
		hone_fileread_pass(HONE_PASS_SHORT);
		return stream->writepos == stream->readpos;
	}
	if (!hone_fileread_know(&plain, stream))
		return false;
	to_end = wanted > plain.buffered + plain.behind;
	straight = to_end ? 0 : whole_chunks(&plain, wanted);
	if (!to_end && straight < LEAST_CHUNKS * plain.stream->chunk_size)
		return hone_fileread_pass(HONE_PASS_SHORT);
	string = read_some(&plain, wanted, straight);
	if (string == NULL) {
		ZVAL_FALSE(result);
		hone_fileread_pass(HONE_PASS_CHANGED);
		return true;
	}
	ZVAL_STR(result, string);
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
	zend_string *whole;

	whole = HONE_FILEREAD_REALLOC(string, len + more);
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

/* The same from a file that told nothing more than is in the buffer. */
static zend_string *
read_buffered(const struct hone_fileread_plain *plain)
{
	zend_string *string = plain->buffered > 0
				      ? zend_string_alloc(plain->buffered, 0)
				      : ZSTR_EMPTY_ALLOC();

	hone_fileread_straight(plain, ZSTR_VAL(string), 0);
	if (!hone_fileread_at_end(plain))
		return with_rest(plain->stream, string, plain->buffered);
	if (plain->buffered > 0)
		ZSTR_VAL(string)[plain->buffered] = '\0';
	return string;
}

/* Everything up to the end; NULL: there might not be memory for it. */
static zend_string *
read_all(const struct hone_fileread_plain *plain,
	enum hone_fileread_function function)
{
	size_t size = plain->buffered + plain->behind, len;
	zend_string *string;

	/* PHP's buffer has the length of a chunk. */
	if (!hone_fileread_fits(function, size + plain->stream->chunk_size))
		return NULL;
	if (plain->behind == 0)
		return read_buffered(plain);
	string = hone_fileread_allocate(size, size);
	if (string == NULL)
		return ZSTR_EMPTY_ALLOC();
	/* One more than there is, to the place of the zero byte behind. */
	len = hone_fileread_straight(
		plain, ZSTR_VAL(string), plain->behind + 1);
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
	struct hone_fileread_plain plain;
	zend_string *string;

	if (n < 1 || n > 3 || Z_TYPE(arg[0]) != IS_RESOURCE ||
		(n > 1 && Z_TYPE(arg[1]) != IS_NULL) ||
		(n > 2 && (Z_TYPE(arg[2]) != IS_LONG || Z_LVAL(arg[2]) != -1)))
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	if (!hone_fileread_know(&plain, hone_fileread_stream_of(arg)))
		return false;
	string = read_all(&plain, HONE_STREAM_GET_CONTENTS);
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
	struct hone_fileread_plain plain;
	zend_string *string;

	if (!hone_fileread_know(&plain, stream))
		return hone_fileread_by_php(stream, function);
	choose_buffer(stream, function);
	string = read_all(&plain, function);
	if (string != NULL) {
		HONE_G(fileread).taken[function]++;
		php_stream_close(stream);
	}
	return string;
}

/*
 * True on filesystems on which every regular file can be mapped. Of others PHP
 * reads those that cannot, and sees their end: of the kernel's own, and some of
 * FUSE. Devices get their number again, but hardly within a request.
 */
static bool
can_be_mapped(const struct hone_fileread_plain *plain)
{
	struct statfs st;

	if (HONE_G(fileread).device == plain->device && plain->device != 0)
		return true;
	if (fstatfs(plain->fd, &st) < 0)
		return false;
	switch (st.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
		HONE_G(fileread).device = plain->device;
		return true;
	default:
		return false;
	}
}

/* One piece of output, if PHP would have mapped as much. */
static bool
put_out(const struct hone_fileread_plain *plain, zval *result)
{
	char small[HONE_FILEREAD_UNMAPPED];
	size_t size = plain->buffered + plain->behind;
	zend_off_t position = plain->stream->position;

	/* PHP's loop, which begins with that question. */
	if (size == 0) {
		ZVAL_LONG(result, 0);
		return plain->stream->eof || hone_fileread_at_end(plain);
	}
	if (plain->past || size >= sizeof small ||
		(uint64_t)position + size > HONE_FILEREAD_ONE_PIECE ||
		!can_be_mapped(plain) ||
		pread(plain->fd, small, size, position) != (ssize_t)size)
		return false;
	ZVAL_LONG(result, hone_fileread_write(small, size));
	return true;
}

/*
 * PHP maps the rest of a file if it begins at a page, and moves the stream
 * behind it afterwards. What is small is read here instead.
 */
bool
hone_fpassthru(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	struct hone_fileread_plain plain;
	php_stream *stream;

	if (ZEND_NUM_ARGS() != 1 || Z_TYPE_P(arg) != IS_RESOURCE)
		return hone_fileread_pass(HONE_PASS_ARGUMENTS);
	stream = hone_fileread_stream_of(arg);
	/* A filter of what is written keeps PHP from mapping, too. */
	if (stream != NULL && php_stream_is_filtered(stream))
		return hone_fileread_pass(HONE_PASS_STREAM);
	if (stream != NULL && stream->position % getpagesize() != 0)
		return hone_fileread_pass(HONE_PASS_SHORT);
	if (!hone_fileread_know(&plain, stream))
		return false;
	if (!put_out(&plain, result))
		return hone_fileread_pass(HONE_PASS_SHORT);
	/* A callback of ob_start() may have closed it; and to seek at the end
	 * would make PHP forget that it is there. */
	if (plain.buffered + plain.behind > 0 &&
		hone_fileread_stream_of(arg) == stream)
		php_stream_seek(stream,
			(zend_off_t)(plain.buffered + plain.behind), SEEK_CUR);
	HONE_G(fileread).taken[HONE_FPASSTHRU]++;
	return true;
}
