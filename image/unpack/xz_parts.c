/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of an xz file, by the index at its end. */
#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include "unpack/parts.h"

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

static int
block_failed(struct image_store *store, const struct image_packed *part,
	const char *why, struct image_error *err)
{
	return image_damaged(err, store->name, -EIO,
		"has damaged xz data in the block at offset %" PRIu64 ": %s",
		part->from, why);
}

/*
 * Set *block and its filters by the header of a block. The filters need
 * lzma_filters_free() after success.
 */
static int
read_header(const struct image_parts *parts, struct image_store *store,
	const struct image_packed *part, lzma_block *block,
	struct image_error *err)
{
	uint8_t header[LZMA_BLOCK_HEADER_SIZE_MAX];
	size_t length = part->stored < sizeof(header) ? (size_t)part->stored
						      : sizeof(header);

	int rc = image_store_read(store, part->from, header, length, err);
	if (rc < 0)
		return rc;
	block->version = 1;
	block->check = (lzma_check)parts->check;
	block->header_size = lzma_block_header_size_decode(header[0]);
	lzma_ret result = LZMA_DATA_ERROR;
	if (header[0] && block->header_size <= length)
		result = lzma_block_header_decode(block, NULL, header);
	if (result == LZMA_OPTIONS_ERROR)
		return image_fail(err, store->name, -ENOTSUP,
			"cannot be unpacked: the xz block at offset %" PRIu64
			" has filters or options that are not supported",
			part->from);
	return result == LZMA_OK
		       ? 0
		       : block_failed(store, part, "its header is wrong", err);
}

/* Run the decoder over the packed bytes that follow the header. */
static lzma_ret
run(lzma_stream *stream, struct image_store *store,
	const struct image_packed *part, uint64_t at, unsigned char *input,
	int *result, struct image_error *err)
{
	/* The index has the size without the padding, which is in the file. */
	uint64_t end = part->from + (part->stored + 3) / 4 * 4;
	lzma_ret rc = LZMA_OK;

	while (rc == LZMA_OK) {
		if (stream->avail_in == 0 && at < end) {
			stream->next_in = input;
			stream->avail_in =
				end - at < INPUT ? (size_t)(end - at) : INPUT;
			*result = image_store_read(
				store, at, input, stream->avail_in, err);
			if (*result < 0)
				return LZMA_OK;
			at += stream->avail_in;
		}
		rc = lzma_code(stream, LZMA_RUN);
	}
	return rc;
}

static int
unpack_block(const struct image_parts *parts, struct image_store *store,
	const struct image_packed *part, lzma_block *block, unsigned char *to,
	struct image_error *err)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	unsigned char *input = malloc(INPUT);
	int result = 0;

	if (!input)
		return image_no_memory(err);
	uint64_t needed = lzma_raw_decoder_memusage(block->filters);
	lzma_ret rc = LZMA_MEMLIMIT_ERROR;
	if (needed <= parts->decoder)
		rc = lzma_block_decoder(&stream, block);
	stream.next_out = to;
	stream.avail_out = (size_t)part->length;
	if (rc == LZMA_OK)
		rc = run(&stream, store, part, part->from + block->header_size,
			input, &result, err);
	if (result == 0 && rc == LZMA_MEM_ERROR)
		result = image_no_memory(err);
	else if (result == 0 && rc == LZMA_MEMLIMIT_ERROR)
		result = image_fail(err, store->name, -E2BIG,
			"cannot be unpacked: the xz block at offset %" PRIu64
			" needs %" PRIu64
			" bytes of memory, more than the first one",
			part->from, needed);
	else if (result == 0 &&
		 (rc != LZMA_STREAM_END || stream.avail_out ||
			 lzma_block_unpadded_size(block) != part->stored))
		result = block_failed(
			store, part, "the data or a checksum is wrong", err);
	lzma_end(&stream);
	free(input);
	return result;
}

static int
unpack(const struct image_parts *parts, struct image_store *store,
	const struct image_packed *part, unsigned char *to,
	struct image_error *err)
{
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block block = {.filters = filters};

	int rc = read_header(parts, store, part, &block, err);
	if (rc < 0)
		return rc;
	rc = unpack_block(parts, store, part, &block, to, err);
	lzma_filters_free(filters, NULL);
	return rc;
}

/* Set what the decoder of the first block needs. */
static int
measure(struct image_store *store, struct image_parts *parts,
	struct image_error *err)
{
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block block = {.filters = filters};

	int rc = read_header(parts, store, &parts->list[0], &block, err);
	if (rc < 0)
		return rc;
	parts->decoder = lzma_raw_decoder_memusage(filters);
	lzma_filters_free(filters, NULL);
	return 0;
}

/* Returns 1 if the list can be used, 0 if not. */
static int
list_blocks(
	lzma_index *index, struct image_parts *parts, struct image_error *err)
{
	lzma_index_iter iter;
	uint32_t checks = lzma_index_checks(index);
	int rc = 0;

	/* One kind of checksum, and one that liblzma can verify. */
	if (checks & (checks - 1))
		return 0;
	parts->check = (unsigned)__builtin_ctz(checks | 1u << 31);
	if (!lzma_check_is_supported((lzma_check)parts->check))
		return 0;
	lzma_index_iter_init(&iter, index);
	while (rc == 0 && !lzma_index_iter_next(&iter, LZMA_INDEX_ITER_BLOCK))
		rc = image_parts_add(parts, iter.block.compressed_file_offset,
			iter.block.unpadded_size, iter.block.uncompressed_size,
			err);
	return rc < 0 ? rc : 1;
}

int
image_parts_of_xz(struct image_store *store, struct image_parts *parts,
	struct image_error *err)
{
	unsigned char *input = malloc(INPUT);
	lzma_index *index = NULL;

	*parts = (struct image_parts){.unpack = unpack};
	if (!input)
		return image_no_memory(err);
	int rc = read_index(store, input, &index, err);
	free(input);
	if (rc == 0 && index)
		rc = list_blocks(index, parts, err);
	lzma_index_end(index, NULL);
	bool usable = rc == 1 && parts->count;
	if (usable)
		rc = measure(store, parts, err);
	/* The decoder of streams describes the fault better. */
	if (!usable || rc == -EIO)
		parts->count = 0;
	return rc < 0 && rc != -EIO ? rc : 0;
}
