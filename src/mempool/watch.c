/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of each object at get and put: by HONE_MEMPOOL_DEBUG, AddressSanitizer
 * or valgrind. The content of an object must stay as it was put. Therefore a
 * checksum finds writes, and not a pattern that overwrites the object.
 */
#include <string.h>
#include "mempool/mempool.h"

#if HONE_MEMPOOL_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(addr, size) ((void)(addr), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(addr, size) ((void)(addr), (void)(size))
#endif

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#ifndef VALGRIND_CREATE_MEMPOOL
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, zeroed) ((void)(pool))
#define VALGRIND_DESTROY_MEMPOOL(pool) ((void)(pool))
#define VALGRIND_MEMPOOL_ALLOC(pool, addr, size) ((void)(pool))
#define VALGRIND_MEMPOOL_FREE(pool, addr) ((void)(pool))
#define VALGRIND_MAKE_MEM_NOACCESS(addr, size) ((void)(addr))
#define VALGRIND_MAKE_MEM_DEFINED(addr, size) ((void)(addr))
#endif

/* Fills the gaps between the objects of a debug pool. */
#define COOKIE 0xc5

enum state { IN, OUT };

/* Each step is a bijection of the sum, so a changed byte changes the sum. */
static uint64_t
checksum(const unsigned char *p, size_t n)
{
	uint64_t sum = n, word;

	for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		/* An odd factor, the golden ratio's as in Fibonacci hashing */
		sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 32;
	}
	for (; n > 0; n--)
		sum = (sum ^ *p++) * UINT64_C(0x9e3779b97f4a7c15);
	return sum;
}

/* The tools see each write themselves, and forbid reads of objects in the pool.
 */
static bool
own_checks(const struct hone_mempool *pool)
{
	return pool->debug && !pool->asan && !pool->valgrind;
}

/* The bytes before an object; with index == capacity, those after the last. */
static unsigned char *
gap(struct hone_mempool *pool, size_t index, size_t *size)
{
	unsigned char *end = hone_mempool_object(pool, index);

	*size = HONE_MEMPOOL_GAP;
	if (index > 0)
		*size = pool->stride - pool->object_size;
	return end - *size;
}

static bool
gap_is_whole(struct hone_mempool *pool, size_t index)
{
	size_t n;
	const unsigned char *p = gap(pool, index, &n);

	while (n > 0 && p[n - 1] == COOKIE)
		n--;
	return n == 0;
}

static void
poison(const struct hone_mempool *pool, void *addr, size_t size)
{
	if (pool->asan)
		ASAN_POISON_MEMORY_REGION(addr, size);
}

/* Informs the tools. */
static void
forbid(struct hone_mempool *pool, void *object)
{
	poison(pool, object, pool->object_size);
	if (pool->valgrind)
		VALGRIND_MEMPOOL_FREE(pool, object);
}

static void
allow(struct hone_mempool *pool, void *object)
{
	ASAN_UNPOISON_MEMORY_REGION(object, pool->object_size);
	if (pool->valgrind) {
		VALGRIND_MEMPOOL_ALLOC(pool, object, pool->object_size);
		/* The content of the object is unchanged. */
		VALGRIND_MAKE_MEM_DEFINED(object, pool->object_size);
	}
}

static void
sum_up(struct hone_mempool *pool, size_t index)
{
	if (own_checks(pool))
		pool->sums[index] = checksum(
			hone_mempool_object(pool, index), pool->object_size);
}

static void
seal_gaps(struct hone_mempool *pool)
{
	for (size_t i = 0; pool->debug && i <= pool->capacity; i++) {
		size_t n;
		unsigned char *p = gap(pool, i, &n);

		memset(p, COOKIE, n);
		poison(pool, p, n);
		if (pool->valgrind)
			VALGRIND_MAKE_MEM_NOACCESS(p, n);
	}
}

void
hone_mempool_watch_begin(struct hone_mempool *pool)
{
	pool->asan = HONE_MEMPOOL_ASAN && !pool->shared;
	pool->valgrind = RUNNING_ON_VALGRIND != 0 && !pool->shared;
	/* The memory of foreign objects is their owner's. */
	pool->watched = pool->debug ||
			(!pool->foreign && (pool->asan || pool->valgrind));
	if (!pool->watched || pool->foreign)
		return;
	seal_gaps(pool);
	for (size_t i = 0; i < pool->capacity; i++)
		sum_up(pool, i);
	/* Includes the padding, which nobody may access. */
	poison(pool, pool->objects, pool->stride * pool->capacity);
	if (pool->valgrind) {
		VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
		VALGRIND_MAKE_MEM_NOACCESS(
			pool->objects, pool->stride * pool->capacity);
	}
}

void
hone_mempool_watch_end(struct hone_mempool *pool)
{
	unsigned char *first = (unsigned char *)pool->objects;
	size_t size = pool->stride * pool->capacity;

	if (!pool->watched || pool->foreign)
		return;
	if (pool->debug) {
		first -= HONE_MEMPOOL_GAP;
		size += HONE_MEMPOOL_GAP;
	}
	/* The next owner of this memory may use it. */
	ASAN_UNPOISON_MEMORY_REGION(first, size);
	if (pool->valgrind) {
		VALGRIND_DESTROY_MEMPOOL(pool);
		VALGRIND_MAKE_MEM_DEFINED(first, size);
	}
}

/*
 * Sets the state of an object; returns false if it had this state. Relaxed, as
 * every access to a state: the pool itself orders two threads that pass an
 * object, and a double put is found in any order.
 */
static bool
change(struct hone_mempool *pool, size_t index, enum state to)
{
	return atomic_exchange_explicit(&pool->states[index], (unsigned char)to,
		       memory_order_relaxed) != to;
}

/* Reports a gap that was written to, once: then fills it again. */
static void
check_gaps(struct hone_mempool *pool, size_t index)
{
	for (size_t i = index; i <= index + 1; i++)
		if (!gap_is_whole(pool, i)) {
			size_t n;
			unsigned char *p = gap(pool, i, &n);

			hone_mempool_fault(pool, HONE_MEMPOOL_FAULT_OVERRUN,
				hone_mempool_object(pool, index));
			memset(p, COOKIE, n);
		}
}

void
hone_mempool_watch_get(struct hone_mempool *pool, void *object)
{
	size_t index;

	if (pool->foreign) {
		hone_mempool_lock(pool);
		hone_mempool_unmark_foreign(pool, object);
		hone_mempool_unlock(pool);
		return;
	}
	index = hone_mempool_index(pool, object);
	allow(pool, object);
	if (!pool->debug)
		return;
	(void)change(pool, index, OUT);
	if (!own_checks(pool))
		return;
	if (checksum(object, pool->object_size) != pool->sums[index])
		hone_mempool_fault(
			pool, HONE_MEMPOOL_FAULT_WRITE_AFTER_PUT, object);
	check_gaps(pool, index);
}

/* Returns false if a foreign object must not go into the pool. */
static bool
watch_put_foreign(struct hone_mempool *pool, void *object)
{
	int fault;

	hone_mempool_lock(pool);
	fault = hone_mempool_mark_foreign(pool, object);
	hone_mempool_unlock(pool);
	if (fault == HONE_MEMPOOL_FAULT_DOUBLED)
		fault = HONE_MEMPOOL_FAULT_DOUBLE_PUT;
	if (fault)
		hone_mempool_fault(pool, fault, object);
	return fault == 0;
}

bool
hone_mempool_watch_put(struct hone_mempool *pool, void *object)
{
	size_t index;

	if (pool->foreign)
		return watch_put_foreign(pool, object);
	index = hone_mempool_index(pool, object);
	if (pool->debug && index == pool->capacity) {
		hone_mempool_fault(pool, HONE_MEMPOOL_FAULT_FOREIGN, object);
		return false;
	}
	if (pool->debug && !change(pool, index, IN)) {
		hone_mempool_fault(pool, HONE_MEMPOOL_FAULT_DOUBLE_PUT, object);
		return false;
	}
	if (own_checks(pool))
		check_gaps(pool, index);
	sum_up(pool, index);
	/* AddressSanitizer reports a read of a poisoned object, but not a
	 * second poisoning; valgrind reports both. */
	if (pool->asan)
		(void)*(volatile const char *)object;
	forbid(pool, object);
	return true;
}

int
hone_mempool_watch_check(struct hone_mempool *pool, size_t index)
{
	if (!own_checks(pool))
		return 0;
	if (checksum(hone_mempool_object(pool, index), pool->object_size) !=
		pool->sums[index])
		return HONE_MEMPOOL_FAULT_WRITE_AFTER_PUT;
	if (!gap_is_whole(pool, index) || !gap_is_whole(pool, index + 1))
		return HONE_MEMPOOL_FAULT_OVERRUN;
	return 0;
}

void
hone_mempool_watch_fork(struct hone_mempool *pool)
{
	if (!pool->watched || pool->foreign)
		return;
	if (pool->valgrind) {
		VALGRIND_DESTROY_MEMPOOL(pool);
		VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
	}
	for (size_t i = 0; i < pool->capacity; i++) {
		void *object = hone_mempool_object(pool, i);
		bool in = hone_mempool_marked(pool, i);

		allow(pool, object);
		if (pool->debug)
			(void)change(pool, i, in ? IN : OUT);
		if (in) {
			sum_up(pool, i);
			forbid(pool, object);
		}
	}
}
