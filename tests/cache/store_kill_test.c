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
static struct php_hone_member m;
/* The values that all processes have compared. */
static uint64_t *checked;

#define WORKERS 4
#define KEYS 400

static void
work(unsigned number, uint64_t random)
{
	struct php_hone_member w;
	php_hone_member_forget(&m);
	if (php_hone_member_join(&w, store) != 0)
		_exit(2);
	w.packs = true;
	for (uint64_t i = 1;; i++) {
		char name[24];
		uint64_t is = 0;
		if (i % 32 == 1)
			php_hone_member_pin(&w);
		snprintf(
			name, sizeof name, "%zu", support_below(&random, KEYS));
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
	assert_ok(php_hone_member_join(&m, store));
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
			const char *problem = audit(&m);
			if (problem != NULL)
				printf("# %s\n", problem);
			assert_null(problem);
		}
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
	assert_null(audit(&m));
	struct php_hone_store_info info;
	php_hone_store_info(&m, &info);
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
	for (unsigned i = 0; i < 16; i++) {
		char name[16];
		snprintf(name, sizeof name, "large %u", i);
		assert_ok(put(&m, name, 1, info.largest_value));
	}
	php_hone_store_clear(&m);
	php_hone_store_info(&m, &info);
	assert_int_equal(info.retired + info.used, 0);
	php_hone_member_leave(&m);
	php_hone_store_unmap(store);
}
