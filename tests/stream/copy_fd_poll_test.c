/* SPDX-License-Identifier: BSD-3-Clause */
/* How hone_copy_fd_until() waits: with a poll() that lasts as long as it may,
 * or that disagrees with the calls that copy. */
#include <limits.h>
#include <poll.h>
#include <time.h>
#include "copy_fd_support.h"

#define NS_PER_S INT64_C(1000000000)

static struct {
	bool armed;
	/* what poll() returns; after that, it is made */
	int answers[4];
	int n_answers;
	/* then this descriptor is closed */
	int closes_at_poll;
	/* the next pause writes a byte here */
	int writer;
	int polls, pauses;
	int longest; /* timeout of a poll() */
} world;

STANDS_FOR(int, poll, struct pollfd *fds, nfds_t n, int timeout)
{
	if (!world.armed)
		return __real_poll(fds, n, timeout);
	if (timeout > world.longest)
		world.longest = timeout;
	if (world.polls++ < world.n_answers)
		return world.answers[world.polls - 1];
	close(world.closes_at_poll);
	world.closes_at_poll = -1;
	return __real_poll(fds, n, timeout);
}

STANDS_FOR(int, nanosleep, const struct timespec *time, struct timespec *left)
{
	if (world.armed && ++world.pauses == 1 && world.writer >= 0)
		write_exactly(world.writer, content, 1);
	return __real_nanosleep(time, left);
}

static int64_t
in_seconds(int64_t seconds)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (now.tv_sec + seconds) * NS_PER_S + now.tv_nsec;
}

/* From an empty pipe to a file. */
static int64_t
copy_from(int pipe, uint64_t n, int64_t deadline)
{
	int out = file_in_memory();
	int64_t answer;

	world.armed = true;
	answer = hone_copy_fd_until(pipe, out, n, deadline, NULL);
	world.armed = false;
	close(out);
	return answer;
}

static void
empty_pipe(int fds[2])
{
	memset(&world, 0, sizeof(world));
	world.writer = world.closes_at_poll = -1;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
}

TEST(nothing_is_copied_without_a_wait)
{
	memset(&world, 0, sizeof(world));
	assert_int_equal(copy_from(-1, 0, INT64_MAX), 0);
	assert_int_equal(world.polls, 0);
}

/* Some 25 days. */
TEST(a_deadline_beyond_the_longest_poll_takes_several)
{
	int fds[2];

	empty_pipe(fds);
	world.n_answers = 2; /* they end at their timeout */
	world.closes_at_poll = fds[1];
	assert_int_equal(
		copy_from(fds[0], 1, in_seconds(3 * (INT_MAX / 1000))), 0);
	assert_int_equal(world.longest, INT_MAX);
	assert_true(world.polls >= 3);
	close(fds[0]);
}

TEST(a_poll_that_is_always_ready_does_not_spin)
{
	int fds[2];

	empty_pipe(fds);
	world.n_answers = 4;
	for (int i = 0; i < 4; i++)
		world.answers[i] = 1;
	world.writer = fds[1];
	assert_int_equal(copy_from(fds[0], 1, INT64_MAX), 1);
	assert_int_equal(world.pauses, 1);
	close(fds[0]);
	close(fds[1]);
}

TEST(a_poll_that_is_always_ready_still_ends_at_the_deadline)
{
	int fds[2];

	empty_pipe(fds);
	world.n_answers = 4;
	for (int i = 0; i < 4; i++)
		world.answers[i] = 1;
	assert_int_equal(copy_from(fds[0], 1, 1), -ETIMEDOUT);
	assert_int_equal(world.polls, 4);
	assert_int_equal(world.pauses, 0);
	close(fds[0]);
	close(fds[1]);
}

int
main(void)
{
	return run_all_tests(fill_content, NULL);
}
