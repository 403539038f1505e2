/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and destroying pools. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "mempool/mempool.h"
#include "mempool/exact.h"

void
hone_mempool_attr_init(struct hone_mempool_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->alignment = HONE_MEMPOOL_LINE;
	attr->max_caches = 32;
	attr->numa_node = -1;
}

/* Copies attributes and sets each member that has no value to its default. A
 * struct without these two was not set by hone_mempool_attr_init(), so node 0
 * is not meant. */
static struct hone_mempool_attr
pool_complete(const struct hone_mempool_attr *attr)
{
	struct hone_mempool_attr all = *attr, defaults;

	hone_mempool_attr_init(&defaults);
	if ((all.alignment == 0 || all.max_caches == 0) && all.numa_node == 0)
		all.numa_node = defaults.numa_node;
	if (all.alignment == 0)
		all.alignment = defaults.alignment;
	if (all.max_caches == 0)
		all.max_caches = defaults.max_caches;
	return all;
}

size_t
hone_mempool_memory_size(const struct hone_mempool_attr *attr)
{
	struct hone_mempool_attr all = pool_complete(attr);
	struct hone_mempool_layout layout;

	return hone_mempool_layout(&layout, &all) ? 0 : layout.memory_size;
}

const char *
hone_mempool_check_attr(const struct hone_mempool_attr *attr)
{
	struct hone_mempool_attr all = pool_complete(attr);
	struct hone_mempool_layout layout;
	const char *name = hone_mempool_layout(&layout, &all);

	if (!name && all.flags & HONE_MEMPOOL_SHARED && !all.memory)
		name = "memory";
	return name;
}

void
hone_mempool_fault(struct hone_mempool *pool, int fault, void *object)
{
	if (!pool->on_fault)
		abort();
	pool->on_fault(fault, object, pool->on_fault_arg);
}

size_t
hone_mempool_index(struct hone_mempool *pool, const void *object)
{
	/* Wraps to a too large offset if object lies below the first one. */
	size_t offset = (uintptr_t)object - (uintptr_t)pool->objects;

	if (offset % pool->stride != 0 ||
		offset / pool->stride >= pool->capacity)
		return pool->capacity;
	return offset / pool->stride;
}

/* The object that mark i stands for; NULL if the mark is not set. */
static void *
marked(struct hone_mempool *pool, size_t i)
{
	if (pool->foreign)
		return pool->table[i];
	return hone_mempool_marked(pool, i) ? hone_mempool_object(pool, i)
					    : NULL;
}

/* Pushes a magazine, onto the deque of cache *i or of a later one. */
static void
stock(struct hone_mempool *pool, enum hone_mempool_side side,
	struct hone_mempool_magazine *m, size_t *i)
{
	while (*i < pool->max_caches &&
		!hone_deque_push(
			&hone_mempool_cache_at(pool, *i)->deque[side], m))
		++*i;
	if (*i == pool->max_caches)
		hone_mempool_spill(pool, side, m);
	/* Relaxed: no other call runs. */
	else if (*i >=
		 atomic_load_explicit(&pool->n_used, memory_order_relaxed))
		atomic_store_explicit(
			&pool->n_used, *i + 1, memory_order_relaxed);
}

void
hone_mempool_fill(struct hone_mempool *pool)
{
	size_t n = 0, full = 0, empty = 0;
	struct hone_mempool_magazine *m = hone_mempool_magazine(pool, n);

	for (size_t i = 0; i < pool->n_places; i++) {
		void *object = marked(pool, i);

		if (!object)
			continue;
		m->objects[m->count++] = object;
		if (m->count == pool->full) {
			stock(pool, HONE_MEMPOOL_FULL, m, &full);
			m = hone_mempool_magazine(pool, ++n);
		}
	}
	if (m->count > 0) {
		hone_mempool_set_partial(pool, m);
		n++;
	}
	/* The memory of these is untouched, and so their count is zero. */
	for (; n < pool->n_magazines; n++)
		stock(pool, HONE_MEMPOOL_EMPTY, hone_mempool_magazine(pool, n),
			&empty);
}

void
hone_mempool_reset(struct hone_cache *c, size_t deque_slots)
{
	void *_Atomic *slots = c->deque[0].slots;

	hone_deque_init(&c->deque[0], slots, deque_slots - 1);
	hone_deque_init(&c->deque[1], slots + deque_slots, deque_slots - 1);
	c->reserve = NULL;
	c->open = false;
	c->view->len = 0;
	atomic_init(&c->calls, 0);
	atomic_init(&c->given_up, 0);
	atomic_init(&c->claimed, false);
	atomic_init(&c->puts, 0);
	atomic_init(&c->n_reserved, 0);
	atomic_init(&c->thread, 0);
}

static void
set_members(struct hone_mempool *pool, const struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr)
{
	char *base = (char *)pool;

	pool->size = layout->size;
	pool->foreign = attr->flags & HONE_MEMPOOL_FOREIGN;
	pool->exact = attr->flags & HONE_MEMPOOL_EXACT;
	pool->shared = attr->flags & HONE_MEMPOOL_SHARED;
	pool->capacity = attr->capacity;
	pool->object_size = attr->object_size;
	pool->stride = layout->stride;
	pool->cache_size = layout->cache_size;
	pool->full = layout->full;
	pool->magazine_stride = layout->magazine_stride;
	pool->n_magazines = layout->n_magazines;
	pool->max_caches = attr->max_caches;
	pool->caches = base + HONE_MEMPOOL_PAGE;
	pool->magazines = base + layout->magazines;
	pool->marks = (unsigned char *)base + layout->marks;
	pool->marks_size = layout->marks_size;
	pool->table = (void **)(base + layout->marks);
	pool->n_places = layout->n_places;
	pool->states = (_Atomic unsigned char *)(base + layout->states);
	pool->sums = (uint64_t *)(base + layout->sums);
	pool->on_fault = attr->on_fault;
	pool->on_fault_arg = attr->on_fault_arg;
	pool->debug = attr->flags & HONE_MEMPOOL_DEBUG;
	if (attr->name)
		strncpy(pool->name, attr->name, sizeof(pool->name) - 1);
}

static void
set_caches(struct hone_mempool *pool, const struct hone_mempool_layout *layout)
{
	void *_Atomic *slots = (void *_Atomic *)((char *)pool + layout->slots);

	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_cache *c = hone_mempool_cache_at(pool, i);

		c->pool = pool;
		c->number = i;
		c->view = pool->slow ? &c->hidden : &c->visible.view;
		c->deque[0].slots = slots + i * 2 * layout->deque_slots;
		/* Valid for a copy of 0 objects, if the view is not in use. */
		c->visible.view.slots = hone_mempool_magazine(pool, 0)->objects;
		hone_mempool_reset(c, layout->deque_slots);
	}
}

/* Sets *pool to the memory of a pool, which is zero. */
static int
allocate_pool(struct hone_mempool **pool,
	const struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr)
{
	if (attr->flags & HONE_MEMPOOL_SHARED) {
		if (!attr->memory)
			return -EINVAL;
		if (attr->memory_size < layout->memory_size)
			return -ENOBUFS;
		*pool = attr->memory;
		memset(*pool, 0, layout->size);
		return 0;
	}
	/* NORESERVE: most of it is never touched, since there may be few caches
	 * and their deques have room for many magazines. */
	*pool = mmap(NULL, layout->size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return *pool == MAP_FAILED ? -ENOMEM : 0;
}

static void
free_pool(struct hone_mempool *pool)
{
	if (pool->mapping)
		(void)munmap(pool->mapping, pool->mapping_size);
	if (!pool->shared)
		(void)munmap(pool, pool->size);
}

/* A robust mutex survives a process that dies with it. */
static int
make_mutex(struct hone_mempool *pool)
{
	pthread_mutexattr_t attr;
	int error = pthread_mutexattr_init(&attr);

	if (error)
		return -ENOMEM;
	if (pool->shared)
		error = pthread_mutexattr_setpshared(
				&attr, PTHREAD_PROCESS_SHARED) ||
			pthread_mutexattr_setrobust(
				&attr, PTHREAD_MUTEX_ROBUST);
	if (!error)
		error = pthread_mutex_init(&pool->mutex, &attr);
	(void)pthread_mutexattr_destroy(&attr);
	return error == ENOTSUP ? -ENOTSUP : error ? -ENOMEM : 0;
}

int
hone_mempool_create(
	struct hone_mempool **result, const struct hone_mempool_attr *attr)
{
	struct hone_mempool_attr all = pool_complete(attr);
	struct hone_mempool_layout layout;
	struct hone_mempool *pool;
	int error = hone_mempool_layout(&layout, &all) ? -EINVAL : 0;

	if (!error)
		error = allocate_pool(&pool, &layout, &all);
	if (error)
		return error;
	set_members(pool, &layout, &all);
	error = hone_mempool_allocate(pool, &layout, &all);
	if (!error)
		error = make_mutex(pool);
	if (error) {
		free_pool(pool);
		return error;
	}
	if (attr->constructor)
		for (size_t i = 0; i < pool->capacity; i++)
			attr->constructor(hone_mempool_object(pool, i), i,
				attr->constructor_arg);
	hone_mempool_watch_begin(pool);
	pool->slow = pool->watched || pool->exact;
	pool->barriers = pool->exact && hone_mempool_want_barriers();
	pool->quick = pool->barriers && !pool->watched;
	set_caches(pool, &layout);
	if (!pool->foreign)
		memset(pool->marks, 0xff, pool->marks_size);
	hone_mempool_fill(pool);
	*result = pool;
	return 0;
}

/* Number of magazines that no cache and no user has: all if none is in use. */
static size_t
magazines_there(struct hone_mempool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_cache *c = hone_mempool_cache_at(pool, i);

		n += hone_deque_count(&c->deque[HONE_MEMPOOL_FULL]) +
		     hone_deque_count(&c->deque[HONE_MEMPOOL_EMPTY]);
	}
	n += hone_mempool_n_spilled(pool, HONE_MEMPOOL_FULL) +
	     hone_mempool_n_spilled(pool, HONE_MEMPOOL_EMPTY);
	/* Relaxed: no other call runs. */
	return n + (atomic_load_explicit(
			    &pool->partial, memory_order_relaxed) != NULL);
}

static bool
busy(struct hone_mempool *pool)
{
	struct hone_mempool_stats stats;

	hone_mempool_count(pool, &stats);
	return stats.caches > 0 ||
	       (!pool->foreign &&
		       stats.shared + stats.loaded + stats.reserved !=
			       pool->capacity) ||
	       magazines_there(pool) != pool->n_magazines;
}

int
hone_mempool_destroy(struct hone_mempool *pool)
{
	hone_mempool_close_own(pool);
	if (busy(pool) || !hone_mempool_unlist(pool))
		return -EBUSY;
	hone_mempool_watch_end(pool);
	(void)pthread_mutex_destroy(&pool->mutex);
	free_pool(pool);
	return 0;
}
