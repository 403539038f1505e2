/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mempool driver of DPDK: rte_mempool_ops named "hone". docs/dpdk.md shows
 * how to use it.
 *
 * The pool holds the pointers of an rte_mempool, and lies in memory of DPDK,
 * which secondary processes map at the same address. Each lcore has a cache of
 * the pool, opened by its first call. Threads without a number of an lcore, and
 * lcores for which no cache is left, share one cache under a mutex.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
/* RTE_USE_LIBBSD includes headers of libbsd, which nothing here uses. */
#undef RTE_USE_LIBBSD
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <hone/mempool.h>
#include <hone/mempool_check.h>

/* The driver's data of a pool, before the pool itself. */
struct driver {
	struct hone_mempool *pool;
	pthread_mutex_t mutex;
	struct hone_mempool_cache *common;
	/* NULL before the first call; common if no cache was left then */
	struct hone_mempool_cache *caches[RTE_MAX_LCORE];
};

/* What struct hone_mempool needs in memory of the caller. */
#define PAGE 4096
#define DRIVER_SIZE ((sizeof(struct driver) + PAGE - 1) / PAGE * PAGE)

/* Caches for the lcores of this process and as many of others: secondary
 * processes, and threads that register. */
#define LEAST_CACHES 16

static unsigned
count_caches(void)
{
	unsigned n = 2 * rte_lcore_count();

	if (n < LEAST_CACHES)
		n = LEAST_CACHES;
	if (n > RTE_MAX_LCORE)
		n = RTE_MAX_LCORE;
	return n + 1;
}

/* Lcores, with those of secondary processes, and the threads together as one
 * more, that the cache size provides for at least. */
#define LEAST_USERS 3

/*
 * Objects that a cache of the pool loads at most: as many that a quarter of all
 * is left if the lcores of this process, and the threads together, load them.
 * The pool's default is for 16 caches, and a small cache is exchanged often. If
 * there are many lcores: 0, the default.
 */
static size_t
choose_cache_size(size_t capacity)
{
	size_t users = rte_lcore_count() + 1;
	size_t size;

	if (users < LEAST_USERS)
		users = LEAST_USERS;
	size = capacity / 4 * 3 / users;
	if (users >= LEAST_CACHES || size == 0)
		return 0;
	return size < HONE_MEMPOOL_CACHE_MAX ? size : HONE_MEMPOOL_CACHE_MAX;
}

static int
make_mutex(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	int error = pthread_mutexattr_init(&attr);

	if (error)
		return -error;
	error = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	/* A process that dies in a call stops no other. */
	if (!error)
		error = pthread_mutexattr_setrobust(
			&attr, PTHREAD_MUTEX_ROBUST);
	if (!error)
		error = pthread_mutex_init(mutex, &attr);
	(void)pthread_mutexattr_destroy(&attr);
	return -error;
}

/* Makes the pool in d, and the cache that threads without one share. */
static int
make_pool(struct driver *d, const struct hone_mempool_attr *attr)
{
	int error = make_mutex(&d->mutex);

	if (!error)
		error = hone_mempool_create(&d->pool, attr);
	/* Before any other cache, so that there is one. */
	if (!error)
		error = hone_mempool_cache_open(d->pool, &d->common);
	return error;
}

static int
hone_alloc(struct rte_mempool *mp)
{
	struct hone_mempool_attr attr;
	struct driver *d;
	size_t size;
	int error;

	hone_mempool_attr_init(&attr);
	attr.object_size = 0;
	attr.capacity = mp->size;
	attr.max_caches = count_caches();
	attr.cache_size = choose_cache_size(mp->size);
	attr.flags =
		HONE_MEMPOOL_FOREIGN | HONE_MEMPOOL_EXACT | HONE_MEMPOOL_SHARED;
	attr.name = mp->name;
	size = hone_mempool_memory_size(&attr);
	if (size == 0)
		return -EINVAL;
	d = rte_zmalloc_socket("hone", DRIVER_SIZE + size, PAGE, mp->socket_id);
	if (!d) {
		RTE_LOG(ERR, MEMPOOL,
			"hone: %s: no %zu bytes in one piece on socket %d\n",
			mp->name, DRIVER_SIZE + size, mp->socket_id);
		return -ENOMEM;
	}
	attr.memory = (char *)d + DRIVER_SIZE;
	attr.memory_size = size;
	error = make_pool(d, &attr);
	if (error) {
		RTE_LOG(ERR, MEMPOOL, "hone: %s: the pool is not created: %s\n",
			mp->name, strerror(-error));
		rte_free(d);
		return error;
	}
	mp->pool_data = d;
	return 0;
}

static void
hone_free(struct rte_mempool *mp)
{
	struct driver *d = mp->pool_data;

	/* An rte_mempool that was never populated has no data. */
	if (!d)
		return;
	for (unsigned i = 0; i < RTE_MAX_LCORE; i++)
		if (d->caches[i] != d->common)
			hone_mempool_cache_close(d->caches[i]);
	hone_mempool_cache_close(d->common);
	/* -EBUSY if a process died in a call: the memory goes all the same. */
	(void)hone_mempool_destroy(d->pool);
	rte_free(d);
	mp->pool_data = NULL;
}

/* No cache is closed before the pool ends, so an lcore that gets none does not
 * try again: a try takes the mutex of the pool. */
static __attribute__((noinline)) void
open_cache(const struct rte_mempool *mp, unsigned lcore)
{
	struct driver *d = mp->pool_data;

	if (hone_mempool_cache_open(d->pool, &d->caches[lcore]) == 0)
		return;
	d->caches[lcore] = d->common;
	RTE_LOG(NOTICE, MEMPOOL,
		"hone: %s: no cache is left for lcore %u, which shares one\n",
		mp->name, lcore);
}

/* Returns the cache of the calling lcore; NULL if it has none. Only the thread
 * with this number uses the entry. */
static struct hone_mempool_cache *
own_cache(const struct rte_mempool *mp)
{
	struct driver *d = mp->pool_data;
	unsigned lcore = rte_lcore_id();

	if (unlikely(lcore >= RTE_MAX_LCORE))
		return NULL;
	if (unlikely(!d->caches[lcore]))
		open_cache(mp, lcore);
	if (unlikely(d->caches[lcore] == d->common))
		return NULL;
	return d->caches[lcore];
}

static void
lock(struct driver *d)
{
	if (pthread_mutex_lock(&d->mutex) == EOWNERDEAD)
		(void)pthread_mutex_consistent(&d->mutex);
}

static int
hone_enqueue(struct rte_mempool *mp, void *const *objs, unsigned n)
{
	struct driver *d = mp->pool_data;
	struct hone_mempool_cache *c = own_cache(mp);

	if (likely(c != NULL)) {
		hone_mempool_put_bulk(c, objs, n);
		return 0;
	}
	lock(d);
	hone_mempool_put_bulk(d->common, objs, n);
	(void)pthread_mutex_unlock(&d->mutex);
	return 0;
}

static int
hone_dequeue(struct rte_mempool *mp, void **objs, unsigned n)
{
	struct driver *d = mp->pool_data;
	struct hone_mempool_cache *c = own_cache(mp);
	int error;

	if (likely(c != NULL))
		return hone_mempool_get_bulk(c, objs, n);
	lock(d);
	error = hone_mempool_get_bulk(d->common, objs, n);
	(void)pthread_mutex_unlock(&d->mutex);
	return error;
}

static unsigned
hone_get_count(const struct rte_mempool *mp)
{
	struct driver *d = mp->pool_data;

	return (unsigned)hone_mempool_available(d->pool);
}

static const struct rte_mempool_ops ops_hone = {
	.name = "hone",
	.alloc = hone_alloc,
	.free = hone_free,
	.enqueue = hone_enqueue,
	.dequeue = hone_dequeue,
	.get_count = hone_get_count,
};

RTE_MEMPOOL_REGISTER_OPS(ops_hone);
