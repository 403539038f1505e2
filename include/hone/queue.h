/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_QUEUE_H
#define HONE_QUEUE_H
/**
 * Bounded FIFO queue of pointers between threads, which wait for elements and
 * for room.
 *
 * A queue is a ring of hone/ring.h whose calls wait. Elements, capacity, order,
 * visibility and flags are those of the ring. While no thread waits, no put and
 * no get makes a system call. A call that has to wait polls for about a
 * microsecond, and then sleeps on a futex, with two exceptions. If the last
 * call that slept at this end of the queue waited for less than 50
 * microseconds, the call polls for up to that time. If the thread that last
 * woke one at this end ran on the same CPU, the call does not poll. Before it
 * sleeps, it calls sched_yield() if the last call that slept at this end waited
 * for less than 50 microseconds, and the deadline is not within 0.1 seconds.
 * After a sched_yield() that brought no element and no room, no call yields at
 * this end for 20 ms; after one that took 0.5 ms or more, for a second.
 *
 * **Deadlines** are absolute times in nanoseconds of CLOCK_MONOTONIC, so that
 * several calls can share one. HONE_QUEUE_NOW, and any time in the past: the
 * call does not wait. HONE_QUEUE_FOREVER: the call waits until it can return.
 * Elements and room that exist are taken even after the deadline.
 *
 * **No wake is lost**, and an element wakes one thread, not all that wait. A
 * signal does not end a wait.
 *
 * **A queue can be closed.** Then puts are refused. Gets return what is in the
 * queue, and then -ESHUTDOWN. An element whose put returned success is never
 * left behind, even if the put ran at the same time as hone_queue_close().
 *
 * Gets and puts are not cancellation points: close a queue to end its waits.
 *
 * A queue is for the threads of one process. A child of fork() may only destroy
 * it. Before a thread sleeps, and when a queue for a single producer is closed,
 * membarrier() interrupts the CPUs that run other threads of the process, for
 * about 1 us. If the kernel refused it to hone_queue_create(), each put and
 * each get executes one more atomic instruction.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <hone/api.h>
#include <hone/ring.h>

HONE_BEGIN_DECLS

/** The deadline of a call that does not wait. */
#define HONE_QUEUE_NOW INT64_C(0)

/** The deadline of a call that waits for ever. */
#define HONE_QUEUE_FOREVER INT64_MAX

/** A queue. */
struct hone_queue;

/**
 * Create a queue.
 *
 * :param queue:    set to the new queue, which hone_queue_destroy() frees;
 *                  unchanged on error.
 * :param capacity: elements, 1 to HONE_RING_CAPACITY_MAX.
 * :param flags:    of enum hone_ring_flags. With HONE_RING_SINGLE_PRODUCER one
 *                  thread at a time puts; with HONE_RING_SINGLE_CONSUMER one
 *                  thread at a time gets. Any thread may close.
 * :return: 0 on success;
 *          -EINVAL if capacity or flags are invalid;
 *          -ENOMEM if there is no memory.
 */
HONE_API HONE_DETAIL_RESULT int hone_queue_create(
	struct hone_queue **queue, size_t capacity, unsigned flags);

/**
 * Free a queue.
 *
 * :param queue: not in use: no call on it runs. May contain elements, which the
 *               caller owns. NULL: no effect.
 */
HONE_API void hone_queue_destroy(struct hone_queue *queue);

/**
 * Compute the deadline that is some time from now.
 *
 * :param ns: nanoseconds.
 * :return: the time of CLOCK_MONOTONIC plus ns; HONE_QUEUE_FOREVER if the sum
 *          is too large; HONE_QUEUE_NOW if ns is not positive.
 *
 * Any thread may call it.
 */
HONE_API int64_t hone_queue_deadline(int64_t ns);

/**
 * Put one element, and wait until there is room.
 *
 * :param queue:    the queue.
 * :param element:  any pointer.
 * :param deadline: time of CLOCK_MONOTONIC in ns, HONE_QUEUE_NOW or
 *                  HONE_QUEUE_FOREVER.
 * :return: 0 on success;
 *          -ETIMEDOUT if the queue was full until the deadline;
 *          -ESHUTDOWN if the queue is closed.
 *
 * After an error, the element is not in the queue.
 */
HONE_API HONE_DETAIL_RESULT int hone_queue_put(
	struct hone_queue *queue, void *element, int64_t deadline);

/**
 * Put n elements, and wait until there is room for all.
 *
 * :param queue:    the queue.
 * :param elements: n pointers; the first ones are put.
 * :param n:        number of elements; may exceed the capacity; with 0,
 *                  elements may be NULL.
 * :param deadline: time of CLOCK_MONOTONIC in ns, HONE_QUEUE_NOW or
 *                  HONE_QUEUE_FOREVER.
 * :return: the number of elements put: fewer than n only if the deadline passed
 *          or the queue was closed meanwhile; if none was put, -ETIMEDOUT or
 *          -ESHUTDOWN.
 *
 * Elements of other threads may come between those of one call.
 */
HONE_API HONE_DETAIL_RESULT ssize_t hone_queue_put_burst(
	struct hone_queue *queue, void *const *elements, size_t n,
	int64_t deadline);

/**
 * Get the oldest element, and wait until there is one.
 *
 * :param queue:    the queue.
 * :param element:  set to the element; unchanged on error.
 * :param deadline: time of CLOCK_MONOTONIC in ns, HONE_QUEUE_NOW or
 *                  HONE_QUEUE_FOREVER.
 * :return: 0 on success;
 *          -ETIMEDOUT if there was no element until the deadline, or only one
 *          that a put has not yet completed;
 *          -ESHUTDOWN if the queue is closed, and each element of it was got.
 */
HONE_API HONE_DETAIL_RESULT int hone_queue_get(
	struct hone_queue *queue, void **element, int64_t deadline);

/**
 * Get as many of the oldest elements as there are, at most n, and wait until
 * there is at least one.
 *
 * :param queue:    the queue.
 * :param elements: room for n pointers; set to the elements, oldest first; the
 *                  rest is unspecified.
 * :param n:        most elements; with 0, elements may be NULL.
 * :param deadline: time of CLOCK_MONOTONIC in ns, HONE_QUEUE_NOW or
 *                  HONE_QUEUE_FOREVER.
 * :return: the number of elements, 1 to n; 0 if n is 0;
 *          -ETIMEDOUT and -ESHUTDOWN as hone_queue_get().
 */
HONE_API HONE_DETAIL_RESULT ssize_t hone_queue_get_burst(
	struct hone_queue *queue, void **elements, size_t n, int64_t deadline);

/**
 * Close a queue: refuse puts, and end the waits of all threads.
 *
 * :param queue: the queue; if it is closed, no effect.
 *
 * A put that runs at the same time either succeeds, and its element is got, or
 * is refused. Any thread may call it, whatever the flags. A closed queue stays
 * closed.
 */
HONE_API void hone_queue_close(struct hone_queue *queue);

/**
 * Count the elements, including those that a put has not yet completed.
 *
 * :param queue: the queue.
 * :return: 0 to the capacity; exact at one instant during the call.
 *
 * Any thread may call it, whatever the flags.
 */
HONE_API size_t hone_queue_count(const struct hone_queue *queue);

HONE_END_DECLS

#include <hone/detail/queue.h>
#endif
