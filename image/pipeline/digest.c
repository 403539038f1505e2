/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compute digests of the disk of an image.
 *
 * Any thread reads and unpacks a chunk in the work stage. The write stage
 * hashes the chunk, beside the work of the other threads. This stage has one
 * writer, so that the chunks come in the order of the disk.
 */
#include "pipeline/hashers.h"

struct digest {
	/* first: image_pieces_cut() */
	struct image_source *source;
	size_t room;
	struct image_hashers *hashers;
};

static int
digest_work(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct digest *digest = opaque;
	struct image_pieces *listed = chunk->own;

	listed->list = (struct image_extent *)(listed + 1);
	listed->room = digest->room;
	int rc = image_pieces_list(listed, digest->source, chunk, true, err);
	if (rc < 0)
		return rc;
	return image_pieces_read(listed, digest->source, scratch, chunk, err);
}

static int
digest_hash(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct digest *digest = opaque;

	return image_hashers_write(
		digest->hashers, chunk->own, NULL, NULL, scratch, chunk, err);
}

static void
digest_stop(void *opaque)
{
	struct digest *digest = opaque;
	image_hashers_stop(digest->hashers);
}

int
image_digest(struct image_source *source, uint64_t size,
	const struct image_run *run, struct image_digests *digests,
	struct image_error *err)
{
	size_t chunk = image_chunk_size(source);
	struct digest digest = {
		.source = source, .room = image_pieces_room(chunk)};
	struct image_plan plan = {
		.size = size > source->size ? source->size : size,
		.stores = {source->data},
		.chunk = chunk,
		.buffer = chunk,
		.own = sizeof(struct image_pieces) +
		       digest.room * sizeof(struct image_extent),
		.writers = 1,
		.cut = image_pieces_cut,
		.reach = image_pieces_reach(source),
		.work = digest_work,
		.write = digest_hash,
		.stop = digest_stop,
		.opaque = &digest,
	};
	/* The hashers report the progress: they come last. */
	struct image_run quiet = *run;

	quiet.progress = NULL;
	int rc = image_hashers_create(
		&digest.hashers, digests, run, NULL, IMAGE_HASHERS_JOIN, err);
	if (rc < 0)
		return rc;
	rc = image_pipeline_run(&plan, &quiet, NULL, err);
	if (rc == 0)
		rc = image_pieces_end(source, true, err);
	if (rc == 0)
		rc = image_hashers_finish(digest.hashers,
			size == UINT64_MAX ? source->size : size, digests, err);
	image_hashers_destroy(digest.hashers);
	return rc;
}
