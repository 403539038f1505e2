/* SPDX-License-Identifier: BSD-3-Clause */
/* hone_copy_fd_until(): waits for descriptors that do not block, and stops at
 * the deadline without losing bytes that can be kept. */
#include <time.h>
#include "copy_fd_support.h"

#define PAST 1

static int64_t
now_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Neither end blocks. */
static void
quick_pair(int kind, int fds[2])
{
	if (kind == 0)
		assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	else
		assert_int_equal(
			socketpair(AF_UNIX,
				SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
				fds),
			0);
	if (kind != 0) { /* fds[1] is written to, as of a pipe */
		int small = 4096;

		(void)setsockopt(
			fds[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	}
}

TEST(a_source_without_bytes_is_waited_for_until_the_deadline)
{
	for (int from = 0; from < 2; from++)
		for (int to = 0; to < 2; to++) {
			struct hone_copy_fd_result result;
			int in[2], out[2];
			int64_t until;

			quick_pair(from, in);
			quick_pair(to, out);
			write_exactly(in[1], content, 100);
			assert_int_equal(hone_copy_fd_until(in[0], out[1], 200,
						 PAST, &result),
				-ETIMEDOUT);
			assert_int_equal(result.copied, 100);
			assert_int_equal(result.lost, 0);
			until = now_ns() + 20 * 1000 * 1000;
			assert_int_equal(hone_copy_fd_until(in[0], out[1], 200,
						 until, &result),
				-ETIMEDOUT);
			assert_true(now_ns() >= until);
			assert_int_equal(result.copied, 0);
			close(in[1]);
			assert_int_equal(hone_copy_fd_until(in[0], out[1], 200,
						 PAST, &result),
				0);
			close(in[0]);
			close(out[0]);
			close(out[1]);
		}
}

struct slow {
	int from, to;
};

/* A peer that passes all bytes on, a few at a time. */
static void *
feed_slowly(void *arg)
{
	const struct slow *slow = arg;

	for (size_t i = 0; i < LARGEST; i += 30000) {
		struct timespec moment = {.tv_nsec = 1000000};

		(void)nanosleep(&moment, NULL);
		write_exactly(slow->to, content + i, 30000);
	}
	close(slow->to);
	return NULL;
}

static void *
drain_all(void *arg)
{
	const struct slow *slow = arg;
	static unsigned char got[LARGEST];
	size_t n = read_all(slow->from, got, LARGEST);

	return n == LARGEST && memcmp(got, content, LARGEST) == 0 ? got : NULL;
}

static void
blocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
}

TEST(without_a_deadline_all_bytes_arrive)
{
	for (int from = 0; from < 2; from++)
		for (int to = 0; to < 2; to++) {
			struct hone_copy_fd_result result;
			int in[2], out[2];
			struct slow slow;
			pthread_t feeder, drainer;
			void *right;

			quick_pair(from, in);
			quick_pair(to, out);
			slow.to = in[1];
			slow.from = out[0];
			blocking(in[1]);
			blocking(out[0]);
			assert_int_equal(pthread_create(&feeder, NULL,
						 feed_slowly, &slow),
				0);
			assert_int_equal(pthread_create(&drainer, NULL,
						 drain_all, &slow),
				0);
			assert_int_equal(
				hone_copy_fd_until(in[0], out[1], UINT64_MAX,
					INT64_MAX, &result),
				LARGEST);
			assert_int_equal(result.copied, LARGEST);
			assert_int_equal(result.lost, 0);
			assert_int_equal(pthread_join(feeder, NULL), 0);
			assert_int_equal(pthread_join(drainer, &right), 0);
			assert_non_null(right);
			close(in[0]);
			close(out[0]);
			close(out[1]);
		}
}

/* What a full peer does not take stays in a file, and is lost from a socket. */
TEST(a_full_peer_ends_the_copy_at_the_deadline)
{
	for (int is_file = 0; is_file < 2; is_file++) {
		static unsigned char got[LARGEST];
		struct hone_copy_fd_result result;
		size_t have, written = is_file ? LARGEST : 60000;
		int in[2], out[2];

		if (is_file) {
			in[0] = memfd_create("source", MFD_CLOEXEC);
			assert_true(in[0] >= 0);
			write_exactly(in[0], content, written);
			assert_int_equal(lseek(in[0], 0, SEEK_SET), 0);
		} else {
			assert_int_equal(
				socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
			write_exactly(in[1], content, written);
			assert_int_equal(fcntl(in[0], F_SETFL, O_NONBLOCK), 0);
		}
		quick_pair(1, out);
		assert_int_equal(hone_copy_fd_until(
					 in[0], out[1], written, PAST, &result),
			-ETIMEDOUT);
		assert_true(result.copied > 0 && result.copied < written);
		have = read_all(out[0], got, result.copied);
		assert_int_equal(have, result.copied);
		assert_memory_equal(got, content, have);
		if (is_file) {
			assert_int_equal(result.lost, 0);
			assert_int_equal(
				lseek(in[0], 0, SEEK_CUR), result.copied);
		} else {
			assert_true(result.lost > 0);
			assert_true(result.copied + result.lost <= written);
			close(in[1]);
		}
		close(in[0]);
		close(out[0]);
		close(out[1]);
	}
}

int
main(void)
{
	return run_all_tests(fill_content, NULL);
}
