/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include "engine/file.h"
#include "engine/guard.h"
#include "engine/walk.h"

int
image_walk_init(struct image_walk *walk, struct image *img,
	const struct image_run *run, struct image_error *err)
{
	*walk = (struct image_walk){.img = img, .block = run->block};
	return image_reader_init(
		&walk->reader, img, run->method, run->block, err);
}

void
image_walk_destroy(struct image_walk *walk)
{
	image_reader_destroy(&walk->reader);
}

static uint64_t
extent_end(const struct image_extent *extent)
{
	return extent->offset + extent->length;
}

/* Scan what is left of the chunk from offset on. */
static void
scan_from(struct image_walk *walk, uint64_t offset)
{
	size_t skip = (size_t)(offset - walk->chunk_offset);
	hone_zero_walk_init(&walk->zero, walk->bytes + skip,
		walk->chunk_length - skip, walk->block);
}

static int
load_chunk(struct image_walk *walk, struct image_error *err)
{
	walk->chunk_offset = walk->offset;
	walk->chunk_length = image_reader_span(&walk->reader, walk->offset,
		extent_end(&walk->extent), walk->block);
	int rc = image_reader_get(&walk->reader, walk->chunk_offset,
		walk->chunk_length, &walk->bytes, err);
	if (rc == 0)
		scan_from(walk, walk->offset);
	return rc;
}

struct step {
	struct hone_zero_walk *zero;
	struct hone_zero_extent found;
};

static void
take_step(void *opaque)
{
	struct step *step = opaque;
	bool more = hone_zero_walk_next(step->zero, &step->found);
	assert(more);
	(void)more;
}

/* The next run of zeros or of data in the chunk. */
static int
scan(struct image_walk *walk, struct image_piece *piece,
	struct image_error *err)
{
	struct step step = {.zero = &walk->zero};

	if (!walk->reader.mapped) {
		take_step(&step);
	} else if (!image_guard_call(take_step, &step)) {
		int rc = image_reader_again(&walk->reader, walk->chunk_offset,
			walk->chunk_length, &walk->bytes, err);
		if (rc < 0)
			return rc;
		scan_from(walk, walk->offset);
		take_step(&step);
	}
	piece->extent = (struct image_extent){walk->offset, step.found.length,
		step.found.zero ? IMAGE_ZERO : IMAGE_DATA};
	piece->bytes = walk->bytes + (walk->offset - walk->chunk_offset);
	return 1;
}

int
image_walk_next(struct image_walk *walk, struct image_piece *piece,
	struct image_error *err)
{
	int rc = 1;

	if (walk->offset == walk->img->size)
		return 0;
	if (walk->offset == extent_end(&walk->extent))
		rc = image_extents(walk->img, walk->offset, &walk->extent, err);
	if (rc < 0)
		return rc;
	/* A hole is a piece of its own. */
	if (walk->extent.kind == IMAGE_HOLE) {
		*piece = (struct image_piece){.extent = walk->extent};
		walk->offset += piece->extent.length;
		return 1;
	}
	if (walk->offset == walk->chunk_offset + walk->chunk_length ||
		walk->offset == walk->extent.offset)
		rc = load_chunk(walk, err);
	if (rc >= 0)
		rc = scan(walk, piece, err);
	if (rc > 0)
		walk->offset += piece->extent.length;
	return rc;
}

int
image_walk_again(struct image_walk *walk, struct image_piece *piece,
	struct image_error *err)
{
	int rc = image_reader_again(&walk->reader, walk->chunk_offset,
		walk->chunk_length, &walk->bytes, err);
	if (rc < 0)
		return rc;
	piece->bytes =
		walk->bytes + (piece->extent.offset - walk->chunk_offset);
	if (walk->offset < walk->chunk_offset + walk->chunk_length)
		scan_from(walk, walk->offset);
	return 0;
}
