/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_TAR_PAX_H
#define HONE_IMAGE_TAR_PAX_H
/* Extended headers of PAX and long names of GNU tar, which precede a header. */
#include "archive/tar.h"

/* The map of a sparse member, in each of its five forms. */
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

/* Fields of a member that its header does not have. */
struct tar_extra {
	/* NULL: as in the header */
	char *path;
	/* of a sparse file; its header has another name */
	char *sparse_name;
	bool has_size;
	uint64_t size;
	/* any key GNU.sparse was there */
	bool sparse;
	bool has_real_size;
	uint64_t real_size;
	/* of GNU.sparse; 0.0 and 0.1 have their maps here */
	uint64_t major;
	uint64_t minor;
	bool has_count;
	uint64_t count;
	bool has_offset;
	uint64_t offset;
	struct tar_map map;
	/* which of the two came */
	bool pax;
	bool long_name;
};

void tar_extra_free(struct tar_extra *extra);

/*
 * Parse the records of an extended header. global: the records are those of all
 * members that follow. Returns NULL, or why the header is refused.
 */
const char *tar_pax_parse(
	struct tar_extra *extra, char *text, size_t length, bool global);

/* Set a name that is not set yet: not empty, without NUL. Returns NULL, or why
 * the header is refused. */
const char *tar_set_name(char **name, const char *value, size_t length);

/* Parse decimal digits, all of the text. */
bool tar_decimal(const char *text, size_t length, uint64_t *value);

#endif
