/* SPDX-License-Identifier: BSD-3-Clause */
/* One zstd frame for each cluster, as in QEMU, or for each part of a disk. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "codec/encoder.h"

static void *
zstd_create(const struct image_codec *codec)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	if (context &&
		(ZSTD_isError(ZSTD_CCtx_setParameter(
			 context, ZSTD_c_compressionLevel, codec->level)) ||
			ZSTD_isError(ZSTD_CCtx_setParameter(context,
				ZSTD_c_checksumFlag, codec->checksum)))) {
		ZSTD_freeCCtx(context);
		context = NULL;
	}
	return context;
}

static int64_t
zstd_compress(
	void *context, const void *from, size_t length, void *to, size_t room)
{
	size_t made = ZSTD_compress2(context, to, room, from, length);
	if (!ZSTD_isError(made))
		return (int64_t)made;
	/* the context allocates its buffers at the first use, by the input's
	 * length */
	return ZSTD_getErrorCode(made) == ZSTD_error_dstSize_tooSmall ? 0
								      : -ENOMEM;
}

static void
zstd_destroy(void *context)
{
	ZSTD_freeCCtx(context);
}

/* The library allocates by level and length at the first use. */
static size_t
zstd_memory(const struct image_codec *codec, size_t length)
{
	size_t size = 0, room = ZSTD_compressBound(length);
	ZSTD_CCtx *context = zstd_create(codec);
	char *from = calloc(1, length), *to = malloc(room);

	if (context && from && to) {
		zstd_compress(context, from, length, to, room);
		size = ZSTD_sizeof_CCtx(context);
	}
	free(to);
	free(from);
	ZSTD_freeCCtx(context);
	return size;
}

const struct image_encoder image_encoder_zstd = {
	.name = "zstd",
	/* Higher levels are for windows larger than any cluster. */
	.most = 19,
	/* ZSTD_CLEVEL_DEFAULT, as in QEMU */
	.standard = 3,
	.create = zstd_create,
	.compress = zstd_compress,
	.destroy = zstd_destroy,
	.memory = zstd_memory,
};

/*
 * A library may still accept formats before zstd 0.8, which qcow2 does not
 * allow.
 */
static bool
is_zstd(const void *from, size_t stored)
{
	uint32_t magic;

	if (stored < sizeof(magic))
		return false;
	memcpy(&magic, from, sizeof(magic));
	return le32toh(magic) == ZSTD_MAGICNUMBER;
}

int
image_unzstd(void **context, const void *from, size_t stored, void *to,
	size_t length)
{
	if (!is_zstd(from, stored))
		return -EINVAL;
	/* The library accepts no bytes after the end of the frame. */
	size_t frame = ZSTD_findFrameCompressedSize(from, stored);
	if (ZSTD_isError(frame))
		return -EINVAL;
	if (!*context)
		*context = ZSTD_createDCtx();
	if (!*context)
		return -ENOMEM;
	/* A single call allocates no window, whatever window size the frame
	 * has. */
	size_t made = ZSTD_decompressDCtx(*context, to, length, from, frame);
	return ZSTD_isError(made) || made != length ? -EINVAL : 0;
}

void
image_unzstd_destroy(void *context)
{
	ZSTD_freeDCtx(context);
}
