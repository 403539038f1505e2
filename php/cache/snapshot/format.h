/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_SNAPSHOT_FORMAT_H
#define PHP_HONE_SNAPSHOT_FORMAT_H
/*
 * The format of a snapshot file, independent of PHP: docs/design/cache.md,
 * "Snapshots". Numbers have the byte order of the machine.
 *
 *	head | layout, uint32_t each | record, key, tags, data | record, ...
 *
 * Tags are stored as a uint16_t with the length of each, then the names. Zeros
 * pad the layout, and each record with its key and tags, to a multiple of 8
 * bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHP_HONE_SNAPSHOT_MAGIC "honesnap"
/* Incremented with each change of the file format or of the data. */
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
	uint64_t body_sum; /* of the bytes after the head */
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

/* A number of this PHP on which the data depends. */
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
	/* returns false, with a phrase, if the value of an entry is invalid */
	bool (*check)(const struct php_hone_snapshot_entry *entry,
		const char **phrase);

	/* set by php_hone_snapshot_parse() */
	struct php_hone_snapshot_head head;
	size_t first;      /* offset of the first record */
	char problem[160]; /* the field and its value */
};

/*
 * Check the whole file. On failure, returns false and sets `problem`. Reads
 * only `bytes`, in time proportional to `size`.
 */
bool php_hone_snapshot_parse(struct php_hone_snapshot *snapshot);

/* The entry at an offset of a checked file. *at becomes the offset of the next
 * entry. */
void php_hone_snapshot_entry_at(const struct php_hone_snapshot *snapshot,
	size_t *at, struct php_hone_snapshot_entry *entry);

/* ---- file.c ---- */

/* A file that gets its name when the file is complete. */
struct php_hone_output {
	/* called for all written bytes */
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
 * Returns 0 or a negative errno: -EINVAL if the path does not end with a name,
 * -EEXIST if the name exists and is not a regular file. After a failure of
 * open(), and after discard() and finish(), the output holds no resources.
 */
int php_hone_output_open(
	struct php_hone_output *output, const char *path, size_t head);
int php_hone_output_write(
	struct php_hone_output *output, const void *bytes, size_t size);
void php_hone_output_discard(struct php_hone_output *output);
/* Write the head, for which open() left room, sync the file to disk and rename
 * it. */
int php_hone_output_finish(
	struct php_hone_output *output, const void *head, size_t size);

/*
 * Read a file of at most `limit` bytes. The caller calls free() for *bytes.
 * Returns false with a problem if the owner of the file is neither root nor the
 * user of this process, if others may write to the file, or if the file cannot
 * be read. *error is a negative errno, or 0.
 */
bool php_hone_snapshot_read(const char *path, size_t limit, void **bytes,
	size_t *size, int *error, char *problem, size_t room);

#endif
