/* SPDX-License-Identifier: BSD-3-Clause */
/* Make the disk of a source smaller, if that leaves out zeros alone. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <hone/zero.h>
#include "pipeline/pieces.h"

#define STEP ((size_t)1 << 20)
/* of sectors of 4096 bytes, at the end of a disk: 128 entries and a header */
#define BACKUP_GPT 20480

/* Set *data to the first byte of a range that is not zero, or to its end. */
static int
find_data(struct image_source *source, const struct image_extent *range,
	struct image_scratch *scratch, void *buffer, uint64_t *data,
	struct image_error *err)
{
	uint64_t end = range->offset + range->length, at = range->offset;
	size_t found = 0, length = 0;
	int rc = 0;

	if (range->kind == IMAGE_HOLE)
		at = end;
	for (; rc == 0 && at < end && found == length; at += found) {
		length = end - at < STEP ? (size_t)(end - at) : STEP;
		rc = source->ops->read(
			source, scratch, at, buffer, length, err);
		found = rc == 0 ? hone_find_nonzero(buffer, length) : 0;
	}
	*data = at;
	return rc;
}

/* Set *data to the first byte from `from` on that is not zero, or to the size
 * of the disk. */
static int
find_data_from(struct image_source *source, uint64_t from, uint64_t *data,
	struct image_error *err)
{
	struct image_scratch scratch = {0};
	void *buffer = malloc(STEP);
	uint64_t end = from;
	int rc = buffer ? 0 : image_no_memory(err);

	for (*data = from; rc == 0 && *data == end && end < source->size;) {
		struct image_extent extent;
		rc = source->ops->extent(
			source, end, source->size - end, &extent, err);
		if (rc < 0)
			break;
		end = image_extent_end(&extent);
		rc = find_data(source, &extent, &scratch, buffer, data, err);
	}
	free(buffer);
	image_scratch_destroy(&scratch);
	return rc;
}

int
image_source_cut(
	struct image_source *source, uint64_t size, struct image_error *err)
{
	uint64_t data;

	int rc = find_data_from(source, size, &data, err);
	if (rc < 0)
		return rc;
	if (data < source->size)
		return image_fail(err, source->store->name, -EINVAL,
			"has data at offset %" PRIu64 ", behind the %" PRIu64
			" bytes of the new disk%s",
			data, size,
			source->size - data <= BACKUP_GPT
				? "; if this is the backup GPT, add --move-gpt"
				: "");
	source->cut += source->size - size;
	source->size = size;
	return 0;
}
