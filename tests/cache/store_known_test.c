/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries that a request has found before: each way in which an entry ends, and
 * threads, none of which goes back to an older value.
 */
#include <sched.h>
#include <stdatomic.h>
#include "store_support.h"

/* The number of the value that is known, or 0. */
static uint64_t
known(struct php_hone_member *member, const char *name)
{
	struct php_hone_key key = key_of(name);
	const struct php_hone_entry *entry = php_hone_store_known(member, &key);
	uint64_t number = 0;
	if (entry != NULL)
		assert_true(is_whole(entry, &number));
	return number;
}

static uint64_t
found(struct php_hone_member *member, const char *name)
{
	uint64_t number = 0;
	assert_ok(get(member, name, &number));
	return number;
}

PAIR_TEST(what_was_found_is_known)
{
	assert_ok(put(&writer, "k", 1, 100));
	php_hone_member_pin(&reader);
	assert_int_equal(known(&reader, "k"), 0);
	assert_int_equal(found(&reader, "k"), 1);
	assert_int_equal(known(&reader, "k"), 1);
	/* Some of these have the same place in the table. */
	for (unsigned i = 0; i < 10 * PHP_HONE_KNOWN; i++)
		assert_int_equal(known(&reader, numbered("other", i)), 0);
	struct php_hone_store_info info = info_of(&writer);
	assert_int_equal(info.hits, 2);
	assert_int_equal(info.misses, 0);
	php_hone_member_unpin(&reader);
	php_hone_member_pin(&reader);
	assert_int_equal(known(&reader, "k"), 0);
	php_hone_member_unpin(&reader);
}

PAIR_TEST(what_ended_is_not_known)
{
	struct php_hone_key key = key_of("k");
	uint64_t number;
	assert_ok(put(&writer, "k", 1, 100));
	php_hone_member_pin(&reader);
	assert_int_equal(found(&reader, "k"), 1);
	assert_ok(put(&writer, "k", 2, 100));
	assert_int_equal(known(&reader, "k"), 0);
	assert_int_equal(found(&reader, "k"), 2);
	assert_int_equal(known(&reader, "k"), 2);
	assert_ok(php_hone_store_delete(&writer, &key));
	assert_int_equal(known(&reader, "k"), 0);
	assert_ok(put(&writer, "k", 3, 100));
	assert_int_equal(found(&reader, "k"), 3);
	php_hone_store_clear(&writer);
	assert_int_equal(known(&reader, "k"), 0);
	assert_ok(put(&writer, "k", 4, 100));
	assert_int_equal(found(&reader, "k"), 4);
	for (unsigned i = 0; i < 30000; i++)
		assert_ok(put(&writer, numbered("key", i), 5, 1000));
	assert_int_equal(get(&writer, "k", &number), -ENOENT); /* evicted */
	assert_int_equal(known(&reader, "k"), 0);
	php_hone_member_unpin(&reader);
}

/* Two keys of one chain: to clear it ends the second one, too. */
PAIR_TEST(a_cleared_chain_is_not_known)
{
	php_hone_member_pin(&reader);
	for (unsigned i = 0; i < 5000; i++)
		assert_ok(put(&writer, numbered("key", i), i + 1, 10));
	for (unsigned i = 4990; i < 5000; i++)
		assert_int_equal(found(&reader, numbered("key", i)), i + 1);
	php_hone_store_clear(&writer);
	for (unsigned i = 4990; i < 5000; i++)
		assert_int_equal(known(&reader, numbered("key", i)), 0);
	php_hone_member_unpin(&reader);
}

/* Time and tags end an entry without its mark. */
PAIR_TEST(what_ends_by_itself_is_never_known)
{
	struct php_hone_key key = key_of("k"), tag = key_of("t");
	struct php_hone_room room = {.key = &key, .data = 10, .ttl = 100};
	assert_ok(put_room(&writer, &room, 1));
	php_hone_member_pin(&reader);
	assert_int_equal(found(&reader, "k"), 1);
	assert_int_equal(known(&reader, "k"), 0);
	room = (struct php_hone_room){
		.key = &key, .data = 10, .tags = &tag, .n_tags = 1};
	assert_ok(put_room(&writer, &room, 2));
	assert_int_equal(found(&reader, "k"), 2);
	assert_int_equal(known(&reader, "k"), 0);
	php_hone_member_unpin(&reader);
}

PAIR_TEST(a_closed_slot_learns_nothing)
{
	assert_ok(put(&writer, "old", 1, 100));
	assert_ok(put(&writer, "k", 2, 100));
	php_hone_member_pin(&reader);
	assert_int_equal(found(&reader, "old"), 1);
	php_hone_member_close(&reader);
	assert_int_equal(found(&reader, "k"), 2);
	assert_int_equal(known(&reader, "k"), 0);
	/* What the slot keeps until its end is as good as before. */
	assert_int_equal(known(&reader, "old"), 1);
	php_hone_member_unpin(&reader);
}

/* A request that counts on the mark of an entry: its memory stays. */
PAIR_TEST(what_is_known_is_not_freed)
{
	struct php_hone_key key = key_of("k");
	assert_ok(put(&writer, "k", 1, 5000));
	php_hone_member_pin(&reader);
	assert_int_equal(found(&reader, "k"), 1);
	const struct php_hone_entry *entry =
		php_hone_store_known(&reader, &key);
	assert_non_null(entry);
	for (unsigned i = 0; i < 2000; i++)
		assert_ok(put(&writer, "k", i + 2, 5000));
	uint64_t number = 0;
	assert_true(is_whole(entry, &number));
	assert_int_equal(number, 1);
	php_hone_member_unpin(&reader);
}

/* A key that is used much is so after it was stored again. */
PAIR_TEST(a_new_value_is_as_used_as_the_old_one)
{
	struct php_hone_key key = key_of("k");
	assert_ok(put(&writer, "k", 1, 100));
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(found(&reader, "k"), 1);
	assert_ok(put(&writer, "k", 2, 100));
	assert_int_equal(php_hone_fetch_peek(&reader, &key)->used, 3);
	php_hone_fetch_end(&reader);
}

/* ---- threads ---- */

#define READERS 2
#define STORES (60000 / SLOW)
#define TURNS 50

static _Atomic uint64_t newest;
static _Atomic bool done;
static _Atomic unsigned errors, known_hits, ready;

static uint64_t
number_of(struct php_hone_member *m)
{
	struct php_hone_key key = key_of("k");
	uint64_t number = 0;
	const struct php_hone_entry *entry = php_hone_store_known(m, &key);
	if (entry != NULL) {
		known_hits++;
		return is_whole(entry, &number) ? number : 0;
	}
	return get(m, "k", &number) == 0 ? number : 0;
}

static void *
read_forward(void *opaque)
{
	struct php_hone_member m;
	if (php_hone_member_join(&m, opaque) != 0) {
		errors++;
		return NULL;
	}
	bool is_ready = false;
	while (!done) {
		php_hone_member_pin(&m);
		for (unsigned i = 0; i < TURNS; i++) {
			uint64_t seen = newest;
			uint64_t number = number_of(&m);
			errors += number < seen;
			while (seen < number && !atomic_compare_exchange_weak(
							&newest, &seen, number))
				;
		}
		php_hone_member_unpin(&m);
		ready += !is_ready;
		is_ready = true;
	}
	php_hone_member_leave(&m);
	return NULL;
}

PAIR_TEST(nobody_goes_back)
{
	pthread_t threads[READERS];
	assert_ok(put(&writer, "k", 1, 8));
	for (unsigned i = 0; i < READERS; i++)
		assert_ok(pthread_create(
			&threads[i], NULL, read_forward, writer.store));
	/* Else a busy machine may do all stores before the first fetch. */
	while (ready < READERS && errors == 0)
		sched_yield();
	for (unsigned i = 0; i < STORES; i++)
		assert_ok(put(&writer, "k", i + 2, 8));
	done = true;
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	printf("# %u times known\n", known_hits);
	assert_int_equal(errors, 0);
	assert_true(known_hits > 0);
}
