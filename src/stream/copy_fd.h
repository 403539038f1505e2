/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_COPY_FD_H
#define HONE_SRC_COPY_FD_H
/* State of a copy, shared by the methods of hone_copy_fd(). */
#include <sys/stat.h>
#include <hone/copy_fd.h>

/* A copy in progress. */
struct hone_copying {
	int in, out;
	struct stat in_status, out_status;
	/* flags for splice() */
	unsigned splice_flags;
	/* bytes still to be copied */
	uint64_t left;
	/* end of waiting: CLOCK_MONOTONIC; INT64_MAX: never */
	int64_t deadline_ns;
	/* result.copied at the last wait; UINT64_MAX: there was none */
	uint64_t copied_before;
	struct hone_copy_fd_result result;
};

/* What a method returns if it does not return a negative errno. */
enum hone_copying_verdict {
	/* all n bytes are copied, or in has no more */
	HONE_COPYING_DONE = 0,
	/* the next method continues */
	HONE_COPYING_NEXT = 1
};

/* Counts the bytes that a method moved. */
void hone_copying_count(struct hone_copying *c, uint64_t moved,
	enum hone_copy_fd_method method);

/* copy_fd_wait.c: waits until fd has the events, until a signal, or until the
 * deadline. Returns 0, -ETIMEDOUT or the error of poll(). */
int hone_copying_wait(const struct hone_copying *c, int fd, short events);
/* Waits after -EAGAIN. Returns 0, -ETIMEDOUT or the error of poll(). */
int hone_copying_wait_for_both(struct hone_copying *c);

/* The last method: read() and write(). Returns 0 or a negative errno. */
int hone_copying_read_write(struct hone_copying *c);

#endif
