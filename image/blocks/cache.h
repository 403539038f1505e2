/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_CACHE_H
#define HONE_IMAGE_CACHE_H
/*
 * The cache of blocks below a store, for its producers.
 *
 *   readers (any thread)             producers
 *   image_store_read()               sequence.c: a stream, read by the reader
 *     read.c: find or wait, pin,       that needs its next bytes
 *     copy, release                  ranges.c: what is requested, and ahead;
 *          ^                           store/http/ fills it by its thread
 *          |                                  |
 *          |      struct block of BLOCK       |
 *          +-------- bytes: memory.c <--------+
 *                       |      ^
 *                       v      |
 *               spill.c: a file without a name
 *
 *   BLOCK_COMING --> BLOCK_READY --> BLOCK_RELEASED --> used again
 *                       |    ^
 *                       v    | no space
 *                  BLOCK_SPILLING --> its bit in `moved`, and used again
 *
 * Zeros that a stream skips have no blocks: they are in `holes`.
 *
 * A sequence comes once: its bytes pass at `position`, in order. Before they
 * pass, nobody reads them, and no block of them is used again. Blocks that
 * passed are used again when they were released, and else move to the file.
 * What is no sequence has ranges that can be requested again: its oldest blocks
 * are dropped.
 *
 * One lock guards all of it. No byte is copied, read, written or hashed under
 * the lock: who does so has pinned the block, has set `pulling`, or is the
 * producer of a coming block. Who has pinned a ready block does not wait.
 *
 * After a failure, bytes of a sequence that came before are valid, and other
 * reads return the first failure.
 */
#include <pthread.h>
#include <sys/queue.h>
#include "blocks/blocks.h"

/* hone info of qcow2 needs three. A pipe holds half as much. */
#define BLOCK ((size_t)128 << 10)
#define BLOCK_SECTORS (BLOCK / IMAGE_SECTOR)
/* Longest range of one request. A gigabit a second brings this in 34 ms. */
#define BLOCKS_LONG ((uint64_t)4 << 20)
/* Most bytes requested ahead of ascending reads, and half of the memory. */
#define BLOCKS_AHEAD ((uint64_t)16 << 20)
#define BLOCKS_TRACKS 4

enum block_state {
	/* requested, or being read: the producer writes behind `filled` */
	BLOCK_COMING,
	/* in `needed`, if it passed or is no part of a sequence */
	BLOCK_READY,
	/* in `released`: all its sectors were */
	BLOCK_RELEASED,
	/* on its way to the file, and read meanwhile */
	BLOCK_SPILLING
};

struct block {
	TAILQ_ENTRY(block) age;
	struct block *next;
	/* its offset, in blocks */
	uint64_t index;
	enum block_state state;
	/* readers that copy from it, or that wait for it to come */
	unsigned pins;
	/* bytes that may be read */
	unsigned filled;
	unsigned n_released;
	uint64_t released[BLOCK_SECTORS / 64];
	unsigned char bytes[];
};
TAILQ_HEAD(block_list, block);

/* Zeros of a stream that passed without bytes; in blocks. */
struct block_hole {
	uint64_t begin;
	uint64_t end;
};
/* Most of them, which take a MiB. Later zeros pass as bytes. */
#define BLOCKS_HOLES 65536

struct block_track {
	uint64_t end;
	/* up to where requests were made */
	uint64_t ahead;
	/* bytes of reads that continued the sequence */
	uint64_t bytes;
	uint64_t used;
};

struct image_blocks;

/* Who fills coming blocks in a thread of its own. */
struct block_producer {
	/*
	 * Fill the blocks of a range, before what was requested if it is
	 * urgent. Called with the lock, and followed by wake() if it sets
	 * blocks->wakes. Returns false if there is no memory.
	 */
	bool (*request)(struct image_blocks *blocks, uint64_t begin,
		uint64_t end, bool urgent);
	/* Let the thread see the requests. Without the lock. Returns false on
	 * failure. */
	bool (*wake)(struct image_blocks *blocks);
	/* Free all but the blocks. */
	void (*close)(struct image_blocks *blocks);
};

struct image_blocks {
	struct image_store store;
	/* one of them is NULL */
	struct image_stream *stream;
	const struct block_producer *producer;
	struct image_tap *tap;
	const struct image_spill *spill;
	size_t max_blocks;
	/* bytes requested ahead of ascending reads */
	uint64_t max_ahead;
	/* released blocks that stay in memory */
	size_t keep;
	bool keeps_ends;
	/* little is read, and nothing is requested ahead; each request of a
	 * sequence is as long as all before it */
	bool inspect;
	/* the bytes come once */
	bool ordered;

	pthread_mutex_t lock;
	/* bytes came or passed, a block is free, or all has failed */
	pthread_cond_t changed;
	/* Everything below is used under the lock. */
	/* a thread moves `position`, and has stream, tap and file */
	bool pulling;
	/* all bytes passed, and so did the checks at the end */
	bool ended;
	/* bytes of the sequence that passed */
	uint64_t position;
	/* blocks that begin here or later are released as they pass */
	uint64_t drained;
	/* of requests: `position` at the last one */
	uint64_t asked;
	/* the producer's thread sleeps, and has requests */
	bool wakes;
	/* where a sequence of a producer ends, as far as is known */
	uint64_t end;
	/* of a stream: the block that the next byte belongs to, or NULL */
	struct block *head;
	/* in their order */
	struct block_hole *holes;
	size_t n_holes;
	uint64_t room_for_holes;
	/* each from the oldest on */
	struct block_list needed;
	struct block_list released;
	size_t n_released;
	size_t n_blocks;
	/* by index % max_blocks */
	struct block **table;
	/* threads that wait for a block without pins */
	unsigned starved;
	struct block_track tracks[BLOCKS_TRACKS];
	uint64_t tick;
	/* the file, or -1; each block has its offset in the sequence */
	int fd;
	/* a bit for each block: it is in the file, or is zero */
	uint64_t *moved;
	uint64_t words_moved;
	/* not 0: the first failure */
	int rc;
	struct image_error err;
};

/* read.c */
/* Set all but the name, the stream and the producer. memory: most bytes of
 * blocks. Returns 0 or -ENOMEM; blocks_destroy() frees what was set in both
 * cases. */
int blocks_create(struct image_blocks *b, uint64_t memory);
void blocks_destroy(struct image_blocks *b);
/* Let the blocks come once and in order from now on. With the lock. */
void blocks_order(struct image_blocks *b);

/* The rest is called with the lock. */

/* memory.c */
struct block *blocks_find(const struct image_blocks *b, uint64_t index);
/*
 * Returns a coming block that has this index from now on. Returns NULL without
 * a failure if all blocks are in use. Those of a sequence never are, except for
 * what is requested ahead: it does not begin to move bytes to a file. The lock
 * may be free meanwhile, of a sequence alone.
 */
struct block *blocks_take(struct image_blocks *b, uint64_t index, bool ahead);
/* A block is ready: it has passed, or is no part of a sequence. */
void blocks_ready(struct image_blocks *b, struct block *block);
void blocks_pin(struct image_blocks *b, struct block *block);
void blocks_unpin(struct image_blocks *b, struct block *block);
void blocks_release(struct image_blocks *b, uint64_t offset, uint64_t length);
int blocks_fail(struct image_blocks *b, int rc, const struct image_error *err);

/* spill.c */
bool blocks_is_moved(const struct image_blocks *b, uint64_t index);
/* Move a block, which is in no list. The lock is free meanwhile. */
int blocks_move(struct image_blocks *b, struct block *block);
/* Read bytes of a block that was moved. Without the lock. */
int blocks_read_moved(struct image_blocks *b, uint64_t offset,
	unsigned char *buf, size_t length, struct image_error *err);

/* sequence.c */
/* Returns the first hole that ends behind the block, or NULL. */
const struct block_hole *blocks_hole(
	const struct image_blocks *b, uint64_t index);
/* Let the sequence pass up to end, or to its own end. */
int blocks_pull_to(
	struct image_blocks *b, uint64_t end, struct image_error *err);

/* ranges.c */
/* The store will be read to its end: request its begin. */
void blocks_ahead_begin(struct image_blocks *b);
void blocks_ahead(struct image_blocks *b, uint64_t offset, uint64_t end);
/*
 * Request the missing blocks of a range of bytes, as far as blocks are free.
 * Returns the end of the range that was looked at.
 */
uint64_t blocks_want(
	struct image_blocks *b, uint64_t offset, uint64_t end, bool urgent);
/* Wake the producer. Returns whether the lock was free meanwhile. */
bool blocks_wake(struct image_blocks *b);
/* Pin the block of a read up to `end`; NULL after a failure. */
struct block *blocks_wait(
	struct image_blocks *b, uint64_t offset, uint64_t end);
/* Bytes of a coming block are there, up to `filled`, all of them if the store
 * is no sequence. */
void blocks_came(struct image_blocks *b, struct block *block, size_t filled);

#endif
