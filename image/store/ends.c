/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include "store/ends.h"

void
image_ends_pass(
	struct image_ends *ends, const unsigned char *bytes, uint64_t length)
{
	uint64_t at = ends->position;

	for (uint64_t i = 0; i < length && at + i < IMAGE_ENDS; i++)
		ends->head[at + i] = bytes ? bytes[i] : 0;
	for (uint64_t i = length > IMAGE_ENDS ? length - IMAGE_ENDS : 0;
		i < length; i++)
		ends->tail[(at + i) % IMAGE_ENDS] = bytes ? bytes[i] : 0;
	ends->position += length;
}

void
image_ends_read(const struct image_ends *ends, uint64_t offset, void *buf,
	size_t length)
{
	unsigned char *to = buf;

	assert(offset + length <= IMAGE_ENDS ||
		offset + IMAGE_ENDS >= ends->position);
	for (size_t i = 0; i < length; i++, offset++)
		to[i] = offset >= ends->position ? 0
			: offset < IMAGE_ENDS    ? ends->head[offset]
					      : ends->tail[offset % IMAGE_ENDS];
}
