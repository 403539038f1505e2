/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_READER_H
#define HONE_IMAGE_READER_H
/* One chunk of an image after another, mapped or read. */
#include "image.h"

struct image_reader {
	struct image *img;
	/* largest chunk, a power of two */
	size_t chunk;
	/* the chunk at hand is a window */
	bool mapped;
	bool may_map;
	/* began with may_map, so SIGBUS is caught */
	bool guarded;
	struct image_window window;
	unsigned char *buffer;
};

/* Chunks are no shorter than block. Returns 0 or -ENOMEM. */
int image_reader_init(struct image_reader *reader, struct image *img,
	enum image_method method, size_t block, struct image_error *err);
void image_reader_destroy(struct image_reader *reader);

/*
 * Length of the chunk to take at offset, at most limit - offset: chunks end
 * at multiples of reader->chunk, and one that begins inside a block ends with
 * it, so that blocks counted from a chunk's start lie where those of the
 * image do.
 */
size_t image_reader_span(const struct image_reader *reader, uint64_t offset,
	uint64_t limit, size_t block);

/*
 * Bytes of a chunk; valid until the next call. If reader->mapped, they are
 * touched under image_guard_call() only; if that fails, image_reader_again()
 * reads the same chunk, which gives either the bytes or the reason.
 */
int image_reader_get(struct image_reader *reader, uint64_t offset,
	size_t length, const unsigned char **bytes, struct image_error *err);
int image_reader_again(struct image_reader *reader, uint64_t offset,
	size_t length, const unsigned char **bytes, struct image_error *err);

#endif
