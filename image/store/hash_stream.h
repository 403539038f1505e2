/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HASH_STREAM_H
#define HONE_IMAGE_HASH_STREAM_H
#include "store/stream.h"

/*
 * A stream of the bytes of `from`, which it owns, also after a failure. The
 * bytes are hashed as they pass, and the last read, which has no bytes, fails
 * with err->refused if the digest is not that expected.
 */
int image_stream_expect(struct image_stream *from,
	const struct image_expect *expect, struct image_stream **out,
	struct image_error *err);

#endif
