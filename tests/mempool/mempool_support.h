/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_MEMPOOL_SUPPORT_H
#define HONE_TESTS_MEMPOOL_SUPPORT_H
/* What the tests of pools share. */
#include <hone/hone.h>
#include "support.h"

/* The stride of objects is a multiple of this: AddressSanitizer keeps the state
 * of 8 bytes together. */
#define GRANULE (ASAN ? 8 : 1)

static inline struct hone_mempool_attr
attributes(size_t capacity, size_t cache_size, unsigned max_caches)
{
	struct hone_mempool_attr attr;

	hone_mempool_attr_init(&attr);
	attr.object_size = 24;
	attr.capacity = capacity;
	attr.cache_size = cache_size;
	attr.max_caches = max_caches;
	return attr;
}

static inline struct hone_mempool *
made(const struct hone_mempool_attr *attr)
{
	struct hone_mempool *pool;

	assert_ok(hone_mempool_create(&pool, attr));
	return pool;
}

static inline struct hone_mempool *
flagged_pool(
	unsigned flags, size_t capacity, size_t cache_size, unsigned max_caches)
{
	struct hone_mempool_attr attr =
		attributes(capacity, cache_size, max_caches);

	attr.flags |= flags;
	return made(&attr);
}

static inline struct hone_mempool *
pool_of(size_t capacity, size_t cache_size, unsigned max_caches)
{
	return flagged_pool(0, capacity, cache_size, max_caches);
}

static inline struct hone_mempool_cache *
opened(struct hone_mempool *pool)
{
	struct hone_mempool_cache *cache = NULL;

	assert_ok(hone_mempool_cache_open(pool, &cache));
	assert_non_null(cache);
	return cache;
}

static inline int
by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return x < y ? -1 : x > y;
}

/* n different objects. */
static inline void
all_different(void **objs, size_t n)
{
	void **sorted = malloc((n + 1) * sizeof(*sorted));

	assert_non_null(sorted);
	memcpy(sorted, objs, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_address);
	for (size_t i = 1; i < n; i++)
		assert_ptr_not_equal(sorted[i - 1], sorted[i]);
	free(sorted);
}

static inline struct hone_mempool_stats
stats_of(struct hone_mempool *pool)
{
	struct hone_mempool_stats stats;

	hone_mempool_get_stats(pool, &stats);
	return stats;
}

/* Every object is in its place, none twice. */
static inline void
audited(struct hone_mempool *pool, size_t out)
{
	const size_t left = stats_of(pool).capacity - out;
	struct hone_mempool_findings audit;

	hone_mempool_audit(pool, &audit, NULL, NULL);
	assert_int_equal(audit.out, out);
	assert_int_equal(audit.in_pool, left);
	assert_int_equal(audit.doubled, 0);
	assert_int_equal(audit.foreign, 0);
	assert_int_equal(audit.damaged, 0);
	assert_int_equal(hone_mempool_available(pool), left);
}

static inline void
destroyed(struct hone_mempool *pool)
{
	audited(pool, 0);
	assert_ok(hone_mempool_destroy(pool));
}

/* The same, after its last cache was closed. */
static inline void
closed_and_destroyed(struct hone_mempool *pool, struct hone_mempool_cache *c)
{
	hone_mempool_cache_close(c);
	destroyed(pool);
}

/* The expression is 0 in a child. */
#define PASSES_IN_CHILD(expression)                                            \
	do {                                                                   \
		pid_t child_of_test = fork();                                  \
                                                                               \
		if (child_of_test == 0)                                        \
			_exit(expression);                                     \
		support_exits_with_0(child_of_test);                           \
	} while (0)

/* A test of a new pool and a cache of it. In the end, every object is in its
 * place. */
#define POOL_TEST(name, new_pool)                                              \
	static void with_##name(                                               \
		struct hone_mempool *pool, struct hone_mempool_cache *c);      \
	TEST(name)                                                             \
	{                                                                      \
		struct hone_mempool *pool = new_pool;                          \
		struct hone_mempool_cache *c = opened(pool);                   \
                                                                               \
		with_##name(pool, c);                                          \
		closed_and_destroyed(pool, c);                                 \
	}                                                                      \
	static void with_##name(                                               \
		__attribute__((unused)) struct hone_mempool *pool,             \
		struct hone_mempool_cache *c)

/* The faults that a pool of the debug flavour reports. */
struct faults {
	int n;
	int last;
	void *object;
};

static inline void
note(int fault, void *object, void *arg)
{
	struct faults *faults = arg;

	faults->n++;
	faults->last = fault;
	faults->object = object;
}

static inline struct hone_mempool *
noting_pool(struct faults *faults, struct hone_mempool_attr attr)
{
	memset(faults, 0, sizeof(*faults));
	attr.flags |= HONE_MEMPOOL_DEBUG;
	attr.on_fault = note;
	attr.on_fault_arg = faults;
	return made(&attr);
}

/* One fault since the last use of this; none if it is 0. */
static inline void
told(struct faults *faults, int fault, void *object)
{
	assert_int_equal(faults->n, fault != 0);
	if (fault) {
		assert_int_equal(faults->last, fault);
		assert_ptr_equal(faults->object, object);
	}
	memset(faults, 0, sizeof(*faults));
}

#endif
