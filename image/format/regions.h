/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_FORMAT_REGIONS_H
#define HONE_IMAGE_FORMAT_REGIONS_H
/* The data of a disk in whole sectors. */
#include "format/format.h"

/*
 * Set [*begin, *end) to the first range of sectors with data in [from, to), two
 * multiples of IMAGE_SECTOR; a sector that is not wholly in a hole has data.
 * *begin is `to` if there is none. The ranges of a part of the disk are those
 * of the whole disk, cut. What lies behind the disk is a hole.
 */
int image_region(struct image_source *source, uint64_t from, uint64_t to,
	uint64_t *begin, uint64_t *end, struct image_error *err);

#endif
