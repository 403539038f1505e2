/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Get and put, if the loaded magazine is not enough.
 *
 * At every moment a thread holds at most four magazines: the loaded one, the
 * head of its reserve, one of the user's, and one more. count_magazines() in
 * layout.c provides as many, so a thread always finds an empty magazine.
 */
#include <assert.h>
#include <errno.h>
#include "mempool/mempool.h"
#include "mempool/exact.h"

/*
 * Failed searches of all caches, one after the other, after which the user
 * certainly keeps more magazines than allowed: each failed search otherwise
 * means that another thread took a magazine meanwhile.
 */
#define FAILED_SEARCHES ((size_t)1 << 20)

static struct hone_mempool_magazine *
steal(struct hone_cache *c, enum hone_mempool_side side)
{
	struct hone_mempool *pool = c->pool;
	/* Acquire: pairs with the release in hone_mempool_cache_open(). */
	size_t n = atomic_load_explicit(&pool->n_used, memory_order_acquire);
	size_t victim = c->victim[side];

	for (size_t i = 0; i < n; i++) {
		struct hone_mempool_magazine *m = NULL;

		if (victim != c->number)
			m = hone_deque_steal(
				&hone_mempool_cache_at(pool, victim)
					 ->deque[side]);
		if (m) {
			c->victim[side] = victim;
			hone_mempool_add(&c->steals, 1);
			return m;
		}
		victim = victim + 1 < n ? victim + 1 : 0;
	}
	return NULL;
}

struct hone_mempool_magazine *
hone_mempool_take_full(struct hone_cache *c)
{
	struct hone_mempool_magazine *m =
		hone_deque_pop(&c->deque[HONE_MEMPOOL_FULL]);

	if (!m)
		m = steal(c, HONE_MEMPOOL_FULL);
	if (!m)
		m = hone_mempool_take_spilled(c->pool, HONE_MEMPOOL_FULL);
	/*
	 * A load first, since an exchange takes the cache line from other CPUs
	 * even if it finds NULL. Acquire: pairs with the release in cache.c,
	 * and with that of the exchange, so that a search of an exact pool sees
	 * the call of the thread that took the magazine.
	 */
	if (!m && atomic_load_explicit(&c->pool->partial, memory_order_acquire))
		m = atomic_exchange_explicit(
			&c->pool->partial, NULL, memory_order_acq_rel);
	return m;
}

struct hone_mempool_magazine *
hone_mempool_take_empty(struct hone_cache *c)
{
	struct hone_mempool_magazine *m =
		hone_deque_pop(&c->deque[HONE_MEMPOOL_EMPTY]);

	for (size_t turn = 0; !m; turn++) {
		m = steal(c, HONE_MEMPOOL_EMPTY);
		if (!m)
			m = hone_mempool_take_spilled(
				c->pool, HONE_MEMPOOL_EMPTY);
		if (!m && turn > 0 && turn % FAILED_SEARCHES == 0)
			hone_mempool_fault(
				c->pool, HONE_MEMPOOL_FAULT_NO_MAGAZINE, NULL);
	}
	return m;
}

void
hone_mempool_load(struct hone_cache *c, struct hone_mempool_magazine *m)
{
	struct hone_detail_mempool_view *v = c->view;

	/* The first len slots must be valid at every moment, since another
	 * thread may fork. */
	hone_mempool_set_len(v, 0);
	HONE_DETAIL_IN_ORDER();
	v->slots = m->objects;
	HONE_DETAIL_IN_ORDER();
	hone_mempool_set_len(v, m->count);
}

void
hone_mempool_push(struct hone_cache *c, struct hone_mempool_magazine *m)
{
	enum hone_mempool_side side =
		m->count ? HONE_MEMPOOL_FULL : HONE_MEMPOOL_EMPTY;

	assert(m->count == 0 || m->count == c->pool->full);
	if (HONE_DETAIL_RARE(!hone_deque_push(&c->deque[side], m)))
		hone_mempool_spill(c->pool, side, m);
}

void
hone_mempool_replace(struct hone_cache *c, struct hone_mempool_magazine *m)
{
	struct hone_mempool_magazine *old = hone_mempool_loaded(c);

	hone_mempool_load(c, m);
	old->count = 0;
	hone_mempool_push(c, old);
	hone_mempool_add(&c->refills, 1);
}

/*
 * Replaces the loaded magazine by an empty one, to which the objects above the
 * first `full` move, and passes it on. Only an exact pool has objects above.
 */
static inline void
pass_full(struct hone_cache *c, size_t full, bool exact)
{
	struct hone_mempool_magazine *m = hone_mempool_take_empty(c);
	struct hone_mempool_magazine *old = hone_mempool_loaded(c);

	if (exact) {
		m->count = HONE_DETAIL_LEN(c->view) - full;
		if (m->count > 0)
			hone_copy_pointers(
				m->objects, old->objects + full, m->count);
	}
	hone_mempool_load(c, m);
	old->count = full;
	hone_mempool_push(c, old);
	hone_mempool_add(&c->flushes, 1);
}

void
hone_mempool_flush(struct hone_cache *c)
{
	pass_full(c, c->pool->full, true);
}

size_t
hone_mempool_take(struct hone_cache *c, void **objs, size_t n)
{
	struct hone_detail_mempool_view *v = c->view;
	struct hone_mempool_magazine *m;
	size_t got = 0;

	for (;;) {
		size_t len = HONE_DETAIL_LEN(v);
		size_t k = n - got < len ? n - got : len;

		hone_mempool_set_len(v, len - k);
		HONE_DETAIL_IN_ORDER();
		hone_copy_pointers(objs + got, v->slots + len - k, k);
		got += k;
		if (got == n || !(m = hone_mempool_take_full(c)))
			return got;
		hone_mempool_replace(c, m);
	}
}

/* exact may also be true if the pool is not exact. */
static inline void
put_all(struct hone_cache *c, void *const *objs, size_t n, bool exact)
{
	struct hone_detail_mempool_view *v = c->view;
	size_t full = exact ? c->pool->full : v->size;

	for (;;) {
		size_t len = HONE_DETAIL_LEN(v), k = n;

		/* Without room for all, no more than a full magazine:
		 * pass_full() would copy what is above. */
		if (n > v->size - len)
			k = exact && len > full ? 0 : full - len;
		hone_copy_pointers(v->slots + len, objs, k);
		HONE_DETAIL_IN_ORDER();
		hone_mempool_set_len(v, len + k);
		objs += k;
		n -= k;
		if (n == 0)
			return;
		pass_full(c, full, exact);
	}
}

/* noinline: a get that fails gives back what it found, and needs registers for
 * it that others would save. */
__attribute__((noinline)) void
hone_mempool_give(struct hone_cache *c, void *const *objs, size_t n)
{
	put_all(c, objs, n, true);
}

/* Completes a get that found fewer than n objects in the pool: from the
 * reserve, or not at all. */
static size_t
complete(struct hone_cache *c, void **objs, size_t got, size_t n, bool all)
{
	size_t reserved =
		atomic_load_explicit(&c->n_reserved, memory_order_relaxed);

	if (!all || reserved >= n - got)
		got += hone_mempool_draw(c, objs + got, n - got);
	if (got < n) {
		hone_mempool_add(&c->failures, 1);
		if (all) {
			if (got > 0)
				hone_mempool_give(c, objs, got);
			return 0;
		}
	}
	return got;
}

/* Gets from a pool that is exact. */
static size_t
get_exact(struct hone_cache *c, void **objs, size_t n, bool all)
{
	size_t got;

	hone_mempool_enter(c);
	got = hone_mempool_take(c, objs, n);
	if (got < n) {
		/* What this call would keep, others could not find. */
		if (all && got > 0) {
			hone_mempool_give(c, objs, got);
			got = 0;
		}
		hone_mempool_leave(c);
		hone_mempool_lock(c->pool);
		hone_mempool_enter_locked(c);
		got += hone_mempool_take_all(c, objs + got, n - got);
		if (got < n)
			got = complete(c, objs, got, n, all);
		hone_mempool_unlock(c->pool);
	}
	hone_mempool_leave(c);
	return got;
}

/* noinline, as get_slow(): a caller saves only the registers that it needs.
 * flatten: the exchange of a magazine takes a few ns less (bench/mempool). */
static __attribute__((noinline, flatten)) size_t
get_plain(struct hone_cache *c, void **objs, size_t n, bool all)
{
	size_t got = hone_mempool_take(c, objs, n);

	return got < n ? complete(c, objs, got, n, all) : got;
}

/* Gets from a pool that is watched or exact. */
static __attribute__((noinline)) size_t
get_slow(struct hone_cache *c, void **objs, size_t n, bool all)
{
	size_t got = c->pool->exact ? get_exact(c, objs, n, all)
				    : get_plain(c, objs, n, all);

	for (size_t i = 0; c->pool->watched && i < got; i++)
		hone_mempool_watch_get(c->pool, objs[i]);
	return got;
}

/* GCC does not always compile a call of hone_copy_pointers() inline: it calls
 * it for one pointer in hone.c. */
static inline void
copy_few(void **to, void *const *from, size_t n)
{
	if (__builtin_constant_p(n) && n == 1)
		*to = *from;
	else
		hone_copy_pointers(to, from, n);
}

/*
 * Gets n objects that a cache has loaded whose pool is quick; otherwise it
 * returns false.
 */
static inline bool
get_quickly(struct hone_cache *c, void **objs, size_t n)
{
	struct hone_detail_mempool_view *v = c->view;
	size_t len;

	if (HONE_DETAIL_RARE(!hone_mempool_enter_quickly(c)))
		return false;
	len = HONE_DETAIL_LEN(v);
	if (HONE_DETAIL_RARE(len < n)) {
		hone_mempool_leave(c);
		return false;
	}
	hone_mempool_set_len(v, len - n);
	HONE_DETAIL_IN_ORDER();
	copy_few(objs, v->slots + len - n, n);
	hone_mempool_leave(c);
	return true;
}

/* Gets up to n objects; if all is true, n or none. Returns how many. */
static inline size_t
mempool_get(struct hone_mempool_cache *cache, void **objs, size_t n, bool all)
{
	struct hone_cache *c = (struct hone_cache *)cache;

	if (c->pool->quick && get_quickly(c, objs, n))
		return n;
	return c->pool->slow ? get_slow(c, objs, n, all)
			     : get_plain(c, objs, n, all);
}

void *
hone_detail_mempool_get(struct hone_mempool_cache *cache)
{
	void *obj;

	return mempool_get(cache, &obj, 1, true) ? obj : NULL;
}

/* A function of its own: get_quickly() saves no register for n then. */
static __attribute__((noinline)) int
get_bulk_long(struct hone_cache *c, void **objs, size_t n)
{
	size_t got = c->pool->slow ? get_slow(c, objs, n, true)
				   : get_plain(c, objs, n, true);

	return got == n ? 0 : -ENOBUFS;
}

int
hone_detail_mempool_get_bulk(
	struct hone_mempool_cache *cache, void **objs, size_t n)
{
	struct hone_cache *c = (struct hone_cache *)cache;

	if (c->pool->quick && get_quickly(c, objs, n))
		return 0;
	return get_bulk_long(c, objs, n);
}

size_t
hone_detail_mempool_get_burst(
	struct hone_mempool_cache *cache, void **objs, size_t n)
{
	return mempool_get(cache, objs, n, false);
}

static void
put_exact(struct hone_cache *c, void *const *objs, size_t n)
{
	hone_mempool_enter(c);
	hone_mempool_give(c, objs, n);
	hone_mempool_add(&c->puts, 1);
	hone_mempool_leave(c);
}

/* Puts into a pool that is watched or exact. */
static __attribute__((noinline)) void
put_slow(struct hone_cache *c, void *const *objs, size_t n)
{
	if (!c->pool->watched) {
		put_exact(c, objs, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (!hone_mempool_watch_put(c->pool, objs[i]))
			continue;
		if (c->pool->exact)
			put_exact(c, objs + i, 1);
		else
			hone_mempool_give(c, objs + i, 1);
	}
}

/*
 * Puts n objects for which a cache has room whose pool is quick; otherwise it
 * returns false.
 */
static inline bool
put_quickly(struct hone_cache *c, void *const *objs, size_t n)
{
	struct hone_detail_mempool_view *v = c->view;
	size_t len;

	if (HONE_DETAIL_RARE(!hone_mempool_enter_quickly(c)))
		return false;
	len = HONE_DETAIL_LEN(v);
	if (HONE_DETAIL_RARE(v->size - len < n)) {
		hone_mempool_leave(c);
		return false;
	}
	copy_few(v->slots + len, objs, n);
	hone_mempool_set_len(v, len + n);
	hone_mempool_add(&c->puts, 1);
	hone_mempool_leave(c);
	return true;
}

static __attribute__((noinline, flatten)) void
put_bulk_plain(struct hone_cache *c, void *const *objs, size_t n)
{
	put_all(c, objs, n, false);
}

static inline void
mempool_put(struct hone_mempool_cache *cache, void *const *objs, size_t n)
{
	struct hone_cache *c = (struct hone_cache *)cache;

	if (c->pool->quick && put_quickly(c, objs, n))
		return;
	if (c->pool->slow)
		put_slow(c, objs, n);
	else
		put_bulk_plain(c, objs, n);
}

void
hone_detail_mempool_put(struct hone_mempool_cache *cache, void *obj)
{
	mempool_put(cache, &obj, 1);
}

void
hone_detail_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n)
{
	mempool_put(cache, objs, n);
}
