/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_CHECK_H
#define HONE_MEMPOOL_CHECK_H
/**
 * Look into a pool: how many objects it has, where they are, what is wrong.
 *
 * The debug flavour of a pool, HONE_MEMPOOL_DEBUG in its attributes, checks
 * each object on its way in and out. It finds an object that is put twice,
 * a pointer that is no object, writes beside an object, and writes to one
 * that was put, and tells each to on_fault of the attributes, or calls
 * abort(). on_fault runs in the thread that made the call, and must not use
 * the pool. If it returns, what is put wrongly is not put, and a damaged
 * object goes its way as if it were sound.
 *
 * If the library is built with AddressSanitizer, or if it runs under valgrind
 * and was built where valgrind's headers are, objects in the pool may not be
 * touched or put again, and the tool reports who does.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>
#include <hone/mempool.h>

HONE_BEGIN_DECLS

/** What can be wrong with an object. */
enum hone_mempool_fault {
	/** it is not in the pool: in use, or lost; from the audit only */
	HONE_MEMPOOL_FAULT_OUT = 1,
	/** it is in the pool twice; from the audit only */
	HONE_MEMPOOL_FAULT_DOUBLED = 2,
	/** it is no object of this pool */
	HONE_MEMPOOL_FAULT_FOREIGN = 3,
	/** it was put though it is in the pool */
	HONE_MEMPOOL_FAULT_DOUBLE_PUT = 4,
	/** it was written to after it was put */
	HONE_MEMPOOL_FAULT_WRITE_AFTER_PUT = 5,
	/** bytes in front of it or behind it were written */
	HONE_MEMPOOL_FAULT_OVERRUN = 6,
	/** more magazines are held than hone_mempool_get_magazine() allows;
	 * of every flavour, and without an object. If on_fault returns, the
	 * call goes on looking for one that another thread gives back */
	HONE_MEMPOOL_FAULT_NO_MAGAZINE = 7
};

/**
 * Count the objects that are not out.
 *
 * :param pool: may be in use.
 * :return: objects in the pool, in caches and in reserves together; while
 *          others use the pool, what it was about.
 *
 * A cursor counts by what its handle held when it began. Since 0.1.
 */
HONE_API size_t hone_mempool_available(struct hone_mempool *pool);

/** What hone_mempool_get_stats() tells. */
struct hone_mempool_stats {
	/** objects in all */
	size_t capacity;
	/** objects that a handle may keep to itself */
	size_t cache_size;
	/** bytes from one object to the next */
	size_t stride;
	/** objects that any handle can get */
	size_t shared;
	/** objects loaded in handles: only these can get them */
	size_t loaded;
	/** objects in reserves */
	size_t reserved;
	/** handles that are open */
	unsigned caches;
	/** handles that may be open */
	unsigned max_caches;
	/** magazines loaded because the one before was empty */
	size_t refills;
	/** magazines passed on because they were full */
	size_t flushes;
	/** magazines that a handle had to steal from another */
	size_t steals;
	/** gets that found fewer objects than they asked for */
	size_t failures;
};

/**
 * Tell the state of a pool.
 *
 * :param pool:  may be in use; then the numbers need not fit each other.
 * :param stats: set by this call. The last four count from the start, over
 *               handles that were closed too, and wrap.
 *
 * Since 0.1.
 */
HONE_API void hone_mempool_get_stats(
	struct hone_mempool *pool, struct hone_mempool_stats *stats);

/**
 * Call a function for every object, be it in the pool or out.
 *
 * :param pool: may be in use.
 * :param fn:   called with the object, its index from 0 in the order of the
 *              addresses, and arg. What it may do with the content depends on
 *              whose the object is just then.
 * :param arg:  passed to fn.
 *
 * Since 0.1.
 */
HONE_API void hone_mempool_iterate(struct hone_mempool *pool,
	void (*fn)(void *object, size_t index, void *arg), void *arg);

/** What hone_mempool_audit() found, in objects. */
struct hone_mempool_findings {
	/** in the pool, in caches and in reserves */
	size_t in_pool;
	/** not there: in use, or lost; with in_pool the capacity */
	size_t out;
	/** in the pool once more than once */
	size_t doubled;
	/** pointers in the pool that are no objects of it */
	size_t foreign;
	/** debug flavour: in the pool, and it or bytes beside it written to */
	size_t damaged;
};

/**
 * Look for lost, doubled and foreign objects.
 *
 * :param pool:  nobody may use it meanwhile; handles may be open, but without
 *               a cursor.
 * :param findings: set to the counts.
 * :param fn:    called for each object that is not simply in the pool, with
 *               one of enum hone_mempool_fault; it must not use the pool. NULL:
 *               counts only.
 * :param arg:   passed to fn.
 *
 * Where every object should be back, those that are out are lost.
 * Since 0.1.
 */
HONE_API void hone_mempool_audit(struct hone_mempool *pool,
	struct hone_mempool_findings *findings,
	void (*fn)(int fault, void *object, void *arg), void *arg);

HONE_END_DECLS
#endif
