/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the header of a dynamic VHD, and checks every field once. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "format/vhd/vhd.h"

static int
parse_table(const unsigned char *raw, uint64_t size, const char *name,
	struct vhd_header *h, struct image_error *err)
{
	h->table_offset = image_be64(raw + 16);
	h->table_entries = image_be32(raw + 28);
	h->block_size = image_be32(raw + 32);
	if (h->block_size < VHD_SECTOR || (h->block_size & (h->block_size - 1)))
		return image_damaged(err, name, -EINVAL,
			"block size %" PRIu32
			" is not a power of two from 512 on",
			h->block_size);
	uint64_t needed = size / h->block_size + (size % h->block_size != 0);
	if (h->table_entries < needed)
		return image_damaged(err, name, -EINVAL,
			"max table entries %" PRIu32 " is less than the "
			"%" PRIu64 " %s that a disk of %" PRIu64 " %s needs",
			h->table_entries, needed,
			image_plural(needed, "entry", "entries"), size,
			image_plural(size, "byte", "bytes"));
	if (needed > VHD_MAX_TABLE / 4)
		return image_damaged(err, name, -EINVAL,
			"a disk of %" PRIu64 " bytes in blocks of %" PRIu32
			" needs a table of more than 32 MiB",
			size, h->block_size);
	return 0;
}

int
vhd_parse_header(const unsigned char *raw, uint64_t size, const char *name,
	struct vhd_header *h, struct image_error *err)
{
	uint32_t sum = vhd_checksum(raw, VHD_HEADER, 36);
	uint32_t version = image_be32(raw + 24);

	if (memcmp(raw, "cxsparse", 8) != 0)
		return image_damaged(err, name, -EINVAL,
			"header of the dynamic disk does not begin with "
			"'cxsparse'");
	if (image_be32(raw + 36) != sum)
		return image_damaged(err, name, -EINVAL,
			"header of the dynamic disk: checksum 0x%08" PRIx32
			" is not 0x%08" PRIx32 ", the checksum of its bytes",
			image_be32(raw + 36), sum);
	if (version >> 16 != 1)
		return image_fail(err, name, -EINVAL,
			"header version 0x%08" PRIx32 " is not 1.x", version);
	return parse_table(raw, size, name, h, err);
}
