/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the file of a snapshot, as they are, and with checksums, size
 * and layout that are right, so that the entries are reached. What is accepted
 * is visited again as a load does.
 */
#include <stdlib.h>
#include <string.h>
#include "format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct php_hone_layout layout[] = {
	{"first", 1}, {"second", 2}, {"third", 3}};

#define N_LAYOUT ((uint32_t)(sizeof layout / sizeof *layout))
#define FIRST                                                                  \
	(sizeof(struct php_hone_snapshot_head) +                               \
		(N_LAYOUT * sizeof(uint32_t) + 7) / 8 * 8)

static volatile unsigned char sink;

static void
read_all(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sink = ((const unsigned char *)bytes)[i];
}

static uint64_t
sum(const void *bytes, size_t size)
{
	read_all(bytes, size);
	return size;
}

static size_t
tags_size(const struct php_hone_snapshot_entry *entry)
{
	size_t all = 0;
	uint16_t length;

	for (unsigned i = 0; i < entry->record.n_tags; i++) {
		memcpy(&length, entry->tag_lengths + i * 2, sizeof length);
		all += length;
	}
	return all;
}

static bool
check(const struct php_hone_snapshot_entry *entry, const char **phrase)
{
	if ((uintptr_t)entry->data % 8 != 0)
		abort();
	read_all(entry->key, entry->record.key_len);
	read_all(entry->tag_names, tags_size(entry));
	read_all(entry->data, entry->record.data_size);
	*phrase = "value";
	return entry->record.type != 99;
}

/* Exactly these bytes, so that AddressSanitizer sees what lies after them. */
static void
parse(const uint8_t *data, size_t size)
{
	struct php_hone_snapshot snapshot = {
		.size = size,
		.layout = layout,
		.n_layout = N_LAYOUT,
		.sum = sum,
		.check = check,
	};
	struct php_hone_snapshot_entry entry;
	unsigned char *bytes = malloc(size != 0 ? size : 1);
	const char *phrase;

	memcpy(bytes, data, size);
	snapshot.bytes = bytes;
	if (php_hone_snapshot_parse(&snapshot)) {
		size_t at = snapshot.first;
		for (uint64_t i = 0; i < snapshot.head.entries; i++) {
			php_hone_snapshot_entry_at(&snapshot, &at, &entry);
			check(&entry, &phrase);
		}
		if (at != size)
			abort();
	} else if (snapshot.problem[0] == '\0') {
		abort();
	}
	free(bytes);
}

/* The input is the number of entries, and the entries. */
static void
parse_entries(const uint8_t *data, size_t size)
{
	struct php_hone_snapshot_head head = {
		.magic = {'h', 'o', 'n', 'e', 's', 'n', 'a', 'p'},
		.format = PHP_HONE_SNAPSHOT_FORMAT,
		.order = PHP_HONE_SNAPSHOT_ORDER,
		.size = FIRST + size - 1,
		.entries = data[0],
		.n_layout = N_LAYOUT,
		.body_sum = FIRST + size - 1 - sizeof head,
		.head_sum = offsetof(struct php_hone_snapshot_head, head_sum),
	};
	unsigned char *bytes = calloc(1, FIRST + size);

	memcpy(bytes, &head, sizeof head);
	for (uint32_t i = 0; i < N_LAYOUT; i++)
		memcpy(bytes + sizeof head + i * sizeof(uint32_t),
			&layout[i].value, sizeof(uint32_t));
	memcpy(bytes + FIRST, data + 1, size - 1);
	parse(bytes, FIRST + size - 1);
	free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse(data, size);
	if (size != 0)
		parse_entries(data, size);
	return 0;
}
