/* SPDX-License-Identifier: BSD-3-Clause */
/* Where objects lie, who owns the memory, and what happens without memory. */
#include "mmap_wrap.h"

/*
 * Calls that may fail: the linker redirects these calls of the library to this
 * file. Each call counts, and the one with the chosen number fails.
 */
static int calls, fails_at;

static bool
fails(void)
{
	return ++calls == fails_at;
}

STANDS_FOR(int, pthread_mutex_init, pthread_mutex_t *mutex,
	const pthread_mutexattr_t *attr)
{
	return fails() ? ENOMEM : __real_pthread_mutex_init(mutex, attr);
}

STANDS_FOR(int, pthread_key_create, pthread_key_t *key, void (*end)(void *))
{
	return fails() ? EAGAIN : __real_pthread_key_create(key, end);
}

STANDS_FOR(void *, calloc, size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

STANDS_FOR(void *, realloc, void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

STANDS_FOR(int, pthread_setspecific, pthread_key_t key, const void *value)
{
	return fails() ? ENOMEM : __real_pthread_setspecific(key, value);
}

static void
may_fail_once(struct hone_mempool_attr attr, int least_calls)
{
	struct hone_mempool *const unset = (struct hone_mempool *)&attr;

	mapped = 0;
	for (int turn = 1;; turn++) {
		struct hone_mempool *pool = unset;
		int error;

		calls = 0;
		fails_at = turn;
		error = hone_mempool_create(&pool, &attr);
		if (calls < turn) {
			assert_int_equal(error, 0);
			assert_true(turn > least_calls);
			assert_ok(hone_mempool_destroy(pool));
			assert_int_equal(mapped, 0);
			break;
		}
		assert_int_equal(error, -ENOMEM);
		assert_ptr_equal(pool, unset);
		assert_int_equal(mapped, 0);
	}
	fails_at = 0;
}

TEST(every_allocation_may_fail_once)
{
	static char memory[8192] __attribute__((aligned(64)));
	struct hone_mempool_attr attr = attributes(100, 10, 2);

	may_fail_once(attr, 3);
	attr.memory = memory;
	attr.memory_size = sizeof(memory);
	may_fail_once(attr, 2);
}

static struct hone_mempool *pools[20];

/* The first caches of a thread, each of which may need more memory. Returns
 * what is wrong, or NULL. */
static const char *
open_many(int turn, bool *failed)
{
	calls = 0;
	fails_at = turn;
	for (int i = 0; i < 20; i++) {
		struct hone_mempool_cache *c;

		c = hone_mempool_thread_cache(pools[i]);
		if (!c) {
			if (calls != turn || *failed)
				return "another call failed";
			*failed = true;
			c = hone_mempool_thread_cache(pools[i]);
		}
		if (!c)
			return "the failure lost the only cache";
		if (hone_mempool_thread_cache(pools[i]) != c)
			return "the thread opened a second cache";
	}
	return NULL;
}

struct opener {
	int turn;
	bool failed;
	const char *wrong;
};

static void *
open_in_a_thread(void *arg)
{
	struct opener *o = arg;

	o->wrong = open_many(o->turn, &o->failed);
	fails_at = 0;
	return NULL;
}

/* pthread_key_create() is called once in the process; two lists and two tables,
 * and pthread_setspecific() for each table. */
TEST(a_thread_cache_may_fail_and_come_later)
{
	struct opener o = {.failed = true};

	while (o.failed) {
		pthread_t thread;

		o.turn++;
		o.failed = false;
		for (int i = 0; i < 20; i++)
			pools[i] = pool_of(100, 10, 1);
		assert_ok(pthread_create(&thread, NULL, open_in_a_thread, &o));
		assert_ok(pthread_join(thread, NULL));
		if (o.wrong)
			fail_msg("call %d: %s", o.turn, o.wrong);
		for (int i = 0; i < 20; i++)
			destroyed(pools[i]);
	}
	assert_in_range(o.turn, 6, 20);
}

static void
not_created(const struct hone_mempool_attr *attr)
{
	struct hone_mempool *pool = NULL;

	assert_int_equal(hone_mempool_create(&pool, attr), -EINVAL);
	assert_null(pool);
	assert_non_null(hone_mempool_check_attr(attr));
}

/* The last member that is changed is the one that is named. */
static void
not_created_because_of(const struct hone_mempool_attr *attr, const char *change)
{
	const char *name = hone_mempool_check_attr(attr);
	const char *last = change, *next;

	not_created(attr);
	while ((next = strstr(last, "attr.")) != NULL)
		last = next + 5;
	if (strncmp(name, last, strlen(name)) != 0)
		fail_msg("%s, not %s", name, last);
}

#define REFUSED(change)                                                        \
	do {                                                                   \
		struct hone_mempool_attr attr = attributes(10, 5, 2);          \
                                                                               \
		assert_null(hone_mempool_check_attr(&attr));                   \
		attr.change;                                                   \
		not_created_because_of(&attr, #change);                        \
		assert_int_equal(hone_mempool_memory_size(&attr), 0);          \
	} while (0)

TEST(named_initializers_are_enough)
{
	const struct hone_mempool_attr given[] = {
		{.object_size = 24, .capacity = 1000},
		{.object_size = 24, .capacity = 1000, .max_caches = 32},
		{.object_size = 24, .capacity = 1000, .alignment = 64},
		{.capacity = 1000, .flags = HONE_MEMPOOL_FOREIGN},
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		struct hone_mempool_stats stats;
		struct hone_mempool *pool;

		assert_ok(hone_mempool_create(&pool, &given[i]));
		hone_mempool_get_stats(pool, &stats);
		assert_int_equal(stats.max_caches, 32);
		if (i < 3) {
			void *obj = hone_mempool_get(
				hone_mempool_thread_cache(pool));

			assert_int_equal((uintptr_t)obj % 64, 0);
			hone_mempool_put(hone_mempool_thread_cache(pool), obj);
		}
		assert_ok(hone_mempool_destroy(pool));
	}
}

TEST(attributes_out_of_range_are_refused)
{
	static char memory[8192] __attribute__((aligned(128)));

	REFUSED(object_size = 0);
	REFUSED(object_size = SIZE_MAX);
	REFUSED(object_size = SIZE_MAX / 16);
	REFUSED(capacity = 0);
	REFUSED(capacity = SIZE_MAX);
	REFUSED(capacity = SIZE_MAX / 64);
	REFUSED(max_caches = 65536);
	REFUSED(cache_size = HONE_MEMPOOL_CACHE_MAX + 1);
	REFUSED(alignment = 48);
	REFUSED(alignment = (size_t)1 << 31);
	REFUSED(flags = 1u << 31);
	REFUSED(numa_node = -2);
	REFUSED(numa_node = 1024);
	REFUSED(reserved[2] = memory);
	/* size alone does not distinguish this -EINVAL */
	for (int i = 0; i < 4; i++) {
		struct hone_mempool_attr attr = attributes(10, 5, 2);

		attr.memory = memory + (i == 0 ? 8 : i == 1 ? 64 : 0);
		attr.memory_size = sizeof(memory) - 64;
		attr.alignment = i == 0 ? 8 : i == 1 ? 128 : attr.alignment;
		attr.numa_node = i == 2 ? 0 : attr.numa_node;
		attr.flags |= i == 3 ? HONE_MEMPOOL_HUGE_ADVISE : 0u;
		not_created(&attr);
	}
}

/* On machines with shorter pointers these are 0, which is refused, too. */
#define BIT(n) ((size_t)(UINT64_C(1) << (n)))

/* Each sum wraps in turn: see the areas in src/mempool/layout.c. */
TEST(sizes_beyond_the_address_space_are_refused)
{
	static const struct {
		size_t capacity, cache_size;
		unsigned max_caches, flags;
	} attrs[] = {
		/* more magazines than pages */
		{BIT(62), 1, 1, 0},
		/* the slots of the deques: by their product */
		{BIT(52), 4, 65535, 0},
		/* the marks */
		{BIT(53), 512, 65535, 0},
		/* the marks, rounded up to a page */
		{BIT(51) - BIT(31) - 16, 200, 65535, 0},
		/* the states of debugging */
		{BIT(50), 100, 65535, HONE_MEMPOOL_DEBUG},
		/* its sums */
		{BIT(47), 12, 65535, HONE_MEMPOOL_DEBUG},
		/* the magazines */
		{BIT(47), 12, 65535, 0},
		/* more than half of all addresses */
		{BIT(47), 12, 32768, 0},
	};

	for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		struct hone_mempool_attr attr = attributes(attrs[i].capacity,
			attrs[i].cache_size, attrs[i].max_caches);

		attr.object_size = attr.alignment = 1;
		attr.flags = attrs[i].flags;
		not_created(&attr);
	}
	/* the gap of an object, and the gap before the first one */
	REFUSED(flags = HONE_MEMPOOL_DEBUG; attr.object_size = SIZE_MAX);
	REFUSED(flags = HONE_MEMPOOL_DEBUG | HONE_MEMPOOL_NO_COLOUR;
		attr.capacity = 1; attr.object_size = SIZE_MAX - 127);
}

/* So a loop that holds up to 7 objects needs no exchange but the first ones. */
TEST(one_thread_is_fast_in_a_small_pool)
{
	for (size_t capacity = 16; capacity <= 600; capacity += 4) {
		struct hone_mempool *pool = pool_of(capacity, 0, 32);
		struct hone_mempool_cache *c = opened(pool);
		void *objs[7];
		size_t before;

		assert_int_equal(stats_of(pool).cache_size,
			capacity < 576 ? 8 : capacity / 64);
		for (int turn = 0; turn < 100; turn++) {
			if (turn == 10)
				before = stats_of(pool).refills;
			for (int i = 0; i < 7; i++)
				objs[i] = hone_mempool_get(c);
			for (int i = 0; i < 7; i++)
				hone_mempool_put(c, objs[i]);
		}
		assert_int_equal(stats_of(pool).refills, before);
		closed_and_destroyed(pool, c);
	}
}

POOL_TEST(a_pool_of_one_object_has_caches_of_one, pool_of(1, 0, 2))
{
	void *obj = hone_mempool_get(c);

	assert_int_equal(stats_of(pool).cache_size, 1);
	assert_non_null(obj);
	assert_null(hone_mempool_get(c));
	hone_mempool_put(c, obj);
}

TEST(memory_of_the_caller_is_used_to_the_byte)
{
	static const unsigned flags[] = {
		0, HONE_MEMPOOL_NO_COLOUR, HONE_MEMPOOL_DEBUG};

	for (int i = 0; i < 3; i++) {
		struct hone_mempool_attr attr = attributes(33, 8, 2);
		struct hone_mempool *pool = NULL;
		struct hone_mempool_cache *c;
		void *objs[33];
		size_t size;
		char *memory;

		attr.object_size = 40;
		attr.alignment = 8;
		attr.flags |= flags[i];
		size = hone_mempool_memory_size(&attr);
		assert_int_equal(size % 64, 0);
		memory = aligned_alloc(64, size + 64);
		assert_non_null(memory);
		memset(memory + size, 0x77, 64);
		attr.memory = memory;
		attr.memory_size = size - 1;
		assert_int_equal(hone_mempool_create(&pool, &attr), -ENOBUFS);
		assert_null(pool);
		attr.memory_size = size;
		assert_ok(hone_mempool_create(&pool, &attr));
		c = opened(pool);
		assert_ok(hone_mempool_get_bulk(c, objs, 33));
		for (int k = 0; k < 33; k++) {
			assert_in_range((char *)objs[k] - memory, 0, size - 40);
			memset(objs[k], k, 40);
		}
		hone_mempool_put_bulk(c, objs, 33);
		closed_and_destroyed(pool, c);
		for (int k = 0; k < 64; k++)
			assert_int_equal(memory[size + (size_t)k], 0x77);
		/* all of it belongs to the caller again */
		memset(memory, 0, size);
		free(memory);
	}
}

static size_t
stride_of(size_t size, size_t alignment, unsigned flags)
{
	struct hone_mempool_attr attr = attributes(10, 5, 1);
	struct hone_mempool *pool;
	struct hone_mempool_stats stats;
	struct hone_mempool_cache *c;
	void *obj;

	attr.object_size = size;
	attr.alignment = alignment;
	attr.flags |= flags;
	assert_ok(hone_mempool_create(&pool, &attr));
	hone_mempool_get_stats(pool, &stats);
	c = opened(pool);
	obj = hone_mempool_get(c);
	assert_int_equal((uintptr_t)obj % alignment, 0);
	memset(obj, 1, size);
	hone_mempool_put(c, obj);
	closed_and_destroyed(pool, c);
	return stats.stride;
}

TEST(objects_lie_an_odd_number_of_lines_apart)
{
	assert_int_equal(stride_of(1, 64, 0), 64);
	assert_int_equal(stride_of(100, 64, 0), 192);
	assert_int_equal(stride_of(2048, 64, 0), 2112);
	assert_int_equal(stride_of(2048, 8, 0), 2112);
	assert_int_equal(stride_of(2112, 64, 0), 2112);
	assert_int_equal(stride_of(4096, 4096, 0), 4096);
	assert_int_equal(stride_of(8192, 4096, 0), 12288);
	/* packed objects need not begin a line */
	assert_int_equal(stride_of(24, 8, 0), 24);
	assert_int_equal(stride_of(3, 1, 0), GRANULE > 3 ? GRANULE : 3);
	assert_int_equal(stride_of(2048, 64, HONE_MEMPOOL_NO_COLOUR), 2048);
	assert_int_equal(
		stride_of(100, 1 << 20, HONE_MEMPOOL_NO_COLOUR), 1 << 20);
	/* room for the bytes between objects */
	assert_int_equal(stride_of(64, 64, HONE_MEMPOOL_DEBUG), 192);
	assert_int_equal(
		stride_of(48, 64, HONE_MEMPOOL_DEBUG | HONE_MEMPOOL_NO_COLOUR),
		64);
}

static void
construct(void *object, size_t index, void *arg)
{
	size_t *calls_of = arg;

	assert_int_equal(index, (*calls_of)++);
	memcpy(object, &index, sizeof(index));
}

TEST(what_the_constructor_wrote_stays)
{
	struct hone_mempool_attr attr = attributes(100, 10, 2);
	struct hone_mempool *pool;
	struct hone_mempool_cache *c;
	size_t called = 0, sum = 0;
	void *objs[100];

	attr.constructor = construct;
	attr.constructor_arg = &called;
	attr.name = "a name that is longer than thirty-one bytes";
	pool = made(&attr);
	assert_int_equal(called, 100);
	c = opened(pool);
	assert_ok(hone_mempool_get_bulk(c, objs, 100));
	for (int i = 0; i < 100; i++) {
		size_t index;

		memcpy(&index, objs[i], sizeof(index));
		sum += index;
	}
	assert_int_equal(sum, 99 * 100 / 2);
	hone_mempool_put_bulk(c, objs, 100);
	closed_and_destroyed(pool, c);
}

int
main(void)
{
	mapping_fails = fails;
	return run_all_tests(NULL, NULL);
}
