/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_COPY_FD_H
#define HONE_SRC_COPY_FD_H
/* What the methods of hone_copy_fd() share. */
#include <sys/stat.h>
#include <hone/copy_fd.h>

/* One copy, in whatever stage. */
struct hone_copying {
	int in, out;
	struct stat in_status, out_status;
	/* flags for splice() */
	unsigned splice_flags;
	/* bytes still to be copied */
	uint64_t left;
	struct hone_copy_fd_result result;
};

/* What a method answers beside a negative errno. */
enum hone_copying_verdict {
	/* all n bytes are copied, or in has no more */
	HONE_COPYING_DONE = 0,
	/* it is the next method's turn */
	HONE_COPYING_NEXT = 1
};

/* Book what a method moved. */
void hone_copying_count(struct hone_copying *c, uint64_t moved,
	enum hone_copy_fd_method method);

/* The last method: read() and write(). Returns 0 or a negative errno. */
int hone_copying_read_write(struct hone_copying *c);

#endif
