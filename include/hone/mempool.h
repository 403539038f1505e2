/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_H
#define HONE_MEMPOOL_H
/**
 * A fixed number of objects of one size, taken and given back by many threads.
 *
 * A thread works through a cache handle of its own. The handle has one loaded
 * magazine, an array of pointers to objects; getting and putting move them
 * there and are inline. When it runs empty or full, whole magazines change
 * hands by one word: through two deques of the handle, from which handles
 * that have none steal. So no lock is taken, and a thread that is preempted
 * holds up nobody. Objects come back in LIFO order, the warmest first.
 *
 * What a handle has loaded, at most the cache size of the pool, is all that
 * other handles cannot get. A get of n objects by a caller that nobody
 * disturbs therefore succeeds whenever the pool has n, plus the cache size for
 * each other open handle. For one thread that only gets and another that only
 * puts, any capacity above the cache size times the other handles will do.
 * While others are in the middle of a call, a get may find less than that;
 * a later one finds what they put down.
 *
 * A handle, its cursor and its reserve belong to one thread at a time;
 * functions that take a pool may be called by any thread unless they say
 * otherwise. Pools and handles must not be NULL. Statistics, audit and faults:
 * hone/mempool_check.h; the reasons: docs/design/mempool.md of the sources.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** A pool of objects; only its address is public. */
struct hone_mempool;
/** A thread's handle of a pool; only its address is public. */
struct hone_mempool_cache;

/** Most objects that a magazine, and so the cache of a handle, can hold. */
#define HONE_MEMPOOL_CACHE_MAX 504

/** Bits of hone_mempool_attr.flags. */
enum hone_mempool_flag {
	/** objects in huge pages that were set aside by the administrator */
	HONE_MEMPOOL_HUGETLB = 1,
	/** ask for transparent huge pages; having none is no error */
	HONE_MEMPOOL_HUGE_ADVISE = 2,
	/** no colouring: objects as close as size and alignment allow */
	HONE_MEMPOOL_NO_COLOUR = 4,
	/** check every get and put: see hone/mempool_check.h */
	HONE_MEMPOOL_DEBUG = 8,
	/** keep 32 bits of each pointer, objects being between two multiples
	 * of 4 GiB: faster for bursts of 32 and more of thousands in use,
	 * slower for one; those of one put come back in any order */
	HONE_MEMPOOL_SHORT_SLOTS = 16
};

/** What a pool is to be; hone_mempool_attr_init() sets every member. */
struct hone_mempool_attr {
	/** bytes of an object, at least 1. No default: has to be set */
	size_t object_size;
	/** of each object, a power of two. Default: 64, no line is shared */
	size_t alignment;
	/** how many objects, at least 1. No default: has to be set */
	size_t capacity;
	/** objects that a handle may keep to itself, 1 to
	 * HONE_MEMPOOL_CACHE_MAX. Default: 0, as many as are fast, but so that
	 * max_caches handles together keep half of the capacity at most */
	size_t cache_size;
	/** handles that may be open at a time, 1 to 65535. Default: 32 */
	unsigned max_caches;
	/** HONE_MEMPOOL_* bits. Default: none */
	unsigned flags;
	/** NUMA node of the objects. Default: -1, where first touched */
	int numa_node;
	/** memory for the objects, which remains the caller's. Default: NULL,
	 * the pool gets its own, which is zero */
	void *memory;
	/** bytes of it: see hone_mempool_memory_size() */
	size_t memory_size;
	/** called once for each object by hone_mempool_create(); the pool never
	 * changes an object's content. Default: NULL, nothing is called */
	void (*constructor)(void *object, size_t index, void *arg);
	/** passed to the constructor */
	void *constructor_arg;
	/** called for a broken rule (enum hone_mempool_fault) with the object
	 * at fault. Default: NULL, abort() is called without a word */
	void (*on_fault)(int fault, void *object, void *arg);
	/** passed to on_fault */
	void *on_fault_arg;
	/** shown by debuggers; cut to 31 bytes. Default: NULL, none */
	const char *name;
	/** for later releases; zero */
	void *reserved[4];
};

/**
 * Set attributes to their defaults: alignment 64, cache size chosen by the
 * pool, 32 handles, any NUMA node, and everything else zero.
 *
 * :param attr: set by this call.
 *
 * The caller then sets object_size and capacity at least. Since 0.1.
 */
HONE_API void hone_mempool_attr_init(struct hone_mempool_attr *attr);

/**
 * Tell how much memory the objects of a pool need.
 *
 * :param attr: as for hone_mempool_create().
 * :return: bytes; 0 if hone_mempool_create() would say -EINVAL.
 *
 * Memory given by the caller must be aligned as the objects are, and to 64
 * bytes. Bookkeeping is not part of it: the pool allocates that itself, about
 * 4 KiB for each cache_size objects and 24 KiB for each handle.
 * Since 0.1.
 */
HONE_API size_t hone_mempool_memory_size(const struct hone_mempool_attr *attr);

/**
 * Create a pool with all its objects in it.
 *
 * :param pool: set to the pool; unchanged on failure.
 * :param attr: copied; what it points to is not, except the name.
 * :return: 0; -EINVAL if an attribute is out of range, memory is misaligned,
 *          short slots do not reach all objects, or huge pages are asked for
 *          in memory of the caller; -ENOBUFS if memory_size is too small;
 *          -ENOMEM; or what mbind says of the NUMA node.
 *
 * Since 0.1.
 */
HONE_API int hone_mempool_create(
	struct hone_mempool **pool, const struct hone_mempool_attr *attr);

/**
 * Destroy a pool. First, whatever this returns, the calling thread's own
 * hone_mempool_thread_cache() is closed, and has to be asked for anew.
 *
 * :param pool: no other call on it may run or follow.
 * :return: 0; -EBUSY if a handle is open, or an object or a magazine is out,
 *          be it empty; and then the pool goes on.
 *
 * Since 0.1.
 */
HONE_API int hone_mempool_destroy(struct hone_mempool *pool);

/**
 * Open a cache handle.
 *
 * :param pool:  where from.
 * :param cache: set to the handle, which the pool owns; unchanged on failure.
 * :return: 0; -EAGAIN if max_caches handles are open.
 *
 * Takes a mutex, as closing does. Since 0.1.
 */
HONE_API int hone_mempool_cache_open(
	struct hone_mempool *pool, struct hone_mempool_cache **cache);

/**
 * Close a cache handle; what it holds goes back to the pool, and others can
 * get it.
 *
 * :param cache: not to be used any more; without a cursor. NULL: nothing.
 *
 * Any thread may call it while the owner does not use the handle. Since 0.1.
 */
HONE_API void hone_mempool_cache_close(struct hone_mempool_cache *cache);

/**
 * The calling thread's own handle, opened by its first call and closed when
 * the thread ends.
 *
 * :param pool: where from.
 * :return: the handle; NULL if max_caches handles are open or the process has
 *          no thread-specific key left.
 *
 * Costs a look-up: keep the pointer over a loop. Since 0.1.
 */
HONE_API struct hone_mempool_cache *hone_mempool_thread_cache(
	struct hone_mempool *pool);

/**
 * Take one object.
 *
 * :param cache: of this thread.
 * :return: the object that was put last, its content as it was then; NULL if
 *          there is none.
 *
 * Since 0.1.
 */
HONE_INLINE void *hone_mempool_get(struct hone_mempool_cache *cache);

/**
 * Give one object back, through any handle of its pool.
 *
 * :param cache: of this thread.
 * :param obj:   was taken from the pool of the cache and not given back since;
 *               the debug flavour checks that, the others do not.
 *
 * Cannot fail: a pool has room for all its objects. Since 0.1.
 */
HONE_INLINE void hone_mempool_put(struct hone_mempool_cache *cache, void *obj);

/**
 * Take n objects or none.
 *
 * :param cache: of this thread.
 * :param objs:  set to the n objects; overwritten with anything on failure.
 * :param n:     any number, also more than the cache size; 0 takes none.
 * :return: 0; -ENOBUFS if there are not that many.
 *
 * Short code if n is constant; fast if objs is aligned to 64 bytes.
 * Since 0.1.
 */
HONE_INLINE int hone_mempool_get_bulk(
	struct hone_mempool_cache *cache, void **objs, size_t n);

/**
 * Take up to n objects: as many as there are.
 *
 * :param cache: of this thread.
 * :param objs:  set to what was taken.
 * :param n:     any number, also more than the cache size.
 * :return: how many were taken, 0 to n.
 *
 * Since 0.1.
 */
HONE_INLINE size_t hone_mempool_get_burst(
	struct hone_mempool_cache *cache, void **objs, size_t n);

/**
 * Give n objects back.
 *
 * :param cache: of this thread.
 * :param objs:  each as for hone_mempool_put().
 * :param n:     any number, also more than the cache size; 0 gives none.
 *
 * Cannot fail. Since 0.1.
 */
HONE_INLINE void hone_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n);

/**
 * The hot state of a handle, for a loop of gets and puts. As a local variable
 * whose address goes nowhere else it lives in registers. Its members are
 * private.
 */
struct hone_mempool_cursor {
	struct hone_mempool_cache *cache;
	void *slots, *half_slots;
	size_t len, size, half_len, half_size;
	uintptr_t upper;
};

/**
 * Begin to work through a cursor.
 *
 * :param cursor: set by this call.
 * :param cache:  of this thread; not to be used otherwise until
 *                hone_mempool_cursor_end().
 *
 * Since 0.1.
 */
HONE_INLINE void hone_mempool_cursor_begin(
	struct hone_mempool_cursor *cursor, struct hone_mempool_cache *cache);

/**
 * Take one object, as hone_mempool_get() does.
 *
 * :param cursor: between begin and end.
 * :return: the object; NULL if there is none.
 *
 * Since 0.1.
 */
HONE_INLINE void *hone_mempool_cursor_get(struct hone_mempool_cursor *cursor);

/**
 * Give one object back, as hone_mempool_put() does.
 *
 * :param cursor: between begin and end.
 * :param obj:    as for hone_mempool_put().
 *
 * Since 0.1.
 */
HONE_INLINE void hone_mempool_cursor_put(
	struct hone_mempool_cursor *cursor, void *obj);

/**
 * Take n objects or none, as hone_mempool_get_bulk() does.
 *
 * :param cursor: between begin and end.
 * :param objs:   set to the n objects; overwritten with anything on failure.
 * :param n:      any number, also more than the cache size; 0 takes none.
 * :return: 0; -ENOBUFS if there are not that many.
 *
 * Since 0.1.
 */
HONE_INLINE int hone_mempool_cursor_get_bulk(
	struct hone_mempool_cursor *cursor, void **objs, size_t n);

/**
 * Give n objects back, as hone_mempool_put_bulk() does.
 *
 * :param cursor: between begin and end.
 * :param objs:   each as for hone_mempool_put().
 * :param n:      any number, also more than the cache size; 0 gives none.
 *
 * Cannot fail. Since 0.1.
 */
HONE_INLINE void hone_mempool_cursor_put_bulk(
	struct hone_mempool_cursor *cursor, void *const *objs, size_t n);

/**
 * End the work through a cursor; its handle may be used again.
 *
 * :param cursor: not to be used any more.
 *
 * Since 0.1.
 */
HONE_INLINE void hone_mempool_cursor_end(struct hone_mempool_cursor *cursor);

/** A group of objects, changing hands by its address. */
struct hone_mempool_magazine {
	/** how many objects it has, 0 to the cache size of the pool */
	size_t count;
	/** the pool's own */
	uintptr_t hidden[64 / sizeof(size_t) - 1];
	/** the objects: the first count, then anything. Only as many as the
	 * cache size are there to be written to */
	void *objects[HONE_MEMPOOL_CACHE_MAX];
};

/**
 * Take a magazine with the objects in it; no pointer is copied.
 *
 * :param cache: of this thread.
 * :return: a magazine with at least one object, a full one if there is any;
 *          NULL if there is no object. The caller owns it and its objects,
 *          may take objects out and put others of the pool in, set count, pass
 *          it to another thread, and gives it back by
 *          hone_mempool_put_magazine(), be it empty.
 *
 * Any number of magazines may be out that came full and whose objects are all
 * out still; of others one for each open handle, or puts may find no magazine
 * and fault. Since 0.1.
 */
HONE_API struct hone_mempool_magazine *hone_mempool_get_magazine(
	struct hone_mempool_cache *cache);

/**
 * Give a magazine back, with the objects in it.
 *
 * :param cache:    of this thread; of the magazine's pool.
 * :param magazine: from hone_mempool_get_magazine() through any handle; not to
 *                  be used any more.
 *
 * A full one and an empty one are passed on as they are; the objects of
 * another are copied together with those of the cache. Since 0.1.
 */
HONE_API void hone_mempool_put_magazine(struct hone_mempool_cache *cache,
	struct hone_mempool_magazine *magazine);

/**
 * Set objects aside for a handle, so that its next gets cannot fail.
 *
 * :param cache: of this thread.
 * :param n:     how many there shall be in reserve: those that are there
 *               already count, and those above n go back to the pool.
 * :return: 0; -ENOBUFS if there are not that many, and then the reserve is as
 *          it was.
 *
 * Whatever others do, n objects can be taken through this handle, in any
 * sequence of gets; those beyond what the pool has then come out of the
 * reserve and are not replaced: call again to fill it up. The reserve is apart
 * from the cache size; nobody else can get it. Closing the handle gives it
 * back. hone_mempool_get_magazine() does not draw on it. Since 0.1.
 */
HONE_API int hone_mempool_reserve(struct hone_mempool_cache *cache, size_t n);

/**
 * Make a pool usable in the child after fork().
 *
 * :param pool: of which the child has a copy; called before anything else is
 *              done with it there, by the one thread that the child has.
 * :return: how many objects are out: those that the parent's threads held when
 *          it forked. The child may put those that it knows.
 *
 * Every handle is closed, those of the calling thread as well, and their
 * objects are back in the pool. Other threads may have been in the middle of
 * a call; what they moved is either in the pool or out, never twice in it.
 * What a cursor moved since it began is not known here: end it before fork().
 * Memory of the caller that parent and child share can be used by one of them
 * only. Since 0.1.
 */
HONE_API size_t hone_mempool_after_fork(struct hone_mempool *pool);

HONE_END_DECLS

#include <hone/detail/mempool.h>
#endif
