/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_MEMPOOL_H
#define HONE_DETAIL_MEMPOOL_H
#include <hone/copy.h>

HONE_BEGIN_DECLS

/* A loaded magazine. */
struct hone_detail_mempool_view {
	/* objects in it */
	size_t len;
	/* how many fit in */
	size_t size;
	/* its slots; the objects are the first len */
	void *slots;
};

/*
 * What the inline functions see of a handle. Of the two one is in use, and the
 * len and size of the other stay 0: so the one with pointers, looked at first,
 * loses nothing to the other. Where every call is to be watched (debug flavour,
 * sanitizer, valgrind) that is so of both, and each call takes the slow path.
 */
struct hone_mempool_cache {
	/* slots of void * */
	struct hone_detail_mempool_view whole;
	/* slots of uint32_t: the lower bits of the pointers */
	struct hone_detail_mempool_view half;
	/* the other bits, which all have in common */
	uintptr_t upper;
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
 * Where the chosen variant's copies between pointers and short slots are, as
 * hone_detail_copy_keep is. They may change the order of the objects.
 */
HONE_API extern void (*hone_detail_mempool_widen)(
	void **objs, const uint32_t *slots, size_t n, uintptr_t upper);
HONE_API extern void (*hone_detail_mempool_narrow)(
	uint32_t *slots, void *const *objs, size_t n);

/*
 * Relaxed: only the handle's thread writes len; another may read it to count
 * the objects of the pool, which orders nothing.
 */
#if defined(__GNUC__)
#define HONE_DETAIL_LEN(view) __atomic_load_n(&(view)->len, __ATOMIC_RELAXED)
#define HONE_DETAIL_SET_LEN(view, n)                                           \
	__atomic_store_n(&(view)->len, n, __ATOMIC_RELAXED)
/* Relaxed: any variant does the same. */
#define HONE_DETAIL_CHOSEN(fn) __atomic_load_n(&(fn), __ATOMIC_RELAXED)
#define HONE_DETAIL_FEW(n) (__builtin_constant_p(n) && (n) <= 16)
#define HONE_DETAIL_RARE(x) __builtin_expect(!!(x), 0)
/*
 * For the compiler only: the first len slots hold objects of the pool at every
 * moment, in case another thread forks just then (hone_mempool_after_fork()).
 */
#define HONE_DETAIL_IN_ORDER() __atomic_signal_fence(__ATOMIC_ACQ_REL)
#else
#define HONE_DETAIL_LEN(view) ((view)->len)
#define HONE_DETAIL_SET_LEN(view, n) ((view)->len = (n))
#define HONE_DETAIL_CHOSEN(fn) (fn)
#define HONE_DETAIL_FEW(n) ((n) <= 16)
#define HONE_DETAIL_RARE(x) (x)
#define HONE_DETAIL_IN_ORDER() ((void)0)
#endif

/* Few are left to the compiler: it expands them in less than a call takes. */
static inline void
hone_detail_mempool_read(
	void **objs, const uint32_t *slots, size_t n, uintptr_t upper)
{
	size_t i;

	if (HONE_DETAIL_FEW(n))
		for (i = 0; i < n; i++)
			objs[i] = (void *)(upper | slots[i]);
	else
		(*HONE_DETAIL_CHOSEN(hone_detail_mempool_widen))(
			objs, slots, n, upper);
}

static inline void
hone_detail_mempool_write(uint32_t *slots, void *const *objs, size_t n)
{
	size_t i;

	if (HONE_DETAIL_FEW(n))
		for (i = 0; i < n; i++)
			slots[i] = (uint32_t)(uintptr_t)objs[i];
	else
		(*HONE_DETAIL_CHOSEN(hone_detail_mempool_narrow))(
			slots, objs, n);
}

HONE_INLINE void *
hone_mempool_get(struct hone_mempool_cache *cache)
{
	size_t len = HONE_DETAIL_LEN(&cache->whole);

	if (HONE_DETAIL_RARE(len == 0)) {
		len = HONE_DETAIL_LEN(&cache->half);
		if (len == 0)
			return hone_detail_mempool_get(cache);
		HONE_DETAIL_SET_LEN(&cache->half, len - 1);
		return (void *)(cache->upper |
				((uint32_t *)cache->half.slots)[len - 1]);
	}
	HONE_DETAIL_SET_LEN(&cache->whole, len - 1);
	return ((void **)cache->whole.slots)[len - 1];
}

HONE_INLINE void
hone_mempool_put(struct hone_mempool_cache *cache, void *obj)
{
	size_t len = HONE_DETAIL_LEN(&cache->whole);

	if (HONE_DETAIL_RARE(len == cache->whole.size)) {
		len = HONE_DETAIL_LEN(&cache->half);
		if (len == cache->half.size) {
			hone_detail_mempool_put(cache, obj);
			return;
		}
		((uint32_t *)cache->half.slots)[len] = (uint32_t)(uintptr_t)obj;
		HONE_DETAIL_IN_ORDER();
		HONE_DETAIL_SET_LEN(&cache->half, len + 1);
		return;
	}
	((void **)cache->whole.slots)[len] = obj;
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(&cache->whole, len + 1);
}

/* Whether n objects could be had without the slow path. */
static inline int
hone_detail_mempool_take(
	struct hone_mempool_cache *cache, void **objs, size_t n)
{
	size_t len = HONE_DETAIL_LEN(&cache->whole);

	if (HONE_DETAIL_RARE(len < n)) {
		len = HONE_DETAIL_LEN(&cache->half);
		if (len < n)
			return 0;
		HONE_DETAIL_SET_LEN(&cache->half, len - n);
		HONE_DETAIL_IN_ORDER();
		hone_detail_mempool_read(objs,
			(uint32_t *)cache->half.slots + len - n, n,
			cache->upper);
		return 1;
	}
	HONE_DETAIL_SET_LEN(&cache->whole, len - n);
	HONE_DETAIL_IN_ORDER();
	hone_copy_pointers(objs, (void **)cache->whole.slots + len - n, n);
	return 1;
}

HONE_INLINE int
hone_mempool_get_bulk(struct hone_mempool_cache *cache, void **objs, size_t n)
{
	if (!hone_detail_mempool_take(cache, objs, n))
		return hone_detail_mempool_get_bulk(cache, objs, n);
	return 0;
}

HONE_INLINE size_t
hone_mempool_get_burst(struct hone_mempool_cache *cache, void **objs, size_t n)
{
	if (!hone_detail_mempool_take(cache, objs, n))
		return hone_detail_mempool_get_burst(cache, objs, n);
	return n;
}

HONE_INLINE void
hone_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n)
{
	size_t len = HONE_DETAIL_LEN(&cache->whole);

	if (HONE_DETAIL_RARE(cache->whole.size - len < n)) {
		len = HONE_DETAIL_LEN(&cache->half);
		if (cache->half.size - len < n) {
			hone_detail_mempool_put_bulk(cache, objs, n);
			return;
		}
		hone_detail_mempool_write(
			(uint32_t *)cache->half.slots + len, objs, n);
		HONE_DETAIL_IN_ORDER();
		HONE_DETAIL_SET_LEN(&cache->half, len + n);
		return;
	}
	hone_copy_pointers((void **)cache->whole.slots + len, objs, n);
	HONE_DETAIL_IN_ORDER();
	HONE_DETAIL_SET_LEN(&cache->whole, len + n);
}

/*
 * Around each slow path. That gets the handle, so that the cursor itself has no
 * address taken.
 */
static inline void
hone_detail_cursor_save(const struct hone_mempool_cursor *cursor)
{
	HONE_DETAIL_SET_LEN(&cursor->cache->whole, cursor->len);
	HONE_DETAIL_SET_LEN(&cursor->cache->half, cursor->half_len);
}

static inline void
hone_detail_cursor_load(struct hone_mempool_cursor *cursor)
{
	cursor->slots = cursor->cache->whole.slots;
	cursor->len = HONE_DETAIL_LEN(&cursor->cache->whole);
	cursor->half_slots = cursor->cache->half.slots;
	cursor->half_len = HONE_DETAIL_LEN(&cursor->cache->half);
}

HONE_INLINE void
hone_mempool_cursor_begin(
	struct hone_mempool_cursor *cursor, struct hone_mempool_cache *cache)
{
	cursor->cache = cache;
	cursor->size = cache->whole.size;
	cursor->half_size = cache->half.size;
	cursor->upper = cache->upper;
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
		if (cursor->half_len > 0)
			return (void *)(cursor->upper |
					((uint32_t *)cursor->half_slots)
						[--cursor->half_len]);
		hone_detail_cursor_save(cursor);
		obj = hone_detail_mempool_get(cursor->cache);
		hone_detail_cursor_load(cursor);
		return obj;
	}
	return ((void **)cursor->slots)[--cursor->len];
}

HONE_INLINE void
hone_mempool_cursor_put(struct hone_mempool_cursor *cursor, void *obj)
{
	if (HONE_DETAIL_RARE(cursor->len == cursor->size)) {
		if (cursor->half_len < cursor->half_size) {
			((uint32_t *)cursor->half_slots)[cursor->half_len++] =
				(uint32_t)(uintptr_t)obj;
			return;
		}
		hone_detail_cursor_save(cursor);
		hone_detail_mempool_put(cursor->cache, obj);
		hone_detail_cursor_load(cursor);
		return;
	}
	((void **)cursor->slots)[cursor->len++] = obj;
}

HONE_INLINE int
hone_mempool_cursor_get_bulk(
	struct hone_mempool_cursor *cursor, void **objs, size_t n)
{
	int error;

	if (HONE_DETAIL_RARE(cursor->len < n)) {
		if (cursor->half_len >= n) {
			cursor->half_len -= n;
			hone_detail_mempool_read(objs,
				(uint32_t *)cursor->half_slots +
					cursor->half_len,
				n, cursor->upper);
			return 0;
		}
		hone_detail_cursor_save(cursor);
		error = hone_detail_mempool_get_bulk(cursor->cache, objs, n);
		hone_detail_cursor_load(cursor);
		return error;
	}
	cursor->len -= n;
	hone_copy_pointers(objs, (void **)cursor->slots + cursor->len, n);
	return 0;
}

HONE_INLINE void
hone_mempool_cursor_put_bulk(
	struct hone_mempool_cursor *cursor, void *const *objs, size_t n)
{
	if (HONE_DETAIL_RARE(cursor->size - cursor->len < n)) {
		if (cursor->half_size - cursor->half_len >= n) {
			hone_detail_mempool_write(
				(uint32_t *)cursor->half_slots +
					cursor->half_len,
				objs, n);
			cursor->half_len += n;
			return;
		}
		hone_detail_cursor_save(cursor);
		hone_detail_mempool_put_bulk(cursor->cache, objs, n);
		hone_detail_cursor_load(cursor);
		return;
	}
	hone_copy_pointers((void **)cursor->slots + cursor->len, objs, n);
	cursor->len += n;
}

HONE_END_DECLS
#endif
