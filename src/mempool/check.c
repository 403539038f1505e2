/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting and finding objects. */
#include <string.h>
#include "mempool/mempool.h"
#include "mempool/exact.h"

/* Relaxed, as all reads of other threads' data here: they order nothing. */
static size_t
read_one(_Atomic size_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void
hone_mempool_count(struct hone_mempool *pool, struct hone_mempool_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->capacity = pool->capacity;
	stats->cache_size = pool->cache_size;
	stats->stride = pool->stride;
	stats->max_caches = (unsigned)pool->max_caches;
	hone_mempool_lock(pool);
	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_cache *c = hone_mempool_cache_at(pool, i);

		stats->caches += c->open;
		stats->loaded += hone_mempool_len(c);
		stats->reserved += read_one(&c->n_reserved);
		stats->shared += pool->full *
				 hone_deque_count(&c->deque[HONE_MEMPOOL_FULL]);
		stats->refills += read_one(&c->refills);
		stats->flushes += read_one(&c->flushes);
		stats->steals += read_one(&c->steals);
		stats->failures += read_one(&c->failures);
	}
	stats->shared +=
		pool->full * hone_mempool_n_spilled(pool, HONE_MEMPOOL_FULL);
	if (atomic_load_explicit(&pool->partial, memory_order_relaxed))
		stats->shared += read_one(&pool->n_partial);
	hone_mempool_unlock(pool);
}

static void
cut(size_t *n, size_t *left)
{
	if (*n > *left)
		*n = *left;
	*left -= *n;
}

/* While threads move objects, one can be counted at each place that it was at.
 */
void
hone_mempool_get_stats(
	struct hone_mempool *pool, struct hone_mempool_stats *stats)
{
	size_t left = pool->capacity;

	hone_mempool_count(pool, stats);
	cut(&stats->loaded, &left);
	cut(&stats->reserved, &left);
	cut(&stats->shared, &left);
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
	for (size_t i = 0; !pool->foreign && i < pool->capacity; i++)
		fn(hone_mempool_object(pool, i), i, arg);
}

struct audit {
	struct hone_mempool *pool;
	struct hone_mempool_findings *findings;
	void (*fn)(int fault, void *object, void *arg);
	void *arg;
};

static void
report(struct audit *a, int fault, void *object)
{
	if (a->fn)
		a->fn(fault, object, a->arg);
}

int
hone_mempool_mark(struct hone_mempool *pool, void *object)
{
	size_t index;
	unsigned char *byte, bit;

	if (pool->foreign)
		return hone_mempool_mark_foreign(pool, object);
	index = hone_mempool_index(pool, object);
	if (index == pool->capacity)
		return HONE_MEMPOOL_FAULT_FOREIGN;
	byte = &pool->marks[index / 8];
	bit = (unsigned char)(1 << index % 8);
	if (*byte & bit)
		return HONE_MEMPOOL_FAULT_DOUBLED;
	*byte |= bit;
	return 0;
}

static void
mark(struct audit *a, void *const *objects, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int fault = hone_mempool_mark(a->pool, objects[i]);

		a->findings->in_pool += fault == 0;
		a->findings->foreign += fault == HONE_MEMPOOL_FAULT_FOREIGN;
		a->findings->doubled += fault == HONE_MEMPOOL_FAULT_DOUBLED;
		if (fault)
			report(a, fault, objects[i]);
	}
}

static void
mark_magazine(struct audit *a, struct hone_mempool_magazine *m)
{
	mark(a, m->objects, m->count);
}

static void
mark_deque(struct audit *a, struct hone_deque *d)
{
	size_t t = atomic_load_explicit(&d->top, memory_order_acquire);
	size_t b = atomic_load_explicit(&d->bottom, memory_order_acquire);

	for (; hone_deque_span(t, b) > 0; t++) {
		struct hone_mempool_magazine *m = atomic_load_explicit(
			&d->slots[t & d->mask], memory_order_relaxed);

		mark_magazine(a, m);
	}
}

void
hone_mempool_mark_objects(struct hone_mempool *pool,
	struct hone_mempool_findings *findings,
	void (*fn)(int fault, void *object, void *arg), void *arg)
{
	struct audit a = {pool, findings, fn, arg};
	struct hone_mempool_magazine *m;

	memset(findings, 0, sizeof(*findings));
	memset(pool->marks, 0, pool->marks_size);
	pool->n_marked = 0;
	for (size_t i = 0; i < pool->max_caches; i++) {
		struct hone_cache *c = hone_mempool_cache_at(pool, i);

		mark_deque(&a, &c->deque[HONE_MEMPOOL_FULL]);
		mark(&a, c->view->slots, hone_mempool_len(c));
		for (m = c->reserve; m; m = hone_mempool_next(m))
			mark_magazine(&a, m);
	}
	m = hone_mempool_first_spilled(pool, HONE_MEMPOOL_FULL);
	for (; m; m = hone_mempool_next_spilled(pool, m))
		mark_magazine(&a, m);
	m = atomic_load_explicit(&pool->partial, memory_order_acquire);
	if (m)
		mark_magazine(&a, m);
	findings->out = pool->capacity - findings->in_pool;
}

void
hone_mempool_audit(struct hone_mempool *pool,
	struct hone_mempool_findings *findings,
	void (*fn)(int fault, void *object, void *arg), void *arg)
{
	struct audit a = {pool, findings, fn, arg};

	hone_mempool_lock(pool);
	hone_mempool_mark_objects(pool, findings, fn, arg);
	for (size_t i = 0; !pool->foreign && i < pool->capacity; i++) {
		void *object = hone_mempool_object(pool, i);
		int fault;

		if (!hone_mempool_marked(pool, i)) {
			report(&a, HONE_MEMPOOL_FAULT_OUT, object);
			continue;
		}
		fault = pool->debug ? hone_mempool_watch_check(pool, i) : 0;
		if (fault) {
			findings->damaged++;
			report(&a, fault, object);
		}
	}
	hone_mempool_unlock(pool);
}
