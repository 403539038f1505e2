/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy a source into a sink that is one deflate stream of the data alone. The
 * work stage compresses the data of a chunk, in all threads; the order stage
 * appends it to the stream.
 */
#include <errno.h>
#include <string.h>
#include "codec/join.h"
#include "format/regions.h"
#include "pipeline/copy.h"

struct pack {
	/* first: image_pieces_cut() */
	struct image_source *source;
	struct image_sink *sink;
	size_t chunk;
	size_t room;
	struct image_copied *copied;
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

static int
work(void *opaque, struct image_scratch *scratch, struct image_chunk *chunk,
	struct image_error *err)
{
	struct pack *pack = opaque;
	struct image_packed *packed = chunk->own;
	uint64_t end = chunk->offset + chunk->length;
	uint64_t to = (end + IMAGE_SECTOR - 1) & ~(uint64_t)(IMAGE_SECTOR - 1);
	uint64_t at = chunk->offset;
	int rc = 0;

	*packed = (struct image_packed){0};
	while (rc == 0 && at < to) {
		uint64_t begin;
		rc = image_region(pack->source, at, to, &begin, &at, err);
		if (rc == 0 && begin < at)
			rc = read_region(pack->source, scratch, begin, at,
				chunk->data + packed->length, err);
		packed->length += rc == 0 ? at - begin : 0;
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
	struct image_packed *packed = chunk->own;
	uint64_t data = chunk->hole ? 0 : packed->length;

	if (data > chunk->length)
		data = chunk->length;
	pack->copied->data += data;
	pack->copied->hole += chunk->length - data;
	pack->copied->compressed_from += data;
	pack->copied->compressed_to += data ? packed->stored : 0;
	if (data == 0)
		return 0;
	return pack->sink->ops->append(pack->sink, packed, err);
}

static int
write_packed(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct pack *pack = opaque;
	const struct image_packed *packed = chunk->own;

	(void)scratch;
	return image_store_write(pack->sink->store, packed->host,
		chunk->data + pack->chunk, (size_t)packed->stored, err);
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
		.copied = copy->copied};
	struct image_plan plan = {
		.size = copy->source->size,
		.stores = {copy->source->data, copy->sink->store},
		.chunk = chunk,
		.buffer = chunk + pack.room,
		.own = sizeof(struct image_packed),
		.scratch = run->memory ? image_codec_memory(
						 &copy->sink->codec, chunk) +
						 image_pack_memory
				       : 0,
		.writers = copy->sink->store->parallel_writes ? 0 : 1,
		.cut = image_pieces_cut,
		.work = work,
		.order = order,
		.write = write_packed,
		.opaque = &pack,
	};

	if (run->digests)
		return image_fail(err, copy->sink->store->name, -ENOTSUP,
			"is packed in the same pass, in which digests cannot "
			"be computed; use \"hone digest\"");
	int rc = image_pipeline_run(&plan, run, &copy->copied->threads, err);
	return rc < 0 ? rc : image_pieces_end(copy->source, err);
}
