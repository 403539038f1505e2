/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include "archive/tar.h"

/* 24 MiB of memory. A file system has extents of 4 KiB and more. */
#define MAX_PIECES ((size_t)1 << 20)

const char tar_no_memory[] = "needs more memory than there is";
const char tar_many_pieces[] = "has more than 1,048,576 pieces";
const char tar_other_key[] = "has a key GNU.sparse that is not known";
const char tar_of_star[] = "has a sparse file of star";

static const char no_number[] = "has a value that is not a number";

void
tar_extra_free(struct tar_extra *extra)
{
	free(extra->path);
	free(extra->sparse_name);
	free(extra->map.list);
	*extra = (struct tar_extra){0};
}

bool
tar_decimal(const char *text, size_t length, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < length; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';
		if (digit > 9 || __builtin_mul_overflow(*value, 10, value) ||
			__builtin_add_overflow(*value, digit, value))
			return false;
	}
	return length && *value <= INT64_MAX;
}

const char *
tar_set_name(char **name, const char *value, size_t length)
{
	if (length == 0 || memchr(value, '\0', length))
		return "has an empty name, or one with a NUL byte";
	if (*name)
		return "has two names";
	*name = strndup(value, length);
	return *name ? NULL : tar_no_memory;
}

static const char *
set_number(bool *has, uint64_t *number, const char *value, size_t length)
{
	if (*has)
		return "has the same number twice";
	*has = true;
	return tar_decimal(value, length, number) ? NULL : no_number;
}

/* GNU.sparse.map: offsets and lengths by turns, separated by commas. */
static const char *
set_map(struct tar_extra *extra, const char *value, size_t length)
{
	const char *why = NULL;
	uint64_t pair[2];

	if (extra->map.count)
		return "has two sparse maps";
	for (int i = 0; !why && (length || i % 2); i++) {
		const char *comma = memchr(value, ',', length);
		size_t n = comma ? (size_t)(comma - value) : length;
		if (!tar_decimal(value, n, &pair[i % 2]))
			return no_number;
		n += comma != NULL;
		value += n;
		length -= n;
		if (i % 2)
			why = tar_map_add(&extra->map, pair[0], pair[1]);
	}
	return why;
}

/* GNU.sparse.offset is followed by GNU.sparse.numbytes. */
static const char *
set_piece(struct tar_extra *extra, const char *value, size_t length)
{
	uint64_t bytes;

	if (!extra->has_offset)
		return "has a sparse piece without an offset";
	extra->has_offset = false;
	if (!tar_decimal(value, length, &bytes))
		return no_number;
	return tar_map_add(&extra->map, extra->offset, bytes);
}

static const char *
set_sparse(struct tar_extra *extra, const char *key, const char *value,
	size_t length)
{
	bool unset = false;

	extra->sparse = true;
	if (strcmp(key, "name") == 0)
		return tar_set_name(&extra->sparse_name, value, length);
	if (strcmp(key, "size") == 0 || strcmp(key, "realsize") == 0)
		return set_number(&extra->has_real_size, &extra->real_size,
			value, length);
	if (strcmp(key, "major") == 0)
		return set_number(&unset, &extra->major, value, length);
	if (strcmp(key, "minor") == 0)
		return set_number(&unset, &extra->minor, value, length);
	if (strcmp(key, "numblocks") == 0)
		return set_number(
			&extra->has_count, &extra->count, value, length);
	if (strcmp(key, "offset") == 0)
		return set_number(
			&extra->has_offset, &extra->offset, value, length);
	if (strcmp(key, "numbytes") == 0)
		return set_piece(extra, value, length);
	if (strcmp(key, "map") == 0)
		return set_map(extra, value, length);
	return tar_other_key;
}

static const char *
set_key(struct tar_extra *extra, const char *key, const char *value,
	size_t length, bool global)
{
	static const char gnu[] = "GNU.sparse.";
	bool is_sparse = strncmp(key, gnu, strlen(gnu)) == 0;
	bool is_path = strcmp(key, "path") == 0;
	bool is_size = strcmp(key, "size") == 0;

	/* star has maps of its own. */
	if (strcmp(key, "SCHILY.realsize") == 0)
		return tar_of_star;
	if (!is_sparse && !is_path && !is_size)
		return NULL;
	if (global)
		return "has a name or a size for all members";
	if (is_sparse)
		return set_sparse(extra, key + strlen(gnu), value, length);
	if (is_path)
		return tar_set_name(&extra->path, value, length);
	return set_number(&extra->has_size, &extra->size, value, length);
}

const char *
tar_pax_parse(struct tar_extra *extra, char *text, size_t length, bool global)
{
	while (length) {
		uint64_t record;
		char *space = memchr(text, ' ', length);
		size_t digits = (size_t)((space ? space : text) - text);
		if (!space || !tar_decimal(text, digits, &record) ||
			record > length || record < digits + 3 ||
			text[record - 1] != '\n')
			return "has a record whose length is wrong";
		char *key = space + 1, *end = text + record - 1;
		char *equals = memchr(key, '=', (size_t)(end - key));
		if (!equals || memchr(key, '\0', (size_t)(equals - key)))
			return "has a record without a key";
		*equals = '\0';
		const char *why = set_key(extra, key, equals + 1,
			(size_t)(end - equals - 1), global);
		if (why)
			return why;
		text += record;
		length -= (size_t)record;
	}
	return NULL;
}

const char *
tar_map_add(struct tar_map *map, uint64_t offset, uint64_t length)
{
	const struct tar_piece *last =
		map->count ? &map->list[map->count - 1] : NULL;
	struct image_error err;
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
	if (image_grow(&map->list, &map->room, map->count + 1,
		    sizeof(*map->list), &err) < 0)
		return tar_no_memory;
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
