/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and destroying pools. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "mempool/mempool.h"

void
hone_mempool_attr_init(struct hone_mempool_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->alignment = HONE_MEMPOOL_LINE;
	attr->max_caches = 32;
	attr->numa_node = -1;
}

size_t
hone_mempool_memory_size(const struct hone_mempool_attr *attr)
{
	struct hone_mempool_place place;

	return hone_mempool_place(&place, attr) == 0 ? place.objects_size : 0;
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
	/* Below the first it wraps, and is too large. */
	size_t offset = (uintptr_t)object - (uintptr_t)pool->objects;

	if (offset % pool->stride != 0 ||
		offset / pool->stride >= pool->capacity)
		return pool->capacity;
	return offset / pool->stride;
}

void
hone_mempool_fill(struct hone_mempool *pool)
{
	struct hone_mempool_handle *first = hone_mempool_handle(pool, 0);
	size_t n = 0;
	struct hone_mempool_magazine *m = hone_mempool_magazine(pool, n);

	for (size_t i = 0; i < pool->capacity; i++) {
		void *object;

		if (!hone_mempool_marked(pool, i))
			continue;
		object = hone_mempool_object(pool, i);
		hone_mempool_write(pool, hone_mempool_slots(pool, m),
			m->count++, &object, 1);
		if (m->count == pool->cache_size) {
			hone_mempool_push(first, m);
			m = hone_mempool_magazine(pool, ++n);
		}
	}
	if (m->count > 0) {
		hone_mempool_set_partial(pool, m);
		n++;
	}
	/* Not touched yet: their memory is zero, and so their count. */
	for (; n < pool->n_magazines; n++)
		hone_mempool_push(first, hone_mempool_magazine(pool, n));
}

void
hone_mempool_reset(struct hone_mempool_handle *h, size_t deque_slots)
{
	void *_Atomic *slots = h->deque[0].slots;

	hone_deque_init(&h->deque[0], slots, deque_slots - 1);
	hone_deque_init(&h->deque[1], slots + deque_slots, deque_slots - 1);
	h->loaded = NULL;
	h->reserve = NULL;
	h->open = false;
	h->view->len = 0;
	atomic_init(&h->n_reserved, 0);
	atomic_init(&h->thread, 0);
}

static void
set_members(struct hone_mempool *pool, const struct hone_mempool_place *place,
	const struct hone_mempool_attr *attr)
{
	char *base = (char *)pool;

	pool->size = place->size;
	pool->capacity = attr->capacity;
	pool->object_size = attr->object_size;
	pool->stride = place->stride;
	pool->cache_size = place->cache_size;
	pool->magazine_stride = place->magazine_stride;
	pool->n_magazines = place->n_magazines;
	pool->max_caches = attr->max_caches;
	pool->handles = base + HONE_MEMPOOL_PAGE;
	pool->magazines = base + place->magazines;
	pool->marks = (unsigned char *)base + place->marks;
	pool->states = (_Atomic unsigned char *)(base + place->states);
	pool->sums = (uint64_t *)(base + place->sums);
	pool->on_fault = attr->on_fault;
	pool->on_fault_arg = attr->on_fault_arg;
	pool->debug = attr->flags & HONE_MEMPOOL_DEBUG;
	pool->short_slots = attr->flags & HONE_MEMPOOL_SHORT_SLOTS;
	if (attr->name)
		strncpy(pool->name, attr->name, sizeof(pool->name) - 1);
	/* The first one has everything to begin with. */
	atomic_init(&pool->n_used, 1);
}

static void
set_handles(struct hone_mempool *pool, const struct hone_mempool_place *place)
{
	void *_Atomic *slots = (void *_Atomic *)((char *)pool + place->slots);

	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_mempool_handle *h = hone_mempool_handle(pool, i);

		h->pool = pool;
		h->number = i;
		h->view = pool->watched       ? &h->watched
			  : pool->short_slots ? &h->cache.half
					      : &h->cache.whole;
		h->cache.upper = pool->upper;
		h->deque[0].slots = slots + i * 2 * place->deque_slots;
		/* Where nothing is inline, no objects are copied from here. */
		h->cache.whole.slots = hone_mempool_magazine(pool, 0)->objects;
		hone_mempool_reset(h, place->deque_slots);
	}
}

int
hone_mempool_create(
	struct hone_mempool **result, const struct hone_mempool_attr *attr)
{
	struct hone_mempool_place place;
	struct hone_mempool *pool;
	int error = hone_mempool_place(&place, attr);

	if (error)
		return error;
	/* Most of it is never touched: each handle's deques have room for the
	 * magazines of all. */
	pool = mmap(NULL, place.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pool == MAP_FAILED)
		return -ENOMEM;
	set_members(pool, &place, attr);
	error = hone_mempool_map_objects(pool, &place, attr);
	if (!error && pthread_mutex_init(&pool->mutex, NULL)) {
		error = -ENOMEM;
		if (pool->object_map)
			(void)munmap(pool->object_map, pool->object_map_size);
	}
	if (error) {
		(void)munmap(pool, place.size);
		return error;
	}
	if (attr->constructor)
		for (size_t i = 0; i < pool->capacity; i++)
			attr->constructor(hone_mempool_object(pool, i), i,
				attr->constructor_arg);
	pool->upper = (uintptr_t)pool->objects & ~(uintptr_t)UINT32_MAX;
	hone_mempool_watch_begin(pool);
	set_handles(pool, &place);
	memset(pool->marks, 0xff, pool->capacity / 8 + 1);
	hone_mempool_fill(pool);
	*result = pool;
	return 0;
}

/* Magazines that are passed on, or could be: all if none is in use. */
static size_t
magazines_there(struct hone_mempool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_mempool_handle *h = hone_mempool_handle(pool, i);

		n += hone_deque_count(&h->deque[HONE_MEMPOOL_FULL]) +
		     hone_deque_count(&h->deque[HONE_MEMPOOL_EMPTY]);
	}
	/* Relaxed: no other call runs. */
	return n + (atomic_load_explicit(
			    &pool->partial, memory_order_relaxed) != NULL);
}

static bool
busy(struct hone_mempool *pool)
{
	bool open = false;

	(void)pthread_mutex_lock(&pool->mutex);
	for (size_t i = 0; i < pool->max_caches; i++)
		open |= hone_mempool_handle(pool, i)->open;
	(void)pthread_mutex_unlock(&pool->mutex);
	return open || hone_mempool_available(pool) != pool->capacity ||
	       magazines_there(pool) != pool->n_magazines;
}

int
hone_mempool_destroy(struct hone_mempool *pool)
{
	hone_mempool_close_own(pool);
	if (busy(pool))
		return -EBUSY;
	hone_mempool_watch_end(pool);
	if (atomic_load_explicit(&pool->has_key, memory_order_acquire))
		(void)pthread_key_delete(pool->key);
	(void)pthread_mutex_destroy(&pool->mutex);
	if (pool->object_map)
		(void)munmap(pool->object_map, pool->object_map_size);
	(void)munmap(pool, pool->size);
	return 0;
}
