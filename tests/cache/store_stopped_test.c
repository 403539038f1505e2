/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A writer that is stopped while it has a mutex: others wait for a bounded
 * time, and fail. Nothing is lost once it goes on or is killed.
 */
#include "store_support.h"

/* Slices of one wait: process.c. */
#define SLICES 10

/* A store of one shard, and a member with a value under "key". */
struct stopped {
	struct php_hone_store *store;
	struct php_hone_member m;
	pid_t writer;
};

static int
setup(void **state)
{
	struct stopped *s = calloc(1, sizeof *s);
	assert_non_null(s);
	stop_clock();
	s->store = make_store((size_t)8 << 20, 1);
	assert_ok(php_hone_member_join(&s->m, s->store));
	php_hone_member_pin(&s->m);
	assert_ok(put(&s->m, "key", 1, 100));
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct stopped *s = *state;
	if (s->writer > 0)
		kill(s->writer, SIGKILL);
	wait_for_mutexes(true);
	int result = audit_aloud(&s->m);
	php_hone_member_unpin(&s->m);
	php_hone_member_leave(&s->m);
	php_hone_store_unmap(s->store);
	free(s);
	return result;
}

#define STOPPED_TEST(name) TEST_WITH(name, setup, teardown)

/* A small value keeps the mutex until it is published. */
static void
write_and_stop(struct php_hone_member *child)
{
	struct php_hone_key key = key_of("of the writer");
	struct php_hone_room room = {.key = &key, .data = 100};
	struct php_hone_entry *entry;
	if (reserve(child, &room, 7, &entry) != 0)
		_exit(2);
	raise(SIGSTOP);
	_exit(php_hone_store_publish(child, entry, PHP_HONE_STORE) != 0);
}

static void
start_writer(struct stopped *s)
{
	int status = 0;
	s->writer = fork_member(s->store, write_and_stop);
	assert_int_equal(waitpid(s->writer, &status, WUNTRACED), s->writer);
	assert_true(WIFSTOPPED(status));
	wait_for_mutexes(false);
}

static void
end_writer(struct stopped *s, int signal)
{
	int status = 0;
	assert_ok(kill(s->writer, signal));
	assert_int_equal(waitpid(s->writer, &status, 0), s->writer);
	assert_true(signal == SIGKILL
			    ? WIFSIGNALED(status)
			    : WIFEXITED(status) && WEXITSTATUS(status) == 0);
	s->writer = 0;
	/* From here on a failure would be one of the store. */
	wait_for_mutexes(true);
}

/* A value that is filled without the mutex. */
static struct php_hone_entry *
reserve_large(struct php_hone_member *m)
{
	struct php_hone_key key = key_of("large");
	struct php_hone_room room = {.key = &key, .data = 100000};
	struct php_hone_entry *entry;
	assert_ok(reserve(m, &room, 2, &entry));
	return entry;
}

STOPPED_TEST(every_call_that_writes_returns)
{
	struct stopped *s = *state;
	struct php_hone_member *m = &s->m;
	skip_if_nobody_can_be_killed();
	struct php_hone_key key = key_of("key");
	struct php_hone_key tag = key_of("tag");
	struct php_hone_change change = {.by = 1};
	struct php_hone_room room = {
		.key = &key, .tags = &tag, .n_tags = 1, .data = 100};
	struct php_hone_entry *entry = reserve_large(m);
	start_writer(s);

	assert_int_equal(
		php_hone_store_publish(m, entry, PHP_HONE_STORE), -ETIMEDOUT);
	assert_int_equal(mutex_waits(), SLICES);
	assert_int_equal(put(m, "key", 2, 100), -ETIMEDOUT);
	assert_int_equal(reserve(m, &room, 2, &entry), -ETIMEDOUT);
	assert_int_equal(php_hone_store_delete(m, &key), -ETIMEDOUT);
	assert_int_equal(
		php_hone_store_delete_entry(m, find_key(m, &key)), -ETIMEDOUT);
	assert_int_equal(php_hone_store_change(m, &key, &change), -ETIMEDOUT);
	assert_int_equal(php_hone_store_clear(m), -ETIMEDOUT);
	assert_int_equal(php_hone_store_invalidate_tag(m, &tag), -ETIMEDOUT);
	assert_int_equal(php_hone_store_claim(m, &key, 10), -ETIMEDOUT);
	assert_int_equal(php_hone_store_wait(m, &key, 100000), -ETIMEDOUT);
	php_hone_store_unclaim(m, &key);
	struct php_hone_store_info info;
	php_hone_store_info(m, &info);
	assert_true(info.size > 0);
	assert_int_equal(info.entries, 0);
	struct php_hone_holder holders[4];
	assert_int_equal(php_hone_store_holders(m, holders, 4), 0);
	unsigned char map[16];
	php_hone_store_map(m, map, sizeof map);
	php_hone_member_unpin(m);
	php_hone_member_pin(m);
	/* One long wait in a second, however many calls there are. */
	unsigned waits = mutex_waits();
	assert_true(waits < 5 * SLICES);
	assert_int_equal(put(m, "key", 2, 100), -ETIMEDOUT);
	assert_int_equal(mutex_waits(), waits + 1);
	time_passes(1000);
	assert_int_equal(put(m, "key", 2, 100), -ETIMEDOUT);
	assert_true(mutex_waits() > waits + SLICES);
	/* Readers do not wait. */
	uint64_t number = 0;
	assert_ok(get(m, "key", &number));
	assert_int_equal(number, 1);
	end_writer(s, SIGCONT);
}

STOPPED_TEST(a_writer_that_goes_on_has_lost_nothing)
{
	struct stopped *s = *state;
	skip_if_nobody_can_be_killed();
	struct php_hone_store_info before, after;
	php_hone_store_info(&s->m, &before);
	struct php_hone_entry *entry = reserve_large(&s->m);
	start_writer(s);
	assert_int_equal(php_hone_store_publish(&s->m, entry, PHP_HONE_STORE),
		-ETIMEDOUT);
	end_writer(s, SIGCONT);
	uint64_t number = 0;
	assert_ok(get(&s->m, "of the writer", &number));
	assert_int_equal(number, 7);
	assert_int_equal(get(&s->m, "large", &number), -ENOENT);
	/* Also within the second without waits. The reservation that was not
	 * published is gone. */
	assert_ok(put(&s->m, "key", 3, 100));
	php_hone_store_info(&s->m, &after);
	assert_int_equal(after.recoveries, 0);
	assert_true(after.used < before.used + 1000);
}

STOPPED_TEST(a_writer_that_is_killed_then_is_recovered_from)
{
	struct stopped *s = *state;
	skip_if_nobody_can_be_killed();
	start_writer(s);
	assert_int_equal(put(&s->m, "key", 2, 100), -ETIMEDOUT);
	end_writer(s, SIGKILL);
	assert_ok(put(&s->m, "key", 3, 100));
	struct php_hone_store_info info;
	php_hone_store_info(&s->m, &info);
	assert_int_equal(info.recoveries, 1);
	uint64_t number = 0;
	assert_int_equal(get(&s->m, "of the writer", &number), -ENOENT);
}

STOPPED_TEST(a_member_that_leaves_meanwhile_loses_no_memory)
{
	struct stopped *s = *state;
	skip_if_nobody_can_be_killed();
	struct php_hone_store_info before, after;
	php_hone_store_info(&s->m, &before);
	struct php_hone_member leaves;
	assert_ok(php_hone_member_join(&leaves, s->store));
	(void)reserve_large(&leaves);
	start_writer(s);
	php_hone_member_leave(&leaves);
	end_writer(s, SIGKILL);
	php_hone_store_info(&s->m, &after);
	assert_int_equal(after.used, before.used);
	assert_int_equal(after.slots_used, before.slots_used);
}

STOPPED_TEST(one_member_tells_it_each_minute)
{
	struct stopped *s = *state;
	struct php_hone_member other;
	assert_ok(php_hone_member_join(&other, s->store));
	assert_true(php_hone_store_tell(s->m.store, PHP_HONE_TELL_STOPPED));
	assert_false(php_hone_store_tell(s->m.store, PHP_HONE_TELL_STOPPED));
	assert_false(php_hone_store_tell(other.store, PHP_HONE_TELL_STOPPED));
	assert_true(php_hone_store_tell(other.store, PHP_HONE_TELL_REFUSED));
	time_passes(59000);
	assert_false(php_hone_store_tell(other.store, PHP_HONE_TELL_STOPPED));
	time_passes(1000);
	assert_true(php_hone_store_tell(other.store, PHP_HONE_TELL_STOPPED));
	assert_false(php_hone_store_tell(s->m.store, PHP_HONE_TELL_STOPPED));
	php_hone_member_leave(&other);
}
