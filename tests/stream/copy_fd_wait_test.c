/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying where one side has to wait, has gone, or was never there. No call is
 * replaced.
 */
#include <signal.h>
#include "copy_fd_support.h"

static void
set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

/* Take what the reading end of a sink without a thread has. */
static size_t
take(int fd, unsigned char *buf, size_t room)
{
	size_t have;

	set_nonblocking(fd);
	have = read_all(fd, buf, room);
	return have;
}

/* Into a pipe or socket that is full from time to time. */
static void
fills_and_goes_on(int in, bool is_socket)
{
	unsigned char *got = malloc(LARGEST);
	struct hone_copy_fd_result result;
	size_t have = 0;
	int fds[2], turns = 0;
	int64_t answer;

	make_pair(is_socket, fds);
	set_nonblocking(fds[1]);
	do {
		answer = hone_copy_fd(in, fds[1], LARGEST - have, &result);
		assert_int_equal(result.lost, 0);
		assert_true(answer == -EAGAIN ||
			    answer == (int64_t)(LARGEST - have));
		assert_int_equal(take(fds[0], got + have, LARGEST - have),
			result.copied);
		have += result.copied;
		turns++;
	} while (answer == -EAGAIN);
	assert_true(turns > 1);
	assert_int_equal(have, LARGEST);
	assert_memory_equal(got, content, LARGEST);
	free(got);
	close(fds[0]);
	close(fds[1]);
}

TEST(what_does_not_take_more_says_so)
{
	for (int from = FROM_DISK; from <= FROM_PIPE; from++)
		for (int is_socket = 0; is_socket < 2; is_socket++) {
			struct source source;

			if (from == FROM_PROC)
				continue;
			source_open(&source, from, LARGEST);
			fills_and_goes_on(source.fd, is_socket);
			source_close(&source, LARGEST);
		}
}

TEST(what_has_no_more_yet_says_so)
{
	for (int is_socket = 0; is_socket < 2; is_socket++)
		for (int to = 0; to < SINK_KINDS; to++) {
			struct hone_copy_fd_result result;
			struct sink sink;
			int fds[2];

			make_pair(is_socket, fds);
			set_nonblocking(fds[0]);
			sink_open(&sink, to);
			assert_int_equal(
				hone_copy_fd(fds[0], sink.fd, 100, &result),
				-EAGAIN);
			assert_int_equal(result.copied, 0);
			write_exactly(fds[1], content, 60);
			assert_int_equal(
				hone_copy_fd(fds[0], sink.fd, 100, &result),
				-EAGAIN);
			assert_int_equal(result.copied, 60);
			write_exactly(fds[1], content + 60, 40);
			close(fds[1]);
			assert_int_equal(
				hone_copy_fd(fds[0], sink.fd, 100, &result),
				40);
			assert_int_equal(
				hone_copy_fd(fds[0], sink.fd, 100, &result), 0);
			assert_int_equal(result.methods, 0);
			sink_close(&sink, content, 100);
			close(fds[0]);
		}
}

/* Bytes that were read from a socket cannot be put back: the copy waits. */
TEST(between_sockets_it_waits_for_the_reader)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	source_open(&source, FROM_SOCKET, LARGEST);
	sink_open(&sink, TO_SOCKET);
	set_nonblocking(sink.fd);
	assert_int_equal(
		hone_copy_fd(source.fd, sink.fd, LARGEST, &result), LARGEST);
	assert_int_equal(result.lost, 0);
	assert_int_equal(result.methods, HONE_COPY_FD_READ_WRITE);
	sink_close(&sink, content, LARGEST);
	source_close(&source, LARGEST);
}

static volatile sig_atomic_t signals;

static void
count_signal(int signal_number)
{
	(void)signal_number;
	signals++;
}

TEST(a_reader_that_has_gone_is_told_by_signal_and_error)
{
	signal(SIGPIPE, count_signal);
	for (int from = 0; from < SOURCE_KINDS; from++)
		for (int is_socket = 0; is_socket < 2; is_socket++) {
			struct hone_copy_fd_result result;
			struct source source;
			int fds[2];

			signals = 0;
			source_open(&source, from, 10000);
			make_pair(is_socket, fds);
			close(fds[0]);
			assert_int_equal(
				hone_copy_fd(source.fd, fds[1], 10000, &result),
				-EPIPE);
			assert_int_equal(signals, 1);
			assert_int_equal(result.copied, 0);
			if (from <= FROM_PROC)
				assert_int_equal(result.lost, 0);
			close(fds[1]);
			source_close(&source, result.lost);
		}
	signal(SIGPIPE, SIG_DFL);
}

struct nagged {
	pthread_t who;
	int fd;
};

/* Interrupt a thread that waits for bytes, then send them. */
static void *
nag(void *arg)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	struct nagged *nagged = arg;

	for (int i = 0; i < 20; i++) {
		nanosleep(&pause, NULL);
		pthread_kill(nagged->who, SIGUSR1);
	}
	if (write(nagged->fd, content, 1000) != 1000)
		abort();
	close(nagged->fd);
	return NULL;
}

TEST(signals_do_not_end_a_wait)
{
	/* no SA_RESTART: each signal makes the call return EINTR */
	struct sigaction action = {.sa_handler = count_signal}, old;

	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	signals = 0;
	for (int is_socket = 0; is_socket < 2; is_socket++) {
		struct nagged nagged = {.who = pthread_self()};
		pthread_t thread;
		struct sink sink;
		int fds[2];

		make_pair(is_socket, fds);
		nagged.fd = fds[1];
		sink_open(&sink, TO_DISK);
		assert_int_equal(
			pthread_create(&thread, NULL, nag, &nagged), 0);
		assert_int_equal(
			hone_copy_fd(fds[0], sink.fd, UINT64_MAX, NULL), 1000);
		assert_int_equal(pthread_join(thread, NULL), 0);
		sink_close(&sink, content, 1000);
		close(fds[0]);
	}
	assert_true(signals > 0);
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
}

TEST(descriptors_that_are_not_open_for_it_are_refused)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	sink_open(&sink, TO_DISK);
	assert_int_equal(hone_copy_fd(-1, sink.fd, 10, &result), -EBADF);
	assert_int_equal(hone_copy_fd(sink.fd, -1, 10, &result), -EBADF);
	assert_int_equal(hone_copy_fd(-1, -1, 0, &result), 0);
	for (int from = 0; from < SOURCE_KINDS; from++) {
		source_open(&source, from, 1000);
		assert_int_equal(
			hone_copy_fd(source.fd, null, 1000, &result), -EBADF);
		assert_int_equal(result.copied, 0);
		if (from < FROM_SOCKET)
			assert_int_equal(result.lost, 0);
		source_close(&source, result.lost);
	}
	close(null);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(hone_copy_fd(null, sink.fd, 10, &result), -EBADF);
	close(null);
	sink_close(&sink, content, 0);
}

TEST(a_directory_is_no_source)
{
	int in = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int to = 0; to < SINK_KINDS; to++) {
		struct sink sink;

		sink_open(&sink, to);
		assert_int_equal(hone_copy_fd(in, sink.fd, 10, NULL), -EISDIR);
		sink_close(&sink, content, 0);
	}
	close(in);
}

TEST(sockets_that_carry_messages_are_refused)
{
	static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};

	for (int i = 0; i < 2; i++) {
		unsigned char byte;
		struct source source;
		struct sink sink;
		int fds[2];

		assert_int_equal(socketpair(AF_UNIX, types[i], 0, fds), 0);
		assert_int_equal(write(fds[1], "", 0), 0);
		write_exactly(fds[1], content, 1);
		sink_open(&sink, TO_DISK);
		assert_int_equal(
			hone_copy_fd(fds[0], sink.fd, 10, NULL), -EPROTOTYPE);
		sink_close(&sink, content, 0);
		source_open(&source, FROM_DISK, 10);
		assert_int_equal(
			hone_copy_fd(source.fd, fds[1], 10, NULL), -EPROTOTYPE);
		source_close(&source, 0);
		/* and both messages are still there */
		assert_int_equal(read(fds[0], &byte, 1), 0);
		assert_int_equal(read(fds[0], &byte, 1), 1);
		close(fds[0]);
		close(fds[1]);
	}
}

/* Sealed memory: open for writing, but no write is allowed. */
TEST(a_sink_that_refuses_all_methods_costs_a_file_nothing)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	for (int from = 0; from < SOURCE_KINDS; from++) {
		source_open(&source, from, 1000);
		sink_open(&sink, TO_NULL);
		close(sink.fd);
		sink.fd = memfd_create("sealed", MFD_ALLOW_SEALING);
		assert_true(sink.fd >= 0);
		assert_int_equal(fcntl(sink.fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
		assert_int_equal(
			hone_copy_fd(source.fd, sink.fd, 1000, &result),
			-EPERM);
		assert_int_equal(result.copied, 0);
		if (from <= FROM_PROC)
			assert_int_equal(result.lost, 0);
		sink_close(&sink, content, 0);
		source_close(&source, result.lost);
	}
}

int
main(void)
{
	return run_all_tests(fill_content, NULL);
}
