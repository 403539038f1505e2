/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the headers of an archive, one after the other, and makes new ones. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "archive/tar.h"

#define MAX_MEMBERS ((uint64_t)1 << 20)

/* PATH_MAX is 4096; a sparse map of version 0.0 has 60 bytes a piece. */
#define MAX_NAME ((uint64_t)1 << 20)
#define MAX_PAX ((uint64_t)8 << 20)

/* 24 MiB of memory. A file system has extents of 4 KiB and more. */
#define MAX_PIECES ((size_t)1 << 20)

/* Bytes of one step over skipped data. */
#define STEP ((size_t)64 << 10)

/* The header of POSIX, and what GNU tar has in place of the prefix. */
struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[100];
	/* and two bytes of the version */
	char magic[8];
	char owner[32];
	char group[32];
	char device[16];
	union {
		char prefix[155];
		struct {
			char times[41];
			char map[4][2][12];
			char is_extended;
			char real_size[12];
		} gnu;
	} u;
	char pad[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is a block");

/* A block with more of the map. */
struct more_map {
	char map[21][2][12];
	char is_extended;
	char pad[7];
};
_Static_assert(sizeof(struct more_map) == TAR_BLOCK, "it is a block");

static const char gnu_magic[8] = "ustar  ";

/* The map of a sparse member, in each of its five forms. */
struct map {
	struct tar_piece *list;
	size_t count;
	uint64_t room;
};

struct number {
	bool set;
	uint64_t value;
};

/* Fields of a member in extended headers of PAX and long names of GNU tar,
 * which precede its header. */
struct extra {
	/* NULL: as in the header */
	char *path;
	/* of a sparse file; its header has another name */
	char *sparse_name;
	struct number size;
	/* any key GNU.sparse was there */
	bool sparse;
	/* of GNU.sparse; 0.0 and 0.1 have their maps here */
	struct number real_size, major, minor, count, offset;
	struct map map;
	/* which of the two came */
	bool pax;
	bool long_name;
};

/*
 * A parser returns NULL, or why it refuses: the text of a message. These are
 * the reasons that do not prove that the archive is damaged.
 */
static const char no_memory[] = "needs more memory than there is";
static const char many_pieces[] = "has more than 1,048,576 pieces";
static const char other_key[] = "has a key GNU.sparse that is not known";
static const char of_star[] = "has a sparse file of star";

static const char no_number[] = "has a value that is not a number";

/* An archive that is not damaged may have what this reader refuses. */
static int
refuse_at(const struct tar *tar, uint64_t offset, const char *what,
	const char *why, struct image_error *err)
{
	return image_fail(err, tar->store->name, -ENOTSUP,
		"has a tar archive that cannot be read: %s at offset %" PRIu64
		" %s",
		what, offset, why);
}

static int
fail_at(const struct tar *tar, uint64_t offset, const char *what,
	const char *why, struct image_error *err)
{
	if (why == no_memory)
		return image_no_memory(err);
	if (why == many_pieces || why == other_key || why == of_star)
		return refuse_at(tar, offset, what, why, err);
	return image_damaged(err, tar->store->name, -EINVAL,
		"has a damaged tar archive: %s at offset %" PRIu64 " %s", what,
		offset, why);
}

static int
fail_short(const struct tar *tar, uint64_t offset, struct image_error *err)
{
	image_fail(err, tar->store->name, -EIO,
		"ends inside the tar archive, before offset %" PRIu64
		": the file is not complete",
		offset);
	/* Before a first header with a right checksum, it may be any file. */
	err->damaged = offset > TAR_BLOCK;
	return -EIO;
}

static int
read_at(struct tar *tar, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	uint64_t reached;

	if (offset > INT64_MAX - length)
		return fail_short(tar, offset, err);
	int rc = image_store_reach(tar->store, offset, length, &reached, err);
	if (rc < 0)
		return rc;
	if (reached < length)
		return fail_short(tar, offset + length, err);
	return image_store_read(tar->store, offset, buf, length, err);
}

/* Read a stream up to an offset, and release it. */
static int
pass(struct tar *tar, uint64_t to, struct image_error *err)
{
	struct image_store *store = tar->store;

	while (store->forward && tar->released < to) {
		uint64_t reached, left = to - tar->released;
		size_t n = left < STEP ? (size_t)left : STEP;
		int rc = image_store_reach(
			store, tar->released, n, &reached, err);
		if (rc < 0)
			return rc;
		if (reached < n)
			return fail_short(tar, to, err);
		image_store_release(store, tar->released, n);
		tar->released += n;
	}
	return 0;
}

/*
 * Parse octal digits between blanks, or the binary form of GNU tar, which has
 * the highest bit set. Nothing at all is 0.
 */
static bool
parse_number(const char *field, size_t size, uint64_t *value)
{
	const unsigned char *p = (const unsigned char *)field;
	const unsigned char *end = p + size;
	bool binary = *p & 0x80;

	*value = 0;
	if (binary && *p++ != 0x80)
		return false;
	while (!binary && p < end && *p == ' ')
		p++;
	for (; p < end && (binary || (*p >= '0' && *p <= '7')); p++) {
		if (*value > (uint64_t)INT64_MAX >> (binary ? 8 : 3))
			return false;
		*value = binary ? *value << 8 | *p : *value << 3 | (*p - '0');
	}
	for (; p < end; p++)
		if (*p && *p != ' ')
			return false;
	return true;
}

/* Add up the bytes, with blanks in place of the sum. Old programs add signed
 * bytes. */
static uint64_t
add_up(const struct header *h, int64_t *old)
{
	const unsigned char *p = (const unsigned char *)h;
	size_t at = offsetof(struct header, checksum);
	uint64_t sum = 0;

	*old = 0;
	for (size_t i = 0; i < TAR_BLOCK; i++) {
		bool inside = i >= at && i < at + sizeof(h->checksum);
		unsigned char c = inside ? ' ' : p[i];
		sum += c;
		*old += (signed char)c;
	}
	return sum;
}

static bool
checksum_holds(const struct header *h)
{
	uint64_t field;
	int64_t old;
	uint64_t sum = add_up(h, &old);

	return parse_number(h->checksum, sizeof(h->checksum), &field) &&
	       field && (field == sum || (int64_t)field == old);
}

bool
tar_has_magic(const unsigned char *head, size_t length)
{
	size_t at = offsetof(struct header, magic);

	return length >= at + 5 && memcmp(head + at, "ustar", 5) == 0;
}

bool
tar_begins(const unsigned char *head, size_t length)
{
	return length >= TAR_BLOCK && tar_has_magic(head, length) &&
	       checksum_holds((const struct header *)(const void *)head);
}

static char *
header_name(const struct header *h)
{
	/* GNU tar has other fields in place of the prefix. */
	bool has_prefix = memcmp(h->magic, "ustar", 6) == 0 && h->u.prefix[0];
	char *name;

	int n = asprintf(&name, "%.*s%s%.*s",
		has_prefix ? (int)sizeof(h->u.prefix) : 0, h->u.prefix,
		has_prefix ? "/" : "", (int)sizeof(h->name), h->name);
	return n < 0 ? NULL : name;
}

/* Move tar->at behind the data that begins there. */
static int
take(struct tar *tar, uint64_t length, const char *what,
	struct image_error *err)
{
	uint64_t whole;

	if (__builtin_add_overflow(length, tar_padding(length), &whole) ||
		__builtin_add_overflow(tar->at, whole, &whole) ||
		whole > INT64_MAX)
		return fail_at(tar, tar->at, what,
			"passes the largest file size", err);
	tar->at = whole;
	return 0;
}

static const char *
add_piece(struct map *map, uint64_t offset, uint64_t length)
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
		return many_pieces;
	if (image_grow(&map->list, &map->room, map->count + 1,
		    sizeof(*map->list), &err) < 0)
		return no_memory;
	map->list[map->count++] =
		(struct tar_piece){.offset = offset, .length = length};
	return NULL;
}

/* Set the places of the pieces, which begin at `from` and have `stored` bytes.
 */
static const char *
finish_map(struct map *map, uint64_t size, uint64_t from, uint64_t stored)
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

static const char *
set_name(char **name, const char *value, size_t length)
{
	if (length == 0 || memchr(value, '\0', length))
		return "has an empty name, or one with a NUL byte";
	if (*name)
		return "has two names";
	*name = strndup(value, length);
	return *name ? NULL : no_memory;
}

static const char *
set_number(struct number *number, const char *value, size_t length)
{
	if (number->set)
		return "has the same number twice";
	number->set = true;
	return tar_decimal(value, length, &number->value) ? NULL : no_number;
}

/* GNU.sparse.map: offsets and lengths by turns, separated by commas. */
static const char *
set_map(struct extra *extra, const char *value, size_t length)
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
			why = add_piece(&extra->map, pair[0], pair[1]);
	}
	return why;
}

/* GNU.sparse.offset is followed by GNU.sparse.numbytes. */
static const char *
set_piece(struct extra *extra, const char *value, size_t length)
{
	uint64_t bytes;

	if (!extra->offset.set)
		return "has a sparse piece without an offset";
	extra->offset.set = false;
	if (!tar_decimal(value, length, &bytes))
		return no_number;
	return add_piece(&extra->map, extra->offset.value, bytes);
}

static const char *
set_sparse(
	struct extra *extra, const char *key, const char *value, size_t length)
{
	struct number *number =
		strcmp(key, "size") == 0 || strcmp(key, "realsize") == 0
			? &extra->real_size
		: strcmp(key, "major") == 0     ? &extra->major
		: strcmp(key, "minor") == 0     ? &extra->minor
		: strcmp(key, "numblocks") == 0 ? &extra->count
		: strcmp(key, "offset") == 0    ? &extra->offset
						: NULL;

	extra->sparse = true;
	/* GNU tar and Python take the last one of a repeated version. */
	if (number == &extra->major || number == &extra->minor)
		number->set = false;
	if (number)
		return set_number(number, value, length);
	if (strcmp(key, "name") == 0)
		return set_name(&extra->sparse_name, value, length);
	if (strcmp(key, "numbytes") == 0)
		return set_piece(extra, value, length);
	if (strcmp(key, "map") == 0)
		return set_map(extra, value, length);
	return other_key;
}

static const char *
set_key(struct extra *extra, const char *key, const char *value, size_t length,
	bool global)
{
	static const char gnu[] = "GNU.sparse.";
	bool is_sparse = strncmp(key, gnu, strlen(gnu)) == 0;
	bool is_path = strcmp(key, "path") == 0;
	bool is_size = strcmp(key, "size") == 0;

	/* star has maps of its own. */
	if (strcmp(key, "SCHILY.realsize") == 0)
		return of_star;
	if (!is_sparse && !is_path && !is_size)
		return NULL;
	if (global)
		return "has a name or a size for all members";
	if (is_sparse)
		return set_sparse(extra, key + strlen(gnu), value, length);
	if (is_path)
		return set_name(&extra->path, value, length);
	return set_number(&extra->size, value, length);
}

/*
 * Parse the records of an extended header. global: the records are those of all
 * members that follow.
 */
static const char *
parse_pax(struct extra *extra, char *text, size_t length, bool global)
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

static int
read_extra(struct tar *tar, const struct header *h, uint64_t size,
	struct extra *extra, struct image_error *err)
{
	bool pax = h->type != 'L' && h->type != 'K';
	bool *seen = pax ? &extra->pax : &extra->long_name;
	uint64_t at = tar->at;
	const char *why = NULL;

	if (size > (pax ? MAX_PAX : MAX_NAME))
		return refuse_at(
			tar, at, "the extended header", "is too long", err);
	if (h->type != 'g' && h->type != 'K') {
		if (*seen)
			return fail_at(tar, at, "the extended header",
				"is the second one of a member", err);
		*seen = true;
	}
	char *text = malloc(size + 1);
	if (!text)
		return image_no_memory(err);
	int rc = read_at(tar, at, text, size, err);
	if (rc == 0 && pax)
		why = parse_pax(extra, text, size, h->type == 'g');
	text[size] = '\0';
	if (rc == 0 && h->type == 'L')
		why = set_name(&extra->path, text, strlen(text));
	free(text);
	if (why)
		rc = fail_at(tar, at, "the extended header", why, err);
	return rc < 0 ? rc : take(tar, size, "the extended header", err);
}

/* Add the pieces of a block. Sets *last to true after an empty one. */
static const char *
add_pieces(struct map *map, const char (*fields)[2][12], size_t n, bool *last)
{
	const char *why = NULL;

	for (size_t i = 0; !why && i < n; i++) {
		uint64_t offset, length;
		*last = !fields[i][1][0];
		if (*last)
			return NULL;
		if (!parse_number(fields[i][0], 12, &offset) ||
			!parse_number(fields[i][1], 12, &length))
			return no_number;
		why = add_piece(map, offset, length);
	}
	return why;
}

/* The map of GNU tar: in the header, and in blocks that follow it. */
static int
read_gnu_map(struct tar *tar, const struct header *h, struct map *map,
	struct image_error *err)
{
	bool last = false, more = h->u.gnu.is_extended;
	const char *why = add_pieces(map, h->u.gnu.map, 4, &last);

	while (!why && more) {
		struct more_map block;
		if (last) {
			why = "goes on after its end";
			break;
		}
		int rc = read_at(tar, tar->at, &block, sizeof(block), err);
		if (rc < 0)
			return rc;
		tar->at += TAR_BLOCK;
		why = add_pieces(map, block.map, 21, &last);
		more = block.is_extended;
	}
	return why ? fail_at(tar, tar->at, "the sparse map", why, err) : 0;
}

/* The text of a map of version 1.0, which precedes the data. */
struct lines {
	struct tar *tar;
	/* the next line, and the end of the data */
	uint64_t at;
	uint64_t end;
	/* what text has */
	uint64_t from;
	size_t filled;
	char text[4096];
};

/* The longest number has 19 digits. */
#define LINE ((uint64_t)24)

static int
read_line(struct lines *lines, uint64_t *value, struct image_error *err)
{
	uint64_t left = lines->end - lines->at;
	size_t passed = (size_t)(lines->at - lines->from);

	if (passed + (left < LINE ? left : LINE) > lines->filled) {
		lines->from = lines->at;
		lines->filled = left < sizeof(lines->text)
					? (size_t)left
					: sizeof(lines->text);
		passed = 0;
		int rc = read_at(lines->tar, lines->from, lines->text,
			lines->filled, err);
		if (rc < 0)
			return rc;
	}
	const char *text = lines->text + passed;
	size_t n = lines->filled - passed;
	const char *line_end = memchr(text, '\n', n < LINE ? n : LINE);
	if (!line_end || !tar_decimal(text, (size_t)(line_end - text), value))
		return fail_at(lines->tar, lines->at, "the sparse map",
			"has a line that is not a number", err);
	lines->at += (uint64_t)(line_end - text) + 1;
	return 0;
}

/* Version 1.0: moves member->from behind the lines. */
static int
read_text_map(struct tar *tar, struct tar_member *member, struct map *map,
	struct image_error *err)
{
	struct lines lines = {.tar = tar,
		.at = member->from,
		.from = member->from,
		.end = member->from + member->stored};
	uint64_t count = 0, offset = 0, length = 0;
	const char *why = NULL;

	int rc = read_line(&lines, &count, err);
	for (; rc == 0 && !why && count; count--) {
		rc = read_line(&lines, &offset, err);
		if (rc == 0)
			rc = read_line(&lines, &length, err);
		if (rc == 0)
			why = add_piece(map, offset, length);
	}
	if (rc < 0)
		return rc;
	length = lines.at - member->from;
	length += tar_padding(length);
	if (!why && length > member->stored)
		why = "is longer than the member";
	member->from += length;
	member->stored -= length;
	return why ? fail_at(tar, lines.at, "the sparse map", why, err) : 0;
}

/* Read the map that the records of PAX announce. */
static int
read_pax_map(struct tar *tar, struct extra *extra, struct tar_member *member,
	struct image_error *err)
{
	struct map *map = &extra->map;
	bool in_data = extra->major.value == 1 && extra->minor.value == 0;
	const char *why = NULL;

	if (!extra->real_size.set)
		why = "has no size of the file";
	else if (!in_data && (extra->major.value || extra->minor.value > 1))
		return refuse_at(tar, member->from, "the sparse map",
			"has a version that is not known", err);
	else if (in_data && map->count)
		why = "is there twice";
	/* An empty piece at the end is not in the map. */
	else if (extra->offset.set ||
		 (!in_data && extra->count.value != map->count &&
			 extra->count.value != map->count + 1))
		why = "has another number of pieces than it says";
	if (why)
		return fail_at(tar, member->from, "the sparse map", why, err);
	member->size = extra->real_size.value;
	return in_data ? read_text_map(tar, member, map, err) : 0;
}

/* Set what a regular file has. tar->at is where its bytes begin. */
static int
set_file(struct tar *tar, const struct header *h, struct extra *extra,
	struct tar_member *member, struct image_error *err)
{
	struct map *map = &extra->map;
	const char *why = NULL;
	int rc = 0;

	member->sparse = extra->sparse || h->type == 'S';
	if (h->type == 'S' &&
		(extra->sparse ||
			memcmp(h->magic, gnu_magic, sizeof(gnu_magic)) != 0))
		why = "is not one of GNU tar";
	else if (h->type == 'S' &&
		 !parse_number(h->u.gnu.real_size, 12, &member->size))
		why = "has a size of the file that is not a number";
	else if (h->type == 'S')
		rc = read_gnu_map(tar, h, map, err);
	member->from = tar->at;
	if (!why && rc == 0)
		rc = take(tar, member->stored, "the member", err);
	if (!why && rc == 0 && extra->sparse)
		rc = read_pax_map(tar, extra, member, err);
	if (!why && rc == 0 && !member->sparse)
		why = add_piece(map, 0, member->stored);
	if (!why && rc == 0)
		why = finish_map(
			map, member->size, member->from, member->stored);
	member->pieces = map->list;
	member->n_pieces = map->count;
	*map = (struct map){0};
	return why ? fail_at(tar, member->from, "the sparse map", why, err)
		   : rc;
}

static int
set_member(struct tar *tar, const struct header *h, struct extra *extra,
	struct tar_member *member, struct image_error *err)
{
	uint64_t size = member->size;
	bool directory = member->name[strlen(member->name) - 1] == '/';

	member->type = h->type;
	if (!h->type || h->type == '7' || h->type == 'S')
		member->type = TAR_REGULAR;
	/* A directory of the 7th edition. */
	if (member->type == TAR_REGULAR && directory)
		member->type = '5';
	if (extra->size.set)
		size = extra->size.value;
	member->size = member->stored = size;
	if (member->type == TAR_REGULAR)
		return set_file(tar, h, extra, member, err);
	member->from = tar->at;
	if (extra->sparse)
		return fail_at(tar, tar->at, "the sparse map",
			"is not that of a file", err);
	/* Some programs skip the bytes of these, and others do not. */
	if (member->type >= '1' && member->type <= '6' && size)
		return fail_at(tar, tar->at, "a member that is not a file",
			"has bytes", err);
	if (member->type == 'M' || member->type == 'N')
		return refuse_at(tar, tar->at, "a member",
			"goes on from another archive, or has an old form of "
			"long names",
			err);
	return take(tar, size, "the member", err);
}

static int
finish_member(struct tar *tar, const struct header *h, struct extra *extra,
	struct tar_member *member, struct image_error *err)
{
	char **name = extra->sparse_name ? &extra->sparse_name : &extra->path;

	if (++tar->n_members > MAX_MEMBERS)
		return refuse_at(tar, tar->at, "the header",
			"is that of more than 1,048,576 members", err);
	member->name = *name ? *name : header_name(h);
	*name = NULL;
	if (!member->name)
		return image_no_memory(err);
	if (!*member->name)
		return fail_at(tar, tar->at, "the header", "has no name", err);
	int rc = set_member(tar, h, extra, member, err);
	return rc < 0 ? rc : pass(tar, member->from, err);
}

/* The end is two blocks of zeros, and what programs pad with zeros. */
static int
check_end(struct tar *tar, struct image_error *err)
{
	struct image_store *store = tar->store;
	unsigned char *buf = malloc(STEP);
	uint64_t reached = 1;

	if (!buf)
		return image_no_memory(err);
	int rc = read_at(tar, tar->at, buf, 2 * TAR_BLOCK, err);
	for (uint64_t at = tar->at; rc == 0 && reached; at += reached) {
		bool hole = false;
		if (!store->forward && at < store->size)
			rc = image_store_extent(store, at, store->size - at,
				&reached, &hole, err);
		if (rc < 0 || hole)
			continue;
		rc = image_store_reach(store, at, STEP, &reached, err);
		if (rc == 0)
			rc = image_store_read(
				store, at, buf, (size_t)reached, err);
		if (rc == 0 && !hone_buffer_is_zero(buf, (size_t)reached))
			rc = fail_at(tar, at, "what follows its end",
				"is not zero", err);
		if (rc == 0)
			image_store_release(store, at, reached);
	}
	free(buf);
	return rc;
}

static int
not_an_archive(const struct tar *tar, const char *why, struct image_error *err)
{
	return image_fail(err, tar->store->name, -EINVAL,
		"is not a tar archive: the header at offset 0 %s; %s reads it "
		"as it is",
		why,
		tar->named ? "a command without --member" : "--unpack none");
}

/* Read a header and check it. Sets *end to true at the end of the archive. */
static int
read_header(struct tar *tar, struct header *h, uint64_t *size, bool *end,
	struct image_error *err)
{
	*end = false;
	int rc = read_at(tar, tar->at, h, sizeof(*h), err);
	if (rc < 0)
		return rc;
	if (hone_buffer_is_zero(h, sizeof(*h))) {
		*end = true;
		rc = check_end(tar, err);
		return rc < 0 && err->damaged && tar->at == 0
			       ? not_an_archive(tar, "is empty", err)
			       : rc;
	}
	if (!checksum_holds(h) && tar->at == 0)
		return not_an_archive(tar, "has a wrong checksum", err);
	if (!checksum_holds(h))
		return fail_at(tar, tar->at, "the header",
			"has a wrong checksum", err);
	if (!parse_number(h->size, sizeof(h->size), size))
		return fail_at(tar, tar->at, "the header",
			"has a size that is not a number from 0 to 2^63-1",
			err);
	tar->at += TAR_BLOCK;
	return 0;
}

int
tar_next(struct tar *tar, struct tar_member *member, struct image_error *err)
{
	struct extra extra = {0};
	struct header h = {.type = 0};
	bool end = false;

	*member = (struct tar_member){0};
	int rc = pass(tar, tar->at, err);
	while (rc == 0) {
		rc = read_header(tar, &h, &member->size, &end, err);
		if (rc < 0 || end || !h.type || !strchr("xXgLK", h.type))
			break;
		rc = read_extra(tar, &h, member->size, &extra, err);
	}
	if (rc == 0 && end && (extra.pax || extra.long_name))
		rc = fail_at(tar, tar->at, "the extended header",
			"is followed by no member", err);
	else if (rc == 0 && !end)
		rc = finish_member(tar, &h, &extra, member, err);
	free(extra.path);
	free(extra.sparse_name);
	free(extra.map.list);
	return rc;
}

void
tar_free(struct tar_member *member)
{
	free(member->name);
	free(member->pieces);
	*member = (struct tar_member){0};
}

const char *
tar_type_text(char type)
{
	static const char *const texts[] = {"a file", "a hard link",
		"a symbolic link", "a character device", "a block device",
		"a directory", "a FIFO"};

	return type >= '0' && type <= '6' ? texts[type - '0'] : "not a file";
}

void
tar_put_number(unsigned char *to, uint64_t n)
{
	char text[32];

	if (n < UINT64_C(1) << 33) {
		snprintf(text, sizeof(text), "%011" PRIo64, n);
		memcpy(to, text, TAR_NUMBER);
		return;
	}
	memset(to, 0, TAR_NUMBER);
	to[0] = 0x80;
	for (int i = TAR_NUMBER - 1; n; i--, n >>= 8)
		to[i] = (unsigned char)n;
}

void
tar_put_sum(unsigned char *block)
{
	struct header *h = (struct header *)(void *)block;
	int64_t old;

	snprintf(h->checksum, sizeof(h->checksum), "%06o",
		(unsigned)add_up(h, &old));
	h->checksum[7] = ' ';
}

void
tar_put(unsigned char *block, const struct tar_entry *entry)
{
	struct header *h = (struct header *)(void *)block;

	memcpy(h->name, entry->name, strlen(entry->name));
	snprintf(h->mode, sizeof(h->mode), "%07o", entry->mode);
	snprintf(h->uid, sizeof(h->uid), "%07o", entry->owner);
	snprintf(h->gid, sizeof(h->gid), "%07o", entry->owner);
	tar_put_number((unsigned char *)h->size, entry->size);
	tar_put_number((unsigned char *)h->mtime, 0);
	h->type = entry->type;
	memcpy(h->magic, gnu_magic, sizeof(gnu_magic));
	tar_put_sum(block);
}
