/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <hone/queue.h>

#define CONSUMERS 2
#define SECOND INT64_C(1000000000)

static struct hone_queue *queue;

static void *
consume(void *arg)
{
	uintptr_t *sum = arg;
	void *element;
	int rc;

	/* Sleeps while the queue is empty. */
	while ((rc = hone_queue_get(queue, &element,
			hone_queue_deadline(60 * SECOND))) == 0)
		*sum += (uintptr_t)element;
	if (rc == -ETIMEDOUT)
		printf("nothing came for a minute\n");
	return NULL; /* -ESHUTDOWN: closed, and each element was got */
}

/* Never waits: if there is no room, the oldest element goes. */
static void
put_newest(struct hone_queue *latest, void *element)
{
	void *oldest;

	while (hone_queue_put(latest, element, HONE_QUEUE_NOW) == -ETIMEDOUT)
		if (hone_queue_get(latest, &oldest, HONE_QUEUE_NOW) == 0)
			printf("dropped %d\n", (int)(uintptr_t)oldest);
}

int
main(void)
{
	pthread_t consumers[CONSUMERS];
	uintptr_t sums[CONSUMERS] = {0}, sum = 0;
	struct hone_queue *latest;

	if (hone_queue_create(&queue, 256, HONE_RING_MPMC) < 0 ||
		hone_queue_create(&latest, 2, HONE_RING_MPMC) < 0)
		return 1;
	for (int i = 0; i < CONSUMERS; i++)
		if (pthread_create(&consumers[i], NULL, consume, &sums[i]) != 0)
			return 1;
	for (uintptr_t i = 1; i <= 1000; i++)
		if (hone_queue_put(queue, (void *)i, HONE_QUEUE_FOREVER) != 0)
			return 1;
	hone_queue_close(queue);
	for (int i = 0; i < CONSUMERS; i++) {
		pthread_join(consumers[i], NULL);
		sum += sums[i];
	}
	printf("the sum is %llu\n", (unsigned long long)sum);
	for (uintptr_t i = 1; i <= 4; i++)
		put_newest(latest, (void *)i);
	hone_queue_destroy(latest);
	hone_queue_destroy(queue);
	return 0;
}
