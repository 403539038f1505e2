/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_RING_H
#define HONE_RING_H
/**
 * Bounded FIFO ring of pointers between threads, without locks.
 *
 * The capacity of a ring is any number from 1 to 2^31, and exact. An element is
 * any pointer, NULL included; the ring never dereferences it. The thread that
 * dequeues a pointer sees everything that the other thread wrote before it
 * enqueued the pointer. Elements enqueued by one thread are dequeued in the
 * same order, and elements of one call are adjacent.
 *
 * **No call waits for another thread.** There is no lock. A loop repeats only
 * if another call succeeded meanwhile. It pauses before it repeats, for some
 * microseconds at most, so that the other thread can continue.
 *
 * **Full and empty are exact.** -ENOBUFS and -ENOENT were true at one instant
 * during the call, whatever other threads do and wherever they are preempted.
 * An enqueue in progress counts as soon as it has reserved its places. So if
 * only one thread is inside a call, the result is that of a plain list.
 *
 * **A preempted consumer delays no other thread.** A dequeue takes effect in
 * one step.
 *
 * **A preempted producer** delays no other thread if it is the only producer
 * (HONE_RING_SINGLE_PRODUCER). One of several producers can be preempted, or
 * killed, after it has taken its places and before it has filled them. Then
 * other producers continue while there is room. Consumers get the elements
 * before those places, and then -EAGAIN, never -ENOENT, until the producer
 * continues. If it was killed, hone_ring_recover() publishes its places.
 *
 * A ring contains no pointers to itself. With hone_ring_init() in memory that
 * processes share, all of them can use it, each at its own address. The
 * elements must then be meaningful in every process: offsets, for example.
 *
 * Debug builds of the library assert that hone_ring_init() gets aligned memory.
 * In release builds this and all other broken contracts are undefined.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** The users of a ring. A ring for fewer users is faster. */
enum hone_ring_flags {
	/** any number of threads at both ends */
	HONE_RING_MPMC = 0,
	/** one thread at a time enqueues; an element takes 8 bytes, not 16 */
	HONE_RING_SINGLE_PRODUCER = 1,
	/** one thread at a time dequeues */
	HONE_RING_SINGLE_CONSUMER = 2,
	/** both: the fast paths are inline */
	HONE_RING_SPSC = 3
};

/** The largest capacity: 2^31 elements. */
#define HONE_RING_CAPACITY_MAX UINT32_C(0x80000000)

/** Alignment of the memory for hone_ring_init(), in bytes. */
#define HONE_RING_ALIGN 64

/** A ring. Its members are private. The slots follow it in memory. */
struct hone_ring {
	/*
	 * The two ends are 128 bytes apart, because some CPUs fetch cache lines
	 * in pairs. Several producers also write filled, which is on the line
	 * of the consumers.
	 */
	uint32_t capacity;
	uint32_t mask;
	uint32_t flags;
	char pad_constants[116];
	uint64_t tail HONE_DETAIL_ALIGNED_8;
	uint64_t head_seen HONE_DETAIL_ALIGNED_8;
	char pad_producers[112];
	uint64_t head HONE_DETAIL_ALIGNED_8;
	uint64_t tail_seen HONE_DETAIL_ALIGNED_8;
	uint64_t filled HONE_DETAIL_ALIGNED_8;
	char pad_consumers[104];
};

/**
 * Create a ring.
 *
 * :param ring:     set to the new ring, which hone_ring_destroy() frees;
 *                  unchanged on error.
 * :param capacity: elements, 1 to HONE_RING_CAPACITY_MAX.
 * :param flags:    of enum hone_ring_flags.
 * :return: 0 on success;
 *          -EINVAL if capacity or flags are invalid;
 *          -ENOMEM if there is no memory.
 */
HONE_API HONE_DETAIL_RESULT int hone_ring_create(
	struct hone_ring **ring, size_t capacity, unsigned flags);

/**
 * Free a ring of hone_ring_create().
 *
 * :param ring: not in use; may contain elements, which the caller owns. NULL:
 *              no effect.
 */
HONE_API void hone_ring_destroy(struct hone_ring *ring);

/**
 * Compute the memory that hone_ring_init() needs.
 *
 * :param capacity: elements, 1 to HONE_RING_CAPACITY_MAX.
 * :param flags:    of enum hone_ring_flags.
 * :return: bytes, a multiple of HONE_RING_ALIGN, as aligned_alloc() requires;
 *          0 if capacity or flags are invalid, or if the size does not fit in
 *          size_t.
 *
 * The number of slots is the capacity rounded up to a power of two, so the
 * memory may be twice what the elements need. The capacity is not rounded.
 */
HONE_API size_t hone_ring_size(size_t capacity, unsigned flags);

/**
 * Create a ring in memory of the caller.
 *
 * :param ring:     hone_ring_size() bytes, aligned to HONE_RING_ALIGN. The
 *                  caller owns them and may free them without another call.
 * :param capacity: elements, 1 to HONE_RING_CAPACITY_MAX.
 * :param flags:    of enum hone_ring_flags.
 * :return: 0 on success;
 *          -EINVAL if capacity or flags are invalid; the memory is unchanged.
 *
 * The caller ensures that other threads and processes use the ring only after
 * this call.
 */
HONE_API HONE_DETAIL_RESULT int hone_ring_init(
	struct hone_ring *ring, size_t capacity, unsigned flags);

/**
 * Enqueue one element.
 *
 * :param ring:    the ring.
 * :param element: any pointer.
 * :return: 0 on success;
 *          -ENOBUFS if the ring is full; the ring is unchanged.
 */
HONE_INLINE HONE_DETAIL_RESULT int hone_ring_enqueue(
	struct hone_ring *ring, void *element);

/**
 * Enqueue n elements or none.
 *
 * :param ring:     the ring.
 * :param elements: n pointers.
 * :param n:        number of elements; with 0, elements may be NULL.
 * :return: 0 on success;
 *          -ENOBUFS if there is no room for all; the ring is unchanged.
 */
HONE_API HONE_DETAIL_RESULT int hone_ring_enqueue_bulk(
	struct hone_ring *ring, void *const *elements, size_t n);

/**
 * Enqueue as many of n elements as there is room for.
 *
 * :param ring:     the ring.
 * :param elements: n pointers; the first ones are enqueued.
 * :param n:        most elements; with 0, elements may be NULL.
 * :return: the number of elements enqueued: fewer than n only if there was no
 *          more room at one instant during the call.
 */
HONE_API HONE_DETAIL_RESULT size_t hone_ring_enqueue_burst(
	struct hone_ring *ring, void *const *elements, size_t n);

/**
 * Dequeue the oldest element.
 *
 * :param ring:    the ring.
 * :param element: set to the element; unchanged on error.
 * :return: 0 on success;
 *          -ENOENT if the ring is empty;
 *          -EAGAIN if the oldest element is not yet filled by its producer
 *          (never with HONE_RING_SINGLE_PRODUCER).
 */
HONE_INLINE HONE_DETAIL_RESULT int hone_ring_dequeue(
	struct hone_ring *ring, void **element);

/**
 * Dequeue the n oldest elements or none.
 *
 * :param ring:     the ring.
 * :param elements: set to n pointers, oldest first; unspecified on error.
 * :param n:        number of elements; with 0, elements may be NULL.
 * :return: 0 on success;
 *          -ENOENT if there are fewer than n;
 *          -EAGAIN if there are n, but one of them is not yet filled by its
 *          producer (never with HONE_RING_SINGLE_PRODUCER).
 */
HONE_API HONE_DETAIL_RESULT int hone_ring_dequeue_bulk(
	struct hone_ring *ring, void **elements, size_t n);

/**
 * Dequeue as many of the oldest elements as there are, at most n.
 *
 * :param ring:     the ring.
 * :param elements: room for n pointers; set to the elements, oldest first; the
 *                  rest is unspecified.
 * :param n:        most elements; with 0, elements may be NULL.
 * :return: the number of elements dequeued: fewer than n only if at one instant
 *          during the call there were no more, or the next one was not yet
 *          filled by its producer.
 */
HONE_API HONE_DETAIL_RESULT size_t hone_ring_dequeue_burst(
	struct hone_ring *ring, void **elements, size_t n);

/**
 * Publish the places of producers that were killed inside a call.
 *
 * :param ring:       the ring. No other call on it may run in any process, and
 *                    no thread may be inside a call, preempted or stopped: stop
 *                    all users or wait for their end, as waitpid() does.
 * :param substitute: the element that consumers get for each of these places.
 *                    The elements of the killed calls are lost, even if they
 *                    were complete.
 * :return: the number of substitutes, 0 to the capacity; 0 with
 *          HONE_RING_SINGLE_PRODUCER, where a killed producer leaves nothing.
 *
 * All published elements stay, in their order. A killed consumer leaves nothing
 * to recover; the elements of its last call may be lost with it. While other
 * threads use the ring, recovery is impossible: a place does not show whether
 * its producer was killed or is preempted.
 */
HONE_API size_t hone_ring_recover(struct hone_ring *ring, void *substitute);

/**
 * Count the elements, including those that a producer has not yet filled.
 *
 * :param ring: the ring.
 * :return: 0 to the capacity; exact at one instant during the call.
 *
 * Any thread may call it, whatever the flags.
 */
HONE_API size_t hone_ring_count(const struct hone_ring *ring);

/**
 * Count the elements for which there is room.
 *
 * :param ring: the ring.
 * :return: the capacity less hone_ring_count().
 *
 * Any thread may call it, whatever the flags.
 */
HONE_API size_t hone_ring_free_count(const struct hone_ring *ring);

/**
 * Get the capacity of a ring.
 *
 * :param ring: the ring.
 * :return: the capacity with which the ring was created.
 */
HONE_INLINE size_t hone_ring_capacity(const struct hone_ring *ring);

HONE_END_DECLS

#include <hone/detail/ring.h>
#endif
