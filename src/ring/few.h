/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_RING_FEW_H
#define HONE_RING_FEW_H
/*
 * A few elements between one producer and one consumer: the shortest path of
 * bulk and burst. It has no call and little to test: in the general form, 8
 * elements took 11.5 ns in and out, here 7.6 (bench/ring, alone-n8). A function
 * here either moves all n elements or changes nothing that another thread sees;
 * then the general form follows.
 */
#include "ring/ring.h"

/* Number of elements from which on memcpy() is faster than a loop: 256 bytes,
 * measured by bench/ring. */
#define RING_LONG 32

/* Copies n elements to or from contiguous slots that only this thread accesses:
 * they are not yet published, or head has not moved. */
static inline void
copy_slots(void **to, void *const *from, size_t n)
{
	if (n >= RING_LONG) {
		memcpy(to, from, n * sizeof(*to));
		return;
	}
	for (; n >= 4; n -= 4, from += 4, to += 4)
		memcpy(to, from, 4 * sizeof(*to));
	for (; n > 0; n--)
		*to++ = *from++;
}

/* True if one thread is at each end and n elements are copied by a loop. */
static inline bool
is_few(const struct hone_ring *ring, size_t n)
{
	return ring->flags == HONE_RING_SPSC && n < RING_LONG;
}

/* Adds n elements if they fit by head_seen, in contiguous slots. */
static inline bool
add_few(struct hone_ring *ring, void *const *elements, size_t n)
{
	/* Relaxed, both: only this thread writes them in this mode. */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	uint64_t head = __atomic_load_n(&ring->head_seen, __ATOMIC_RELAXED);
	size_t slot = tail & ring->mask;

	if (ring->capacity - (tail - head) < n ||
		slot + n > (size_t)ring->mask + 1)
		return false;
	copy_slots(hone_detail_ring_slot(ring, tail), elements, n);
	/* Release: as in add_single(). */
	__atomic_store_n(&ring->tail, tail + n, __ATOMIC_RELEASE);
	return true;
}

/* Takes n elements if they are there, in contiguous slots. */
static inline bool
take_few(struct hone_ring *ring, void **elements, size_t n)
{
	/* Relaxed, both: only this thread writes them in this mode. */
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&ring->tail_seen, __ATOMIC_RELAXED);
	size_t slot = head & ring->mask;

	if (slot + n > (size_t)ring->mask + 1)
		return false;
	if (tail - head < n) {
		/* Acquire: as in filled_until(). */
		tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
		__atomic_store_n(&ring->tail_seen, tail, __ATOMIC_RELAXED);
		if (tail - head < n)
			return false;
	}
	copy_slots(elements, hone_detail_ring_slot(ring, head), n);
	/* Release: as in leave(). */
	__atomic_store_n(&ring->head, head + n, __ATOMIC_RELEASE);
	return true;
}

#endif
