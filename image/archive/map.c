/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include "archive/map.h"

/* 24 MiB of memory. A file system has extents of 4 KiB and more. */
#define MAX_PIECES ((size_t)1 << 20)

const char tar_no_memory[] = "needs more memory than there is";
const char tar_many_pieces[] = "has more than 1,048,576 pieces";

const char *
tar_map_add(struct tar_map *map, uint64_t offset, uint64_t length)
{
	const struct tar_piece *last =
		map->count ? &map->list[map->count - 1] : NULL;
	uint64_t end;

	if (__builtin_add_overflow(offset, length, &end) || end > INT64_MAX)
		return "passes the largest file size";
	/* GNU tar ends a map by an empty piece. */
	if (length == 0)
		return NULL;
	if (last && offset < last->offset + last->length)
		return "has pieces that overlap or are not in order";
	/* GNU tar pads each piece to a block, and others do not. */
	if (last && last->length % TAR_BLOCK)
		return "has a piece, not the last one, that is not a multiple "
		       "of 512 bytes";
	if (map->count == MAX_PIECES)
		return tar_many_pieces;
	if (!map->list || map->count == map->room) {
		size_t room = map->room ? 2 * map->room : 16;
		struct tar_piece *list =
			realloc(map->list, room * sizeof(*list));
		if (!list)
			return tar_no_memory;
		map->list = list;
		map->room = room;
	}
	map->list[map->count++] =
		(struct tar_piece){.offset = offset, .length = length};
	return NULL;
}

const char *
tar_map_finish(
	struct tar_map *map, uint64_t size, uint64_t from, uint64_t stored)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < map->count; i++) {
		struct tar_piece *piece = &map->list[i];
		/* Neither sum overflows: the pieces are in order. */
		if (piece->offset + piece->length > size)
			return "passes the end of the member";
		piece->from = from + sum;
		sum += piece->length;
	}
	return sum == stored ? NULL
			     : "has another number of bytes than the archive";
}
