/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without liblzma. */
#include "unpack/decoder.h"
#include "unpack/magic.h"

const struct image_decoder image_decoder_xz = {.begins = image_begins_xz};

int
image_unpack_size_of_xz(
	struct image_store *store, uint64_t *size, struct image_error *err)
{
	(void)store;
	(void)err;
	*size = IMAGE_SIZE_UNKNOWN;
	return 0;
}
