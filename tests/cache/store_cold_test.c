/* SPDX-License-Identifier: BSD-3-Clause */
/* Values with two forms: what a reader keeps of them, when memory presses, and
 * which of them stay. */
#include "epoch.h"
#include "store_support.h"

#define BYTES 1000

/* Live and retired entries that a store looked at. */
static unsigned looks;

STANDS_FOR(bool, php_hone_readers_have, const struct php_hone_store *store,
	const struct php_hone_readers *readers,
	const struct php_hone_entry *entry, uint64_t retired)
{
	looks++;
	return __real_php_hone_readers_have(store, readers, entry, retired);
}

static bool
presses(void)
{
	return php_hone_store_presses(&writer, key_of("k").hash);
}

static unsigned
count_of(const char *letter, unsigned from, unsigned to)
{
	unsigned n = 0;
	for (; from < to; from++) {
		uint64_t number = 0;
		int error = get(&writer, numbered(letter, from), &number);
		if (error == 0)
			assert_int_equal(number, from);
		n += error == 0;
	}
	return n;
}

PAIR_TEST(a_cold_value_is_kept_by_nobody)
{
	struct php_hone_key key = key_of("k");
	uint64_t number = 0;
	assert_ok(put_form(&writer, "k", 7, BYTES, true));
	php_hone_member_pin(&reader);
	expect(&reader, "k", 7);
	assert_null(php_hone_store_known(&reader, &key));
	php_hone_fetch_peek(&reader, &key);
	php_hone_fetch_end(&reader);
	assert_ok(php_hone_store_delete(&writer, &key));
	assert_int_equal(info_of(&writer).retired, 0);
	/* Within a fetch it is valid. */
	assert_ok(put_form(&writer, "k", 8, BYTES, true));
	const struct php_hone_entry *entry = php_hone_fetch_find(&reader, &key);
	assert_ok(php_hone_store_delete(&writer, &key));
	assert_true(info_of(&writer).retired > BYTES);
	assert_true(is_whole(entry, &number));
	php_hone_fetch_end(&reader);
	assert_int_equal(info_of(&writer).retired, 0);
	php_hone_member_unpin(&reader);
}

PAIR_TEST(a_cold_value_may_have_tags)
{
	struct php_hone_key key = key_of("k"), tag = key_of("t");
	struct php_hone_room room = {.key = &key,
		.data = BYTES,
		.tags = &tag,
		.n_tags = 1,
		.cold = true};
	struct php_hone_entry *entry;
	uint64_t number = 0;
	assert_ok(php_hone_store_reserve(&writer, &room, &entry));
	assert_int_equal(entry->data_at % 8, 0);
	entry->flags = PHP_HONE_COLD;
	memset((char *)entry + entry->data_at, 'x', BYTES);
	assert_ok(php_hone_store_publish(&writer, entry, PHP_HONE_STORE));
	php_hone_member_pin(&reader);
	assert_int_not_equal(get(&reader, "k", &number), -ENOENT);
	assert_ok(php_hone_store_invalidate_tag(&writer, &tag));
	assert_int_equal(get(&reader, "k", &number), -ENOENT);
	php_hone_member_unpin(&reader);
}

PAIR_TEST(figures_have_both_forms)
{
	uint64_t number = 0;
	assert_ok(put_form(&writer, "w", 1, BYTES, false));
	assert_ok(put_form(&writer, "c", 2, BYTES, true));
	assert_ok(put_form(&writer, "c", 3, BYTES, true));
	assert_ok(get(&reader, "w", &number));
	assert_ok(get(&reader, "c", &number));
	struct php_hone_store_info info = info_of(&writer);
	assert_int_equal(info.entries, 2);
	assert_int_equal(info.cold_entries, 1);
	assert_true(info.cold_bytes > BYTES && info.cold_bytes < 2 * BYTES);
	assert_int_equal(info.hits, 2);
	assert_int_equal(info.cold_hits, 1);
	assert_int_equal(info.packed, 2);
	assert_ok(php_hone_store_clear(&writer));
	info = info_of(&writer);
	assert_int_equal(info.cold_entries + info.cold_bytes, 0);
	assert_int_equal(info.cold_hits, 0);
	assert_int_equal(info.packed, 2);
}

PAIR_TEST(memory_presses_from_an_eviction_until_a_quarter_is_free)
{
	unsigned n = 0;
	while (info_of(&writer).evictions == 0) {
		assert_false(presses());
		assert_ok(put(&writer, numbered("a", n++), 1, BYTES));
	}
	assert_true(presses());
	size_t arena = info_of(&writer).used + info_of(&writer).free;
	for (unsigned i = 0; info_of(&writer).free < arena / 4; i++) {
		struct php_hone_key key = key_of(numbered("a", i));
		assert_true(presses());
		php_hone_store_delete(&writer, &key);
		assert_ok(put(&writer, "a", 1, 1));
	}
	assert_ok(put(&writer, "a", 1, 1));
	assert_false(presses());
}

/* Warm values that could be cold go before cold ones, down to a tenth. */
PAIR_TEST(no_cold_value_goes_while_many_are_warm)
{
	unsigned warm = 0, cold = 0;
	while (cold < 500)
		assert_int_equal(put_form(&writer, numbered("c", cold), cold,
					 BYTES, true),
			0),
			cold++;
	while (!presses())
		assert_int_equal(put_form(&writer, numbered("w", warm), warm,
					 BYTES, false),
			0),
			warm++;
	size_t arena = info_of(&writer).used + info_of(&writer).free;
	struct php_hone_store_info info = info_of(&writer);
	while (info.used - info.cold_bytes > arena / 10 + arena / 64) {
		assert_ok(put_form(
			&writer, numbered("c", cold), cold, BYTES, true));
		cold++;
		info = info_of(&writer);
		assert_int_equal(info.cold_entries, cold);
	}
	unsigned before = cold;
	for (unsigned i = 0; i < 4000; i++, cold++)
		assert_ok(put_form(
			&writer, numbered("c", cold), cold, BYTES, true));
	assert_true(count_of("c", 0, before) < before / 2);
	assert_true(count_of("c", before, cold) > 2000);
}

/* A window for a large value has few cold entries. */
PAIR_TEST(a_window_prefers_warm_values)
{
	for (unsigned i = 0; i < 900; i++)
		assert_ok(put_form(&writer, numbered("c", i), i, BYTES, true));
	for (unsigned i = 0; !presses(); i++)
		assert_ok(put_form(&writer, numbered("w", i), i, BYTES, false));
	assert_ok(put_form(&writer, "large", 1, 500000, true));
	assert_int_equal(count_of("c", 0, 900), 900);
}

/* Values of one form do not stay at the cost of cold ones. */
PAIR_TEST(other_values_are_no_reason_to_keep_cold_ones)
{
	for (unsigned i = 0; i < 1000; i++)
		assert_ok(put_form(&writer, numbered("c", i), i, BYTES, true));
	for (unsigned i = 0; i < 8000; i++)
		assert_ok(put(&writer, numbered("t", i), i, BYTES));
	assert_int_equal(count_of("c", 0, 1000), 0);
}

/* ---- twins ---- */

PAIR_TEST(a_twin_is_no_store)
{
	struct php_hone_key key = key_of("k"), tag = key_of("t");
	struct php_hone_room room = {.key = &key,
		.data = BYTES,
		.tags = &tag,
		.n_tags = 1,
		.ttl = 100};
	struct php_hone_entry *made;
	assert_ok(reserve(&writer, &room, 5, &made));
	made->value[1] |= PHP_HONE_PACKABLE;
	assert_ok(php_hone_store_publish(&writer, made, PHP_HONE_STORE));
	assert_ok(php_hone_store_claim(&writer, &key, 50));
	time_passes(10000);
	for (unsigned i = 0; i < 32; i++) {
		(void)fetch(&reader, "k");
		php_hone_fetch_end(&reader);
	}
	struct php_hone_entry before = *fetch(&reader, "k");
	php_hone_fetch_end(&reader);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t number = 0;
		const struct php_hone_entry *entry = fetch(&reader, "k");
		change_form(&reader, entry);
		php_hone_fetch_end(&reader);
		entry = fetch(&reader, "k");
		assert_true(is_whole(entry, &number));
		assert_int_equal(number, 5);
		assert_int_equal(entry->flags, i == 0 ? PHP_HONE_COLD : 0);
		assert_int_equal(entry->created, before.created);
		assert_int_equal(entry->expires, before.expires);
		assert_int_equal(entry->date, before.date);
		assert_true(before.hits > 0 && entry->hits >= before.hits);
		assert_int_equal(entry->n_tags, 1);
		php_hone_fetch_end(&reader);
	}
	struct php_hone_store_info info = info_of(&writer);
	assert_int_equal(info.stores, 1);
	assert_int_equal(info.packed, 1);
	assert_int_equal(info.warmed, 1);
	assert_int_equal(php_hone_store_claim(&reader, &key, 1), -EBUSY);
	assert_ok(php_hone_store_invalidate_tag(&writer, &tag));
	assert_null(fetch(&reader, "k"));
	php_hone_fetch_end(&reader);
}

/* Large, so that the mutex is free in between. */
PAIR_TEST(a_twin_comes_too_late)
{
	struct php_hone_key key = key_of("k");
	uint64_t number = 0;
	for (unsigned i = 0; i < 2; i++) {
		assert_ok(put_form(&writer, "k", 1, 40000, true));
		const struct php_hone_entry *entry = fetch(&reader, "k");
		struct php_hone_entry *twin = reserve_twin(&reader, entry);
		assert_non_null(twin);
		if (i == 0)
			assert_ok(put(&writer, "k", 2, 40000));
		else
			php_hone_store_delete(&writer, &key);
		php_hone_store_publish_twin(&reader, twin, entry);
		assert_null(reserve_twin(&reader, entry));
		php_hone_fetch_end(&reader);
		assert_int_equal(
			get(&reader, "k", &number), i == 0 ? 0 : -ENOENT);
		assert_int_equal(number, 2);
	}
	assert_int_equal(info_of(&writer).warmed, 0);
}

PAIR_TEST(a_twin_waits_for_nobody)
{
	struct php_hone_key key = key_of("other");
	struct php_hone_room room = {.key = &key, .data = 10};
	struct php_hone_entry *other;
	wait_for_mutexes(false);
	assert_ok(put_form(&writer, "k", 1, BYTES, true));
	assert_ok(reserve(&writer, &room, 1, &other));
	assert_null(reserve_twin(&reader, fetch(&reader, "k")));
	php_hone_fetch_end(&reader);
	assert_int_equal(mutex_waits(), 0);
	php_hone_store_cancel(&writer, other);
	wait_for_mutexes(true);
}

PAIR_TEST(an_entry_is_hot_from_the_eighth_hit_in_a_minute)
{
	uint64_t number = 0;
	assert_ok(put_form(&writer, "k", 1, BYTES, true));
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 1; i <= PHP_HONE_HOT; i++) {
			const struct php_hone_entry *entry =
				fetch(&reader, "k");
			assert_true(is_whole(entry, &number));
			assert_int_equal(php_hone_store_is_hot(entry),
				i == PHP_HONE_HOT);
			php_hone_fetch_end(&reader);
		}
		time_passes(64000);
	}
}

PAIR_TEST(warm_twins_take_a_tenth_while_memory_presses)
{
	unsigned cold = 0;
	while (!presses()) {
		assert_ok(put_form(
			&writer, numbered("c", cold), cold, BYTES, true));
		cold++;
	}
	size_t arena = info_of(&writer).used + info_of(&writer).free;
	for (unsigned i = 0; i < cold; i++) {
		const struct php_hone_entry *entry =
			fetch(&reader, numbered("c", i));
		if (entry != NULL)
			change_form(&reader, entry);
		php_hone_fetch_end(&reader);
		/* Makes free memory. */
		assert_ok(put_form(&writer, "more", i, BYTES, true));
	}
	struct php_hone_store_info info = info_of(&writer);
	assert_true(info.warmed > 0);
	assert_true(info.used - info.cold_bytes <= arena / 10);
}

/* The hand leaves warm values to be packed, and drops none. */
PAIR_TEST(the_hand_packs_before_it_evicts)
{
	unsigned n = 0;
	writer.packs = true;
	for (; n < 7000; n++) {
		bool cold = presses();
		assert_int_equal(put_form(&writer, numbered("w", n), n,
					 cold ? BYTES / 4 : BYTES, cold),
			0);
		pack_all(&writer);
	}
	struct php_hone_store_info info = info_of(&writer);
	assert_int_equal(info.evictions, 0);
	assert_true(info.packed > 5000);
	assert_int_equal(count_of("w", 0, n), n);
}

/* Without a caller that packs, values are evicted as ever. */
PAIR_TEST(what_is_not_packed_is_evicted)
{
	writer.packs = true;
	for (unsigned n = 0; n < 8000; n++)
		assert_ok(put_form(&writer, numbered("w", n), n, BYTES, false));
	assert_true(info_of(&writer).evictions > 3000);
}

PAIR_TEST(the_bytes_of_a_cold_entry_besides_its_data_are_known_before)
{
	const struct php_hone_key tags[] = {{"a", 1, 1}, {"b", 1, 2}};
	for (unsigned len = 1; len <= 17; len++) {
		for (unsigned n = 0; n <= 2; n++) {
			struct php_hone_key key = {
				"a key of seventeen", len, 3};
			struct php_hone_room room = {.data = 100,
				.key = &key,
				.tags = tags,
				.n_tags = n,
				.cold = true};
			struct php_hone_entry *entry;
			assert_ok(
				php_hone_store_reserve(&writer, &room, &entry));
			assert_int_equal(
				entry->data_at, php_hone_store_others(len, n));
			php_hone_store_cancel(&writer, entry);
		}
	}
}

/* As if no cold form were shorter. */
PAIR_TEST(after_32_in_vain_few_are_left_to_be_packed)
{
	unsigned left = 0;
	writer.packs = true;
	writer.in_vain = 5;
	for (unsigned n = 0; n < 8000; n++) {
		assert_ok(put_form(&writer, numbered("w", n), n, BYTES, false));
		for (; php_hone_store_to_pack(&writer) != NULL; left++)
			php_hone_fetch_end(&writer);
		assert_true(writer.in_vain <= PHP_HONE_PACKS);
	}
	assert_true(left >= 5 * PHP_HONE_PACKS && left < 1000);
	/* One that is not in vain is enough. */
	for (unsigned n = 0; info_of(&writer).packed < 1000; n++) {
		assert_true(n < 4000);
		assert_ok(put_form(&writer, numbered("x", n), n, BYTES, false));
		pack_all(&writer);
	}
}

/* To pack what a reader has would free nothing. */
PAIR_TEST(what_readers_have_is_not_packed)
{
	uint64_t number = 0;
	writer.packs = true;
	php_hone_member_pin(&reader);
	for (unsigned n = 0; n < 500; n++) {
		assert_ok(put_form(&writer, numbered("r", n), n, BYTES, false));
		assert_ok(get(&reader, numbered("r", n), &number));
	}
	for (unsigned n = 0; n < 6000; n++) {
		assert_ok(put_form(&writer, numbered("w", n), n, BYTES, false));
		pack_all(&writer);
	}
	assert_true(info_of(&writer).packed > 3000);
	for (unsigned n = 0; n < 500; n++) {
		const struct php_hone_entry *entry =
			fetch(&writer, numbered("r", n));
		assert_true(
			entry == NULL || (entry->flags & PHP_HONE_COLD) == 0);
		php_hone_fetch_end(&writer);
	}
	php_hone_member_unpin(&reader);
}

/* Store warm values that the reader keeps, and some of them again: from 33
 * retired ones on, the hand passes over what readers have. */
static void
hold(unsigned warm)
{
	uint64_t number = 0;
	php_hone_member_pin(&reader);
	for (unsigned i = 0; i < warm; i++) {
		assert_ok(put_form(&writer, numbered("h", i), i, BYTES, false));
		assert_ok(get(&reader, numbered("h", i), &number));
	}
	for (unsigned i = 0; i < 40; i++)
		assert_ok(put_form(&writer, numbered("h", i), i, BYTES, false));
}

PAIR_TEST(the_hand_stops_when_it_has_enough_to_pack)
{
	uint64_t number = 0;
	writer.packs = true;
	hold(45);
	for (unsigned i = 0; writer.n_packs == 0; i++) {
		assert_ok(put_form(&writer, numbered("w", i), i, BYTES, false));
		if (i >= 100)
			(void)get(&writer, numbered("w", i), &number);
	}
	assert_int_equal(writer.n_packs, PHP_HONE_PACKS);
	for (unsigned i = 200; i < 1000; i++) {
		struct php_hone_key key = key_of(numbered("w", i));
		const struct php_hone_entry *entry =
			php_hone_fetch_peek(&writer, &key);
		assert_int_equal(entry->used, 1);
		php_hone_fetch_end(&writer);
	}
	/* The packed values will free memory: requests go on. */
	assert_int_equal(info_of(&writer).closed_slots, 0);
	php_hone_member_unpin(&reader);
}

/* What readers have stays warm. Without an end, they would have so many warm
 * values that cold ones are evicted. */
PAIR_TEST(readers_of_many_warm_values_keep_no_more)
{
	uint64_t number = 0;
	writer.packs = true;
	php_hone_member_pin(&reader);
	for (unsigned n = 0, had = 0; n < 7000; n++) {
		bool cold = presses();
		assert_ok(put_form(&writer, numbered("w", n), n,
			cold ? BYTES / 4 : BYTES, cold));
		pack_all(&writer);
		if (cold)
			(void)get(&reader, numbered("w", had++ * 7919 % n),
				&number);
	}
	assert_int_equal(info_of(&writer).evictions, 0);
	assert_int_equal(count_of("w", 0, 7000), 7000);
	php_hone_member_unpin(&reader);
}

/* 100 of 3,500 values. They are neighbours: the hand looks at 1/64 of the
 * memory. */
PAIR_TEST(readers_of_a_few_neighbours_keep_no_more)
{
	writer.packs = true;
	hold(100);
	for (unsigned i = 0; writer.n_packs == 0; i++)
		assert_ok(put_form(&writer, numbered("w", i), i, BYTES, false));
	assert_int_equal(info_of(&writer).closed_slots, 1);
	php_hone_member_unpin(&reader);
}

/* No value can be packed, so fetches that copy would free nothing. Each 17th
 * search tries to pack. */
PAIR_TEST(requests_go_on_while_packing_is_in_vain)
{
	uint64_t number = 0;
	writer.packs = true;
	for (unsigned n = 0; n < 12000; n++) {
		if (n % 30 == 0)
			php_hone_member_pin(&reader);
		assert_ok(put_form(&writer, numbered("w", n), n, BYTES, false));
		for (unsigned i = 0; i < 20 && i * 99 <= n; i++)
			(void)get(&reader, numbered("w", n - i * 99), &number);
		while (php_hone_store_to_pack(&writer) != NULL)
			php_hone_fetch_end(&writer);
		if (n % 30 == 29)
			php_hone_member_unpin(&reader);
	}
	assert_in_range(info_of(&writer).closed_slots, 0, 5);
}

/* To close slots again would free nothing. */
PAIR_TEST(requests_are_not_closed_for_warm_values_of_closed_ones)
{
	struct php_hone_member young;
	uint64_t number = 0;
	writer.packs = true;
	php_hone_member_pin(&reader);
	for (unsigned n = 0; n < 3400; n++) {
		assert_ok(put_form(&writer, numbered("h", n), n, BYTES, false));
		if (n % 64 < 24)
			assert_ok(get(&reader, numbered("h", n), &number));
	}
	php_hone_readers_close(writer.store, 0);
	assert_ok(php_hone_member_join(&young, writer.store));
	php_hone_member_pin(&young);
	for (unsigned n = 0; n < 7000; n++) {
		bool cold = presses();
		assert_ok(put_form(&writer, numbered("w", n), n,
			cold ? BYTES / 4 : BYTES, cold));
		pack_all(&writer);
	}
	assert_int_equal(info_of(&writer).closed_slots, 1);
	php_hone_member_unpin(&young);
	php_hone_member_leave(&young);
	php_hone_member_unpin(&reader);
}

/* Units that the hand passed in a store. It makes less than one turn. */
static uint32_t
passed_by_a_store(unsigned number)
{
	const struct php_hone_shard *shard = &writer.store->shards[0];
	uint32_t from = shard->hand;
	assert_ok(
		put_form(&writer, numbered("c", number), number, BYTES, true));
	return (shard->hand >= from ? 0 : shard->end - shard->first) +
	       shard->hand - from;
}

/* While readers have so many warm values, the hand makes few turns for 1000
 * stores of cold ones: the mutex is not held for a search in vain. */
static void
cold_values_go(unsigned had)
{
	const struct php_hone_shard *shard = &writer.store->shards[0];
	unsigned cold = 0;
	uint64_t passed = 0;
	hold(had);
	for (; !presses(); cold++)
		passed_by_a_store(cold);
	looks = 0;
	for (unsigned end = cold + 1000; cold < end; cold++)
		passed += passed_by_a_store(cold);
	assert_true(looks < 50 * 1000);
	assert_true(passed < 8 * (uint64_t)(shard->end - shard->first));
	php_hone_member_unpin(&reader);
}

PAIR_TEST(cold_values_go_if_readers_have_many_warm_ones)
{
	cold_values_go(700);
}

PAIR_TEST(cold_values_go_if_readers_have_most_values)
{
	cold_values_go(2900);
}
