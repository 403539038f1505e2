/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hone_ring_recover(): after a producer was killed between taking its places
 * and publishing them, the ring works again and every published element is
 * there.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ring.h"
#include "support.h"

#define SUBSTITUTE ((void *)(uintptr_t)-1)
#define ELEMENT(n) ((void *)(uintptr_t)(n))

/* What a producer has done when it is killed right after its exchange. */
static void
take_places(struct hone_ring *ring, size_t n)
{
	ring->tail += n;
}

static void
dequeues(struct hone_ring *ring, void *expected)
{
	void *element = NULL;

	assert_int_equal(hone_ring_dequeue(ring, &element), 0);
	assert_ptr_equal(element, expected);
}

/* Before and after the places of the killed producer, others have enqueued, at
 * each position of several rounds. */
TEST(the_places_of_the_killed_get_substitutes)
{
	static const unsigned flags[] = {
		HONE_RING_MPMC, HONE_RING_SINGLE_CONSUMER};

	for (size_t f = 0; f < 2; f++)
		for (uint64_t from = 0; from < 40; from++)
			for (size_t lost = 1; lost <= 4; lost++) {
				struct hone_ring *ring;
				void *pair[2] = {ELEMENT(3), ELEMENT(4)};
				void *element;

				assert_int_equal(
					hone_ring_create(&ring, 13, flags[f]),
					0);
				for (uint64_t i = 0; i < from; i++) {
					assert_int_equal(hone_ring_enqueue(ring,
								 ELEMENT(9)),
						0);
					dequeues(ring, ELEMENT(9));
				}
				assert_int_equal(
					hone_ring_enqueue(ring, ELEMENT(1)), 0);
				take_places(ring, lost);
				assert_int_equal(
					hone_ring_enqueue(ring, ELEMENT(2)), 0);
				assert_int_equal(
					hone_ring_enqueue_bulk(ring, pair, 2),
					0);
				take_places(ring, 1);
				assert_int_equal(
					hone_ring_enqueue(ring, ELEMENT(5)), 0);
				dequeues(ring, ELEMENT(1));
				assert_int_equal(
					hone_ring_dequeue(ring, &element),
					-EAGAIN);
				assert_int_equal(
					hone_ring_recover(ring, SUBSTITUTE),
					lost + 1);
				for (size_t i = 0; i < lost; i++)
					dequeues(ring, SUBSTITUTE);
				dequeues(ring, ELEMENT(2));
				dequeues(ring, ELEMENT(3));
				dequeues(ring, ELEMENT(4));
				dequeues(ring, SUBSTITUTE);
				dequeues(ring, ELEMENT(5));
				assert_int_equal(
					hone_ring_dequeue(ring, &element),
					-ENOENT);
				hone_ring_destroy(ring);
			}
}

TEST(a_ring_without_a_loss_is_unchanged)
{
	for (unsigned flags = 0; flags <= HONE_RING_SPSC; flags++) {
		struct hone_ring *ring;

		assert_int_equal(hone_ring_create(&ring, 4, flags), 0);
		assert_int_equal(hone_ring_recover(ring, SUBSTITUTE), 0);
		for (uintptr_t i = 1; i <= 4; i++)
			assert_int_equal(
				hone_ring_enqueue(ring, ELEMENT(i)), 0);
		assert_int_equal(hone_ring_recover(ring, SUBSTITUTE), 0);
		for (uintptr_t i = 1; i <= 4; i++)
			dequeues(ring, ELEMENT(i));
		hone_ring_destroy(ring);
	}
}

#define PRODUCERS 3
#define ROUNDS 60
#define NUMBER(element) ((uintptr_t)(element) >> 8)
#define PRODUCER(element) ((uintptr_t)(element)&0xff)

static void
produce_until_killed(struct hone_ring *ring, uintptr_t producer)
{
	for (uintptr_t number = 1;; number += 3) {
		void *group[3], *taken;

		for (uintptr_t i = 0; i < 3; i++)
			group[i] = ELEMENT((number + i) << 8 | producer);
		while (hone_ring_enqueue_bulk(ring, group, 3) != 0)
			if (hone_ring_dequeue_burst(ring, &taken, 1) > 1)
				abort();
	}
}

/* The numbers of each producer are in order. */
static void
what_is_left_is_in_order(struct hone_ring *ring)
{
	uintptr_t last[PRODUCERS] = {0};
	void *element = NULL;

	while (hone_ring_count(ring) > 0) {
		assert_int_equal(hone_ring_dequeue(ring, &element), 0);
		if (element == SUBSTITUTE)
			continue;
		assert_true(PRODUCER(element) < PRODUCERS);
		assert_true(NUMBER(element) > last[PRODUCER(element)]);
		last[PRODUCER(element)] = NUMBER(element);
	}
}

TEST(killed_processes_leave_a_ring_that_works)
{
	size_t size = hone_ring_size(64, HONE_RING_MPMC);
	struct hone_ring *ring = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t random = support_seed();
	void *element;

	assert_true(ring != MAP_FAILED);
	assert_int_equal(hone_ring_init(ring, 64, HONE_RING_MPMC), 0);
	for (int round = 0; round < ROUNDS; round++) {
		pid_t children[PRODUCERS];

		for (uintptr_t i = 0; i < PRODUCERS; i++) {
			children[i] = fork();
			assert_true(children[i] >= 0);
			if (children[i] == 0)
				produce_until_killed(ring, i);
		}
		usleep((useconds_t)(support_random(&random) % 3000));
		for (int i = 0; i < PRODUCERS; i++)
			assert_int_equal(kill(children[i], SIGKILL), 0);
		for (int i = 0; i < PRODUCERS; i++)
			assert_int_equal(
				waitpid(children[i], NULL, 0), children[i]);
		assert_true(hone_ring_recover(ring, SUBSTITUTE) <= 64);
		what_is_left_is_in_order(ring);
		assert_int_equal(hone_ring_dequeue(ring, &element), -ENOENT);
		assert_int_equal(hone_ring_free_count(ring), 64);
	}
	assert_int_equal(munmap(ring, size), 0);
}
