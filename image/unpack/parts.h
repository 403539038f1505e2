/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_UNPACK_PARTS_H
#define HONE_IMAGE_UNPACK_PARTS_H
/*
 * A store of a packed file whose parts can be unpacked one by one: the blocks
 * of xz. Any thread unpacks what it reads.
 */
#include "store/store.h"

/* A part of the file, and of the bytes that are packed in it. */
struct image_packed {
	/* in the packed file */
	uint64_t from;
	uint64_t stored;
	/* in the content, and its length */
	uint64_t offset;
	uint64_t length;
};

/* A list of parts without gaps in the content, and how they are unpacked. */
struct image_parts {
	struct image_packed *list;
	size_t count;
	size_t room;
	/* bytes that unpack() uses beside `to` */
	uint64_t decoder;
	/* Unpack part->length bytes. Any thread. */
	int (*unpack)(const struct image_parts *parts,
		struct image_store *store, const struct image_packed *part,
		unsigned char *to, struct image_error *err);
	/* for unpack(): the kind of checksum of xz */
	unsigned check;
};

/* Add a part whose content follows that of the last one. */
int image_parts_add(struct image_parts *parts, uint64_t from, uint64_t stored,
	uint64_t length, struct image_error *err);

/*
 * List the parts of an xz file. Sets count to 0 if its index cannot be used; a
 * decoder of streams then reports what is wrong with the file.
 */
int image_parts_of_xz(struct image_store *store, struct image_parts *parts,
	struct image_error *err);

/* Returns the length of the content, or IMAGE_SIZE_UNKNOWN without parts. */
uint64_t image_parts_size(const struct image_parts *parts);

/* Returns whether two parts can be unpacked at a time within the limit. */
bool image_parts_fit(const struct image_parts *parts, uint64_t memory);

/*
 * Make a store of the content, which owns `packed` and the list, also after a
 * failure. memory: the limit of everything that is unpacked at a time.
 */
int image_parts_open(struct image_store *packed,
	const struct image_parts *parts, uint64_t memory,
	struct image_store **out, struct image_error *err);

#endif
