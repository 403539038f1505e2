/* SPDX-License-Identifier: BSD-3-Clause */
/* The length of what is in an xz file, by the index at its end. */
#include <lzma.h>
#include <stdlib.h>
#include "unpack/decoder.h"

/* Bytes of the packed file that are read at a time. */
#define INPUT ((size_t)128 << 10)

/* Of the index itself: 16 bytes a block. A longer list is not used. */
#define INDEX_MEMORY ((uint64_t)16 << 20)

/* Bytes that are read in search of it: zeros may follow a stream, and a sparse
 * file or a server has any number of them. */
#define SEARCH ((uint64_t)256 << 20)

/*
 * Read the index, whatever the file has. Sets *index to NULL if liblzma finds
 * something wrong, or after SEARCH bytes.
 */
static int
read_index(struct image_store *store, unsigned char *input, lzma_index **index,
	struct image_error *err)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint64_t at = 0, searched = 0;
	lzma_ret rc = lzma_file_info_decoder(
		&stream, index, INDEX_MEMORY, store->size);
	int result = 0;

	while (result == 0 && searched < SEARCH &&
		(rc == LZMA_OK || rc == LZMA_SEEK_NEEDED)) {
		if (rc == LZMA_SEEK_NEEDED) {
			at = stream.seek_pos;
			stream.avail_in = 0;
		}
		if (stream.avail_in == 0) {
			uint64_t left = store->size - at;
			stream.next_in = input;
			stream.avail_in = left < INPUT ? (size_t)left : INPUT;
			result = image_store_read(
				store, at, input, stream.avail_in, err);
			at += stream.avail_in;
			searched += stream.avail_in;
		}
		if (result == 0)
			rc = lzma_code(&stream, LZMA_RUN);
	}
	lzma_end(&stream);
	if (rc == LZMA_MEM_ERROR)
		result = image_no_memory(err);
	if (result < 0 || rc != LZMA_STREAM_END)
		*index = NULL;
	return result;
}

int
image_xz_size(
	struct image_store *store, uint64_t *size, struct image_error *err)
{
	unsigned char *input = malloc(INPUT);
	lzma_index *index = NULL;

	*size = IMAGE_SIZE_UNKNOWN;
	if (!input)
		return image_no_memory(err);
	int rc = read_index(store, input, &index, err);
	free(input);
	if (rc == 0 && index)
		*size = lzma_index_uncompressed_size(index);
	lzma_index_end(index, NULL);
	return rc;
}
