/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_PIPELINE_H
#define HONE_IMAGE_PIPELINE_H
/*
 * The upper layer: visit a whole disk in chunks, by several threads.
 *
 * The disk is cut into chunks in ascending order; each gets a ticket. A chunk
 * passes three stages: work (read, scan, encode), order (in the order of
 * tickets: reserve places, report), write. Every thread runs any stage that has
 * a chunk waiting, so that one thread and several threads run the same code.
 *
 *   copy.c       a source into a sink, with blocks that the file system
 *                shares; encode.c: clusters of -c; pack.c: -O gce, --pack
 *   digest.c     and compare.c, map.c, blocks.c: the other visits
 *   hashers.c    digests beside a visit
 *   patch.c      a disk with other bytes in a few ranges, or without zeros at
 *                its end; gpt.c: a GPT that moves
 *   pieces.c     the extents of a chunk: listed, read, searched for zeros
 *   pipeline.c   image_pipeline_run(): its memory and its threads
 */
#include "codec/codec.h"
#include "error.h"

/* Members are set by the pipeline and constant for the stages. */
struct image_chunk {
	uint64_t ticket;
	uint64_t offset;
	/* at most image_plan.chunk, unless hole */
	uint64_t length;
	/* reads as zeros; passes the order stage alone, or the write stage too
	 * with image_plan.write_holes */
	bool hole;
	/* the extent that cut() returned for the beginning of the chunk */
	struct image_extent first;
	/* image_plan.buffer bytes aligned to IMAGE_ALIGN */
	unsigned char *data;
	/* image_plan.own bytes aligned to 64 for the stages' own use */
	void *own;
};

struct image_plan {
	/* bytes to visit; with reach, a limit that is never reached */
	uint64_t size;
	/* chunks end at multiples of this, a power of two */
	size_t chunk;
	size_t buffer;
	size_t own;
	/* bytes of each thread's scratch */
	size_t scratch;
	/* bytes that scratch and chunks may have beside image_memory.chunks,
	 * and how many of them chunks may have */
	size_t spare;
	size_t spare_chunks;
	/* most threads in the write stage at a time; 0: any number; 1: chunks
	 * are written in the order of tickets, too */
	unsigned writers;
	/* that are read or written; NULL: none. If run->threads is 0, there are
	 * at least as many threads as one of them has requests. */
	const struct image_store *stores[2];
	/* the write stage is called for a hole, too */
	bool write_holes;

	/*
	 * Describe the disk at offset as image_source_ops.extent does. Called
	 * in ascending order by one thread at a time.
	 */
	int (*cut)(void *opaque, uint64_t offset, struct image_extent *extent,
		struct image_error *err);
	/*
	 * Reduce chunk->length if the disk ends in the chunk, to 0 if it ends
	 * before. Called before work, by any thread; not called for a hole.
	 * The visit ends with the first chunk that was reduced. NULL: the disk
	 * has `size` bytes.
	 */
	int (*reach)(void *opaque, struct image_chunk *chunk,
		struct image_error *err);
	/* Any thread; not called for a hole. */
	int (*work)(void *opaque, struct image_scratch *scratch,
		struct image_chunk *chunk, struct image_error *err);
	/*
	 * In the order of tickets, one thread at a time. The chunks cover the
	 * disk without gaps. Returns 1 to end the run early without an error.
	 * NULL: no such stage.
	 */
	int (*order)(void *opaque, struct image_chunk *chunk,
		struct image_error *err);
	/* Any thread; not called for a hole without write_holes. NULL: no such
	 * stage. */
	int (*write)(void *opaque, struct image_scratch *scratch,
		struct image_chunk *chunk, struct image_error *err);
	/* An error ends the run: stages under way may end early. Any thread,
	 * at most once. NULL: no action. */
	void (*stop)(void *opaque);
	void *opaque;
};

/*
 * Visit the disk with the options of run. Sets *threads, unless it is
 * NULL or the disk is empty, to the number of threads that worked.
 * Returns 0, 1 if order() ended the run, or the first error.
 *
 * Chunks come from one hone_mempool, which bounds the memory. A thread takes a
 * chunk before it takes a ticket, so the chunk of the oldest ticket never waits
 * for another one. Chunks that have their places wait for a writer in a
 * hone_ring.
 *
 * An error of cut or work takes effect in the order of tickets, so that the
 * error does not depend on the number of threads. An error of write takes
 * effect immediately. After an error no more chunks are cut, chunks in progress
 * are dropped, and image_pipeline_run() returns the error after every thread
 * has stopped.
 */
int image_pipeline_run(const struct image_plan *plan,
	const struct image_run *run, unsigned *threads,
	struct image_error *err);

#endif
