/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_TAR_MAP_H
#define HONE_IMAGE_TAR_MAP_H
/* The map of a sparse member, in each of its five forms. */
#include "archive/tar.h"

struct tar_map {
	struct tar_piece *list;
	size_t count;
	size_t room;
};

/* Reasons to refuse a header that does not prove that the archive is damaged.
 */
extern const char tar_no_memory[];
extern const char tar_many_pieces[];
extern const char tar_other_key[];
extern const char tar_of_star[];

/* Why a map is refused: text for the message; NULL: it is not. */
const char *tar_map_add(struct tar_map *map, uint64_t offset, uint64_t length);

/*
 * Set the places of the pieces, which begin at `from`. Returns as tar_map_add()
 * does, for a map of other than `stored` bytes or past size, too.
 */
const char *tar_map_finish(
	struct tar_map *map, uint64_t size, uint64_t from, uint64_t stored);

#endif
