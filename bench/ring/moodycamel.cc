// SPDX-License-Identifier: BSD-3-Clause
//
// moodycamel's queue that waits. It has no limit, so a producer never waits.
// Some releases have it in a folder of its own.
#if __has_include(<concurrentqueue/moodycamel/blockingconcurrentqueue.h>)
#include <concurrentqueue/moodycamel/blockingconcurrentqueue.h>
#else
#include <concurrentqueue/blockingconcurrentqueue.h>
#endif
#include "rings.h"

namespace
{

typedef moodycamel::BlockingConcurrentQueue<void *> Queue;

unsigned
add(Queue *queue, void **elements, unsigned n)
{
	bool done = n == 1 ? queue->enqueue(*elements)
			   : queue->enqueue_bulk(elements, n);

	return done ? n : 0;
}

unsigned
take(Queue *queue, void **elements, unsigned n)
{
	if (n > 1)
		return unsigned(queue->wait_dequeue_bulk(elements, n));
	queue->wait_dequeue(*elements);
	return 1;
}

#define RING moodycamel
#define RING_TYPE Queue
#define RING_ADD(q, p, n) add(q, p, n)
#define RING_TAKE(q, p, n) take(q, p, n)
#include "loop.h"

void *
open_queue(const ring_subject *)
{
	return new Queue(RING_CAPACITY);
}

} // namespace

const ring_subject ring_moodycamel[] = {
	{"moodycamel", true, 0, open_queue, moodycamel_turn, moodycamel_add,
		moodycamel_take},
	{},
};
