/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting and finding objects. */
#include <string.h>
#include "mempool/mempool.h"

/* Relaxed, as all that is read of other threads here: it orders nothing. */
static size_t
read_one(_Atomic size_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void
hone_mempool_get_stats(
	struct hone_mempool *pool, struct hone_mempool_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->capacity = pool->capacity;
	stats->cache_size = pool->cache_size;
	stats->stride = pool->stride;
	stats->max_caches = (unsigned)pool->max_caches;
	(void)pthread_mutex_lock(&pool->mutex);
	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_mempool_handle *h = hone_mempool_handle(pool, i);

		stats->caches += h->open;
		stats->loaded += HONE_DETAIL_LEN(h->view);
		stats->reserved += read_one(&h->n_reserved);
		stats->shared += pool->cache_size *
				 hone_deque_count(&h->deque[HONE_MEMPOOL_FULL]);
		stats->refills += read_one(&h->refills);
		stats->flushes += read_one(&h->flushes);
		stats->steals += read_one(&h->steals);
		stats->failures += read_one(&h->failures);
	}
	if (atomic_load_explicit(&pool->partial, memory_order_relaxed))
		stats->shared += read_one(&pool->n_partial);
	(void)pthread_mutex_unlock(&pool->mutex);
}

size_t
hone_mempool_available(struct hone_mempool *pool)
{
	struct hone_mempool_stats stats;

	hone_mempool_get_stats(pool, &stats);
	return stats.shared + stats.loaded + stats.reserved;
}

void
hone_mempool_iterate(struct hone_mempool *pool,
	void (*fn)(void *object, size_t index, void *arg), void *arg)
{
	for (size_t i = 0; i < pool->capacity; i++)
		fn(hone_mempool_object(pool, i), i, arg);
}

/* An audit under way. */
struct round {
	struct hone_mempool *pool;
	struct hone_mempool_findings *audit;
	void (*fn)(int fault, void *object, void *arg);
	void *arg;
};

static void
tell(struct round *r, int fault, void *object)
{
	if (r->fn)
		r->fn(fault, object, r->arg);
}

static void
mark(struct round *r, void *const *objects, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t index = hone_mempool_index(r->pool, objects[i]);
		unsigned char *byte = &r->pool->marks[index / 8];
		unsigned char bit = (unsigned char)(1 << index % 8);

		if (index == r->pool->capacity) {
			r->audit->foreign++;
			tell(r, HONE_MEMPOOL_FAULT_FOREIGN, objects[i]);
		} else if (*byte & bit) {
			r->audit->doubled++;
			tell(r, HONE_MEMPOOL_FAULT_DOUBLED, objects[i]);
		} else {
			*byte |= bit;
			r->audit->in_pool++;
		}
	}
}

static void
mark_slots(struct round *r, const void *slots, size_t n)
{
	void *objects[64];

	for (size_t i = 0; i < n; i += 64) {
		size_t k = n - i < 64 ? n - i : 64;

		hone_mempool_read(r->pool, objects, slots, i, k);
		mark(r, objects, k);
	}
}

static void
mark_magazine(struct round *r, struct hone_mempool_magazine *m)
{
	mark_slots(r, hone_mempool_slots(r->pool, m), m->count);
}

static void
mark_deque(struct round *r, struct hone_deque *d)
{
	size_t t = atomic_load_explicit(&d->top, memory_order_acquire);
	size_t b = atomic_load_explicit(&d->bottom, memory_order_acquire);

	for (; hone_deque_span(t, b) > 0; t++) {
		struct hone_mempool_magazine *m = atomic_load_explicit(
			&d->slots[t & d->mask], memory_order_relaxed);

		mark_magazine(r, m);
	}
}

void
hone_mempool_census(struct hone_mempool *pool,
	struct hone_mempool_findings *audit,
	void (*fn)(int fault, void *object, void *arg), void *arg)
{
	struct round r = {pool, audit, fn, arg};
	struct hone_mempool_magazine *m;

	memset(audit, 0, sizeof(*audit));
	memset(pool->marks, 0, pool->capacity / 8 + 1);
	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_mempool_handle *h = hone_mempool_handle(pool, i);

		mark_deque(&r, &h->deque[HONE_MEMPOOL_FULL]);
		mark_slots(&r, h->view->slots, HONE_DETAIL_LEN(h->view));
		for (m = h->reserve; m; m = hone_mempool_next(m))
			mark_magazine(&r, m);
	}
	m = atomic_load_explicit(&pool->partial, memory_order_acquire);
	if (m)
		mark_magazine(&r, m);
	audit->out = pool->capacity - audit->in_pool;
}

void
hone_mempool_audit(struct hone_mempool *pool,
	struct hone_mempool_findings *audit,
	void (*fn)(int fault, void *object, void *arg), void *arg)
{
	struct round r = {pool, audit, fn, arg};

	(void)pthread_mutex_lock(&pool->mutex);
	hone_mempool_census(pool, audit, fn, arg);
	for (size_t i = 0; i < pool->capacity; i++) {
		void *object = hone_mempool_object(pool, i);
		int fault;

		if (!hone_mempool_marked(pool, i)) {
			tell(&r, HONE_MEMPOOL_FAULT_OUT, object);
			continue;
		}
		fault = pool->debug ? hone_mempool_watch_check(pool, i) : 0;
		if (fault) {
			audit->damaged++;
			tell(&r, fault, object);
		}
	}
	(void)pthread_mutex_unlock(&pool->mutex);
}
