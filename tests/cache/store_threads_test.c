/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that each have a slot, as those of a ZTS server: whatever one finds
 * is whole, and stays so until its pin ends. A sanitizer sees memory that is
 * used again too early.
 */
#include <stdatomic.h>
#include "store_support.h"

#define THREADS 4
#define KEYS 2000
#define REQUESTS (4000 / SLOW)
#define KEPT 8

struct run {
	struct php_hone_store *store;
	uint64_t seed;
	_Atomic unsigned errors;
	_Atomic uint64_t found, stored, full;
};

struct thread {
	struct run *run;
	uint64_t random;
	struct php_hone_member m;
};

/* What a request found and still has. */
struct kept {
	const struct php_hone_entry *entry[KEPT];
	uint64_t number[KEPT];
	unsigned n;
};

static void
read_one(struct thread *t, struct kept *kept)
{
	struct php_hone_key key =
		key_of(numbered("key", support_below(&t->random, KEYS)));
	uint64_t number = 0;
	bool cold = false;
	const struct php_hone_entry *entry = php_hone_store_known(&t->m, &key);
	if (entry != NULL) {
		EXPECT(is_whole(entry, &number), t->run);
		return;
	}
	entry = php_hone_fetch_find(&t->m, &key);
	if (entry != NULL) {
		EXPECT(is_whole(entry, &number), t->run);
		t->run->found++;
		cold = (entry->flags & PHP_HONE_COLD) != 0;
		if (support_below(&t->random, 8) == 0)
			change_form(&t->m, entry);
	}
	php_hone_fetch_end(&t->m);
	if (entry != NULL && !cold && t->m.open && kept->n < KEPT) {
		kept->entry[kept->n] = entry;
		kept->number[kept->n++] = number;
	}
}

static void
write_one(struct thread *t)
{
	const char *name = numbered("key", support_below(&t->random, KEYS));
	uint64_t number = support_random(&t->random) >> 8;
	size_t bytes = support_below(&t->random, 4096);
	size_t kind = support_below(&t->random, 100);
	if (kind == 0)
		bytes *= 50;
	struct php_hone_key key = key_of(name);
	if (kind < 90) {
		int error = put_form(&t->m, name, number, bytes, kind % 4 == 0);
		EXPECT(error == 0 || error == -ENOMEM, t->run);
		pack_all(&t->m);
		if (error == 0)
			t->run->stored++;
		else
			t->run->full++;
	} else if (kind < 99) {
		(void)php_hone_store_delete(&t->m, &key);
	} else if (support_below(&t->random, 20) == 0) {
		php_hone_store_clear(&t->m);
	} else {
		(void)info_of(&t->m);
	}
}

static void
request(struct thread *t)
{
	struct kept kept = {.n = 0};
	size_t turns = support_below(&t->random, 30);
	php_hone_member_pin(&t->m);
	for (size_t i = 0; i < turns; i++) {
		if (support_below(&t->random, 3) == 0)
			write_one(t);
		else
			read_one(t, &kept);
		if (support_below(&t->random, 50) == 0)
			php_hone_member_close(&t->m);
	}
	for (unsigned i = 0; i < kept.n; i++) {
		uint64_t number = 0;
		EXPECT(is_whole(kept.entry[i], &number) &&
				number == kept.number[i],
			t->run);
	}
	php_hone_member_unpin(&t->m);
}

static void *
work(void *opaque)
{
	struct thread *t = opaque;
	EXPECT(php_hone_member_join(&t->m, t->run->store) == 0, t->run);
	t->m.packs = true;
	for (unsigned i = 0; i < REQUESTS; i++)
		request(t);
	php_hone_member_leave(&t->m);
	return NULL;
}

TEST(threads_find_what_is_whole)
{
	struct run run = {.seed = support_seed()};
	/* A third of what the keys need. */
	struct php_hone_store_attr attr = {
		.size = (size_t)2 << 20, .shards = 2, .protect = true};
	assert_ok(php_hone_store_create(&run.store, &attr));
	struct thread threads[THREADS];
	for (unsigned i = 0; i < THREADS; i++) {
		threads[i].run = &run;
		threads[i].random = run.seed + i * 0x9e3779b97f4a7c15 + 1;
	}
	support_threads(work, threads, THREADS, sizeof(*threads));
	struct php_hone_member m;
	assert_ok(php_hone_member_join(&m, run.store));
	struct php_hone_store_info info = info_of(&m);
	printf("# found %llu, stored %llu, no room %llu, evicted %llu\n",
		(unsigned long long)run.found, (unsigned long long)run.stored,
		(unsigned long long)run.full,
		(unsigned long long)info.evictions);
	assert_int_equal(run.errors, 0);
	assert_true(run.found > REQUESTS && run.stored > REQUESTS);
	assert_true(run.full < run.stored / 20);
	assert_true(info.evictions > REQUESTS / 4);
	end_store(&m);
}

/* ---- counters that threads change in place ---- */

#define ADDS (20000 / SLOW)

static void *
add(void *opaque)
{
	struct thread *t = opaque;
	struct php_hone_key key = key_of("counter");
	struct php_hone_change one = {.by = 1};
	EXPECT(php_hone_member_join(&t->m, t->run->store) == 0, t->run);
	for (unsigned i = 0; i < ADDS; i++)
		EXPECT(php_hone_store_change(&t->m, &key, &one) == 0, t->run);
	php_hone_member_leave(&t->m);
	return NULL;
}

TEST(no_change_is_lost)
{
	struct php_hone_member m = join_new_store((size_t)2 << 20, 1);
	struct run run = {.store = m.store};
	struct thread threads[THREADS];
	assert_ok(put(&m, "counter", 0, 0));
	for (unsigned i = 0; i < THREADS; i++)
		threads[i].run = &run;
	support_threads(add, threads, THREADS, sizeof(*threads));
	struct php_hone_key key = key_of("counter");
	php_hone_member_pin(&m);
	assert_int_equal(find_key(&m, &key)->value[0], THREADS * ADDS);
	php_hone_member_unpin(&m);
	assert_int_equal(run.errors, 0);
	end_store(&m);
}
