/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_SNAPSHOT_FORMAT_H
#define PHP_HONE_SNAPSHOT_FORMAT_H
/*
 * The file of a snapshot, without anything of PHP: docs/design/cache.md,
 * "Snapshots". Numbers have the byte order of the machine.
 *
 *	head | layout, uint32_t each | record, key, tags, data | record, ...
 *
 * Tags are a uint16_t with the length of each, then their names. Zeros fill up
 * the layout, and a record with its key and tags, to a multiple of 8 bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHP_HONE_SNAPSHOT_MAGIC "honesnap"
/* Counts up with each change of the file or of the data. */
#define PHP_HONE_SNAPSHOT_FORMAT 1
#define PHP_HONE_SNAPSHOT_ORDER 0x01020304
/* The address that the pointers of all values assume. */
#define PHP_HONE_SNAPSHOT_BASE 64

struct php_hone_snapshot_head {
	char magic[8];
	uint32_t format;
	uint32_t order; /* PHP_HONE_SNAPSHOT_ORDER */
	uint64_t size;  /* of the file */
	uint64_t entries;
	int64_t saved; /* seconds since 1970 */
	uint32_t n_layout;
	uint32_t zero;
	uint64_t body_sum; /* of what follows the head */
	uint64_t head_sum; /* of the members above */
};

struct php_hone_snapshot_record {
	uint64_t value; /* the root, of a value without data */
	uint32_t type;
	uint32_t key_len;
	uint32_t data_size;
	uint32_t left; /* seconds to live when it was saved; 0: no expiry */
	uint32_t hits;
	uint8_t flags;
	uint8_t used;
	uint8_t n_tags;
	uint8_t zero;
};

_Static_assert(sizeof(struct php_hone_snapshot_head) == 64, "no holes");
_Static_assert(sizeof(struct php_hone_snapshot_record) == 32, "no holes");

static inline size_t
php_hone_snapshot_round(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* A number on which the data depends. */
struct php_hone_layout {
	const char *name;
	uint32_t value;
};

/* An entry in the bytes of a snapshot. */
struct php_hone_snapshot_entry {
	struct php_hone_snapshot_record record;
	const char *key;
	const unsigned char *tag_lengths; /* uint16_t each, not aligned */
	const char *tag_names;
	const unsigned char *data; /* aligned to 8 bytes */
};

struct php_hone_snapshot {
	/* set by the user; `bytes` is aligned to 8 bytes */
	const unsigned char *bytes;
	size_t size;
	const struct php_hone_layout *layout;
	uint32_t n_layout;
	uint64_t (*sum)(const void *bytes, size_t size);
	/* false, with a phrase, if the value of an entry is not good */
	bool (*check)(const struct php_hone_snapshot_entry *entry,
		const char **phrase);

	/* set by php_hone_snapshot_parse() */
	struct php_hone_snapshot_head head;
	size_t first;      /* offset of the first record */
	char problem[160]; /* the field and its value */
};

/*
 * Check the whole file. Returns false with `problem` set. Reads only these
 * bytes, in time proportional to their number.
 */
bool php_hone_snapshot_parse(struct php_hone_snapshot *snapshot);

/* The entry at an offset, of a file that was checked; *at becomes the next. */
void php_hone_snapshot_entry_at(const struct php_hone_snapshot *snapshot,
	size_t *at, struct php_hone_snapshot_entry *entry);

/* ---- file.c ---- */

/* A file that appears under its name when it is complete. */
struct php_hone_output {
	/* called for all bytes that are written */
	void (*add)(void *opaque, const void *bytes, size_t size);
	void *opaque;

	/* private */
	int dir, fd;
	const char *name;
	char temporary[256];
	unsigned char *buffer;
	size_t used;
	uint64_t size; /* bytes written; readable by the user */
};

/*
 * 0 or a negative errno: -EINVAL if the path has no name at its end, -EEXIST if
 * something that is not a regular file has this name. After a failure, and
 * after discard() and finish(), nothing is left to be closed.
 */
int php_hone_output_open(
	struct php_hone_output *output, const char *path, size_t head);
int php_hone_output_write(
	struct php_hone_output *output, const void *bytes, size_t size);
void php_hone_output_discard(struct php_hone_output *output);
/* Write the first bytes, for which open() left room, and make it durable. */
int php_hone_output_finish(
	struct php_hone_output *output, const void *head, size_t size);

/*
 * Read a file of at most `limit` bytes, to be freed by free(). Returns false
 * with a problem if it belongs to others than root and this process, if others
 * may write to it, or if it cannot be read. *error is the negative errno, or 0.
 */
bool php_hone_snapshot_read(const char *path, size_t limit, void **bytes,
	size_t *size, int *error, char *problem, size_t room);

#endif
