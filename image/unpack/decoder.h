/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_DECODER_H
#define HONE_IMAGE_DECODER_H
/* The decoders of unpack.c. A packed file has members: the word of gzip for
 * what xz and bzip2 call a stream, and zstd a frame. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "unpack/unpack.h"

/* Bytes of a member that begin() gets, if the file has as many. */
#define IMAGE_MEMBER_HEAD 18

/* The buffers of decode(), which moves the pointers on. */
struct image_decode {
	const unsigned char *in;
	size_t in_left;
	unsigned char *out;
	size_t out_left;
	/* set at the end of a member */
	bool end;
	/* after a failure: what is wrong, for the message */
	char why[160];
};

/* Write zeros of blocks that were left out, up to the room for the output. */
static inline void
image_decode_zeros(struct image_decode *io, uint64_t *zeros)
{
	size_t n = *zeros < io->out_left ? (size_t)*zeros : io->out_left;

	memset(io->out, 0, n);
	io->out += n;
	io->out_left -= n;
	*zeros -= n;
}

struct image_decoder {
	/* "5.4.1": of the library; NULL if this build lacks it */
	const char *(*version)(void);

	/* Returns whether a member may begin with these bytes. */
	bool (*begins)(const unsigned char *head, size_t length);

	/*
	 * Returns the length of the member that begins here; more than `length`
	 * if it is not complete; 0 if its length cannot be found out, its
	 * content is longer than *content, or decode() may refuse its pieces
	 * but not the whole. The bytes may be damaged. Of a complete member,
	 * *content becomes the most content, if that is less. NULL: members
	 * have no lengths.
	 */
	size_t (*whole)(
		const unsigned char *in, size_t length, size_t *content);

	/* The same for a member that has zeros alone, whose every byte was
	 * compared: sets *zeros to their number. NULL: all members are
	 * unpacked. */
	size_t (*zeros)(
		const unsigned char *in, size_t length, uint64_t *zeros);

	/*
	 * Set *size to the bytes of content that the packed file states, in an
	 * index of at most `memory` bytes, or leave IMAGE_SIZE_UNKNOWN. Damage
	 * is left to decode(). The store is not a stream. Returns the failure
	 * of a read, or -ENOMEM. NULL: no file states it.
	 */
	int (*size)(struct image_store *store, uint64_t memory, uint64_t *size,
		struct image_error *err);

	/* NULL: decode() compares that size. Else it may be wrong, and this
	 * ends the message about it. */
	const char *size_claim;

	/* the zeros between two members are a multiple of this; 0: none */
	unsigned padding;

	/* Returns the bytes of input that decode() needs next, if as many are
	 * left; less than 128 KiB. NULL: 1. */
	size_t (*least)(const void *state);

	/* memory: the limit of everything that the state refers to. threads:
	 * for a library that has some. Returns NULL if there is no memory. */
	void *(*open)(uint64_t memory, unsigned threads);

	/* Prepare for a member that begins with these bytes. Returns -ENOMEM on
	 * failure. */
	int (*begin)(void *state, const unsigned char *head, size_t length);

	/*
	 * Decode until the input, the room for the output or the member ends;
	 * or return earlier, with some output. Without input, the packed bytes
	 * have ended. A call that needs more input changes nothing. Returns
	 * -EINVAL if the data is damaged and -E2BIG if it needs more memory
	 * than the limit, with io->why; or -ENOMEM.
	 */
	int (*decode)(void *state, struct image_decode *io);

	void (*close)(void *state);
};

/* The decoder of a packing, not IMAGE_PACKING_NONE. */
const struct image_decoder *image_unpack_decoder(enum image_packing packing);

/*
 * As image_unpack_open(), one member after the other. The stream begins at that
 * offset of the packed file; another one than 0 is behind a member.
 */
int image_unpack_resume(enum image_packing packing, struct image_stream *packed,
	uint64_t memory, unsigned threads, uint64_t offset,
	struct image_stream **out, struct image_error *err);

#define IMAGE_PACKING_ROW(id, name, ...)                                       \
	extern const struct image_decoder image_decoder_##name;
#include "unpack/packings.def"
#undef IMAGE_PACKING_ROW

/* The magics of packings whose library this build may lack. */

static inline bool
image_begins_xz(const unsigned char *head, size_t length)
{
	return length >= 6 && memcmp(head,
				      "\xfd"
				      "7zXZ\0",
				      6) == 0;
}

static inline bool
image_begins_bzip2(const unsigned char *head, size_t length)
{
	return length >= 4 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' &&
	       head[3] <= '9';
}

#endif
