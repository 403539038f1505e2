/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The consumers' end of a ring.
 *
 * One of several consumers first reads the elements and then exchanges head. If
 * the exchange succeeds, head had not moved since, and so no producer could
 * write the slots meanwhile. If the exchange fails, the consumer discards the
 * elements. So a consumer never owns a slot, and a preempted consumer holds
 * nothing.
 */
#include "ring/few.h"
#include "ring/ring.h"

/*
 * Moves head from `head` over n slots that were read. Returns false if another
 * consumer was faster.
 */
static inline bool
leave(struct hone_ring *ring, uint64_t head, size_t n, bool single)
{
	/*
	 * Release, both times: pairs with the acquire of head in room_after()
	 * of add.c: the slots are read before a producer fills them again.
	 */
	if (single) {
		__atomic_store_n(&ring->head, head + n, __ATOMIC_RELEASE);
		return true;
	}
	/*
	 * Acquire: pairs with the release of the faster consumer, so that this
	 * thread sees no tail older than that consumer's head. Needed only on
	 * failure, but C11 requires the success order to be at least as strong.
	 */
	return __atomic_compare_exchange_n(&ring->head, &head, head + n, false,
		__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/*
 * Returns the end of the filled slots: at least `to` if the slots up to there
 * are filled. `several`: there may be more than one producer.
 */
static inline uint64_t
filled_until(struct hone_ring *ring, uint64_t to, bool several)
{
	uint64_t filled;

	/*
	 * Acquire: pairs with the release of tail in add_single() of add.c and
	 * in hone_ring_enqueue(): the slots before it are filled.
	 */
	if (!several)
		return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	/* Acquire: pairs with the release of filled in add_multi() of add.c
	 * and in hone_ring_follow_marks(), for the same reason. */
	filled = __atomic_load_n(&ring->filled, __ATOMIC_ACQUIRE);
	/*
	 * Relaxed: a thread that can see a mark sees the tail that was stored
	 * before it. If tail equals filled, no producer is at work, and there
	 * is no mark to look for.
	 */
	if ((int64_t)(to - filled) <= 0 ||
		__atomic_load_n(&ring->tail, __ATOMIC_RELAXED) == filled)
		return filled;
	return hone_ring_follow_marks(ring, to);
}

/*
 * Returns the number of elements from head on: at least n if tail_seen shows
 * that, otherwise the exact number. With an outdated head the result is too
 * large, but never too small.
 */
static inline int64_t
available_from(struct hone_ring *ring, uint64_t head, size_t n, bool several)
{
	/*
	 * Acquire: pairs with the release below by another consumer, which saw
	 * the slots up to there filled.
	 */
	uint64_t tail = __atomic_load_n(&ring->tail_seen, __ATOMIC_ACQUIRE);

	if ((int64_t)(tail - head) >= (int64_t)n)
		return (int64_t)(tail - head);
	tail = filled_until(ring, head + n, several);
	/* Release: pairs with the acquire above. The store may set tail_seen
	 * back, if another consumer was faster: this costs one more load. */
	__atomic_store_n(&ring->tail_seen, tail, __ATOMIC_RELEASE);
	return (int64_t)(tail - head);
}

/* Reads n contiguous slots for one of several consumers. If this consumer is
 * late, a producer may write the slots during the call; leave() then returns
 * false. */
static inline void
read_slots(void **elements, void *const *slots, size_t n)
{
	for (; n >= 4; n -= 4, elements += 4, slots += 4) {
		load_pair(elements, slots);
		load_pair(elements + 2, slots + 2);
	}
	for (; n > 0; n--) /* relaxed, as above */
		*elements++ = __atomic_load_n(slots++, __ATOMIC_RELAXED);
}

/*
 * Why fewer than `least` slots from head on are filled. Returns
 * - -ENOENT if there are fewer elements;
 * - -EAGAIN if a producer has not yet filled one of them;
 * - 0 if head is outdated.
 */
static int
why_not(const struct hone_ring *ring, uint64_t head, size_t least)
{
	/* Acquire: the load of head below comes after this one. */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	/* Acquire: pairs with the release of another consumer in leave(), so
	 * that a next iteration sees no tail older than this head. */
	uint64_t now = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	if (tail - head < least) /* and even fewer if head has moved */
		return -ENOENT;
	return now == head ? -EAGAIN : 0;
}

static inline void
get_slots(void **elements, void *const *slots, size_t n, bool single)
{
	if (single)
		copy_slots(elements, slots, n);
	else
		read_slots(elements, slots, n);
}

static inline void
get(struct hone_ring *ring, void **elements, uint64_t head, size_t n,
	bool single)
{
	size_t first = contiguous(head, n, ring->mask);

	get_slots(elements, hone_detail_ring_slot(ring, head), first, single);
	if (first < n)
		get_slots(elements + first, hone_detail_ring_slot(ring, 0),
			n - first, single);
}

/*
 * Takes at least `least` and at most n elements; n is at most the capacity.
 * Returns how many; -ENOENT; or -EAGAIN if there may be several producers.
 * Waits first: see wait_apart().
 */
static __attribute__((noinline)) int64_t
take_slow(struct hone_ring *ring, void **elements, size_t n, size_t least,
	unsigned wait)
{
	bool single = ring->flags & HONE_RING_SINGLE_CONSUMER;
	bool several = !(ring->flags & HONE_RING_SINGLE_PRODUCER);

	for (;;) {
		uint64_t head;
		int64_t there;
		size_t most;
		int error = -ENOENT;

		wait = wait_apart(wait);
		/*
		 * Acquire: pairs with the release of another consumer in
		 * leave(), so that this thread sees no tail and no filled older
		 * than that head.
		 */
		head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
		there = available_from(ring, head, n, several);
		most = there < (int64_t)n ? (size_t)there : n;
		if (there >= (int64_t)least) {
			get(ring, elements, head, most, single);
			if (leave(ring, head, most, single))
				return (int64_t)most;
			if (wait == 0)
				wait = RING_WAIT_FIRST;
		} else {
			if (several)
				error = why_not(ring, head, least);
			if (error)
				return error;
		}
	}
}

/* The same, with the usual case inline. */
static inline __attribute__((always_inline)) int64_t
take(struct hone_ring *ring, void **elements, size_t n, size_t least)
{
	bool single = ring->flags & HONE_RING_SINGLE_CONSUMER;
	/* Acquire: as above. */
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	/* Acquire: as in available_from(). */
	uint64_t tail = __atomic_load_n(&ring->tail_seen, __ATOMIC_ACQUIRE);

	if ((int64_t)(tail - head) < (int64_t)n) {
		/* Acquire: as in filled_until(). */
		if (ring->flags & HONE_RING_SINGLE_PRODUCER)
			tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
		else
			tail = __atomic_load_n(&ring->filled, __ATOMIC_ACQUIRE);
		__atomic_store_n(&ring->tail_seen, tail, __ATOMIC_RELEASE);
		if ((int64_t)(tail - head) < (int64_t)n)
			return take_slow(ring, elements, n, least, 0);
	}
	get(ring, elements, head, n, single);
	if (!leave(ring, head, n, single))
		return take_slow(ring, elements, n, least, RING_WAIT_FIRST);
	return (int64_t)n;
}

int
hone_detail_ring_dequeue(struct hone_ring *ring, void **element)
{
	int64_t taken = take(ring, element, 1, 1);

	return taken < 0 ? (int)taken : 0;
}

int
hone_ring_dequeue_bulk(struct hone_ring *ring, void **elements, size_t n)
{
	int64_t taken;

	if (is_few(ring, n) && take_few(ring, elements, n))
		return 0;
	if (n == 0)
		return 0;
	if (n > ring->capacity)
		return -ENOENT;
	taken = take(ring, elements, n, n);
	return taken < 0 ? (int)taken : 0;
}

size_t
hone_ring_dequeue_burst(struct hone_ring *ring, void **elements, size_t n)
{
	int64_t taken;

	if (is_few(ring, n) && take_few(ring, elements, n))
		return n;
	if (n > ring->capacity)
		n = ring->capacity;
	if (n == 0)
		return 0;
	taken = take(ring, elements, n, 1);
	return taken < 0 ? 0 : (size_t)taken;
}
