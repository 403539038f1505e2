/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_MEMPOOL_H
#define HONE_SRC_MEMPOOL_H
/*
 * The data of a pool. docs/design/mempool-order.md says which thread writes
 * which member, and why the memory orders are sufficient.
 *
 * The fast path of a get and of a put is in include/hone/detail/mempool.h. If
 * the loaded magazine is not enough, the call goes on here:
 *
 *   get_put.c   another magazine: of the reserve, the pool, another cache
 *   magazine.c  magazines for the user, and the reserve of a cache
 *   deque.h     full and empty magazines of a cache; others steal from it
 *   spill.c     magazines for which deques have no room
 *   exact.c     gets that find the last object of a pool
 *   pool.c      create and destroy; layout.c: the memory of a pool
 *   cache.c     open and close caches; own.c: that of the calling thread
 *   check.c     count and find objects; watch.c: find wrong uses; foreign.c:
 *               the marks of foreign objects
 */
#include <errno.h>
#include <hone/mempool.h>
#include <hone/mempool_check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "deque.h"

/* Hardware prefetchers stop at a page: data of two threads share none, but
 * small magazines and the largest ones do. */
#define HONE_MEMPOOL_PAGE 4096
#define HONE_MEMPOOL_LINE 64

/* Whether the library is built with AddressSanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define HONE_MEMPOOL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HONE_MEMPOOL_ASAN 1
#endif
#endif
#ifndef HONE_MEMPOOL_ASAN
#define HONE_MEMPOOL_ASAN 0
#endif

/* The two deques of a cache. */
enum hone_mempool_side { HONE_MEMPOOL_FULL, HONE_MEMPOOL_EMPTY };

/*
 * A cache. Its deques remain in use while the cache is closed: other caches
 * steal from them, and the next owner continues with them.
 */
struct hone_cache {
	/* The part for inline functions. First member: the same address. */
	struct hone_mempool_cache visible;
	/* Replaces the view of `visible` in a slow pool: then no call completes
	 * inline. */
	struct hone_detail_mempool_view hidden;
	/* The view in use: &hidden or &visible.view. */
	struct hone_detail_mempool_view *view;
	struct hone_mempool *pool;
	/*
	 * In an exact pool: odd during a call of the owner, who writes it, and
	 * even between calls. See exact.h.
	 */
	_Atomic size_t calls;
	/* The value of calls for which a search no longer waits; 0 if there is
	 * none. Written under the mutex of the pool. */
	_Atomic size_t given_up;
	/* A search is about to exchange the loaded magazine. */
	_Atomic bool claimed;
	/* The number of calls that put objects. The owner writes it. */
	_Atomic size_t puts;
	size_t number;
	/* The cache from which the last steal of each side succeeded. */
	size_t victim[2];
	/* A list: its head has at least one object, the others are full. */
	struct hone_mempool_magazine *reserve;
	/*
	 * The owner writes these counters: see hone_mempool_add(). Any thread
	 * reads them for statistics, relaxed.
	 */
	_Atomic size_t n_reserved;
	_Atomic size_t refills;
	_Atomic size_t flushes;
	_Atomic size_t steals;
	_Atomic size_t failures;
	/* pthread_self() of the thread whose hone_mempool_thread_cache() this
	 * is; 0 if it is nobody's. Relaxed: see is_own() in own.c. */
	_Atomic uintptr_t thread;
	/* Protected by the mutex of the pool. */
	bool open;
	struct hone_deque deque[2];
};

struct hone_mempool {
	/* These members do not change after hone_mempool_create(). */
	char *objects;
	size_t capacity;
	size_t object_size;
	size_t stride;
	/* most objects that a cache loads */
	size_t cache_size;
	/* objects of a full magazine; fewer than cache_size if the pool is
	 * exact, see choose_full() in layout.c */
	size_t full;
	char *magazines;
	size_t magazine_stride;
	size_t n_magazines;
	char *caches;
	size_t max_caches;
	bool debug;
	bool foreign;
	bool exact;
	bool shared;
	/* Every call checks or informs a tool. */
	bool watched;
	/* Every call takes the slow path: the pool is watched or exact. */
	bool slow;
	/* An exact pool: a search makes the barriers of the owners' calls. */
	bool barriers;
	/* It is also not watched: most calls are short. */
	bool quick;
	/* Tools that are informed. Each process has its own, so those of a
	 * shared pool are not. */
	bool asan;
	bool valgrind;
	void (*on_fault)(int fault, void *object, void *arg);
	void *on_fault_arg;
	char name[32];
	/* One bit for each object, for the audit and after a fork. */
	unsigned char *marks;
	size_t marks_size;
	/* Instead of marks, if objects are foreign: a hash table of pointers,
	 * in foreign.c. With HONE_MEMPOOL_DEBUG it has those in the pool. */
	void **table;
	size_t n_places;
	size_t n_marked;
	/* With HONE_MEMPOOL_DEBUG: whether each object is in the pool or out,
	 * and the checksum of each object in the pool. */
	_Atomic unsigned char *states;
	uint64_t *sums;
	/* For munmap(), unless they are in memory of the caller: bytes from
	 * this struct on, and the objects. */
	size_t size;
	void *mapping;
	size_t mapping_size;

	/* Taken to open, to close and for the audit, and in an exact pool by a
	 * get that finds too few objects; never else for get and put. */
	pthread_mutex_t mutex;
	/* Names the pool in own.c; 0 until a thread has a cache of its own. */
	_Atomic size_t id;
	/* Threads that are closing their own caches at their end. Protected by
	 * the mutex of own.c. */
	size_t n_ending;
	/*
	 * Caches with this number and above were never open: they have nothing
	 * to steal. Release under the mutex; acquire in steal().
	 */
	_Atomic size_t n_used;
	/*
	 * The only magazine that is neither full nor empty and belongs to no
	 * cache; NULL if there is none. Stored with release under the mutex;
	 * taken by an exchange with acquire.
	 */
	_Alignas(HONE_DEQUE_APART) _Atomic(struct hone_mempool_magazine *)
		partial;
	/* Number of objects in it. Relaxed: for statistics. */
	_Atomic size_t n_partial;
	/* Magazines for which a deque had no room, by side: spill.c. */
	_Atomic uint64_t spilled[2];
};

_Static_assert(sizeof(struct hone_cache) <= HONE_MEMPOOL_PAGE &&
		       sizeof(struct hone_mempool) <= HONE_MEMPOOL_PAGE,
	"each has a page of its own");

static inline struct hone_cache *
hone_mempool_cache_at(struct hone_mempool *pool, size_t number)
{
	return (struct hone_cache *)(pool->caches + number * HONE_MEMPOOL_PAGE);
}

static inline struct hone_mempool_magazine *
hone_mempool_magazine(struct hone_mempool *pool, size_t number)
{
	return (struct hone_mempool_magazine *)(pool->magazines +
						number * pool->magazine_stride);
}

/* The magazine that an open cache has loaded. A new one is loaded by one store,
 * since a process may die at any moment. */
static inline struct hone_mempool_magazine *
hone_mempool_loaded(const struct hone_cache *c)
{
	return (struct hone_mempool_magazine
			*)((char *)c->view->slots -
			   offsetof(struct hone_mempool_magazine, objects));
}

static inline void *
hone_mempool_object(struct hone_mempool *pool, size_t index)
{
	return pool->objects + index * pool->stride;
}

/* Returns the index of an object; capacity if it is no object of the pool. */
size_t hone_mempool_index(struct hone_mempool *pool, const void *object);

/* The mutex may be that of a process which died: then the pool is usable, and
 * what that process had taken from it in its call is lost. */
static inline void
hone_mempool_lock(struct hone_mempool *pool)
{
	if (pthread_mutex_lock(&pool->mutex) == EOWNERDEAD)
		(void)pthread_mutex_consistent(&pool->mutex);
}

static inline void
hone_mempool_unlock(struct hone_mempool *pool)
{
	(void)pthread_mutex_unlock(&pool->mutex);
}

/* Calls on_fault, or abort() if it is NULL. */
void hone_mempool_fault(struct hone_mempool *pool, int fault, void *object);

/* As hone_mempool_get_stats(), but an object may be counted at several places:
 * after a double put, or while threads move it. */
void hone_mempool_count(
	struct hone_mempool *pool, struct hone_mempool_stats *stats);

/* The next magazine in the list of a reserve. */
static inline struct hone_mempool_magazine *
hone_mempool_next(struct hone_mempool_magazine *m)
{
	return (struct hone_mempool_magazine *)m->hidden[0];
}

/* Adds to a counter of a cache of the calling thread. Release: pairs with the
 * acquire in changes() of exact.c. */
static inline void
hone_mempool_add(_Atomic size_t *counter, size_t n)
{
	atomic_store_explicit(counter,
		atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_release);
}

/*
 * Sets the length of the view of a cache. Release: a search that reads it sees
 * that the call is under way; and what hone_mempool_after_fork() needs.
 */
static inline void
hone_mempool_set_len(struct hone_detail_mempool_view *v, size_t n)
{
	__atomic_store_n(&v->len, n, __ATOMIC_RELEASE);
}

/*
 * get_put.c: get up to n objects; returns how many. Put n objects. Both leave
 * out the checks of a watched pool and the reserve.
 */
size_t hone_mempool_take(struct hone_cache *c, void **objs, size_t n);
void hone_mempool_give(struct hone_cache *c, void *const *objs, size_t n);
/* Returns a magazine with objects; NULL if there is none that caches share. */
struct hone_mempool_magazine *hone_mempool_take_full(struct hone_cache *c);
/* Returns an empty magazine; there is always one. */
struct hone_mempool_magazine *hone_mempool_take_empty(struct hone_cache *c);
/* Makes m the loaded magazine of a cache, whose old one is empty. Passes the
 * old one on. */
void hone_mempool_replace(
	struct hone_cache *c, struct hone_mempool_magazine *m);
/* Makes m the loaded magazine of a cache. */
void hone_mempool_load(struct hone_cache *c, struct hone_mempool_magazine *m);
/* Passes on a full magazine of what a cache has loaded, which are more objects.
 */
void hone_mempool_flush(struct hone_cache *c);
/*
 * Passes on a magazine, full or empty, that is neither loaded nor in a reserve.
 */
void hone_mempool_push(struct hone_cache *c, struct hone_mempool_magazine *m);
/* Moves objects from b to a until a is full or b is empty. */
void hone_mempool_pour(const struct hone_mempool *pool,
	struct hone_mempool_magazine *a, struct hone_mempool_magazine *b);

/* magazine.c: get up to n objects from the reserve; returns how many. */
size_t hone_mempool_draw(struct hone_cache *c, void **objs, size_t n);
/* Gives the whole reserve back to the pool. */
void hone_mempool_dissolve(struct hone_cache *c);

/* pool.c: puts every object that is marked into an empty pool. */
void hone_mempool_fill(struct hone_mempool *pool);
/* Makes a cache closed and empty. */
void hone_mempool_reset(struct hone_cache *c, size_t deque_slots);

/* cache.c: sets the partial magazine of the pool; the mutex is held. */
void hone_mempool_set_partial(
	struct hone_mempool *pool, struct hone_mempool_magazine *m);

/* own.c: closes the calling thread's own cache, if there is one. */
void hone_mempool_close_own(struct hone_mempool *pool);
/* Makes a pool unknown to the ends of threads. Returns false if the end of a
 * thread is just closing a cache. */
bool hone_mempool_unlist(struct hone_mempool *pool);

/* layout.c: sizes and offsets, in bytes. */
struct hone_mempool_layout {
	size_t alignment;
	size_t stride;
	/* before the first object */
	size_t front;
	size_t objects_size;
	size_t cache_size;
	size_t full;
	size_t magazine_stride;
	size_t n_magazines;
	/* number of slots of one deque, a power of two: room for all
	 * magazines, unless there are many caches */
	size_t deque_slots;
	/* bytes of the marks, and places of the table if objects are foreign */
	size_t marks_size, n_places;
	/* offsets from struct hone_mempool, and the size of everything */
	size_t slots, marks, states, sums, magazines, size;
	/* offset of the objects in memory of the caller, and bytes of it */
	size_t objects, memory_size;
};
/* Returns NULL, or the name of an attribute that is out of range. */
const char *hone_mempool_layout(struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr);
/* Sets objects, mapping and mapping_size; returns 0 or a negative errno. */
int hone_mempool_allocate(struct hone_mempool *pool,
	const struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr);

/* check.c: marks the objects in the pool; the mutex is held. */
void hone_mempool_mark_objects(struct hone_mempool *pool,
	struct hone_mempool_findings *findings,
	void (*fn)(int fault, void *object, void *arg), void *arg);
/* Marks an object. Returns 0, HONE_MEMPOOL_FAULT_DOUBLED if it was marked, or
 * HONE_MEMPOOL_FAULT_FOREIGN if it cannot be an object of the pool. */
int hone_mempool_mark(struct hone_mempool *pool, void *object);
static inline bool
hone_mempool_marked(const struct hone_mempool *pool, size_t index)
{
	return pool->marks[index / 8] >> index % 8 & 1;
}

/* foreign.c: as hone_mempool_mark(), in a pool of foreign objects. */
int hone_mempool_mark_foreign(struct hone_mempool *pool, void *object);
/* Removes the mark of a foreign object, if it has one. */
void hone_mempool_unmark_foreign(struct hone_mempool *pool, void *object);

/* watch.c: the checks of a watched pool. */
#define HONE_MEMPOOL_GAP 16 /* least bytes between objects of a debug pool */
void hone_mempool_watch_begin(struct hone_mempool *pool);
void hone_mempool_watch_end(struct hone_mempool *pool);
void hone_mempool_watch_get(struct hone_mempool *pool, void *object);
/* Returns false if the object must not go into the pool. */
bool hone_mempool_watch_put(struct hone_mempool *pool, void *object);
/* Returns the HONE_MEMPOOL_FAULT_* of an object in a debug pool; 0 if none. */
int hone_mempool_watch_check(struct hone_mempool *pool, size_t index);
/* After a fork: marked objects are in the pool, the others are out. */
void hone_mempool_watch_fork(struct hone_mempool *pool);

/*
 * Magazines for which the deque of a cache has no room: two stacks of the pool,
 * after Treiber. Any thread pushes and pops, and none waits.
 *
 * The word of a stack has the number of its top magazine plus 1, or 0, and a
 * tag that each change raises. A thread that pops may read the link of a
 * magazine which another thread has popped, and perhaps pushed again. The tag
 * has changed then, so the compare-and-swap fails, unless 2^32 changes came
 * between.
 */

/* Passes on a magazine to which no other thread has access. */
void hone_mempool_spill(struct hone_mempool *pool, enum hone_mempool_side side,
	struct hone_mempool_magazine *m);
/* Returns NULL if there is none; word: what the stack had when it was loaded by
 * acquire. */
struct hone_mempool_magazine *hone_mempool_pop_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side, uint64_t word);
/* The first magazine of a stack, and the next one, or NULL. */
struct hone_mempool_magazine *hone_mempool_first_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side);
struct hone_mempool_magazine *hone_mempool_next_spilled(
	struct hone_mempool *pool, struct hone_mempool_magazine *m);
/* Their number. While other threads change the stack it is any number, but not
 * above that of all magazines. */
size_t hone_mempool_n_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side);

/* Returns NULL if there is none. */
static inline struct hone_mempool_magazine *
hone_mempool_take_spilled(
	struct hone_mempool *pool, enum hone_mempool_side side)
{
	/* Acquire: pairs with the releases in spill.c. */
	_Atomic uint64_t *stack = &pool->spilled[side];
	uint64_t word = atomic_load_explicit(stack, memory_order_acquire);

	if (!HONE_DETAIL_RARE((uint32_t)word != 0))
		return NULL;
	return hone_mempool_pop_spilled(pool, side, word);
}

#endif
