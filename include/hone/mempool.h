/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_H
#define HONE_MEMPOOL_H
/**
 * A pool with a fixed number of objects of one size, shared by many threads.
 *
 * Each thread works through its own cache. A cache has one loaded magazine: an
 * array of pointers to objects. Get and put move pointers from and to this
 * array, inline. When the array is empty or full, the cache exchanges the whole
 * magazine, as one word, through its two deques; a cache whose deque is empty
 * steals from those of other caches. So no lock is taken, and a preempted
 * thread delays no other. Objects come back in LIFO order, the warmest first.
 *
 * Other caches can get all objects of a cache except the loaded ones. The
 * number of loaded objects is at most the cache size of the pool. This has
 * consequences:
 *
 * - Without concurrent calls, a get of n objects succeeds if the pool has n
 *   objects plus the cache size for each other open cache.
 * - If one thread only gets and another only puts, any capacity above the cache
 *   size times the number of other caches is enough.
 * - During calls of other threads a get may find fewer objects. A later get
 *   finds the others.
 *
 * A pool with HONE_MEMPOOL_EXACT has none of these limits, and costs more.
 *
 * A cache, its cursor and its reserve belong to one thread at a time. Functions
 * that take a pool may be called by any thread unless their comment says
 * otherwise. Pools and caches must not be NULL. hone/mempool_check.h has
 * statistics and audit; docs/design/mempool.md of the sources has the reasons.
 *
 * Debug builds of the library assert that hone_mempool_cache_close() gets an
 * open cache, and hone_mempool_put_magazine() a magazine of the pool with a
 * valid count. A pool with HONE_MEMPOOL_DEBUG checks objects in every build. In
 * release builds all other broken contracts are undefined.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** A pool of objects; only its address is public. */
struct hone_mempool;
/** A thread's cache of a pool; only its address is public. */
struct hone_mempool_cache;

/** Most objects that a magazine can hold, and so the largest cache size. */
#define HONE_MEMPOOL_CACHE_MAX 512

/** Bits of hone_mempool_attr.flags. */
enum hone_mempool_flag {
	/** place objects in huge pages that the administrator set aside */
	HONE_MEMPOOL_HUGETLB = 1,
	/** request transparent huge pages; a lack of them is no error */
	HONE_MEMPOOL_HUGE_ADVISE = 2,
	/** no colouring: objects as close as size and alignment allow */
	HONE_MEMPOOL_NO_COLOUR = 4,
	/** check each get and put: see hone/mempool_check.h */
	HONE_MEMPOOL_DEBUG = 8,
	/** The objects are any pointers but NULL. The pool starts empty and has
	 * room for the capacity; the user puts what it shall hold, and may
	 * destroy the pool with its pointers. object_size must be 0, and no
	 * constructor, node, or flag for the memory of objects may be set */
	HONE_MEMPOOL_FOREIGN = 16,
	/** A get also finds what other caches have loaded: it fails only if the
	 * pool, without reserves, has too few objects.
	 *
	 * Such a get takes a mutex if it finds too few objects elsewhere, and
	 * waits for calls of other threads that are under way. So threads that
	 * get from an empty pool again and again delay each other. If a thread
	 * died or was stopped in its call, one get waits for 1 to 2 s, and
	 * later gets do not wait for that call. What the cache of that thread
	 * has loaded is found only after the call ends.
	 *
	 * A get that takes what another cache has loaded interrupts the CPUs
	 * that run such threads, by membarrier(), for about 1 us. The next call
	 * on that cache waits for the get. If the kernel refuses membarrier()
	 * later, or to some of the processes, nothing is taken from other
	 * caches.
	 *
	 * Each get and put is a call of the library, with one more atomic
	 * instruction if the kernel has no membarrier() */
	HONE_MEMPOOL_EXACT = 32,
	/** The whole pool is in memory of the caller, and processes that map
	 * this memory at the same address may use the pool at the same time,
	 * each through caches of its own. They find the pool at its address.
	 * Not with hone_mempool_thread_cache() and hone_mempool_after_fork().
	 * on_fault must have the same address in all of them. If a process
	 * dies, its caches stay open. What it has got is out for ever, and so
	 * are up to two magazines of each call that was under way */
	HONE_MEMPOOL_SHARED = 64
};

/** Attributes of a pool; hone_mempool_attr_init() sets every member. Without
 * this call, an alignment or a max_caches of 0 stands for the default. If one
 * of them is 0, a numa_node of 0 stands for the default, too:
 * {.object_size = 64, .capacity = 1000} is enough. */
struct hone_mempool_attr {
	/** bytes of an object, at least 1. No default: must be set, but for
	 * HONE_MEMPOOL_FOREIGN */
	size_t object_size;
	/** a power of two up to 2^30. Default: 64, no shared lines */
	size_t alignment;
	/** number of objects, at least 1. No default: must be set */
	size_t capacity;
	/** objects that a cache may keep to itself, 1 to
	 * HONE_MEMPOOL_CACHE_MAX. Default: 0, the pool chooses: the largest
	 * fast size with which max_caches caches together keep at most half of
	 * the capacity. With HONE_MEMPOOL_EXACT at most 16 caches count. The
	 * size is at least 8, or half of the capacity if that is less, so that
	 * one thread is fast.
	 *
	 * Small pools need care: with 32 caches, the caches may keep more than
	 * half of a pool of fewer than 512 objects. 31 other caches may keep
	 * 248 objects, all of a pool of 248. If so many threads share a small
	 * pool, set max_caches and this size, or use HONE_MEMPOOL_EXACT */
	size_t cache_size;
	/** caches that may be open at the same time, 1 to 65535. Default: 32 */
	unsigned max_caches;
	/** HONE_MEMPOOL_* bits. Default: none */
	unsigned flags;
	/** NUMA node of the objects. Default: -1, by first touch */
	int numa_node;
	/** memory for the objects, or with HONE_MEMPOOL_SHARED for the whole
	 * pool; the caller remains its owner. Default: NULL, the pool
	 * allocates memory, which is zero */
	void *memory;
	/** bytes of memory: see hone_mempool_memory_size() */
	size_t memory_size;
	/** hone_mempool_create() calls this once for each object; the pool
	 * never changes the content of an object. Default: NULL, no call */
	void (*constructor)(void *object, size_t index, void *arg);
	/** passed to the constructor */
	void *constructor_arg;
	/** called with an enum hone_mempool_fault and the object when a caller
	 * breaks a rule. Default: NULL, abort() without a message */
	void (*on_fault)(int fault, void *object, void *arg);
	/** passed to on_fault */
	void *on_fault_arg;
	/** for debuggers; cut to 31 bytes. Default: NULL, none */
	const char *name;
	/** for later releases; zero */
	void *reserved[4];
};

/**
 * Set attributes to their defaults: alignment 64, cache size chosen by the
 * pool, 32 caches, any NUMA node, and every other member zero.
 *
 * :param attr: set by this call.
 *
 * The caller then sets at least object_size and capacity.
 */
HONE_API void hone_mempool_attr_init(struct hone_mempool_attr *attr);

/**
 * Compute how much memory the objects of a pool need.
 *
 * :param attr: as for hone_mempool_create().
 * :return: bytes, a multiple of the alignment, as aligned_alloc() requires;
 *          0 if hone_mempool_create() would return -EINVAL.
 *
 * Memory of the caller must be aligned as the objects, and to at least 64
 * bytes; with HONE_MEMPOOL_SHARED, to at least 4096.
 *
 * Without HONE_MEMPOOL_SHARED the pool allocates its bookkeeping itself, and
 * touches little of it. Objects that are foreign then need 0 bytes. With this
 * flag the result includes the bookkeeping, and hone_mempool_create() writes to
 * all of it:
 *
 * - a magazine of at most 4,160 bytes for each cache_size objects, or with
 *   HONE_MEMPOOL_EXACT for each three quarters of cache_size;
 * - for each cache four magazines, 4 KiB, and 16 to 32 bytes for each magazine
 *   of the pool. With more than 64 caches, at most 1,024 magazines count for
 *   each cache, or 64 times its equal share if that is more.
 */
HONE_API size_t hone_mempool_memory_size(const struct hone_mempool_attr *attr);

/**
 * Name an attribute that hone_mempool_create() would refuse by -EINVAL.
 *
 * :param attr: as for hone_mempool_create().
 * :return: the name of a member of struct hone_mempool_attr, a constant string;
 *          NULL if no attribute is refused.
 *
 * If two members do not go together, the name is that of one of them. If the
 * objects exceed the address space, the name is object_size or capacity.
 */
HONE_API const char *hone_mempool_check_attr(
	const struct hone_mempool_attr *attr);

/**
 * Create a pool that holds all its objects, or none if they are foreign.
 *
 * :param pool: set to the pool; unchanged on failure.
 * :param attr: copied; of what it points to, only the name is copied.
 * :return: 0;
 *          -EINVAL if an attribute is out of range, memory is misaligned,
 *          huge pages are requested in memory of the caller, or flags do not
 *          go with other attributes: see hone_mempool_check_attr();
 *          -ENOBUFS if memory_size is too small;
 *          -ENOTSUP with HONE_MEMPOOL_SHARED if the kernel, or an emulator of
 *          it, has no robust mutexes;
 *          -ENOMEM, or the error of mbind for the NUMA node.
 */
HONE_API HONE_DETAIL_RESULT int hone_mempool_create(
	struct hone_mempool **pool, const struct hone_mempool_attr *attr);

/**
 * Destroy a pool. The call also closes the calling thread's own cache, even if
 * it returns -EBUSY; hone_mempool_thread_cache() opens that cache again.
 *
 * :param pool: no other call on this pool may run or follow.
 * :return: 0 on success;
 *          -EBUSY if a cache is open, or if an object or a magazine, even an
 *          empty one, is out. The pool remains usable.
 *
 * Foreign objects may be in the pool or out; their memory is the caller's.
 * Memory of the caller can be used for something else afterwards.
 */
HONE_API int hone_mempool_destroy(struct hone_mempool *pool);

/**
 * Open a cache.
 *
 * :param pool:  the pool of the objects.
 * :param cache: set to the cache, which the pool owns; unchanged on failure.
 * :return: 0; -EAGAIN if max_caches caches are open.
 *
 * Takes a mutex, as hone_mempool_cache_close() does.
 */
HONE_API HONE_DETAIL_RESULT int hone_mempool_cache_open(
	struct hone_mempool *pool, struct hone_mempool_cache **cache);

/**
 * Close a cache. Its objects go back to the pool, for every other cache.
 *
 * :param cache: without a cursor; invalid after this call. NULL: no effect.
 *
 * Any thread may call it while the owner does not use the cache.
 */
HONE_API void hone_mempool_cache_close(struct hone_mempool_cache *cache);

/**
 * Get the cache of the calling thread. The first call of a thread opens the
 * cache, the end of the thread closes it.
 *
 * :param pool: the pool of the objects.
 * :return: the cache;
 *          NULL if max_caches caches are open, if there is no memory, if there
 *          is no pthread key, which all pools share, or if the pool has
 *          HONE_MEMPOOL_SHARED.
 *
 * Each call costs a look-up: keep the pointer during a loop. Code of the
 * library closes the cache, so the shared library stays in memory after
 * dlclose(). Link a plugin that contains the static library or hone.c with -z
 * nodelete, or destroy the pools before it is unloaded.
 */
HONE_API HONE_DETAIL_RESULT struct hone_mempool_cache *
hone_mempool_thread_cache(struct hone_mempool *pool);

/**
 * Get one object.
 *
 * :param cache: of this thread.
 * :return: the object that was put last, with the content it had then;
 *          NULL if there is none.
 */
HONE_INLINE HONE_DETAIL_RESULT void *hone_mempool_get(
	struct hone_mempool_cache *cache);

/**
 * Put one object back, through any cache of its pool.
 *
 * :param cache: of this thread.
 * :param obj:   an object from the pool of the cache that was not put since.
 *               Only a pool with HONE_MEMPOOL_DEBUG checks this. If objects are
 *               foreign: any pointer but NULL that is not in the pool, while
 *               the pool has fewer than its capacity.
 *
 * Cannot fail: a pool has room for all its objects.
 */
HONE_INLINE void hone_mempool_put(struct hone_mempool_cache *cache, void *obj);

/**
 * Get n objects or none.
 *
 * :param cache: of this thread.
 * :param objs:  set to the n objects; on failure the content is unspecified.
 * :param n:     any number, also above the cache size; 0 gets none.
 * :return: 0; -ENOBUFS if there are fewer than n objects.
 *
 * Short code if n is constant; fast if objs is aligned to 64 bytes.
 */
HONE_INLINE HONE_DETAIL_RESULT int hone_mempool_get_bulk(
	struct hone_mempool_cache *cache, void **objs, size_t n);

/**
 * Get up to n objects: as many as there are.
 *
 * :param cache: of this thread.
 * :param objs:  set to the objects.
 * :param n:     any number, also above the cache size.
 * :return: the number of objects, 0 to n.
 */
HONE_INLINE HONE_DETAIL_RESULT size_t hone_mempool_get_burst(
	struct hone_mempool_cache *cache, void **objs, size_t n);

/**
 * Put n objects back.
 *
 * :param cache: of this thread.
 * :param objs:  each as for hone_mempool_put().
 * :param n:     any number, also above the cache size; 0 puts none.
 *
 * Cannot fail.
 */
HONE_INLINE void hone_mempool_put_bulk(
	struct hone_mempool_cache *cache, void *const *objs, size_t n);

/**
 * The hot state of a cache, for a loop of gets and puts; its members are
 * private. A local variable whose address goes nowhere else stays in registers.
 *
 * Experimental: 0.1 does not promise cursors.
 */
struct hone_mempool_cursor {
	struct hone_mempool_cache *cache;
	void **slots;
	size_t len, size;
};

/**
 * Begin to work through a cursor.
 *
 * :param cursor: set by this call.
 * :param cache:  of this thread; used only through the cursor until
 *                hone_mempool_cursor_end().
 */
HONE_INLINE void hone_mempool_cursor_begin(
	struct hone_mempool_cursor *cursor, struct hone_mempool_cache *cache);

/**
 * Get one object, as hone_mempool_get() does.
 *
 * :param cursor: between begin and end.
 * :return: the object; NULL if there is none.
 */
HONE_INLINE HONE_DETAIL_RESULT void *hone_mempool_cursor_get(
	struct hone_mempool_cursor *cursor);

/**
 * Put one object back, as hone_mempool_put() does.
 *
 * :param cursor: between begin and end.
 * :param obj:    as for hone_mempool_put().
 */
HONE_INLINE void hone_mempool_cursor_put(
	struct hone_mempool_cursor *cursor, void *obj);

/**
 * Get n objects or none, as hone_mempool_get_bulk() does.
 *
 * :param cursor: between begin and end.
 * :param objs:   set to the n objects; on failure the content is unspecified.
 * :param n:      any number, also above the cache size; 0 gets none.
 * :return: 0; -ENOBUFS if there are fewer than n objects.
 */
HONE_INLINE HONE_DETAIL_RESULT int hone_mempool_cursor_get_bulk(
	struct hone_mempool_cursor *cursor, void **objs, size_t n);

/**
 * Put n objects back, as hone_mempool_put_bulk() does.
 *
 * :param cursor: between begin and end.
 * :param objs:   each as for hone_mempool_put().
 * :param n:      any number, also above the cache size; 0 puts none.
 *
 * Cannot fail.
 */
HONE_INLINE void hone_mempool_cursor_put_bulk(
	struct hone_mempool_cursor *cursor, void *const *objs, size_t n);

/**
 * End the work through a cursor. The cache may be used directly again.
 *
 * :param cursor: invalid after this call.
 */
HONE_INLINE void hone_mempool_cursor_end(struct hone_mempool_cursor *cursor);

/**
 * A group of objects that changes its owner by its address.
 *
 * Experimental: 0.1 does not promise magazines of the user.
 */
struct hone_mempool_magazine {
	/** number of objects, 0 to the cache size of the pool */
	size_t count;
	/** private to the pool */
	uintptr_t hidden[64 / sizeof(size_t) - 1];
	/** the first count are valid; the first cache size may be written */
	void *objects[HONE_MEMPOOL_CACHE_MAX];
};

/**
 * Get a magazine with its objects, without copying a pointer.
 *
 * :param cache: of this thread.
 * :return: a magazine with at least one object, a full one if there is one;
 *          NULL if there is no object.
 *
 * The caller owns the magazine and its objects: the caller may take objects
 * out, put others of the pool in, set count, and pass the magazine to another
 * thread. hone_mempool_put_magazine() gives the magazine back, even empty.
 *
 * Any number of magazines may be out that were full when a caller got them and
 * whose objects are all still out. Of other magazines, the whole pool may have
 * one out for each open cache: with more, a put may find no magazine and fault.
 * With HONE_MEMPOOL_EXACT, a magazine counts as full from three quarters of the
 * cache size on, or from the cache size less 64 if that is more.
 */
HONE_API HONE_DETAIL_RESULT struct hone_mempool_magazine *
hone_mempool_get_magazine(struct hone_mempool_cache *cache);

/**
 * Put a magazine back, with its objects.
 *
 * :param cache:    of this thread; of the pool of the magazine.
 * :param magazine: from hone_mempool_get_magazine() through any cache; invalid
 *                  after this call.
 *
 * A full or an empty magazine is passed on without a copy. The pointers of any
 * other magazine, and those that make it more than full, are copied together
 * with those of the cache.
 */
HONE_API void hone_mempool_put_magazine(struct hone_mempool_cache *cache,
	struct hone_mempool_magazine *magazine);

/**
 * Reserve objects for a cache, so that its next gets cannot fail.
 *
 * :param cache: of this thread.
 * :param n:     size of the reserve. Objects already in reserve count; those
 *               above n go back to the pool.
 * :return: 0 on success;
 *          -ENOBUFS if there are too few objects; the reserve is unchanged.
 *
 * The next gets of n objects through this cache succeed, in any sequence,
 * whatever other threads do. Objects that the pool lacks come from the reserve
 * and are not replaced: call this function again to fill the reserve. The
 * reserve does not count for the cache size, and no other cache can get it.
 * Closing the cache gives the reserve back. hone_mempool_get_magazine() does
 * not use it.
 */
HONE_API HONE_DETAIL_RESULT int hone_mempool_reserve(
	struct hone_mempool_cache *cache, size_t n);

/**
 * Make a pool usable in the child after fork().
 *
 * :param pool: the child's copy of a pool. The only thread of the child calls
 *              this function before any other on the pool.
 * :return: the number of objects that are out: those that the threads of the
 *          parent held at the fork. The child may put those that it has.
 *
 * Every cache is closed, those of the calling thread too, and their objects are
 * back in the pool. If another thread was in the middle of a call, each object
 * of that call is in the pool once, or out. End cursors before fork(): the
 * child does not know what moved through a cursor since it began. Only one of
 * parent and child can use shared memory of the caller.
 */
HONE_API size_t hone_mempool_after_fork(struct hone_mempool *pool);

HONE_END_DECLS

#include <hone/detail/mempool.h>
#endif
