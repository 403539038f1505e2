/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the file of a snapshot, as they are, and with checksums and a
 * size that are right, so that the entries are reached. What is accepted is
 * visited as a load does.
 */
#include <stdlib.h>
#include <string.h>
#include "format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

static void
read_all(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sink = ((const unsigned char *)bytes)[i];
}

/* In place of sum.c: a sum that is right if the size is. */
uint64_t
php_hone_sum_of(const void *bytes, size_t size)
{
	read_all(bytes, size);
	return size;
}

static void
visit(const struct php_hone_snapshot_entry *entry)
{
	size_t all = 0;

	for (unsigned i = 0; i < entry->record.n_tags; i++)
		all += php_hone_snapshot_tag_length(entry, i);
	read_all(entry->key, entry->record.key_len);
	read_all(entry->tag_names, all);
	read_all(entry->value, entry->record.size);
}

/* Exactly these bytes, so that AddressSanitizer sees what lies after them. */
static void
parse(const uint8_t *data, size_t size)
{
	char problem[PHP_HONE_PROBLEM] = "";
	struct php_hone_snapshot snapshot = {.size = size, .problem = problem};
	struct php_hone_snapshot_entry entry;
	unsigned char *bytes = malloc(size != 0 ? size : 1);

	memcpy(bytes, data, size);
	snapshot.bytes = bytes;
	if (php_hone_snapshot_parse(&snapshot)) {
		size_t at = sizeof snapshot.head;
		for (uint64_t i = 0; i < snapshot.head.entries; i++) {
			php_hone_snapshot_entry_at(&snapshot, &at, &entry);
			visit(&entry);
		}
		if (at != size)
			abort();
	} else if (problem[0] == '\0') {
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
		.size = sizeof head + size - 1,
		.entries = data[0],
		.body_sum = size - 1,
		.head_sum = offsetof(struct php_hone_snapshot_head, head_sum),
	};
	unsigned char *bytes = malloc(sizeof head + size);

	php_hone_snapshot_order_head(&head);
	memcpy(bytes, &head, sizeof head);
	memcpy(bytes + sizeof head, data + 1, size - 1);
	parse(bytes, sizeof head + size - 1);
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
