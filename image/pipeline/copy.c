/* SPDX-License-Identifier: BSD-3-Clause */
/* Copy a source into a sink. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include "memory.h"
#include "pipeline/copy.h"
#include "unpack/unpack.h"
#include "format/format.h"

/* No file system that shares blocks has larger ones. */
#define SHARE_ALIGN 4096

static void
place_lists(const struct image_copy *copy, struct image_copy_own *own)
{
	own->listed.list = (struct image_extent *)(own + 1);
	own->listed.room = copy->room;
	own->found.list = own->listed.list + copy->room;
	own->found.room = copy->room;
	own->puts = (struct image_put *)(own->found.list + copy->room);
	own->max_puts = copy->max_puts;
	own->n_puts = 0;
	own->copied = (struct image_copied){0};
}

static bool
shareable(const struct image_extent *e)
{
	return !e->compressed && e->depth == 0 && e->host % SHARE_ALIGN == 0 &&
	       e->offset % SHARE_ALIGN == 0 && e->length % SHARE_ALIGN == 0;
}

/* Put zeros into a range whose place has other bytes. */
static void
put_zeros(const struct image_copy *copy, struct image_copy_own *own,
	uint64_t offset, uint64_t length)
{
	if (copy->sink->fill)
		own->puts[own->n_puts++] =
			(struct image_put){.place = {.guest = offset,
						   .length = length,
						   .stored = length},
				.zeros = true};
}

/* Put the data of pieces, which lie in bytes or, with NULL, are shared. */
static void
put_pieces(const struct image_copy *copy, struct image_copy_own *own,
	const struct image_pieces *pieces, uint64_t offset,
	const unsigned char *bytes)
{
	for (size_t i = 0; i < pieces->count; i++) {
		const struct image_extent *e = &pieces->list[i];
		image_copy_count(&own->copied, e);
		if (e->kind != IMAGE_DATA) {
			put_zeros(copy, own, e->offset, e->length);
			continue;
		}
		own->puts[own->n_puts++] = (struct image_put){
			.place = {.guest = e->offset,
				.length = e->length,
				.stored = e->length},
			.bytes = bytes ? bytes + (e->offset - offset) : NULL,
			.from = e->host};
	}
}

static int
copy_work(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct image_copy *copy = opaque;
	struct image_copy_own *own = chunk->own;
	struct image_pieces *listed = &own->listed;
	bool share = __atomic_load_n(&copy->share, __ATOMIC_RELAXED);

	place_lists(copy, own);
	if (copy->sink->compress)
		return image_copy_encode(copy, scratch, chunk, err);
	if (copy->sink->part)
		return image_copy_pack_disk(copy, scratch, chunk, err);
	if (copy->sink->ops->append)
		return image_copy_pack(copy, scratch, chunk, err);
	int rc = image_pieces_list(listed, copy->source, chunk, !share, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < listed->count; i++)
		share = share && (listed->list[i].kind != IMAGE_DATA ||
					 shareable(&listed->list[i]));
	if (share) {
		put_pieces(copy, own, listed, chunk->offset, NULL);
		return 0;
	}
	for (size_t i = 0; i < listed->count; i++)
		image_extent_plain(&listed->list[i]);
	rc = image_pieces_read(listed, copy->source, scratch, chunk, err);
	if (rc < 0)
		return rc;
	image_pieces_scan(&own->found, listed, chunk, copy->block);
	put_pieces(copy, own, &own->found, chunk->offset, chunk->data);
	return 0;
}

/* Split a put: the part that the place does not hold becomes the next put. */
static void
split(struct image_copy_own *own, size_t at, const struct image_place *place)
{
	struct image_put *put = &own->puts[at];
	struct image_put rest = *put;

	assert(own->n_puts < own->max_puts && !place->compressed);
	rest.place.guest += place->length;
	rest.place.length -= place->length;
	rest.place.stored = rest.place.length;
	if (rest.bytes)
		rest.bytes += place->length;
	rest.from += place->length;
	for (size_t i = own->n_puts; i > at + 1; i--)
		own->puts[i] = own->puts[i - 1];
	own->puts[at + 1] = rest;
	own->n_puts++;
	put->place = *place;
	put->place.stored = place->length;
}

/* Set where the bytes of a put go. */
static int
place_put(struct image_copy *copy, struct image_copy_own *own, size_t at,
	struct image_error *err)
{
	const struct image_sink_ops *ops = copy->sink->ops;
	struct image_put *put = &own->puts[at];
	struct image_place place = put->place;
	int rc;

	if (ops->append) {
		rc = ops->append(copy->sink, &own->packed, err);
		put->place.host = own->packed.host;
		return rc;
	}
	rc = ops->reserve(copy->sink, &place, err);
	if (rc < 0)
		return rc;
	if (place.length < put->place.length)
		split(own, at, &place);
	else
		put->place = place;
	return 0;
}

static int
copy_order(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	struct image_copy *copy = opaque;
	struct image_copy_own *own = chunk->own;

	if (chunk->hole) {
		copy->copied->hole += chunk->length;
		if (!copy->sink->fill)
			return 0;
		place_lists(copy, own);
		put_zeros(copy, own, chunk->offset, chunk->length);
	}
	copy->copied->data += own->copied.data;
	copy->copied->zero += own->copied.zero;
	copy->copied->hole += own->copied.hole;
	copy->copied->compressed_from += own->copied.compressed_from;
	copy->copied->compressed_to += own->copied.compressed_to;
	int rc = image_copy_limit(
		copy->sink, copy->copied, copy->max_written, err);
	for (size_t i = 0; rc == 0 && i < own->n_puts; i++)
		rc = place_put(copy, own, i, err);
	return rc;
}

/* Share the bytes of the put. The fallback reads and writes them. */
static int
put_shared(struct image_copy *copy, struct image_scratch *scratch,
	const struct image_chunk *chunk, const struct image_put *put,
	struct image_error *err)
{
	struct image_store *store = copy->sink->store;
	const struct image_place *place = &put->place;
	int rc = -EOPNOTSUPP;

	if (__atomic_load_n(&copy->share, __ATOMIC_RELAXED))
		rc = store->ops->share(store, place->host, copy->source->data,
			put->from, place->length, err);
	if (rc == 0)
		__atomic_fetch_add(
			&copy->copied->shared, place->length, __ATOMIC_RELAXED);
	if (rc != -EOPNOTSUPP)
		return rc;
	__atomic_store_n(&copy->share, 0, __ATOMIC_RELAXED);
	unsigned char *bytes = chunk->data + (place->guest - chunk->offset);
	rc = copy->source->ops->read(copy->source, scratch, place->guest, bytes,
		(size_t)place->length, err);
	if (rc == 0)
		rc = image_store_write(
			store, place->host, bytes, (size_t)place->length, err);
	return rc;
}

static int
copy_write(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct image_copy *copy = opaque;
	struct image_copy_own *own = chunk->own;
	struct image_store *store = copy->sink->store;
	int rc = 0;

	if (copy->sink->part && own->n_puts)
		rc = copy->sink->ops->gap(copy->sink, &own->packed, err);
	for (size_t i = 0; rc == 0 && i < own->n_puts; i++) {
		const struct image_put *put = &own->puts[i];
		uint64_t length = put->place.stored;
		if (put->zeros) {
			rc = store->ops->zero(
				store, put->place.host, length, err);
			continue;
		}
		if (!put->bytes) {
			rc = put_shared(copy, scratch, chunk, put, err);
			continue;
		}
		/* Bytes that are adjacent here and in the file are one
		 * write. */
		while (i + 1 < own->n_puts &&
			own->puts[i + 1].bytes == put->bytes + length &&
			own->puts[i + 1].place.host == put->place.host + length)
			length += own->puts[++i].place.stored;
		rc = image_sink_write(copy->sink, put->place.host, put->bytes,
			(size_t)length, err);
	}
	return rc;
}

/* Hash the bytes beside the write. The one writer has the chunks in order. */
static int
copy_write_and_hash(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct image_copy *copy = opaque;
	const struct image_copy_own *own = chunk->own;

	/* The hashers add what lies between the chunks as zeros. */
	if (chunk->hole)
		return copy_write(opaque, scratch, chunk, err);
	return image_hashers_write(copy->hashers, &own->listed, copy_write,
		opaque, scratch, chunk, err);
}

static void
copy_stop(void *opaque)
{
	struct image_copy *copy = opaque;
	image_hashers_stop(copy->hashers);
}

/* Returns the bytes that a chunk needs at most after compression. */
static size_t
encoded_room(const struct image_copy *copy)
{
	const struct image_sink *sink = copy->sink;

	if (sink->ops->append)
		return IMAGE_PACK_ROOM(copy->chunk);
	if (!sink->compress)
		return 0;
	return sink->ops->encode ? copy->chunk / sink->unit * sink->most
				 : copy->chunk;
}

/* Returns the bytes of a codec in one thread. */
static size_t
codec_size(const struct image_copy *copy)
{
	const struct image_sink *sink = copy->sink;

	if (sink->ops->append)
		return image_codec_memory(&sink->codec, copy->chunk) +
		       (sink->codec.id == IMAGE_CODEC_ZLIB ? image_pack_memory
							   : 0);
	return sink->compress
		       ? image_codec_memory(&sink->codec, (size_t)sink->unit)
		       : 0;
}

/* The size of the source is known now, and that of the sink follows. */
static int
set_sink_size(const struct image_copy *copy, const struct image_run *run,
	struct image_error *err)
{
	struct image_sink *sink = copy->sink;
	uint64_t size = copy->source->size;

	if (run->size && size > run->size)
		return image_fail(err, copy->source->store->name, -EFBIG,
			"has a disk of %" PRIu64
			" bytes, more than the %" PRIu64
			" that the new disk is to have",
			size, run->size);
	if (run->size)
		size = run->size;
	else if (__builtin_add_overflow(size, run->growth, &size) ||
		 size >= IMAGE_SIZE_UNKNOWN)
		return image_fail(err, sink->store->name, -EFBIG,
			"would have a disk of more than %" PRIu64 " bytes",
			IMAGE_SIZE_UNKNOWN - 1);
	return sink->ops->resize(sink, size, err);
}

/* What a larger sink has behind the disk of the source is zeros. */
static int
fill_rest(struct image_copy *copy, struct image_error *err)
{
	struct image_store *store = copy->sink->store;
	uint64_t from = copy->source->size;

	if (!copy->sink->fill || from >= copy->sink->size)
		return 0;
	return store->ops->zero(store, from, copy->sink->size - from, err);
}

/* Returns the part of the decoders if the source has none. */
static size_t
spare_memory(const struct image_source *source, const struct image_run *run)
{
	return image_unpack_rounds(source->store)
		       ? 0
		       : (size_t)image_memory(run->memory).unpack;
}

static int
visit(struct image_copy *copy, const struct image_run *run,
	struct image_error *err)
{
	struct image_source *source = copy->source;
	struct image_sink *sink = copy->sink;
	size_t spare = spare_memory(source, run);
	/* The pipeline reports the progress. */
	const struct image_run silent = {0};
	int rc = 0;

	if (run->digests)
		rc = image_hashers_create(&copy->hashers, run->digests, &silent,
			source->patches,
			sink->ops->append && !sink->part ? IMAGE_HASHERS_COMPACT
							 : 0,
			err);
	if (rc < 0)
		return rc;
	struct image_plan plan = {
		.size = source->size,
		.stores = {source->data, sink->store},
		.chunk = copy->chunk,
		.buffer = copy->chunk + encoded_room(copy),
		.own = sizeof(struct image_copy_own) +
		       2 * copy->room * sizeof(struct image_extent) +
		       copy->max_puts * sizeof(struct image_put),
		.scratch = codec_size(copy),
		.spare = spare,
		/* By default nine chunks of 8 MiB, and as much of packed
		 * bytes. */
		.spare_chunks = sink->part ? spare / 4 * 3 : 0,
		.writers =
			sink->store->parallel_writes && !copy->hashers ? 0 : 1,
		.cut = image_pieces_cut,
		.reach = image_pieces_reach(source),
		.work = copy_work,
		.order = copy_order,
		.write_holes = sink->fill,
		.write = copy->hashers ? copy_write_and_hash : copy_write,
		.stop = copy->hashers ? copy_stop : NULL,
		.opaque = copy,
	};
	bool unsized = image_source_is_unsized(source);
	rc = image_pipeline_run(&plan, run, &copy->copied->threads, err);
	if (rc == 0)
		rc = image_pieces_end(source, true, err);
	if (rc == 0 && unsized)
		rc = set_sink_size(copy, run, err);
	if (rc == 0 && copy->hashers)
		rc = image_hashers_finish(copy->hashers,
			image_source_whole_size(source), run->digests, err);
	image_hashers_destroy(copy->hashers);
	return rc;
}

static void
set_sizes(struct image_copy *copy, const struct image_run *run)
{
	size_t unit = (size_t)copy->sink->unit;

	copy->block = run->block;
	copy->chunk = image_chunk_size(copy->source);
	if (copy->sink->part) {
		/* Parts depend on the disk alone, and not on the source, whose
		 * clusters are not longer. There is room for pieces of 4 KiB,
		 * to save memory: shorter ones may be merged. */
		copy->chunk = copy->sink->part;
		copy->room = image_pieces_room(copy->chunk / 8);
		copy->max_puts = 1;
		return;
	}
	if (copy->sink->ops->append) {
		/* The only put is the whole chunk. */
		copy->room = run->digests ? image_pieces_room(copy->chunk) : 0;
		copy->max_puts = 1;
		return;
	}
	/* Zeros shorter than a unit of the sink save no space. */
	if (copy->block < unit)
		copy->block = unit;
	if (copy->chunk < copy->block)
		copy->chunk = copy->block;
	copy->room = image_pieces_room(copy->chunk);
	copy->max_puts = 2 * copy->room;
}

/* Reflinks: blocks that two files share until one of them is written. */

/* Count the data and holes of a source that was shared as a whole. */
static int
count_extents(struct image_copy *copy, struct image_error *err)
{
	struct image_source *source = copy->source;
	struct image_extent e;

	for (uint64_t at = 0; at < source->size; at += e.length) {
		int rc = source->ops->extent(
			source, at, source->size - at, &e, err);
		if (rc < 0)
			return rc;
		if (e.kind == IMAGE_HOLE)
			copy->copied->hole += e.length;
		else
			copy->copied->data += e.length;
	}
	copy->copied->shared = copy->copied->data;
	return 0;
}

/*
 * Share the whole file if both sides are raw and the file system can. Returns 1
 * if the file was shared, otherwise 0.
 */
static int
share_all(struct image_copy *copy, struct image_error *err)
{
	struct image_store *store = copy->sink->store;

	if (copy->source->format != &image_format_raw ||
		copy->sink->format != &image_format_raw || !store->ops->share ||
		copy->source->size == 0 || copy->source->cut ||
		copy->source->patches)
		return 0;
	int rc = store->ops->share(
		store, 0, copy->source->data, 0, copy->source->size, err);
	if (rc == -EOPNOTSUPP)
		return 0;
	if (rc == 0)
		rc = count_extents(copy, err);
	return rc < 0 ? rc : 1;
}

/*
 * Tries to share the first block of the source. The shared block is removed
 * again: the header of the sink does not fill the block, and unwritten bytes
 * must read as zeros. Some file systems share blocks but cannot remove them.
 * Sets copy->share if the file system can do both. The sink reads as zeros
 * after that.
 */
static int
try_share(struct image_copy *copy, struct image_error *err)
{
	static const unsigned char zeros[SHARE_ALIGN];
	struct image_store *store = copy->sink->store;

	if (!store->ops->share || copy->sink->compress ||
		copy->source->data->size < SHARE_ALIGN ||
		copy->sink->size < SHARE_ALIGN)
		return 0;
	int rc = store->ops->share(
		store, 0, copy->source->data, 0, SHARE_ALIGN, err);
	if (rc < 0)
		return rc == -EOPNOTSUPP ? 0 : rc;
	copy->share = store->ops->zero(store, 0, SHARE_ALIGN, err) == 0;
	return copy->share
		       ? 0
		       : image_store_write(store, 0, zeros, SHARE_ALIGN, err);
}

int
image_copy(struct image_source *source, struct image_sink *sink,
	const struct image_run *run, struct image_copied *copied,
	struct image_error *err)
{
	struct image_copy copy = {.source = source,
		.sink = sink,
		.copied = copied,
		.max_written = run->max_written};

	assert(image_source_is_unsized(source) || sink->size >= source->size);
	assert(!sink->fill || !sink->compress);
	*copied = (struct image_copied){0};
	if (sink->ops->plan) {
		size_t spare = spare_memory(source, run);
		int rc = sink->ops->plan(sink, source,
			spare ? spare : image_memory(run->memory).tables, err);
		if (rc < 0)
			return rc;
	}
	set_sizes(&copy, run);
	/* The bytes of shared blocks are not read: they have no digests. */
	int rc = 0;
	if (!run->digests && !sink->ops->append) {
		rc = share_all(&copy, err);
		if (rc > 0) {
			int changed = image_source_unchanged(source, err);
			rc = changed < 0 ? changed : rc;
		} else if (rc == 0) {
			rc = try_share(&copy, err);
		}
	}
	if (rc == 0)
		rc = visit(&copy, run, err);
	return rc < 0 ? rc : fill_rest(&copy, err);
}
