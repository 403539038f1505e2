/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <hone/mempool.h>
#include <hone/ring.h>

#define PACKETS 100000
#define BURST 32

struct packet {
	unsigned number;
	char payload[1500];
};

static struct hone_mempool *pool;
static struct hone_ring *ring;

/* Take packets from the pool, fill them, and hand them over. */
static void *
produce(void *unused)
{
	struct hone_mempool_cache *cache = hone_mempool_thread_cache(pool);
	struct packet *packet;

	(void)unused;
	if (!cache)
		abort(); /* max_caches caches are open already */
	for (unsigned i = 0; i < PACKETS; i++) {
		while (!(packet = hone_mempool_get(cache)))
			sched_yield(); /* all packets are in use */
		packet->number = i;
		while (hone_ring_enqueue(ring, packet) < 0)
			sched_yield(); /* the ring is full */
	}
	return NULL;
}

/* Take packets from the ring, and return them to the pool. */
static unsigned
consume(struct hone_mempool_cache *cache)
{
	unsigned received = 0, in_order = 0;
	void *burst[BURST];

	while (received < PACKETS) {
		size_t n = hone_ring_dequeue_burst(ring, burst, BURST);
		for (size_t i = 0; i < n; i++, received++) {
			struct packet *packet = burst[i];
			in_order += packet->number == received;
		}
		hone_mempool_put_bulk(cache, burst, n);
		if (n == 0)
			sched_yield(); /* the ring is empty */
	}
	return in_order;
}

int
main(void)
{
	struct hone_mempool_attr attr;
	struct hone_mempool_cache *cache;
	pthread_t producer;
	unsigned in_order;

	hone_mempool_attr_init(&attr);
	attr.object_size = sizeof(struct packet);
	attr.capacity = 1024;
	attr.max_caches = 2; /* one cache for each thread */
	if (hone_mempool_create(&pool, &attr) < 0 ||
		hone_ring_create(&ring, 256, HONE_RING_SPSC) < 0 ||
		!(cache = hone_mempool_thread_cache(pool)) ||
		pthread_create(&producer, NULL, produce, NULL) != 0)
		return EXIT_FAILURE;
	in_order = consume(cache);
	pthread_join(producer, NULL);
	printf("%u of %u packets in order\n", in_order, PACKETS);
	hone_ring_destroy(ring);
	/* -EBUSY if a packet was not returned */
	return hone_mempool_destroy(pool) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
