/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Correct threads that use the installed library, which was built without
 * ThreadSanitizer: the tool has nothing to report. With an argument, a race
 * between the same calls, which the tool has to report.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <hone/hone.h>

#define N 4000
#define BURST 8
#define OBJECTS 600

struct item {
	unsigned value;
};

static struct hone_ring *ring;
static struct hone_mempool *pool;
static int in_bulk;
static unsigned sum;

static void
must(int holds)
{
	if (!holds)
		abort();
}

/* Each item is written here and read by the thread that dequeues it. */
static void *
produce(void *arg)
{
	static struct item items[4][N];
	struct item *mine = items[*(int *)arg];
	void *some[BURST];

	for (int i = 0; i < N; i += BURST) {
		size_t done = 0;

		for (int j = 0; j < BURST; j++) {
			mine[i + j].value = (unsigned)i;
			some[j] = &mine[i + j];
		}
		while (done < BURST)
			if (in_bulk)
				done += hone_ring_enqueue_burst(
					ring, some + done, BURST - done);
			else
				done += hone_ring_enqueue(ring, some[done]) ==
					0;
	}
	return NULL;
}

static void *
consume(void *arg)
{
	unsigned mine = 0;

	(void)arg;
	for (size_t left = N; left > 0;) {
		void *some[BURST];
		size_t most = left < BURST ? left : BURST, n = 0;

		if (in_bulk && left > 2 * BURST)
			n = hone_ring_dequeue_bulk(ring, some, 2) == 0 ? 2 : 0;
		else if (in_bulk)
			n = hone_ring_dequeue_burst(ring, some, most);
		else
			n = hone_ring_dequeue(ring, some) == 0;
		for (size_t i = 0; i < n; i++)
			mine += ((struct item *)some[i])->value++;
		left -= n;
	}
	__atomic_fetch_add(&sum, mine, __ATOMIC_RELAXED);
	return NULL;
}

static void
run(unsigned n_threads, void *(*const *fns)(void *))
{
	static int numbers[4] = {0, 1, 2, 3};
	pthread_t threads[4];

	for (unsigned i = 0; i < n_threads; i++)
		must(pthread_create(&threads[i], NULL, fns[i], &numbers[i]) ==
			0);
	for (unsigned i = 0; i < n_threads; i++)
		must(pthread_join(threads[i], NULL) == 0);
}

static void
rings(void)
{
	static void *(*const fns[])(void *) = {
		produce, consume, produce, consume};

	for (unsigned flags = 0; flags < 4; flags++)
		for (in_bulk = 0; in_bulk < 2; in_bulk++) {
			/* two of each only if the ring allows it */
			unsigned n = flags == 0 ? 4 : 2;

			must(hone_ring_create(&ring, 30, flags) == 0);
			run(n, fns);
			hone_ring_destroy(ring);
		}
}

static struct hone_queue *queue;

/* Each item is written here and read by the thread that gets it. The last put
 * is before the end of the queue. */
static void *
put(void *arg)
{
	static struct item items[N];

	for (int i = 0; i < N; i += 2) {
		void *pair[2] = {&items[i], &items[i + 1]};

		items[i].value = items[i + 1].value = 1;
		must(hone_queue_put(queue, pair[0], HONE_QUEUE_FOREVER) == 0);
		must(hone_queue_put_burst(
			     queue, pair + 1, 1, HONE_QUEUE_FOREVER) == 1);
	}
	in_bulk = *(int *)arg;
	hone_queue_close(queue);
	return NULL;
}

static void *
get(void *arg)
{
	void *some[BURST];

	(void)arg;
	while (hone_queue_get(queue, some, HONE_QUEUE_FOREVER) == 0) {
		ssize_t n = hone_queue_get_burst(
			queue, some + 1, BURST - 1, HONE_QUEUE_NOW);

		for (ssize_t i = 0; i < (n > 0 ? n + 1 : 1); i++)
			((struct item *)some[i])->value++;
	}
	in_bulk++;
	return NULL;
}

static void
queues(void)
{
	static void *(*const fns[])(void *) = {put, get};

	for (unsigned flags = 0; flags < 4; flags++) {
		must(hone_queue_create(&queue, 8, flags) == 0);
		run(2, fns);
		hone_queue_destroy(queue);
	}
}

/* Objects pass through magazines that caches exchange and steal, and through
 * caches that the end of a thread closes. */
static void *
exchange(void *arg)
{
	struct hone_mempool_cache *c = hone_mempool_thread_cache(pool);
	void *some[40];

	(void)arg;
	must(c != NULL);
	for (int turn = 0; turn < 1000; turn++) {
		size_t n = 1 + (size_t)turn % 40, got = 0;

		if (turn % 3 == 0)
			got = hone_mempool_get_burst(c, some, n);
		else if (turn % 3 == 1)
			got = hone_mempool_get_bulk(c, some, n) == 0 ? n : 0;
		else
			while (got < n && (some[got] = hone_mempool_get(c)))
				got++;
		for (size_t i = 0; i < got; i++)
			((struct item *)some[i])->value++;
		if (turn % 2)
			hone_mempool_put_bulk(c, some, got);
		else
			while (got > 0)
				hone_mempool_put(c, some[--got]);
		if (turn % 100 == 0) {
			struct hone_mempool_magazine *m =
				hone_mempool_get_magazine(c);

			for (size_t i = 0; m && i < m->count; i++)
				((struct item *)m->objects[i])->value++;
			if (m)
				hone_mempool_put_magazine(c, m);
		}
	}
	return NULL;
}

static void *
through_cursor(void *arg)
{
	struct hone_mempool_cache *c;
	struct hone_mempool_cursor cursor;

	(void)arg;
	must(hone_mempool_cache_open(pool, &c) == 0);
	must(hone_mempool_reserve(c, 5) == 0);
	hone_mempool_cursor_begin(&cursor, c);
	for (int turn = 0; turn < 4000; turn++) {
		struct item *some[3];
		int n = 0;

		while (n < 3 &&
			(some[n] = (struct item *)hone_mempool_cursor_get(
				 &cursor)))
			some[n++]->value++;
		while (n > 0)
			hone_mempool_cursor_put(&cursor, some[--n]);
	}
	hone_mempool_cursor_end(&cursor);
	hone_mempool_cache_close(c);
	return NULL;
}

static void
pools(void)
{
	static void *(*const fns[])(void *) = {
		exchange, through_cursor, exchange, exchange};
	static const unsigned flags[] = {0, HONE_MEMPOOL_EXACT};

	for (unsigned i = 0; i < 2; i++) {
		struct hone_mempool_attr attr;

		hone_mempool_attr_init(&attr);
		attr.object_size = sizeof(struct item);
		attr.capacity = OBJECTS;
		attr.cache_size = 20;
		attr.flags = flags[i];
		must(hone_mempool_create(&pool, &attr) == 0);
		/* the caches of the first threads are closed by their ends */
		run(4, fns);
		run(4, fns);
		must(hone_mempool_available(pool) == OBJECTS);
		must(hone_mempool_destroy(pool) == 0);
	}
}

static void *
race(void *arg)
{
	static unsigned shared;

	(void)arg;
	for (int i = 0; i < N; i++)
		shared++;
	sum = shared;
	return NULL;
}

int
main(int argc, char **argv)
{
	static void *(*const racing[])(void *) = {race, race};

	(void)argv;
	if (argc > 1) {
		run(2, racing);
	} else {
		rings();
		queues();
		pools();
	}
	printf("%u\n", sum);
	return 0;
}
