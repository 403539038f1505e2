/* SPDX-License-Identifier: BSD-3-Clause */
/* How rings are created, and the memory that they use. */
#include <hone/ring.h>
#include "ring.h"
#include "support.h"

#define MAX_CAPACITY 70
#define MODES 4 /* every value of enum hone_ring_flags */

static int fail_allocation; /* posix_memalign() fails when set */

/* The linker puts this in place of the calls of the library. */
STANDS_FOR(int, posix_memalign, void **memory, size_t alignment, size_t size)
{
	if (fail_allocation)
		return ENOMEM;
	return __real_posix_memalign(memory, alignment, size);
}

/* Elements are numbers here: the ring does not dereference them. */
static void *
nth(size_t number)
{
	return (void *)(uintptr_t)number;
}

TEST(what_cannot_be_made_is_refused)
{
	static const size_t wrong[] = {
		0, (size_t)HONE_RING_CAPACITY_MAX + 1, SIZE_MAX};
	struct hone_ring ring, *made = &ring;
	unsigned char before[sizeof(ring)];

	memset(&ring, 0x5a, sizeof(ring));
	memcpy(before, &ring, sizeof(ring));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(hone_ring_size(wrong[i], 0), 0);
		assert_int_equal(hone_ring_init(&ring, wrong[i], 0), -EINVAL);
		assert_int_equal(hone_ring_create(&made, wrong[i], 0), -EINVAL);
	}
	assert_int_equal(hone_ring_size(1, 4), 0);
	assert_int_equal(hone_ring_init(&ring, 1, 4), -EINVAL);
	assert_int_equal(hone_ring_create(&made, 1, 8), -EINVAL);
	fail_allocation = 1;
	assert_int_equal(hone_ring_create(&made, 1, 0), -ENOMEM);
	fail_allocation = 0;
	assert_ptr_equal(made, &ring);
	assert_memory_equal(before, &ring, sizeof(ring));
	hone_ring_destroy(NULL);
}

TEST(the_largest_ring_has_a_size)
{
	size_t most = HONE_RING_CAPACITY_MAX;
	size_t bare = hone_ring_size(most, HONE_RING_SINGLE_PRODUCER);

	if (SIZE_MAX / sizeof(void *) < most) {
		assert_int_equal(bare, 0);
		return;
	}
	assert_int_equal(
		bare, sizeof(struct hone_ring) + most * sizeof(void *));
	assert_int_equal(
		hone_ring_size(most, 0), sizeof(struct hone_ring) + most * 16);
}

/* One ring, mapped twice. */
TEST(a_ring_works_wherever_it_is_mapped)
{
	size_t size = hone_ring_size(100, 0);
	int fd = memfd_create("ring", 0);
	struct hone_ring *a, *b;

	assert_true(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	for (unsigned flags = 0; flags < MODES; flags++) {
		a = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		b = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_true(a != MAP_FAILED && b != MAP_FAILED && a != b);
		assert_int_equal(hone_ring_init(a, 100, flags), 0);
		for (size_t i = 0; i < 1000; i++) {
			void *got = NULL;

			assert_int_equal(hone_ring_enqueue(a, nth(i)), 0);
			assert_int_equal(hone_ring_dequeue(b, &got), 0);
			assert_ptr_equal(got, nth(i));
		}
		assert_int_equal(munmap(a, size), 0);
		assert_int_equal(munmap(b, size), 0);
	}
	close(fd);
}

static void
fill_and_empty(struct hone_ring *ring, size_t capacity)
{
	for (size_t lap = 0; lap < 3; lap++) {
		void *got = NULL;

		for (size_t i = 0; i < capacity; i++)
			assert_int_equal(hone_ring_enqueue(ring, nth(i)), 0);
		assert_int_equal(hone_ring_enqueue(ring, NULL), -ENOBUFS);
		for (size_t i = 0; i < capacity; i++) {
			assert_int_equal(hone_ring_dequeue(ring, &got), 0);
			assert_ptr_equal(got, nth(i));
		}
	}
}

TEST(nothing_is_written_outside_the_size_asked_for)
{
	static unsigned char memory[4096] __attribute__((aligned(128)));

	for (unsigned flags = 0; flags < MODES; flags++) {
		for (size_t n = 1; n <= MAX_CAPACITY; n++) {
			/* aligned to no more than the header promises */
			void *ring = memory + HONE_RING_ALIGN;
			size_t size = hone_ring_size(n, flags);

			assert_int_equal(size % HONE_RING_ALIGN, 0);
			memset(memory, 0xa5, sizeof(memory));
			assert_int_equal(hone_ring_init(ring, n, flags), 0);
			fill_and_empty(ring, n);
			for (size_t i = 0; i < sizeof(memory); i++)
				if (i - HONE_RING_ALIGN >= size)
					assert_int_equal(memory[i], 0xa5);
		}
	}
}

/*
 * hone_ring_recover(): after a producer was killed between taking its places
 * and publishing them, the ring works again and every published element is
 * there.
 */

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
