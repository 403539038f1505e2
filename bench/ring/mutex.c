/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of most programs: an array, a mutex and two conditions. */
#include <pthread.h>
#include <stdlib.h>
#include "rings.h"

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled, emptied;
	unsigned first, count;
	void *slots[RING_CAPACITY];
};

/* Waits until there is a free slot, and adds as many elements as fit. */
static unsigned
add(struct queue *q, void **elements, unsigned n)
{
	pthread_mutex_lock(&q->mutex);
	while (q->count == RING_CAPACITY)
		pthread_cond_wait(&q->emptied, &q->mutex);
	if (n > RING_CAPACITY - q->count)
		n = RING_CAPACITY - q->count;
	for (unsigned i = 0; i < n; i++)
		q->slots[(q->first + q->count + i) % RING_CAPACITY] =
			elements[i];
	q->count += n;
	pthread_mutex_unlock(&q->mutex);
	pthread_cond_signal(&q->filled);
	return n;
}

static unsigned
take(struct queue *q, void **elements, unsigned n)
{
	pthread_mutex_lock(&q->mutex);
	while (q->count == 0)
		pthread_cond_wait(&q->filled, &q->mutex);
	if (n > q->count)
		n = q->count;
	for (unsigned i = 0; i < n; i++)
		elements[i] = q->slots[(q->first + i) % RING_CAPACITY];
	q->first = (q->first + n) % RING_CAPACITY;
	q->count -= n;
	pthread_mutex_unlock(&q->mutex);
	pthread_cond_signal(&q->emptied);
	return n;
}

#define RING mutex
#define RING_TYPE struct queue
#define RING_ADD(r, p, n) add(r, p, n)
#define RING_TAKE(r, p, n) take(r, p, n)
#include "loop.h"

static void *
open_queue(const struct ring_subject *s)
{
	struct queue *q = calloc(1, sizeof(*q));

	(void)s;
	if (q) {
		pthread_mutex_init(&q->mutex, NULL);
		pthread_cond_init(&q->filled, NULL);
		pthread_cond_init(&q->emptied, NULL);
	}
	return q;
}

const struct ring_subject ring_mutex[] = {
	{"mutex", true, 0, open_queue, mutex_turn, mutex_add, mutex_take},
	{0},
};
