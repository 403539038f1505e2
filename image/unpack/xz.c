/* SPDX-License-Identifier: BSD-3-Clause */
/* The .xz format, by liblzma. */
#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include "unpack/decoder.h"
#include "unpack/magic.h"

struct xz {
	lzma_stream stream;
	uint64_t memory;
	unsigned threads;
};

static int
xz_open(void **state, uint64_t memory, unsigned threads)
{
	struct xz *xz = calloc(1, sizeof(*xz));

	*state = xz;
	if (!xz)
		return -ENOMEM;
	xz->stream = (lzma_stream)LZMA_STREAM_INIT;
	xz->memory = memory;
	xz->threads = threads;
	return 0;
}

static int
xz_begin(void *state, const unsigned char *head, size_t length)
{
	struct xz *xz = state;
	/* A check that liblzma does not know would not be verified. */
	lzma_mt threaded = {
		.flags = LZMA_TELL_UNSUPPORTED_CHECK,
		.threads = xz->threads,
		.memlimit_threading = xz->memory,
		.memlimit_stop = xz->memory,
	};

	(void)head;
	(void)length;
	lzma_ret rc = xz->threads < 2
			      ? lzma_stream_decoder(
					&xz->stream, xz->memory, threaded.flags)
			      : lzma_stream_decoder_mt(&xz->stream, &threaded);
	return rc == LZMA_OK ? 0 : -ENOMEM;
}

static const char *
reason(lzma_ret rc)
{
	switch (rc) {
	case LZMA_UNSUPPORTED_CHECK:
		return "has a kind of checksum that is not supported";
	case LZMA_OPTIONS_ERROR:
		return "has filters or options that are not supported";
	case LZMA_FORMAT_ERROR:
		return "the header is not one of xz";
	default:
		return "the data or a checksum is wrong";
	}
}

static int
xz_decode(void *state, struct image_decode *io)
{
	struct xz *xz = state;
	lzma_stream *stream = &xz->stream;

	stream->next_in = io->in;
	stream->avail_in = io->in_left;
	stream->next_out = io->out;
	stream->avail_out = io->out_left;
	/* LZMA_RUN does not wait for what the threads still unpack. */
	lzma_ret rc = lzma_code(stream, io->in_left ? LZMA_RUN : LZMA_FINISH);
	io->in = stream->next_in;
	io->in_left = stream->avail_in;
	io->out = stream->next_out;
	io->out_left = stream->avail_out;
	io->end = rc == LZMA_STREAM_END;
	/* LZMA_BUF_ERROR: a second call without progress. */
	if (rc == LZMA_OK || rc == LZMA_STREAM_END || rc == LZMA_BUF_ERROR)
		return 0;
	if (rc == LZMA_MEM_ERROR)
		return -ENOMEM;
	if (rc == LZMA_MEMLIMIT_ERROR) {
		snprintf(io->why, sizeof(io->why),
			"needs more memory than its share of --memory, "
			"%" PRIu64 " bytes",
			xz->memory);
		return -E2BIG;
	}
	snprintf(io->why, sizeof(io->why), "%s", reason(rc));
	return rc == LZMA_UNSUPPORTED_CHECK || rc == LZMA_OPTIONS_ERROR
		       ? -ENOTSUP
		       : -EINVAL;
}

static void
xz_close(void *state)
{
	struct xz *xz = state;

	lzma_end(&xz->stream);
	free(xz);
}

const struct image_decoder image_decoder_xz = {
	.version = lzma_version_string,
	.begins = image_begins_xz,
	/* "Stream Padding" of the format */
	.padding = 4,
	.size = image_xz_size,
	.open = xz_open,
	.begin = xz_begin,
	.decode = xz_decode,
	.close = xz_close,
};
