/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fread(), stream_get_contents() and fpassthru(), whose argument is a stream.
 * PHP reads 8 KiB at a time into the buffer of the stream, and copies. Here
 * whole chunks are read directly to their destination, and PHP reads the rest.
 * Position, buffer and end of file are then the same as with PHP's own
 * function.
 */
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "fileread.h"

/* Two chunks would save a read and cost an fstat: bench/php/reads.py, fread
 * 20000. */
#define LEAST_CHUNKS 4

/* A stream that is a plain file of PHP, and the number of bytes that can be
 * read without PHP. */
struct plain {
	php_stream *stream;
	int fd;
	dev_t device;
	size_t buffered; /* bytes in the stream's buffer, which come first */
	size_t left;     /* bytes of the file after them, by fstat() */
	/* the size is smaller than the position: a file of /proc, or a stream
	 * that was moved past the end */
	bool past;
};

/* Puts bytes that were read from the file of a stream into the stream's empty
 * buffer. */
static void
give_back(php_stream *stream, const char *bytes, size_t len)
{
	if (stream->readbuf == NULL) {
		stream->readbuflen = MAX(stream->chunk_size, PHP_HONE_CHUNK);
		stream->readbuf =
			pemalloc(stream->readbuflen, stream->is_persistent);
	}
	ZEND_ASSERT(stream->readpos == stream->writepos &&
		    len <= stream->readbuflen);
	memcpy(stream->readbuf, bytes, len);
	stream->readpos = 0;
	stream->writepos = (zend_off_t)len;
}

/* Whether a stream is PHP's own plain file, with only PHP's own buffer between
 * the file and the reader. */
static bool
is_plain(const php_stream *stream)
{
	return stream->ops == &php_stream_stdio_ops &&
	       php_hone_same_streams() &&
	       stream->wrapper == &php_plain_files_wrapper &&
	       stream->readfilters.head == NULL && stream->ctx == NULL &&
	       stream->stdiocast == NULL &&
	       (stream->flags &
		       (PHP_STREAM_FLAG_NO_BUFFER | PHP_STREAM_FLAG_NO_SEEK |
			       PHP_STREAM_FLAG_IS_DIR)) == 0 &&
	       /* With a buffer of another length, PHP's reads are not of one
		* chunk each. */
	       stream->chunk_size > 1 &&
	       (stream->readbuf == NULL ||
		       stream->readbuflen == stream->chunk_size);
}

/* NULL if the resource is not a stream. */
static php_stream *
stream_of(const zval *arg)
{
	const zend_resource *resource = Z_RES_P(arg);

	if (resource->type != php_file_le_stream() &&
		resource->type != php_file_le_pstream())
		return NULL;
	return resource->ptr;
}

/* Sets *plain for a stream, which may be NULL. If the stream is not a plain
 * regular file, counts the reason and returns false. */
static bool
plain_of(struct plain *plain, php_stream *stream)
{
	struct stat st;
	zend_off_t left;

	if (stream == NULL || !is_plain(stream))
		return php_hone_fall_back(PHP_HONE_REASON_STREAM);
	plain->stream = stream;
	plain->buffered = (size_t)(stream->writepos - stream->readpos);
	if (stream->ops->cast(stream, PHP_STREAM_AS_FD, (void **)&plain->fd) !=
			SUCCESS ||
		fstat(plain->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return php_hone_fall_back(PHP_HONE_REASON_KIND);
	left = st.st_size - stream->position - (zend_off_t)plain->buffered;
	if (stream->position < 0 ||
		(left <= 0 && stream->chunk_size != PHP_HONE_CHUNK))
		return php_hone_fall_back(PHP_HONE_REASON_SHORT);
	plain->left = left > 0 ? (size_t)left : 0;
	plain->past = left < 0;
	plain->device = st.st_dev;
	return true;
}

/*
 * Reads at the end of a file, with an empty buffer, exactly as PHP does.
 * Returns true if read() returned 0. Returns false if bytes came, which are
 * then in the buffer, or if the read failed. PHP's next read then fails in the
 * same way.
 */
static bool
is_at_end(const struct plain *plain)
{
	char chunk[PHP_HONE_CHUNK];
	ssize_t got = read(plain->fd, chunk, sizeof chunk);

	php_hone_forget_stat();
	if (got > 0)
		give_back(plain->stream, chunk, (size_t)got);
	if (got == 0)
		plain->stream->eof = 1;
	return got == 0;
}

/*
 * Copies the buffer of the stream to `to`, and then reads n bytes from the
 * file. Returns the number of bytes, which is smaller if the file has changed.
 * PHP's next read then has the same result as without this function.
 */
static size_t
read_straight(const struct plain *plain, char *to, size_t n)
{
	php_stream *stream = plain->stream;
	ssize_t got;

	if (plain->buffered > 0)
		php_stream_read(stream, to, plain->buffered);
	if (n == 0)
		return plain->buffered;
	got = read(plain->fd, to + plain->buffered, n);
	php_hone_forget_stat();
	if (got < 0)
		return plain->buffered;
	stream->position += got;
	return plain->buffered + (size_t)got;
}

/* The number of wanted bytes that are in whole chunks of the file. */
static size_t
whole_chunks(const struct plain *plain, size_t wanted)
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

/* Reads the rest of the file to `to`, which has room for one byte more.
 * Returns true if the file ended there. */
static bool
read_to_end(const struct plain *plain, char *to, size_t *len)
{
	if (plain->left == 0) {
		*len = read_straight(plain, to, 0);
		return is_at_end(plain);
	}
	*len = read_straight(plain, to, plain->left + 1);
	if (*len != plain->buffered + plain->left)
		return false;
	plain->stream->eof = 1;
	return true;
}

/* Reads up to `wanted` bytes, `straight` of them in whole chunks; 0: the file
 * has fewer than `wanted`. NULL: the first read failed, or no memory. */
static zend_string *
read_some(const struct plain *plain, size_t wanted, size_t straight)
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
		len = read_straight(plain, ZSTR_VAL(string), straight);
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

/* PHP's own first read, of a chunk. If there is less, this read is half of
 * PHP's work, and fstat() would cost more than it saves. Returns true if the
 * file may have more than a chunk. */
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
	struct plain plain;
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
	stream = stream_of(arg);
	/* The buffer of PHP has the length of a chunk. */
	if (stream != NULL &&
		!php_hone_fits(PHP_HONE_FREAD, wanted + stream->chunk_size))
		return false;
	/* A string of 2 MiB gets its huge pages before anything is read. */
	if (stream != NULL && is_plain(stream) &&
		stream->writepos == stream->readpos &&
		wanted < ZEND_MM_CHUNK_SIZE && !first_chunk(stream, result)) {
		php_hone_fall_back(PHP_HONE_REASON_SHORT);
		return stream->writepos == stream->readpos;
	}
	if (!plain_of(&plain, stream))
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
read_all(const struct plain *plain, enum php_hone_function function)
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
	struct plain plain;
	zend_string *string;

	if (n < 1 || n > 3 || Z_TYPE(arg[0]) != IS_RESOURCE ||
		(n > 1 && Z_TYPE(arg[1]) != IS_NULL) ||
		(n > 2 && (Z_TYPE(arg[2]) != IS_LONG || Z_LVAL(arg[2]) != -1)))
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	if (!plain_of(&plain, stream_of(arg)))
		return false;
	string = read_all(&plain, PHP_HONE_STREAM_GET_CONTENTS);
	if (string == NULL)
		return false;
	ZVAL_STR(result, string);
	HONE_G(fileread).taken[PHP_HONE_STREAM_GET_CONTENTS]++;
	return true;
}

/* file_get_contents() reads without a buffer, which affects the sizes in error
 * messages. */
static void
choose_buffer(php_stream *stream, enum php_hone_function function)
{
	if (function == PHP_HONE_FILE_GET_CONTENTS)
		php_stream_set_option(stream, PHP_STREAM_OPTION_READ_BUFFER,
			PHP_STREAM_BUFFER_NONE, NULL);
}

zend_string *
php_hone_rest_by_php(php_stream *stream, enum php_hone_function function)
{
	zend_string *string;

	choose_buffer(stream, function);
	string = php_stream_copy_to_mem(stream, PHP_STREAM_COPY_ALL, 0);
	php_stream_close(stream);
	return string != NULL ? string : ZSTR_EMPTY_ALLOC();
}

zend_string *
php_hone_rest(php_stream *stream, enum php_hone_function function)
{
	struct plain plain;
	zend_string *string;

	if (!plain_of(&plain, stream))
		return php_hone_rest_by_php(stream, function);
	choose_buffer(stream, function);
	string = read_all(&plain, function);
	if (string != NULL) {
		HONE_G(fileread).taken[function]++;
		php_stream_close(stream);
	}
	return string;
}

/* Whether every regular file on the filesystem can be mapped. On others
 * (filesystems of the kernel, some of FUSE), PHP reads a file that cannot be
 * mapped, and sees its end. A device number may be reused, but hardly within a
 * request. */
static bool
can_be_mapped(const struct plain *plain)
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

/* Outputs the rest of a stream as one piece, if PHP would have mapped the same
 * bytes. */
static bool
put_out_rest(const struct plain *plain, zval *result)
{
	char small[PHP_HONE_UNMAPPED];
	size_t size = plain->buffered + plain->left;
	zend_off_t position = plain->stream->position;

	/* PHP's loop begins with this test. */
	if (size == 0) {
		ZVAL_LONG(result, 0);
		return plain->stream->eof || is_at_end(plain);
	}
	if (plain->past || size >= sizeof small ||
		(uint64_t)position + size > PHP_HONE_ONE_PIECE ||
		!can_be_mapped(plain) ||
		pread(plain->fd, small, size, position) != (ssize_t)size)
		return false;
	ZVAL_LONG(result, php_hone_write_all(small, size));
	return true;
}

/*
 * If the rest of a file begins at a page, PHP maps the rest, and moves the
 * stream to the end afterwards. A small rest is read here instead.
 */
bool
php_hone_fpassthru(zend_execute_data *execute_data, zval *result)
{
	zval *arg = ZEND_CALL_ARG(execute_data, 1);
	struct plain plain;
	php_stream *stream;

	if (ZEND_NUM_ARGS() != 1 || Z_TYPE_P(arg) != IS_RESOURCE)
		return php_hone_fall_back(PHP_HONE_REASON_ARGUMENTS);
	stream = stream_of(arg);
	/* A filter of written data also prevents PHP from mapping. */
	if (stream != NULL && php_stream_is_filtered(stream))
		return php_hone_fall_back(PHP_HONE_REASON_STREAM);
	if (stream != NULL && stream->position % getpagesize() != 0)
		return php_hone_fall_back(PHP_HONE_REASON_SHORT);
	if (!plain_of(&plain, stream))
		return false;
	if (!put_out_rest(&plain, result))
		return php_hone_fall_back(PHP_HONE_REASON_SHORT);
	/* A callback of ob_start() may have closed the stream. A seek at the
	 * end would clear PHP's flag of the end of the file. */
	if (plain.buffered + plain.left > 0 && stream_of(arg) == stream)
		php_stream_seek(stream,
			(zend_off_t)(plain.buffered + plain.left), SEEK_CUR);
	HONE_G(fileread).taken[PHP_HONE_FPASSTHRU]++;
	return true;
}

/* Step 5 of a call with a path. */
php_stream *
php_hone_resume(int fd, const zend_string *path, const char *mode,
	const char *head, size_t len)
{
	php_stream *stream = php_stream_fopen_from_fd(fd, mode, NULL);

	stream->wrapper = &php_plain_files_wrapper;
	stream->orig_path = estrndup(ZSTR_VAL(path), ZSTR_LEN(path));
	if (len > 0) {
		give_back(stream, head, len);
		/* PHP has set the position to that of the file, which is after
		 * these bytes. */
		if (stream->position > 0)
			stream->position -= (zend_off_t)len;
	}
	return stream;
}
