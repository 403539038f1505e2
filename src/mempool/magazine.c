/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole magazines in the user's hands, and the reserve, which is made of some.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include "mempool/mempool.h"

void
hone_mempool_pour(const struct hone_mempool *pool,
	struct hone_mempool_magazine *a, struct hone_mempool_magazine *b)
{
	size_t slot = pool->short_slots ? sizeof(uint32_t) : sizeof(void *);
	size_t room = pool->cache_size - a->count;
	size_t k = b->count < room ? b->count : room;

	memcpy((char *)hone_mempool_slots(pool, a) + a->count * slot,
		(char *)hone_mempool_slots(pool, b) + (b->count - k) * slot,
		k * slot);
	a->count += k;
	b->count -= k;
}

/*
 * The user sees pointers, whatever the pool keeps. Short slots lie where these
 * do, hence by way of a copy.
 */
static void
show(const struct hone_mempool *pool, struct hone_mempool_magazine *m)
{
	uint32_t slots[HONE_MEMPOOL_CACHE_MAX];

	if (!pool->short_slots)
		return;
	memcpy(slots, hone_mempool_slots(pool, m), m->count * sizeof(*slots));
	hone_mempool_read(pool, m->objects, slots, 0, m->count);
}

static void
hide(const struct hone_mempool *pool, struct hone_mempool_magazine *m)
{
	uint32_t slots[HONE_MEMPOOL_CACHE_MAX];

	if (!pool->short_slots)
		return;
	hone_mempool_write(pool, slots, 0, m->objects, m->count);
	memcpy(hone_mempool_slots(pool, m), slots, m->count * sizeof(*slots));
}

/* Load another one in place of the one that is. */
static struct hone_mempool_magazine *
unload(struct hone_mempool_handle *h, struct hone_mempool_magazine *other)
{
	struct hone_mempool_magazine *m = h->loaded;
	size_t len = HONE_DETAIL_LEN(h->view);

	hone_mempool_load(h, other);
	m->count = len;
	return m;
}

struct hone_mempool_magazine *
hone_mempool_get_magazine(struct hone_mempool_cache *cache)
{
	struct hone_mempool_handle *h = (struct hone_mempool_handle *)cache;
	struct hone_mempool_magazine *m = hone_mempool_take_full(h);
	size_t len = HONE_DETAIL_LEN(h->view);

	if (!m && len > 0)
		m = unload(h, hone_mempool_take_empty(h));
	else if (m && m->count < len && len == h->view->size)
		m = unload(h, m); /* the only full one was loaded */
	if (!m) {
		hone_mempool_add(&h->failures, 1);
		return NULL;
	}
	show(h->pool, m);
	for (size_t i = 0; h->pool->watched && i < m->count; i++)
		hone_mempool_watch_get(h->pool, m->objects[i]);
	return m;
}

/* Objects that must not go in are left out. */
static void
watch(struct hone_mempool *pool, struct hone_mempool_magazine *m)
{
	size_t count = 0;

	for (size_t i = 0; i < m->count; i++)
		if (hone_mempool_watch_put(pool, m->objects[i]))
			m->objects[count++] = m->objects[i];
	m->count = count;
}

void
hone_mempool_put_magazine(struct hone_mempool_cache *cache,
	struct hone_mempool_magazine *magazine)
{
	struct hone_mempool_handle *h = (struct hone_mempool_handle *)cache;
	struct hone_mempool_magazine *m = magazine, *loaded = h->loaded;
	size_t size = h->view->size;

	assert(m->count <= size);
	assert((char *)m >= h->pool->magazines &&
		(char *)m <
			h->pool->magazines + h->pool->n_magazines *
						     h->pool->magazine_stride);
	if (h->pool->watched)
		watch(h->pool, m);
	hide(h->pool, m);
	if (m->count != 0 && m->count != size) {
		loaded->count = HONE_DETAIL_LEN(h->view);
		HONE_DETAIL_SET_LEN(h->view, 0);
		hone_mempool_pour(h->pool, m, loaded);
		if (m->count == size) {
			hone_mempool_load(h, loaded);
		} else {
			hone_mempool_load(h, m);
			m = loaded;
		}
	}
	hone_mempool_push(h, m);
}

static size_t
reserved(struct hone_mempool_handle *h)
{
	return atomic_load_explicit(&h->n_reserved, memory_order_relaxed);
}

/* Take k objects, at most its count, from the head of the reserve. */
static void
behead(struct hone_mempool_handle *h, void **objs, size_t k)
{
	struct hone_mempool_magazine *m = h->reserve;

	hone_mempool_read(
		h->pool, objs, hone_mempool_slots(h->pool, m), m->count - k, k);
	m->count -= k;
	hone_mempool_add(&h->n_reserved, -k);
}

/* The head must not be empty: pass it on. */
static void
trim(struct hone_mempool_handle *h)
{
	struct hone_mempool_magazine *m = h->reserve;

	if (m && m->count == 0) {
		h->reserve = hone_mempool_next(m);
		hone_mempool_push(h, m);
	}
}

size_t
hone_mempool_draw(struct hone_mempool_handle *h, void **objs, size_t n)
{
	size_t got = 0;

	while (got < n && h->reserve) {
		size_t count = h->reserve->count;
		size_t k = n - got < count ? n - got : count;

		behead(h, objs + got, k);
		got += k;
		trim(h);
	}
	return got;
}

/* Give back what is above n. */
static void
lower(struct hone_mempool_handle *h, size_t n)
{
	void *objs[HONE_MEMPOOL_CACHE_MAX];

	trim(h);
	while (reserved(h) > n) {
		size_t above = reserved(h) - n, count = h->reserve->count;
		size_t k = above < count ? above : count;

		behead(h, objs, k);
		hone_mempool_give(h, objs, k);
		trim(h);
	}
}

void
hone_mempool_dissolve(struct hone_mempool_handle *h)
{
	lower(h, 0);
}

/* Move up to k objects to its head, which has room; tell how many. */
static size_t
put_aside(struct hone_mempool_handle *h, size_t k)
{
	struct hone_mempool_magazine *m = h->reserve;
	void *objs[HONE_MEMPOOL_CACHE_MAX];
	size_t got = hone_mempool_take(h, objs, k);

	hone_mempool_write(
		h->pool, hone_mempool_slots(h->pool, m), m->count, objs, got);
	m->count += got;
	hone_mempool_add(&h->n_reserved, got);
	return got;
}

int
hone_mempool_reserve(struct hone_mempool_cache *cache, size_t n)
{
	struct hone_mempool_handle *h = (struct hone_mempool_handle *)cache;
	size_t size = h->view->size, before = reserved(h);

	while (reserved(h) < n) {
		struct hone_mempool_magazine *m = h->reserve;
		size_t k;

		if (!m || m->count == size) {
			m = hone_mempool_take_empty(h);
			m->hidden[0] = (uintptr_t)h->reserve;
			/* The chain is whole at every moment, should one fork.
			 */
			HONE_DETAIL_IN_ORDER();
			h->reserve = m;
		}
		k = size - m->count;
		if (k > n - reserved(h))
			k = n - reserved(h);
		if (put_aside(h, k) < k) {
			hone_mempool_add(&h->failures, 1);
			lower(h, before);
			return -ENOBUFS;
		}
	}
	lower(h, n);
	return 0;
}
