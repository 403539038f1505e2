/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_URING_H
#define HONE_SRC_URING_H
/* A batch in io_uring: shared by its loop (uring.c) and by the file of a slot
 * (uring_slot.c). */
#include <liburing.h>
#include "stream/batch.h"

/* Bytes of the buffer that a file is read into first. Most files fit, and then
 * the result is allocated with its exact size. */
#define HONE_URING_SMALL ((size_t)16 << 10)

enum hone_uring_stage {
	HONE_URING_IDLE,
	HONE_URING_OPENING,
	HONE_URING_READING,
	/* the small buffer is full; the rest waits for memory */
	HONE_URING_PARKED
};

/* One of `depth` slots. Its number is also its direct descriptor and the
 * user_data of its requests. It has at most one request at a time. */
struct hone_uring_slot {
	enum hone_uring_stage stage;
	int open_flags;
	size_t index;
	/* buffer.data == small as long as the file fits in it */
	struct hone_file_buffer buffer;
	unsigned char *small;
	/* of a parked file: its size by the path; 0: unknown */
	uint64_t hint;
	/* its share of hone_uring.memory */
	size_t memory;
};

struct hone_uring {
	struct io_uring ring;
	struct hone_batch *b;
	/* number of slots: that of the batch, or fewer */
	unsigned depth;
	struct hone_uring_slot *slots;
	unsigned char *small;
	/* numbers of the slots that are idle, as a stack */
	unsigned *idle;
	unsigned n_idle;
	/* requests in the ring whose completion was not processed */
	unsigned in_flight;
	/* completions of this turn whose processing has begun */
	unsigned begun;
	/* the kernel has the ring no more */
	bool closed;
	/* bytes of results that do not fit in a small buffer */
	size_t memory;
};

/* Begins a file in an idle slot. */
void hone_uring_begin(struct hone_uring *u, size_t index);

/* Continues the file of a slot after a completion. */
void hone_uring_answer(struct hone_uring *u, unsigned number, int result);

/* Drops the file of a slot: frees its memory and makes the slot idle. */
void hone_uring_drop_file(struct hone_uring *u, struct hone_uring_slot *slot);

#endif
