/* SPDX-License-Identifier: BSD-3-Clause */
/* Hone's ring with waiting, in two of its modes. */
#include <hone/queue.h>
#include "rings.h"

static inline unsigned
add(struct hone_queue *queue, void **elements, unsigned n)
{
	if (n == 1)
		return hone_queue_put(queue, *elements, HONE_QUEUE_FOREVER) ==
		       0;
	return (unsigned)hone_queue_put_burst(
		queue, elements, n, HONE_QUEUE_FOREVER);
}

static inline unsigned
take(struct hone_queue *queue, void **elements, unsigned n)
{
	if (n == 1)
		return hone_queue_get(queue, elements, HONE_QUEUE_FOREVER) == 0;
	return (unsigned)hone_queue_get_burst(
		queue, elements, n, HONE_QUEUE_FOREVER);
}

#define RING queue
#define RING_TYPE struct hone_queue
#define RING_ADD(q, p, n) add(q, p, n)
#define RING_TAKE(q, p, n) take(q, p, n)
#include "loop.h"

static void *
open_queue(const struct ring_subject *s)
{
	struct hone_queue *queue;

	return hone_queue_create(&queue, RING_CAPACITY, s->flags) == 0 ? queue
								       : NULL;
}

#define ROW(name, many, flags)                                                 \
	{                                                                      \
		name, many, flags, open_queue, queue_turn, queue_add,          \
			queue_take                                             \
	}

const struct ring_subject ring_queue[] = {
	ROW("hone-queue-spsc", false, HONE_RING_SPSC),
	ROW("hone-queue", true, HONE_RING_MPMC),
	{0},
};
