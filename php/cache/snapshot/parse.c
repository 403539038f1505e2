/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks whether bytes are a snapshot that this PHP can use. */
#include "format.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_MOST 65535
#define USED_MOST 3

#define FAIL(snapshot, ...)                                                    \
	(snprintf(                                                             \
		 (snapshot)->problem, sizeof(snapshot)->problem, __VA_ARGS__), \
		false)

static bool
expect(struct php_hone_snapshot *snapshot, const char *name, uint64_t is,
	uint64_t must)
{
	return is == must || FAIL(snapshot, "%s is %" PRIu64 ", not %" PRIu64,
				     name, is, must);
}

static bool
is_zero(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != 0)
			return false;
	}
	return true;
}

static bool
parse_head(struct php_hone_snapshot *snapshot)
{
	struct php_hone_snapshot_head *head = &snapshot->head;

	if (snapshot->size < sizeof *head)
		return FAIL(snapshot, "size is %zu bytes, less than a head",
			snapshot->size);
	memcpy(head, snapshot->bytes, sizeof *head);
	if (memcmp(head->magic, PHP_HONE_SNAPSHOT_MAGIC, sizeof head->magic) !=
		0)
		return FAIL(snapshot,
			"magic is %02x%02x%02x%02x..., this is not a snapshot",
			snapshot->bytes[0], snapshot->bytes[1],
			snapshot->bytes[2], snapshot->bytes[3]);
	return expect(snapshot, "byte order", head->order,
		       PHP_HONE_SNAPSHOT_ORDER) &&
	       expect(snapshot, "format", head->format,
		       PHP_HONE_SNAPSHOT_FORMAT) &&
	       expect(snapshot, "checksum of the head", head->head_sum,
		       snapshot->sum(snapshot->bytes,
			       offsetof(struct php_hone_snapshot_head,
				       head_sum))) &&
	       expect(snapshot, "size", snapshot->size, head->size) &&
	       expect(snapshot, "checksum", head->body_sum,
		       snapshot->sum(snapshot->bytes + sizeof *head,
			       snapshot->size - sizeof *head)) &&
	       expect(snapshot, "zero", head->zero, 0);
}

static bool
parse_layout(struct php_hone_snapshot *snapshot)
{
	const unsigned char *at = snapshot->bytes + sizeof snapshot->head;
	size_t size = snapshot->n_layout * sizeof(uint32_t);
	size_t whole = php_hone_snapshot_round(size);
	uint32_t value;

	if (!expect(snapshot, "count of layout numbers",
		    snapshot->head.n_layout, snapshot->n_layout))
		return false;
	if (snapshot->size - sizeof snapshot->head < whole)
		return FAIL(snapshot, "size is %zu bytes, less than the layout",
			snapshot->size);
	for (uint32_t i = 0; i < snapshot->n_layout; i++) {
		memcpy(&value, at + i * sizeof value, sizeof value);
		if (!expect(snapshot, snapshot->layout[i].name, value,
			    snapshot->layout[i].value))
			return false;
	}
	if (!is_zero(at + size, whole - size))
		return FAIL(snapshot, "padding of the layout is not 0");
	snapshot->first = sizeof snapshot->head + whole;
	return true;
}

static size_t
tag_length(const struct php_hone_snapshot_entry *entry, unsigned i)
{
	uint16_t length;

	memcpy(&length, entry->tag_lengths + i * sizeof length, sizeof length);
	return length;
}

/* Find the parts of an entry. Returns the offset after the entry, or 0 if the
 * entry exceeds the file. */
static size_t
locate(const struct php_hone_snapshot *snapshot, size_t at,
	struct php_hone_snapshot_entry *entry, size_t *padding)
{
	const struct php_hone_snapshot_record *record = &entry->record;
	const unsigned char *bytes = snapshot->bytes;
	size_t size = snapshot->size;

	/* at <= size, and each term is below 2^32, so no sum below
	 * overflows. */
	if (size - at < sizeof *record)
		return 0;
	memcpy(&entry->record, bytes + at, sizeof *record);
	at += sizeof *record;
	entry->key = (const char *)bytes + at;
	if (size - at < (size_t)record->key_len + record->n_tags * 2u)
		return 0;
	at += record->key_len;
	entry->tag_lengths = bytes + at;
	at += record->n_tags * 2u;
	entry->tag_names = (const char *)bytes + at;
	for (unsigned i = 0; i < record->n_tags; i++) {
		size_t length = tag_length(entry, i);
		if (size - at < length)
			return 0;
		at += length;
	}
	*padding = php_hone_snapshot_round(at) - at;
	if (size - at < *padding + (size_t)record->data_size)
		return 0;
	at += *padding;
	entry->data = bytes + at;
	return at + record->data_size;
}

static bool
check_entry(struct php_hone_snapshot *snapshot,
	const struct php_hone_snapshot_entry *entry, uint64_t i, size_t padding)
{
	const struct php_hone_snapshot_record *record = &entry->record;
	const char *phrase = "";

	if (record->key_len > KEY_MOST)
		return FAIL(snapshot,
			"entry %" PRIu64 ": key length is %" PRIu32, i,
			record->key_len);
	if (record->data_size % 8 != 0)
		return FAIL(snapshot,
			"entry %" PRIu64 ": data size is %" PRIu32, i,
			record->data_size);
	if (record->used > USED_MOST)
		return FAIL(snapshot, "entry %" PRIu64 ": use is %u", i,
			record->used);
	if (record->zero != 0 || !is_zero(entry->data - padding, padding))
		return FAIL(snapshot, "entry %" PRIu64 ": padding is not 0", i);
	if (!snapshot->check(entry, &phrase))
		return FAIL(snapshot, "entry %" PRIu64 ": %s", i, phrase);
	return true;
}

static bool
parse_entries(struct php_hone_snapshot *snapshot)
{
	struct php_hone_snapshot_entry entry;
	size_t at = snapshot->first, padding = 0;
	uint64_t n = 0;

	/* The loop ends: each iteration takes at least the bytes of a
	 * record. */
	while (at < snapshot->size) {
		size_t next = locate(snapshot, at, &entry, &padding);
		if (next == 0)
			return FAIL(snapshot,
				"entry %" PRIu64 ": its size exceeds the file",
				n);
		if (!check_entry(snapshot, &entry, n, padding))
			return false;
		at = next;
		n++;
	}
	return expect(snapshot, "count of entries", snapshot->head.entries, n);
}

bool
php_hone_snapshot_parse(struct php_hone_snapshot *snapshot)
{
	snapshot->problem[0] = '\0';
	return parse_head(snapshot) && parse_layout(snapshot) &&
	       parse_entries(snapshot);
}

void
php_hone_snapshot_entry_at(const struct php_hone_snapshot *snapshot, size_t *at,
	struct php_hone_snapshot_entry *entry)
{
	size_t padding;

	*at = locate(snapshot, *at, entry, &padding);
}
