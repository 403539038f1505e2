/* SPDX-License-Identifier: BSD-3-Clause */
/* What is requested of a producer: missing blocks, and those ahead of reads. */
#include <stdlib.h>
#include "blocks/cache.h"

/* Several threads read chunks out of order. */
#define SLACK ((uint64_t)4 << 20)

static bool
continues(const struct block_track *track, uint64_t offset)
{
	return track->used && offset + SLACK >= track->end &&
	       offset <= track->end + SLACK;
}

static struct block_track *
find_track(struct image_blocks *b, uint64_t offset, uint64_t end)
{
	struct block_track *oldest = &b->tracks[0];

	for (size_t i = 0; i < BLOCKS_TRACKS; i++) {
		struct block_track *track = &b->tracks[i];
		if (continues(track, offset)) {
			track->bytes += end - offset;
			if (track->end < end)
				track->end = end;
			return track;
		}
		if (track->used < oldest->used)
			oldest = track;
	}
	*oldest = (struct block_track){.end = end};
	return oldest;
}

void
blocks_ahead_begin(struct image_blocks *b)
{
	b->tracks[0] =
		(struct block_track){.bytes = b->max_ahead, .used = ++b->tick};
	blocks_ahead(b, 0, 0);
}

void
blocks_ahead(struct image_blocks *b, uint64_t offset, uint64_t end)
{
	if (b->inspect)
		return;
	struct block_track *track = find_track(b, offset, end);
	/* A short sequence, such as the tables of a header, asks for little. */
	uint64_t window = track->bytes < b->max_ahead / 2 ? track->bytes * 2
							  : b->max_ahead;
	uint64_t least = window / 4 < BLOCKS_LONG ? window / 4 : BLOCKS_LONG;

	track->used = ++b->tick;
	if (track->ahead < track->end)
		track->ahead = track->end;
	uint64_t want = track->end + window;
	/* Requests of a few blocks would take a round trip each. */
	if (window < BLOCK || want < track->ahead + least)
		return;
	/* No short request follows the long ones, except at the end. */
	if (want < b->store.size)
		want -= (want - track->ahead) % least;
	track->ahead = blocks_want(b, track->ahead, want, false);
}

uint64_t
blocks_want(struct image_blocks *b, uint64_t offset, uint64_t end, bool urgent)
{
	uint64_t at = offset - offset % BLOCK;
	struct image_error err;

	if (end > b->store.size)
		end = b->store.size;
	while (at < end && b->rc == 0) {
		if (blocks_find(b, at / BLOCK)) {
			at += BLOCK;
			continue;
		}
		offset = at;
		while (at < end && at - offset < BLOCKS_LONG &&
			!blocks_find(b, at / BLOCK) &&
			blocks_take(b, at / BLOCK, !urgent))
			at += BLOCK;
		if (at == offset)
			break; /* no block is free */
		uint64_t last = at < b->store.size ? at : b->store.size;
		if (!b->producer->request(b, offset, last, urgent))
			blocks_fail(b, image_no_memory(&err), &err);
	}
	return at < end ? at : end;
}

bool
blocks_wake(struct image_blocks *b)
{
	if (!b->wakes)
		return false;
	b->wakes = false;
	pthread_mutex_unlock(&b->lock);
	b->producer->wake(b);
	pthread_mutex_lock(&b->lock);
	return true;
}

struct block *
blocks_wait(struct image_blocks *b, uint64_t offset, uint64_t end)
{
	struct block *block = NULL;

	while (b->rc == 0) {
		block = blocks_find(b, offset / BLOCK);
		if (block && block->state == BLOCK_READY)
			break;
		if (!block) {
			/* All blocks may be in use by other reads. */
			blocks_want(b, offset, end, true);
			if (blocks_wake(b))
				continue;
			block = blocks_find(b, offset / BLOCK);
		}
		if (b->rc < 0)
			break;
		/* A block that is waited for is not dropped. */
		unsigned *waiters = block ? &block->pins : &b->starved;
		++*waiters;
		pthread_cond_wait(&b->changed, &b->lock);
		--*waiters;
	}
	if (b->rc < 0)
		return NULL;
	blocks_pin(b, block);
	return block;
}

void
blocks_came(struct image_blocks *b, struct block *block, size_t filled)
{
	block->filled = (unsigned)filled;
	if (!b->ordered)
		blocks_ready(b, block);
	pthread_cond_broadcast(&b->changed);
}
