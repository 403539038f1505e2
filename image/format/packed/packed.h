/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_PACKED_H
#define HONE_IMAGE_PACKED_H
/*
 * A raw disk that is packed by gzip or zstd: parts that were compressed apart,
 * and between them what stands for zeros.
 *
 *   sink.c   where each part has its place; how long the zeros before it are
 *   gzip.c   one member of all parts
 *   zstd.c   a frame for each part, and a table of the frames
 */
#include "codec/join.h"
#include "format/format.h"
#include "store/ends.h"

struct packed_sink {
	struct image_sink base;
	const struct packed_kind *kind;
	/* of kind->open */
	void *state;
	/* of the next byte of the file */
	uint64_t position;
	/* of the parts, and of the zeros in front of them */
	struct image_ends ends;
};

/* What a packing does. */
struct packed_kind {
	struct image_codec codec;
	/* image_sink.part */
	size_t part;

	/* Set s->state. Returns -ENOMEM on failure. */
	int (*open)(struct packed_sink *s);
	void (*close)(void *state);
	/* Write the header, and set s->position. NULL: there is none. */
	int (*begin)(struct packed_sink *s, struct image_error *err);
	/* Returns the bytes that stand for zeros. */
	uint64_t (*measure)(const struct packed_sink *s, uint64_t zeros);
	/* Zeros are next, and then a part, or with NULL the end of the disk. */
	int (*note)(struct packed_sink *s, uint64_t zeros,
		const struct image_packed *part, struct image_error *err);
	/* Write the bytes that stand for zeros. Any thread. */
	int (*fill)(const struct packed_sink *s, uint64_t host, uint64_t zeros,
		struct image_error *err);
	/* Write what ends the file to s->position. */
	int (*end)(struct packed_sink *s, struct image_error *err);
};

extern const struct packed_kind packed_gzip;
extern const struct packed_kind packed_zstd;

/* Returns what packs so, or NULL if nothing does. */
const struct packed_kind *packed_kind(enum image_packing packing);

/* As image_format.create, for a raw disk with create->packing. */
int image_packed_create(struct image_store *store,
	const struct image_create *create, struct image_sink **out,
	struct image_error *err);

#endif
