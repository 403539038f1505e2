/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_CHECK_H
#define HONE_MEMPOOL_CHECK_H
/**
 * Inspect a pool: its counters, its objects, and faults of its users.
 *
 * A pool with HONE_MEMPOOL_DEBUG checks each object at get and put. It finds an
 * object that is put twice, a pointer that is not an object of the pool, a
 * write before or after an object, and a write to an object after it was put.
 * For each fault the pool calls on_fault of its attributes, or abort() if
 * on_fault is NULL. on_fault runs in the thread that made the call, and must
 * not use the pool. If on_fault returns, an object that must not be put is not
 * put, and a damaged object is handled as if it were intact. In a pool of
 * foreign objects, it finds an object that is put twice, NULL, and a put into a
 * full pool.
 *
 * If the library was built with AddressSanitizer, the tool reports each access
 * to an object that is in the pool, and each second put of an object. The
 * stride is then a multiple of 8, the unit of AddressSanitizer's state.
 * Valgrind reports the same, if the library was built where valgrind's headers
 * are installed. Neither does for a pool with HONE_MEMPOOL_SHARED, since each
 * process has its own tool.
 *
 * Nothing else is asserted: other broken contracts are undefined in every
 * build.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>
#include <hone/mempool.h>

HONE_BEGIN_DECLS

/** What can be wrong with an object. */
enum hone_mempool_fault {
	/** the object is not in the pool: in use, or lost; audit only */
	HONE_MEMPOOL_FAULT_OUT = 1,
	/** the object is in the pool twice; audit only */
	HONE_MEMPOOL_FAULT_DOUBLED = 2,
	/** the pointer is not an object of this pool, or the pool is full of
	 * foreign objects */
	HONE_MEMPOOL_FAULT_FOREIGN = 3,
	/** the object was put while it was in the pool */
	HONE_MEMPOOL_FAULT_DOUBLE_PUT = 4,
	/** the object was written to after it was put */
	HONE_MEMPOOL_FAULT_WRITE_AFTER_PUT = 5,
	/** bytes before or after the object were written to */
	HONE_MEMPOOL_FAULT_OVERRUN = 6,
	/** more magazines are out than hone_mempool_get_magazine() allows.
	 * Found in every pool; the object is NULL. If on_fault returns, the
	 * call continues to look for a magazine that another thread puts back
	 */
	HONE_MEMPOOL_FAULT_NO_MAGAZINE = 7
};

/**
 * Count the objects that are not out.
 *
 * :param pool: may be in use.
 * :return: the number of objects in the pool, in caches and in reserves
 *          together, 0 to the capacity; approximate while other threads use the
 *          pool.
 *
 * Objects that moved through a cursor since it began are counted as before.
 */
HONE_API size_t hone_mempool_available(struct hone_mempool *pool);

/** State of a pool, from hone_mempool_get_stats(). */
struct hone_mempool_stats {
	/** number of all objects */
	size_t capacity;
	/** objects that a cache may keep to itself */
	size_t cache_size;
	/** bytes from one object to the next; 0 if they are foreign */
	size_t stride;
	/** objects that any cache can get */
	size_t shared;
	/** objects loaded in caches: only their own cache can get them, unless
	 * the pool has HONE_MEMPOOL_EXACT */
	size_t loaded;
	/** objects in reserves */
	size_t reserved;
	/** caches that are open */
	unsigned caches;
	/** caches that may be open */
	unsigned max_caches;
	/** magazines loaded because the one before was empty */
	size_t refills;
	/** magazines passed on because they were full; with HONE_MEMPOOL_EXACT
	 * also those of the user */
	size_t flushes;
	/** magazines that a cache stole from another */
	size_t steals;
	/** gets that found fewer objects than requested */
	size_t failures;
	/** for later releases; set to zero */
	size_t later[4];
};

/**
 * Get the state of a pool.
 *
 * :param pool:  may be in use; then the numbers are approximate. shared, loaded
 *               and reserved together are never above the capacity.
 * :param stats: set by this call. The members from refills to failures count
 *               from the creation of the pool, closed caches included. They
 *               wrap.
 */
HONE_API void hone_mempool_get_stats(
	struct hone_mempool *pool, struct hone_mempool_stats *stats);

/**
 * Call a function for every object, in the pool or out. A pool of foreign
 * objects has no list of them: fn is not called.
 *
 * :param pool: may be in use.
 * :param fn:   called with the object, its index from 0 in the order of the
 *              addresses, and arg. The owner of the object at that moment
 *              decides what fn may do with the content. May leave in any way.
 * :param arg:  passed to fn.
 */
HONE_API void hone_mempool_iterate(struct hone_mempool *pool,
	void (*fn)(void *object, size_t index, void *arg), void *arg);

/** Numbers of objects that hone_mempool_audit() found. */
struct hone_mempool_findings {
	/** in the pool, in caches and in reserves */
	size_t in_pool;
	/** the others: in use, or lost; out + in_pool = capacity */
	size_t out;
	/** found in the pool again, each repetition counted */
	size_t doubled;
	/** pointers in the pool that are not objects of the pool */
	size_t foreign;
	/** with HONE_MEMPOOL_DEBUG: in the pool, and they or bytes beside them
	 * were written to */
	size_t damaged;
	/** for later releases; set to zero */
	size_t reserved[3];
};

/**
 * Find lost, doubled and foreign objects.
 *
 * :param pool:  not in use during the call; caches may be open, but without a
 *               cursor.
 * :param findings: set to the counts.
 * :param fn:    called for each object that is not simply in the pool, with an
 *               enum hone_mempool_fault; must not use the pool. NULL: counts
 *               only.
 * :param arg:   passed to fn.
 *
 * If all users have put their objects back, the objects that are out are lost.
 * For foreign objects, out is the room that is left in the pool, and fn is not
 * called for objects that are out.
 */
HONE_API void hone_mempool_audit(struct hone_mempool *pool,
	struct hone_mempool_findings *findings,
	void (*fn)(int fault, void *object, void *arg), void *arg);

HONE_END_DECLS
#endif
