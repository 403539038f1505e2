/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads and processes that wait for the claims of one another. Each wait has
 * an hour: a circle that nobody sees ends the test by its alarm.
 */
#include "inner.h"
#include "store_support.h"

#define HOUR 3600000
#define WATCHDOG 200 /* seconds */
#define ROUNDS (100 / SLOW)
#define MOST 5

static struct php_hone_store *store;
static struct php_hone_member a, b;

FIXTURE(setup)
{
	alarm(WATCHDOG);
	/* Keys are in several shards. */
	store = make_store((size_t)4 << 20, 4);
	assert_ok(php_hone_member_join(&a, store));
	return php_hone_member_join(&b, store);
}

FIXTURE(teardown)
{
	php_hone_member_leave(&a);
	php_hone_member_leave(&b);
	php_hone_store_unmap(store);
	alarm(0);
	return 0;
}

#define STORE_TEST(name) TEST_WITH(name, setup, teardown)

/* ---- threads, each of which claims a key and waits for another one ---- */

struct party {
	pthread_t id;
	struct php_hone_member m;
	char own[12], other[12]; /* "k", a number */
	pthread_barrier_t *claimed;
	int result;
};

/* As remember() does: it computes its value once it has the other one. */
static void *
claim_and_wait(void *opaque)
{
	struct party *p = opaque;
	struct php_hone_key other = key_of(p->other);
	int claimed = claim(&p->m, p->own, HOUR);
	pthread_barrier_wait(p->claimed);
	p->result = php_hone_store_wait(&p->m, &other, HOUR);
	if (claimed < 0 || put(&p->m, p->own, 1, 10) < 0)
		p->result = -EIO;
	return NULL;
}

/*
 * Parties 0 to n-1 in a circle, and each later one waits for the one before it.
 * Returns how many did not wait; *outside has those that are not in the circle.
 */
static unsigned
run(unsigned n, unsigned all, unsigned *outside)
{
	struct party parties[MOST] = {0};
	pthread_barrier_t claimed;
	unsigned refused = 0;
	*outside = 0;
	pthread_barrier_init(&claimed, NULL, all);
	for (unsigned i = 0; i < all; i++) {
		struct party *p = &parties[i];
		unsigned other = i >= n ? i - 1 : (i + 1) % n;
		assert_ok(php_hone_member_join(&p->m, store));
		p->claimed = &claimed;
		snprintf(p->own, sizeof p->own, "k%u", i);
		snprintf(p->other, sizeof p->other, "k%u", other);
	}
	for (unsigned i = 0; i < all; i++)
		assert_ok(pthread_create(
			&parties[i].id, NULL, claim_and_wait, &parties[i]));
	for (unsigned i = 0; i < all; i++) {
		struct party *p = &parties[i];
		pthread_join(p->id, NULL);
		assert_true(p->result == 0 || p->result == -EDEADLK);
		if (p->result != 0) {
			refused++;
			*outside += i >= n;
		}
		php_hone_member_leave(&p->m);
	}
	pthread_barrier_destroy(&claimed);
	return refused;
}

STORE_TEST(one_of_a_circle_does_not_wait)
{
	unsigned outside = 0;
	for (unsigned n = 2; n <= MOST; n++) {
		for (unsigned i = 0; i < ROUNDS; i++)
			assert_int_equal(run(n, n, &outside), 1);
	}
}

STORE_TEST(who_waits_for_a_circle_waits)
{
	unsigned outside = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(run(2, 4, &outside), 1);
		assert_int_equal(outside, 0);
	}
}

/* ---- what is not a circle, and processes that end ---- */

static int
wait_for(struct php_hone_member *member, const char *name)
{
	struct php_hone_key key = key_of(name);
	return php_hone_store_wait(member, &key, 1);
}

/* As if it waited in another thread. */
static void
seems_to_wait(const struct php_hone_member *member, const char *name)
{
	php_hone_set64(&member->slot->waits, key_of(name).hash);
}

STORE_TEST(who_still_seems_to_wait_closes_no_circle)
{
	assert_ok(claim(&a, "a", 100));
	assert_ok(claim(&b, "b", 100));
	seems_to_wait(&b, "a");
	assert_int_equal(wait_for(&a, "b"), -EDEADLK);
	/* The value that b waits for is there, and nobody has woken b yet. */
	assert_ok(put(&a, "a", 1, 10));
	assert_int_equal(wait_for(&a, "b"), -ETIMEDOUT);
	/* A wait that has ended leaves nothing. */
	assert_ok(claim(&a, "a", 100));
	assert_int_equal(wait_for(&b, "a"), -ETIMEDOUT);
	assert_int_equal(wait_for(&a, "b"), -ETIMEDOUT);
}

/* Claims "c" and waits for "a". */
static void
claim_and_wait_for_a(struct php_hone_member *child)
{
	struct php_hone_key key = key_of("a");
	alarm(WATCHDOG);
	if (claim(child, "c", 100) == 0)
		(void)php_hone_store_wait(child, &key, HOUR);
	_exit(1);
}

STORE_TEST(the_dead_close_no_circle)
{
	skip_if_nobody_can_be_killed();
	assert_ok(claim(&a, "a", 100));
	assert_ok(claim(&b, "b", 100));
	pid_t pid = fork_member(store, claim_and_wait_for_a);
	until_a_slot_waits(store);
	/* Through b and the child. */
	seems_to_wait(&b, "c");
	assert_int_equal(wait_for(&a, "b"), -EDEADLK);
	assert_int_equal(wait_for(&a, "c"), -EDEADLK);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(wait_for(&a, "b"), -ETIMEDOUT);
	assert_int_equal(wait_for(&a, "c"), 0);
}

STORE_TEST(a_slot_that_is_taken_anew_waits_for_nothing)
{
	assert_ok(claim(&a, "a", 100));
	struct php_hone_slot *slot = b.slot;
	seems_to_wait(&b, "a");
	php_hone_member_leave(&b);
	assert_ok(php_hone_member_join(&b, store));
	assert_ptr_equal(b.slot, slot);
	assert_ok(claim(&b, "b", 100));
	assert_int_equal(wait_for(&a, "b"), -ETIMEDOUT);
}
