/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries that expire, tags, claims, and the walk over all entries.
 */
#include <limits.h>
#include "store_support.h"

#define HOUR 3600000 /* a wait that does not end hangs */

static struct php_hone_member *m;

FIXTURE(setup)
{
	int result = member_setup(state);
	m = *state;
	return result;
}

#define ENTRIES_TEST(name) TEST_WITH(name, setup, member_teardown)

static int
put_with(const char *name, uint32_t ttl, const char *tag0, const char *tag1)
{
	struct php_hone_key key = key_of(name);
	struct php_hone_key tags[2] = {key_of(tag0), key_of(tag1)};
	struct php_hone_room room = {.key = &key,
		.data = 100,
		.tags = tags,
		.n_tags = (*tag0 != '\0') + (*tag1 != '\0'),
		.ttl = ttl};
	return put_room(m, &room, 1);
}

static bool
has(const char *name)
{
	uint64_t number = 0;
	return get(m, name, &number) == 0;
}

ENTRIES_TEST(entries_live_for_their_time)
{
	struct php_hone_key key = key_of("short");
	assert_ok(put_with("short", 1, "", ""));
	assert_ok(put_with("long", 100, "", ""));
	assert_ok(put_with("most", UINT32_MAX, "", ""));
	/* By whole seconds, the one begun included. */
	time_passes(1999);
	assert_true(has("short"));
	time_passes(1);
	assert_false(has("short"));
	assert_true(has("long"));
	assert_true(has("most"));
	assert_non_null(php_hone_fetch_peek(m, &key));
	php_hone_fetch_end(m);
	assert_int_equal(php_hone_store_delete(m, &key), -ENOENT);
}

ENTRIES_TEST(a_second_that_begins_in_a_store_changes_no_lifetime)
{
	struct php_hone_key key = key_of("k");
	clock_steps(1000);
	assert_ok(put_with("k", 100, "", ""));
	clock_steps(0);
	const struct php_hone_entry *entry = php_hone_fetch_peek(m, &key);
	assert_non_null(entry);
	assert_int_equal(entry->expires, entry->created + 101);
	php_hone_fetch_end(m);
}

ENTRIES_TEST(expired_entries_count_as_absent)
{
	struct php_hone_key key = key_of("k");
	struct php_hone_room room = {.key = &key, .data = 10};
	struct php_hone_entry *entry;
	assert_ok(put_with("k", 1, "", ""));
	time_passes(2000);
	assert_ok(reserve(m, &room, 2, &entry));
	assert_int_equal(
		php_hone_store_publish(m, entry, PHP_HONE_REPLACE), -ENOENT);
	assert_ok(reserve(m, &room, 2, &entry));
	assert_ok(php_hone_store_publish(m, entry, PHP_HONE_ADD));
	expect(m, "k", 2);
}

static int
invalidate(const char *tag)
{
	struct php_hone_key key = key_of(tag);
	return php_hone_store_invalidate_tag(m, &key);
}

ENTRIES_TEST(a_tag_invalidates_its_entries_alone)
{
	assert_ok(invalidate("t"));
	assert_ok(put_with("a", 0, "t", ""));
	assert_ok(put_with("b", 0, "u", ""));
	assert_ok(put_with("c", 0, "t", "u"));
	assert_ok(put_with("d", 0, "", ""));
	assert_ok(put_with("e", 0, "u", "t"));
	assert_true(has("a") && has("b") && has("c") && has("d") && has("e"));
	assert_ok(invalidate("t"));
	assert_true(!has("a") && has("b") && !has("c") && has("d"));
	assert_false(has("e"));
	assert_int_equal(erase(m, "a"), -ENOENT);
	assert_ok(put_with("a", 0, "t", ""));
	assert_true(has("a"));
	assert_ok(invalidate("u"));
	assert_true(has("a") && !has("b") && !has("c") && has("d"));
}

ENTRIES_TEST(tags_of_one_hash_and_a_key_of_that_name)
{
	assert_ok(put_with("a", 0, "Ez", ""));
	assert_ok(put_with("b", 0, "FY", ""));
	assert_ok(put_with("Ez", 0, "", ""));
	assert_ok(invalidate("Ez"));
	assert_true(!has("a") && has("b") && has("Ez"));
}

ENTRIES_TEST(a_cleared_tag_stays_invalid)
{
	assert_ok(put_with("a", 0, "t", ""));
	const struct php_hone_entry *entry = find(m, "a");
	assert_non_null(entry);
	php_hone_store_clear(m);
	assert_ok(put_with("b", 0, "t", ""));
	assert_true(!has("a") && has("b"));
}

/* ---- claims ---- */

ENTRIES_TEST(one_member_claims_a_key)
{
	struct php_hone_key key = key_of("k");
	struct php_hone_member other;
	assert_ok(php_hone_member_join(&other, m->store));
	assert_ok(php_hone_store_wait(&other, &key, 0));
	assert_ok(php_hone_store_claim(m, &key, 10));
	assert_ok(php_hone_store_claim(m, &key, 10));
	assert_int_equal(php_hone_store_claim(&other, &key, 10), -EBUSY);
	php_hone_store_unclaim(&other, &key);
	assert_int_equal(php_hone_store_wait(&other, &key, 20), -ETIMEDOUT);
	assert_false(has("k"));
	php_hone_store_unclaim(m, &key);
	assert_ok(php_hone_store_wait(&other, &key, 0));
	/* To publish ends a claim. */
	assert_ok(php_hone_store_claim(&other, &key, 10));
	assert_int_equal(php_hone_store_claim(m, &key, 10), -EBUSY);
	assert_ok(put(m, "k", 1, 10));
	assert_ok(php_hone_store_claim(m, &key, 10));
	/* To leave, too. */
	php_hone_store_unclaim(m, &key);
	assert_ok(php_hone_store_claim(&other, &key, 10));
	php_hone_member_leave(&other);
	assert_ok(php_hone_store_claim(m, &key, 10));
}

static void *
two_seconds_once_a_slot_waits(void *unused)
{
	until_a_slot_waits(m->store);
	time_passes(2000);
	return unused;
}

ENTRIES_TEST(a_claim_ends_by_time)
{
	struct php_hone_key key = key_of("k");
	struct php_hone_member other;
	pthread_t thread;
	assert_ok(php_hone_member_join(&other, m->store));
	assert_ok(php_hone_store_claim(m, &key, 1));
	assert_int_equal(php_hone_store_claim(&other, &key, 1), -EBUSY);
	assert_ok(pthread_create(
		&thread, NULL, two_seconds_once_a_slot_waits, NULL));
	assert_ok(php_hone_store_wait(&other, &key, HOUR));
	assert_ok(pthread_join(thread, NULL));
	assert_ok(php_hone_store_claim(&other, &key, 1));
	php_hone_member_leave(&other);
}

/* Claims "k", and stores it once a slot waits. */
static void
claim_and_put(struct php_hone_member *child)
{
	if (claim(child, "k", 100) != 0)
		_exit(1);
	raise(SIGSTOP);
	until_a_slot_waits(m->store);
	(void)put(child, "k", 77, 10);
}

/* Claims "k", and is killed once a slot waits. */
static void
claim_and_die(struct php_hone_member *child)
{
	if (claim(child, "k", 100) != 0)
		_exit(1);
	raise(SIGSTOP);
	until_a_slot_waits(m->store);
	raise(SIGKILL);
}

/* Such a process, after its claim. */
static pid_t
claimer(void (*run)(struct php_hone_member *child))
{
	pid_t pid = fork_ready(m->store, run);
	assert_ok(kill(pid, SIGCONT));
	return pid;
}

ENTRIES_TEST(who_waits_is_woken)
{
	struct php_hone_key key = key_of("k");
	pid_t pid = claimer(claim_and_put);
	assert_int_equal(php_hone_store_claim(m, &key, 1), -EBUSY);
	assert_ok(php_hone_store_wait(m, &key, HOUR));
	assert_true(has("k"));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

ENTRIES_TEST(a_claim_ends_with_its_process)
{
	skip_if_zombies_count_as_alive();
	struct php_hone_key key = key_of("k");
	pid_t pid = claimer(claim_and_die);
	/* It is a zombie then: nobody waits for it. */
	assert_ok(php_hone_store_wait(m, &key, HOUR));
	assert_ok(php_hone_store_claim(m, &key, 1));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- the walk ---- */

#define ENTRIES 3000

struct seen {
	unsigned n, stop_at;
	unsigned char times[ENTRIES];
	bool delete;
	bool nested;
};

static bool
visit(const struct php_hone_entry *entry, void *opaque)
{
	struct seen *seen = opaque;
	uint64_t number = 0;
	assert_true(is_whole(entry, &number));
	seen->times[number]++;
	seen->n++;
	if (seen->delete &&number % 2 == 0)
		assert_ok(php_hone_store_delete_entry(m, entry));
	if (seen->nested) {
		uint64_t other = 0;
		assert_ok(get(m, numbered("", (number + 1) % ENTRIES), &other));
	}
	return seen->n < seen->stop_at;
}

static void
fill(void)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		assert_ok(put(m, numbered("", i), i, i % 200));
}

ENTRIES_TEST(a_walk_visits_each_entry_once)
{
	fill();
	assert_ok(put_with("tagged", 0, "t", ""));
	assert_ok(invalidate("t"));
	assert_ok(claim(m, "claimed", 10));
	struct seen seen = {.stop_at = 100, .nested = true};
	uint64_t cursor = 0;
	unsigned parts = 0;
	for (; cursor != UINT64_MAX; parts++) {
		unsigned before = seen.n;
		php_hone_store_walk(m, &cursor, visit, &seen);
		seen.stop_at = seen.n + 100;
		assert_true(cursor == UINT64_MAX || seen.n >= before + 100);
	}
	assert_in_range(parts, 20, 31);
	assert_int_equal(seen.n, ENTRIES);
	for (unsigned i = 0; i < ENTRIES; i++)
		assert_int_equal(seen.times[i], 1);
}

ENTRIES_TEST(a_visitor_may_delete)
{
	fill();
	struct seen seen = {.stop_at = UINT_MAX, .delete = true};
	uint64_t cursor = 0;
	php_hone_store_walk(m, &cursor, visit, &seen);
	assert_int_equal(seen.n, ENTRIES);
	struct seen again = {.stop_at = UINT_MAX};
	cursor = 0;
	php_hone_store_walk(m, &cursor, visit, &again);
	assert_int_equal(again.n, ENTRIES / 2);
}

/* Small blocks wait for the next entry of their size, and removed entries for
 * the next look at the slots. Neither divides what is free for long. */
ENTRIES_TEST(free_neighbours_are_joined_when_the_figures_are_read)
{
	for (unsigned i = 0; i < 4000; i++)
		assert_ok(put(m, numbered("k", i % 1500), i, 50 + i % 700));
	for (unsigned i = 0; i < 1500; i++)
		(void)erase(m, numbered("k", i));
	struct php_hone_store_info info = info_of(m);
	assert_int_equal(info.entries, 0);
	assert_int_equal(info.retired, 0);
	assert_int_equal(info.whole, info.free);
}

ENTRIES_TEST(free_neighbours_are_joined_when_a_large_value_is_stored)
{
	struct php_hone_store_info info = info_of(m);
	for (unsigned i = 0; i < 1500; i++)
		assert_ok(put(m, numbered("k", i), i, 50 + i % 700));
	for (unsigned i = 0; i < 1500; i++)
		assert_ok(erase(m, numbered("k", i)));
	assert_ok(put(m, "large", 0, info.largest_value));
	assert_int_equal(info_of(m).evictions, 0);
}
