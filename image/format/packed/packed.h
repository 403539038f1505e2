/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_PACKED_H
#define HONE_IMAGE_PACKED_H
/*
 * A raw disk that is packed by gzip or zstd: parts that were compressed apart,
 * and between them what stands for zeros.
 *
 *   sink.c    where each part has its place; how long the zeros before it are
 *   gzip.c    one member of all parts
 *   zstd.c    a frame for each part, and a table of the frames
 *   layout.c  the file is the layer of an OCI layout
 */
#include "archive/tar.h"
#include "codec/join.h"
#include "format/format.h"
#include "hash/hash.h"
#include "store/store.h"

struct packed_sink {
	struct image_sink base;
	const struct packed_kind *kind;
	/* of kind->open */
	void *state;
	/* of the next byte of the file */
	uint64_t position;
	/* of the parts, and of the zeros in front of them */
	struct image_ends ends;
	/* NULL: not a layer */
	struct packed_layer *layer;
};

struct packed_layer {
	const struct image_layout_how *how;
	/* of the bytes of the layer; also of bytes alone */
	struct image_hash *blob;
	/* of what is packed, the archive; NULL: the layer is no archive */
	struct image_hash *archive;
	/* where the file has the layer, and how many bytes so far */
	uint64_t from;
	uint64_t length;
	/* members of an object of JSON */
	char platform[256];
	struct image_layout layout;
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

/* Write bytes of the file. In their order, if the file is a layer. */
int packed_write(const struct packed_sink *s, uint64_t host, const void *bytes,
	size_t length, struct image_error *err);

/* layout.c: set s->layer as `how` says, and free it. NULL is allowed there. */
int packed_layer_open(struct packed_sink *s, const struct image_layout_how *how,
	struct image_error *err);
void packed_layer_close(struct packed_layer *layer);
/* Pack what the archive has in front of the disk. */
int packed_layer_begin(struct packed_sink *s, struct image_error *err);
/* Zeros and then bytes are packed, in the order of the disk. */
int packed_layer_add(struct packed_layer *layer, uint64_t zeros,
	const void *bytes, uint64_t length, struct image_error *err);
/* Returns the zeros that the archive has behind the disk. */
uint64_t packed_layer_tail(const struct packed_layer *layer);
/* The layer is complete: set its layout, and write an archive of that. */
int packed_layer_end(struct packed_sink *s, struct image_error *err);

/* As image_format.create, for a raw disk with create->packing. */
int image_packed_create(struct image_store *store,
	const struct image_create *create, struct image_sink **out,
	struct image_error *err);

#endif
