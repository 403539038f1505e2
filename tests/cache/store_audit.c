/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether all that a shard keeps agrees. */
#include "arena.h"
#include "index.h"
#include "store_support.h"

/* Count the free blocks of one class; a class that is wrong counts 0. */
static uint64_t
count_class(const struct php_hone_store *store,
	const struct php_hone_shard *shard, unsigned class)
{
	uint64_t n = 0;
	uint32_t before = 0;
	for (uint32_t at = shard->heads[class]; at != 0; n++) {
		const struct php_hone_free_block *b =
			php_hone_free_at(store, at);
		if (php_hone_word_state(b->word) != PHP_HONE_FREE ||
			php_hone_class_of(php_hone_word_units(b->word)) != class
			|| b->prev != before ||
			*php_hone_footer(
				store, at + php_hone_word_units(b->word)) !=
				php_hone_word_units(b->word))
			return 0;
		before = at;
		at = b->next;
	}
	bool bit = shard->class_bits[class / 64] >> class % 64 & 1;
	bool word = shard->class_summary >> class / 64 & 1;
	return bit == (n != 0) && (n == 0 || word) ? n : 0;
}

/* Units in the quick lists; a list that is wrong counts as 0. */
static uint64_t
count_quick(
	const struct php_hone_store *store, const struct php_hone_shard *shard)
{
	uint64_t sum = 0;
	for (uint32_t units = 1; units < PHP_HONE_QUICK_SIZES; units++) {
		for (uint32_t at = shard->quick[units]; at != 0;) {
			uint64_t word = php_hone_block(store, at);
			if (php_hone_word_state(word) != PHP_HONE_QUICK ||
				php_hone_word_units(word) != units)
				return 0;
			sum += units;
			at = php_hone_entry_at(store, at)->link;
		}
	}
	return sum;
}

static const char *
audit_arena(
	const struct php_hone_store *store, const struct php_hone_shard *shard)
{
	uint64_t sums[PHP_HONE_STATES] = {0};
	uint64_t n_free = 0;
	bool hand = false;
	bool sweep = shard->sweep == 0;
	bool prev_free = false;
	uint32_t at = shard->first;
	while (at < shard->end) {
		uint64_t word = php_hone_block(store, at);
		unsigned state = php_hone_word_state(word);
		if (php_hone_word_units(word) == 0 || state >= PHP_HONE_STATES)
			return "a block without a size or state";
		if (prev_free != ((word & PHP_HONE_PREV_FREE) != 0))
			return "a flag of a free neighbour";
		if (prev_free && state == PHP_HONE_FREE)
			return "free neighbours that are not merged";
		prev_free = state == PHP_HONE_FREE;
		n_free += prev_free;
		sums[state] += php_hone_word_units(word);
		hand |= at == shard->hand;
		sweep |= at == shard->sweep;
		at += php_hone_word_units(word);
	}
	if (at != shard->end)
		return "a block beyond the end";
	if (!hand || !sweep)
		return "a hand inside a block";
	if (memcmp(sums, shard->sums, sizeof sums) != 0)
		return "the sums of blocks";
	if (count_quick(store, shard) != sums[PHP_HONE_QUICK])
		return "the lists of quick blocks";
	for (unsigned class = 0; class < PHP_HONE_CLASSES; class ++)
		n_free -= count_class(store, shard, class);
	return n_free != 0 ? "the lists of free blocks" : NULL;
}

static const char *
audit_chain(const struct php_hone_store *store,
	const struct php_hone_shard *shard, struct php_hone_place place,
	uint64_t *n, uint64_t *units, struct php_hone_shard *forms)
{
	const uint32_t *link = php_hone_bucket(store, place);
	for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
		if (at < shard->first || at >= shard->end)
			return "a link that leads out of the arena";
		const struct php_hone_entry *entry =
			php_hone_entry_at(store, at);
		uint64_t word = php_hone_get64(&entry->block);
		struct php_hone_place is = php_hone_place(store, entry->hash);
		if (php_hone_word_state(word) != PHP_HONE_LIVE)
			return "a link to what is not live";
		if (php_hone_get64(&entry->retired) != 0)
			return "a live entry with the mark of a removal";
		if (is.shard != place.shard || is.bucket != place.bucket)
			return "an entry in another bucket's chain";
		if (++*n > shard->entries)
			return "more entries in chains than counted";
		*units += php_hone_word_units(word);
		php_hone_count_form(forms, entry, 1);
		link = &entry->next;
	}
	return NULL;
}

static bool
audit_list(const struct php_hone_store *store,
	const struct php_hone_shard *shard, uint32_t at, uint64_t *n,
	uint64_t *units)
{
	for (; at != 0; ++*n) {
		const struct php_hone_entry *entry =
			php_hone_entry_at(store, at);
		if (php_hone_word_state(entry->block) != PHP_HONE_RETIRED ||
			*n > shard->n_retired)
			return false;
		*units += php_hone_word_units(entry->block);
		at = entry->link;
	}
	return true;
}

static const char *
audit_shard(const struct php_hone_store *store, unsigned i)
{
	const struct php_hone_shard *shard = php_hone_shard_at(store, i);
	const char *problem = audit_arena(store, shard);
	struct php_hone_shard forms = {0};
	uint64_t n = 0;
	uint64_t units = 0;
	for (uint32_t b = 0; b <= store->bucket_mask && problem == NULL; b++) {
		problem = audit_chain(store, shard,
			(struct php_hone_place){i, b}, &n, &units, &forms);
	}
	if (problem != NULL)
		return problem;
	if (n != shard->entries || units != shard->sums[PHP_HONE_LIVE])
		return "live entries that no chain has";
	if (memcmp(forms.form_entries, shard->form_entries,
		    sizeof forms.form_entries) != 0 ||
		memcmp(forms.form_units, shard->form_units,
			sizeof forms.form_units) != 0)
		return "the sums of the forms";
	n = units = 0;
	uint64_t n_held = 0;
	if (!audit_list(store, shard, shard->held_list, &n_held, &units))
		return "the list of what is held back";
	if (n_held != shard->n_held)
		return "the sum of what is held back";
	n = n_held;
	if (!audit_list(store, shard, shard->retired_list, &n, &units))
		return "the list of retired entries";
	return n == shard->n_retired && units == shard->sums[PHP_HONE_RETIRED]
		       ? NULL
		       : "the sum of retired entries";
}

const char *
audit(struct php_hone_member *member)
{
	const char *problem = NULL;
	php_hone_settle(member);
	for (unsigned i = 0; i < member->store->n_shards && problem == NULL;
		i++) {
		php_hone_lock(member, i);
		problem = audit_shard(member->store, i);
		php_hone_unlock(member, i);
	}
	return problem;
}
