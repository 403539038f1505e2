/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_UNPACK_H
#define HONE_IMAGE_UNPACK_H
/*
 * Packed files: their detection, and a stream of the bytes that are in them.
 *
 *   open.c     is a file packed, and how?
 *   unpack.c   one member after the other, by a decoder of decoder.h: gzip.c,
 *              xz.c, zstd.c, bzip2.c
 *   members.c  several members at once, by threads
 */
#include "store/store.h"
#include "store/stream.h"

/* Returns the version of the library that unpacks it; NULL: this build lacks
 * it. */
const char *image_unpack_version(enum image_packing packing);

/*
 * Returns the packing that the suffix of the first *length bytes of a name
 * claims, or IMAGE_PACKING_NONE, and takes the suffix from *length. Sets *more
 * to whether another suffix may stand before that one: not before ".tgz".
 */
enum image_packing image_unpack_suffix(
	const char *name, size_t *length, bool *more);

/* Returns whether the name has the suffix of a packed tar archive: ".tgz". */
bool image_unpack_is_tar(const char *name);

/* Returns the packing whose magic the bytes begin with, or IMAGE_PACKING_NONE.
 */
enum image_packing image_unpack_by_magic(
	const unsigned char *head, size_t length);

/*
 * Read what is packed in a stream, which the new stream owns; it is closed on
 * failure too. The new stream fails if a checksum is wrong, if the packed bytes
 * end inside a member, or if something else than zeros and members follows.
 *
 * threads: how many may unpack beside the reader; 1: the reader alone. Blocks
 * of xz have as many as the memory allows. Members of gzip and zstd have up to
 * 4 if each member is not longer than a twelfth of the memory.
 *
 * memory: bytes of the decoders and of what they have unpacked.
 *
 * Returns -ENOTSUP if this build lacks the library.
 */
int image_unpack_open(enum image_packing packing, struct image_stream *packed,
	uint64_t memory, unsigned threads, struct image_stream **out,
	struct image_error *err);

/*
 * Replace a store by one of the bytes that are packed in it, as how->packing
 * and how->inner say, or, if it is the member of an archive, as the suffixes of
 * its name say. No change if it is not packed. Closes the store on failure.
 */
int image_unpack_store(struct image_store **store, const struct image_open *how,
	struct image_error *err);

/* Returns how many packings were removed, those of an archive too. */
unsigned image_unpack_rounds(const struct image_store *store);

/* Returns whether the first bytes of the file may decide how it is packed. */
bool image_bytes_decide(
	const struct image_store *store, const struct image_open *how);

/* Fail if the store begins as a packed file, with its first bytes. */
int image_refuse_packed(const struct image_store *store,
	const unsigned char *head, size_t length, struct image_error *err);

/* Returns whether the first `length` bytes of a name end with the suffix, in
 * any case, and are more than that. */
bool image_name_ends_with(const char *name, size_t length, const char *suffix);

/* Returns whether the name has the suffix of an image before those of packings:
 * "disk.raw.gz". */
bool image_unpack_is_image(const char *name);

/* Returns the length of the name without the suffixes of packings. */
size_t image_unpack_name(const char *name);

#endif
