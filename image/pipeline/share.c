/* SPDX-License-Identifier: BSD-3-Clause */
/* Reflinks: blocks that two files share until one of them is written. */
#include <errno.h>
#include "format/format.h"
#include "pipeline/copy.h"

/* A multiple of the block of every file system with reflinks. */
#define PROBE 4096

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

int
image_copy_share_all(struct image_copy *copy, struct image_error *err)
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
 */
int
image_copy_try_share(struct image_copy *copy, struct image_error *err)
{
	static const unsigned char zeros[PROBE];
	struct image_store *store = copy->sink->store;

	if (!store->ops->share || copy->sink->compress ||
		copy->source->data->size < PROBE || copy->sink->size < PROBE)
		return 0;
	int rc = store->ops->share(store, 0, copy->source->data, 0, PROBE, err);
	if (rc < 0)
		return rc == -EOPNOTSUPP ? 0 : rc;
	copy->share = store->ops->zero(store, 0, PROBE, err) == 0;
	return copy->share ? 0 : image_store_write(store, 0, zeros, PROBE, err);
}
