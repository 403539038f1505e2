/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that share a chain of the index: each is found by itself, and if they
 * were chosen for one chain, its length has a bound.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "store_support.h"
#include "index.h"

static bool
has(struct php_hone_member *m, const char *name, uint64_t number)
{
	uint64_t is = 0;
	return get(m, name, &is) == 0 && is == number;
}

/* Each bit of the number chooses one of two pairs of letters of one hash. */
static void
name_of_one_hash(char *name, unsigned number)
{
	for (unsigned i = 0; i < 12; i++)
		memcpy(name + 2 * i, number >> i & 1 ? "Ez" : "FY", 2);
	name[24] = '\0';
}

/* Each entry of a chain in turn is replaced, or deleted. */
MEMBER_TEST(a_change_leaves_the_rest_of_the_chain)
{
	struct php_hone_member *m = *state;
	char name[32];
	for (unsigned i = 0; i < 5; i++) {
		name_of_one_hash(name, i);
		assert_int_equal(put(m, name, i, 10), 0);
	}
	for (unsigned change = 0; change < 10; change++) {
		name_of_one_hash(name, change % 5);
		struct php_hone_key key = key_of(name);
		if (change < 5)
			assert_int_equal(put(m, name, 5 + change, 10), 0);
		else
			assert_int_equal(php_hone_store_delete(m, &key), 0);
		for (unsigned i = 0; i < 5; i++) {
			name_of_one_hash(name, i);
			bool there = change < 5 || i > change - 5;
			bool newer = change >= 5 || i <= change;
			assert_int_equal(
				has(m, name, newer ? 5 + i : i), there);
		}
	}
}

MEMBER_TEST(a_key_is_not_the_begin_of_another_one)
{
	struct php_hone_member *m = *state;
	struct php_hone_key keys[] = {
		{"begin and end", 13, 77}, {"begin", 5, 77}, {"bEgin", 5, 77}};
	struct php_hone_room room = {.key = &keys[0], .data = 10};
	struct php_hone_entry *entry;
	assert_int_equal(reserve(m, &room, 1, &entry), 0);
	assert_int_equal(php_hone_store_publish(m, entry, PHP_HONE_STORE), 0);
	assert_non_null(find_key(m, &keys[0]));
	assert_null(find_key(m, &keys[1]));
	room.key = &keys[1];
	assert_int_equal(reserve(m, &room, 2, &entry), 0);
	assert_int_equal(php_hone_store_publish(m, entry, PHP_HONE_STORE), 0);
	assert_int_equal(find_key(m, &keys[0])->value[1], 1);
	assert_int_equal(find_key(m, &keys[1])->value[1], 2);
	assert_null(find_key(m, &keys[2]));
}

MEMBER_TEST(keys_of_one_hash_fill_one_chain_alone)
{
	struct php_hone_member *m = *state;
	struct php_hone_store_info info;
	char name[32];
	uint64_t is = 0;
	assert_int_equal(put(m, "other", 7, 10), 0);
	for (unsigned i = 0; i < 4096; i++) {
		name_of_one_hash(name, i);
		assert_int_equal(put(m, name, i, 10), 0);
		/* Used: it stays, however many come after it. */
		name_of_one_hash(name, 0);
		assert_true(has(m, name, 0));
	}
	php_hone_store_info(m, &info);
	assert_int_equal(info.entries, PHP_HONE_CHAIN_MOST + 1);
	assert_int_equal(info.evictions, 4096 - PHP_HONE_CHAIN_MOST);
	assert_true(has(m, "other", 7));
	for (unsigned i = 1; i < 4096; i++) {
		name_of_one_hash(name, i);
		assert_int_equal(get(m, name, &is),
			i > 4096 - PHP_HONE_CHAIN_MOST ? 0 : -ENOENT);
	}
}

MEMBER_TEST(a_full_chain_keeps_its_claims)
{
	struct php_hone_member *m = *state;
	struct php_hone_member other;
	char name[32];
	name_of_one_hash(name, 4095);
	struct php_hone_key key = key_of(name);
	assert_int_equal(php_hone_member_join(&other, m->store), 0);
	assert_int_equal(php_hone_store_claim(&other, &key, 100), 0);
	for (unsigned i = 0; i < 1000; i++) {
		char each[32];
		name_of_one_hash(each, i);
		assert_int_equal(put(m, each, i, 10), 0);
	}
	assert_int_equal(php_hone_store_claim(m, &key, 100), -EBUSY);
	php_hone_member_leave(&other);
}
