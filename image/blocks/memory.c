/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks in memory, and which of them is used again. */
#include <stdlib.h>
#include <string.h>
#include "blocks/cache.h"

/* Blocks that have the last bytes of a sequence, besides the coming one. */
#define ENDS (IMAGE_BLOCKS_END / BLOCK)

struct block *
blocks_find(const struct image_blocks *b, uint64_t index)
{
	struct block *block = b->table[index % b->max_blocks];

	while (block && block->index != index)
		block = block->next;
	return block;
}

static void
remove_block(struct image_blocks *b, struct block *block)
{
	struct block **slot = &b->table[block->index % b->max_blocks];

	while (*slot != block)
		slot = &(*slot)->next;
	*slot = block->next;
}

int
blocks_fail(struct image_blocks *b, int rc, const struct image_error *err)
{
	if (b->rc == 0) {
		b->rc = rc;
		b->err = *err;
	}
	pthread_cond_broadcast(&b->changed);
	return rc;
}

void
blocks_ready(struct image_blocks *b, struct block *block)
{
	bool released = block->n_released == BLOCK_SECTORS;

	block->state = released ? BLOCK_RELEASED : BLOCK_READY;
	TAILQ_INSERT_TAIL(released ? &b->released : &b->needed, block, age);
	b->n_released += released;
}

void
blocks_pin(struct image_blocks *b, struct block *block)
{
	block->pins++;
	if (b->ordered)
		return;
	/* What was used last is dropped last. */
	TAILQ_REMOVE(&b->needed, block, age);
	TAILQ_INSERT_TAIL(&b->needed, block, age);
}

void
blocks_unpin(struct image_blocks *b, struct block *block)
{
	if (--block->pins == 0 && b->starved)
		pthread_cond_broadcast(&b->changed);
}

static struct block *
take_released(struct image_blocks *b)
{
	struct block *next;

	for (struct block *block = TAILQ_FIRST(&b->released); block;
		block = next) {
		next = TAILQ_NEXT(block, age);
		bool is_end = block->index == 0 ||
			      block->index + ENDS >= b->position / BLOCK;
		if (block->pins || (b->keeps_ends && is_end))
			continue;
		TAILQ_REMOVE(&b->released, block, age);
		b->n_released--;
		/* A cluster that is compressed may begin in the last sector of
		 * a block whose clusters were all read. A stream reads nothing
		 * twice. */
		const struct block *after = blocks_find(b, block->index + 1);
		bool needed = after ? after->n_released < BLOCK_SECTORS
				    : blocks_is_moved(b, block->index + 1);
		if (b->keep == 0 || !needed)
			return block;
		block->state = BLOCK_READY;
		TAILQ_INSERT_TAIL(&b->needed, block, age);
	}
	return NULL;
}

static struct block *
allocate(struct image_blocks *b)
{
	struct block *block = malloc(sizeof(*block) + BLOCK);
	struct image_error err;

	if (block)
		b->n_blocks++;
	else
		blocks_fail(b, image_no_memory(&err), &err);
	return block;
}

/*
 * Returns the memory of a block, which is in no list and not in the table.
 * Bytes that can be made again are dropped, others are moved to the file.
 */
static struct block *
take_needed(struct image_blocks *b)
{
	struct block *block = TAILQ_FIRST(&b->needed);

	while (block && block->pins)
		block = TAILQ_NEXT(block, age);
	/* A sequence goes on, with few blocks above the limit: those that are
	 * pinned, and one of a stream that is drained (two with keeps_ends). */
	if (!block || (b->stream && b->drained < UINT64_MAX))
		return b->ordered ? allocate(b) : NULL;
	TAILQ_REMOVE(&b->needed, block, age);
	if (b->ordered) {
		block->state = BLOCK_SPILLING;
		if (blocks_move(b, block) < 0) {
			blocks_ready(b, block);
			return NULL;
		}
	}
	/* What moved is found in the file from now on. */
	remove_block(b, block);
	b->starved++;
	while (block->pins)
		pthread_cond_wait(&b->changed, &b->lock);
	b->starved--;
	return block;
}

static struct block *
take_memory(struct image_blocks *b, bool ahead)
{
	struct block *block = NULL;

	if (b->n_released > b->keep)
		block = take_released(b);
	if (!block && b->n_blocks < b->max_blocks)
		return allocate(b);
	if (!block)
		block = take_released(b);
	if (!block && ahead && b->ordered && !b->moved)
		return NULL;
	if (!block)
		return take_needed(b);
	remove_block(b, block);
	return block;
}

struct block *
blocks_take(struct image_blocks *b, uint64_t index, bool ahead)
{
	struct block *block = take_memory(b, ahead);

	if (!block)
		return NULL;
	struct block **slot = &b->table[index % b->max_blocks];
	block->index = index;
	block->state = BLOCK_COMING;
	block->pins = block->filled = block->n_released = 0;
	memset(block->released, 0, sizeof(block->released));
	block->next = *slot;
	*slot = block;
	return block;
}

static void
leave_needed(struct image_blocks *b, struct block *block)
{
	if (!block || block->n_released < BLOCK_SECTORS ||
		block->state != BLOCK_READY)
		return;
	TAILQ_REMOVE(&b->needed, block, age);
	blocks_ready(b, block);
}

static void
release_part(struct image_blocks *b, uint64_t index, size_t first, size_t end)
{
	struct block *block = blocks_find(b, index);

	if (!block || block->n_released == BLOCK_SECTORS)
		return;
	for (size_t i = first; i < end; i++) {
		uint64_t bit = (uint64_t)1 << i % 64;
		block->n_released += !(block->released[i / 64] & bit);
		block->released[i / 64] |= bit;
	}
	if (block->n_released < BLOCK_SECTORS)
		return;
	leave_needed(b, block);
	/* The block before may have stayed for this one: take_released(). */
	if (index)
		leave_needed(b, blocks_find(b, index - 1));
}

void
blocks_release(struct image_blocks *b, uint64_t offset, uint64_t length)
{
	uint64_t at = (offset + IMAGE_SECTOR - 1) / IMAGE_SECTOR;
	uint64_t end = (offset + length) / IMAGE_SECTOR;

	if (end > b->position / IMAGE_SECTOR)
		end = b->position / IMAGE_SECTOR;
	while (at < end) {
		uint64_t index = at / BLOCK_SECTORS;
		uint64_t next = (index + 1) * BLOCK_SECTORS;
		if (next > end)
			next = end;
		release_part(b, index, at % BLOCK_SECTORS,
			(size_t)(next - index * BLOCK_SECTORS));
		at = next;
	}
}
