/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request that has found entries before, at each instruction of a process
 * that ends them: whatever it knows is what the index leads to.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "store_support.h"

#define FEW 24
#define MANY 2000

static struct php_hone_store *store;
static struct php_hone_member m;

static void
name_of(char *name, unsigned i)
{
	snprintf(name, 24, "key%u", i);
}

static void
run_replace(struct php_hone_member *child)
{
	(void)put(child, "key3", 3, 500);
}

static void
run_delete(struct php_hone_member *child)
{
	struct php_hone_key key = key_of("key5");
	(void)php_hone_store_delete(child, &key);
}

static void
run_clear(struct php_hone_member *child)
{
	php_hone_store_clear(child);
}

static void
run_evict(struct php_hone_member *child)
{
	for (unsigned i = 0; i < 6; i++) {
		char name[24];
		snprintf(name, sizeof name, "new%u", i);
		struct php_hone_key key = key_of(name);
		struct php_hone_room room = {.key = &key, .data = 3100};
		struct php_hone_entry *entry;
		if (reserve_part(child, &room, 2, &entry) == 0)
			(void)php_hone_store_publish(
				child, entry, PHP_HONE_STORE);
	}
}

/* What the request knows at first. */
static struct {
	char name[24];
	const struct php_hone_entry *entry;
} knows[PHP_HONE_KNOWN];
static unsigned n_knows;

/* It stays the next to be evicted. */
static const struct php_hone_entry *
known(const char *name)
{
	struct php_hone_key key = key_of(name);
	const struct php_hone_entry *entry = php_hone_store_known(&m, &key);
	if (entry != NULL)
		((struct php_hone_entry *)entry)->used = 0;
	return entry;
}

/* Find all of them; the oldest ones, which go first, come last. */
static void
learn(unsigned keys)
{
	char name[24];
	uint64_t number = 0;
	for (unsigned i = keys; i-- > 0;) {
		name_of(name, i);
		(void)get(&m, name, &number);
	}
	n_knows = 0;
	for (unsigned i = 0; i < keys; i++) {
		name_of(name, i);
		const struct php_hone_entry *entry = known(name);
		if (entry == NULL)
			continue;
		memcpy(knows[n_knows].name, name, sizeof name);
		knows[n_knows++].entry = entry;
	}
	assert_true(n_knows > FEW / 2);
}

static unsigned
known_and_gone(void)
{
	unsigned gone = 0;
	for (unsigned i = 0; i < n_knows; i++) {
		struct php_hone_key key = key_of(knows[i].name);
		const struct php_hone_entry *entry = known(knows[i].name);
		gone += entry != NULL && php_hone_fetch_peek(&m, &key) != entry;
		php_hone_fetch_end(&m);
	}
	return gone;
}

static bool
something_ended(void)
{
	for (unsigned i = 0; i < n_knows; i++) {
		if (known(knows[i].name) == NULL)
			return true;
	}
	return false;
}

/* Returns how often something was known and gone. */
static unsigned
watch(void (*run)(struct php_hone_member *child), unsigned keys)
{
	char name[24];
	store = make_store((size_t)1 << 20, 1);
	assert_int_equal(php_hone_member_join(&m, store), 0);
	for (unsigned i = 0; i < keys; i++) {
		name_of(name, i);
		assert_int_equal(put(&m, name, i, 1000), 0);
	}
	php_hone_member_pin(&m);
	learn(keys);
	unsigned failed = 0;
	pid_t pid = start_stopped(store, run);
	while (single_step(pid))
		failed += known_and_gone();
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* Not in vain. */
	assert_true(something_ended());
	php_hone_member_unpin(&m);
	php_hone_member_leave(&m);
	php_hone_store_unmap(store);
	return failed;
}

TEST(what_is_replaced_is_not_known)
{
	skip_if_nobody_can_be_killed();
	assert_int_equal(watch(run_replace, FEW), 0);
}

TEST(what_is_deleted_is_not_known)
{
	skip_if_nobody_can_be_killed();
	assert_int_equal(watch(run_delete, FEW), 0);
}

TEST(what_is_cleared_is_not_known)
{
	skip_if_nobody_can_be_killed();
	assert_int_equal(watch(run_clear, FEW), 0);
}

TEST(what_is_evicted_is_not_known)
{
	skip_if_nobody_can_be_killed();
	assert_int_equal(watch(run_evict, MANY), 0);
}
