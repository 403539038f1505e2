/* SPDX-License-Identifier: BSD-3-Clause */
#include "format/regions.h"

/* Move *at over holes, or with `data` over data, at most to `to`. */
static int
skip(struct image_source *source, bool data, uint64_t *at, uint64_t to,
	struct image_error *err)
{
	uint64_t stop = to < source->size ? to : source->size;
	struct image_extent e;

	while (*at < stop) {
		int rc = source->ops->extent(source, *at, stop - *at, &e, err);
		if (rc < 0 || (e.kind == IMAGE_DATA) != data)
			return rc;
		*at += e.length;
	}
	/* The bytes behind the disk are a hole. */
	if (!data)
		*at = to;
	return 0;
}

int
image_region(struct image_source *source, uint64_t from, uint64_t to,
	uint64_t *begin, uint64_t *end, struct image_error *err)
{
	const uint64_t mask = IMAGE_SECTOR - 1;
	uint64_t at = from;

	int rc = skip(source, false, &at, to, err);
	*begin = *end = at == to ? to : at & ~mask;
	while (rc == 0 && at < to) {
		rc = skip(source, true, &at, to, err);
		*end = (at + mask) & ~mask;
		if (rc == 0)
			rc = skip(source, false, &at, to, err);
		/* a hole without a whole sector belongs to the range */
		if ((at & ~mask) > *end || at == to)
			break;
	}
	return rc;
}
