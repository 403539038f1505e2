/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ring promises to a single thread: in every mode, at every small
 * capacity, and with positions that wrap around at 2^32 and 2^64.
 */
#include <hone/ring.h>
#include "ring.h"
#include "support.h"

#define MAX_CAPACITY 70
#define MODES 4 /* every value of enum hone_ring_flags */

static uint64_t seed;
/* Elements are numbers here: the ring does not dereference them. */
static void *
element(size_t number)
{
	return (void *)(uintptr_t)number;
}

/* A ring, and where its positions begin. */
struct made {
	struct hone_ring *ring;
	size_t capacity;
	unsigned flags;
	uint64_t from;
};

#define MUST(cond, made)                                                       \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("%s: capacity %zu, flags %u, from %#llx",     \
				#cond, (made)->capacity, (made)->flags,        \
				(unsigned long long)(made)->from);             \
	} while (0)

/* Make the positions of a new ring those after `from` elements. */
static void
begin_at(struct hone_ring *ring, uint64_t from)
{
	ring->tail = ring->head_seen = ring->filled = from;
	ring->head = ring->tail_seen = from;
	if (ring->flags & HONE_RING_SINGLE_PRODUCER)
		return;
	for (uint64_t i = 0; i <= ring->mask; i++)
		ends_of(ring)[i] = from;
}

/* Call fn for every mode, capacity and first position. */
static void
for_each_ring(void (*fn)(const struct made *), size_t max_capacity)
{
	static const uint64_t firsts[] = {
		0, UINT32_MAX - 40, UINT64_MAX - 90, UINT64_MAX};

	for (unsigned flags = 0; flags < MODES; flags++) {
		for (size_t n = 1; n <= max_capacity; n++) {
			for (size_t i = 0; i < 4; i++) {
				struct made made = {NULL, n, flags, firsts[i]};

				assert_ok(
					hone_ring_create(&made.ring, n, flags));
				begin_at(made.ring, made.from);
				fn(&made);
				hone_ring_destroy(made.ring);
			}
		}
	}
}

static void
fill_and_empty(const struct made *made)
{
	struct hone_ring *ring = made->ring;
	void *got = &seed;

	MUST(hone_ring_dequeue(ring, &got) == -ENOENT && got == &seed, made);
	MUST(hone_ring_capacity(ring) == made->capacity, made);
	for (size_t lap = 0; lap < 3; lap++) {
		size_t base = lap * 1000;

		for (size_t i = 0; i < made->capacity; i++) {
			MUST(hone_ring_count(ring) == i, made);
			MUST(hone_ring_free_count(ring) == made->capacity - i,
				made);
			MUST(hone_ring_enqueue(ring, element(base + i)) == 0,
				made);
		}
		MUST(hone_ring_enqueue(ring, NULL) == -ENOBUFS, made);
		MUST(hone_ring_free_count(ring) == 0, made);
		for (size_t i = 0; i < made->capacity; i++) {
			MUST(hone_ring_dequeue(ring, &got) == 0, made);
			MUST(got == element(base + i), made);
		}
		/* which leaves the element alone */
		MUST(hone_ring_dequeue(ring, &got) == -ENOENT, made);
		MUST(got == element(base + made->capacity - 1), made);
		MUST(hone_ring_count(ring) == 0, made);
		/* so that laps begin at different slots */
		MUST(hone_ring_enqueue(ring, NULL) == 0, made);
		MUST(hone_ring_dequeue(ring, &got) == 0 && !got, made);
	}
}

TEST(a_ring_holds_exactly_its_capacity)
{
	for_each_ring(fill_and_empty, MAX_CAPACITY);
}

/* The ways of a call: as many as possible, all or none, one, and one by the
 * exported body, for other languages. */
enum way { BURST, BULK, ONE, EXPORTED, WAYS };

/* Adds elements, or takes some; returns how many. */
static size_t
call(const struct made *made, bool add, enum way way, void **some, size_t n,
	size_t possible)
{
	struct hone_ring *ring = made->ring;
	int error, expected = n <= possible ? 0 : add ? -ENOBUFS : -ENOENT;

	if (way == BURST) {
		size_t done = add ? hone_ring_enqueue_burst(ring, some, n)
				  : hone_ring_dequeue_burst(ring, some, n);

		MUST(done == (n < possible ? n : possible), made);
		return done;
	}
	if (way == BULK)
		error = add ? hone_ring_enqueue_bulk(ring, some, n)
			    : hone_ring_dequeue_bulk(ring, some, n);
	else if (!add)
		error = hone_ring_dequeue(ring, some);
	else if (way == ONE)
		error = hone_ring_enqueue(ring, some[0]);
	else
		error = hone_detail_ring_enqueue(ring, some[0]);
	MUST(error == expected, made);
	return error ? 0 : n;
}

/* Both numbers count up: the ring holds the elements `out` to `in` - 1. */
static void
walk_at_random(const struct made *made)
{
	size_t in = 0, out = 0, capacity = made->capacity;
	uint64_t random = seed + capacity * MODES + made->flags;

	for (int turn = 0; turn < 600; turn++) {
		void *some[MAX_CAPACITY + 3];
		enum way way = (enum way)support_below(&random, WAYS);
		size_t n = way < ONE ? support_below(&random, capacity + 3) : 1;
		bool add = support_below(&random, 2);
		size_t done;

		for (size_t i = 0; add && i < n; i++)
			some[i] = element(in + i);
		done = call(made, add, way, some, n,
			add ? capacity - (in - out) : in - out);
		for (size_t i = 0; !add && i < done; i++)
			MUST(some[i] == element(out + i), made);
		*(add ? &in : &out) += done;
		MUST(hone_ring_count(made->ring) == in - out, made);
	}
}

TEST(any_order_of_calls_gives_what_a_list_gives)
{
	for_each_ring(walk_at_random, MAX_CAPACITY);
}

/*
 * A producer that is preempted after it took its places and before it fills
 * them. The test moves tail by hand; fill_places() continues.
 */
static uint64_t
take_places(struct hone_ring *ring, size_t n)
{
	return __atomic_fetch_add(&ring->tail, n, __ATOMIC_RELAXED);
}

static void
fill_places(struct hone_ring *ring, uint64_t from, size_t n)
{
	for (uint64_t p = from; p != from + n; p++)
		*hone_detail_ring_slot(ring, p) = element(100 + p - from);
	assert_int_equal(ring->filled, from);
	ring->filled = from + n;
}

static void
meet_a_preempted_producer(const struct made *made)
{
	struct hone_ring *ring = made->ring;
	void *got[5];
	uint64_t places;

	if (made->capacity < 5 || made->flags & HONE_RING_SINGLE_PRODUCER)
		return;
	MUST(hone_ring_enqueue(ring, element(1)) == 0, made);
	places = take_places(ring, 2);
	MUST(hone_ring_enqueue(ring, element(2)) == 0, made);
	MUST(hone_ring_count(ring) == 4, made);
	MUST(hone_ring_enqueue_burst(ring, got, made->capacity) ==
			made->capacity - 4,
		made);
	MUST(hone_ring_enqueue(ring, NULL) == -ENOBUFS, made);
	MUST(hone_ring_dequeue_bulk(ring, got, 2) == -EAGAIN, made);
	/* elements before the places are available */
	MUST(hone_ring_dequeue_burst(ring, got, 5) == 1, made);
	MUST(got[0] == element(1), made);
	MUST(hone_ring_dequeue(ring, got) == -EAGAIN, made);
	MUST(hone_ring_dequeue_bulk(ring, got, 3) == -EAGAIN, made);
	MUST(hone_ring_dequeue_burst(ring, got, 5) == 0, made);
	MUST(hone_ring_dequeue_bulk(ring, got, made->capacity) == -ENOENT,
		made);
	fill_places(ring, places, 2);
	MUST(hone_ring_dequeue_bulk(ring, got, 3) == 0, made);
	MUST(got[0] == element(100) && got[1] == element(101), made);
	MUST(got[2] == element(2), made);
	/* marks that were left are harmless when their places are used again */
	while (hone_ring_dequeue(ring, got) == 0)
		continue;
	fill_and_empty(made);
}

TEST(elements_behind_a_preempted_producer_are_late_not_absent)
{
	for_each_ring(meet_a_preempted_producer, 9);
}

/* How rings are created, and the memory that they use. */

static int fail_allocation; /* posix_memalign() fails when set */

/* The linker puts this in place of the calls of the library. */
STANDS_FOR(int, posix_memalign, void **memory, size_t alignment, size_t size)
{
	if (fail_allocation)
		return ENOMEM;
	return __real_posix_memalign(memory, alignment, size);
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
		assert_ok(hone_ring_init(a, 100, flags));
		for (size_t i = 0; i < 1000; i++) {
			void *got = NULL;

			assert_int_equal(hone_ring_enqueue(a, element(i)), 0);
			assert_int_equal(hone_ring_dequeue(b, &got), 0);
			assert_ptr_equal(got, element(i));
		}
		assert_ok(munmap(a, size));
		assert_ok(munmap(b, size));
	}
	close(fd);
}

TEST(nothing_is_written_outside_the_size_asked_for)
{
	static unsigned char memory[4096] __attribute__((aligned(128)));

	for (unsigned flags = 0; flags < MODES; flags++) {
		for (size_t n = 1; n <= MAX_CAPACITY; n++) {
			/* aligned to no more than the header promises */
			void *ring = memory + HONE_RING_ALIGN;
			const struct made made = {ring, n, flags, 0};
			size_t size = hone_ring_size(n, flags);

			assert_int_equal(size % HONE_RING_ALIGN, 0);
			memset(memory, 0xa5, sizeof(memory));
			assert_ok(hone_ring_init(ring, n, flags));
			fill_and_empty(&made);
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

#define SUBSTITUTE element(SIZE_MAX)

static void
enqueues(struct hone_ring *ring, size_t number)
{
	assert_ok(hone_ring_enqueue(ring, element(number)));
}

static void
dequeues(struct hone_ring *ring, void *expected)
{
	void *got = NULL;

	assert_ok(hone_ring_dequeue(ring, &got));
	assert_ptr_equal(got, expected);
}

/* Before and after the places of the killed producer, others have enqueued. */
static void
lose_and_recover(struct hone_ring *ring, size_t lost)
{
	void *pair[2] = {element(3), element(4)}, *got;

	enqueues(ring, 1);
	(void)take_places(ring, lost);
	enqueues(ring, 2);
	assert_ok(hone_ring_enqueue_bulk(ring, pair, 2));
	(void)take_places(ring, 1);
	enqueues(ring, 5);
	dequeues(ring, element(1));
	assert_int_equal(hone_ring_dequeue(ring, &got), -EAGAIN);
	assert_int_equal(hone_ring_recover(ring, SUBSTITUTE), lost + 1);
	for (size_t i = 0; i < lost; i++)
		dequeues(ring, SUBSTITUTE);
	for (size_t i = 2; i <= 4; i++)
		dequeues(ring, element(i));
	dequeues(ring, SUBSTITUTE);
	dequeues(ring, element(5));
	assert_int_equal(hone_ring_dequeue(ring, &got), -ENOENT);
}

/* At each position of several rounds. */
TEST(the_places_of_the_killed_get_substitutes)
{
	static const unsigned flags[] = {
		HONE_RING_MPMC, HONE_RING_SINGLE_CONSUMER};

	for (size_t i = 0; i < (size_t)2 * 40 * 4; i++) {
		struct hone_ring *ring;

		assert_ok(hone_ring_create(&ring, 13, flags[i % 2]));
		for (size_t from = 0; from < i / 8; from++) {
			enqueues(ring, 9);
			dequeues(ring, element(9));
		}
		lose_and_recover(ring, 1 + i / 2 % 4);
		hone_ring_destroy(ring);
	}
}

TEST(a_ring_without_a_loss_is_unchanged)
{
	for (unsigned flags = 0; flags < MODES; flags++) {
		struct hone_ring *ring;

		assert_ok(hone_ring_create(&ring, 4, flags));
		assert_int_equal(hone_ring_recover(ring, SUBSTITUTE), 0);
		for (size_t i = 1; i <= 4; i++)
			enqueues(ring, i);
		assert_int_equal(hone_ring_recover(ring, SUBSTITUTE), 0);
		for (size_t i = 1; i <= 4; i++)
			dequeues(ring, element(i));
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
			group[i] = element((number + i) << 8 | producer);
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
	void *got = NULL;

	while (hone_ring_count(ring) > 0) {
		assert_ok(hone_ring_dequeue(ring, &got));
		if (got == SUBSTITUTE)
			continue;
		assert_true(PRODUCER(got) < PRODUCERS);
		assert_true(NUMBER(got) > last[PRODUCER(got)]);
		last[PRODUCER(got)] = NUMBER(got);
	}
}

TEST(killed_processes_leave_a_ring_that_works)
{
	size_t size = hone_ring_size(64, HONE_RING_MPMC);
	struct hone_ring *ring = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t random = support_seed();
	void *got;

	assert_true(ring != MAP_FAILED);
	assert_ok(hone_ring_init(ring, 64, HONE_RING_MPMC));
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
			assert_ok(kill(children[i], SIGKILL));
		for (int i = 0; i < PRODUCERS; i++)
			assert_int_equal(
				waitpid(children[i], NULL, 0), children[i]);
		assert_true(hone_ring_recover(ring, SUBSTITUTE) <= 64);
		what_is_left_is_in_order(ring);
		assert_int_equal(hone_ring_dequeue(ring, &got), -ENOENT);
		assert_int_equal(hone_ring_free_count(ring), 64);
	}
	assert_ok(munmap(ring, size));
}

int
main(void)
{
	seed = support_seed();
	return run_all_tests(NULL, NULL);
}
