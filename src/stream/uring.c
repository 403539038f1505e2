/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A batch in io_uring. Every slot has a file and at most one request; what
 * all slots ask for goes to the kernel in one system call, which for files in
 * memory comes back with all the answers. Links between requests would save
 * two calls for each round of slots and lost by as much as they cost: the
 * bench case and what else was tried are in docs/design/stream.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "stream/uring.h"

/* user_data of the request that calls all others off; no slot has it. */
#define CANCEL ((uint64_t)-1)

static int
make_ring(struct hone_uring *u, unsigned depth)
{
	/* one for each slot, one to cancel */
	int error = io_uring_queue_init(depth + 1, &u->ring, 0);

	if (error)
		return error;
	error = io_uring_register_files_sparse(&u->ring, depth);
	if (error) {
		io_uring_queue_exit(&u->ring);
		return error;
	}
	/* Saves a look-up in each call; having it or not, all works. */
	(void)io_uring_register_ring_fd(&u->ring);
	return 0;
}

/*
 * Small buffers lie an odd number of cache lines apart, so that the beginnings
 * of all do not compete for the same few lines of a cache.
 */
#define SMALL_STRIDE (HONE_URING_SMALL + 64)

static int
make_slots(struct hone_uring *u, unsigned depth)
{
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

/* Take out what answers there are; no system call. */
static void
take_answers(struct hone_uring *u)
{
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		uint64_t number = io_uring_cqe_get_data64(cqe);

		n++;
		u->in_flight--;
		if (number != CANCEL)
			hone_uring_answer(u, (unsigned)number, cqe->res);
	}
	io_uring_cq_advance(&u->ring, n);
}

/* Something may wait for long, such as a FIFO for its writer. */
static void
cancel_all(struct hone_uring *u)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	io_uring_prep_cancel64(
		sqe, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
	io_uring_sqe_set_data64(sqe, CANCEL);
	u->in_flight++;
}

/* Returns 0 when nothing is in flight, or why the kernel does not go on. */
static int
turn_round(struct hone_uring *u)
{
	bool cancelled = false;

	for (;;) {
		size_t index;
		int result;

		while (u->n_idle > 0 && hone_batch_next(u->b, &index))
			hone_uring_begin(u, index);
		if (u->in_flight == 0)
			return 0;
		if (hone_batch_stopped(u->b) && !cancelled) {
			cancel_all(u);
			cancelled = true;
		}
		result = io_uring_submit_and_wait(&u->ring, 1);
		if (result < 0 && result != -EINTR)
			return result;
		take_answers(u);
	}
}

/* Requests in the ring that the kernel has not taken, and now never will. */
static unsigned
untaken(struct hone_uring *u)
{
	/* Acquire: pairs with the kernel's release; see io_uring(7). */
	unsigned head = __atomic_load_n(u->ring.sq.khead, __ATOMIC_ACQUIRE);

	return u->ring.sq.sqe_tail - head;
}

/*
 * The kernel refuses to go on, by a seccomp filter that came later or for want
 * of memory. What it has taken it finishes all the same, and writes to our
 * memory: wait until it has, without a call that it would refuse too.
 */
static void
wait_for_rest(struct hone_uring *u)
{
	const struct timespec a_moment = {.tv_nsec = 100000};
	unsigned rest = u->in_flight - untaken(u);

	for (;;) {
		unsigned ready = io_uring_cq_ready(&u->ring);

		io_uring_cq_advance(&u->ring, ready);
		if (ready >= rest)
			return;
		rest -= ready;
		nanosleep(&a_moment, NULL);
	}
}

/* What the ring did not finish: nothing after a stop, else by plain calls. */
static void
finish_plain(struct hone_uring *u)
{
	for (unsigned i = 0; i < u->b->depth; i++) {
		struct hone_uring_slot *slot = &u->slots[i];

		if (slot->stage == HONE_URING_IDLE)
			continue;
		hone_uring_drop(u, slot);
		if (!hone_batch_stopped(u->b))
			hone_batch_read_plain(u->b, slot->index);
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
	error = make_slots(u, b->depth);
	if (!error)
		error = make_ring(u, b->depth);
	if (error) {
		free_all(u);
		return error;
	}
	*ring = u;
	return 0;
}

void
hone_uring_run(struct hone_uring *u)
{
	if (turn_round(u) < 0)
		wait_for_rest(u);
	/* Closes the files now; the end of the ring does so some time. */
	(void)io_uring_unregister_files(&u->ring);
	io_uring_queue_exit(&u->ring);
	finish_plain(u);
	free_all(u);
}
