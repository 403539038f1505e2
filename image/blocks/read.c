/* SPDX-License-Identifier: BSD-3-Clause */
/* The store above the blocks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "blocks/cache.h"
#include "memory.h"

#define MIN_BLOCKS 8
/*
 * Released blocks that stay in memory. A cluster that is compressed can share a
 * sector with one that another thread reads a little later.
 */
#define KEEP 16

static struct image_blocks *
of(struct image_store *store)
{
	return (struct image_blocks *)store;
}

/* Copy from a pinned block or a hole (NULL). The lock is free meanwhile. */
static void
copy(struct image_blocks *b, struct block *block, uint64_t offset,
	unsigned char *buf, size_t length)
{
	pthread_mutex_unlock(&b->lock);
	if (block)
		memcpy(buf, block->bytes + offset % BLOCK, length);
	else
		memset(buf, 0, length);
	pthread_mutex_lock(&b->lock);
	if (block)
		blocks_unpin(b, block);
}

static int
read_passed(struct image_blocks *b, uint64_t offset, unsigned char *buf,
	size_t length, struct image_error *err)
{
	const struct block_hole *hole = blocks_hole(b, offset / BLOCK);
	struct block *block = blocks_find(b, offset / BLOCK);
	bool is_hole = hole && hole->begin <= offset / BLOCK;

	if (is_hole || (block && offset % BLOCK + length <= block->filled)) {
		if (is_hole)
			block = NULL;
		else
			blocks_pin(b, block);
		copy(b, block, offset, buf, length);
		return 0;
	}
	if (!blocks_is_moved(b, offset / BLOCK))
		return image_fail(err, b->store.name, -ESPIPE,
			"comes as a stream, and its bytes at offset %" PRIu64
			" are needed a second time; write it to a file first",
			offset);
	pthread_mutex_unlock(&b->lock);
	int rc = blocks_read_moved(b, offset, buf, length, err);
	pthread_mutex_lock(&b->lock);
	return rc;
}

static int
fail_end(struct image_blocks *b, uint64_t offset, struct image_error *err)
{
	return image_damaged(err, b->store.name, -EIO,
		"has no data at offset %" PRIu64 ": it ends at offset %" PRIu64,
		offset > b->position ? offset : b->position, b->position);
}

static int
blocks_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	struct image_blocks *b = of(store);
	uint64_t end = offset + length;
	unsigned char *to = buf;
	struct block *block;
	int rc = 0;

	if (!b->ordered && end > store->size)
		return image_fail(err, store->name, -EIO,
			"ends at offset %" PRIu64 ", inside the range that is "
			"read",
			store->size);
	pthread_mutex_lock(&b->lock);
	if (!b->ordered) {
		blocks_want(b, offset, end, true);
		blocks_ahead(b, offset, end);
		blocks_wake(b);
	}
	while (rc == 0 && offset < end) {
		size_t part = BLOCK - offset % BLOCK;
		if (part > end - offset)
			part = (size_t)(end - offset);
		if (b->ordered) {
			rc = blocks_pull_to(b, offset + part, err);
			if (rc == 0 && b->position < offset + part)
				rc = fail_end(b, offset, err);
			if (rc == 0)
				rc = read_passed(b, offset, to, part, err);
		} else if ((block = blocks_wait(b, offset, end))) {
			copy(b, block, offset, to, part);
		} else {
			*err = b->err;
			rc = b->rc;
		}
		offset += part;
		to += part;
	}
	pthread_mutex_unlock(&b->lock);
	return rc;
}

static int
blocks_reach(struct image_store *store, uint64_t offset, size_t length,
	uint64_t *reached, struct image_error *err)
{
	struct image_blocks *b = of(store);
	uint64_t end = store->size;
	int rc = 0;

	if (b->ordered) {
		pthread_mutex_lock(&b->lock);
		rc = blocks_pull_to(b, offset + length, err);
		end = b->position;
		pthread_mutex_unlock(&b->lock);
	}
	uint64_t left = offset < end ? end - offset : 0;
	*reached = left < length ? left : length;
	return rc;
}

static int
blocks_extent(struct image_store *store, uint64_t offset, uint64_t limit,
	uint64_t *length, bool *hole, struct image_error *err)
{
	struct image_blocks *b = of(store);
	uint64_t end = offset + limit;

	(void)err;
	pthread_mutex_lock(&b->lock);
	const struct block_hole *next = blocks_hole(b, offset / BLOCK);
	*hole = next && next->begin <= offset / BLOCK;
	if (next)
		end = (*hole ? next->end : next->begin) * BLOCK;
	pthread_mutex_unlock(&b->lock);
	*length = end - offset < limit ? end - offset : limit;
	return 0;
}

static void
release(struct image_store *store, uint64_t offset, uint64_t length)
{
	struct image_blocks *b = of(store);

	if (!b->ordered)
		return;
	pthread_mutex_lock(&b->lock);
	blocks_release(b, offset, length);
	pthread_mutex_unlock(&b->lock);
}

/* What can be requested again is compared with each answer. */
static int
unchanged(struct image_store *store, struct image_error *err)
{
	return of(store)->ordered ? image_blocks_drain(store, err) : 0;
}

void
blocks_destroy(struct image_blocks *b)
{
	for (size_t i = 0; b->table && i < b->max_blocks; i++) {
		for (struct block *next, *block = b->table[i]; block;
			block = next) {
			next = block->next;
			free(block);
		}
	}
	if (b->tap)
		b->tap->close(b->tap);
	if (b->fd >= 0)
		close(b->fd);
	free(b->table);
	free(b->holes);
	free(b->moved);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b->store.name);
	free(b);
}

static void
blocks_close(struct image_store *store)
{
	struct image_blocks *b = of(store);

	if (b->producer)
		b->producer->close(b);
	image_stream_close(b->stream);
	blocks_destroy(b);
}

static const struct image_store_ops blocks_ops = {
	.read = blocks_read,
	.extent = blocks_extent,
	.reach = blocks_reach,
	.release = release,
	.unchanged = unchanged,
	.close = blocks_close,
};

static bool
has_blocks(const struct image_store *store)
{
	return store->ops == &blocks_ops;
}

int
blocks_create(struct image_blocks *b, uint64_t memory)
{
	uint64_t n = memory / (sizeof(struct block) + BLOCK);

	b->store.ops = &blocks_ops;
	b->fd = -1;
	b->max_blocks = n < MIN_BLOCKS ? MIN_BLOCKS : (size_t)n;
	b->keep = KEEP;
	b->max_ahead = b->max_blocks * BLOCK / 2;
	if (b->max_ahead > BLOCKS_AHEAD)
		b->max_ahead = BLOCKS_AHEAD;
	b->drained = b->end = UINT64_MAX;
	TAILQ_INIT(&b->needed);
	TAILQ_INIT(&b->released);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): a table of pointers */
	b->table = calloc(b->max_blocks, sizeof(*b->table));
	return b->table ? 0 : -ENOMEM;
}

int
image_blocks_open(struct image_stream *stream, uint64_t memory,
	struct image_store **out, struct image_error *err)
{
	struct image_blocks *b = calloc(1, sizeof(*b));

	*out = NULL;
	if (!b) {
		image_stream_close(stream);
		return image_no_memory(err);
	}
	b->stream = stream;
	b->store.below = stream->store;
	b->store.size = stream->size;
	b->store.forward = b->ordered = true;
	int rc = blocks_create(b, image_memory(memory).blocks);
	b->store.name = strdup(stream->name);
	if (rc < 0 || !b->store.name) {
		blocks_close(&b->store);
		return image_no_memory(err);
	}
	*out = &b->store;
	return 0;
}

/* Blocks that came wait until they pass, in no list. */
void
blocks_order(struct image_blocks *b)
{
	TAILQ_INIT(&b->needed);
	b->store.forward = b->ordered = true;
}

/* Returns whether the store is a sequence now, and nothing has passed. */
static bool
begins_in_order(struct image_store *store)
{
	struct image_blocks *b = of(store);

	if (!has_blocks(store))
		return false;
	pthread_mutex_lock(&b->lock);
	bool begins = b->position == 0 && !b->ended && b->rc == 0 && !b->tap;
	if (begins && !b->ordered)
		blocks_order(b);
	pthread_mutex_unlock(&b->lock);
	return begins;
}

void
image_blocks_pass(struct image_store *store)
{
	begins_in_order(store);
	if (has_blocks(store))
		of(store)->keep = 0;
}

int
image_blocks_once(struct image_store **store, uint64_t memory,
	struct image_tap *tap, struct image_error *err)
{
	struct image_stream *stream;
	int rc = 0;

	if (!begins_in_order(*store)) {
		rc = image_stream_of_store(*store, &stream, err);
		if (rc == 0)
			rc = image_blocks_open(stream, memory, store, err);
	}
	if (rc == 0)
		of(*store)->tap = tap;
	else if (tap)
		tap->close(tap);
	return rc;
}

void
image_blocks_spill(struct image_store *store, const struct image_spill *spill)
{
	if (has_blocks(store))
		of(store)->spill = spill;
}

void
image_blocks_keep_ends(struct image_store *store)
{
	if (has_blocks(store))
		of(store)->keeps_ends = true;
}
