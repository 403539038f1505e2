/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readers: nothing that one of them has is freed, and none of them, be it dead,
 * asleep or stopped, holds back more than what it found.
 */
#include "store_support.h"

/* More than fits, twice; returns how many stores failed. */
static unsigned
churn(struct php_hone_member *m, size_t bytes)
{
	static uint64_t number = 1000;
	unsigned failed = 0;
	struct php_hone_store_info info = info_of(m);
	for (size_t done = 0; done < 2 * info.size; done += bytes + 128) {
		const char *name = numbered("churn", number);
		failed += put(m, name, number++, bytes) != 0;
	}
	return failed;
}

static bool
whole(const struct php_hone_entry *entry, uint64_t number)
{
	uint64_t is = 0;
	return is_whole(entry, &is) && is == number;
}

PAIR_TEST(what_a_pin_has_stays_through_all)
{
	const struct php_hone_entry *old[3];
	assert_ok(put(&writer, "replaced", 1, 5000));
	assert_ok(put(&writer, "deleted", 2, 5000));
	assert_ok(put(&writer, "evicted", 3, 5000));
	php_hone_member_pin(&reader);
	old[0] = find(&reader, "replaced");
	old[1] = find(&reader, "deleted");
	old[2] = find(&reader, "evicted");
	assert_ok(put(&writer, "replaced", 9, 6000));
	assert_ok(erase(&writer, "deleted"));
	assert_int_equal(churn(&writer, 300), 0);
	assert_int_equal(churn(&writer, 100000), 0);
	php_hone_store_clear(&writer);
	assert_int_equal(churn(&writer, 300), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_true(whole(old[i], i + 1));
	php_hone_member_unpin(&reader);
	/* Now all of it can be had. */
	assert_ok(put(&writer, "large", 4, info_of(&writer).largest_value));
}

PAIR_TEST(a_pin_nests)
{
	assert_ok(put(&writer, "k", 1, 5000));
	php_hone_member_pin(&reader);
	php_hone_member_pin(&reader);
	const struct php_hone_entry *entry = find(&reader, "k");
	php_hone_member_unpin(&reader);
	php_hone_store_clear(&writer);
	assert_int_equal(churn(&writer, 300), 0);
	assert_true(whole(entry, 1));
	php_hone_member_unpin(&reader);
}

PAIR_TEST(a_sleeper_is_closed_and_keeps_what_it_has)
{
	assert_ok(put(&writer, "k", 1, 5000));
	php_hone_member_pin(&reader);
	const struct php_hone_entry *entry = find(&reader, "k");
	time_passes(1000);
	/* The largest value asks for all memory: it cannot be had. */
	struct php_hone_store_info info = info_of(&writer);
	assert_int_equal(put(&writer, "large", 2, info.largest_value), -ENOMEM);
	assert_false(is_open(&reader));
	assert_int_equal(info_of(&writer).closed_slots, 1);
	assert_int_equal(churn(&writer, 1000), 0);
	assert_true(whole(entry, 1));
	/* The next request is not closed. */
	php_hone_member_unpin(&reader);
	php_hone_member_pin(&reader);
	assert_true(is_open(&reader));
	php_hone_member_unpin(&reader);
}

PAIR_TEST(a_closed_reader_has_an_entry_until_the_fetch_ends)
{
	php_hone_member_pin(&reader);
	php_hone_member_close(&reader);
	for (uint64_t i = 0; i < 5; i++) {
		assert_ok(put(&writer, "k", i, 50000));
		assert_ok(put(&writer, "l", i, 50000));
		assert_false(is_open(&reader));
		const struct php_hone_entry *entry[2] = {
			fetch(&reader, "k"), fetch(&reader, "l")};
		assert_ok(put(&writer, "k", 8, 50000));
		php_hone_store_clear(&writer);
		(void)churn(&writer, 300);
		assert_true(whole(entry[0], i) && whole(entry[1], i));
		php_hone_fetch_end(&reader);
		php_hone_fetch_end(&reader);
	}
	/* It holds nothing back. */
	assert_ok(put(&writer, "large", 4, info_of(&writer).largest_value));
	php_hone_member_unpin(&reader);
}

PAIR_TEST(a_reader_without_a_pin_has_an_entry_until_the_fetch_ends)
{
	assert_ok(put(&writer, "k", 1, 5000));
	assert_false(is_open(&reader));
	const struct php_hone_entry *entry = fetch(&reader, "k");
	php_hone_store_clear(&writer);
	assert_int_equal(churn(&writer, 300), 0);
	assert_true(whole(entry, 1));
	php_hone_fetch_end(&reader);
}

/* Begins a fetch of a key that the writer stores. */
static const struct php_hone_entry *
begin(const char *name, uint64_t number)
{
	assert_ok(put(&writer, name, number, 5000));
	return fetch(&reader, name);
}

/* Without a pin: until the reader ends its last fetch, nothing else protects
 * what it has. */
PAIR_TEST(a_fetch_has_what_it_found_after_the_end_of_one_inside_it)
{
	const struct php_hone_entry *entry = begin("k", 1);
	php_hone_fetch_begin(&reader);
	php_hone_fetch_end(&reader);
	php_hone_store_clear(&writer);
	/* It is back at one chain. */
	assert_int_equal(churn(&writer, 300), 0);
	assert_true(whole(entry, 1));
	php_hone_fetch_end(&reader);
}

PAIR_TEST(a_fetch_inside_a_fetch_has_what_it_found_until_its_end)
{
	const struct php_hone_entry *k = begin("k", 1), *l = begin("l", 2);
	php_hone_store_clear(&writer);
	/* The reader may have anything now, so that nothing is freed. */
	(void)churn(&writer, 300);
	assert_true(whole(k, 1) && whole(l, 2));
	php_hone_fetch_end(&reader);
	assert_int_equal(churn(&writer, 300), 0);
	assert_true(whole(k, 1));
	php_hone_fetch_end(&reader);
}

PAIR_TEST(the_end_of_the_third_fetch_takes_nothing_from_the_second)
{
	const struct php_hone_entry *k = begin("k", 1), *l = begin("l", 2);
	(void)begin("m", 3);
	php_hone_fetch_end(&reader);
	php_hone_store_clear(&writer);
	(void)churn(&writer, 300);
	assert_true(whole(k, 1) && whole(l, 2));
	php_hone_fetch_end(&reader);
	php_hone_fetch_end(&reader);
}

PAIR_TEST(a_fetch_of_anything_has_what_fetches_inside_it_found)
{
	php_hone_fetch_begin(&reader);
	const struct php_hone_entry *entry = begin("k", 1);
	php_hone_fetch_end(&reader);
	php_hone_store_clear(&writer);
	(void)churn(&writer, 300);
	assert_true(whole(entry, 1));
	php_hone_fetch_end(&reader);
}

PAIR_TEST(a_fetch_of_a_key_inside_one_of_the_same_key_holds_no_more)
{
	const struct php_hone_entry *entry = begin("k", 1);
	assert_ptr_equal(fetch(&reader, "k"), entry);
	php_hone_store_clear(&writer);
	assert_int_equal(churn(&writer, 300), 0);
	assert_true(whole(entry, 1));
	php_hone_fetch_end(&reader);
	php_hone_fetch_end(&reader);
}

/* The reader fetches the value, too. */
static bool
visit_and_find(const struct php_hone_entry *entry, void *opaque)
{
	struct php_hone_key key = {
		.bytes = (const char *)entry->bytes + PHP_HONE_KEY_HEAD,
		.len = entry->key_len,
		.hash = entry->hash};
	return find_key(&reader, &key) == entry && count_whole(entry, opaque);
}

PAIR_TEST(out_of_memory_is_an_error_and_passes)
{
	assert_int_equal(churn(&writer, 3000), 0);
	php_hone_member_pin(&reader);
	uint64_t cursor = 0;
	unsigned n = 0;
	php_hone_store_walk(&reader, &cursor, visit_and_find, &n);
	assert_true(n > 1000);
	/* Nearly all regions have entries that the reader has. */
	unsigned failed = 0;
	for (unsigned i = 0; i < 200; i++)
		failed += put(&writer, "k", i, 500000) == -ENOMEM;
	assert_int_equal(failed, 200);
	cursor = 0;
	unsigned left = 0;
	php_hone_store_walk(&writer, &cursor, count_whole, &left);
	/* That was no wipe. */
	assert_true(left > n / 2);
	php_hone_member_unpin(&reader);
	assert_ok(put(&writer, "k", 1, 500000));
	assert_int_equal(churn(&writer, 3000), 0);
}

/* The old values of a loop do not fill the memory. */
PAIR_TEST(who_replaces_what_it_found_has_memory)
{
	php_hone_member_pin(&writer);
	struct php_hone_store_info info = info_of(&writer);
	assert_ok(put(&writer, "first", 7, 5000));
	const struct php_hone_entry *first = find(&writer, "first");
	assert_ok(put(&writer, "k", 0, 5000));
	for (unsigned i = 1; i < 4 * info.size / 5000; i++) {
		expect(&writer, "k", i - 1);
		assert_ok(put(&writer, "k", i, 5000));
	}
	/* What it found while its slot was open is as it was. */
	assert_true(whole(first, 7));
	php_hone_member_unpin(&writer);
}

PAIR_TEST(slots_are_limited_and_come_back)
{
	struct php_hone_store *few = NULL;
	struct php_hone_store_attr attr = {.size = (size_t)2 << 20, .slots = 3};
	struct php_hone_member m[4];
	assert_ok(php_hone_store_create(&few, &attr));
	for (unsigned i = 0; i < 3; i++)
		assert_ok(php_hone_member_join(&m[i], few));
	assert_int_equal(php_hone_member_join(&m[3], few), -EAGAIN);
	php_hone_member_leave(&m[1]);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		php_hone_member_forget(&m[0]);
		if (php_hone_member_join(&m[3], few) != 0)
			_exit(1);
		php_hone_member_pin(&m[3]);
		raise(SIGKILL);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	/* The slot of a process that was killed. */
	assert_ok(php_hone_member_join(&m[3], few));
	php_hone_store_unmap(few);
}

/* Pins and finds "k". */
static void
read_and_stop(struct php_hone_member *child)
{
	php_hone_member_pin(child);
	if (fetch(child, "k") == NULL)
		_exit(1);
	raise(SIGSTOP);
	for (;;)
		pause();
}

PAIR_TEST(a_killed_reader_holds_nothing)
{
	skip_if_zombies_count_as_alive();
	struct php_hone_store_info info = info_of(&writer);
	assert_ok(put(&writer, "k", 1, 5000));
	pid_t pid = fork_ready(reader.store, read_and_stop);
	assert_int_equal(put(&writer, "large", 2, info.largest_value), -ENOMEM);
	kill(pid, SIGKILL);
	siginfo_t dead;
	/* It stays a zombie. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &dead, WEXITED | WNOWAIT), 0);
	/* What failed is not tried again at once. */
	time_passes(1000);
	assert_ok(put(&writer, "large", 2, info.largest_value));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}
