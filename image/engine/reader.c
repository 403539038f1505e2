/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "engine/file.h"
#include "engine/guard.h"
#include "engine/reader.h"

/*
 * Shorter reads cost more calls. Writes of aligned 2 MiB make the kernel take
 * whole huge pages for its cache, which a virtual machine may have given back
 * to its host: 0.99 s in place of 0.37 s (docs/design/convert.md).
 */
#define CHUNK ((size_t)1 << 20)

/* The kernel copies whole pages best. */
#define BUFFER_ALIGNMENT 4096

int
image_reader_init(struct image_reader *reader, struct image *img,
	enum image_method method, size_t block, struct image_error *err)
{
	*reader = (struct image_reader){.img = img};
	reader->may_map = method == IMAGE_MAP && img->ops->map;
	reader->chunk = CHUNK;
	if (reader->chunk < block)
		reader->chunk = block;
	reader->buffer = aligned_alloc(BUFFER_ALIGNMENT, reader->chunk);
	if (!reader->buffer)
		return image_fail(err, -ENOMEM, "there is not enough memory");
	reader->guarded = reader->may_map;
	if (reader->guarded)
		image_guard_start();
	return 0;
}

static void
unmap(struct image_reader *reader)
{
	if (reader->mapped)
		reader->img->ops->unmap(reader->img, &reader->window);
	reader->mapped = false;
}

void
image_reader_destroy(struct image_reader *reader)
{
	unmap(reader);
	if (reader->guarded)
		image_guard_stop();
	free(reader->buffer);
}

size_t
image_reader_span(const struct image_reader *reader, uint64_t offset,
	uint64_t limit, size_t block)
{
	assert(offset < limit && (block & (block - 1)) == 0);
	assert(block <= reader->chunk);
	size_t unit = offset & (block - 1) ? block : reader->chunk;
	uint64_t span = unit - (offset & (unit - 1));
	return (size_t)(span < limit - offset ? span : limit - offset);
}

/* The system starts reading what comes next while this chunk is used. */
static void
prefetch(struct image_reader *reader, uint64_t offset)
{
	struct image *img = reader->img;
	if (!img->ops->prefetch || offset >= img->size)
		return;
	uint64_t left = img->size - offset;
	img->ops->prefetch(img, offset,
		left < reader->chunk ? (size_t)left : reader->chunk);
}

int
image_reader_get(struct image_reader *reader, uint64_t offset, size_t length,
	const unsigned char **bytes, struct image_error *err)
{
	struct image *img = reader->img;

	assert(length && length <= reader->chunk);
	assert(offset <= img->size && length <= img->size - offset);
	unmap(reader);
	if (reader->may_map) {
		prefetch(reader, offset + reader->chunk);
		if (img->ops->map(img, offset, length, &reader->window) == 0) {
			reader->mapped = true;
			*bytes = reader->window.bytes;
			return 0;
		}
		reader->may_map = false;
	}
	return image_reader_again(reader, offset, length, bytes, err);
}

int
image_reader_again(struct image_reader *reader, uint64_t offset, size_t length,
	const unsigned char **bytes, struct image_error *err)
{
	struct image *img = reader->img;

	unmap(reader);
	*bytes = reader->buffer;
	return image_blame(err, img,
		img->ops->read(img, offset, reader->buffer, length, err));
}
