/* SPDX-License-Identifier: BSD-3-Clause */
/* Find the first byte in which two images differ. */
#include <string.h>
#include <sys/types.h>
#include <hone/zero.h>
#include "engine/file.h"
#include "engine/guard.h"
#include "engine/reader.h"

/* Narrows a difference down before single bytes are looked at. */
#define STEP 4096

/* One of the two images, and the extent around the offset reached. */
struct side {
	struct image *img;
	struct image_reader reader;
	struct image_extent extent;
	/* NULL where it reads as zeros */
	const unsigned char *bytes;
};

/* Describe the side at offset; past its end it is one endless hole. */
static int
describe(struct side *side, uint64_t offset, struct image_error *err)
{
	struct image *img = side->img;

	if (side->extent.length &&
		offset < side->extent.offset + side->extent.length)
		return 0;
	if (offset >= img->size) {
		side->extent = (struct image_extent){
			offset, UINT64_MAX - offset, IMAGE_HOLE};
		return 0;
	}
	return image_extents(img, offset, &side->extent, err);
}

static int
load(struct side *side, uint64_t offset, size_t length, bool again,
	struct image_error *err)
{
	side->bytes = NULL;
	if (side->extent.kind == IMAGE_HOLE)
		return 0;
	return (again ? image_reader_again : image_reader_get)(
		&side->reader, offset, length, &side->bytes, err);
}

struct scan {
	const unsigned char *a;
	const unsigned char *b;
	size_t length;
	size_t found;
};

/* Set found to the first difference, or to length. */
static void
find_difference(void *opaque)
{
	struct scan *s = opaque;

	s->found = s->length;
	if (!s->a || !s->b) {
		s->found = hone_find_nonzero(s->a ? s->a : s->b, s->length);
		return;
	}
	if (memcmp(s->a, s->b, s->length) == 0)
		return;
	size_t at = 0;
	while (s->length - at > STEP && !memcmp(s->a + at, s->b + at, STEP))
		at += STEP;
	while (at < s->length && s->a[at] == s->b[at])
		at++;
	s->found = at;
}

/* Returns the first difference in the range, length if none, or an error. */
static ssize_t
compare_range(struct side *a, struct side *b, uint64_t offset, size_t length,
	struct image_error *err)
{
	for (bool again = false;; again = true) {
		int rc = load(a, offset, length, again, err);
		if (rc == 0)
			rc = load(b, offset, length, again, err);
		if (rc < 0)
			return rc;
		struct scan s = {a->bytes, b->bytes, length, 0};
		bool mapped = (a->bytes && a->reader.mapped) ||
			      (b->bytes && b->reader.mapped);
		if (!mapped)
			find_difference(&s);
		else if (!image_guard_call(find_difference, &s))
			continue;
		return (ssize_t)s.found;
	}
}

/* Bytes from offset on in which neither side changes its kind. */
static uint64_t
common_length(const struct side *a, const struct side *b, uint64_t offset)
{
	uint64_t end_a = a->extent.offset + a->extent.length;
	uint64_t end_b = b->extent.offset + b->extent.length;
	return (end_a < end_b ? end_a : end_b) - offset;
}

static int
compare_sides(struct side *a, struct side *b, const struct image_run *run,
	struct image_compared *compared, struct image_error *err)
{
	uint64_t size =
		a->img->size > b->img->size ? a->img->size : b->img->size;

	for (uint64_t offset = 0; offset < size;) {
		int rc = describe(a, offset, err);
		if (rc == 0)
			rc = describe(b, offset, err);
		if (rc < 0)
			return rc;
		uint64_t length = common_length(a, b, offset);
		if (a->extent.kind != IMAGE_HOLE ||
			b->extent.kind != IMAGE_HOLE) {
			size_t span = image_reader_span(
				&a->reader, offset, offset + length, 1);
			ssize_t found = compare_range(a, b, offset, span, err);
			if (found < 0)
				return (int)found;
			if ((size_t)found < span) {
				compared->equal = false;
				compared->first_difference =
					offset + (size_t)found;
				return 0;
			}
			length = span;
		}
		offset += length;
		if (run->progress)
			run->progress(
				run->opaque, offset < size ? offset : size);
	}
	return 0;
}

int
image_compare(struct image *a, struct image *b, const struct image_run *run,
	struct image_compared *compared, struct image_error *err)
{
	struct side side_a = {.img = a};
	struct side side_b = {.img = b};

	*compared = (struct image_compared){
		.equal = true, .same_size = a->size == b->size};
	int rc = image_readable(a, err);
	if (rc == 0)
		rc = image_readable(b, err);
	if (rc < 0)
		return rc;
	rc = image_reader_init(&side_a.reader, a, run->method, 1, err);
	if (rc < 0)
		return rc;
	rc = image_reader_init(&side_b.reader, b, run->method, 1, err);
	if (rc == 0) {
		rc = compare_sides(&side_a, &side_b, run, compared, err);
		image_reader_destroy(&side_b.reader);
	}
	image_reader_destroy(&side_a.reader);
	if (rc == 0)
		rc = image_recheck(a, err);
	return rc < 0 ? rc : image_recheck(b, err);
}
