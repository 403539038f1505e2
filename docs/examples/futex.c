/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <hone/ring.h>

#define CONSUMERS 2

static struct hone_ring *ring;
/* Goes up after each element, and at the end. */
static _Atomic uint32_t events;
static atomic_uint sleepers;
static atomic_bool ended;

static void
announce(int threads)
{
	atomic_fetch_add(&events, 1);
	/* Without sleepers, a producer makes no system call. */
	if (atomic_load(&sleepers) > 0)
		syscall(SYS_futex, &events, FUTEX_WAKE_PRIVATE, threads, NULL,
			NULL, 0);
}

static void
send(void *element)
{
	while (hone_ring_enqueue(ring, element) != 0)
		sched_yield(); /* full: the consumers are awake */
	announce(1);
}

/* Returns immediately if `events` has changed since the caller read it, so no
 * element is missed. */
static void
sleep_while(uint32_t seen)
{
	atomic_fetch_add(&sleepers, 1);
	syscall(SYS_futex, &events, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	atomic_fetch_sub(&sleepers, 1);
}

static void *
consume(void *arg)
{
	uintptr_t *sum = arg;

	for (;;) {
		uint32_t seen = atomic_load(&events);
		/* Before the dequeue, so that an empty ring stays empty. */
		bool last = atomic_load(&ended);
		void *element;
		int rc = hone_ring_dequeue(ring, &element);

		if (rc == 0)
			*sum += (uintptr_t)element;
		else if (rc == -ENOENT && last)
			return NULL;
		else /* also after -EAGAIN: that producer has yet to announce */
			sleep_while(seen);
	}
}

int
main(void)
{
	pthread_t consumers[CONSUMERS];
	uintptr_t sums[CONSUMERS] = {0}, sum = 0;

	if (hone_ring_create(&ring, 256, HONE_RING_MPMC) < 0)
		return 1;
	for (int i = 0; i < CONSUMERS; i++)
		if (pthread_create(&consumers[i], NULL, consume, &sums[i]) != 0)
			return 1;
	for (uintptr_t i = 1; i <= 1000; i++)
		send((void *)i);
	/* With several producers: after the last of them has ended. */
	atomic_store(&ended, true);
	announce(CONSUMERS);
	for (int i = 0; i < CONSUMERS; i++) {
		pthread_join(consumers[i], NULL);
		sum += sums[i];
	}
	printf("the sum is %llu\n", (unsigned long long)sum);
	hone_ring_destroy(ring);
	return 0;
}
