/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_SUPPORT_H
#define STORE_SUPPORT_H
/*
 * What the tests of the store share. A value is a stored value whose bytes
 * follow from a number, so that whoever fetches it can tell whether all of it
 * is as stored.
 */
#include <sys/types.h>
#include "support.h"
#include "store.h"

/* A sanitizer or an emulator is slow: such runs take a fraction of the turns.
 */
#if TSAN || ASAN
#define SLOW 10
#elif !defined(__OPTIMIZE__) || !defined(__x86_64__)
#define SLOW 5
#else
#define SLOW 1
#endif

/* Skip the test, with the reason, where processes cannot be killed. */
void skip_if_nobody_can_be_killed(void);
void skip_if_zombies_count_as_alive(void);

/* PHP's hash of a string. */
uint64_t hash_of(const char *bytes, size_t len);
struct php_hone_key key_of(const char *name);
/* The name of a key, until this thread's next call. */
const char *numbered(const char *prefix, uint64_t number);
struct php_hone_store_info info_of(struct php_hone_member *member);

/*
 * Stops the clock by which entries and readers age, before a store is made.
 * After that, only time_passes() moves it. Waits for claims end by another
 * clock.
 */
void stop_clock(void);
void time_passes(unsigned ms);
/* From now on, so much time passes after each look at that clock. */
void clock_steps(unsigned ms);

/* Whether mutexes are waited for without a limit, as at first: a machine that
 * has much to do stops processes, too. */
void wait_for_mutexes(bool without_limit);
/* How often a mutex was waited for, with a limit. */
unsigned mutex_waits(void);

struct php_hone_store *make_store(size_t size, unsigned shards);
/* A member of a new store; and the end of both, with an audit. */
struct php_hone_member join_new_store(size_t size, unsigned shards);
void end_store(struct php_hone_member *member);

/*
 * NULL if all that the store keeps agrees: blocks, free lists, index, sums; or
 * the first thing that does not.
 */
const char *audit(struct php_hone_member *member);
/* The same, for a teardown: prints the problem. Returns 0 if there is none. */
int audit_aloud(struct php_hone_member *member);

/*
 * Before and after a test of one member: *state is the member. It is pinned,
 * its store has 8 MiB, and the clock stands. The audit is a part of the test.
 */
int member_setup(void **state);
int member_teardown(void **state);

#define MEMBER_TEST(name) TEST_WITH(name, member_setup, member_teardown)

/* Returns once any member waits for a claim. */
void until_a_slot_waits(const struct php_hone_store *store);

/* Reserve and fill, but do not publish. */
int reserve(struct php_hone_member *member, const struct php_hone_room *room,
	uint64_t number, struct php_hone_entry **entry);
/* The same, but fill PART bytes alone: to fill all would be most instructions
 * of a large store. */
#define PART 100
int reserve_part(struct php_hone_member *member,
	const struct php_hone_room *room, uint64_t number,
	struct php_hone_entry **entry);
/* Store a stored value of that many bytes. */
int put(struct php_hone_member *member, const char *name, uint64_t number,
	size_t bytes);
/* The same with tags, a time to live and so on. */
int put_room(struct php_hone_member *member, const struct php_hone_room *room,
	uint64_t number);
/* Claim a key. */
int claim(struct php_hone_member *member, const char *name, uint32_t seconds);
/* Delete a key. */
int erase(struct php_hone_member *member, const char *name);
/* The same of a value with two forms, in one of them. */
int put_form(struct php_hone_member *member, const char *name, uint64_t number,
	size_t bytes, bool cold);
/* The twin of such an entry in the other form, which has the same number: four
 * times or a quarter of the bytes. NULL if there is none now. */
struct php_hone_entry *reserve_twin(
	struct php_hone_member *member, const struct php_hone_entry *of);
/* The same, published. */
void change_form(
	struct php_hone_member *member, const struct php_hone_entry *of);
/* Packs what the hand has left; returns how many. */
unsigned pack_all(struct php_hone_member *member);
/* Whether an entry is as put() stored it; *number is its number. */
bool is_whole(const struct php_hone_entry *entry, uint64_t *number);
/* For php_hone_store_walk(): opaque is an unsigned, which counts whole entries.
 */
bool count_whole(const struct php_hone_entry *entry, void *opaque);
/* 0 and the number of a value; -ENOENT; -EILSEQ if it is not whole. */
int get(struct php_hone_member *member, const char *name, uint64_t *number);
/* The value under a key has this number, or there is none. */
void expect(struct php_hone_member *member, const char *name, uint64_t number);
void expect_none(struct php_hone_member *member, const char *name);
/* Begins a fetch of a key. */
const struct php_hone_entry *fetch(
	struct php_hone_member *member, const char *name);
/* The entry of a key, after the end of its fetch. */
const struct php_hone_entry *find(
	struct php_hone_member *member, const char *name);
const struct php_hone_entry *find_key(
	struct php_hone_member *member, const struct php_hone_key *key);
/* Whether a fetch that begins now is open. */
bool is_open(struct php_hone_member *member);

/* A child that has joined the store, and does not outlive a test that fails. */
pid_t fork_member(struct php_hone_store *store,
	void (*run)(struct php_hone_member *child));
/* The same; returns once the child has stopped itself by SIGSTOP. */
pid_t fork_ready(struct php_hone_store *store,
	void (*run)(struct php_hone_member *child));
/*
 * A child that has joined the store and stops before `run` and after it. It
 * does not outlive a test that fails.
 */
pid_t start_stopped(struct php_hone_store *store,
	void (*run)(struct php_hone_member *child));
/* One instruction of such a child. False after `run`. */
bool single_step(pid_t pid);

/* Two members of a store of 4 MiB, for each test anew, on a clock that stands.
 */
extern struct php_hone_member reader, writer;

/* cmocka's functions before and after a test; the audit of the store is a part
 * of the test. */
int pair_setup(void **state);
int pair_teardown(void **state);

#define PAIR_TEST(name) TEST_WITH(name, pair_setup, pair_teardown)

#endif
