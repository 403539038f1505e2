/* SPDX-License-Identifier: BSD-3-Clause */
/* A block that was reserved for more than its entry needs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store_support.h"

struct test {
	struct php_hone_store *store;
	struct php_hone_member member;
};

FIXTURE(setup)
{
	struct test *t = calloc(1, sizeof *t);
	assert_non_null(t);
	t->store = make_store((size_t)4 << 20, 1);
	assert_int_equal(php_hone_member_join(&t->member, t->store), 0);
	*state = t;
	return 0;
}

FIXTURE(teardown)
{
	struct test *t = *state;
	php_hone_member_leave(&t->member);
	php_hone_store_unmap(t->store);
	free(t);
	return 0;
}

#define STORE_TEST(name) TEST_WITH(name, setup, teardown)

static size_t
used(struct php_hone_member *m)
{
	struct php_hone_store_info info;
	php_hone_store_info(m, &info);
	return info.used;
}

static size_t
whole(struct php_hone_member *m)
{
	struct php_hone_store_info info;
	php_hone_store_info(m, &info);
	return info.whole;
}

static void
expect_sound(struct php_hone_member *m)
{
	const char *problem = php_hone_store_audit(m);
	if (problem != NULL)
		printf("# audit: %s\n", problem);
	assert_null(problem);
}

/* Reserve `had` bytes, shrink them, and publish. */
static void
put_shrunk(struct php_hone_member *m, const char *name, uint64_t number,
	size_t had, size_t bytes)
{
	struct php_hone_key key = key_of(name);
	struct php_hone_room room = {.key = &key, .image = had};
	struct php_hone_entry *entry;
	assert_int_equal(reserve(m, &room, number, &entry), 0);
	php_hone_store_shrink(m, entry, bytes);
	assert_int_equal(entry->image_size, bytes);
	assert_int_equal(php_hone_store_publish(m, entry, PHP_HONE_STORE), 0);
}

static void
expect(struct php_hone_member *m, const char *name, uint64_t number)
{
	uint64_t is = 0;
	assert_int_equal(get(m, name, &is), 0);
	assert_int_equal(is, number);
}

/* Bytes that were reserved, and those that are kept: the mutex is kept for
 * small blocks, and others are found by the slot. */
static const size_t sizes[][2] = {{100, 100}, {100, 99}, {1000, 8},
	{30000, 29000}, {32768, 1}, {100000, 100000}, {100000, 99968},
	{100000, 99936}, {100000, 40000}, {1000000, 16}};

STORE_TEST(what_is_kept_is_found_and_the_rest_is_free)
{
	struct php_hone_member *m = &((struct test *)*state)->member;
	size_t empty = used(m);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		assert_int_equal(put(m, "v", 1, sizes[i][1]), 0);
		size_t as_usual = used(m);
		php_hone_store_clear(m);
		assert_int_equal(used(m), empty);
		put_shrunk(m, "v", 2, sizes[i][0], sizes[i][1]);
		expect(m, "v", 2);
		assert_int_equal(used(m), as_usual);
		expect_sound(m);
		php_hone_store_clear(m);
	}
}

STORE_TEST(the_rest_is_merged_with_what_is_free_behind_it)
{
	struct php_hone_member *m = &((struct test *)*state)->member;
	assert_int_equal(put(m, "a", 1, 50000), 0);
	size_t free = whole(m);
	put_shrunk(m, "b", 2, 200000, 40000);
	/* One free block: all but what a has, and some units of b. */
	assert_true(whole(m) >= free - 40000 - 1024);
	expect_sound(m);
}

STORE_TEST(neighbours_on_both_sides_stay)
{
	struct php_hone_member *m = &((struct test *)*state)->member;
	struct php_hone_key key = key_of("gap");
	assert_int_equal(put(m, "a", 1, 70000), 0);
	assert_int_equal(put(m, "gap", 2, 100000), 0);
	assert_int_equal(put(m, "b", 3, 70000), 0);
	assert_int_equal(php_hone_store_delete(m, &key), 0);
	/* Where the gap was. */
	put_shrunk(m, "c", 4, 100000, 50000);
	expect(m, "a", 1);
	expect(m, "b", 3);
	expect(m, "c", 4);
	expect_sound(m);
	/* And with a free block before it. */
	key = key_of("a");
	assert_int_equal(php_hone_store_delete(m, &key), 0);
	put_shrunk(m, "d", 5, 40000, 33000);
	expect(m, "b", 3);
	expect(m, "c", 4);
	expect(m, "d", 5);
	expect_sound(m);
}

/* While a large block is filled, others may free the one before it. */
STORE_TEST(the_block_before_it_may_become_free)
{
	struct test *t = *state;
	struct php_hone_member *m = &t->member, other = {0};
	struct php_hone_key a = key_of("a"), b = key_of("b");
	struct php_hone_room room = {.key = &b, .image = 100000};
	struct php_hone_entry *entry;
	assert_int_equal(php_hone_member_join(&other, t->store), 0);
	assert_int_equal(put(m, "a", 1, 70000), 0);
	assert_int_equal(reserve(m, &room, 2, &entry), 0);
	assert_int_equal(php_hone_store_delete(&other, &a), 0);
	assert_int_equal(put(&other, "c", 3, 10), 0);
	php_hone_store_clear(&other);
	php_hone_store_shrink(m, entry, 50000);
	assert_int_equal(php_hone_store_publish(m, entry, PHP_HONE_STORE), 0);
	expect(m, "b", 2);
	expect_sound(m);
	php_hone_member_leave(&other);
}

STORE_TEST(what_was_shrunk_can_be_cancelled)
{
	struct php_hone_member *m = &((struct test *)*state)->member;
	for (size_t had = 1000; had <= 100000; had *= 100) {
		size_t before = used(m);
		struct php_hone_key key = key_of("v");
		struct php_hone_room room = {.key = &key, .image = had};
		struct php_hone_entry *entry;
		assert_int_equal(reserve(m, &room, 1, &entry), 0);
		php_hone_store_shrink(m, entry, 100);
		php_hone_store_cancel(m, entry);
		assert_int_equal(used(m), before);
		expect_sound(m);
		/* The mutex is free again. */
		assert_int_equal(put(m, "w", 2, 10), 0);
		php_hone_store_clear(m);
	}
}

STORE_TEST(the_bytes_behind_the_image_are_kept)
{
	struct php_hone_member *m = &((struct test *)*state)->member;
	struct php_hone_key key = key_of("v");
	struct php_hone_room room = {
		.key = &key, .image = 50000, .extra = 1000};
	struct php_hone_entry *entry;
	size_t empty = used(m);
	assert_int_equal(reserve(m, &room, 1, &entry), 0);
	php_hone_store_shrink(m, entry, 40000);
	assert_int_equal(entry->image_extra, 1000);
	assert_int_equal(php_hone_store_publish(m, entry, PHP_HONE_STORE), 0);
	assert_in_range(used(m) - empty, 41000, 41000 + 256);
	expect(m, "v", 1);
	expect_sound(m);
}
