/* SPDX-License-Identifier: BSD-3-Clause */
/* Find the first byte in which two images differ. */
#include <string.h>
#include <hone/zero.h>
#include "pipeline/pieces.h"

struct compare {
	struct image_source *side[2];
	/* of the larger side */
	uint64_t size;
	size_t chunk;
	/* bytes of both sides that are read, then compared; a power of two */
	size_t step;
	/* the extents that were cut last */
	struct image_extent cut[2];
	struct image_compared *compared;
};

struct own {
	/* the sizes of the sides, as far as the chunk needs them */
	uint64_t size[2];
	bool differs;
	uint64_t first_difference;
};

/*
 * Describe both sides at offset. An extent that reaches past offset is kept.
 * The range past the end of a side is a hole.
 */
static int
describe(struct compare *compare, const uint64_t size[2], uint64_t offset,
	uint64_t end, struct image_extent sides[2], struct image_error *err)
{
	for (int i = 0; i < 2; i++) {
		struct image_source *side = compare->side[i];
		uint64_t stop = end < size[i] ? end : size[i];
		int rc = 0;
		if (sides[i].length > 0 && offset < image_extent_end(&sides[i]))
			continue;
		if (offset < size[i])
			rc = side->ops->extent(
				side, offset, stop - offset, &sides[i], err);
		else
			sides[i] = (struct image_extent){.offset = offset,
				.length = end - offset,
				.kind = IMAGE_HOLE,
				.host = IMAGE_NO_HOST};
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Returns the smaller end of two extents. */
static uint64_t
nearer_end(const struct image_extent sides[2])
{
	uint64_t end[2] = {
		image_extent_end(&sides[0]), image_extent_end(&sides[1])};
	return end[0] < end[1] ? end[0] : end[1];
}

/*
 * The extent is a hole if both sides are holes, otherwise data. The extent ends
 * where a side changes.
 */
static int
compare_cut(void *opaque, uint64_t offset, struct image_extent *extent,
	struct image_error *err)
{
	struct compare *compare = opaque;
	const struct image_extent *sides = compare->cut;

	const uint64_t size[2] = {
		compare->side[0]->size, compare->side[1]->size};

	int rc = describe(
		compare, size, offset, compare->size, compare->cut, err);
	if (rc < 0)
		return rc;
	*extent = (struct image_extent){.offset = offset,
		.length = nearer_end(sides) - offset,
		.host = IMAGE_NO_HOST,
		.kind = sides[0].kind == IMAGE_HOLE &&
					sides[1].kind == IMAGE_HOLE
				? IMAGE_HOLE
				: IMAGE_DATA};
	return 0;
}

/* Returns the first difference, or length. A side that is NULL is zero. */
static size_t
find_difference(const unsigned char *a, const unsigned char *b, size_t length)
{
	size_t at = 0;

	if (!a || !b)
		return hone_find_nonzero(a ? a : b, length);
	if (memcmp(a, b, length) == 0)
		return length;
	while (a[at] == b[at])
		at++;
	return at;
}

static int
compare_range(struct compare *compare, struct image_scratch *scratch,
	struct image_chunk *chunk, const enum image_kind kind[2],
	uint64_t offset, size_t length, struct image_error *err)
{
	struct own *own = chunk->own;
	unsigned char *bytes[2] = {NULL, NULL};

	if (kind[0] == IMAGE_HOLE && kind[1] == IMAGE_HOLE)
		return 0;

	for (int i = 0; i < 2; i++) {
		struct image_source *side = compare->side[i];
		if (kind[i] == IMAGE_HOLE)
			continue;
		bytes[i] = chunk->data + (i ? compare->step : 0);
		int rc = side->ops->read(
			side, scratch, offset, bytes[i], length, err);
		if (rc < 0)
			return rc;
	}
	size_t found = find_difference(bytes[0], bytes[1], length);
	if (found < length) {
		own->differs = true;
		own->first_difference = offset + found;
	}
	return 0;
}

/* Compare a range in which each side is data or a hole, in steps. */
static int
compare_steps(struct compare *compare, struct image_scratch *scratch,
	struct image_chunk *chunk, const enum image_kind kind[2],
	uint64_t offset, uint64_t end, struct image_error *err)
{
	const struct own *own = chunk->own;
	size_t length;

	for (; offset < end; offset += length) {
		length = compare->step - (size_t)(offset & (compare->step - 1));
		if (length > end - offset)
			length = (size_t)(end - offset);
		int rc = compare_range(
			compare, scratch, chunk, kind, offset, length, err);
		if (rc < 0 || own->differs)
			return rc;
	}
	return 0;
}

static int
compare_work(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct compare *compare = opaque;
	struct own *own = chunk->own;
	uint64_t offset = chunk->offset;
	uint64_t end = chunk->offset + chunk->length;

	struct image_extent sides[2] = {{0}, {0}};

	for (int i = 0; i < 2; i++)
		if (!image_source_is_unsized(compare->side[i]))
			own->size[i] = compare->side[i]->size;
	own->differs = false;
	while (offset < end && !own->differs) {
		int rc = describe(compare, own->size, offset, end, sides, err);
		if (rc < 0)
			return rc;
		/* One call reads up to a change from data to hole, or back, of
		 * a side. */
		enum image_kind kind[2] = {sides[0].kind, sides[1].kind};
		uint64_t at = nearer_end(sides);
		while (at < end) {
			rc = describe(compare, own->size, at, end, sides, err);
			if (rc < 0)
				return rc;
			if (sides[0].kind != kind[0] ||
				sides[1].kind != kind[1])
				break;
			at = nearer_end(sides);
		}
		rc = compare_steps(
			compare, scratch, chunk, kind, offset, at, err);
		if (rc < 0)
			return rc;
		offset = at;
	}
	return 0;
}

static int
compare_order(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	struct compare *compare = opaque;
	const struct own *own = chunk->own;

	(void)err;
	if (chunk->hole || !own->differs)
		return 0;
	compare->compared->equal = false;
	compare->compared->first_difference = own->first_difference;
	return 1;
}

/* The visit ends where both sides end. */
static int
compare_reach(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	struct compare *compare = opaque;
	struct own *own = chunk->own;
	uint64_t most = 0;
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++) {
		const struct image_source *side = compare->side[i];
		uint64_t left = chunk->offset < side->size
					? side->size - chunk->offset
					: 0;
		uint64_t reached = left < chunk->length ? left : chunk->length;
		if (image_source_is_unsized(side))
			rc = image_store_reach(side->store, chunk->offset,
				(size_t)chunk->length, &reached, err);
		own->size[i] = chunk->offset + reached;
		if (reached > most)
			most = reached;
	}
	chunk->length = most;
	return rc;
}

/*
 * The bytes of a step stay in the second-level CPU cache until they are
 * compared. A server and a device that is read directly get requests of whole
 * chunks, and a unit is decompressed once.
 */
static size_t
step_size(const struct compare *compare)
{
	size_t step = 128 << 10;

	for (int i = 0; i < 2; i++) {
		const struct image_source *side = compare->side[i];
		const struct image_store *store =
			side->data ? side->data : side->store;
		if (store)
			store = image_store_origin(store);
		if (store && (store->served || store->direct))
			return compare->chunk;
		if (step < side->unit)
			step = (size_t)side->unit;
	}
	return step;
}

int
image_compare(struct image_source *a, struct image_source *b,
	const struct image_run *run, struct image_compared *compared,
	struct image_error *err)
{
	struct compare compare = {
		.side = {a, b},
		.size = a->size > b->size ? a->size : b->size,
		.chunk = image_chunk_size(a),
		.compared = compared,
	};

	bool unsized = image_source_is_unsized(a) || image_source_is_unsized(b);
	if (compare.chunk < image_chunk_size(b))
		compare.chunk = image_chunk_size(b);
	compare.step = step_size(&compare);
	struct image_plan plan = {
		.size = compare.size,
		.stores = {a->data, b->data},
		.chunk = compare.chunk,
		.buffer = 2 * compare.step,
		.own = sizeof(struct own),
		.cut = compare_cut,
		.reach = unsized ? compare_reach : NULL,
		.work = compare_work,
		.order = compare_order,
		.opaque = &compare,
	};

	*compared = (struct image_compared){.equal = true};
	int rc = image_pipeline_run(&plan, run, NULL, err);
	if (rc >= 0)
		rc = image_pieces_end(a, compared->equal, err);
	if (rc == 0)
		rc = image_pieces_end(b, compared->equal, err);
	compared->same_size = a->size == b->size;
	return rc;
}
