/* SPDX-License-Identifier: BSD-3-Clause */
/* What a reader does not hold back: walks, tags, fetches that end soon; and
 * what is done before it holds back too much. */
#include <time.h>
#include "index.h"
#include "store_support.h"

/* The fetch of the reader ends while a store waits for the n-th time. */
static unsigned waits, end_at;
/* The request of the reader ends in the n-th pause without the mutex. */
static unsigned pauses, leave_at;

STANDS_FOR(int, nanosleep, const struct timespec *time, struct timespec *left)
{
	(void)left;
	if (time->tv_nsec < 1000000) {
		if (++waits == end_at)
			php_hone_fetch_end(&reader);
		return 0;
	}
	/* A failed assertion would keep the mutex, and the teardown hang. */
	struct php_hone_shard *shard = &reader.store->shards[0];
	if (!php_hone_trylock(&reader, shard))
		return 0;
	php_hone_unlock(shard);
	if (++pauses == leave_at)
		php_hone_member_unpin(&reader);
	return 0;
}

FIXTURE(setup)
{
	waits = end_at = pauses = leave_at = 0;
	pair_setup(state);
	php_hone_member_pin(&reader);
	return 0;
}

FIXTURE(teardown)
{
	php_hone_member_unpin(&reader);
	return pair_teardown(state);
}

#define STORE_TEST(name) TEST_WITH(name, setup, teardown)

static void
fill(void)
{
	for (unsigned i = 0; i < 4000; i++)
		assert_ok(put(&writer, numbered("k", i), i, 1000));
}

/* A value for which most others have to go. */
static int
put_largest(void)
{
	return put(&writer, "large", 1, info_of(&writer).largest_value);
}

STORE_TEST(a_walk_holds_nothing_back)
{
	uint64_t cursor = 0;
	unsigned n = 0;
	fill();
	php_hone_store_walk(&reader, &cursor, count_whole, &n);
	assert_true(n > 1000);
	assert_int_equal(put_largest(), 0);
}

STORE_TEST(a_fetch_of_a_tagged_entry_holds_its_chain_alone)
{
	struct php_hone_key key = key_of("tagged"), tag = key_of("tag");
	struct php_hone_room room = {
		.key = &key, .data = 100, .tags = &tag, .n_tags = 1};
	uint64_t number = 0;
	assert_ok(put_room(&writer, &room, 7));
	const struct php_hone_entry *found = php_hone_fetch_find(&reader, &key);
	assert_non_null(found);
	fill();
	/* A value as large as can be would need the entry's place. */
	assert_ok(put(&writer, "large", 1, 1000000));
	assert_int_equal(waits, 0);
	assert_int_equal(pauses, 0);
	assert_true(is_whole(found, &number) && number == 7);
	php_hone_fetch_end(&reader);
}

STORE_TEST(a_store_waits_for_a_fetch_that_may_have_anything)
{
	fill();
	php_hone_fetch_begin(&reader);
	end_at = 3;
	assert_int_equal(put_largest(), 0);
	assert_int_equal(waits, 3);
}

/* Until nothing more can be stored. What was evicted is held back. */
static void
fill_beside_a_fetch(void)
{
	unsigned i = 0;
	php_hone_fetch_begin(&reader);
	while (put(&writer, numbered("k", i), i, 0) == 0)
		assert_in_range(++i, 0, 100000);
	time_passes(100);
	waits = pauses = 0;
	end_at = 1;
}

STORE_TEST(a_claim_waits_for_a_fetch_that_may_have_anything)
{
	fill_beside_a_fetch();
	assert_ok(claim(&writer, "claimed", 10));
	assert_int_equal(waits, 1);
	assert_int_equal(pauses, 0);
}

STORE_TEST(a_tag_waits_for_a_fetch_that_may_have_anything)
{
	struct php_hone_key key = key_of("tagged"), tag = key_of("tag");
	struct php_hone_room room = {
		.key = &key, .data = 100, .tags = &tag, .n_tags = 1};
	fill_beside_a_fetch();
	assert_ok(put_room(&writer, &room, 7));
	assert_int_equal(waits, 1);
	assert_int_equal(pauses, 0);
}

STORE_TEST(a_store_does_not_wait_for_long)
{
	fill();
	php_hone_fetch_begin(&reader);
	assert_int_equal(put_largest(), -ENOMEM);
	assert_in_range(waits, 1, 20);
	assert_in_range(pauses, 1, 20);
	php_hone_fetch_end(&reader);
}

/* A young request has found something in each part of the memory. */
static void
read_all(void)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < 4000; i++)
		(void)get(&reader, numbered("k", i), &number);
}

STORE_TEST(a_store_waits_for_a_request_that_ends)
{
	fill();
	read_all();
	leave_at = 3;
	assert_ok(put(&writer, "new", 1, 100000));
	assert_int_equal(pauses, 3);
	/* For a minute, requests copy what they fetch. */
	php_hone_member_pin(&reader);
	assert_false(is_open(&reader));
	time_passes(60000);
	php_hone_member_unpin(&reader);
	php_hone_member_pin(&reader);
	assert_true(is_open(&reader));
}

STORE_TEST(a_store_beside_a_request_without_end_fails)
{
	struct php_hone_key key = key_of("k3999");
	uint64_t number = 0;
	fill();
	const struct php_hone_entry *entry = find_key(&reader, &key);
	read_all();
	assert_int_equal(put(&writer, "new", 1, 100000), -ENOMEM);
	assert_int_equal(pauses, 20);
	/* The next ones do not wait, for a moment. */
	assert_int_equal(put(&writer, "new", 1, 100000), -ENOMEM);
	assert_int_equal(pauses, 20);
	time_passes(100);
	assert_int_equal(put(&writer, "new", 1, 100000), -ENOMEM);
	assert_int_equal(pauses, 40);
	assert_true(is_whole(entry, &number) && number == 3999);
}

/* A young request that has all values, and then all new ones, and so on. */
static void
replace_what_a_young_request_has(unsigned keys, size_t bytes, unsigned turns)
{
	uint64_t number = 0;
	for (unsigned i = 0; i < keys; i++)
		assert_ok(put(&writer, numbered("key", i), 0, bytes));
	for (unsigned i = 0; i < turns * keys; i++) {
		const char *name = numbered("key", i % keys);
		assert_ok(put(&writer, name, i, bytes));
		assert_ok(get(&reader, name, &number));
	}
	assert_false(is_open(&reader));
}

STORE_TEST(a_store_closes_slots_before_it_fails)
{
	replace_what_a_young_request_has(
		(unsigned)(info_of(&writer).size / 5 / 20000), 20000, 10);
}

STORE_TEST(a_store_into_a_full_cache_closes_slots_before_it_fails)
{
	replace_what_a_young_request_has(
		(unsigned)(info_of(&writer).size / 10 * 9 / 2176), 2000, 10);
}

/* What waits for the reader is many times what is live, and evicting would free
 * little. */
STORE_TEST(little_that_is_live_is_not_evicted_for_what_is_held_back)
{
	struct php_hone_store_info info = info_of(&writer);
	replace_what_a_young_request_has(
		(unsigned)(info.size / 16 / 7000), 7000, 40);
	assert_int_equal(info_of(&writer).evictions, 0);
}

/* One request that is closed holds much back, and others come and go. */
STORE_TEST(requests_are_not_closed_again_for_what_is_held_already)
{
	struct php_hone_member young = {0};
	struct php_hone_store_info info = info_of(&writer);
	unsigned keys = (unsigned)(info.size / 16 / 7000), open = 0;
	replace_what_a_young_request_has(keys, 7000, 40);
	assert_ok(php_hone_member_join(&young, writer.store));
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t number = 0;
		php_hone_member_pin(&young);
		for (unsigned k = 0; k < 3; k++) {
			const char *name = numbered("key", (i + k) % keys);
			assert_ok(get(&young, name, &number));
			assert_ok(put(&writer, name, i, 7000));
		}
		open += is_open(&young);
		php_hone_member_unpin(&young);
	}
	assert_in_range(open, 990, 1000);
	assert_int_equal(info_of(&writer).evictions, 0);
	php_hone_member_leave(&young);
}

/* A request that fetches one key again and again, which another one replaces.
 * `within`: it copies the value, and each store comes before the copy's end. */
static void
replace_beside_a_long_request(size_t bytes, bool within)
{
	struct php_hone_key key = key_of("key");
	unsigned turns = (unsigned)(10000000 / bytes);
	assert_ok(put(&writer, "key", 0, bytes));
	for (unsigned i = 0; i < turns; i++) {
		assert_non_null(php_hone_fetch_find(&reader, &key));
		if (!within)
			php_hone_fetch_end(&reader);
		assert_ok(put(&writer, "key", i, bytes));
		if (within)
			php_hone_fetch_end(&reader);
	}
}

/* Up to a quarter of the cache: one value is kept by the request, one is being
 * copied, and one takes its place. */
static const size_t sizes[] = {
	2000, 10000, 50000, 100000, 200000, 400000, 600000, 900000};

STORE_TEST(a_key_is_replaced_beside_a_long_request_without_failure)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		replace_beside_a_long_request(sizes[i], false);
		assert_ok(teardown(state));
		setup(state);
	}
	/* Of two fifths, the request has one, and copies the others. */
	replace_beside_a_long_request(1700000, false);
}

STORE_TEST(a_key_is_replaced_while_a_long_request_copies_it_without_failure)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		replace_beside_a_long_request(sizes[i], true);
		assert_ok(teardown(state));
		setup(state);
	}
}

/* What was born between the ends of two closed requests is held back only by
 * the one that was closed later, and only where that one found something. */
STORE_TEST(a_closed_request_holds_nothing_back_for_another)
{
	struct php_hone_member young = {0};
	uint64_t number = 0;
	assert_ok(put(&writer, "old", 0, 100));
	assert_ok(get(&reader, "old", &number));
	php_hone_member_close(&reader);
	/* Counts an epoch. */
	assert_ok(put(&writer, "counted", 0, 100));
	struct php_hone_key counted = key_of("counted");
	assert_ok(php_hone_store_delete(&writer, &counted));
	assert_ok(put(&writer, "beside it", 0, 1000000));
	assert_ok(put(&writer, "far", 0, 100));
	assert_ok(php_hone_member_join(&young, writer.store));
	php_hone_member_pin(&young);
	assert_ok(get(&young, "far", &number));
	php_hone_member_close(&young);
	php_hone_store_clear(&writer);
	assert_in_range(info_of(&writer).retired, 1, 1000);
	php_hone_member_unpin(&young);
	php_hone_member_leave(&young);
}

STORE_TEST(the_holders_of_memory_are_named)
{
	struct php_hone_holder holders[2];
	struct php_hone_member more[2] = {{0}, {0}};
	uint64_t number = 0;
	assert_ok(put(&writer, "small", 0, 1000));
	assert_ok(put(&writer, "large", 0, 100000));
	assert_ok(put(&writer, "larger", 0, 200000));
	for (unsigned i = 0; i < 2; i++) {
		assert_ok(php_hone_member_join(&more[i], writer.store));
		php_hone_member_pin(&more[i]);
	}
	assert_ok(get(&reader, "large", &number));
	assert_ok(get(&more[0], "larger", &number));
	assert_ok(get(&more[1], "small", &number));
	assert_int_equal(php_hone_store_holders(&writer, holders, 2), 0);
	php_hone_store_clear(&writer);
	assert_int_equal(php_hone_store_holders(&writer, holders, 2), 2);
	assert_int_equal(holders[0].pid, getpid());
	assert_int_equal(holders[1].pid, getpid());
	assert_int_not_equal(holders[0].slot, holders[1].slot);
	assert_in_range(holders[0].bytes, 200000, 201000);
	assert_in_range(holders[1].bytes, 100000, 101000);
	assert_in_range(holders[1].seconds, 0, 3600);
	php_hone_member_unpin(&reader);
	assert_int_equal(php_hone_store_holders(&writer, holders, 2), 2);
	assert_in_range(holders[1].bytes, 1000, 2000);
	php_hone_member_pin(&reader);
	for (unsigned i = 0; i < 2; i++) {
		php_hone_member_unpin(&more[i]);
		php_hone_member_leave(&more[i]);
	}
	assert_int_equal(php_hone_store_holders(&writer, holders, 2), 0);
}

STORE_TEST(each_of_many_holders_is_counted_once)
{
	struct php_hone_holder holders[50];
	struct php_hone_member more[40] = {{0}};
	bool seen[64] = {false};
	uint64_t number = 0;
	for (unsigned i = 0; i < 40; i++) {
		const char *name = numbered("key", i);
		assert_ok(put(&writer, name, i, 20000));
		assert_ok(php_hone_member_join(&more[i], writer.store));
		php_hone_member_pin(&more[i]);
		assert_ok(get(&more[i], name, &number));
	}
	php_hone_store_clear(&writer);
	assert_int_equal(php_hone_store_holders(&writer, holders, 50), 40);
	for (unsigned i = 0; i < 40; i++) {
		assert_in_range(holders[i].bytes, 20000, 65000);
		assert_in_range(holders[i].slot, 0, 63);
		assert_false(seen[holders[i].slot]);
		seen[holders[i].slot] = true;
	}
	for (unsigned i = 0; i < 40; i++) {
		php_hone_member_unpin(&more[i]);
		php_hone_member_leave(&more[i]);
	}
}
