/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stream returns, whatever its source, buffer and mode are. */
#include <hone/stream.h>
#include "read_files_support.h"
#include "support.h"

/* Allocation number fails_at of the library or of this file fails; 0: none. */
static int n_allocations, fails_at;

STANDS_FOR(void *, malloc, size_t size)
{
	return ++n_allocations == fails_at ? NULL : __real_malloc(size);
}

STANDS_FOR(int, posix_memalign, void **memory, size_t alignment, size_t size)
{
	if (++n_allocations == fails_at)
		return ENOMEM;
	return __real_posix_memalign(memory, alignment, size);
}

/* A source of the caller: a block of memory, in pieces. */
struct block {
	const char *data;
	size_t size, position;
	/* most bytes that a read returns */
	size_t piece;
};

static ptrdiff_t
read_block(void *source, void *buf, size_t n)
{
	struct block *b = source;
	size_t left = b->size - b->position;

	if (left > b->piece)
		left = b->piece;
	if (n > left)
		n = left;
	memcpy(buf, b->data + b->position, n);
	b->position += n;
	return (ptrdiff_t)n;
}

static const struct hone_stream_ops block_ops = {.read = read_block};

static struct hone_stream *
opened(struct block *b, size_t buffer_size, unsigned flags)
{
	struct hone_stream_attr attr = {buffer_size, SIZE_MAX, flags, {0}};
	struct hone_stream *s;

	assert_ok(hone_stream_open_ops(&s, &block_ops, b, &attr));
	return s;
}

TEST(defaults_are_what_the_header_says)
{
	struct hone_stream_attr attr;
	struct hone_stream *s = NULL;

	memset(&attr, 0xff, sizeof(attr));
	hone_stream_attr_init(&attr);
	assert_int_equal(attr.buffer_size, 65536);
	assert_int_equal(attr.bypass_size, 32768);
	assert_int_equal(attr.flags, 0);
	for (size_t i = 0; i < 4; i++)
		assert_null(attr.reserved[i]);
	attr.buffer_size = (size_t)HONE_STREAM_BUFFER_MAX + 1;
	assert_int_equal(hone_stream_open_memory(&s, "", 1, &attr), -EINVAL);
	attr.buffer_size = HONE_STREAM_BUFFER_MAX;
	attr.flags = 16;
	assert_int_equal(hone_stream_open_memory(&s, "", 1, &attr), -EINVAL);
	assert_null(s);
	attr.flags = 7;
	assert_ok(hone_stream_open_memory(&s, "", 1, &attr));
	assert_ok(hone_stream_close(s));
}

TEST(memory_is_looked_at_where_it_lies)
{
	static const char text[] = "first\nsecond\nlast";
	struct hone_stream *s;
	const void *data;
	const char *line;
	char buf[20];

	assert_ok(hone_stream_open_memory(&s, text, 17, NULL));
	assert_int_equal(hone_stream_peek(s, &data, 100), 17);
	assert_ptr_equal(data, text);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), 6);
	assert_ptr_equal(line, text);
	assert_int_equal(hone_stream_tell(s), 6);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 6), -EMSGSIZE);
	assert_int_equal(hone_stream_skip(s, 100), 11);
	assert_true(hone_stream_eof(s));
	hone_stream_clear_eof(s);
	assert_true(hone_stream_eof(s));
	assert_int_equal(hone_stream_read(s, buf, 20), 0);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), 0);
	assert_int_equal(hone_stream_seek(s, -4, SEEK_END), 13);
	assert_false(hone_stream_eof(s));
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 4), 4);
	assert_ptr_equal(line, text + 13);
	assert_int_equal(hone_stream_seek(s, 1, SEEK_CUR), -EINVAL);
	assert_int_equal(hone_stream_seek(s, -18, SEEK_END), -EINVAL);
	assert_int_equal(hone_stream_seek(s, INT64_MAX, SEEK_END), -EOVERFLOW);
	assert_int_equal(hone_stream_seek(s, 18, SEEK_SET), -EINVAL);
	assert_int_equal(hone_stream_seek(s, 0, 7), -EINVAL);
	assert_int_equal(hone_stream_tell(s), 17);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), 0);
	assert_int_equal(hone_stream_read(s, buf, 20), 17);
	assert_memory_equal(buf, text, 17);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), 0);
	assert_ok(hone_stream_set_buffer(s, 1, 1));
	assert_int_equal(hone_stream_read_some(s, buf, 20), 17);
	assert_ok(hone_stream_close(s));
	assert_ok(hone_stream_open_memory(&s, NULL, 0, NULL));
	assert_true(hone_stream_eof(s));
	assert_int_equal(hone_stream_read(s, NULL, 0), 0);
	assert_int_equal(hone_stream_read_line(s, &line, 0, 1), 0);
	assert_int_equal(hone_stream_peek(s, &data, 1), 0);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_END), 0);
	assert_ok(hone_stream_close(s));
}

/* Bytes that are read after each line. */
static size_t between;

static void
assert_lines_of(struct hone_stream *s, const char *text, size_t size, int end)
{
	char buf[UINT8_MAX];
	const char *line;
	size_t at = 0;

	while (at < size) {
		const char *found = memchr(text + at, end, size - at);
		size_t n = found ? (size_t)(found - text) + 1 - at : size - at;
		size_t left = size - at - n;

		/* longer than what is allowed, then exactly as long as
		 * allowed */
		if (n > 1)
			assert_int_equal(
				hone_stream_read_line(s, &line, end, n - 1),
				-EMSGSIZE);
		assert_int_equal(hone_stream_read_line(
					 s, &line, end, at % 2 ? SIZE_MAX : n),
			n);
		assert_memory_equal(line, text + at, n);
		at += n;
		n = left < between ? left : between;
		assert_int_equal(hone_stream_read(s, buf, n), n);
		if (n > 0)
			assert_memory_equal(buf, text + at, n);
		at += n;
		assert_int_equal(hone_stream_tell(s), at);
	}
	assert_int_equal(hone_stream_read_line(s, &line, end, 1), 0);
	assert_true(hone_stream_eof(s));
	assert_ok(hone_stream_close(s));
}

/* Each line of text in memory, and with any buffer and in any pieces. */
static void
assert_lines(const char *text, size_t size, int end, size_t buffer_size,
	size_t piece, unsigned flags)
{
	struct block b = {text, size, 0, piece};
	struct hone_stream_attr attr = {buffer_size, SIZE_MAX, flags, {0}};
	struct hone_stream *s;

	assert_lines_of(opened(&b, buffer_size, flags), text, size, end);
	assert_ok(hone_stream_open_memory(&s, text, size, &attr));
	assert_lines_of(s, text, size, end);
}

TEST(lines_are_found_in_random_text)
{
	static const unsigned char ends[] = {'\n', 0, 0x7f, 0xff};
	static const size_t most[] = {8, 300, 3000};
	uint64_t random = support_seed();
	static char text[20000];

	for (int round = 0; round < 300; round++) {
		unsigned char end = ends[round % 4];
		size_t size = support_below(&random, round % 7 ? 3000 : 20000);
		size_t rare = 1 + support_below(&random, most[round % 3]);

		/* the other bytes differ by their top bit */
		for (size_t i = 0; i < size; i++)
			text[i] =
				(char)(support_below(&random, rare) ? end ^ 0x80
								    : end);
		if (support_below(&random, 2))
			between = support_below(&random, UINT8_MAX);
		assert_lines(text, size, end,
			round % 5 ? 1 + support_below(&random, 1280) : 65536,
			round % 3 ? 1 + support_below(&random, 800) : SIZE_MAX,
			(unsigned)support_below(&random, 2));
		between = 0;
	}
}

/* Every allocation fails once; then the call is repeated and all is there. */
TEST(without_memory_nothing_is_lost)
{
	static char text[30000];
	int at = 0;

	memset(text, 'x', sizeof(text));
	text[20000] = '\n';
	do {
		struct block b = {text, sizeof(text), 0, 700};
		struct hone_stream_attr attr = {64, SIZE_MAX, 0, {0}};
		struct hone_stream *s = NULL;
		const char *line;
		const void *data;
		ptrdiff_t got;
		char byte;

		n_allocations = 0;
		fails_at = ++at;
		if (hone_stream_open_ops(&s, &block_ops, &b, &attr)) {
			assert_int_equal(at, 1);
			assert_null(s);
			continue;
		}
		got = hone_stream_read(s, &byte, 1);
		if (got == -ENOMEM)
			got = hone_stream_read(s, &byte, 1);
		assert_int_equal(got, 1);
		got = hone_stream_read_line(s, &line, '\n', SIZE_MAX);
		if (got == -ENOMEM)
			got = hone_stream_read_line(s, &line, '\n', SIZE_MAX);
		assert_int_equal(got, 20000);
		assert_memory_equal(line, text + 1, 20000);
		got = hone_stream_peek(s, &data, SIZE_MAX);
		if (got == -ENOMEM)
			got = hone_stream_peek(s, &data, SIZE_MAX);
		assert_int_equal(got, sizeof(text) - 20001);
		assert_ok(hone_stream_close(s));
	} while (n_allocations >= fails_at);
	fails_at = 0;
	assert_true(at > 5);
}

/* Attributes by named initializers alone: what they leave out has its default.
 * And what a descriptor with O_DIRECT gets. */

DIRECTORY_TEST(a_file_is_read_with_a_flag_alone)
{
	const struct hone_read_attr attr = {.flags = HONE_READ_NOFOLLOW};
	struct hone_file_data file;
	int fd;

	make_file("file", 70000);
	assert_ok(symlink("file", "link"));
	assert_int_equal(hone_read_file(&file, "link", &attr), -ELOOP);
	is_read("file", &attr, 70000);
	fd = open("file", O_RDONLY | O_CLOEXEC);
	rest_is_read(fd, &attr, 70000);
	close(fd);
}

DIRECTORY_TEST(a_limit_alone_is_kept_to)
{
	const struct hone_read_attr attr = {.limit = 10};
	struct hone_file_data file;

	make_file("file", 11);
	assert_int_equal(hone_read_file(&file, "file", &attr), -EFBIG);
	make_file("file", 10);
	is_read("file", &attr, 10);
}

/* The directory is not descriptor 0, and only the member of the test is set. */
DONE(check_links)
{
	++*(size_t *)arg;
	assert_int_equal(error, index == 0 ? 0 : -ELOOP);
	if (index == 0)
		assert_content(file, 70000);
	free(file->data);
	return 0;
}

DIRECTORY_TEST(a_batch_is_read_with_a_flag_alone)
{
	static const char *const paths[] = {"file", "link"};
	const struct hone_read_attr attr = {.flags = HONE_READ_NOFOLLOW};
	struct hone_batch_used used;
	const struct hone_batch_attr batch = {
		.flags = HONE_BATCH_PLAIN, .used = &used};
	const struct hone_batch_attr nothing = {0};
	size_t n = 0;

	make_file("file", 70000);
	assert_ok(symlink("file", "link"));
	assert_ok(hone_read_files(paths, 2, &attr, check_links, &n, &batch));
	assert_int_equal(used.plain, 2);
	assert_ok(hone_read_files(paths, 2, &attr, check_links, &n, &nothing));
	assert_int_equal(n, 4);
}

/* Reads of the source, which has no bytes. */
static size_t requested;

static ptrdiff_t
read_nothing(void *source, void *buf, size_t n)
{
	(void)source;
	(void)buf;
	requested = n;
	return 0;
}

static size_t
request_of(const struct hone_stream_attr *attr, size_t n)
{
	static char bytes[70000];
	const struct hone_stream_ops ops = {.read = read_nothing};
	struct hone_stream *stream;

	assert_ok(hone_stream_open_ops(&stream, &ops, NULL, attr));
	assert_int_equal(hone_stream_read(stream, bytes, n), 0);
	assert_ok(hone_stream_close(stream));
	return requested;
}

TEST(a_stream_has_the_sizes_that_are_not_given)
{
	const struct hone_stream_attr flag = {.flags = HONE_STREAM_WHOLE_LINES};
	const struct hone_stream_attr bypass = {.bypass_size = 100};
	const struct hone_stream_attr buffer = {.buffer_size = 500};

	assert_int_equal(request_of(&flag, 32767), 65536);
	assert_int_equal(request_of(&flag, 32768), 32768);
	assert_int_equal(request_of(&bypass, 99), 65536);
	assert_int_equal(request_of(&bypass, 100), 100);
	/* bypass_size 0 beside a size: each read bypasses the buffer */
	assert_int_equal(request_of(&buffer, 1), 1);
}

DIRECTORY_TEST(unaligned_reads_of_a_direct_descriptor_are_not_begun)
{
	struct hone_file_data file = {NULL, 0};
	struct hone_stream *stream = NULL;
	int fd;

	make_file("file", 100000);
	fd = open("file", O_RDONLY | O_CLOEXEC | O_DIRECT);
	if (fd < 0) {
		print_message("# no O_DIRECT here\n");
		skip();
	}
	assert_int_equal(hone_read_fd(&file, fd, NULL), -EINVAL);
	assert_int_equal(hone_stream_open_fd(&stream, fd, NULL), -EINVAL);
	assert_null(file.data);
	assert_null(stream);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_ok(fcntl(fd, F_SETFL, 0));
	rest_is_read(fd, NULL, 100000);
	close(fd);
}

/* There, the flag keeps packets apart. */
TEST(a_pipe_of_packets_is_read)
{
	int ends[2];

	assert_ok(pipe2(ends, O_DIRECT | O_CLOEXEC));
	assert_int_equal(write(ends[1], contents(10), 10), 10);
	close(ends[1]);
	rest_is_read(ends[0], NULL, 10);
	close(ends[0]);
}

/* A reserved member that is not zero is refused, so that a later release may
 * give it a meaning. */

DONE(no_result)
{
	fail_msg("a refused batch calls done()");
	return 0;
}

static void
assert_refused(const struct hone_read_attr *attr)
{
	static const char *const paths[] = {"/dev/null"};
	struct hone_file_data file;

	assert_int_equal(hone_read_file(&file, paths[0], attr), -EINVAL);
	assert_int_equal(hone_read_fd(&file, 0, attr), -EINVAL);
	assert_int_equal(hone_read_files(paths, 1, attr, no_result, NULL, NULL),
		-EINVAL);
}

TEST(attributes_of_a_read_are_checked)
{
	struct hone_read_attr attr;

	for (int i = 0; i < 4; i++) {
		hone_read_attr_init(&attr);
		attr.reserved[i] = &attr;
		assert_refused(&attr);
	}
	hone_read_attr_init(&attr);
	attr.allocate = NULL;
	assert_refused(&attr);
	hone_read_attr_init(&attr);
	attr.resize = NULL;
	assert_refused(&attr);
	hone_read_attr_init(&attr);
	attr.release = NULL;
	assert_refused(&attr);
}

TEST(attributes_of_a_batch_are_checked)
{
	static const char *const paths[] = {"/dev/null"};

	for (int i = 0; i < 4; i++) {
		struct hone_batch_attr attr;

		hone_batch_attr_init(&attr);
		attr.reserved[i] = &attr;
		assert_int_equal(
			hone_read_files(paths, 1, NULL, no_result, NULL, &attr),
			-EINVAL);
	}
}

TEST(attributes_of_a_stream_are_checked)
{
	struct hone_stream_ops ops = {.read = read_nothing};
	struct hone_stream *stream;

	for (int i = 0; i < 4; i++) {
		struct hone_stream_attr attr;

		hone_stream_attr_init(&attr);
		attr.reserved[i] = &attr;
		assert_int_equal(
			hone_stream_open_fd(&stream, 0, &attr), -EINVAL);
		assert_int_equal(
			hone_stream_open_memory(&stream, NULL, 0, &attr),
			-EINVAL);
		assert_int_equal(
			hone_stream_open_ops(&stream, &ops, NULL, &attr),
			-EINVAL);
		ops.reserved[i] = &attr;
		assert_int_equal(
			hone_stream_open_ops(&stream, &ops, NULL, NULL),
			-EINVAL);
		ops.reserved[i] = NULL;
	}
}

TEST(results_are_zero_there)
{
	static const char *const paths[] = {"/dev/null"};
	struct hone_batch_used used;
	struct hone_batch_attr attr;

	memset(&used, 0x5a, sizeof(used));
	hone_batch_attr_init(&attr);
	attr.used = &used;
	assert_ok(hone_read_files(paths, 1, NULL, ignore, NULL, &attr));
	for (size_t i = 0; i < sizeof(used.reserved) / sizeof(size_t); i++)
		assert_int_equal(used.reserved[i], 0);
}

/* HONE_STREAM_WHOLE_LINES: an unfinished last line stays until the file has the
 * rest, as a reader of a growing log needs. */

static void
append(int fd, const char *text)
{
	size_t n = strlen(text);

	assert_int_equal(pwrite(fd, text, n, lseek(fd, 0, SEEK_END)), n);
}

static void
line_is(struct hone_stream *s, const char *expected)
{
	const char *line;
	ptrdiff_t n = hone_stream_read_line(s, &line, '\n', SIZE_MAX);

	assert_int_equal(n, strlen(expected));
	assert_memory_equal(line, expected, n);
}

static struct hone_stream *
follow(int *writer, unsigned flags, size_t buffer_size)
{
	char path[] = "/tmp/hone-lines-XXXXXX";
	struct hone_stream_attr attr = {
		buffer_size, SIZE_MAX, flags | HONE_STREAM_CLOSE_FD, {0}};
	struct hone_stream *s;
	int fd;

	*writer = mkstemp(path);
	assert_true(*writer >= 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_ok(unlink(path));
	assert_ok(hone_stream_open_fd(&s, fd, &attr));
	return s;
}

TEST(an_unfinished_line_stays_until_it_is_whole)
{
	static const size_t sizes[] = {1, 2, 5, 64, 65536};

	for (size_t i = 0; i < 5; i++)
		for (unsigned exact = 0; exact < 2; exact++) {
			int writer;
			struct hone_stream *s = follow(&writer,
				HONE_STREAM_WHOLE_LINES | exact, sizes[i]);

			line_is(s, "");
			append(writer, "one\ntw");
			hone_stream_clear_eof(s);
			line_is(s, "one\n");
			line_is(s, "");
			line_is(s, "");
			assert_false(hone_stream_eof(s));
			append(writer, "o");
			hone_stream_clear_eof(s);
			line_is(s, "");
			append(writer, "\nthree\n");
			hone_stream_clear_eof(s);
			line_is(s, "two\n");
			line_is(s, "three\n");
			line_is(s, "");
			assert_true(hone_stream_eof(s));
			assert_ok(hone_stream_close(s));
			close(writer);
		}
}

TEST(what_is_left_can_be_read)
{
	const char *line;
	char rest[10];
	int writer;
	struct hone_stream *s = follow(&writer, HONE_STREAM_WHOLE_LINES, 4096);

	append(writer, "one\ntwo");
	line_is(s, "one\n");
	line_is(s, "");
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 2), -EMSGSIZE);
	/* another delimiter is searched for from the beginning */
	assert_int_equal(hone_stream_read_line(s, &line, 'w', 10), 2);
	assert_int_equal(hone_stream_read(s, rest, sizeof(rest)), 1);
	assert_int_equal(rest[0], 'o');
	assert_ok(hone_stream_close(s));
	close(writer);
}

TEST(without_the_flag_the_last_line_is_taken)
{
	int writer;
	struct hone_stream *s = follow(&writer, 0, 4096);

	append(writer, "one\ntwo");
	line_is(s, "one\n");
	line_is(s, "two");
	assert_ok(hone_stream_close(s));
	close(writer);
}

/* Longer than a block of the search, with many stored line ends. */
TEST(memory_has_whole_lines_too)
{
	char text[1000];
	struct hone_stream_attr attr = {.flags = HONE_STREAM_WHOLE_LINES};
	struct hone_stream *s;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 9 == 8 ? '\n' : 'x';
	assert_ok(hone_stream_open_memory(&s, text, sizeof(text), &attr));
	for (size_t i = 0; i < sizeof(text) / 9; i++)
		line_is(s, "xxxxxxxx\n");
	line_is(s, "");
	assert_int_equal(hone_stream_tell(s), sizeof(text) / 9 * 9);
	assert_ok(hone_stream_close(s));
}
