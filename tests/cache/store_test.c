/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is stored under a key is found, until it is replaced, deleted or
 * expires; and each function returns the errors that store.h lists.
 */
#include "arena.h"
#include "index.h"
#include "inner.h"
#include "store_support.h"

MEMBER_TEST(what_is_stored_is_found)
{
	struct php_hone_member *m = *state;
	expect_none(m, "a");
	assert_ok(put(m, "a", 1, 100));
	assert_ok(put(m, "b", 2, 0));
	assert_ok(put(m, "", 3, 1000));
	assert_ok(put(m, "large", 4, 1000000));
	expect(m, "a", 1);
	expect(m, "b", 2);
	expect(m, "", 3);
	expect(m, "large", 4);
	assert_ok(put(m, "a", 5, 70000));
	expect(m, "a", 5);
}

MEMBER_TEST(keys_of_one_hash_are_told_apart)
{
	struct php_hone_member *m = *state;
	/* "Ez" and "FY" have one hash: 33 * ('F' - 'E') == 'z' - 'Y'. */
	assert_int_equal(key_of("Ez").hash, key_of("FY").hash);
	assert_ok(put(m, "Ez", 1, 10));
	expect_none(m, "FY");
	assert_ok(put(m, "FY", 2, 10));
	assert_ok(put(m, "EzEz", 3, 10));
	assert_ok(put(m, "FYEz", 4, 10));
	expect(m, "Ez", 1);
	expect(m, "FY", 2);
	assert_ok(erase(m, "EzEz"));
	expect(m, "FYEz", 4);
	expect_none(m, "EzEz");
}

static int
publish(struct php_hone_member *m, const char *name, uint64_t number,
	enum php_hone_publish how)
{
	struct php_hone_key key = key_of(name);
	struct php_hone_room room = {.key = &key, .data = 50};
	struct php_hone_entry *entry;
	assert_ok(reserve(m, &room, number, &entry));
	return php_hone_store_publish(m, entry, how);
}

MEMBER_TEST(add_and_replace_go_by_what_exists)
{
	struct php_hone_member *m = *state;
	assert_int_equal(publish(m, "k", 1, PHP_HONE_REPLACE), -ENOENT);
	expect_none(m, "k");
	assert_ok(publish(m, "k", 2, PHP_HONE_ADD));
	assert_int_equal(publish(m, "k", 3, PHP_HONE_ADD), -EEXIST);
	expect(m, "k", 2);
	assert_ok(publish(m, "k", 4, PHP_HONE_REPLACE));
	expect(m, "k", 4);
}

MEMBER_TEST(delete_removes_one_key)
{
	struct php_hone_member *m = *state;
	assert_int_equal(erase(m, "k"), -ENOENT);
	assert_ok(put(m, "k", 1, 64));
	assert_ok(put(m, "l", 2, 64));
	assert_ok(erase(m, "k"));
	expect_none(m, "k");
	expect(m, "l", 2);
	assert_int_equal(erase(m, "k"), -ENOENT);
}

MEMBER_TEST(delete_entry_spares_a_newer_one)
{
	struct php_hone_member *m = *state;
	assert_ok(put(m, "k", 1, 64));
	const struct php_hone_entry *old = find(m, "k");
	assert_true(m->open);
	assert_ok(put(m, "k", 2, 64));
	assert_int_equal(php_hone_store_delete_entry(m, old), -ENOENT);
	expect(m, "k", 2);
	const struct php_hone_entry *new = find(m, "k");
	assert_ok(php_hone_store_delete_entry(m, new));
	expect_none(m, "k");
	/* Both are as they were: the pin keeps them. */
	uint64_t number = 0;
	assert_true(is_whole(old, &number) && number == 1);
	assert_true(is_whole(new, &number) && number == 2);
}

MEMBER_TEST(change_is_in_place)
{
	struct php_hone_member *m = *state;
	struct php_hone_key key = key_of("n");
	struct php_hone_change add = {.type = 7, .by = 1};
	struct php_hone_change swap = {
		.type = 7, .compare = true, .old = 8, .by = 5};
	assert_int_equal(php_hone_store_change(m, &key, &add), -ENOENT);
	assert_ok(put(m, "n", 7, 0));
	assert_int_equal(php_hone_store_change(m, &key, &swap), -ECANCELED);
	assert_ok(php_hone_store_change(m, &key, &add));
	assert_int_equal(add.result, 8);
	add.type = 6;
	assert_int_equal(php_hone_store_change(m, &key, &add), -ECANCELED);
	const struct php_hone_entry *entry = find_key(m, &key);
	assert_int_equal(entry->value[0], 8);
	assert_ok(php_hone_store_change(m, &key, &swap));
	assert_int_equal(swap.result, 5);
	assert_int_equal(entry->value[0], 5);
	assert_int_equal(entry->value[1], 7);

	/* What has flags is not a number. */
	struct php_hone_room room = {.key = &key, .data = PART};
	struct php_hone_entry *flagged;
	assert_ok(reserve_part(m, &room, 7, &flagged));
	assert_ok(php_hone_store_publish(m, flagged, PHP_HONE_STORE));
	add.type = 7;
	assert_int_equal(php_hone_store_change(m, &key, &add), -ECANCELED);
}

MEMBER_TEST(clear_removes_all)
{
	struct php_hone_member *m = *state;
	unsigned ends = 0, i = 0;
	for (; i < 1000 || ends < 20; i++) {
		const char *name = numbered("", i);
		uint32_t chain =
			php_hone_place(m->store, key_of(name).hash).bucket;
		bool at_end = chain == 0 || chain == m->store->bucket_mask;
		ends += at_end;
		if (i < 1000 || at_end)
			assert_ok(put(m, name, i, i % 1000));
	}
	struct php_hone_store_info info = info_of(m);
	assert_in_range(info.entries, 1000, 1020);
	expect(m, "5", 5);
	php_hone_store_clear(m);
	info = info_of(m);
	assert_int_equal(info.entries, 0);
	assert_int_equal(info.hits, 0);
	expect_none(m, "5");
	expect_none(m, numbered("", i - 1));
	assert_ok(put(m, "5", 6, 7));
	expect(m, "5", 6);
}

/* Each count takes the entry's line from the other CPUs. */
MEMBER_TEST(hits_are_counted_rarely_and_rightly)
{
	struct php_hone_member *m = *state;
	assert_ok(put(m, "k", 1, 1));
	struct php_hone_key key = key_of("k");
	uint32_t counts = 0, before = 0;
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t hits = find_key(m, &key)->hits;
		counts += hits != before;
		before = hits;
	}
	assert_in_range(before, 100000 - 256, 100000 + 256);
	assert_in_range(counts, 500, 700);
}

MEMBER_TEST(sizes_and_keys_have_limits)
{
	struct php_hone_member *m = *state;
	struct php_hone_store_info info = info_of(m);
	assert_int_equal(put(m, "k", 1, info.largest_value + 256), -EFBIG);
	assert_int_equal(put(m, "k", 1, SIZE_MAX), -EFBIG);
	assert_int_equal(put(m, "k", 1, SIZE_MAX / 2), -EFBIG);
	char *name = malloc(PHP_HONE_KEY_MOST + 2);
	assert_non_null(name);
	memset(name, 'x', PHP_HONE_KEY_MOST + 1);
	name[PHP_HONE_KEY_MOST + 1] = '\0';
	assert_int_equal(put(m, name, 1, 1), -EINVAL);
	name[PHP_HONE_KEY_MOST] = '\0';
	assert_ok(put(m, name, 2, 100));
	expect(m, name, 2);
	free(name);
	/* All else goes for the largest one. */
	php_hone_member_unpin(m);
	assert_ok(put(m, "k", 3, info.largest_value));
	php_hone_member_pin(m);
	expect(m, "k", 3);
}

TEST(small_stores_take_large_values)
{
	struct php_hone_member m = join_new_store((size_t)32 << 20, 0);
	assert_ok(put(&m, "large", 1, (size_t)14 << 20));
	expect(&m, "large", 1);
	end_store(&m);
}

TEST(wrong_attributes_are_refused)
{
	struct php_hone_store *store = NULL;
	struct php_hone_store_attr attr = {.size = 1000};
	assert_int_equal(php_hone_store_create(&store, &attr), -EINVAL);
	assert_null(store);
	attr.size = SIZE_MAX;
	assert_int_equal(php_hone_store_create(&store, &attr), -EINVAL);
}

MEMBER_TEST(cancelled_blocks_are_free_again)
{
	struct php_hone_member *m = *state;
	struct php_hone_store_info before = info_of(m), info;
	struct php_hone_key key = key_of("k");
	struct php_hone_entry *entry;
	for (size_t bytes = 10; bytes < 1000000; bytes *= 100) {
		struct php_hone_room room = {.key = &key, .data = bytes};
		assert_ok(reserve(m, &room, 1, &entry));
		php_hone_store_cancel(m, entry);
		/* Left as by longjmp(): the next call cancels it. */
		assert_ok(reserve(m, &room, 1, &entry));
		expect_none(m, "k");
		info = info_of(m);
		assert_int_equal(info.free, before.free);
		/* So does the last unpin. */
		assert_ok(reserve(m, &room, 1, &entry));
		php_hone_member_unpin(m);
		assert_null(m->reserved);
		php_hone_member_pin(m);
	}
	info = info_of(m);
	assert_int_equal(info.free, before.free);
	assert_int_equal(info.entries, 0);
}

MEMBER_TEST(the_map_shows_what_is_where)
{
	struct php_hone_member *m = *state;
	unsigned char map[64];
	unsigned n[4] = {0};
	uint64_t number = 0;
	assert_ok(put(m, "k", 1, 2000000));
	/* So that it stays when it is replaced. */
	assert_ok(get(m, "k", &number));
	assert_ok(put(m, "k", 2, 1000000));
	php_hone_store_map(m, map, sizeof map);
	for (unsigned i = 0; i < sizeof map; i++) {
		assert_in_range(map[i], 0, 3);
		n[map[i]]++;
	}
	assert_in_range(n[1], 6, 9);
	assert_in_range(n[2], 13, 17);
	assert_int_equal(map[0], 3);
	assert_int_equal(map[63], 0);
}

TEST(readers_of_a_protected_store_cannot_write)
{
	struct php_hone_store *store = NULL;
	struct php_hone_store_attr attr = {
		.size = (size_t)2 << 20, .protect = true};
	struct php_hone_member m;
	assert_ok(php_hone_store_create(&store, &attr));
	assert_ok(php_hone_member_join(&m, store));
	assert_ok(put(&m, "k", 1, 100));
	php_hone_member_pin(&m);
	const struct php_hone_entry *entry = find(&m, "k");
	uint64_t number = 0;
	assert_true(is_whole(entry, &number));
	unsigned char *writable =
		store->rw + ((const unsigned char *)entry - store->ro);
	assert_ptr_not_equal(writable, entry);
	assert_ptr_equal(php_hone_store_view(store, writable), entry);

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile unsigned char *)((unsigned char *)(uintptr_t)entry +
					    entry->data_at) = 1;
		_exit(0);
	}
	/* A sanitizer turns the signal into an exit status. */
	assert_int_not_equal(support_end_of(pid), 0);
	assert_true(is_whole(entry, &number) && number == 1);
	php_hone_member_unpin(&m);
	end_store(&m);
}

/* Which free block of a shard becomes a value. */

static struct php_hone_store *store;
static struct php_hone_shard *shard;

FIXTURE(setup)
{
	store = make_store((size_t)4 << 20, 1);
	shard = &store->shards[0];
	return 0;
}

FIXTURE(teardown)
{
	php_hone_store_unmap(store);
	return 0;
}

static uint32_t
alloc(uint32_t units)
{
	uint32_t offset = php_hone_arena_alloc(shard, units);
	assert_true(offset != 0);
	assert_int_equal(php_hone_units_at(shard, offset), units);
	return offset;
}

/* Behind the lists of quick blocks lie the heads of the other lists. */
TEST_WITH(a_block_that_is_too_large_to_be_quick_has_its_size, setup, teardown)
{
	enum { LEAST = 2, MOST = 40 };
	uint32_t small[MOST];
	for (uint32_t units = LEAST; units < MOST; units++) {
		small[units] = alloc(units);
		/* Two free neighbours would be one block. */
		alloc(1);
	}
	for (uint32_t units = LEAST; units < MOST; units++)
		php_hone_arena_free(shard, small[units]);
	for (uint32_t units = LEAST; units < MOST; units++)
		assert_int_not_equal(
			alloc(PHP_HONE_QUICK_SIZES + units), small[units]);
}

/* Both free blocks are in the last list, and the first one is too small. */
TEST_WITH(the_largest_block_is_found_behind_another_one, setup, teardown)
{
	uint32_t large = alloc(1055);
	alloc(1);
	uint32_t less = alloc(1024);
	alloc(1);
	alloc(php_hone_arena_largest(shard));
	assert_int_equal(php_hone_free_units(shard), 0);
	php_hone_arena_free(shard, large);
	php_hone_arena_free(shard, less);
	assert_int_equal(alloc(1055), large);
	assert_int_equal(alloc(1024), less);
}

/*
 * Keys that share a chain of the index: each is found by itself, and if they
 * were chosen for one chain, its length has a bound.
 */

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
		assert_ok(put(m, name, i, 10));
	}
	for (unsigned change = 0; change < 10; change++) {
		name_of_one_hash(name, change % 5);
		struct php_hone_key key = key_of(name);
		if (change < 5)
			assert_ok(put(m, name, 5 + change, 10));
		else
			assert_ok(php_hone_store_delete(m, &key));
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
	assert_ok(put_room(m, &room, 1));
	assert_non_null(find_key(m, &keys[0]));
	assert_null(find_key(m, &keys[1]));
	room.key = &keys[1];
	assert_ok(put_room(m, &room, 2));
	assert_int_equal(find_key(m, &keys[0])->value[1], 1);
	assert_int_equal(find_key(m, &keys[1])->value[1], 2);
	assert_null(find_key(m, &keys[2]));
}

MEMBER_TEST(keys_of_one_hash_fill_one_chain_alone)
{
	struct php_hone_member *m = *state;
	char name[32];
	uint64_t is = 0;
	assert_ok(put(m, "other", 7, 10));
	for (unsigned i = 0; i < 4096; i++) {
		name_of_one_hash(name, i);
		assert_ok(put(m, name, i, 10));
		/* Used: it stays, however many come after it. */
		name_of_one_hash(name, 0);
		assert_true(has(m, name, 0));
	}
	struct php_hone_store_info info = info_of(m);
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
	assert_ok(php_hone_member_join(&other, m->store));
	assert_ok(claim(&other, name, 100));
	for (unsigned i = 0; i < 1000; i++) {
		char each[32];
		name_of_one_hash(each, i);
		assert_ok(put(m, each, i, 10));
	}
	assert_int_equal(claim(m, name, 100), -EBUSY);
	php_hone_member_leave(&other);
}

/*
 * What the next owner of a mutex finds, made by hand: steps that a kill at a
 * random instruction seldom meets.
 */

static void
recover(void)
{
	php_hone_lock(&writer, &writer.store->shards[0]);
	php_hone_recover(&writer.store->shards[0]);
	php_hone_unlock(&writer.store->shards[0]);
}

/* A writer that was killed after it unlinked an entry, and before it retired
 * the entry. */
PAIR_TEST(what_a_dead_writer_unlinked_stays)
{
	assert_ok(put(&writer, "k", 1, 5000));
	php_hone_member_pin(&reader);
	const struct php_hone_entry *entry = find(&reader, "k");
	assert_non_null(entry);
	uint32_t *link = php_hone_link_of(writer.store, entry->hash,
		php_hone_offset(writer.store, entry));
	assert_non_null(link);
	php_hone_link(link, entry->next);
	recover();
	uint64_t number = 0;
	assert_int_equal(get(&writer, "k", &number), -ENOENT);
	for (unsigned i = 0; i < 20000; i++)
		assert_ok(put(&writer, numbered("", i), i, 300));
	assert_true(is_whole(entry, &number));
	assert_int_equal(number, 1);
	php_hone_member_unpin(&reader);
}

/* The slot of a member has a block until its entry is published. */
PAIR_TEST(reservations_end_when_they_are_published)
{
	struct php_hone_key key = key_of("large");
	struct php_hone_room room = {.key = &key, .data = 40000};
	struct php_hone_entry *entry;
	uint64_t number = 0;
	assert_ok(reserve(&reader, &room, 5, &entry));
	uint32_t offset = php_hone_offset(writer.store, entry);
	assert_int_equal(reader.slot->reserved, offset);
	/* It still fills the block. */
	recover();
	assert_int_equal(reader.slot->reserved, offset);
	assert_ok(php_hone_store_publish(&reader, entry, PHP_HONE_STORE));
	assert_ok(get(&writer, "large", &number));
	/* As if it was killed before it cleared the slot. */
	reader.slot->reserved = offset;
	recover();
	assert_int_equal(reader.slot->reserved, 0);
	assert_ok(get(&writer, "large", &number));
	assert_int_equal(number, 5);
}
