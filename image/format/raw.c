/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw: the file is the disk. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "format/formats.h"
#include "format/source.h"

/*
 * Bytes of zeros that are worth a request to a store that has other bytes
 * there. Shorter zeros are written with the data around them.
 */
#define FILL_UNIT ((uint64_t)64 << 10)

struct raw {
	struct image_source base;
	/* the format was detected, and the end of the stream has to come */
	bool guessed;
};

/* The end of a stream may be that of a container. */
static int
raw_ended(struct image_source *source, struct image_error *err)
{
	uint64_t size = source->store->size;
	int rc = 0;

	if (!((struct raw *)source)->guessed)
		return 0;
	if (size == IMAGE_SIZE_UNKNOWN)
		rc = image_store_reach(source->store, 0,
			(size_t)IMAGE_SIZE_UNKNOWN, &size, err);
	return rc < 0 ? rc : image_refuse_tail(source->store, size, err);
}

static const struct image_source_ops source_ops = {
	.extent = image_flat_extent,
	.read = image_flat_read,
	.ended = raw_ended,
};

static int
raw_open(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	struct raw *raw = calloc(1, sizeof(*raw));

	if (!raw)
		return image_no_memory(err);
	raw->guessed = !how->format && store->forward;
	struct image_source *source = &raw->base;
	source->ops = &source_ops;
	source->format = &image_format_raw;
	source->store = source->data = store;
	source->size = store->size;
	*out = source;
	return 0;
}

static int
raw_finish(struct image_sink *sink, struct image_error *err)
{
	struct image_store *store = sink->store;

	if (!store->fixed || store->zeros || store->keep_rest ||
		sink->size == store->size)
		return 0;
	return store->ops->zero(
		store, sink->size, store->size - sink->size, err);
}

static int
set_size(struct image_store *store, uint64_t size, struct image_error *err)
{
	if (!store->fixed)
		return store->ops->resize(store, size, err);
	if (size <= store->size)
		return 0;
	return image_fail(err, store->name, -ENOSPC,
		"has %s, and the image has %" PRIu64,
		IMAGE_COUNT(store->size, "byte"), size);
}

static int
raw_resize(struct image_sink *sink, uint64_t size, struct image_error *err)
{
	sink->size = size;
	return set_size(sink->store, size, err);
}

static const struct image_sink_ops sink_ops = {
	.reserve = image_flat_reserve,
	.resize = raw_resize,
	.finish = raw_finish,
};

static int
raw_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err)
{
	struct image_sink *sink = calloc(1, sizeof(*sink));
	if (!sink)
		return image_no_memory(err);
	/* First, so that a size that the file system refuses fails before the
	 * copy. */
	int rc = create->unsized ? 0 : set_size(store, create->size, err);
	if (rc < 0) {
		free(sink);
		return rc;
	}
	sink->ops = &sink_ops;
	sink->format = &image_format_raw;
	sink->store = store;
	sink->size = create->unsized ? IMAGE_SIZE_UNKNOWN : create->size;
	sink->fill = !store->zeros;
	if (sink->fill)
		sink->unit = FILL_UNIT;
	*out = sink;
	return 0;
}

const struct image_format image_format_raw = {
	.name = "raw",
	.suffixes = ".raw .img .bin",
	.open = raw_open,
	.streams = true,
	.create = raw_create,
};
