/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_MEMPOOL_H
#define HONE_SRC_MEMPOOL_H
/*
 * What a pool is made of. docs/design/mempool-order.md tells who writes what,
 * and why it is enough.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/mempool.h>
#include <hone/mempool_check.h>
#include "mempool/deque.h"
#include "mempool/slots.h"

/* Where hardware prefetchers stop: threads are kept apart by it. */
#define HONE_MEMPOOL_PAGE 4096
#define HONE_MEMPOOL_LINE 64

/* The two deques of a handle. */
enum hone_mempool_side { HONE_MEMPOOL_FULL, HONE_MEMPOOL_EMPTY };

/*
 * A cache handle. Its deques live on while it is closed: what is in them can
 * be stolen, and the next owner goes on with them.
 */
struct hone_mempool_handle {
	/* What callers see; the first member, so that it is this handle. */
	struct hone_mempool_cache cache;
	/* In its place where calls are watched: nothing is inline then. */
	struct hone_detail_mempool_view watched;
	/* That, or the one in the cache that is in use. */
	struct hone_detail_mempool_view *view;
	/* The magazine that view is about; NULL while closed. */
	struct hone_mempool_magazine *loaded;
	struct hone_mempool *pool;
	size_t number;
	/* Where the last steal of each side was lucky. */
	size_t victim[2];
	/* A chain: its head has at least one object, the others are full. */
	struct hone_mempool_magazine *reserve;
	/*
	 * Written by the owner, relaxed, and read by who asks for statistics:
	 * nothing is ordered by them.
	 */
	_Atomic size_t n_reserved;
	_Atomic size_t refills;
	_Atomic size_t flushes;
	_Atomic size_t steals;
	_Atomic size_t failures;
	/* Whose hone_mempool_thread_cache() it is, by pthread_self(); 0: it is
	 * none. Relaxed: see is_own() in handle.c. */
	_Atomic uintptr_t thread;
	/* Under the pool's mutex. */
	bool open;
	struct hone_deque deque[2];
};

struct hone_mempool {
	/* What is set once. */
	char *objects;
	size_t capacity;
	size_t object_size;
	size_t stride;
	size_t cache_size;
	char *magazines;
	size_t magazine_stride;
	size_t n_magazines;
	/* Slots have 32 bits of a pointer; these are the others. */
	bool short_slots;
	uintptr_t upper;
	char *handles;
	size_t max_caches;
	bool debug;
	/* Every call takes the slow path, which checks or tells a tool. */
	bool watched;
	bool valgrind;
	void (*on_fault)(int fault, void *object, void *arg);
	void *on_fault_arg;
	char name[32];
	/* A bit an object, for the audit and after a fork. */
	unsigned char *marks;
	/* Debug: whether it is out, and its checksum while it is not. */
	_Atomic unsigned char *states;
	uint64_t *sums;
	/* What is to be unmapped: this page on, and objects if not external. */
	size_t size;
	void *object_map;
	size_t object_map_size;

	/* Opening, closing, the audit: never getting and putting. */
	pthread_mutex_t mutex;
	pthread_key_t key;
	/* Release when key was made, under the mutex; acquire before its use.
	 */
	atomic_bool has_key;
	/*
	 * Handles from here on were never open and have nothing to steal.
	 * Release under the mutex; acquire in steal().
	 */
	_Atomic size_t n_used;
	/*
	 * The one magazine that is neither full nor empty nor a handle's, or
	 * NULL. Stored under the mutex, release; taken by exchange, acquire.
	 */
	_Alignas(HONE_DEQUE_APART) _Atomic(struct hone_mempool_magazine *)
		partial;
	/* How many objects it has; relaxed, for statistics. */
	_Atomic size_t n_partial;
};

_Static_assert(sizeof(struct hone_mempool_handle) <= HONE_MEMPOOL_PAGE &&
		       sizeof(struct hone_mempool) <= HONE_MEMPOOL_PAGE,
	"each has a page of its own");

static inline struct hone_mempool_handle *
hone_mempool_handle(struct hone_mempool *pool, size_t number)
{
	return (struct hone_mempool_handle *)(pool->handles +
					      number * HONE_MEMPOOL_PAGE);
}

static inline struct hone_mempool_magazine *
hone_mempool_magazine(struct hone_mempool *pool, size_t number)
{
	return (struct hone_mempool_magazine *)(pool->magazines +
						number * pool->magazine_stride);
}

static inline void *
hone_mempool_object(struct hone_mempool *pool, size_t index)
{
	return pool->objects + index * pool->stride;
}

/*
 * The slots of a magazine. Short ones fill half of a page: of every other
 * magazine the second half, or they would meet in half of the cache's sets.
 */
static inline void *
hone_mempool_slots(
	const struct hone_mempool *pool, struct hone_mempool_magazine *m)
{
	if (pool->short_slots && pool->magazine_stride == HONE_MEMPOOL_PAGE &&
		(uintptr_t)m / HONE_MEMPOOL_PAGE % 2)
		return (char *)m + HONE_MEMPOOL_PAGE / 2;
	return m->objects;
}

/* Copy n objects out of slots, from the one with index at. */
static inline void
hone_mempool_read(const struct hone_mempool *pool, void **objs,
	const void *slots, size_t at, size_t n)
{
	if (pool->short_slots)
		(*HONE_DETAIL_CHOSEN(hone_detail_mempool_widen))(
			objs, (const uint32_t *)slots + at, n, pool->upper);
	else
		hone_copy_pointers(objs, (void *const *)slots + at, n);
}

/* And into them. */
static inline void
hone_mempool_write(const struct hone_mempool *pool, void *slots, size_t at,
	void *const *objs, size_t n)
{
	if (pool->short_slots)
		(*HONE_DETAIL_CHOSEN(hone_detail_mempool_narrow))(
			(uint32_t *)slots + at, objs, n);
	else
		hone_copy_pointers((void **)slots + at, objs, n);
}

/* Its index; capacity if it is no object of the pool. */
size_t hone_mempool_index(struct hone_mempool *pool, const void *object);

/* Tell on_fault, or abort. */
void hone_mempool_fault(struct hone_mempool *pool, int fault, void *object);

/* The next magazine of the chain that a reserve is. */
static inline struct hone_mempool_magazine *
hone_mempool_next(struct hone_mempool_magazine *m)
{
	return (struct hone_mempool_magazine *)m->hidden[0];
}

/* Add to a counter of the calling thread's handle. */
static inline void
hone_mempool_add(_Atomic size_t *counter, size_t n)
{
	atomic_store_explicit(counter,
		atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* cache.c: unwatched, and without the reserve. */
size_t hone_mempool_take(struct hone_mempool_handle *h, void **objs, size_t n);
void hone_mempool_give(
	struct hone_mempool_handle *h, void *const *objs, size_t n);
/* A magazine with objects; NULL if there is none outside of handles. */
struct hone_mempool_magazine *hone_mempool_take_full(
	struct hone_mempool_handle *h);
/* An empty one; there always is one. */
struct hone_mempool_magazine *hone_mempool_take_empty(
	struct hone_mempool_handle *h);
void hone_mempool_load(
	struct hone_mempool_handle *h, struct hone_mempool_magazine *m);
/* Pass on a magazine that is neither loaded nor chained: full or empty. */
void hone_mempool_push(
	struct hone_mempool_handle *h, struct hone_mempool_magazine *m);
/*
 * Move objects from b to a until a is full or b empty; then b is left with
 * what remains.
 */
void hone_mempool_pour(const struct hone_mempool *pool,
	struct hone_mempool_magazine *a, struct hone_mempool_magazine *b);

/* magazine.c: take up to n from the reserve, tell how many. */
size_t hone_mempool_draw(struct hone_mempool_handle *h, void **objs, size_t n);
/* Give all of it back. */
void hone_mempool_dissolve(struct hone_mempool_handle *h);

/* pool.c: put every object that is marked into an empty pool. */
void hone_mempool_fill(struct hone_mempool *pool);
/* A handle that is closed and has nothing. */
void hone_mempool_reset(struct hone_mempool_handle *h, size_t deque_slots);

/* handle.c: put down a magazine that others may take; the mutex is held. */
void hone_mempool_set_partial(
	struct hone_mempool *pool, struct hone_mempool_magazine *m);
/* Close the calling thread's own handle, if it has one. */
void hone_mempool_close_own(struct hone_mempool *pool);

/* place.c: bytes, and where everything lies. */
struct hone_mempool_place {
	size_t alignment;
	size_t stride;
	/* in front of the first object */
	size_t front;
	size_t objects_size;
	size_t cache_size;
	size_t magazine_stride;
	size_t n_magazines;
	/* slots of one deque, a power of two */
	size_t deque_slots;
	/* offsets from the pool's own page, and bytes in all */
	size_t slots, marks, states, sums, magazines, size;
};
/* 0 or -EINVAL. */
int hone_mempool_place(
	struct hone_mempool_place *place, const struct hone_mempool_attr *attr);
/* Set objects, object_map and object_map_size; 0 or a negative errno. */
int hone_mempool_map_objects(struct hone_mempool *pool,
	const struct hone_mempool_place *place,
	const struct hone_mempool_attr *attr);

/* window.c: whether these addresses have the same upper 32 of 64 bits. */
bool hone_mempool_in_window(uintptr_t first, size_t size);
/*
 * As mmap() with these flags. If window is not 0, it begins at a multiple of
 * unit, a power of two up to 4 GiB, and so many bytes have the same upper bits.
 */
void *hone_mempool_map(size_t size, size_t window, size_t unit, int flags);

/* check.c: who is in the pool, by marks; the mutex is held. */
void hone_mempool_census(struct hone_mempool *pool,
	struct hone_mempool_findings *audit,
	void (*fn)(int fault, void *object, void *arg), void *arg);
static inline bool
hone_mempool_marked(const struct hone_mempool *pool, size_t index)
{
	return pool->marks[index / 8] >> index % 8 & 1;
}

/* watch.c */
#define HONE_MEMPOOL_GAP 16 /* least bytes between objects of a debug pool */
void hone_mempool_watch_begin(struct hone_mempool *pool);
void hone_mempool_watch_end(struct hone_mempool *pool);
void hone_mempool_watch_get(struct hone_mempool *pool, void *object);
/* False: it must not go into the pool. */
bool hone_mempool_watch_put(struct hone_mempool *pool, void *object);
/* A HONE_MEMPOOL_FAULT_* of an object that is in a debug pool; 0 if sound. */
int hone_mempool_watch_check(struct hone_mempool *pool, size_t index);
/* After a fork: the objects that are marked are in the pool, others out. */
void hone_mempool_watch_fork(struct hone_mempool *pool);

#endif
