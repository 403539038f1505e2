/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads a file into a store. The whole file is checked before the first value
 * is stored, but for the values: a damaged one is left out. */
#include "snapshot.h"
#include "../values/cold.h"
#include <errno.h>
#include <inttypes.h>
#include <time.h>

/* A limit on memory: the file, and the arrays and the strings of each value,
 * have at most this many times the size of the cache. */
#define LIMIT 4
/* Bytes of an entry besides those in the file: its head, and the rounding. */
#define HEAD 160

/* An entry for the sort. The file may have millions. */
struct place {
	size_t at;
	uint64_t number; /* in the file */
	uint32_t hits;
	uint8_t used;
};

struct load {
	struct php_hone_member member;
	struct php_hone_snapshot snapshot;
	struct php_hone_cold cold;
	struct php_hone_builder builder;
	uint64_t elapsed; /* seconds since the save */
	uint64_t damaged; /* values */
	size_t free;      /* bytes of the cache that are not used yet */
	size_t rest;      /* bytes that the later entries need, if cold */
};

/* By use, descending; then in the order of the file. */
static int
by_use(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->hits != y->hits)
		return x->hits > y->hits ? -1 : 1;
	if (x->used != y->used)
		return x->used > y->used ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static struct place *
sort(const struct php_hone_snapshot *snapshot)
{
	struct php_hone_snapshot_entry entry;
	size_t at = sizeof snapshot->head, n = (size_t)snapshot->head.entries;
	struct place *places = calloc(n + 1, sizeof *places);

	for (size_t i = 0; places != NULL && i < n; i++) {
		places[i].at = at;
		places[i].number = i;
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

	for (unsigned i = 0; i < entry->record.n_tags; i++) {
		size_t length = php_hone_snapshot_tag_length(entry, i);
		tags[i].bytes = name;
		tags[i].len = length;
		tags[i].hash = php_hone_string_hash(name, length);
		name += length;
	}
}

/* Whether the root of the value fits the flags of its entry. */
static bool
has_right_flags(uint8_t flags, uint32_t type)
{
	switch (flags) {
	case 0:
		return true;
	case PHP_HONE_SERIALIZED:
	case PHP_HONE_IGBINARY:
		return type == IS_STRING;
	default:
		return flags == PHP_HONE_OBJECTS;
	}
}

/* Make the value in load->builder. */
static bool
make_value(struct load *load, const struct php_hone_snapshot_entry *from,
	uint64_t number)
{
	const struct php_hone_snapshot_record *record = &from->record;
	const char *phrase;

	if (php_hone_cold_read(&load->cold, from->value, record->size,
		    record->flags == PHP_HONE_OBJECTS, &load->builder,
		    &phrase)) {
		if (has_right_flags(record->flags, Z_TYPE(load->builder.root)))
			return true;
		phrase = "its flags are wrong";
	}
	if (load->damaged++ == 0)
		snprintf(load->snapshot.problem, PHP_HONE_PROBLEM,
			"the value of entry %" PRIu64 ": %s", number, phrase);
	return false;
}

/* Whether the later values need so much that this one has to be cold. */
static bool
is_to_be_cold(const struct load *load, size_t cold)
{
	return Z_TYPE(load->builder.root) == IS_ARRAY &&
	       !HONE_G(cache).cold_off && cold < load->builder.size &&
	       load->free < load->builder.size + load->rest;
}

static void
fill(struct load *load, const struct php_hone_snapshot_entry *from,
	struct php_hone_entry *entry, bool cold)
{
	char *to = (char *)entry + entry->data_at;
	zval root;

	if (cold) {
		entry->flags = PHP_HONE_COLD;
		php_hone_cold_place(entry, from->value, load->builder.size);
	} else {
		php_hone_value_place(&load->builder, to,
			php_hone_store_view(load->member.store, to), &root);
		php_hone_set_root(entry, &root);
	}
	entry->flags |= from->record.flags;
	entry->hits = from->record.hits;
	entry->used = from->record.used;
	php_hone_write_head(entry, entry->hash, from->record.key_len);
}

static bool
store(struct load *load, const struct php_hone_snapshot_entry *from)
{
	struct php_hone_key tags[UINT8_MAX],
		key = {
			.bytes = from->key,
			.len = from->record.key_len,
			.hash = php_hone_string_hash(
				from->key, from->record.key_len),
		};
	struct php_hone_room room = {
		.data = load->builder.size,
		.key = &key,
		.tags = tags,
		.n_tags = from->record.n_tags,
		.spare = true,
	};
	struct php_hone_entry *entry;

	room.cold = is_to_be_cold(load, from->record.size);
	if (room.cold)
		room.data = from->record.size;
	if (from->record.left != 0)
		room.ttl = from->record.left - (uint32_t)load->elapsed;
	tags_of(from, tags);
	if (php_hone_store_reserve(&load->member, &room, &entry) < 0)
		return false;
	fill(load, from, entry, room.cold);
	load->free -= MIN(load->free, HEAD + room.data);
	return php_hone_store_publish(&load->member, entry, PHP_HONE_ADD) == 0;
}

static zend_long
store_all(struct load *load, const struct place *places)
{
	struct php_hone_snapshot *snapshot = &load->snapshot;
	int64_t now = time(NULL);
	zend_long stored = 0;

	/* If the clock was set back, no value gets more time to live. */
	if (now > snapshot->head.saved)
		load->elapsed = (uint64_t)now - (uint64_t)snapshot->head.saved;
	load->rest = snapshot->size - sizeof snapshot->head +
		     (size_t)snapshot->head.entries * HEAD;
	for (uint64_t i = 0; i < snapshot->head.entries; i++) {
		struct php_hone_snapshot_entry entry;
		size_t at = places[i].at;
		php_hone_snapshot_entry_at(snapshot, &at, &entry);
		load->rest -= HEAD + (at - places[i].at);
		if ((entry.record.left == 0 ||
			    entry.record.left > load->elapsed) &&
			make_value(load, &entry, places[i].number))
			stored += store(load, &entry);
	}
	if (load->damaged > 1) {
		size_t end = strlen(load->snapshot.problem);
		snprintf(load->snapshot.problem + end, PHP_HONE_PROBLEM - end,
			"; %" PRIu64 " values are damaged", load->damaged);
	}
	return stored;
}

static zend_long
load_all(struct load *load)
{
	struct place *places;
	zend_long stored;

	if (!php_hone_snapshot_parse(&load->snapshot))
		return -1;
	places = sort(&load->snapshot);
	if (places == NULL) {
		snprintf(load->snapshot.problem, PHP_HONE_PROBLEM, "%s",
			strerror(ENOMEM));
		return -1;
	}
	stored = store_all(load, places);
	free(places);
	php_hone_cold_free(&load->cold);
	php_hone_builder_free(&load->builder);
	return stored;
}

/* Read the file, and load it, as a member. */
static zend_long
load_file(struct load *load, const char *path, bool *missing)
{
	struct php_hone_store_info info;
	struct hone_file_data data;
	zend_long stored;
	int error;

	php_hone_store_info(&load->member, &info);
	error = php_hone_snapshot_read(
		path, info.size * LIMIT, &data, load->snapshot.problem);
	*missing = error == -ENOENT;
	if (error < 0)
		return -1;
	load->snapshot.bytes = data.data;
	load->snapshot.size = data.size;
	load->free = info.free;
	load->builder.arrays.most = load->builder.strings.most =
		info.size * LIMIT;
	stored = load_all(load);
	free(data.data);
	return stored;
}

zend_long
php_hone_snapshot_load(struct php_hone_store *store, const char *path,
	bool *missing, char *problem)
{
	struct load load = {.snapshot.problem = problem};
	zend_long stored = -1;

	*missing = false;
	*problem = '\0';
	if (php_hone_member_join(&load.member, store) < 0) {
		snprintf(problem, PHP_HONE_PROBLEM,
			"more processes than hone.cache_slots use the cache");
	} else {
		stored = load_file(&load, path, missing);
		php_hone_member_leave(&load.member);
	}
	return stored;
}
