/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_MEMPOOL_H
#define HONE_DETAIL_MEMPOOL_H
#include <hone/copy.h>

HONE_BEGIN_DECLS

/*
 * What the inline functions see of a handle. Where every call is to be
 * watched (debug flavour, sanitizer, valgrind) len and size stay 0, so that
 * each takes the slow path.
 */
struct hone_mempool_cache {
	/* objects in the loaded magazine */
	size_t len;
	/* how many fit in */
	size_t size;
	/* its slots; the objects are the first len */
	void **slots;
};

/* Private: what the inline functions do not do. */
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
 * Relaxed: only the handle's thread writes len; another may read it to count
 * the objects of the pool, which orders nothing.
 */
#if defined(__GNUC__)
#define HONE_DETAIL_LEN(cache) __atomic_load_n(&(cache)->len, __ATOMIC_RELAXED)
#define HONE_DETAIL_SET_LEN(cache, n)                                          \
	__atomic_store_n(&(cache)->len, n, __ATOMIC_RELAXED)
#define HONE_DETAIL_RARE(x) __builtin_expect(!!(x), 0)
/*
 * For the compiler only: the first len slots hold objects of the pool at every
 * moment, in case another thread forks just then (hone_mempool_after_fork()).
 */
#define HONE_DETAIL_IN_ORDER() __atomic_signal_fence(__ATOMIC_ACQ_REL)
#else
#define HONE_DETAIL_LEN(cache) ((cache)->len)
#define HONE_DETAIL_SET_LEN(cache, n) ((cache)->len = (n))
#define HONE_DETAIL_RARE(x) (x)
#define HONE_DETAIL_IN_ORDER() ((void)0)
#endif

HONE_INLINE void *
hone_mempool_get(struct hone_mempool_cache *cache)
{
	size_t len = HONE_DETAIL_LEN(cache);

	if (HONE_DETAIL_RARE(len == 0))
		return hone_detail_mempool_get(cache);
	HONE_DETAIL_SET_LEN(cache, len - 1);
	return cache->slots[len - 1];
}

HONE_INLINE void
hone_mempool_put(struct hone_mempool_cache *cache, void *obj)
{
	size_t len = HONE_DETAIL_LEN(cache);

	if (HONE_DETAIL_RARE(len == cache->size)) {
		hone_detail_mempool_put(cache, obj);
		return;
	}
	cache->slots[len] = obj;
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(cache, len + 1);
}

HONE_INLINE int
hone_mempool_get_bulk(struct hone_mempool_cache *cache, void **objs, size_t n)
{
	size_t len = HONE_DETAIL_LEN(cache);

	if (HONE_DETAIL_RARE(len < n))
		return hone_detail_mempool_get_bulk(cache, objs, n);
	HONE_DETAIL_SET_LEN(cache, len - n);
	HONE_DETAIL_IN_ORDER();
	hone_copy_pointers(objs, cache->slots + len - n, n);
	return 0;
}

HONE_INLINE size_t
hone_mempool_get_burst(struct hone_mempool_cache *cache, void **objs, size_t n)
{
	size_t len = HONE_DETAIL_LEN(cache);

	if (HONE_DETAIL_RARE(len < n))
		return hone_detail_mempool_get_burst(cache, objs, n);
	HONE_DETAIL_SET_LEN(cache, len - n);
	HONE_DETAIL_IN_ORDER();
	hone_copy_pointers(objs, cache->slots + len - n, n);
	return n;
}

HONE_INLINE void
hone_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n)
{
	size_t len = HONE_DETAIL_LEN(cache);

	if (HONE_DETAIL_RARE(cache->size - len < n)) {
		hone_detail_mempool_put_bulk(cache, objs, n);
		return;
	}
	hone_copy_pointers(cache->slots + len, objs, n);
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(cache, len + n);
}

HONE_INLINE void
hone_mempool_cursor_begin(
	struct hone_mempool_cursor *cursor, struct hone_mempool_cache *cache)
{
	cursor->cache = cache;
	cursor->slots = cache->slots;
	cursor->len = HONE_DETAIL_LEN(cache);
	cursor->size = cache->size;
}

HONE_INLINE void
hone_mempool_cursor_end(struct hone_mempool_cursor *cursor)
{
	HONE_DETAIL_SET_LEN(cursor->cache, cursor->len);
}

/*
 * Around each slow path. That gets the handle, so that the cursor itself has no
 * address taken.
 */
static inline void
hone_detail_cursor_save(const struct hone_mempool_cursor *cursor)
{
	HONE_DETAIL_SET_LEN(cursor->cache, cursor->len);
}

static inline void
hone_detail_cursor_load(struct hone_mempool_cursor *cursor)
{
	cursor->slots = cursor->cache->slots;
	cursor->len = HONE_DETAIL_LEN(cursor->cache);
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
