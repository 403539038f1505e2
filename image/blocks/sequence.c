/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that pass once, in order: those of a stream, or of a producer. */
#include "blocks/cache.h"

/* With the lock, of what was done without it: bytes passed, or the end. */
static void
pass(struct image_blocks *b, uint64_t length, int rc,
	const struct image_error *err)
{
	b->position += length;
	b->ended = rc == 0 && length == 0;
	if (rc == 0)
		return;
	/* No more passes, although more may have come. */
	b->end = b->position;
	blocks_fail(b, rc, err);
}

const struct block_hole *
blocks_hole(const struct image_blocks *b, uint64_t index)
{
	size_t low = 0, high = b->n_holes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (b->holes[middle].end > index)
			high = middle;
		else
			low = middle + 1;
	}
	return low < b->n_holes ? &b->holes[low] : NULL;
}

/* Let whole blocks of zeros pass, if the stream has some next. */
static bool
skip_zeros(struct image_blocks *b)
{
	uint64_t begin = b->position / BLOCK, length;
	struct image_error err;

	if (b->tap || !b->stream->ops->skip || b->n_holes == BLOCKS_HOLES ||
		image_grow(&b->holes, &b->room_for_holes, b->n_holes + 1,
			sizeof(*b->holes), &err) < 0)
		return false;
	pthread_mutex_unlock(&b->lock);
	int rc = image_stream_skip(b->stream, BLOCK, &length, &err);
	pthread_mutex_lock(&b->lock);
	if (rc == 0 && length == 0)
		return false;
	struct block_hole *last = &b->holes[b->n_holes];
	if (rc < 0)
		length = 0;
	else if (b->n_holes && last[-1].end == begin)
		last[-1].end += length / BLOCK;
	else
		b->holes[b->n_holes++] =
			(struct block_hole){begin, begin + length / BLOCK};
	pass(b, length, rc, &err);
	return true;
}

static void
passed(struct image_blocks *b, struct block *block)
{
	if (block->index * BLOCK >= b->drained)
		block->n_released = BLOCK_SECTORS;
	blocks_ready(b, block);
}

static void
pull_stream(struct image_blocks *b)
{
	struct image_error err;
	size_t got = 0;

	if (!b->head && skip_zeros(b))
		return;
	if (!b->head)
		b->head = blocks_take(b, b->position / BLOCK, false);
	struct block *head = b->head;
	if (!head)
		return;
	pthread_mutex_unlock(&b->lock);
	unsigned char *to = head->bytes + head->filled;
	int rc = image_stream_read(
		b->stream, to, BLOCK - head->filled, &got, &err);
	if (rc == 0)
		rc = b->tap ? b->tap->see(b->tap, to, got, &err) : 0;
	pthread_mutex_lock(&b->lock);
	pass(b, got, rc, &err);
	head->filled += (unsigned)got;
	if (head->filled < BLOCK)
		return;
	b->head = NULL;
	passed(b, head);
}

static void
want_next(struct image_blocks *b)
{
	/* A piece of what has no end yet may be longer than what is missing of
	 * a block. */
	uint64_t least = b->end < UINT64_MAX ? 1 : 2 * BLOCK;

	/* Requests of a block each would take a round trip each. */
	if (b->inspect && least == 1 && !blocks_find(b, b->position / BLOCK))
		least += b->position < BLOCKS_LONG ? b->position : BLOCKS_LONG;
	blocks_want(b, b->position, b->position + least, true);
	blocks_ahead(b, b->asked, b->position);
	b->asked = b->position;
	blocks_wake(b);
}

static void
pull_producer(struct image_blocks *b)
{
	struct image_error err;
	size_t skip = b->position % BLOCK;

	if (b->rc == 0 && b->position < b->end)
		want_next(b);
	struct block *block = NULL;
	while (b->position < b->end) {
		block = blocks_find(b, b->position / BLOCK);
		if ((block && block->filled > skip) || b->rc < 0)
			break;
		pthread_cond_wait(&b->changed, &b->lock);
	}
	if (b->position >= b->end || (block && block->filled <= skip))
		block = NULL;
	if (!block && b->rc < 0)
		return;
	size_t n = block ? block->filled - skip : 0;
	pthread_mutex_unlock(&b->lock);
	int rc = image_stream_check(
		b->store.name, b->store.size, b->position + n, n == 0, &err);
	if (rc == 0 && b->tap)
		rc = b->tap->see(
			b->tap, block ? block->bytes + skip : NULL, n, &err);
	pthread_mutex_lock(&b->lock);
	pass(b, n, rc, &err);
	if (block && (skip + n == BLOCK || b->position >= b->end))
		passed(b, block);
}

int
blocks_pull_to(struct image_blocks *b, uint64_t end, struct image_error *err)
{
	bool more = true;

	while (b->position < end && !b->ended && more) {
		if (b->pulling) {
			pthread_cond_wait(&b->changed, &b->lock);
			continue;
		}
		uint64_t before = b->position;
		b->pulling = true;
		if (b->producer)
			pull_producer(b);
		else if (b->rc == 0)
			pull_stream(b);
		b->pulling = false;
		pthread_cond_broadcast(&b->changed);
		more = b->position > before || b->ended;
	}
	if (b->position >= end || b->ended)
		return 0;
	*err = b->err;
	return b->rc;
}

int
image_blocks_drain(struct image_store *store, struct image_error *err)
{
	struct image_blocks *b = (struct image_blocks *)store;

	pthread_mutex_lock(&b->lock);
	while (b->pulling)
		pthread_cond_wait(&b->changed, &b->lock);
	b->drained = b->position;
	int rc = blocks_pull_to(b, UINT64_MAX, err);
	pthread_mutex_unlock(&b->lock);
	return rc;
}
