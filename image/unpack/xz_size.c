/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length of what is in an xz file, by the indexes of its streams. The walk
 * goes from the last stream to the first one, and each is looked at once:
 * lzma_file_info_decoder() joins the indexes, which takes a time that grows by
 * the square of their number.
 */
#include <lzma.h>
#include <stdlib.h>
#include "unpack/decoder.h"

/* Bytes of the packed file that are read at a time. */
#define INPUT ((size_t)128 << 10)

/* Bytes that are read in search of it: zeros may follow a stream, and a sparse
 * file or a server has any number of them. */
#define SEARCH ((uint64_t)256 << 20)

struct walk {
	struct image_store *store;
	struct image_error *err;
	/* most bytes of an index: 16 bytes a block */
	uint64_t memory;
	/* the failure of a read, or -ENOMEM */
	int rc;
	/* read so far */
	uint64_t searched;
	/* what input[] has */
	uint64_t begin;
	uint64_t end;
	unsigned char input[INPUT];
};

/*
 * Returns `length` bytes of the file, at most INPUT, with what is in front of
 * them. Returns NULL after a failure, or after SEARCH bytes.
 */
static const unsigned char *
look(struct walk *walk, uint64_t at, size_t length)
{
	if (at < walk->begin || at + length > walk->end) {
		uint64_t end = at + length;
		uint64_t begin = end > INPUT ? end - INPUT : 0;
		size_t bytes = (size_t)(end - begin);
		if (walk->searched >= SEARCH)
			return NULL;
		walk->searched += bytes;
		walk->begin = walk->end = 0;
		walk->rc = image_store_read(
			walk->store, begin, walk->input, bytes, walk->err);
		if (walk->rc < 0)
			return NULL;
		walk->begin = begin;
		walk->end = end;
	}
	return walk->input + (at - walk->begin);
}

/* Move *end in front of the zeros that follow a stream. */
static bool
skip_padding(struct walk *walk, uint64_t *end)
{
	const unsigned char *word;

	while (*end >= 4 && (word = look(walk, *end - 4, 4))) {
		if (word[0] | word[1] | word[2] | word[3])
			return true;
		*end -= 4;
	}
	return false;
}

/* Read the index of `left` bytes at the offset. Returns NULL if it is not one.
 */
static lzma_index *
read_index(struct walk *walk, uint64_t at, uint64_t left)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_index *index = NULL;
	lzma_ret rc = lzma_index_decoder(&stream, &index, walk->memory);

	while (rc == LZMA_OK && left) {
		size_t part = left < INPUT ? (size_t)left : INPUT;
		stream.next_in = look(walk, at, part);
		if (!stream.next_in)
			break;
		stream.avail_in = part;
		rc = lzma_code(&stream, LZMA_RUN);
		at += part;
		left -= part;
	}
	bool whole = rc == LZMA_STREAM_END && left == 0 && stream.avail_in == 0;
	lzma_end(&stream);
	if (rc == LZMA_MEM_ERROR)
		walk->rc = image_no_memory(walk->err);
	if (whole)
		return index;
	/* An index that is not complete belongs to the decoder. */
	if (rc == LZMA_STREAM_END)
		lzma_index_end(index, NULL);
	return NULL;
}

/* Returns whether the header at the offset is that of the footer. */
static bool
has_header(struct walk *walk, uint64_t at, const lzma_stream_flags *footer)
{
	lzma_stream_flags header;
	const unsigned char *bytes = look(walk, at, LZMA_STREAM_HEADER_SIZE);

	return bytes && lzma_stream_header_decode(&header, bytes) == LZMA_OK &&
	       lzma_stream_flags_compare(&header, footer) == LZMA_OK;
}

/*
 * Add the content of the stream that ends at *end, and set *end to its begin.
 * Returns false if something is wrong.
 */
static bool
add_stream(struct walk *walk, uint64_t *end, uint64_t *size)
{
	lzma_stream_flags footer;

	if (*end < UINT64_C(2) * LZMA_STREAM_HEADER_SIZE)
		return false;
	uint64_t at = *end - LZMA_STREAM_HEADER_SIZE;
	const unsigned char *bytes = look(walk, at, LZMA_STREAM_HEADER_SIZE);
	if (!bytes || lzma_stream_footer_decode(&footer, bytes) != LZMA_OK ||
		footer.backward_size > at)
		return false;
	at -= footer.backward_size;
	lzma_index *index = read_index(walk, at, footer.backward_size);
	if (!index)
		return false;
	uint64_t blocks = lzma_index_total_size(index);
	uint64_t content = lzma_index_uncompressed_size(index);
	lzma_index_end(index, NULL);
	if (blocks > at || at - blocks < LZMA_STREAM_HEADER_SIZE ||
		__builtin_add_overflow(*size, content, size))
		return false;
	*end = at - blocks - LZMA_STREAM_HEADER_SIZE;
	return has_header(walk, *end, &footer);
}

int
image_xz_size(struct image_store *store, uint64_t memory, uint64_t *size,
	struct image_error *err)
{
	struct walk *walk = malloc(sizeof(*walk));
	uint64_t end = store->size, content = 0;

	*size = IMAGE_SIZE_UNKNOWN;
	if (!walk)
		return image_no_memory(err);
	walk->store = store;
	walk->memory = memory;
	walk->err = err;
	walk->rc = 0;
	walk->searched = walk->begin = walk->end = 0;
	bool good = end > 0 && end % 4 == 0;
	while (good && end > 0)
		good = skip_padding(walk, &end) &&
		       add_stream(walk, &end, &content);
	/* No decoder reaches a larger number. */
	if (good && content < IMAGE_SIZE_UNKNOWN)
		*size = content;
	int rc = walk->rc;
	free(walk);
	return rc;
}
