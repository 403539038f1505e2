/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <hone/ring.h>

static struct hone_ring *ring;
static int event;
static char end; /* its address is the last element of the ring */

/* No function of the ring waits. The eventfd counts elements, so an
 * element that comes between a dequeue and read() is not missed. */
static void
send(void *element)
{
	uint64_t one = 1;

	while (hone_ring_enqueue(ring, element) != 0)
		sched_yield(); /* full: the consumer is awake */
	if (write(event, &one, sizeof(one)) < 0)
		perror("write");
}

static void *
consume(void *arg)
{
	uint64_t count, sum = 0;

	(void)arg;
	while (read(event, &count, sizeof(count)) > 0)
		for (; count > 0; count--) {
			void *element;

			/* -EAGAIN: another producer is not ready. */
			while (hone_ring_dequeue(ring, &element) != 0)
				sched_yield();
			if (element == &end) {
				printf("the sum is %llu\n",
					(unsigned long long)sum);
				return NULL;
			}
			sum += (uintptr_t)element;
		}
	return NULL;
}

int
main(void)
{
	pthread_t consumer;

	event = eventfd(0, EFD_CLOEXEC);
	if (event < 0 || hone_ring_create(&ring, 256, HONE_RING_MPMC) < 0 ||
		pthread_create(&consumer, NULL, consume, NULL) != 0)
		return 1;
	for (uintptr_t i = 1; i <= 1000; i++)
		send((void *)i);
	send(&end);
	pthread_join(consumer, NULL);
	hone_ring_destroy(ring);
	close(event);
	return 0;
}
