/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A batch in io_uring. Each slot has a file and at most one request. One system
 * call submits the requests of all slots; for files in memory it returns with
 * all completions. Links between requests would save two calls for each round
 * of slots, but cost as much as they saved: docs/design/stream.md has the
 * benchmark and the other attempts.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "stream/uring.h"

/* user_data of the request that cancels all others; no slot has this number. */
#define CANCEL ((uint64_t)-1)

/*
 * A seccomp filter may allow the calls that set up a ring and refuse the one
 * that submits. A submission of nothing shows this before any file is begun.
 */
static int
try_submit(const struct hone_uring *u)
{
	if (syscall(SYS_io_uring_enter, u->ring.ring_fd, 0, 0, 0, NULL, 0) < 0)
		return -errno;
	return 0;
}

/*
 * Makes the table of direct descriptors. The kernel allows as many as
 * RLIMIT_NOFILE. liburing would raise this limit of the whole process, and
 * leave the limit raised, which may be a part of a sandbox: so this is a system
 * call of our own, and the table is not larger than the limit. Returns 0 or a
 * negative errno.
 */
static int
make_table(struct hone_uring *u)
{
	struct io_uring_rsrc_register table = {
		.flags = IORING_RSRC_REGISTER_SPARSE};
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < u->depth)
		u->depth = (unsigned)limit.rlim_cur;
	table.nr = u->depth;
	if (syscall(SYS_io_uring_register, u->ring.ring_fd,
		    IORING_REGISTER_FILES2, &table, sizeof(table)) < 0)
		return -errno;
	return 0;
}

static int
make_ring(struct hone_uring *u)
{
	/* one entry for each slot, one to cancel */
	int error = io_uring_queue_init(u->depth + 1, &u->ring, 0);

	if (error)
		return error;
	error = try_submit(u);
	if (!error)
		error = make_table(u);
	if (error) {
		io_uring_queue_exit(&u->ring);
		return error;
	}
	/* Optional: saves a look-up in each call. */
	(void)io_uring_register_ring_fd(&u->ring);
	return 0;
}

/*
 * The stride of small buffers is an odd number of cache lines. With an even
 * number their beginnings would compete for a few sets of the CPU cache.
 */
#define SMALL_STRIDE (HONE_URING_SMALL + 64)

static int
make_slots(struct hone_uring *u)
{
	unsigned depth = u->depth;

	u->slots = calloc(depth, sizeof(*u->slots));
	u->idle = calloc(depth, sizeof(*u->idle));
	u->small = malloc(depth * SMALL_STRIDE);
	if (!u->slots || !u->idle || !u->small)
		return -ENOMEM;
	for (unsigned i = 0; i < depth; i++) {
		u->slots[i].small = u->small + i * SMALL_STRIDE;
		u->idle[u->n_idle++] = depth - 1 - i;
	}
	return 0;
}

static void
free_all(struct hone_uring *u)
{
	free(u->slots);
	free(u->idle);
	free(u->small);
	free(u);
}

/* Processes the completions in the ring, without a system call. */
static void
take_answers(struct hone_uring *u)
{
	struct io_uring_cqe *cqe;
	unsigned head;

	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		uint64_t number = io_uring_cqe_get_data64(cqe);

		u->begun++;
		u->in_flight--;
		if (number != CANCEL)
			hone_uring_answer(u, (unsigned)number, cqe->res);
	}
	io_uring_cq_advance(&u->ring, u->begun);
	u->begun = 0;
}

/* Cancels all requests: some may wait for long, such as a FIFO for its writer.
 */
static void
cancel_all(struct hone_uring *u)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	io_uring_prep_cancel64(
		sqe, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
	io_uring_sqe_set_data64(sqe, CANCEL);
	u->in_flight++;
}

/*
 * Submits the requests, and waits if none is complete afterwards. No call of
 * liburing is a cancellation point: the wait is by poll(), which is one.
 * Returns a negative errno on error.
 */
static int
submit_and_wait(struct hone_uring *u)
{
	struct pollfd ring = {.fd = u->ring.ring_fd, .events = POLLIN};
	int result;

	pthread_testcancel();
	result = io_uring_submit(&u->ring);
	if (result < 0 || io_uring_cq_ready(&u->ring) > 0)
		return result;
	return poll(&ring, 1, -1) < 0 ? -errno : 0;
}

/*
 * Begins up to n files. Returns 0 when no request is in flight, or the error of
 * the kernel. *begun: the files that were begun.
 */
static int
turn_round(struct hone_uring *u, size_t n, size_t *begun)
{
	bool cancelled = false;

	*begun = 0;
	for (;;) {
		size_t index;
		int result;

		while (*begun < n && u->n_idle > 0 &&
			hone_batch_next(u->b, &index)) {
			hone_uring_begin(u, index);
			++*begun;
		}
		if (u->in_flight == 0)
			return 0;
		if (hone_batch_stopped(u->b) && !cancelled) {
			cancel_all(u);
			cancelled = true;
		}
		result = submit_and_wait(u);
		if (result < 0 && result != -EINTR)
			return result;
		take_answers(u);
	}
}

/* Number of requests in the ring that the kernel has not taken. */
static unsigned
untaken(struct hone_uring *u)
{
	/* Acquire: pairs with the kernel's release; see io_uring(7). */
	unsigned head = __atomic_load_n(u->ring.sq.khead, __ATOMIC_ACQUIRE);

	return u->ring.sq.sqe_tail - head;
}

/*
 * The kernel refuses further calls, because of a new seccomp filter or a lack
 * of memory. But it still finishes the requests that it has taken, and writes
 * to our memory. Waits until it has, without a call that it would refuse.
 */
static void
wait_for_rest(struct hone_uring *u)
{
	const struct timespec a_moment = {.tv_nsec = 100000};
	unsigned ready;

	for (;;) {
		ready = io_uring_cq_ready(&u->ring);
		io_uring_cq_advance(&u->ring, ready);
		u->in_flight -= ready;
		if (u->in_flight <= untaken(u))
			return;
		nanosleep(&a_moment, NULL);
	}
}

/* Reads the unfinished files by plain calls; drops them after a stop. */
static void
finish_plain(struct hone_uring *u)
{
	for (unsigned i = 0; i < u->depth; i++) {
		struct hone_uring_slot *slot = &u->slots[i];

		if (slot->stage == HONE_URING_IDLE)
			continue;
		hone_uring_drop_file(u, slot);
		if (!hone_batch_stopped(u->b))
			(void)hone_batch_read_plain(u->b, slot->index);
	}
}

int
hone_uring_open(struct hone_uring **ring, struct hone_batch *b)
{
	struct hone_uring *u = calloc(1, sizeof(*u));
	int error;

	if (!u)
		return -ENOMEM;
	u->b = b;
	u->depth = b->depth;
	error = make_ring(u);
	if (!error && (error = make_slots(u)))
		io_uring_queue_exit(&u->ring);
	if (error)
		free_all(u);
	else
		*ring = u;
	return error;
}

size_t
hone_uring_read(struct hone_uring *u, size_t n)
{
	size_t begun;

	return turn_round(u, n, &begun) < 0 ? 0 : begun;
}

/* Waits for the requests in the ring and closes it. */
static void
close_ring(struct hone_uring *u)
{
	size_t begun;

	if (turn_round(u, 0, &begun) < 0)
		wait_for_rest(u);
	/* Closes the files now; the end of the ring would close them later. */
	(void)io_uring_unregister_files(&u->ring);
	io_uring_queue_exit(&u->ring);
	u->closed = true;
}

void
hone_uring_close(struct hone_uring **ring)
{
	if (!(*ring)->closed)
		close_ring(*ring);
	finish_plain(*ring);
	free_all(*ring);
	*ring = NULL;
}

void
hone_uring_drop(struct hone_uring **ring)
{
	struct hone_uring *u = *ring;

	if (!u)
		return;
	hone_batch_abandon(u->b);
	io_uring_cq_advance(&u->ring, u->begun);
	u->begun = 0;
	hone_uring_close(ring);
}
