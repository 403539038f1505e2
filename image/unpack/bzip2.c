/* SPDX-License-Identifier: BSD-3-Clause */
/* The format of bzip2, by libbz2. */
#include <bzlib.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "unpack/decoder.h"

static void *
bzip2_open(uint64_t memory, unsigned threads)
{
	/* Blocks of 900 KB need 3.7 MB, which is below every limit. */
	(void)memory;
	(void)threads;
	return calloc(1, sizeof(bz_stream));
}

static int
bzip2_begin(void *state, const unsigned char *head, size_t length)
{
	bz_stream *stream = state;

	(void)head;
	(void)length;
	/* No effect without a stream that was begun. */
	BZ2_bzDecompressEnd(stream);
	*stream = (bz_stream){0};
	return BZ2_bzDecompressInit(stream, 0, 0) == BZ_OK ? 0 : -ENOMEM;
}

static int
bzip2_decode(void *state, struct image_decode *io)
{
	bz_stream *stream = state;
	unsigned room =
		io->out_left < UINT32_MAX ? (unsigned)io->out_left : UINT32_MAX;

	stream->next_in = (char *)(uintptr_t)io->in;
	stream->avail_in = (unsigned)io->in_left;
	stream->next_out = (char *)io->out;
	stream->avail_out = room;
	int rc = BZ2_bzDecompress(stream);
	io->in += io->in_left - stream->avail_in;
	io->in_left = stream->avail_in;
	io->out += room - stream->avail_out;
	io->out_left -= room - stream->avail_out;
	io->end = rc == BZ_STREAM_END;
	if (rc == BZ_OK || rc == BZ_STREAM_END)
		return 0;
	snprintf(io->why, sizeof(io->why), "%s",
		rc == BZ_DATA_ERROR_MAGIC ? "the header is not one of bzip2"
					  : "the data or a checksum is wrong");
	return rc == BZ_MEM_ERROR ? -ENOMEM : -EINVAL;
}

static void
bzip2_close(void *state)
{
	BZ2_bzDecompressEnd(state);
	free(state);
}

const struct image_decoder image_decoder_bzip2 = {
	.version = BZ2_bzlibVersion,
	.begins = image_begins_bzip2,
	.open = bzip2_open,
	.begin = bzip2_begin,
	.decode = bzip2_decode,
	.close = bzip2_close,
};
