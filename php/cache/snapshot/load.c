/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads a file into a store. The whole file is checked before the first value
 * is stored.
 */
#include "snapshot.h"
#include <errno.h>
#include <time.h>

/* A limit on memory: the largest file is this many times the size of the
 * cache. */
#define LIMIT 4

/* An entry for the sort. */
struct place {
	size_t at;
	uint32_t hits;
	uint8_t used;
};

static void
root_of(const struct php_hone_snapshot_record *record, zval *root)
{
	memset(root, 0, sizeof *root);
	memcpy(&root->value, &record->value, sizeof record->value);
	Z_TYPE_INFO_P(root) = record->type;
}

static bool
check(const struct php_hone_snapshot_entry *entry, const char **phrase)
{
	const struct php_hone_snapshot_record *record = &entry->record;
	bool (*check_value)(const void *bytes, size_t size, uint64_t base,
		const zval *root, const char **problem);
	zval root;

	*phrase = "flags are unknown";
	switch (record->flags) {
	case 0:
		break;
	case PHP_HONE_SERIALIZED:
	case PHP_HONE_IGBINARY:
		if (record->type != IS_STRING)
			return false;
		break;
	case PHP_HONE_OBJECTS:
		if (record->type != IS_ARRAY)
			return false;
		break;
	default:
		return false;
	}
	root_of(record, &root);
	check_value = record->flags == PHP_HONE_OBJECTS
			      ? php_hone_value_check_objects
			      : php_hone_value_check;
	return check_value(entry->data, record->data_size,
		PHP_HONE_SNAPSHOT_BASE, &root, phrase);
}

/* By use, descending; then in the order of the file. */
static int
by_use(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->hits != y->hits)
		return x->hits > y->hits ? -1 : 1;
	if (x->used != y->used)
		return x->used > y->used ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static struct place *
sort(const struct php_hone_snapshot *snapshot)
{
	struct php_hone_snapshot_entry entry;
	struct place *places;
	size_t at = snapshot->first;
	/* The count was checked: each entry takes more bytes in the file than
	 * here. */
	size_t n = (size_t)snapshot->head.entries;

	places = calloc(n + 1, sizeof *places);
	for (size_t i = 0; places != NULL && i < n; i++) {
		places[i].at = at;
		php_hone_snapshot_entry_at(snapshot, &at, &entry);
		places[i].hits = entry.record.hits;
		places[i].used = entry.record.used;
	}
	if (places != NULL)
		qsort(places, n, sizeof *places, by_use);
	return places;
}

static void
tags_of(const struct php_hone_snapshot_entry *entry, struct php_hone_key *tags)
{
	const char *name = entry->tag_names;
	uint16_t length;

	for (unsigned i = 0; i < entry->record.n_tags; i++) {
		memcpy(&length, entry->tag_lengths + i * sizeof length,
			sizeof length);
		tags[i].bytes = name;
		tags[i].len = length;
		tags[i].hash = php_hone_string_hash(name, length);
		name += length;
	}
}

static void
fill(struct php_hone_member *member, const struct php_hone_snapshot_entry *from,
	struct php_hone_entry *entry)
{
	struct php_hone_value stored = {.size = from->record.data_size};
	char *to = (char *)entry + entry->data_at;
	zval root;

	root_of(&from->record, &root);
	if (stored.size != 0) {
		ZVAL_COPY_VALUE(&stored.root, &root);
		stored.data = from->data;
		php_hone_value_copy(&stored, to,
			php_hone_store_view(member->store, to), &root);
	}
	memcpy(&entry->value[0], &root.value, sizeof entry->value[0]);
	entry->value[1] = Z_TYPE_INFO(root);
	entry->flags = from->record.flags;
	entry->hits = from->record.hits;
	entry->used = from->record.used;
	php_hone_write_head(entry, entry->hash, from->record.key_len);
}

static bool
store(struct php_hone_member *member,
	const struct php_hone_snapshot_entry *from, uint64_t elapsed)
{
	struct php_hone_key tags[UINT8_MAX],
		key = {
			.bytes = from->key,
			.len = from->record.key_len,
			.hash = php_hone_string_hash(
				from->key, from->record.key_len),
		};
	struct php_hone_room room = {
		.data = from->record.data_size,
		.key = &key,
		.tags = tags,
		.n_tags = from->record.n_tags,
		.spare = true,
	};
	struct php_hone_entry *entry;

	if (from->record.left != 0) {
		if (from->record.left <= elapsed)
			return false;
		room.ttl = from->record.left - (uint32_t)elapsed;
	}
	tags_of(from, tags);
	if (php_hone_store_reserve(member, &room, &entry) < 0)
		return false;
	fill(member, from, entry);
	return php_hone_store_publish(member, entry, PHP_HONE_ADD) == 0;
}

static zend_long
store_all(struct php_hone_member *member,
	const struct php_hone_snapshot *snapshot, const struct place *places)
{
	struct php_hone_snapshot_entry entry;
	int64_t now = time(NULL);
	/* If the clock was set back, no value gets more time to live. */
	uint64_t elapsed =
		now > snapshot->head.saved
			? (uint64_t)now - (uint64_t)snapshot->head.saved
			: 0;
	zend_long stored = 0;

	for (uint64_t i = 0; i < snapshot->head.entries; i++) {
		size_t at = places[i].at;
		php_hone_snapshot_entry_at(snapshot, &at, &entry);
		stored += store(member, &entry, elapsed);
	}
	return stored;
}

static zend_long
load(struct php_hone_member *member, struct php_hone_snapshot *snapshot,
	char *problem)
{
	struct place *places;
	zend_long stored;

	if (!php_hone_snapshot_parse(snapshot)) {
		snprintf(problem, PHP_HONE_PROBLEM, "%s", snapshot->problem);
		return -1;
	}
	places = sort(snapshot);
	if (places == NULL) {
		snprintf(problem, PHP_HONE_PROBLEM, "%s", strerror(ENOMEM));
		return -1;
	}
	stored = store_all(member, snapshot, places);
	free(places);
	return stored;
}

zend_long
php_hone_snapshot_load(struct php_hone_store *store, const char *path,
	bool *missing, char *problem)
{
	struct php_hone_snapshot snapshot = {
		.layout = php_hone_layout,
		.n_layout = php_hone_n_layout,
		.sum = php_hone_sum_of,
		.check = check,
	};
	struct php_hone_member member = {0};
	struct php_hone_store_info info;
	zend_long stored;
	void *bytes;
	int error;

	*missing = false;
	if (!php_hone_sum_ready()) {
		snprintf(problem, PHP_HONE_PROBLEM, "PHP has no hash xxh64");
		return -1;
	}
	if (php_hone_member_join(&member, store) < 0) {
		snprintf(problem, PHP_HONE_PROBLEM,
			"more processes than hone.cache_slots use the cache");
		return -1;
	}
	php_hone_store_info(&member, &info);
	if (php_hone_snapshot_read(path, info.size * LIMIT, &bytes,
		    &snapshot.size, &error, problem, PHP_HONE_PROBLEM)) {
		snapshot.bytes = bytes;
		stored = load(&member, &snapshot, problem);
		free(bytes);
	} else {
		*missing = error == -ENOENT;
		stored = -1;
	}
	php_hone_member_leave(&member);
	return stored;
}
