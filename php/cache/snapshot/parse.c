/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks whether bytes are a snapshot, but for its values. */
#include "format.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_MOST 65535
#define USED_MOST 3

#define FAIL(snapshot, ...)                                                    \
	(snprintf((snapshot)->problem, PHP_HONE_PROBLEM, __VA_ARGS__), false)

static bool
expect(struct php_hone_snapshot *snapshot, const char *name, uint64_t is,
	uint64_t must)
{
	return is == must || FAIL(snapshot, "%s is %" PRIu64 ", not %" PRIu64,
				     name, is, must);
}

static bool
parse_head(struct php_hone_snapshot *snapshot)
{
	struct php_hone_snapshot_head *head = &snapshot->head;

	if (snapshot->size < sizeof *head)
		return FAIL(snapshot, "size is %zu bytes, less than a head",
			snapshot->size);
	memcpy(head, snapshot->bytes, sizeof *head);
	php_hone_snapshot_order_head(head);
	if (memcmp(head->magic, PHP_HONE_SNAPSHOT_MAGIC, sizeof head->magic) !=
		0)
		return FAIL(snapshot,
			"magic is %02x%02x%02x%02x..., this is not a snapshot",
			snapshot->bytes[0], snapshot->bytes[1],
			snapshot->bytes[2], snapshot->bytes[3]);
	return expect(snapshot, "format", head->format,
		       PHP_HONE_SNAPSHOT_FORMAT) &&
	       expect(snapshot, "checksum of the head", head->head_sum,
		       php_hone_sum_of(snapshot->bytes,
			       offsetof(struct php_hone_snapshot_head,
				       head_sum))) &&
	       expect(snapshot, "size", snapshot->size, head->size) &&
	       expect(snapshot, "checksum", head->body_sum,
		       php_hone_sum_of(snapshot->bytes + sizeof *head,
			       snapshot->size - sizeof *head)) &&
	       expect(snapshot, "zero", head->zero, 0);
}

/* Find the parts of an entry. Returns the offset after the entry, or 0 if the
 * entry exceeds the file. */
static size_t
locate(const struct php_hone_snapshot *snapshot, size_t at,
	struct php_hone_snapshot_entry *entry)
{
	const struct php_hone_snapshot_record *record = &entry->record;
	const unsigned char *bytes = snapshot->bytes;
	size_t size = snapshot->size;

	/* at <= size, and each term is below 2^32, so no sum below
	 * overflows. */
	if (size - at < sizeof *record)
		return 0;
	memcpy(&entry->record, bytes + at, sizeof *record);
	php_hone_snapshot_order_record(&entry->record);
	at += sizeof *record;
	entry->key = (const char *)bytes + at;
	if (size - at < (size_t)record->key_len + record->n_tags * 2u)
		return 0;
	at += record->key_len;
	entry->tag_lengths = bytes + at;
	at += record->n_tags * 2u;
	entry->tag_names = (const char *)bytes + at;
	for (unsigned i = 0; i < record->n_tags; i++) {
		size_t length = php_hone_snapshot_tag_length(entry, i);
		if (size - at < length)
			return 0;
		at += length;
	}
	entry->value = bytes + at;
	return size - at < record->size ? 0 : at + record->size;
}

static bool
check_record(struct php_hone_snapshot *snapshot,
	const struct php_hone_snapshot_record *record, uint64_t i)
{
	if (record->key_len > KEY_MOST)
		return FAIL(snapshot,
			"entry %" PRIu64 ": key length is %" PRIu32, i,
			record->key_len);
	if (record->used > USED_MOST)
		return FAIL(snapshot, "entry %" PRIu64 ": use is %u", i,
			record->used);
	return record->zero == 0 ||
	       FAIL(snapshot, "entry %" PRIu64 ": zero is %u", i, record->zero);
}

static bool
parse_entries(struct php_hone_snapshot *snapshot)
{
	struct php_hone_snapshot_entry entry;
	size_t at = sizeof snapshot->head;
	uint64_t n = 0;

	/* The loop ends: each iteration takes at least the bytes of a
	 * record. */
	while (at < snapshot->size) {
		size_t next = locate(snapshot, at, &entry);
		if (next == 0)
			return FAIL(snapshot,
				"entry %" PRIu64 ": its size exceeds the file",
				n);
		if (!check_record(snapshot, &entry.record, n))
			return false;
		at = next;
		n++;
	}
	return expect(snapshot, "count of entries", snapshot->head.entries, n);
}

bool
php_hone_snapshot_parse(struct php_hone_snapshot *snapshot)
{
	return parse_head(snapshot) && parse_entries(snapshot);
}

void
php_hone_snapshot_entry_at(const struct php_hone_snapshot *snapshot, size_t *at,
	struct php_hone_snapshot_entry *entry)
{
	*at = locate(snapshot, *at, entry);
}
