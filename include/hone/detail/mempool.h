/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_MEMPOOL_H
#define HONE_DETAIL_MEMPOOL_H
#include <hone/copy.h>
#include <hone/detail/tsan.h>

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

/* Private: the pool of a cache, for ThreadSanitizer. */
HONE_API struct hone_mempool *hone_detail_mempool_pool(
	struct hone_mempool_cache *cache);

/*
 * The cache may pass on its magazine and its objects, at this call or later, by
 * a close at the end of the thread too; and the cache may have got others.
 */
#define HONE_DETAIL_GIVES(cache)                                               \
	HONE_DETAIL_RELEASE(hone_detail_mempool_pool(cache))
#define HONE_DETAIL_TAKES(cache)                                               \
	HONE_DETAIL_ACQUIRE(hone_detail_mempool_pool(cache))

/*
 * Relaxed: only the thread of the cache writes len. Another thread may read len
 * to count the objects of the pool; the count orders nothing.
 */
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

HONE_INLINE void *
hone_mempool_get(struct hone_mempool_cache *cache)
{
	size_t len = HONE_DETAIL_LEN(&cache->view);
	void *obj;

	HONE_DETAIL_GIVES(cache);
	if (HONE_DETAIL_RARE(len == 0)) {
		obj = hone_detail_mempool_get(cache);
		HONE_DETAIL_TAKES(cache);
		return obj;
	}
	HONE_DETAIL_SET_LEN(&cache->view, len - 1);
	obj = cache->view.slots[len - 1];
	HONE_DETAIL_GIVES(cache);
	return obj;
}

HONE_INLINE void
hone_mempool_put(struct hone_mempool_cache *cache, void *obj)
{
	size_t len = HONE_DETAIL_LEN(&cache->view);

	HONE_DETAIL_GIVES(cache);
	if (HONE_DETAIL_RARE(len == cache->view.size)) {
		hone_detail_mempool_put(cache, obj);
		HONE_DETAIL_TAKES(cache);
		return;
	}
	cache->view.slots[len] = obj;
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(&cache->view, len + 1);
	HONE_DETAIL_GIVES(cache);
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
	HONE_DETAIL_GIVES(cache);
	return 1;
}

HONE_INLINE int
hone_mempool_get_bulk(struct hone_mempool_cache *cache, void **objs, size_t n)
{
	int error = 0;

	HONE_DETAIL_GIVES(cache);
	if (!hone_detail_mempool_get_loaded(cache, objs, n)) {
		error = hone_detail_mempool_get_bulk(cache, objs, n);
		HONE_DETAIL_TAKES(cache);
	}
	return error;
}

HONE_INLINE size_t
hone_mempool_get_burst(struct hone_mempool_cache *cache, void **objs, size_t n)
{
	HONE_DETAIL_GIVES(cache);
	if (!hone_detail_mempool_get_loaded(cache, objs, n)) {
		n = hone_detail_mempool_get_burst(cache, objs, n);
		HONE_DETAIL_TAKES(cache);
	}
	return n;
}

HONE_INLINE void
hone_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n)
{
	size_t len = HONE_DETAIL_LEN(&cache->view);

	HONE_DETAIL_GIVES(cache);
	if (HONE_DETAIL_RARE(cache->view.size - len < n)) {
		hone_detail_mempool_put_bulk(cache, objs, n);
		HONE_DETAIL_TAKES(cache);
		return;
	}
	hone_copy_pointers(cache->view.slots + len, objs, n);
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(&cache->view, len + n);
	HONE_DETAIL_GIVES(cache);
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
	HONE_DETAIL_GIVES(cursor->cache);
}

static inline void
hone_detail_cursor_load(struct hone_mempool_cursor *cursor)
{
	HONE_DETAIL_TAKES(cursor->cache);
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

#if HONE_DETAIL_TSAN
/* The calls that are never inline. */
static inline int
hone_detail_tsan_cache_open(
	struct hone_mempool *pool, struct hone_mempool_cache **cache)
{
	int error = hone_mempool_cache_open(pool, cache);

	HONE_DETAIL_ACQUIRE(pool);
	return error;
}

static inline void
hone_detail_tsan_cache_close(struct hone_mempool_cache *cache)
{
	if (cache)
		HONE_DETAIL_GIVES(cache);
	hone_mempool_cache_close(cache);
}

static inline struct hone_mempool_cache *
hone_detail_tsan_thread_cache(struct hone_mempool *pool)
{
	struct hone_mempool_cache *cache = hone_mempool_thread_cache(pool);

	HONE_DETAIL_ACQUIRE(pool);
	return cache;
}

static inline struct hone_mempool_magazine *
hone_detail_tsan_get_magazine(struct hone_mempool_cache *cache)
{
	HONE_DETAIL_TSAN_CALL(struct hone_mempool_magazine *,
		hone_mempool_get_magazine(cache),
		hone_detail_mempool_pool(cache),
		hone_detail_mempool_pool(cache));
}

static inline void
hone_detail_tsan_put_magazine(struct hone_mempool_cache *cache,
	struct hone_mempool_magazine *magazine)
{
	HONE_DETAIL_GIVES(cache);
	hone_mempool_put_magazine(cache, magazine);
	HONE_DETAIL_TAKES(cache);
}

static inline int
hone_detail_tsan_reserve(struct hone_mempool_cache *cache, size_t n)
{
	HONE_DETAIL_TSAN_CALL(int, hone_mempool_reserve(cache, n),
		hone_detail_mempool_pool(cache),
		hone_detail_mempool_pool(cache));
}

#define hone_mempool_cache_open(pool, cache)                                   \
	hone_detail_tsan_cache_open(pool, cache)
#define hone_mempool_cache_close(cache) hone_detail_tsan_cache_close(cache)
#define hone_mempool_thread_cache(pool) hone_detail_tsan_thread_cache(pool)
#define hone_mempool_get_magazine(cache) hone_detail_tsan_get_magazine(cache)
#define hone_mempool_put_magazine(cache, magazine)                             \
	hone_detail_tsan_put_magazine(cache, magazine)
#define hone_mempool_reserve(cache, n) hone_detail_tsan_reserve(cache, n)
#endif

HONE_END_DECLS
#endif
