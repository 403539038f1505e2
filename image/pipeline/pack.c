/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy a source into a sink that is one deflate stream of the data alone. The
 * work stage compresses the data of a chunk, in all threads; the order stage
 * appends it to the stream. Digests are those of the disk, and the write stage
 * computes them beside the write.
 */
#include <string.h>
#include <hone/zero.h>
#include "codec/join.h"
#include "format/regions.h"
#include "pipeline/copy.h"

struct pack {
	/* first: image_pieces_cut() */
	struct image_source *source;
	struct image_sink *sink;
	size_t chunk;
	size_t room;
	/* bytes of the blocks that are searched for zeros, to count them */
	size_t block;
	/* NULL: no digests */
	struct image_hashers *hashers;
	struct image_copied *copied;
	/* image_run.max_written */
	uint64_t max_written;
};

/* The data of a chunk that the stages share. */
struct own {
	struct image_packed packed;
	/* bytes of the disk that are packed, and those in blocks of zeros */
	uint64_t bytes;
	uint64_t zero;
	/* only for digests: the data of the buffer */
	struct image_pieces pieces;
};

/* Read a range of whole sectors; zeros follow the disk. */
static int
read_region(struct image_source *source, struct image_scratch *scratch,
	uint64_t begin, uint64_t end, unsigned char *to,
	struct image_error *err)
{
	uint64_t stop = end < source->size ? end : source->size;

	memset(to + (stop - begin), 0, (size_t)(end - stop));
	return source->ops->read(
		source, scratch, begin, to, (size_t)(stop - begin), err);
}

/*
 * Returns how much of the disk's bytes from begin to end are blocks of zeros.
 * Blocks are aligned in the disk.
 */
static uint64_t
count_zeros(const struct pack *pack, uint64_t begin, uint64_t end,
	const unsigned char *bytes)
{
	uint64_t stop = end < pack->source->size ? end : pack->source->size;
	uint64_t zero = 0;

	for (uint64_t at = begin, next; at < stop; at = next) {
		next = (at | (pack->block - 1)) + 1;
		if (next > stop)
			next = stop;
		if (hone_buffer_is_zero(bytes + (at - begin), next - at))
			zero += next - at;
	}
	return zero;
}

/* Add a range of the disk that was read, for the digests. */
static void
list_region(const struct pack *pack, struct image_pieces *pieces,
	uint64_t begin, uint64_t end)
{
	uint64_t size = pack->source->size;

	if (pack->hashers)
		pieces->list[pieces->count++] =
			(struct image_extent){.kind = IMAGE_DATA,
				.offset = begin,
				.length = (end < size ? end : size) - begin,
				.host = IMAGE_NO_HOST};
}

static int
work(void *opaque, struct image_scratch *scratch, struct image_chunk *chunk,
	struct image_error *err)
{
	struct pack *pack = opaque;
	struct own *own = chunk->own;
	struct image_packed *packed = &own->packed;
	uint64_t end = chunk->offset + chunk->length;
	uint64_t to = (end + IMAGE_SECTOR - 1) & ~(uint64_t)(IMAGE_SECTOR - 1);
	uint64_t at = chunk->offset;
	int rc = 0;

	*own = (struct own){.pieces.list = (struct image_extent *)(own + 1)};
	while (rc == 0 && at < to) {
		unsigned char *bytes = chunk->data + packed->length;
		uint64_t begin;
		rc = image_region(pack->source, at, to, &begin, &at, err);
		if (rc < 0 || begin == at)
			continue;
		rc = read_region(pack->source, scratch, begin, at, bytes, err);
		if (rc < 0)
			return rc;
		own->bytes +=
			(at < pack->source->size ? at : pack->source->size) -
			begin;
		own->zero += count_zeros(pack, begin, at, bytes);
		list_region(pack, &own->pieces, begin, at);
		packed->length += at - begin;
	}
	if (rc < 0 || packed->length == 0)
		return rc;
	return image_pack(&pack->sink->codec, scratch, chunk->data,
		chunk->data + pack->chunk, pack->room, packed, err);
}

static int
order(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	struct pack *pack = opaque;
	struct own *own = chunk->own;
	struct image_packed *packed = &own->packed;
	uint64_t stored = chunk->hole ? 0 : own->bytes;
	uint64_t zero = chunk->hole ? 0 : own->zero;

	pack->copied->data += stored - zero;
	pack->copied->zero += zero;
	pack->copied->hole += chunk->length - stored;
	pack->copied->compressed_from += stored;
	pack->copied->compressed_to += stored ? packed->stored : 0;
	if (stored == 0)
		return 0;
	int rc = image_copy_limit(
		pack->sink, pack->copied, pack->max_written, err);
	return rc < 0 ? rc : pack->sink->ops->append(pack->sink, packed, err);
}

static int
write_packed(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct pack *pack = opaque;
	const struct own *own = chunk->own;
	const struct image_packed *packed = &own->packed;

	(void)scratch;
	return image_store_write(pack->sink->store, packed->host,
		chunk->data + pack->chunk, (size_t)packed->stored, err);
}

/* The one writer has the chunks in order. */
static int
write_and_hash(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct pack *pack = opaque;
	const struct own *own = chunk->own;

	return image_hashers_write(pack->hashers, &own->pieces, write_packed,
		opaque, scratch, chunk, err);
}

static void
stop(void *opaque)
{
	struct pack *pack = opaque;
	image_hashers_stop(pack->hashers);
}

static int
visit(struct pack *pack, const struct image_run *run, struct image_error *err)
{
	struct image_sink *sink = pack->sink;
	bool hashes = pack->hashers;
	struct image_plan plan = {
		.size = pack->source->size,
		.stores = {pack->source->data, sink->store},
		.chunk = pack->chunk,
		.buffer = pack->chunk + pack->room,
		.own = sizeof(struct own) +
		       (hashes ? image_pieces_room(pack->chunk) *
					       sizeof(struct image_extent)
			       : 0),
		.scratch = run->memory ? image_codec_memory(
						 &sink->codec, pack->chunk) +
						 image_pack_memory
				       : 0,
		.writers = sink->store->parallel_writes && !hashes ? 0 : 1,
		.cut = image_pieces_cut,
		.work = work,
		.order = order,
		.write = hashes ? write_and_hash : write_packed,
		.stop = hashes ? stop : NULL,
		.opaque = pack,
	};

	int rc = image_pipeline_run(&plan, run, &pack->copied->threads, err);
	return rc < 0 ? rc : image_pieces_end(pack->source, true, err);
}

int
image_copy_pack(struct image_copy *copy, const struct image_run *run,
	struct image_error *err)
{
	size_t chunk = image_chunk_size(copy->source);
	struct pack pack = {.source = copy->source,
		.sink = copy->sink,
		.chunk = chunk,
		.room = IMAGE_PACK_ROOM(chunk),
		.block = run->block,
		.copied = copy->copied,
		.max_written = run->max_written};
	/* The pipeline reports the progress. */
	const struct image_run silent = {0};

	if (!run->digests)
		return visit(&pack, run, err);
	int rc = image_hashers_create(&pack.hashers, run->digests, &silent,
		IMAGE_HASHERS_COMPACT, err);
	if (rc < 0)
		return rc;
	rc = visit(&pack, run, err);
	if (rc == 0)
		rc = image_hashers_finish(
			pack.hashers, pack.source->size, run->digests, err);
	image_hashers_destroy(pack.hashers);
	return rc;
}
