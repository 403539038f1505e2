/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compute digests of each block of the disk of an image. Blocks do not depend
 * on each other, so that any thread hashes those of its chunk.
 */
#include <string.h>
#include <hone/zero.h>
#include "hash/hash.h"
#include "pipeline/pieces.h"

struct blocks {
	/* first: image_pieces_cut() */
	struct image_source *source;
	/* bytes of a block */
	size_t size;
	size_t room;
	struct image_digests *digests;
	struct image_hash *hash[IMAGE_ALGORITHMS];
	int (*report)(void *opaque, const struct image_block *block);
	void *opaque;
};

/* What a chunk has of one block. */
struct found {
	bool data;
	unsigned char bytes[IMAGE_ALGORITHMS][IMAGE_DIGEST_MAX];
};

/* Followed by the list of the pieces, and by the blocks of the chunk. */
struct own {
	struct image_pieces listed;
	struct found *found;
};

/* Returns the length of the block at offset of a chunk. */
static size_t
block_length(const struct blocks *blocks, const struct image_chunk *chunk,
	size_t offset)
{
	uint64_t left = chunk->length - offset;
	return left < blocks->size ? (size_t)left : blocks->size;
}

static int
hash_block(struct blocks *blocks, struct found *found,
	const unsigned char *bytes, size_t length, struct image_error *err)
{
	int rc = 0;

	found->data = !hone_buffer_is_zero(bytes, length);
	for (size_t i = 0; found->data && rc == 0 && i < blocks->digests->count;
		i++)
		rc = image_hash_once(
			blocks->hash[i], bytes, length, found->bytes[i], err);
	return rc;
}

static int
blocks_work(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct blocks *blocks = opaque;
	struct own *own = chunk->own;

	own->listed.list = (struct image_extent *)(own + 1);
	own->listed.room = blocks->room;
	own->found = (struct found *)(own->listed.list + blocks->room);
	int rc = image_pieces_load(
		&own->listed, blocks->source, scratch, chunk, err);
	for (size_t at = 0; rc == 0 && at < chunk->length; at += blocks->size)
		rc = hash_block(blocks, &own->found[at / blocks->size],
			chunk->data + at, block_length(blocks, chunk, at), err);
	return rc;
}

static int
blocks_order(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	struct blocks *blocks = opaque;
	const struct own *own = chunk->own;
	int rc = 0;

	(void)err;
	if (chunk->hole)
		return 0;
	for (size_t at = 0; rc == 0 && at < chunk->length; at += blocks->size) {
		const struct found *found = &own->found[at / blocks->size];
		const struct image_block block = {.offset = chunk->offset + at,
			.length = block_length(blocks, chunk, at),
			.digests = blocks->digests};
		if (!found->data)
			continue;
		for (size_t i = 0; i < blocks->digests->count; i++)
			memcpy(blocks->digests->list[i].bytes, found->bytes[i],
				IMAGE_DIGEST_MAX);
		rc = blocks->report(blocks->opaque, &block);
	}
	return rc;
}

static int
visit(struct blocks *blocks, const struct image_run *run,
	struct image_error *err)
{
	struct image_source *source = blocks->source;
	size_t chunk = image_chunk_size(source);

	if (chunk < blocks->size)
		chunk = blocks->size;
	blocks->room = image_pieces_room(chunk);
	struct image_plan plan = {
		.size = source->size,
		.stores = {source->data},
		.chunk = chunk,
		.buffer = chunk,
		.own = sizeof(struct own) +
		       blocks->room * sizeof(struct image_extent) +
		       chunk / blocks->size * sizeof(struct found),
		.cut = image_pieces_cut,
		.reach = image_pieces_reach(source),
		.work = blocks_work,
		.order = blocks_order,
		.opaque = blocks,
	};
	int rc = image_pipeline_run(&plan, run, NULL, err);
	return rc == 0 ? image_pieces_end(source, true, err) : rc;
}

int
image_digest_blocks(struct image_source *source, const struct image_run *run,
	size_t size, struct image_digests *digests,
	int (*report)(void *opaque, const struct image_block *block),
	void *opaque, struct image_error *err)
{
	struct blocks blocks = {.source = source,
		.size = size,
		.digests = digests,
		.report = report,
		.opaque = opaque};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < digests->count; i++)
		rc = image_hash_create(
			&blocks.hash[i], digests->list[i].algorithm, err);
	if (rc == 0)
		rc = visit(&blocks, run, err);
	for (size_t i = 0; i < digests->count; i++)
		image_hash_destroy(blocks.hash[i]);
	return rc;
}
