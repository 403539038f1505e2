/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that are killed at random while they read and write: all values
 * that others find are whole, and nobody blocks. Memory is short, and values
 * have both forms. HONE_CHECKED: at least so many values are compared.
 */
#include <sys/prctl.h>
#include <time.h>
#include "store_support.h"

static struct php_hone_store *store;
static struct php_hone_member auditor;
/* The values that all processes have compared. */
static uint64_t *checked;

#define WORKERS 4
#define KEYS 400

static void
work(unsigned number, uint64_t random)
{
	struct php_hone_member w;
	php_hone_member_forget(&auditor);
	if (php_hone_member_join(&w, store) != 0)
		_exit(2);
	w.packs = true;
	for (uint64_t i = 1;; i++) {
		uint64_t is = 0;
		if (i % 32 == 1)
			php_hone_member_pin(&w);
		const char *name = numbered("", support_below(&random, KEYS));
		size_t kind = support_below(&random, 100);
		struct php_hone_key key = key_of(name);
		if (kind < 50) {
			const struct php_hone_entry *entry =
				php_hone_fetch_find(&w, &key);
			if (entry != NULL && !is_whole(entry, &is))
				_exit(3);
			if (entry != NULL)
				__atomic_fetch_add(
					checked, 1, __ATOMIC_RELAXED);
			if (entry != NULL && kind < 5)
				change_form(&w, entry);
			php_hone_fetch_end(&w);
		} else if (kind < 90) {
			size_t bytes = support_below(&random, 6000);
			if (kind == 89)
				bytes *= 20;
			int error = put_form(
				&w, name, i * 8 + number, bytes, kind % 4 == 0);
			if (error != 0 && error != -ENOMEM)
				_exit(4);
			pack_all(&w);
		} else if (kind < 98) {
			(void)php_hone_store_delete(&w, &key);
		} else if (kind < 99) {
			if (php_hone_store_claim(&w, &key, 1) == -EBUSY)
				(void)php_hone_store_wait(&w, &key, 0);
		} else if (support_below(&random, 50) == 0) {
			php_hone_store_clear(&w);
		}
		if (i % 32 == 0)
			php_hone_member_unpin(&w);
	}
}

static pid_t
start_worker(unsigned number, uint64_t random)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		/* It does not outlive a test that fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(number, random);
	}
	assert_true(pid > 0);
	return pid;
}

TEST(killed_at_random)
{
	skip_if_nobody_can_be_killed();
	uint64_t random = support_seed();
	const char *least = getenv("HONE_CHECKED");
	pid_t pids[WORKERS];
	checked = mmap(NULL, sizeof *checked, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(checked, MAP_FAILED);
	store = make_store((size_t)2 << 20, 2);
	assert_ok(php_hone_member_join(&auditor, store));
	for (unsigned i = 0; i < WORKERS; i++)
		pids[i] = start_worker(i, support_random(&random));
	unsigned kills = 0;
	while (kills < 300 ||
		__atomic_load_n(checked, __ATOMIC_RELAXED) <
			(least != NULL ? strtoull(least, NULL, 10) : 0)) {
		struct timespec t = {0, (long)support_below(&random, 3000000)};
		nanosleep(&t, NULL);
		unsigned i = (unsigned)support_below(&random, WORKERS);
		int status = 0;
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		/* Not ended by itself, which would be a value that is not
		 * whole. */
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGKILL);
		kills++;
		pids[i] = start_worker(i, support_random(&random));
		if (kills % 16 == 0) {
			const char *problem = audit(&auditor);
			if (problem != NULL)
				printf("# %s\n", problem);
			assert_null(problem);
		}
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
	assert_null(audit(&auditor));
	struct php_hone_store_info info = info_of(&auditor);
	printf("# %u killed, %llu times with a mutex; %llu stores, %llu values "
	       "compared, %llu packed, %llu made warm, %llu evicted\n",
		kills, (unsigned long long)info.recoveries,
		(unsigned long long)info.stores, (unsigned long long)*checked,
		(unsigned long long)info.packed,
		(unsigned long long)info.warmed,
		(unsigned long long)info.evictions);
	assert_true(info.recoveries && info.packed && info.warmed &&
		    info.evictions);
	/* Each takes a whole shard, and so what dead workers held back there:
	 * a store looks for dead workers when it finds no room. */
	for (unsigned i = 0; i < 16; i++)
		assert_ok(put(&auditor, numbered("large ", i), 1,
			info.largest_value));
	php_hone_store_clear(&auditor);
	info = info_of(&auditor);
	assert_int_equal(info.retired + info.used, 0);
	php_hone_member_leave(&auditor);
	php_hone_store_unmap(store);
}

/*
 * A writer that is stopped while it has a mutex: others wait for a bounded
 * time, and fail. Nothing is lost once it goes on or is killed.
 */

/* Slices of one wait: process.c. */
#define SLICES 10

static pid_t stopped;

/* The reader has a pin, and there is a value under "key". */
FIXTURE(setup)
{
	pair_setup(state);
	php_hone_member_pin(&reader);
	return put(&reader, "key", 1, 100);
}

FIXTURE(teardown)
{
	if (stopped > 0)
		kill(stopped, SIGKILL);
	wait_for_mutexes(true);
	php_hone_member_unpin(&reader);
	return pair_teardown(state);
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
start_writer(void)
{
	stopped = fork_ready(reader.store, write_and_stop);
	wait_for_mutexes(false);
}

static void
end_writer(int signal)
{
	int status = 0;
	assert_ok(kill(stopped, signal));
	assert_int_equal(waitpid(stopped, &status, 0), stopped);
	assert_true(signal == SIGKILL
			    ? WIFSIGNALED(status)
			    : WIFEXITED(status) && WEXITSTATUS(status) == 0);
	stopped = 0;
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
	struct php_hone_member *m = &reader;
	skip_if_nobody_can_be_killed();
	struct php_hone_key key = key_of("key");
	struct php_hone_key tag = key_of("tag");
	struct php_hone_change change = {.by = 1};
	struct php_hone_room room = {
		.key = &key, .tags = &tag, .n_tags = 1, .data = 100};
	struct php_hone_entry *entry = reserve_large(m);
	start_writer();

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
	struct php_hone_store_info info = info_of(m);
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
	expect(m, "key", 1);
	end_writer(SIGCONT);
}

STOPPED_TEST(a_writer_that_goes_on_has_lost_nothing)
{
	skip_if_nobody_can_be_killed();
	struct php_hone_store_info before = info_of(&reader);
	struct php_hone_entry *entry = reserve_large(&reader);
	start_writer();
	assert_int_equal(php_hone_store_publish(&reader, entry, PHP_HONE_STORE),
		-ETIMEDOUT);
	end_writer(SIGCONT);
	expect(&reader, "of the writer", 7);
	expect_none(&reader, "large");
	/* Also within the second without waits. The reservation that was not
	 * published is gone. */
	assert_ok(put(&reader, "key", 3, 100));
	struct php_hone_store_info after = info_of(&reader);
	assert_int_equal(after.recoveries, 0);
	assert_true(after.used < before.used + 1000);
}

STOPPED_TEST(a_writer_that_is_killed_then_is_recovered_from)
{
	skip_if_nobody_can_be_killed();
	start_writer();
	assert_int_equal(put(&reader, "key", 2, 100), -ETIMEDOUT);
	end_writer(SIGKILL);
	assert_ok(put(&reader, "key", 3, 100));
	assert_int_equal(info_of(&reader).recoveries, 1);
	expect_none(&reader, "of the writer");
}

STOPPED_TEST(a_member_that_leaves_meanwhile_loses_no_memory)
{
	skip_if_nobody_can_be_killed();
	struct php_hone_store_info before = info_of(&reader);
	struct php_hone_member leaves;
	assert_ok(php_hone_member_join(&leaves, reader.store));
	(void)reserve_large(&leaves);
	start_writer();
	php_hone_member_leave(&leaves);
	end_writer(SIGKILL);
	struct php_hone_store_info after = info_of(&reader);
	assert_int_equal(after.used, before.used);
	assert_int_equal(after.slots_used, before.slots_used);
}

STOPPED_TEST(one_member_tells_it_each_minute)
{
	assert_true(php_hone_store_tell(reader.store, PHP_HONE_TELL_STOPPED));
	assert_false(php_hone_store_tell(reader.store, PHP_HONE_TELL_STOPPED));
	assert_false(php_hone_store_tell(writer.store, PHP_HONE_TELL_STOPPED));
	assert_true(php_hone_store_tell(writer.store, PHP_HONE_TELL_REFUSED));
	time_passes(59000);
	assert_false(php_hone_store_tell(writer.store, PHP_HONE_TELL_STOPPED));
	time_passes(1000);
	assert_true(php_hone_store_tell(writer.store, PHP_HONE_TELL_STOPPED));
	assert_false(php_hone_store_tell(reader.store, PHP_HONE_TELL_STOPPED));
}
