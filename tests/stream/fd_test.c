/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams over files, pipes and devices: which system calls they make, and what
 * happens if calls fail. The linker redirects the calls to this file: it
 * records them, and makes them unless they are to fail.
 */
#include <poll.h>
#include <hone/stream.h>
#include "support.h"

static struct {
	/* the descriptor whose calls are recorded */
	int fd;
	char log[1024];
	/* call number fails_at, from 1, fails */
	int n, fails_at, error;
	/* a read returns this many bytes at most; 0: any number */
	size_t cap;
} calls;

/* Returns true if this call is to fail. */
static bool
called(int fd, const char *what, long long n)
{
	size_t used = strlen(calls.log);

	if (fd != calls.fd)
		return false;
	if (used + 40 < sizeof(calls.log)) /* the sweeps make many */
		(void)snprintf(calls.log + used, sizeof(calls.log) - used,
			n < 0 ? "%s%s" : "%s%s %lld", used ? " " : "", what, n);
	errno = calls.error;
	return ++calls.n == calls.fails_at;
}

STANDS_FOR(ssize_t, read, int fd, void *buf, size_t n)
{
	if (called(fd, "read", (long long)n))
		return -1;
	if (fd == calls.fd && calls.cap && n > calls.cap)
		n = calls.cap;
	return __real_read(fd, buf, n);
}

STANDS_FOR(off_t, lseek, int fd, off_t offset, int whence)
{
	return called(fd, "lseek", offset) ? -1
					   : __real_lseek(fd, offset, whence);
}

STANDS_FOR(off_t, lseek64, int fd, off_t offset, int whence)
{
	return called(fd, "lseek", offset) ? -1
					   : __real_lseek64(fd, offset, whence);
}

STANDS_FOR(int, close, int fd)
{
	bool fails = called(fd, "close", -1);
	int error = errno, result;

	result = __real_close(fd);
	errno = error;
	return fails ? -1 : result;
}

/* Waits for a moment at most; returns whether it had to wait. */
STANDS_FOR(int, ppoll, struct pollfd *fds, nfds_t n,
	const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec moment = {0, 1000000};
	const char *what = "poll for ever";

	if (timeout)
		what = timeout->tv_sec || timeout->tv_nsec ? "poll until"
							   : "poll";
	if (called(fds->fd, what, -1))
		return -1;
	return __real_ppoll(fds, n, &moment, mask);
}

static void
saw(const char *log)
{
	assert_string_equal(calls.log, log);
	calls.log[0] = '\0';
}

/* From here on the calls on this descriptor are recorded. */
static void
watch(int fd)
{
	memset(&calls, 0, sizeof(calls));
	calls.fd = fd;
}

static char content[700000];

/* An open, unlinked file of n bytes of content. */
static int
file_of(size_t n)
{
	char path[] = "stream-fd-XXXXXX";
	int fd = mkstemp(path);

	watch(-1);
	assert_true(fd >= 0);
	assert_ok(unlink(path));
	assert_int_equal(write(fd, content, n), n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static struct hone_stream *
opened(int fd, unsigned flags)
{
	struct hone_stream_attr attr = {.flags = flags};
	struct hone_stream *s;

	watch(fd);
	assert_ok(hone_stream_open_fd(&s, fd, &attr));
	saw("");
	return s;
}

static void
reads(struct hone_stream *s, size_t n, ptrdiff_t got, const char *log)
{
	static char buf[sizeof(content) + 1];

	assert_int_equal(hone_stream_read(s, buf, n), got);
	saw(log);
}

TEST(a_large_file_of_known_size_is_one_read)
{
	int fd = file_of(sizeof(content));
	struct hone_stream *s = opened(fd, HONE_STREAM_CLOSE_FD);
	char *buf = malloc(sizeof(content));

	assert_int_equal(
		hone_stream_read(s, buf, sizeof(content)), sizeof(content));
	assert_memory_equal(buf, content, sizeof(content));
	free(buf);
	saw("read 700000");
	reads(s, 1, 0, "read 65536");
	assert_ok(hone_stream_close(s));
	saw("close");
}

TEST(a_short_read_of_a_file_proves_its_end)
{
	int fd = file_of(12);
	struct hone_stream *s = opened(fd, 0);

	reads(s, 20, 12, "read 65536");
	assert_true(hone_stream_eof(s));
	reads(s, 1, 0, "");
	/* but it may grow */
	assert_int_equal(write(fd, "more", 4), 4);
	assert_int_equal(__real_lseek(fd, 12, SEEK_SET), 12);
	reads(s, 1, 0, "");
	hone_stream_clear_eof(s);
	reads(s, 20, 4, "read 65536");
	reads(s, 1, 0, "");
	assert_int_equal(hone_stream_seek(s, 13, SEEK_SET), 13);
	saw("lseek 0");
	reads(s, 3, 3, "");
	assert_int_equal(hone_stream_seek(s, 10, SEEK_SET), 10);
	saw("lseek 10");
	reads(s, 20, 6, "read 65536");
	assert_ok(hone_stream_close(s));
	saw("");
	s = opened(fd, HONE_STREAM_EXACT);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), 0);
	saw("lseek 0");
	reads(s, 20, 16, "read 65536 read 65536");
	reads(s, 1, 0, "read 65536");
	assert_ok(hone_stream_close(s));
	assert_ok(close(fd));
}

/* As FUSE with direct_io and /proc may do. */
TEST(a_short_read_before_the_end_proves_nothing)
{
	int fd = file_of(1000);
	struct hone_stream *s = opened(fd, HONE_STREAM_CLOSE_FD);

	calls.cap = 600;
	reads(s, 1001, 1000, "read 65536 read 65536");
	reads(s, 1, 0, "");
	assert_ok(hone_stream_close(s));
	/* it may have begun anywhere, so it reads again */
	fd = file_of(1000);
	assert_int_equal(lseek(fd, 500, SEEK_SET), 500);
	s = opened(fd, HONE_STREAM_CLOSE_FD);
	reads(s, 1001, 500, "read 65536 read 65536");
	assert_ok(hone_stream_close(s));
	/* it shrank */
	fd = file_of(1000);
	s = opened(fd, HONE_STREAM_CLOSE_FD);
	assert_ok(ftruncate(fd, 300));
	reads(s, 1001, 300, "read 65536 read 65536");
	assert_ok(hone_stream_close(s));
	/* no size */
	fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	s = opened(fd, HONE_STREAM_CLOSE_FD);
	calls.cap = 10;
	reads(s, 12, 12, "read 65536 read 65536");
	assert_ok(hone_stream_close(s));
}

/* Each call fails once, in each way; no byte is lost. */
TEST(faults_cost_no_byte)
{
	const int errors[] = {EINTR, EIO, EAGAIN};

	for (int at = 1; at <= 20; at++) {
		for (int e = 0; e < 3; e++) {
			int fd = file_of(10000), failed = 0;
			struct hone_stream_attr attr = {1000, 500, 0, {0}};
			size_t have = 0;
			struct hone_stream *s;
			char buf[3000];

			assert_ok(hone_stream_open_fd(&s, fd, &attr));
			watch(fd);
			calls.fails_at = at;
			calls.error = errors[e];
			calls.cap = 700;
			while (have < 10000) {
				size_t n = 1 + have * 7 % 2900;
				ptrdiff_t got = hone_stream_read(s, buf, n);

				assert_true(got != 0);
				if (got < 0) {
					assert_int_equal(got, -errors[e]);
					failed++;
					continue;
				}
				assert_memory_equal(
					buf, content + have, (size_t)got);
				have += (size_t)got;
			}
			assert_true(calls.n > 14);
			/* bytes before a passing error may hide it */
			if (errors[e] != EAGAIN)
				assert_int_equal(failed,
					errors[e] == EIO && at <= calls.n);
			assert_ok(hone_stream_close(s));
			watch(-1);
			assert_ok(close(fd));
		}
	}
}

TEST(pipes_are_waited_for_only_if_that_must_end)
{
	struct hone_stream *s;
	int fds[2];

	assert_ok(pipe(fds));
	s = opened(fds[0], 0);
	assert_int_equal(write(fds[1], "123456", 6), 6);
	reads(s, 2, 2, "read 65536");
	reads(s, 4, 4, "");
	/* an absolute time in the past: what is available is read */
	hone_stream_set_deadline(s, 1);
	assert_int_equal(write(fds[1], "123456", 6), 6);
	reads(s, 4, 4, "poll read 65536");
	reads(s, 4, 2, "poll");
	reads(s, 4, -ETIMEDOUT, "poll");
	hone_stream_set_deadline(s, INT64_MAX - 1);
	reads(s, 4, -ETIMEDOUT, "poll until");
	hone_stream_set_deadline(s, INT64_MAX);
	/* the descriptor does not block, the stream waits */
	assert_ok(fcntl(fds[0], F_SETFL, O_NONBLOCK));
	calls.fails_at = calls.n + 2;
	calls.error = EINTR;
	reads(s, 4, -ETIMEDOUT,
		"read 65536 poll for ever read 65536 poll for ever");
	assert_ok(close(fds[1]));
	reads(s, 4, 0, "read 65536");
	reads(s, 4, 0, "");
	assert_int_equal(hone_stream_seek(s, 0, SEEK_CUR), -ESPIPE);
	assert_int_equal(hone_stream_tell(s), 12);
	assert_int_equal(hone_stream_skip(s, 1 << 20), 0);
	assert_ok(hone_stream_close(s));
	saw("");
	assert_ok(close(fds[0]));
}

TEST(a_stream_that_never_waits_says_so)
{
	struct hone_stream *s;
	const char *line;
	int fds[2];

	assert_ok(pipe(fds));
	s = opened(fds[0], HONE_STREAM_NONBLOCK | HONE_STREAM_CLOSE_FD);
	reads(s, 1, -EAGAIN, "poll");
	assert_int_equal(write(fds[1], "12\n3", 4), 4);
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), 3);
	saw("poll read 65536");
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), -EAGAIN);
	saw("poll");
	assert_int_equal(write(fds[1], "4\n", 2), 2);
	/* another process takes the bytes after the poll */
	calls.fails_at = calls.n + 2;
	calls.error = EAGAIN;
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), -EAGAIN);
	saw("poll read 65536");
	assert_int_equal(hone_stream_read_line(s, &line, '\n', 100), 3);
	assert_memory_equal(line, "34\n", 3);
	saw("poll read 65536");
	assert_ok(close(fds[1]));
	reads(s, 1, 0, "poll read 65536");
	assert_ok(hone_stream_close(s));
}

TEST(what_is_no_use_is_refused_and_stays_open)
{
	struct hone_stream_attr attr = {.flags = HONE_STREAM_CLOSE_FD};
	struct hone_stream *s = NULL;
	int fd = open(".", O_RDONLY | O_CLOEXEC);

	assert_int_equal(hone_stream_open_fd(&s, fd, &attr), -EISDIR);
	attr.flags |= 0x8000;
	assert_int_equal(hone_stream_open_fd(&s, fd, NULL), -EISDIR);
	assert_ok(close(fd));
	assert_int_equal(hone_stream_open_fd(&s, fd, NULL), -EBADF);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(hone_stream_open_fd(&s, fd, &attr), -EINVAL);
	assert_null(s);
	attr.flags = HONE_STREAM_CLOSE_FD;
	assert_ok(hone_stream_open_fd(&s, fd, &attr));
	assert_int_equal(hone_stream_read_some(s, content, 1), -EBADF);
	watch(fd);
	calls.fails_at = 1;
	calls.error = EINTR;
	assert_ok(hone_stream_close(s));
	saw("close");
	fd = file_of(1);
	s = opened(fd, HONE_STREAM_CLOSE_FD);
	calls.fails_at = 1;
	calls.error = EIO;
	assert_int_equal(hone_stream_close(s), -EIO);
	saw("close");
	assert_ok(hone_stream_close(NULL));
}

/* Character devices: some have a position, most only report one. */

#define SMALL 10
/* past a buffer of the default size */
#define LARGE 100000

static struct hone_stream *
device_opened(const char *path, unsigned flags)
{
	struct hone_stream_attr attr = {.flags = flags | HONE_STREAM_CLOSE_FD};
	struct hone_stream *s;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_ok(hone_stream_open_fd(&s, fd, &attr));
	return s;
}

static void
without_a_position_bytes_are_counted(const char *path, unsigned flags)
{
	static char buf[LARGE];
	struct hone_stream *s = device_opened(path, flags);

	assert_int_equal(hone_stream_read(s, buf, SMALL), SMALL);
	assert_int_equal(hone_stream_tell(s), SMALL);
	assert_int_equal(hone_stream_seek(s, 1, SEEK_CUR), -ESPIPE);
	assert_int_equal(hone_stream_skip(s, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), SMALL + LARGE);
	assert_int_equal(hone_stream_read(s, buf, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), SMALL + 2 * LARGE);
	assert_ok(hone_stream_close(s));
}

TEST(a_device_without_a_position_counts)
{
	without_a_position_bytes_are_counted("/dev/zero", 0);
	without_a_position_bytes_are_counted("/dev/zero", HONE_STREAM_EXACT);
	without_a_position_bytes_are_counted("/dev/urandom", 0);
}

/* Past the buffer, so that no byte is in it when the position is requested. */
TEST(what_went_past_the_buffer_counts)
{
	static char buf[LARGE];
	struct hone_stream *s = device_opened("/dev/zero", 0);

	assert_int_equal(hone_stream_read(s, buf, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), LARGE);
	assert_ok(hone_stream_close(s));
}

/* The skip finds out that it cannot seek. */
TEST(a_device_without_a_position_is_skipped_by_reads)
{
	static char buf[LARGE];
	struct hone_stream *s = device_opened("/dev/zero", 0);

	assert_int_equal(hone_stream_read(s, buf, LARGE), LARGE);
	assert_int_equal(hone_stream_skip(s, LARGE), LARGE);
	assert_int_equal(hone_stream_tell(s), 2 * LARGE);
	assert_ok(hone_stream_close(s));
}

/* /dev/zero answers each seek with 0. */
TEST(the_device_decides_where_a_seek_ends)
{
	char buf[SMALL];

	for (unsigned flags = 0; flags <= HONE_STREAM_EXACT; flags++) {
		struct hone_stream *s = device_opened("/dev/zero", flags);

		assert_int_equal(hone_stream_seek(s, SMALL, SEEK_SET), 0);
		assert_int_equal(hone_stream_read(s, buf, SMALL), SMALL);
		assert_int_equal(hone_stream_tell(s), SMALL);
		assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), 0);
		assert_int_equal(hone_stream_seek(s, 0, SEEK_CUR), 0);
		assert_int_equal(hone_stream_tell(s), 0);
		assert_ok(hone_stream_close(s));
	}
}

TEST(a_terminal_has_no_position)
{
	struct hone_stream *s;

	if (access("/dev/ptmx", R_OK) != 0) {
		print_message("# skipped: no /dev/ptmx here\n");
		skip();
	}
	s = device_opened("/dev/ptmx", 0);
	assert_int_equal(hone_stream_tell(s), 0);
	assert_int_equal(hone_stream_seek(s, 0, SEEK_SET), -ESPIPE);
	assert_ok(hone_stream_close(s));
}

TEST(an_empty_device_is_at_its_end)
{
	char byte;
	struct hone_stream *s = device_opened("/dev/null", 0);

	assert_int_equal(hone_stream_skip(s, LARGE), 0);
	assert_int_equal(hone_stream_read(s, &byte, 1), 0);
	assert_int_equal(hone_stream_tell(s), 0);
	assert_true(hone_stream_eof(s));
	assert_ok(hone_stream_close(s));
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)(i % 251);
	return run_all_tests(NULL, NULL);
}
