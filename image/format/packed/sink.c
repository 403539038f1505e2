/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "codec/zero_frame.h"
#include "format/packed/packed.h"

static const struct packed_kind *
packed_kind(enum image_packing packing)
{
	return packing == IMAGE_PACKING_GZIP   ? &packed_gzip
	       : packing == IMAGE_PACKING_ZSTD ? &packed_zstd
					       : NULL;
}

bool
image_packing_writable(enum image_packing packing)
{
	return packed_kind(packing);
}

static struct packed_sink *
of(struct image_sink *sink)
{
	return (struct packed_sink *)sink;
}

int
packed_write(const struct packed_sink *s, uint64_t host, const void *bytes,
	size_t length, struct image_error *err)
{
	struct packed_layer *layer = s->layer;
	int rc = 0;

	if (layer) {
		assert(host == layer->length);
		layer->length += length;
		host += layer->from;
		rc = image_hash_add(layer->blob, bytes, length, err);
	}
	return rc < 0 ? rc
		      : image_store_write(
				s->base.store, host, bytes, length, err);
}

static int
packed_put(struct image_sink *sink, uint64_t host, const void *buf,
	size_t length, struct image_error *err)
{
	return packed_write(of(sink), host, buf, length, err);
}

/* The disk of a layer has whole sectors: readers refuse others. */
static uint64_t
size_of(const void *layer, uint64_t size)
{
	return layer ? (size + IMAGE_SECTOR - 1) / IMAGE_SECTOR * IMAGE_SECTOR
		     : size;
}

/* What is in front of the data of the disk. */
static int
packed_plan(struct image_sink *sink, struct image_source *source, size_t memory,
	struct image_error *err)
{
	struct packed_sink *s = of(sink);

	(void)source;
	(void)memory;
	int rc = s->kind->begin ? s->kind->begin(s, err) : 0;
	return rc == 0 && s->layer ? packed_layer_begin(s, err) : rc;
}

static int
packed_append(struct image_sink *sink, struct image_packed *packed,
	struct image_error *err)
{
	struct packed_sink *s = of(sink);

	assert(packed->guest >= s->ends.position);
	packed->zeros = packed->guest - s->ends.position;
	packed->host = s->position + s->kind->measure(s, packed->zeros);
	s->position = packed->host + packed->stored;
	image_ends_pass(&s->ends, NULL, packed->zeros);
	image_ends_pass(&s->ends, packed->bytes, packed->length);
	return s->kind->note(s, packed->zeros, packed, err);
}

static int
packed_gap(struct image_sink *sink, const struct image_packed *packed,
	struct image_error *err)
{
	const struct packed_sink *s = of(sink);

	int rc = packed_layer_add(
		s->layer, packed->zeros, packed->bytes, packed->length, err);
	if (rc < 0)
		return rc;
	return s->kind->fill(s,
		packed->host - s->kind->measure(s, packed->zeros),
		packed->zeros, err);
}

static int
packed_resize(struct image_sink *sink, uint64_t size, struct image_error *err)
{
	(void)err;
	sink->size = size_of(of(sink)->layer, size);
	return 0;
}

static int
packed_finish(struct image_sink *sink, struct image_error *err)
{
	struct packed_sink *s = of(sink);
	uint64_t zeros =
		sink->size - s->ends.position + packed_layer_tail(s->layer);

	int rc = packed_layer_add(s->layer, zeros, NULL, 0, err);
	if (rc == 0)
		rc = s->kind->note(s, zeros, NULL, err);
	if (rc == 0)
		rc = s->kind->fill(s, s->position, zeros, err);
	if (rc < 0)
		return rc;
	s->position += s->kind->measure(s, zeros);
	rc = s->kind->end(s, err);
	return rc == 0 && s->layer ? packed_layer_end(s, err) : rc;
}

static void
packed_close(struct image_sink *sink)
{
	struct packed_sink *s = of(sink);

	s->kind->close(s->state);
	packed_layer_close(s->layer);
	free(s);
}

static const struct image_sink_ops packed_ops = {
	.plan = packed_plan,
	.append = packed_append,
	.gap = packed_gap,
	.write = packed_put,
	.resize = packed_resize,
	.finish = packed_finish,
	.close = packed_close,
};

int
image_packed_create(struct image_store *store,
	const struct image_create *create, struct image_sink **out,
	struct image_error *err)
{
	const struct packed_kind *kind = packed_kind(create->packing);

	assert(kind);
	if (store->fixed)
		return image_fail(err, store->name, -ENOTSUP,
			"has a fixed size; a packed disk is written to a file");
	struct packed_sink *s = calloc(1, sizeof(*s));
	if (!s)
		return image_no_memory(err);
	s->base = (struct image_sink){.ops = &packed_ops,
		.format = &image_format_raw,
		.store = store,
		.size = create->unsized ? IMAGE_SIZE_UNKNOWN
					: size_of(create->layout, create->size),
		/* shorter zeros are compressed with the data around them */
		.unit = IMAGE_ZERO_BLOCK,
		.part = kind->part,
		.ends = &s->ends,
		.codec = kind->codec};
	s->kind = kind;
	if (create->level)
		s->base.codec.level = create->level;
	int rc = kind->open(s) < 0 ? image_no_memory(err) : 0;
	if (rc == 0 && create->layout)
		rc = packed_layer_open(s, create->layout, err);
	if (rc < 0) {
		packed_close(&s->base);
		return rc;
	}
	*out = &s->base;
	return 0;
}

const struct image_layout *
image_sink_layout(const struct image_sink *sink)
{
	return &((const struct packed_sink *)sink)->layer->layout;
}
