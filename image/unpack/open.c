/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether a store is packed, and puts another store above it. */
#include <stdlib.h>
#include <string.h>
#include "store/forward.h"
#include "thread.h"
#include "unpack/decoder.h"

/* Returns the packing that the first bytes have, or a negative errno. */
static int
packing_by_magic(struct image_store *store, struct image_error *err)
{
	unsigned char head[IMAGE_UNPACK_HEAD];
	uint64_t reached;

	int rc = image_store_reach(store, 0, sizeof(head), &reached, err);
	if (rc == 0)
		rc = image_store_read(store, 0, head, (size_t)reached, err);
	return rc < 0 ? rc : (int)image_unpack_by_magic(head, (size_t)reached);
}

static int
choose(struct image_store *store, const struct image_open *how,
	struct image_error *err)
{
	if (how->packing != IMAGE_PACKING_AUTO)
		return (int)how->packing;
	enum image_packing packing = image_unpack_by_suffix(store->name);
	/* A guest chooses the first bytes of a raw disk. */
	if (packing != IMAGE_PACKING_NONE || how->format)
		return (int)packing;
	return packing_by_magic(store, err);
}

/* Closes the store on failure. */
static int
unpack(struct image_store **store, enum image_packing packing,
	const struct image_open *how, struct image_error *err)
{
	const struct image_decoder *decoder = image_unpack_decoder(packing);
	struct image_stream *packed, *stream;
	uint64_t size = IMAGE_SIZE_UNKNOWN;
	/* A look at an image needs few bytes. */
	unsigned threads = how->inspect   ? 1
			   : how->threads ? how->threads
					  : image_cpus();
	int rc = 0;

	if (decoder->size && !(*store)->forward)
		rc = decoder->size(*store, &size, err);
	if (rc < 0) {
		image_store_settle(*store, err);
		image_store_close(*store);
		return rc;
	}
	rc = image_stream_of_store(*store, &packed, err);
	if (rc == 0)
		rc = image_unpack_open(
			packing, packed, how->memory, threads, &stream, err);
	if (rc != 0)
		return rc;
	stream->size = size;
	return image_forward_open(stream, how->memory, store, err);
}

int
image_unpack_store(struct image_store **store, const struct image_open *how,
	struct image_error *err)
{
	int packing = choose(*store, how, err);

	if (packing == IMAGE_PACKING_NONE)
		return 0;
	int rc = packing;
	if (packing < 0)
		image_store_close(*store);
	else
		rc = unpack(store, (enum image_packing)packing, how, err);
	if (rc < 0) {
		*store = NULL;
		return rc;
	}
	(*store)->unpacked = true;
	return 0;
}

size_t
image_unpack_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return image_unpack_by_suffix(name) == IMAGE_PACKING_NONE
		       ? strlen(name)
		       : (size_t)(dot - name);
}
