/* SPDX-License-Identifier: BSD-3-Clause */
/* Deques that have no room for all magazines: what they lack room for spills,
 * and comes back. */
#include "deque.h"
#include "mmap_wrap.h"
#include "slots_wrap.h"

#define CAPACITY 1000
#define CACHE 10

static struct hone_mempool *
pool_with(unsigned flags, size_t slots, unsigned max_caches)
{
	struct hone_mempool *pool;

	deque_slots = slots;
	pool = flagged_pool(flags, CAPACITY, CACHE, max_caches);
	deque_slots = 0;
	return pool;
}

static size_t
size_of_caches(unsigned max_caches)
{
	size_t size;
	struct hone_mempool *pool;
	struct hone_mempool_cache *c;

	mapped = 0;
	pool = pool_of(CAPACITY, 512, max_caches);
	size = mapped;
	c = opened(pool);
	hone_mempool_put(c, hone_mempool_get(c));
	closed_and_destroyed(pool, c);
	assert_int_equal(mapped, 0);
	return size;
}

/* The page of a cache, its four magazines of 4160 bytes, and its deques. */
TEST(caches_take_memory_by_their_number)
{
	const size_t one = 4096 + 4 * 4160 + 2 * 1024 * sizeof(void *);
	size_t size = size_of_caches(10000);

	assert_in_range(size, 10000 * one, 10000 * one + ((size_t)1 << 20));
	assert_in_range(
		size_of_caches(20000), 2 * size - ((size_t)1 << 20), 2 * size);
	/* With few, each deque has room for all magazines. */
	assert_true(size_of_caches(32) < 32 * one);
}

/* Of few caches with many magazines, each deque has room for all. */
TEST(few_caches_never_spill)
{
	struct hone_mempool_layout layout;

	for (unsigned caches = 1; caches <= 64; caches++)
		for (size_t capacity = 1000; capacity <= 10000000;
			capacity *= 10) {
			struct hone_mempool_attr attr = attributes(
				capacity, 1 + capacity % 512, caches);

			assert_null(hone_mempool_layout(&layout, &attr));
			assert_true(layout.deque_slots >= layout.n_magazines);
			assert_true(layout.deque_slots <
				    2 * layout.n_magazines + 8);
		}
}

/* A magazine has a number of 32 bits. */
TEST(a_pool_of_too_many_magazines_is_refused)
{
	struct hone_mempool_attr attr = attributes(UINT32_MAX, 1, 1);

	attr.object_size = 0;
	attr.flags = HONE_MEMPOOL_FOREIGN;
	assert_string_equal(hone_mempool_check_attr(&attr), "capacity");
	attr.capacity = UINT32_MAX - 4 - 2;
	assert_string_equal(hone_mempool_check_attr(&attr), "capacity");
	attr.capacity--;
	if (sizeof(size_t) > sizeof(uint32_t))
		assert_null(hone_mempool_check_attr(&attr));
}

static void *objs[CAPACITY + 1];

/* One cache takes all and puts all, so its deques overflow by both sides. */
static void
all_come_and_go(struct hone_mempool *pool)
{
	struct hone_mempool_cache *c = opened(pool), *d = opened(pool);

	for (int round = 0; round < 4; round++) {
		assert_int_equal(hone_mempool_get_burst(c, objs, CAPACITY + 1),
			CAPACITY);
		assert_int_equal(hone_mempool_available(pool), 0);
		assert_null(hone_mempool_get(d));
		audited(pool, CAPACITY);
		hone_mempool_put_bulk(d, objs, CAPACITY / 2);
		assert_int_equal(hone_mempool_available(pool), CAPACITY / 2);
		audited(pool, CAPACITY / 2);
		hone_mempool_put_bulk(
			c, objs + CAPACITY / 2, CAPACITY - CAPACITY / 2);
		assert_int_equal(hone_mempool_available(pool), CAPACITY);
		audited(pool, 0);
		hone_mempool_cache_close(d);
		d = opened(pool);
	}
	hone_mempool_cache_close(c);
	hone_mempool_cache_close(d);
	assert_int_equal(stats_of(pool).shared, CAPACITY);
	destroyed(pool);
}

TEST(what_spills_comes_back)
{
	static const unsigned flags[] = {
		0, HONE_MEMPOOL_EXACT, HONE_MEMPOOL_DEBUG};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		for (size_t slots = 1; slots <= 256; slots *= 4)
			all_come_and_go(pool_with(flags[i], slots, 3));
}

/* Deques of the library's own size: 8,192 slots for 84,000 magazines, which is
 * more than 16 bits count. */
TEST(one_of_many_caches_takes_all)
{
	enum { MANY = 80000 };
	struct hone_mempool *pool = pool_of(MANY, 1, 1000);
	struct hone_mempool_cache *c = opened(pool);
	void **all = calloc(MANY, sizeof(void *));

	assert_non_null(all);
	for (int round = 0; round < 2; round++) {
		assert_ok(hone_mempool_get_bulk(c, all, MANY));
		assert_null(hone_mempool_get(c));
		hone_mempool_put_bulk(c, all, MANY);
		assert_int_equal(hone_mempool_available(pool), MANY);
	}
	audited(pool, 0);
	closed_and_destroyed(pool, c);
	free(all);
}

/* A thread that was stopped since it loaded the word must not take it for the
 * same, since the magazine below may be another. */
TEST(each_change_of_a_stack_shows)
{
	struct hone_mempool *pool = pool_with(0, 1, 2);
	_Atomic uint64_t *stack = &pool->spilled[HONE_MEMPOOL_FULL];
	uint64_t before = atomic_load(stack);
	struct hone_mempool_magazine *m =
		hone_mempool_take_spilled(pool, HONE_MEMPOOL_FULL);

	assert_non_null(m);
	assert_true(atomic_load(stack) != before);
	hone_mempool_spill(pool, HONE_MEMPOOL_FULL, m);
	assert_int_equal((uint32_t)atomic_load(stack), (uint32_t)before);
	assert_true(atomic_load(stack) != before);
	destroyed(pool);
}

TEST(a_pool_stays_while_a_magazine_is_out)
{
	struct hone_mempool *pool = pool_with(0, 1, 2);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_magazine *m = hone_mempool_get_magazine(c);

	hone_mempool_put_bulk(c, m->objects, m->count);
	m->count = 0;
	hone_mempool_cache_close(c);
	assert_int_equal(hone_mempool_available(pool), CAPACITY);
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	c = opened(pool);
	hone_mempool_put_magazine(c, m);
	closed_and_destroyed(pool, c);
}

static int
child(struct hone_mempool *pool, void *mine)
{
	struct hone_mempool_findings findings;
	struct hone_mempool_cache *c;

	if (hone_mempool_after_fork(pool) != 1 ||
		hone_mempool_cache_open(pool, &c) != 0)
		return 1;
	hone_mempool_audit(pool, &findings, NULL, NULL);
	if (findings.in_pool != CAPACITY - 1 || findings.doubled)
		return 2;
	if (hone_mempool_get_burst(c, objs, CAPACITY) != CAPACITY - 1)
		return 3;
	hone_mempool_put_bulk(c, objs, CAPACITY - 1);
	hone_mempool_put(c, mine);
	hone_mempool_cache_close(c);
	return hone_mempool_destroy(pool) == 0 ? 0 : 4;
}

POOL_TEST(a_child_has_what_spilled, pool_with(0, 4, 3))
{
	void *mine = hone_mempool_get(c);

	assert_ok(hone_mempool_get_bulk(c, objs, CAPACITY / 2));
	hone_mempool_put_bulk(c, objs, CAPACITY / 2);
	PASSES_IN_CHILD(child(pool, mine));
	hone_mempool_put(c, mine);
}

/*
 * The deque alone, with indices that wrap around: the owner gets the newest
 * item, thieves get the oldest, each item is taken once. The model in model/
 * checks what only a CPU with weaker ordering would show.
 */

#define SLOTS 8

struct deque {
	struct hone_deque d;
	void *_Atomic slots[SLOTS];
};

/* An empty deque whose next index is this. */
static void
begin(struct deque *deque, size_t first)
{
	hone_deque_init(&deque->d, deque->slots, SLOTS - 1);
	atomic_store(&deque->d.bottom, first);
	atomic_store(&deque->d.top, first);
	deque->d.end = first + SLOTS;
}

/* Items are numbers from 1 here. */
static void *
item(size_t number)
{
	return (void *)(uintptr_t)number;
}

TEST(owner_and_thief_take_from_their_ends)
{
	static struct deque deque;
	struct hone_deque *d = &deque.d;

	/* From before the indices wrap around to after it, and half way. */
	for (size_t before = 0; before < 3 * SLOTS; before++) {
		begin(&deque, before % 2 ? SIZE_MAX / 2 + 1 - before
					 : SIZE_MAX - before);
		for (size_t n = 0; n <= SLOTS; n++) {
			size_t low = 1, high = n;

			assert_null(hone_deque_pop(d));
			assert_null(hone_deque_steal(d));
			for (size_t i = 1; i <= n; i++)
				assert_true(hone_deque_push(d, item(i)));
			assert_int_equal(
				hone_deque_push(d, item(n + 1)), n < SLOTS);
			if (n < SLOTS)
				assert_ptr_equal(
					hone_deque_pop(d), item(n + 1));
			while (low <= high) {
				assert_int_equal(
					hone_deque_count(d), high - low + 1);
				if ((high + n) % 3)
					assert_ptr_equal(hone_deque_pop(d),
						item(high--));
				else
					assert_ptr_equal(hone_deque_steal(d),
						item(low++));
			}
			assert_int_equal(hone_deque_count(d), 0);
		}
	}
}
