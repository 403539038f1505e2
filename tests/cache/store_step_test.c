/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that is killed at each instruction of each call that writes.
 * Whoever comes after finds all values, blocks nowhere, and no memory is lost.
 */
#include <linux/futex.h>
#include "inner.h"
#include "store_support.h"

static struct php_hone_store *store;
static struct php_hone_member m;

#define FIXED 24

struct step_case {
	const char *name;
	void (*run)(struct php_hone_member *child);
	/* fill the store before, so that it has to evict */
	bool full;
};

static void
run_new(struct php_hone_member *child)
{
	(void)put(child, "op", 2, 200);
}

static void
run_replace(struct php_hone_member *child)
{
	(void)put(child, "fixed3", 3, 500);
}

static void
run_large(struct php_hone_member *child)
{
	struct php_hone_key key = key_of("op");
	struct php_hone_room room = {.key = &key, .data = 40100};
	struct php_hone_entry *entry;
	if (reserve_part(child, &room, 2, &entry) == 0)
		(void)php_hone_store_publish(child, entry, PHP_HONE_STORE);
}

static void
run_delete(struct php_hone_member *child)
{
	(void)erase(child, "fixed5");
}

static void
run_cancel(struct php_hone_member *child)
{
	struct php_hone_key key = key_of("op");
	struct php_hone_room room = {.key = &key, .data = 100};
	struct php_hone_entry *entry;
	if (php_hone_store_reserve(child, &room, &entry) == 0)
		php_hone_store_cancel(child, entry);
}

static void
run_add_existing(struct php_hone_member *child)
{
	struct php_hone_key key = key_of("fixed7");
	struct php_hone_room room = {.key = &key, .data = 40};
	struct php_hone_entry *entry;
	if (reserve(child, &room, 9, &entry) == 0)
		(void)php_hone_store_publish(child, entry, PHP_HONE_ADD);
}

static void
run_tagged(struct php_hone_member *child)
{
	struct php_hone_key key = key_of("op");
	struct php_hone_key tag = key_of("tag");
	struct php_hone_room room = {
		.key = &key, .data = 40, .tags = &tag, .n_tags = 1};
	struct php_hone_entry *entry;
	if (reserve(child, &room, 2, &entry) == 0)
		(void)php_hone_store_publish(child, entry, PHP_HONE_STORE);
	(void)php_hone_store_invalidate_tag(child, &tag);
}

static void
run_fetch(struct php_hone_member *child)
{
	uint64_t number = 0;
	php_hone_member_pin(child);
	(void)get(child, "fixed2", &number);
	php_hone_member_unpin(child);
}

static void
run_change(struct php_hone_member *child, const char *name)
{
	const struct php_hone_entry *entry = fetch(child, name);
	if (entry != NULL)
		change_form(child, entry);
	php_hone_fetch_end(child);
}

static void
run_pack(struct php_hone_member *child)
{
	run_change(child, "fixed4");
}

static void
run_make_warm(struct php_hone_member *child)
{
	run_change(child, "cold");
}

static void
run_leave(struct php_hone_member *child)
{
	php_hone_member_leave(child);
}

static const struct step_case cases[] = {
	{"new", run_new, false},
	{"new, evicting", run_new, true},
	{"large", run_large, false},
	{"large, evicting", run_large, true},
	{"replace", run_replace, false},
	{"delete", run_delete, false},
	{"cancel", run_cancel, false},
	{"add", run_add_existing, false},
	{"tagged", run_tagged, false},
	{"fetch", run_fetch, false},
	{"pack", run_pack, false},
	{"make warm, large", run_make_warm, false},
	{"leave", run_leave, false},
};

/* Its twin is filled without the mutex. */
static void
put_cold_part(void)
{
	struct php_hone_key key = key_of("cold");
	struct php_hone_room room = {.key = &key, .data = 10100, .cold = true};
	struct php_hone_entry *entry;
	assert_ok(reserve_part(&m, &room, 2, &entry));
	entry->value[1] |= PHP_HONE_PACKABLE;
	assert_ok(php_hone_store_publish(&m, entry, PHP_HONE_STORE));
}

static void
open_store(bool full)
{
	m = join_new_store((size_t)1 << 20, 1);
	store = m.store;
	for (unsigned i = 0; i < FIXED; i++)
		assert_ok(put_form(
			&m, numbered("fixed", i), i, 100 + i * 40, i % 2 != 0));
	put_cold_part();
	for (unsigned i = 0; full && i < 60; i++)
		assert_ok(put(&m, numbered("filler", i), i, 35000));
	/* Blocks of some sizes between live ones. */
	for (unsigned i = 9; i < FIXED; i += 4) {
		(void)erase(&m, numbered("fixed", i));
	}
}

/* The state after a kill: nothing is broken, blocked, or lost. */
static bool
is_sound(const struct step_case *c, unsigned step)
{
	const char *problem = audit(&m);
	if (problem != NULL) {
		printf("# %s, killed at step %u: %s\n", c->name, step, problem);
		return false;
	}
	for (unsigned i = 0; i < FIXED; i++) {
		uint64_t number = 0;
		int error = get(&m, numbered("fixed", i), &number);
		bool may_lack = c->full || i == 5 || (i >= 9 && i % 4 == 1);
		if (error == -EILSEQ || (error == -ENOENT && !may_lack) ||
			(error == 0 && number != i)) {
			printf("# %s, killed at step %u: value %u is lost\n",
				c->name, step, i);
			return false;
		}
	}
	uint64_t number = 0;
	uint64_t cold = 0;
	if (get(&m, "op", &number) == -EILSEQ ||
		get(&m, "cold", &cold) == -EILSEQ || (!c->full && cold != 2))
		return false;
	/* Not a block leaks: the largest value finds room. */
	if (put(&m, "op", 1, info_of(&m).largest_value) != 0) {
		printf("# %s, killed at step %u: a block is lost\n", c->name,
			step);
		return false;
	}
	return audit(&m) == NULL;
}

/*
 * A copy of the memory in which the child is dead: what the kernel does to its
 * mutex is done here, and the child's slot belongs to a process that has
 * another start time than the one of that number.
 */
static void
copy_as_if_killed(struct php_hone_store *copy, pid_t pid)
{
	memcpy(copy->rw, store->rw, store->size);
	for (unsigned i = 0; i < copy->n_shards; i++) {
		copy->shards[i].store = copy;
		/* glibc: the first word is the futex. */
		unsigned *word = (unsigned *)&copy->shards[i].mutex;
		if (*word != 0)
			*word = FUTEX_OWNER_DIED;
	}
	for (unsigned i = 0; i < copy->n_slots; i++) {
		if (copy->slots[i].owner >> 32 == (uint64_t)pid)
			copy->slots[i].owner ^= 1;
	}
}

static unsigned
check_each_step(const struct step_case *c, unsigned stride, unsigned first,
	unsigned *failed)
{
	open_store(c->full);
	struct php_hone_store *original = store;
	struct php_hone_member joined = m;
	struct php_hone_store *copy = make_store((size_t)1 << 20, 1);
	pid_t pid = start_stopped(store, c->run);
	unsigned steps = 0;
	/* A store that has lost memory waits for room at each step. */
	for (bool more = true; more && *failed < 3; steps++) {
		more = single_step(pid);
		if (more && steps % stride != first % stride)
			continue;
		copy_as_if_killed(copy, pid);
		store = copy;
		m.store = copy;
		m.slot = copy->slots + (joined.slot - original->slots);
		*failed += !is_sound(c, steps);
		store = original;
		m = joined;
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	php_hone_store_unmap(copy);
	php_hone_member_leave(&m);
	php_hone_store_unmap(store);
	return steps;
}

/*
 * The kernel itself marks the mutex. A child that takes fewer instructions than
 * the counted one is killed after its last one.
 */
static bool
kill_at(const struct step_case *c, size_t steps)
{
	open_store(c->full);
	pid_t pid = start_stopped(store, c->run);
	size_t done = 0;
	while (done < steps && single_step(pid))
		done++;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	bool sound = is_sound(c, (unsigned)done);
	php_hone_member_leave(&m);
	php_hone_store_unmap(store);
	return sound;
}

TEST(killed_at_many_instructions)
{
	skip_if_nobody_can_be_killed();
	uint64_t random = support_seed();
	unsigned failed = 0;
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		/* From a place drawn at random, so that many runs meet all
		 * instructions: one run would take minutes. */
		unsigned steps = check_each_step(&cases[i], 11,
			(unsigned)support_below(&random, 11), &failed);
		printf("# %s: %u instructions\n", cases[i].name, steps);
		assert_int_equal(failed, 0);
		assert_true(steps > 50);
		for (unsigned k = 0; k < 2; k++) {
			failed += !kill_at(
				&cases[i], support_below(&random, steps));
		}
	}
	assert_int_equal(failed, 0);
}

/*
 * A request that has found entries before, at each instruction of a process
 * that ends them: whatever it knows is what the index leads to.
 */

#define FEW 24
#define MANY 2000

static void
replace_known(struct php_hone_member *child)
{
	(void)put(child, "key3", 3, 500);
}

static void
delete_known(struct php_hone_member *child)
{
	(void)erase(child, "key5");
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
		struct php_hone_key key = key_of(numbered("new", i));
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
	uint64_t number = 0;
	for (unsigned i = keys; i-- > 0;)
		(void)get(&m, numbered("key", i), &number);
	n_knows = 0;
	for (unsigned i = 0; i < keys; i++) {
		const char *name = numbered("key", i);
		const struct php_hone_entry *entry = known(name);
		if (entry == NULL)
			continue;
		memcpy(knows[n_knows].name, name, sizeof knows->name);
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
	m = join_new_store((size_t)1 << 20, 1);
	store = m.store;
	for (unsigned i = 0; i < keys; i++)
		assert_ok(put(&m, numbered("key", i), i, 1000));
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
	end_store(&m);
	return failed;
}

TEST(what_ended_is_not_known)
{
	skip_if_nobody_can_be_killed();
	assert_ok(watch(replace_known, FEW));
	assert_ok(watch(delete_known, FEW));
	assert_ok(watch(run_clear, FEW));
	assert_ok(watch(run_evict, MANY));
}
