/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_MEMPOOL_H
#define HONE_DETAIL_MEMPOOL_H
#include <hone/copy.h>

HONE_BEGIN_DECLS

/* The loaded magazine, as the inline functions see it. */
struct hone_detail_mempool_view {
	/* number of objects in it */
	size_t len;
	/* number of objects that fit in it */
	size_t size;
	/* its slots; the first len have an object */
	void **slots;
};

/*
 * The part of a cache that the inline functions see. If every call must be
 * checked (HONE_MEMPOOL_DEBUG, a sanitizer, valgrind), or other caches may take
 * the loaded magazine (HONE_MEMPOOL_EXACT), len and size are 0, and each call
 * takes the slow path.
 */
struct hone_mempool_cache {
	struct hone_detail_mempool_view view;
};

/* Private: the slow paths of the inline functions. */
HONE_API void *hone_detail_mempool_get(struct hone_mempool_cache *cache);
HONE_API void hone_detail_mempool_put(
	struct hone_mempool_cache *cache, void *obj);
HONE_API int hone_detail_mempool_get_bulk(
	struct hone_mempool_cache *cache, void **objs, size_t n);
HONE_API size_t hone_detail_mempool_get_burst(
	struct hone_mempool_cache *cache, void **objs, size_t n);
HONE_API void hone_detail_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n);

/*
 * Relaxed: only the thread of the cache writes len. Another thread may read len
 * to count the objects of the pool; the count orders nothing.
 */
#if defined(__GNUC__)
#define HONE_DETAIL_LEN(view) __atomic_load_n(&(view)->len, __ATOMIC_RELAXED)
#define HONE_DETAIL_SET_LEN(view, n)                                           \
	__atomic_store_n(&(view)->len, n, __ATOMIC_RELAXED)
#define HONE_DETAIL_RARE(x) __builtin_expect(!!(x), 0)
/*
 * Orders the compiler only. The first len slots must hold objects of the pool
 * at every moment, because another thread may fork at any moment
 * (hone_mempool_after_fork()).
 */
#define HONE_DETAIL_IN_ORDER() __atomic_signal_fence(__ATOMIC_ACQ_REL)
#else
#define HONE_DETAIL_LEN(view) ((view)->len)
#define HONE_DETAIL_SET_LEN(view, n) ((view)->len = (n))
#define HONE_DETAIL_RARE(x) (x)
#define HONE_DETAIL_IN_ORDER() ((void)0)
#endif

HONE_INLINE void *
hone_mempool_get(struct hone_mempool_cache *cache)
{
	size_t len = HONE_DETAIL_LEN(&cache->view);

	if (HONE_DETAIL_RARE(len == 0))
		return hone_detail_mempool_get(cache);
	HONE_DETAIL_SET_LEN(&cache->view, len - 1);
	return cache->view.slots[len - 1];
}

HONE_INLINE void
hone_mempool_put(struct hone_mempool_cache *cache, void *obj)
{
	size_t len = HONE_DETAIL_LEN(&cache->view);

	if (HONE_DETAIL_RARE(len == cache->view.size)) {
		hone_detail_mempool_put(cache, obj);
		return;
	}
	cache->view.slots[len] = obj;
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(&cache->view, len + 1);
}

/* Gets n objects from the loaded magazine; returns 0 if it has fewer. */
static inline int
hone_detail_mempool_get_loaded(
	struct hone_mempool_cache *cache, void **objs, size_t n)
{
	size_t len = HONE_DETAIL_LEN(&cache->view);

	if (HONE_DETAIL_RARE(len < n))
		return 0;
	HONE_DETAIL_SET_LEN(&cache->view, len - n);
	HONE_DETAIL_IN_ORDER();
	hone_copy_pointers(objs, cache->view.slots + len - n, n);
	return 1;
}

HONE_INLINE int
hone_mempool_get_bulk(struct hone_mempool_cache *cache, void **objs, size_t n)
{
	if (!hone_detail_mempool_get_loaded(cache, objs, n))
		return hone_detail_mempool_get_bulk(cache, objs, n);
	return 0;
}

HONE_INLINE size_t
hone_mempool_get_burst(struct hone_mempool_cache *cache, void **objs, size_t n)
{
	if (!hone_detail_mempool_get_loaded(cache, objs, n))
		return hone_detail_mempool_get_burst(cache, objs, n);
	return n;
}

HONE_INLINE void
hone_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n)
{
	size_t len = HONE_DETAIL_LEN(&cache->view);

	if (HONE_DETAIL_RARE(cache->view.size - len < n)) {
		hone_detail_mempool_put_bulk(cache, objs, n);
		return;
	}
	hone_copy_pointers(cache->view.slots + len, objs, n);
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(&cache->view, len + n);
}

/*
 * Save and load surround each slow path. The slow path takes the cache, not the
 * cursor: if the address of the cursor escaped, the cursor would not stay in
 * registers.
 */
static inline void
hone_detail_cursor_save(const struct hone_mempool_cursor *cursor)
{
	HONE_DETAIL_SET_LEN(&cursor->cache->view, cursor->len);
}

static inline void
hone_detail_cursor_load(struct hone_mempool_cursor *cursor)
{
	cursor->slots = cursor->cache->view.slots;
	cursor->len = HONE_DETAIL_LEN(&cursor->cache->view);
}

HONE_INLINE void
hone_mempool_cursor_begin(
	struct hone_mempool_cursor *cursor, struct hone_mempool_cache *cache)
{
	cursor->cache = cache;
	cursor->size = cache->view.size;
	hone_detail_cursor_load(cursor);
}

HONE_INLINE void
hone_mempool_cursor_end(struct hone_mempool_cursor *cursor)
{
	hone_detail_cursor_save(cursor);
}

HONE_INLINE void *
hone_mempool_cursor_get(struct hone_mempool_cursor *cursor)
{
	void *obj;

	if (HONE_DETAIL_RARE(cursor->len == 0)) {
		hone_detail_cursor_save(cursor);
		obj = hone_detail_mempool_get(cursor->cache);
		hone_detail_cursor_load(cursor);
		return obj;
	}
	return cursor->slots[--cursor->len];
}

HONE_INLINE void
hone_mempool_cursor_put(struct hone_mempool_cursor *cursor, void *obj)
{
	if (HONE_DETAIL_RARE(cursor->len == cursor->size)) {
		hone_detail_cursor_save(cursor);
		hone_detail_mempool_put(cursor->cache, obj);
		hone_detail_cursor_load(cursor);
		return;
	}
	cursor->slots[cursor->len++] = obj;
}

HONE_INLINE int
hone_mempool_cursor_get_bulk(
	struct hone_mempool_cursor *cursor, void **objs, size_t n)
{
	int error;

	if (HONE_DETAIL_RARE(cursor->len < n)) {
		hone_detail_cursor_save(cursor);
		error = hone_detail_mempool_get_bulk(cursor->cache, objs, n);
		hone_detail_cursor_load(cursor);
		return error;
	}
	cursor->len -= n;
	hone_copy_pointers(objs, cursor->slots + cursor->len, n);
	return 0;
}

HONE_INLINE void
hone_mempool_cursor_put_bulk(
	struct hone_mempool_cursor *cursor, void *const *objs, size_t n)
{
	if (HONE_DETAIL_RARE(cursor->size - cursor->len < n)) {
		hone_detail_cursor_save(cursor);
		hone_detail_mempool_put_bulk(cursor->cache, objs, n);
		hone_detail_cursor_load(cursor);
		return;
	}
	hone_copy_pointers(cursor->slots + cursor->len, objs, n);
	cursor->len += n;
}

HONE_END_DECLS
#endif
