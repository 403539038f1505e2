/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_RING_H
#define HONE_RING_H
/**
 * Bounded ring of pointers between threads: first in, first out.
 *
 * A ring holds exactly the number of elements it was made for, any number
 * from 1 to 2^31. An element is any pointer, NULL too; the ring never looks
 * behind it. What a thread wrote before it enqueued a pointer is seen by the
 * thread that dequeues it. Elements enqueued by one thread are dequeued in
 * that order, and those of one call lie side by side.
 *
 * **No call waits.** There is no lock, and no loop that another thread has to
 * end: a turn is only repeated because another call succeeded meanwhile.
 *
 * **Full and empty are facts.** -ENOBUFS and -ENOENT tell what was so at one
 * instant during the call, whatever the other threads do and wherever they
 * were preempted. An enqueue under way counts from the moment it has its
 * places, so a thread that alone is inside a call gets the answer that it
 * would get from a plain list.
 *
 * **A preempted consumer delays nobody.** A dequeue takes effect in one step.
 *
 * **A preempted producer** delays nobody either if it is the only one
 * (HONE_RING_SINGLE_PRODUCER). One of several can be preempted, or killed,
 * between taking its places and filling them. Other producers go on while
 * there is room; a consumer gets what lies before those places, and then
 * -EAGAIN until the producer goes on. This is never told as -ENOENT.
 *
 * A ring has no pointers inside: placed with hone_ring_init() in memory that
 * processes share, it serves all of them at whatever address each has it. The
 * elements must then mean something to all of them: offsets, say.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** Who uses a ring. Fewer promises to keep make it faster. */
enum hone_ring_flags {
	/** any number of threads at both ends */
	HONE_RING_MPMC = 0,
	/** one thread at a time enqueues; elements take 8 bytes, not 16 */
	HONE_RING_SINGLE_PRODUCER = 1,
	/** one thread at a time dequeues */
	HONE_RING_SINGLE_CONSUMER = 2,
	/** both: the fast paths are inline */
	HONE_RING_SPSC = 3
};

/** The largest capacity: 2^31 elements. */
#define HONE_RING_CAPACITY_MAX UINT32_C(0x80000000)

/** What the memory given to hone_ring_init() must be aligned to, in bytes. */
#define HONE_RING_ALIGN 64

/** A ring. Its members are private. The slots follow it in memory. */
struct hone_ring {
	/*
	 * The two ends lie 128 bytes apart, since some CPUs fetch cache lines
	 * in pairs. Several producers also write filled, which lies where
	 * consumers look.
	 */
	uint32_t capacity;
	uint32_t mask;
	uint32_t flags;
	char pad_constants[116];
	uint64_t tail;
	uint64_t head_seen;
	char pad_producers[112];
	uint64_t head;
	uint64_t tail_seen;
	uint64_t filled;
	char pad_consumers[104];
};

/**
 * Make a ring.
 *
 * :param ring:     set to the new ring, which hone_ring_destroy() frees;
 *                  left alone on error.
 * :param capacity: elements, 1 to HONE_RING_CAPACITY_MAX.
 * :param flags:    of enum hone_ring_flags.
 * :return: 0; -EINVAL if capacity or flags are none of these; -ENOMEM.
 *
 * Since 0.1.
 */
HONE_API int hone_ring_create(
	struct hone_ring **ring, size_t capacity, unsigned flags);

/**
 * Free a ring made by hone_ring_create().
 *
 * :param ring: in use by nobody any more; may hold elements, which are the
 *              caller's; NULL does nothing.
 *
 * Since 0.1.
 */
HONE_API void hone_ring_destroy(struct hone_ring *ring);

/**
 * Memory that hone_ring_init() needs.
 *
 * :param capacity: elements, 1 to HONE_RING_CAPACITY_MAX.
 * :param flags:    of enum hone_ring_flags.
 * :return: bytes; 0 if capacity or flags are none of these, or if the size
 *          does not fit size_t.
 *
 * Slots are rounded up to a power of two, so the memory may be twice what the
 * elements need; the capacity is not rounded. Since 0.1.
 */
HONE_API size_t hone_ring_size(size_t capacity, unsigned flags);

/**
 * Make a ring in memory of the caller.
 *
 * :param ring:     hone_ring_size() bytes, aligned to HONE_RING_ALIGN. They
 *                  stay the caller's; nothing is to be undone before they
 *                  are freed.
 * :param capacity: elements, 1 to HONE_RING_CAPACITY_MAX.
 * :param flags:    of enum hone_ring_flags.
 * :return: 0, or -EINVAL if capacity or flags are none of these, which leaves
 *          the memory alone.
 *
 * The caller sees to it that other threads and processes use the ring only
 * afterwards. Since 0.1.
 */
HONE_API int hone_ring_init(
	struct hone_ring *ring, size_t capacity, unsigned flags);

/**
 * Add one element.
 *
 * :param ring:    the ring.
 * :param element: any pointer.
 * :return: 0, or -ENOBUFS if the ring is full, which leaves it as it was.
 *
 * Since 0.1.
 */
HONE_INLINE int hone_ring_enqueue(struct hone_ring *ring, void *element);

/**
 * Add all of several elements, or none.
 *
 * :param ring:     the ring.
 * :param elements: n pointers.
 * :param n:        how many; with 0, elements may be NULL.
 * :return: 0, or -ENOBUFS if there is not room for all, which leaves the ring
 *          as it was.
 *
 * Since 0.1.
 */
HONE_API int hone_ring_enqueue_bulk(
	struct hone_ring *ring, void *const *elements, size_t n);

/**
 * Add as many elements as there is room for.
 *
 * :param ring:     the ring.
 * :param elements: n pointers, of which the first ones are added.
 * :param n:        how many at most; with 0, elements may be NULL.
 * :return: how many were added: fewer than n only if there was room for no
 *          more at one instant during the call.
 *
 * Since 0.1.
 */
HONE_API size_t hone_ring_enqueue_burst(
	struct hone_ring *ring, void *const *elements, size_t n);

/**
 * Take the oldest element.
 *
 * :param ring:    the ring.
 * :param element: set to it; unspecified on error.
 * :return: 0; -ENOENT if the ring is empty; -EAGAIN if it is not, but the
 *          producer of the oldest element is still at work (never with
 *          HONE_RING_SINGLE_PRODUCER).
 *
 * Since 0.1.
 */
HONE_INLINE int hone_ring_dequeue(struct hone_ring *ring, void **element);

/**
 * Take the n oldest elements, or none.
 *
 * :param ring:     the ring.
 * :param elements: set to n pointers, oldest first; unspecified on error.
 * :param n:        how many; with 0, elements may be NULL.
 * :return: 0; -ENOENT if there are fewer than n; -EAGAIN if there are enough,
 *          but the producer of one of them is still at work (never with
 *          HONE_RING_SINGLE_PRODUCER).
 *
 * Since 0.1.
 */
HONE_API int hone_ring_dequeue_bulk(
	struct hone_ring *ring, void **elements, size_t n);

/**
 * Take as many of the oldest elements as there are.
 *
 * :param ring:     the ring.
 * :param elements: room for n pointers; set to those taken, oldest first, and
 *                  unspecified behind them.
 * :param n:        how many at most; with 0, elements may be NULL.
 * :return: how many were taken: fewer than n only if at one instant during
 *          the call there were no more, or the producer of the next one was
 *          still at work.
 *
 * Since 0.1.
 */
HONE_API size_t hone_ring_dequeue_burst(
	struct hone_ring *ring, void **elements, size_t n);

/**
 * Count the elements, those whose producer is still at work among them.
 *
 * :param ring: the ring.
 * :return: 0 to the capacity; right at one instant during the call.
 *
 * Any thread may call it, whatever the flags. Since 0.1.
 */
HONE_API size_t hone_ring_count(const struct hone_ring *ring);

/**
 * Count the elements that there is still room for.
 *
 * :param ring: the ring.
 * :return: the capacity less hone_ring_count().
 *
 * Any thread may call it, whatever the flags. Since 0.1.
 */
HONE_API size_t hone_ring_free_count(const struct hone_ring *ring);

/**
 * Tell how many elements a ring can hold.
 *
 * :param ring: the ring.
 * :return: the capacity that it was made with.
 *
 * Since 0.1.
 */
HONE_INLINE size_t hone_ring_capacity(const struct hone_ring *ring);

HONE_END_DECLS

#include <hone/detail/ring.h>
#endif
