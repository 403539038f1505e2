/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The consumers' end of a ring.
 *
 * One of several consumers first reads the elements and then exchanges head.
 * If that succeeds, head had not moved since, so no producer may have touched
 * the slots meanwhile; if not, what was read is thrown away. So a consumer
 * never owns a slot, and one that is preempted holds nothing.
 */
#include "ring/ring.h"

/*
 * Move head from what it was, over n slots that were read. False, and *head
 * brought up to date, if another consumer was faster.
 */
static inline bool
leave(struct hone_ring *ring, uint64_t *head, size_t n, bool single)
{
	/*
	 * Release, both times: pairs with the acquire of head in room_behind()
	 * of add.c: the slots were read before a producer fills them again.
	 */
	if (single) {
		__atomic_store_n(&ring->head, *head + n, __ATOMIC_RELEASE);
		return true;
	}
	/*
	 * Acquire: pairs with the release of the faster consumer, so that tail
	 * is not seen older than the head that it left. Of use on failure
	 * only, but C11 wants no less for success.
	 */
	return __atomic_compare_exchange_n(&ring->head, head, *head + n, false,
		__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/*
 * Up to where the slots are filled: at least `to` if they are, else what there
 * is. `several` says that there may be more than one producer.
 */
static inline uint64_t
until(struct hone_ring *ring, uint64_t to, bool several)
{
	uint64_t filled;

	/*
	 * Acquire: pairs with the release of tail in add_single() of add.c and
	 * in hone_ring_enqueue(): the slots before it are filled.
	 */
	if (!several)
		return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	/* Acquire: pairs with the release of filled in add_multi() of add.c
	 * and in hone_ring_follow_marks(), likewise. */
	filled = __atomic_load_n(&ring->filled, __ATOMIC_ACQUIRE);
	/*
	 * Relaxed: whoever was told of a mark was told of the tail before it.
	 * So there is none if nobody is at work, and no need to look.
	 */
	if ((int64_t)(to - filled) <= 0 ||
		__atomic_load_n(&ring->tail, __ATOMIC_RELAXED) == filled)
		return filled;
	return hone_ring_follow_marks(ring, to);
}

/*
 * How many elements there are from head on: at least n if tail_seen shows
 * that, else what there really is. With a head that is out of date, these are
 * too many, but never too few.
 */
static inline int64_t
there_from(struct hone_ring *ring, uint64_t head, size_t n, bool several)
{
	/*
	 * Acquire: pairs with the release below by another consumer, who had
	 * seen the slots up to there filled.
	 */
	uint64_t tail = __atomic_load_n(&ring->tail_seen, __ATOMIC_ACQUIRE);

	if ((int64_t)(tail - head) >= (int64_t)n)
		return (int64_t)(tail - head);
	tail = until(ring, head + n, several);
	/* Release: pairs with the acquire above. It may go back, if another
	 * consumer was faster: that costs another look, nothing else. */
	__atomic_store_n(&ring->tail_seen, tail, __ATOMIC_RELEASE);
	return (int64_t)(tail - head);
}

/* n slots in a row. Nobody writes to them before the only consumer moves
 * head. */
static inline void
copy_run(void **elements, void *const *slots, size_t n)
{
	if (n >= RING_LONG) {
		memcpy(elements, slots, n * sizeof(*slots));
		return;
	}
	for (; n >= 4; n -= 4, elements += 4, slots += 4)
		memcpy(elements, slots, 4 * sizeof(*slots));
	for (; n > 0; n--)
		*elements++ = *slots++;
}

/* The same, by one of several: the producer may write to them, if we are too
 * late. leave() tells whether it was what it should be. */
static inline void
read_run(void **elements, void *const *slots, size_t n)
{
	for (; n >= 4; n -= 4, elements += 4, slots += 4) {
		load_pair(elements, slots);
		load_pair(elements + 2, slots + 2);
	}
	for (; n > 0; n--) /* relaxed, as above */
		*elements++ = __atomic_load_n(slots++, __ATOMIC_RELAXED);
}

/*
 * Why fewer than `least` slots from *head on were filled: -ENOENT, -EAGAIN,
 * or 0 if *head was out of date; it has been brought up to date.
 */
static int
why_not(const struct hone_ring *ring, uint64_t *head, size_t least)
{
	/* Acquire: the load of head below comes after this one. */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	/* Acquire: pairs with the release of another consumer in leave(), so
	 * that tail is not seen older than this head, if there is a next turn.
	 */
	uint64_t now = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	if (tail - *head < least) /* and even fewer if head has moved */
		return -ENOENT;
	if (now == *head)
		return -EAGAIN;
	*head = now;
	return 0;
}

static inline void
get_run(void **elements, void *const *slots, size_t n, bool single)
{
	if (single)
		copy_run(elements, slots, n);
	else
		read_run(elements, slots, n);
}

static inline void
get(struct hone_ring *ring, void **elements, uint64_t head, size_t n,
	bool single)
{
	size_t run = run_of(head, n, ring->mask);

	get_run(elements, hone_detail_ring_slot(ring, head), run, single);
	if (run < n)
		get_run(elements + run, hone_detail_ring_slot(ring, 0), n - run,
			single);
}

/*
 * Take at least `least` and up to n elements, n at most the capacity. Returns
 * how many, -ENOENT, or -EAGAIN if there may be several producers.
 */
static __attribute__((noinline)) int64_t
take_slow(struct hone_ring *ring, void **elements, size_t n, size_t least)
{
	bool single = ring->flags & HONE_RING_SINGLE_CONSUMER;
	bool several = !(ring->flags & HONE_RING_SINGLE_PRODUCER);
	/*
	 * Acquire: pairs with the release of another consumer in leave(), so
	 * that tail and filled are not seen older than the head that it left.
	 */
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	for (;;) {
		int64_t there = there_from(ring, head, n, several);
		size_t most = there < (int64_t)n ? (size_t)there : n;

		if (there >= (int64_t)least) {
			get(ring, elements, head, most, single);
			if (leave(ring, &head, most, single))
				return (int64_t)most;
		} else {
			int error =
				several ? why_not(ring, &head, least) : -ENOENT;

			if (error)
				return error;
		}
	}
}

/* The same; what is usual without a call. */
static inline __attribute__((always_inline)) int64_t
take(struct hone_ring *ring, void **elements, size_t n, size_t least,
	unsigned flags)
{
	bool single = flags & HONE_RING_SINGLE_CONSUMER;
	/* Acquire: as above. */
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	/* Acquire: as in there_from(). */
	uint64_t tail = __atomic_load_n(&ring->tail_seen, __ATOMIC_ACQUIRE);

	if ((int64_t)(tail - head) < (int64_t)n) {
		/* Acquire: as in until(). */
		if (flags & HONE_RING_SINGLE_PRODUCER)
			tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
		else
			tail = __atomic_load_n(&ring->filled, __ATOMIC_ACQUIRE);
		__atomic_store_n(&ring->tail_seen, tail, __ATOMIC_RELEASE);
		if ((int64_t)(tail - head) < (int64_t)n)
			return take_slow(ring, elements, n, least);
	}
	get(ring, elements, head, n, single);
	if (!leave(ring, &head, n, single))
		return take_slow(ring, elements, n, least);
	return (int64_t)n;
}

/* Groups, where the compiler need not save registers for memcpy(). */
static __attribute__((noinline)) int64_t
take_mpmc(struct hone_ring *ring, void **elements, size_t n, size_t least)
{
	return take(ring, elements, n, least, HONE_RING_MPMC);
}

static int64_t
take_group(struct hone_ring *ring, void **elements, size_t n, size_t least)
{
	if (ring->flags == HONE_RING_MPMC)
		return take_mpmc(ring, elements, n, least);
	return take(ring, elements, n, least, ring->flags);
}

int
hone_detail_ring_dequeue(struct hone_ring *ring, void **element)
{
	int64_t taken = take(ring, element, 1, 1, ring->flags);

	return taken < 0 ? (int)taken : 0;
}

int
hone_ring_dequeue_bulk(struct hone_ring *ring, void **elements, size_t n)
{
	int64_t taken;

	if (n == 0)
		return 0;
	if (n > ring->capacity)
		return -ENOENT;
	taken = take_group(ring, elements, n, n);
	return taken < 0 ? (int)taken : 0;
}

size_t
hone_ring_dequeue_burst(struct hone_ring *ring, void **elements, size_t n)
{
	int64_t taken;

	if (n > ring->capacity)
		n = ring->capacity;
	if (n == 0)
		return 0;
	taken = take_group(ring, elements, n, 1);
	return taken < 0 ? 0 : (size_t)taken;
}
