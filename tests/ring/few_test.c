/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of a few elements between two threads that yield while they wait: a
 * loaded machine runs it in a second, and ThreadSanitizer sees every order.
 */
#include <pthread.h>
#include <sched.h>
#include <hone/ring.h>
#include "support.h"

#define CAPACITY 37 /* so that groups also meet the end of the slots */
#define GROUPS 20000
#define MOST 8

static size_t
size_of(size_t group)
{
	return 1 + group % MOST;
}

static void *
produce(void *ring)
{
	static uintptr_t next;

	for (size_t group = 0; group < GROUPS; group++) {
		void *elements[MOST];

		for (size_t i = 0; i < size_of(group); i++)
			elements[i] = (void *)++next;
		while (hone_ring_enqueue_bulk(ring, elements, size_of(group)))
			sched_yield();
	}
	return NULL;
}

TEST(groups_of_a_few_arrive_once_and_in_order)
{
	struct hone_ring *ring;
	pthread_t producer;
	uintptr_t next = 0;

	assert_int_equal(hone_ring_create(&ring, CAPACITY, HONE_RING_SPSC), 0);
	assert_int_equal(pthread_create(&producer, NULL, produce, ring), 0);
	for (size_t group = 0; group < GROUPS; group++) {
		void *elements[MOST];

		while (hone_ring_dequeue_bulk(ring, elements, size_of(group)))
			sched_yield();
		for (size_t i = 0; i < size_of(group); i++)
			if ((uintptr_t)elements[i] != ++next)
				fail_msg("%zu is not %zu", (size_t)elements[i],
					(size_t)next);
	}
	assert_int_equal(pthread_join(producer, NULL), 0);
	assert_int_equal(hone_ring_count(ring), 0);
	hone_ring_destroy(ring);
}
