/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_SNAPSHOT_FORMAT_H
#define PHP_HONE_SNAPSHOT_FORMAT_H
/*
 * The format of a snapshot file, independent of PHP and of the machine. Numbers
 * have their lowest byte first, nothing is aligned, and a value has the cold
 * form of php/cache/values/cold.h. Tags are the length of each as a uint16_t,
 * then the names.
 *
 *	head | record, key, tags, value | record, ...
 */
#include <endian.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PHP_HONE_SNAPSHOT_MAGIC "honesnap"
/* Incremented with each change of the file format or of the cold form, but not
 * for a new tag: a load that does not know the tag leaves these values out. */
#define PHP_HONE_SNAPSHOT_FORMAT 2

struct php_hone_snapshot_head {
	char magic[8];
	uint32_t format;
	uint32_t zero;
	uint64_t size; /* of the file */
	uint64_t entries;
	int64_t saved;     /* seconds since 1970 */
	uint64_t body_sum; /* of the bytes after the head */
	uint64_t head_sum; /* of the members above */
};

struct php_hone_snapshot_record {
	uint32_t key_len;
	uint32_t size; /* of the value */
	uint32_t left; /* seconds to live when it was saved; 0: no expiry */
	uint32_t hits;
	uint8_t flags;
	uint8_t used;
	uint8_t n_tags;
	uint8_t zero;
};

_Static_assert(sizeof(struct php_hone_snapshot_head) == 56, "no holes");
_Static_assert(sizeof(struct php_hone_snapshot_record) == 20, "no holes");

/* From the byte order of the machine to that of the file, and back. */
static inline void
php_hone_snapshot_order_head(struct php_hone_snapshot_head *head)
{
	head->format = htole32(head->format);
	head->zero = htole32(head->zero);
	head->size = htole64(head->size);
	head->entries = htole64(head->entries);
	head->saved = (int64_t)htole64((uint64_t)head->saved);
	head->body_sum = htole64(head->body_sum);
	head->head_sum = htole64(head->head_sum);
}

static inline void
php_hone_snapshot_order_record(struct php_hone_snapshot_record *record)
{
	record->key_len = htole32(record->key_len);
	record->size = htole32(record->size);
	record->left = htole32(record->left);
	record->hits = htole32(record->hits);
}

/* An entry in the bytes of a snapshot. */
struct php_hone_snapshot_entry {
	struct php_hone_snapshot_record record;
	const char *key;
	const unsigned char *tag_lengths; /* uint16_t each, not aligned */
	const char *tag_names;
	const unsigned char *value;
};

static inline size_t
php_hone_snapshot_tag_length(
	const struct php_hone_snapshot_entry *entry, unsigned i)
{
	const unsigned char *bytes = entry->tag_lengths + 2 * i;

	return bytes[0] | (size_t)bytes[1] << 8;
}

/* Bytes of a problem: the field and its value, or a reason. */
#define PHP_HONE_PROBLEM 256

struct php_hone_snapshot {
	/* set by the user */
	const unsigned char *bytes;
	size_t size;
	char *problem; /* PHP_HONE_PROBLEM bytes */

	/* set by php_hone_snapshot_parse() */
	struct php_hone_snapshot_head head;
};

/* XXH64 with seed 0, https://xxhash.com: sum.c. */
uint64_t php_hone_sum_of(const void *bytes, size_t size);

/*
 * Check the whole file, but for the values. On failure, returns false and sets
 * `problem`. Reads only `bytes`, in time proportional to `size`.
 */
bool php_hone_snapshot_parse(struct php_hone_snapshot *snapshot);

/* The entry at an offset of a checked file, after the head for the first one.
 * *at becomes the offset of the next entry. */
void php_hone_snapshot_entry_at(const struct php_hone_snapshot *snapshot,
	size_t *at, struct php_hone_snapshot_entry *entry);

/* ---- file.c ---- */

/* A file that gets its name when the file is complete. Its folder is looked up
 * once: a symbolic link in the path may change during a save. */
struct php_hone_output {
	FILE *file;
	int folder;
	/* names in the folder */
	const char *name;
	char temporary[NAME_MAX + 1];
	char *buffer;
	uint64_t size; /* bytes written; readable by the user */
};

/*
 * The path is absolute, and is valid until the end of the output. Returns 0 or
 * a negative errno: -EINVAL if the path does not end with a name, -EEXIST if
 * the name exists and is not a regular file. After a failure of open(), and
 * after discard() and finish(), the output holds no resources.
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
 * Read a file of at most `limit` bytes, for which the caller calls free().
 * Returns 0, or a negative errno with a problem: -EPERM if the owner of the
 * file is neither root nor the user of this process, or if others may write to
 * it.
 */
struct hone_file_data;
int php_hone_snapshot_read(const char *path, size_t limit,
	struct hone_file_data *data, char *problem);

#endif
