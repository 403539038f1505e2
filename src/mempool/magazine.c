/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole magazines for the user, and the reserve, which is a list of magazines.
 */
#include <assert.h>
#include <errno.h>
#include "mempool/exact.h"

void
hone_mempool_pour(const struct hone_mempool *pool,
	struct hone_mempool_magazine *a, struct hone_mempool_magazine *b)
{
	size_t room = pool->full - a->count;
	size_t k = b->count < room ? b->count : room;

	hone_copy_pointers(
		a->objects + a->count, b->objects + (b->count - k), k);
	a->count += k;
	b->count -= k;
}

static struct hone_mempool_magazine *
unload(struct hone_cache *c, struct hone_mempool_magazine *other)
{
	struct hone_mempool_magazine *m = hone_mempool_loaded(c);
	size_t len = HONE_DETAIL_LEN(c->view);

	hone_mempool_load(c, other);
	m->count = len;
	return m;
}

static struct hone_mempool_magazine *
get_magazine(struct hone_cache *c)
{
	struct hone_mempool_magazine *m = hone_mempool_take_full(c);
	size_t len = HONE_DETAIL_LEN(c->view), full = c->pool->full;

	if (!m && len > 0)
		m = unload(c, hone_mempool_take_empty(c));
	else if (m && m->count < full && len >= full)
		m = unload(c, m); /* the only full magazine was loaded */
	return m;
}

static struct hone_mempool_magazine *
get_magazine_exact(struct hone_cache *c)
{
	struct hone_mempool_magazine *m;

	hone_mempool_enter(c);
	m = get_magazine(c);
	/* It may have exchanged the loaded magazine: see changes() in
	 * exact.c. */
	hone_mempool_add(&c->flushes, m != NULL);
	hone_mempool_leave(c);
	if (m)
		return m;
	hone_mempool_lock(c->pool);
	m = hone_mempool_seize(c);
	hone_mempool_unlock(c->pool);
	return m;
}

struct hone_mempool_magazine *
hone_mempool_get_magazine(struct hone_mempool_cache *cache)
{
	struct hone_cache *c = (struct hone_cache *)cache;
	struct hone_mempool_magazine *m =
		c->pool->exact ? get_magazine_exact(c) : get_magazine(c);

	if (!m) {
		hone_mempool_add(&c->failures, 1);
		return NULL;
	}
	for (size_t i = 0; c->pool->watched && i < m->count; i++)
		hone_mempool_watch_get(c->pool, m->objects[i]);
	return m;
}

/* Removes the objects that must not be put. */
static void
watch(struct hone_mempool *pool, struct hone_mempool_magazine *m)
{
	size_t count = 0;

	for (size_t i = 0; i < m->count; i++)
		if (hone_mempool_watch_put(pool, m->objects[i]))
			m->objects[count++] = m->objects[i];
	m->count = count;
}

static void
put_magazine_plain(struct hone_cache *c, struct hone_mempool_magazine *m)
{
	struct hone_mempool_magazine *loaded = hone_mempool_loaded(c);
	size_t size = c->view->size;

	if (m->count != 0 && m->count != size) {
		loaded->count = HONE_DETAIL_LEN(c->view);
		hone_mempool_set_len(c->view, 0);
		hone_mempool_pour(c->pool, m, loaded);
		if (m->count == size) {
			hone_mempool_load(c, loaded);
		} else {
			hone_mempool_load(c, m);
			m = loaded;
		}
	}
	hone_mempool_push(c, m);
}

/* Passes on what is full, and puts the other objects. */
static void
put_magazine_exact(struct hone_cache *c, struct hone_mempool_magazine *m)
{
	size_t full = c->pool->full, kept = m->count < full ? 0 : full;

	hone_mempool_enter(c);
	hone_mempool_give(c, m->objects + kept, m->count - kept);
	m->count = kept;
	hone_mempool_push(c, m);
	hone_mempool_add(&c->puts, 1); /* also counts an exchange */
	hone_mempool_leave(c);
}

void
hone_mempool_put_magazine(struct hone_mempool_cache *cache,
	struct hone_mempool_magazine *magazine)
{
	struct hone_cache *c = (struct hone_cache *)cache;

	assert(magazine->count <= c->view->size);
	assert((char *)magazine >= c->pool->magazines &&
		(char *)magazine <
			c->pool->magazines + c->pool->n_magazines *
						     c->pool->magazine_stride);
	if (c->pool->watched)
		watch(c->pool, magazine);
	if (c->pool->exact)
		put_magazine_exact(c, magazine);
	else
		put_magazine_plain(c, magazine);
}

static size_t
reserved(struct hone_cache *c)
{
	return atomic_load_explicit(&c->n_reserved, memory_order_relaxed);
}

/* Takes k objects from the head of the reserve, at most its count. */
static void
take_from_head(struct hone_cache *c, void **objs, size_t k)
{
	struct hone_mempool_magazine *m = c->reserve;

	hone_copy_pointers(objs, m->objects + m->count - k, k);
	m->count -= k;
	hone_mempool_add(&c->n_reserved, -k);
}

static void
trim(struct hone_cache *c)
{
	struct hone_mempool_magazine *m = c->reserve;

	if (m && m->count == 0) {
		c->reserve = hone_mempool_next(m);
		hone_mempool_push(c, m);
	}
}

size_t
hone_mempool_draw(struct hone_cache *c, void **objs, size_t n)
{
	size_t got = 0;

	while (got < n && c->reserve) {
		size_t count = c->reserve->count;
		size_t k = n - got < count ? n - got : count;

		take_from_head(c, objs + got, k);
		got += k;
		trim(c);
	}
	return got;
}

/* Gives the objects above n back to the pool. */
static void
lower(struct hone_cache *c, size_t n)
{
	void *objs[HONE_MEMPOOL_CACHE_MAX];

	trim(c);
	while (reserved(c) > n) {
		size_t above = reserved(c) - n, count = c->reserve->count;
		size_t k = above < count ? above : count;

		take_from_head(c, objs, k);
		hone_mempool_give(c, objs, k);
		trim(c);
	}
}

void
hone_mempool_dissolve(struct hone_cache *c)
{
	lower(c, 0);
}

/* Moves up to k objects to the head of the reserve; returns how many. */
static size_t
put_aside(struct hone_cache *c, size_t k)
{
	struct hone_mempool_magazine *m = c->reserve;
	void *objs[HONE_MEMPOOL_CACHE_MAX];
	size_t got = c->pool->exact ? hone_mempool_take_all(c, objs, k)
				    : hone_mempool_take(c, objs, k);

	hone_copy_pointers(m->objects + m->count, objs, got);
	m->count += got;
	hone_mempool_add(&c->n_reserved, got);
	return got;
}

static int
reserve(struct hone_cache *c, size_t n)
{
	size_t size = c->view->size, before = reserved(c);

	while (reserved(c) < n) {
		struct hone_mempool_magazine *m = c->reserve;
		size_t k;

		if (!m || m->count == size) {
			m = hone_mempool_take_empty(c);
			m->hidden[0] = (uintptr_t)c->reserve;
			/* The list must be valid at every moment, since
			 * another thread may fork. */
			HONE_DETAIL_IN_ORDER();
			c->reserve = m;
		}
		k = size - m->count;
		if (k > n - reserved(c))
			k = n - reserved(c);
		if (put_aside(c, k) < k) {
			hone_mempool_add(&c->failures, 1);
			lower(c, before);
			return -ENOBUFS;
		}
	}
	lower(c, n);
	return 0;
}

int
hone_mempool_reserve(struct hone_mempool_cache *cache, size_t n)
{
	struct hone_cache *c = (struct hone_cache *)cache;
	int error;

	if (!c->pool->exact)
		return reserve(c, n);
	hone_mempool_lock(c->pool);
	hone_mempool_enter_locked(c);
	error = reserve(c, n);
	hone_mempool_leave(c);
	hone_mempool_unlock(c->pool);
	return error;
}
