/* SPDX-License-Identifier: BSD-3-Clause */
/* Saves a store to a file, entry by entry, while other processes use the
 * store. */
#include "snapshot.h"
#include "../values/cold.h"
#include <errno.h>
#include <time.h>

struct save {
	struct php_hone_member member;
	struct php_hone_output output;
	struct php_hone_sum sum;
	uint32_t now;
	uint64_t entries;
	int error;
	struct php_hone_cold cold;
	/* the cold form of a value */
	const void *value;
	size_t size;
};

static void
put(struct save *save, const void *bytes, size_t size)
{
	if (save->error == 0)
		save->error = php_hone_output_write(&save->output, bytes, size);
	php_hone_sum_add(&save->sum, bytes, size);
}

static void
put_entry(struct save *save, struct php_hone_snapshot_record *record,
	const struct php_hone_entry *entry, const struct php_hone_key *tags)
{
	php_hone_snapshot_order_record(record);
	put(save, record, sizeof *record);
	put(save, entry->bytes + PHP_HONE_KEY_HEAD, entry->key_len);
	for (unsigned i = 0; i < entry->n_tags; i++) {
		unsigned char length[2] = {
			tags[i].len & 0xff, (unsigned char)(tags[i].len >> 8)};
		put(save, length, sizeof length);
	}
	for (unsigned i = 0; i < entry->n_tags; i++)
		put(save, tags[i].bytes, tags[i].len);
	put(save, save->value, save->size);
	save->entries++;
}

/* Find or write the cold form of the value. A damaged one is left out. */
static bool
take_cold(struct save *save, const struct php_hone_entry *entry)
{
	struct php_hone_value stored = {.size = entry->data_size};

	if (entry->flags & PHP_HONE_COLD) {
		if (!php_hone_cold_is_whole(entry))
			return false;
		save->value = (const char *)entry + entry->data_at;
		save->size = entry->data_size;
		return true;
	}
	php_hone_root_of(entry, &stored.root);
	if (stored.size != 0)
		stored.data = (const char *)entry + entry->data_at;
	if (!php_hone_cold_write(&save->cold, &stored, NULL,
		    entry->flags == PHP_HONE_OBJECTS)) {
		save->error = -ENOMEM;
		return false;
	}
	save->value = save->cold.bytes.bytes;
	save->size = save->cold.bytes.used;
	return true;
}

static void
save_entry(struct save *save, const struct php_hone_entry *entry)
{
	struct php_hone_snapshot_record record = {0};
	struct php_hone_key tags[UINT8_MAX];

	/* A tag may have been invalidated meanwhile, and the entry with it. */
	for (unsigned i = 0; i < entry->n_tags; i++)
		if (!php_hone_store_tag(&save->member, entry, i, &tags[i]))
			return;
	if (!take_cold(save, entry))
		return;
	record.key_len = entry->key_len;
	record.size = (uint32_t)save->size;
	if (entry->expires != 0)
		record.left = entry->expires - save->now - 1;
	record.hits = __atomic_load_n(&entry->hits, __ATOMIC_RELAXED);
	record.flags = entry->flags & (uint8_t)~PHP_HONE_COLD;
	record.used = __atomic_load_n(&entry->used, __ATOMIC_RELAXED);
	record.n_tags = entry->n_tags;
	put_entry(save, &record, entry, tags);
}

/* Runs without a mutex. The entry stays valid until the return. */
static bool
visit(const struct php_hone_entry *entry, void *opaque)
{
	struct save *save = opaque;

	/* A value with at most a second to live is not worth a record. */
	if (save->error != 0 ||
		(entry->expires != 0 && entry->expires <= save->now + 1))
		return save->error == 0;
	/* The walk has announced the chain of the entry, but not those of its
	 * tags. */
	if (entry->n_tags != 0)
		php_hone_fetch_begin(&save->member);
	save_entry(save, entry);
	if (entry->n_tags != 0)
		php_hone_fetch_end(&save->member);
	return save->error == 0;
}

static void
fill_head(struct save *save, struct php_hone_snapshot_head *head, time_t saved)
{
	memset(head, 0, sizeof *head);
	memcpy(head->magic, PHP_HONE_SNAPSHOT_MAGIC, sizeof head->magic);
	head->format = PHP_HONE_SNAPSHOT_FORMAT;
	head->size = save->output.size;
	head->entries = save->entries;
	head->saved = saved;
	head->body_sum = php_hone_sum_end(&save->sum);
	php_hone_snapshot_order_head(head);
	head->head_sum = htole64(php_hone_sum_of(
		head, offsetof(struct php_hone_snapshot_head, head_sum)));
}

static int
save_all(struct save *save, const char *path)
{
	struct php_hone_snapshot_head head;
	uint64_t cursor = 0;
	time_t saved;
	int error;

	php_hone_sum_begin(&save->sum);
	error = php_hone_output_open(&save->output, path, sizeof head);
	if (error < 0)
		return error;
	saved = time(NULL);
	save->now = php_hone_store_now(save->member.store);
	php_hone_store_walk(&save->member, &cursor, visit, save);
	if (save->error < 0) {
		php_hone_output_discard(&save->output);
		return save->error;
	}
	fill_head(save, &head, saved);
	return php_hone_output_finish(&save->output, &head, sizeof head);
}

bool
php_hone_snapshot_save(
	struct php_hone_store *store, const char *path, char *problem)
{
	struct save save = {0};
	int error;

	/* Not pinned, so that a save holds back one entry at a time. */
	error = php_hone_member_join(&save.member, store);
	if (error == 0) {
		error = save_all(&save, path);
		php_hone_member_leave(&save.member);
	}
	php_hone_cold_free(&save.cold);
	if (error == 0)
		return true;
	if (error == -EAGAIN)
		snprintf(problem, PHP_HONE_PROBLEM,
			"more processes than hone.cache_slots use the cache");
	else if (error == -EEXIST)
		snprintf(problem, PHP_HONE_PROBLEM,
			"this path exists and is not a regular file");
	else
		snprintf(problem, PHP_HONE_PROBLEM, "%s", strerror(-error));
	return false;
}
