/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The caches of hone_mempool_thread_cache(). All pools share one pthread key,
 * since a process has only 1,024 of them. A thread's value is a table of its
 * own caches, which it alone reads and writes.
 *
 * A pool may be destroyed while other threads have it in their tables, and
 * another pool may lie at its address later. So a table has the id of the pool,
 * which no other pool ever has. A list of all pools tells which ones exist.
 */
#include <stdlib.h>
#include <string.h>
#include "mempool/mempool.h"

#define LEAST_PLACES 8

struct own {
	size_t id; /* 0: a free place */
	struct hone_cache *cache;
};

/* A hash table. At least a quarter of the places is free. */
struct table {
	size_t n;
	size_t mask;
	struct own places[];
};

struct listed {
	size_t id;
	struct hone_mempool *pool;
};

/* Protects the variables below. A thread that has it takes no lock of a pool;
 * it may allocate. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static bool has_key, knows_forks;
/* The pools that have an id, in the order of their ids. */
static struct listed *list;
static size_t n_listed, listed_room, last_id;

static void
lock(void)
{
	(void)pthread_mutex_lock(&mutex);
}

static void
unlock(void)
{
	(void)pthread_mutex_unlock(&mutex);
}

/* The place of a pool, or a free one. */
static struct own *
place(struct table *table, size_t id)
{
	size_t i = id;

	while (table->places[i & table->mask].id != id &&
		table->places[i & table->mask].id != 0)
		i++;
	return &table->places[i & table->mask];
}

/*
 * Returns true if a cache that was this thread's own cache still is. Another
 * thread may have closed the cache, and a third may have opened it again.
 * Relaxed: the value equals pthread_self() only if this thread stored it and no
 * later store, from a close, is visible to this thread.
 */
static bool
is_own(struct hone_cache *c)
{
	return c && atomic_load_explicit(&c->thread, memory_order_relaxed) ==
			    (uintptr_t)pthread_self();
}

/* Returns NULL if the pool with this id was destroyed. */
static struct listed *
find(size_t id)
{
	size_t low = 0, high = n_listed;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n_listed && list[low].id == id ? &list[low] : NULL;
}

/* Closes a cache at the end of its thread, unless the cache or the pool has
 * gone. The pool is not destroyed meanwhile: see hone_mempool_unlist(). */
static void
close_at_exit(const struct own *own)
{
	struct hone_mempool *pool = NULL;
	struct listed *listed;

	lock();
	listed = find(own->id);
	if (listed && is_own(own->cache)) {
		pool = listed->pool;
		pool->n_ending++;
	}
	unlock();
	if (!pool)
		return;
	hone_mempool_cache_close(&own->cache->visible);
	lock();
	pool->n_ending--;
	unlock();
}

static void
end_of_thread(void *arg)
{
	struct table *table = arg;

	for (size_t i = 0; i <= table->mask; i++)
		if (table->places[i].id != 0)
			close_at_exit(&table->places[i]);
	free(table);
}

/*
 * In a child of fork(), nobody else would unlock the mutex. At the start, since
 * the handlers of a program that are registered later run without the mutex:
 * such a handler of a child may destroy a pool.
 */
__attribute__((constructor)) static void
know_forks(void)
{
	if (!knows_forks)
		knows_forks = pthread_atfork(lock, unlock, unlock) == 0;
}

/* What else is to be done before the first pool is listed. */
static bool
begin(void)
{
	know_forks();
	if (knows_forks && !has_key)
		has_key = pthread_key_create(&key, end_of_thread) == 0;
	return last_id < SIZE_MAX && has_key;
}

/* The key of a library that is unloaded must not outlive the code. */
__attribute__((destructor)) static void
end(void)
{
	/* At the end of the process, other threads may still use their pools;
	 * and it must not wait for one that was stopped. */
	if (pthread_mutex_trylock(&mutex))
		return;
	if (has_key && n_listed == 0) {
		/* Without a pool, no table has a cache. Those of other threads
		 * are lost. */
		free(pthread_getspecific(key));
		(void)pthread_key_delete(key);
		has_key = false;
	}
	unlock();
}

static bool
own_make_room(void)
{
	size_t more = listed_room * 2 + LEAST_PLACES;
	struct listed *larger;

	if (n_listed < listed_room)
		return true;
	larger = realloc(list, more * sizeof(*list));
	if (!larger)
		return false;
	list = larger;
	listed_room = more;
	return true;
}

/* Gives a pool an id, unless it has one; returns the id, or 0. */
static size_t
enlist(struct hone_mempool *pool)
{
	size_t id;

	lock();
	/* Relaxed: written under this mutex only. */
	id = atomic_load_explicit(&pool->id, memory_order_relaxed);
	if (id == 0 && begin() && own_make_room()) {
		id = ++last_id;
		list[n_listed].id = id;
		list[n_listed++].pool = pool;
		/* Release: pairs with the acquires: key is written before. */
		atomic_store_explicit(&pool->id, id, memory_order_release);
	}
	unlock();
	return id;
}

bool
hone_mempool_unlist(struct hone_mempool *pool)
{
	/* Relaxed: no other call runs. */
	size_t id = atomic_load_explicit(&pool->id, memory_order_relaxed);
	struct listed *listed;
	bool done = true;

	if (id == 0)
		return true;
	lock();
	listed = find(id);
	if (pool->n_ending > 0) {
		done = false;
	} else {
		n_listed--;
		memmove(listed, listed + 1,
			(size_t)(list + n_listed - listed) * sizeof(*list));
	}
	if (n_listed == 0) {
		free(list);
		list = NULL;
		listed_room = 0;
	}
	unlock();
	return done;
}

/* Returns how many caches this thread still has; copies them if `to` is set. */
static size_t
keep_own(struct table *to, const struct table *from)
{
	size_t n = 0;

	lock();
	for (size_t i = 0; i <= from->mask; i++) {
		const struct own *own = &from->places[i];

		if (!find(own->id) || !is_own(own->cache))
			continue;
		n++;
		if (to)
			*place(to, own->id) = *own;
	}
	unlock();
	return n;
}

/* Returns a table that has a free place for one more; NULL without memory. */
static struct table *
with_room(struct table *table)
{
	size_t n, places = LEAST_PLACES;
	struct table *larger;

	if (table && (table->n + 1) * 4 <= (table->mask + 1) * 3)
		return table;
	n = table ? keep_own(NULL, table) : 0;
	/* Pools may have gone. Half of the places are for others. */
	while ((n + 1) * 2 > places)
		places *= 2;
	larger = calloc(1, sizeof(*larger) + places * sizeof(struct own));
	if (!larger || pthread_setspecific(key, larger)) {
		free(larger);
		return NULL;
	}
	larger->mask = places - 1;
	if (table)
		larger->n = keep_own(larger, table);
	free(table);
	return larger;
}

static struct hone_mempool_cache *
open_own(struct hone_mempool *pool, size_t id, struct table *table)
{
	struct hone_mempool_cache *cache;
	struct own *own;

	table = with_room(table);
	if (!table || hone_mempool_cache_open(pool, &cache))
		return NULL;
	own = place(table, id);
	table->n += own->id == 0;
	own->id = id;
	own->cache = (struct hone_cache *)cache;
	/* Relaxed: see is_own(). */
	atomic_store_explicit(&own->cache->thread, (uintptr_t)pthread_self(),
		memory_order_relaxed);
	return cache;
}

struct hone_mempool_cache *
hone_mempool_thread_cache(struct hone_mempool *pool)
{
	/* Acquire: pairs with the release in enlist(). */
	size_t id = atomic_load_explicit(&pool->id, memory_order_acquire);
	struct table *table;

	/* A key is one process's, so a shared pool is not listed. */
	if (HONE_DETAIL_RARE(id == 0)) {
		id = pool->shared ? 0 : enlist(pool);
		if (id == 0)
			return NULL;
	}
	table = pthread_getspecific(key);
	if (table) {
		struct hone_cache *c = place(table, id)->cache;

		if (is_own(c))
			return &c->visible;
	}
	return open_own(pool, id, table);
}

void
hone_mempool_close_own(struct hone_mempool *pool)
{
	/* Acquire: pairs with the release in enlist(). */
	size_t id = atomic_load_explicit(&pool->id, memory_order_acquire);
	struct table *table = id == 0 ? NULL : pthread_getspecific(key);
	struct hone_cache *c = table ? place(table, id)->cache : NULL;

	if (is_own(c))
		hone_mempool_cache_close(&c->visible);
}
