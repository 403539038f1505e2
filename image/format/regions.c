/* SPDX-License-Identifier: BSD-3-Clause */
#include "format/regions.h"

/* Set *at to the first byte from there on that is data, or to `to`. */
static int
skip_holes(struct image_source *source, uint64_t *at, uint64_t to,
	struct image_error *err)
{
	uint64_t stop = to < source->size ? to : source->size;
	struct image_extent e;

	while (*at < stop) {
		int rc = source->ops->extent(source, *at, stop - *at, &e, err);
		if (rc < 0)
			return rc;
		if (e.kind == IMAGE_DATA)
			return 0;
		*at += e.length;
	}
	*at = to;
	return 0;
}

/* Set *at to the first byte of a hole. */
static int
skip_data(struct image_source *source, uint64_t *at, uint64_t to,
	struct image_error *err)
{
	uint64_t stop = to < source->size ? to : source->size;
	struct image_extent e;

	while (*at < stop) {
		int rc = source->ops->extent(source, *at, stop - *at, &e, err);
		if (rc < 0)
			return rc;
		if (e.kind != IMAGE_DATA)
			return 0;
		*at += e.length;
	}
	return 0;
}

int
image_region(struct image_source *source, uint64_t from, uint64_t to,
	uint64_t *begin, uint64_t *end, struct image_error *err)
{
	const uint64_t mask = IMAGE_SECTOR - 1;
	uint64_t at = from;

	int rc = skip_holes(source, &at, to, err);
	*begin = *end = at == to ? to : at & ~mask;
	while (rc == 0 && at < to) {
		rc = skip_data(source, &at, to, err);
		*end = (at + mask) & ~mask;
		if (rc == 0)
			rc = skip_holes(source, &at, to, err);
		/* a hole without a whole sector belongs to the range */
		if ((at & ~mask) > *end || at == to)
			break;
	}
	return rc;
}
