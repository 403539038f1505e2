/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <liburing.h>
#include "rivals.h"

#define DEPTH 32
#define ROOM (16 * 1024)
#define STRIDE (ROOM + 64)

static void
ask_open(struct io_uring *ring, const char *path, unsigned slot, bool linked)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_openat_direct(sqe, AT_FDCWD, path, O_RDONLY, 0, slot);
	io_uring_sqe_set_data64(sqe, DEPTH);
	if (linked)
		io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
}

static void
ask_read(struct io_uring *ring, char *buffers, unsigned slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_read(sqe, (int)slot, buffers + (size_t)slot * STRIDE,
		ROOM, (__u64)-1);
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data64(sqe, slot);
}

/* Submit the requests in the ring, and take their n results. */
static int
ask_and_take(struct io_uring *ring, unsigned n, const char *buffers,
	stream_seen_fn seen, void *arg)
{
	struct io_uring_cqe *cqe;
	int error = io_uring_submit_and_wait(ring, n);

	for (; error >= 0 && n > 0; n--) {
		if (io_uring_wait_cqe(ring, &cqe) < 0)
			return -1;
		if (cqe->res < 0)
			error = cqe->res;
		else if (cqe->user_data < DEPTH)
			seen(buffers + cqe->user_data * STRIDE,
				(size_t)cqe->res, arg);
		io_uring_cqe_seen(ring, cqe);
	}
	return error < 0 ? -1 : 0;
}

static int
read_group(struct io_uring *ring, const char *const *paths, unsigned n,
	bool linked, char *buffers, stream_seen_fn seen, void *arg)
{
	for (unsigned i = 0; i < n; i++) {
		ask_open(ring, paths[i], i, linked);
		if (linked)
			ask_read(ring, buffers, i);
	}
	if (linked)
		return ask_and_take(ring, 2 * n, buffers, seen, arg);
	if (ask_and_take(ring, n, buffers, seen, arg))
		return -1;
	for (unsigned i = 0; i < n; i++)
		ask_read(ring, buffers, i);
	return ask_and_take(ring, n, buffers, seen, arg);
}

int
stream_uring_ceiling(const char *const *paths, size_t n, int linked,
	stream_seen_fn seen, void *arg)
{
	char *buffers = malloc((size_t)DEPTH * STRIDE);
	struct io_uring ring;
	int error = -1;

	if (!buffers || io_uring_queue_init(2 * DEPTH, &ring, 0) < 0) {
		free(buffers);
		return -1;
	}
	if (io_uring_register_files_sparse(&ring, DEPTH) == 0) {
		(void)io_uring_register_ring_fd(&ring);
		error = 0;
	}
	for (; !error && n > 0;) {
		unsigned group = n < DEPTH ? (unsigned)n : DEPTH;

		error = read_group(
			&ring, paths, group, linked != 0, buffers, seen, arg);
		paths += group;
		n -= group;
	}
	io_uring_queue_exit(&ring);
	free(buffers);
	return error;
}
