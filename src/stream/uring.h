/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_URING_H
#define HONE_SRC_URING_H
/* A batch in io_uring: what its loop (uring.c) and a slot's file
 * (uring_slot.c) share. */
#include <liburing.h>
#include "stream/batch.h"

/* Where a file is read first: most end in it, and then the result is allocated
 * with its exact size. */
#define HONE_URING_SMALL ((size_t)16 << 10)

enum hone_uring_stage {
	HONE_URING_IDLE,
	HONE_URING_OPENING,
	HONE_URING_READING,
	/* read as far as it is small; the rest waits for memory */
	HONE_URING_PARKED
};

/* One of `depth` places; its number is also that of its direct descriptor and
 * the user_data of its requests, of which there is at most one at a time. */
struct hone_uring_slot {
	enum hone_uring_stage stage;
	int open_flags;
	size_t index;
	/* r.data is small until the file turns out not to fit in it */
	struct hone_reading r;
	unsigned char *small;
	/* size by its path, of a file that is parked; 0: none */
	uint64_t hint;
	/* part of hone_uring.memory */
	size_t memory;
};

struct hone_uring {
	struct io_uring ring;
	struct hone_batch *b;
	struct hone_uring_slot *slots;
	unsigned char *small;
	/* numbers of the slots that are idle, as a stack */
	unsigned *idle;
	unsigned n_idle;
	/* requests put into the ring, answers not yet taken out */
	unsigned in_flight;
	/* bytes of results that do not fit in a slot */
	size_t memory;
};

/* Begin with a file in an idle slot. */
void hone_uring_begin(struct hone_uring *u, size_t index);

/* Go on with a slot's file after an answer. */
void hone_uring_answer(struct hone_uring *u, unsigned number, int result);

/* Forget a slot's file: give back its memory; the slot is idle. */
void hone_uring_drop(struct hone_uring *u, struct hone_uring_slot *slot);

#endif
