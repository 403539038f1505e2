/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating, freeing and counting. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "ring/ring.h"

/* The distance between the ends, so that a ring shares no pair of cache lines
 * with other memory on the heap. */
#define CREATE_ALIGN 128

_Static_assert(sizeof(struct hone_ring) % CREATE_ALIGN == 0,
	"slots must not share a line with the head");
_Static_assert(offsetof(struct hone_ring, tail) == 128, "ends lie apart");
_Static_assert(offsetof(struct hone_ring, head) == 256, "ends lie apart");

static bool
is_valid(size_t capacity, unsigned flags)
{
	return capacity >= 1 && capacity <= HONE_RING_CAPACITY_MAX &&
	       (flags & ~(unsigned)HONE_RING_SPSC) == 0;
}

static size_t
slots_for(size_t capacity)
{
	size_t slots = 1;

	while (slots < capacity)
		slots *= 2;
	return slots;
}

size_t
hone_ring_size(size_t capacity, unsigned flags)
{
	size_t slots, slots_end, marks = 0, size;

	if (!is_valid(capacity, flags))
		return 0;
	slots = slots_for(capacity);
	slots_end = slots * sizeof(void *);
	if (!(flags & HONE_RING_SINGLE_PRODUCER)) {
		slots_end = marks_offset(slots);
		marks = slots;
	}
	/* If the slots alone are too many, slots_end has wrapped. */
	if (slots_end / sizeof(void *) < slots ||
		__builtin_mul_overflow(marks, sizeof(uint64_t), &size) ||
		__builtin_add_overflow(size, slots_end, &size) ||
		__builtin_add_overflow(size,
			sizeof(struct hone_ring) + HONE_RING_ALIGN - 1, &size))
		return 0;
	return size & ~(size_t)(HONE_RING_ALIGN - 1);
}

int
hone_ring_init(struct hone_ring *ring, size_t capacity, unsigned flags)
{
	if (!is_valid(capacity, flags))
		return -EINVAL;
	assert((uintptr_t)ring % HONE_RING_ALIGN == 0);
	memset(ring, 0, sizeof(*ring));
	ring->capacity = (uint32_t)capacity;
	ring->mask = (uint32_t)(slots_for(capacity) - 1);
	ring->flags = flags;
	if (!(flags & HONE_RING_SINGLE_PRODUCER))
		memset(ends_of(ring), 0,
			((size_t)ring->mask + 1) * sizeof(uint64_t));
	return 0;
}

int
hone_ring_create(struct hone_ring **ring, size_t capacity, unsigned flags)
{
	size_t size = hone_ring_size(capacity, flags);
	void *memory;

	if (!is_valid(capacity, flags))
		return -EINVAL;
	if (size == 0 || posix_memalign(&memory, CREATE_ALIGN, size) != 0)
		return -ENOMEM;
	*ring = memory;
	return hone_ring_init(*ring, capacity, flags);
}

void
hone_ring_destroy(struct hone_ring *ring)
{
	free(ring);
}

size_t
hone_ring_count(const struct hone_ring *ring)
{
	/*
	 * Acquire: pairs with the release of head by consumers, so that this
	 * thread sees no tail older than head. head never passes tail.
	 */
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	for (;;) {
		/* Acquire: the load of head below comes after this one. */
		uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
		/* Acquire: as for the first load, for the next iteration. */
		uint64_t again = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

		/* head only grows: it had this value when tail was read. */
		if (again == head)
			return (size_t)(tail - head);
		head = again;
	}
}

size_t
hone_ring_free_count(const struct hone_ring *ring)
{
	return ring->capacity - hone_ring_count(ring);
}
