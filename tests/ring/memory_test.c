/* SPDX-License-Identifier: BSD-3-Clause */
/* How rings are created, and the memory that they use. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <hone/ring.h>
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
element(size_t number)
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

			assert_int_equal(hone_ring_enqueue(a, element(i)), 0);
			assert_int_equal(hone_ring_dequeue(b, &got), 0);
			assert_ptr_equal(got, element(i));
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
			assert_int_equal(
				hone_ring_enqueue(ring, element(i)), 0);
		assert_int_equal(hone_ring_enqueue(ring, NULL), -ENOBUFS);
		for (size_t i = 0; i < capacity; i++) {
			assert_int_equal(hone_ring_dequeue(ring, &got), 0);
			assert_ptr_equal(got, element(i));
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
