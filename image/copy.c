/* SPDX-License-Identifier: BSD-3-Clause */
/* Copy one image into another; list the extents of one. */
#include <assert.h>
#include <errno.h>
#include "engine/file.h"
#include "engine/walk.h"

static int
write_data(struct image_walk *walk, struct image *dst,
	struct image_piece *piece, struct image_error *err)
{
	const struct image_extent *e = &piece->extent;
	size_t length = (size_t)e->length;

	int rc = dst->ops->write(dst, e->offset, piece->bytes, length, err);
	if (rc == -EFAULT && walk->reader.mapped) {
		/* the source shrank or its disk failed: reading tells which */
		rc = image_walk_again(walk, piece, err);
		if (rc < 0)
			return rc;
		rc = dst->ops->write(dst, e->offset, piece->bytes, length, err);
	}
	return image_blame(err, dst, rc);
}

static int
write_piece(struct image_walk *walk, struct image *dst,
	struct image_piece *piece, struct image_copied *copied,
	struct image_error *err)
{
	const struct image_extent *e = &piece->extent;

	assert(e->offset + e->length <= dst->size);
	if (e->kind == IMAGE_DATA) {
		copied->data += e->length;
		return write_data(walk, dst, piece, err);
	}
	if (e->kind == IMAGE_ZERO)
		copied->zero += e->length;
	else
		copied->hole += e->length;
	return image_blame(err, dst,
		dst->ops->write_zeroes(dst, e->offset, e->length, err));
}

int
image_copy(struct image *src, struct image *dst, const struct image_run *run,
	struct image_copied *copied, struct image_error *err)
{
	struct image_run coarse = *run;
	struct image_walk walk;
	struct image_piece piece;

	assert(dst->size >= src->size);
	assert((dst->unit & (dst->unit - 1)) == 0);
	*copied = (struct image_copied){0};
	/* Zeros shorter than what dst allocates at once save nothing there. */
	if (coarse.block < dst->unit)
		coarse.block = dst->unit;
	int rc = image_readable(src, err);
	if (rc < 0)
		return rc;
	rc = image_walk_init(&walk, src, &coarse, err);
	if (rc < 0)
		return rc;
	while ((rc = image_walk_next(&walk, &piece, err)) > 0) {
		rc = write_piece(&walk, dst, &piece, copied, err);
		if (rc < 0)
			break;
		if (run->progress)
			run->progress(run->opaque,
				piece.extent.offset + piece.extent.length);
	}
	image_walk_destroy(&walk);
	return rc < 0 ? rc : image_recheck(src, err);
}

int
image_map(struct image *img, const struct image_run *run,
	int (*report)(void *opaque, const struct image_extent *extent),
	void *opaque, struct image_error *err)
{
	struct image_extent merged = {0};
	struct image_walk walk;
	struct image_piece piece;

	int rc = image_readable(img, err);
	if (rc < 0)
		return rc;
	rc = image_walk_init(&walk, img, run, err);
	if (rc < 0)
		return rc;
	while ((rc = image_walk_next(&walk, &piece, err)) > 0) {
		if (merged.length && piece.extent.kind == merged.kind) {
			merged.length += piece.extent.length;
			continue;
		}
		rc = merged.length ? report(opaque, &merged) : 0;
		if (rc != 0)
			break;
		merged = piece.extent;
	}
	image_walk_destroy(&walk);
	if (rc == 0)
		rc = image_recheck(img, err);
	if (rc == 0 && merged.length)
		rc = report(opaque, &merged);
	return rc;
}
