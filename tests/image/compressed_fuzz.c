/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a compressed cluster. What zlib's own inflate takes for a
 * cluster, the codec takes for the same one. The reverse does not hold:
 * libdeflate reads the undefined length codes 286 and 287 as a length.
 *
 * Bit 0 of the first byte chooses zstd, the others the size of the cluster.
 *
 * The codecs are libraries without instrumentation: how far zlib comes, and
 * what stops it, is what the fuzzer sees instead of branches.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "codec/codec.h"

#define LARGEST ((size_t)64 << 10)

/* libFuzzer looks at these as at counters of branches. */
#define COUNTERS 8192
static uint8_t counters[COUNTERS]
	__attribute__((section("__libfuzzer_extra_counters"), used));

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned
magnitude(unsigned long n)
{
	return n ? 64 - (unsigned)__builtin_clzl(n) : 0;
}

/* By what stopped zlib, and the bytes that it had read and written by then. */
static void
note(const z_stream *z)
{
	size_t kind = z->msg ? strlen(z->msg) % 32 : 31;
	size_t in = z->total_in < 15 ? z->total_in : 15;

	counters[(kind * 16 + in) * 16 + magnitude(z->total_out) % 16] = 1;
}

/* Returns whether the stream has exactly length bytes. */
static bool
inflate_all(const uint8_t *data, size_t size, unsigned char *to, size_t length)
{
	unsigned char more;
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
		.avail_in = (uInt)size,
		.next_out = to,
		.avail_out = (uInt)length};

	if (inflateInit2(&z, -15) != Z_OK)
		abort();
	int rc = inflate(&z, Z_FINISH);
	if (rc == Z_BUF_ERROR && z.avail_out == 0) {
		/* the end of the stream may be all that is left */
		z.next_out = &more;
		z.avail_out = 1;
		rc = inflate(&z, Z_FINISH);
		if (z.avail_out == 0)
			rc = Z_DATA_ERROR;
	}
	note(&z);
	bool whole = rc == Z_STREAM_END && z.total_out == length;
	inflateEnd(&z);
	return whole;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char ours[LARGEST], theirs[LARGEST];
	static struct image_scratch scratch;

	if (size < 2)
		return 0;
	enum image_codec_id id =
		data[0] & 1 ? IMAGE_CODEC_ZSTD : IMAGE_CODEC_ZLIB;
	size_t length = (size_t)512 << (data[0] >> 1) % 8;
	/* In a buffer of its own, so that each byte read past it is seen. */
	unsigned char *stream = malloc(size - 1);
	if (!stream)
		abort();
	memcpy(stream, data + 1, size - 1);
	int rc = image_decompress(id, &scratch, stream, size - 1, ours, length);
	if (id == IMAGE_CODEC_ZLIB &&
		inflate_all(stream, size - 1, theirs, length) &&
		(rc < 0 || memcmp(ours, theirs, length) != 0))
		abort();
	free(stream);
	return 0;
}
