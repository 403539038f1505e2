/* SPDX-License-Identifier: BSD-3-Clause */
/* HONE_STREAM_WHOLE_LINES: an unfinished last line stays until the file has the
 * rest, as a reader of a growing log needs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hone/stream.h>
#include "support.h"

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
	struct hone_stream_attr attr;
	struct hone_stream *s;
	int fd;

	*writer = mkstemp(path);
	assert_true(*writer >= 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	hone_stream_attr_init(&attr);
	attr.flags = flags | HONE_STREAM_CLOSE_FD;
	attr.buffer_size = buffer_size;
	assert_int_equal(hone_stream_open_fd(&s, fd, &attr), 0);
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
			assert_int_equal(hone_stream_close(s), 0);
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
	assert_int_equal(hone_stream_close(s), 0);
	close(writer);
}

TEST(without_the_flag_the_last_line_is_taken)
{
	int writer;
	struct hone_stream *s = follow(&writer, 0, 4096);

	append(writer, "one\ntwo");
	line_is(s, "one\n");
	line_is(s, "two");
	assert_int_equal(hone_stream_close(s), 0);
	close(writer);
}

/* Longer than a block of the search, with many stored line ends. */
TEST(memory_has_whole_lines_too)
{
	char text[1000];
	struct hone_stream_attr attr;
	struct hone_stream *s;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 9 == 8 ? '\n' : 'x';
	hone_stream_attr_init(&attr);
	attr.flags = HONE_STREAM_WHOLE_LINES;
	assert_int_equal(
		hone_stream_open_memory(&s, text, sizeof(text), &attr), 0);
	for (size_t i = 0; i < sizeof(text) / 9; i++)
		line_is(s, "xxxxxxxx\n");
	line_is(s, "");
	assert_int_equal(hone_stream_tell(s), sizeof(text) / 9 * 9);
	assert_int_equal(hone_stream_close(s), 0);
}
