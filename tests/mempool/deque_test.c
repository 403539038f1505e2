/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The deque alone, with indices that wrap around: the owner gets the newest
 * item, thieves get the oldest, each item is taken once. The model in model/
 * checks what only a CPU with weaker ordering would show.
 */
#include <pthread.h>
#include <stdio.h>
#include "deque.h"
#include "support.h"

#define SLOTS 8
#define THIEVES 3
#define PUSHES 100000

struct deque {
	struct hone_deque d;
	void *_Atomic slots[SLOTS];
};

/* An empty deque whose next index is this. */
static void
begin(struct deque *deque, size_t first)
{
	hone_deque_init(&deque->d, deque->slots, SLOTS - 1);
	atomic_store(&deque->d.bottom, first);
	atomic_store(&deque->d.top, first);
	deque->d.end = first + SLOTS;
}

/* Items are numbers from 1 here. */
static void *
item(size_t number)
{
	return (void *)(uintptr_t)number;
}

TEST(owner_and_thief_take_from_their_ends)
{
	static struct deque deque;
	struct hone_deque *d = &deque.d;

	/* From before the indices wrap around to after it, and half way. */
	for (size_t before = 0; before < 3 * SLOTS; before++) {
		begin(&deque, before % 2 ? SIZE_MAX / 2 + 1 - before
					 : SIZE_MAX - before);
		for (size_t n = 0; n <= SLOTS; n++) {
			size_t low = 1, high = n;

			assert_null(hone_deque_pop(d));
			assert_null(hone_deque_steal(d));
			for (size_t i = 1; i <= n; i++)
				assert_true(hone_deque_push(d, item(i)));
			assert_int_equal(
				hone_deque_push(d, item(n + 1)), n < SLOTS);
			if (n < SLOTS)
				assert_ptr_equal(
					hone_deque_pop(d), item(n + 1));
			while (low <= high) {
				assert_int_equal(
					hone_deque_count(d), high - low + 1);
				if ((high + n) % 3)
					assert_ptr_equal(hone_deque_pop(d),
						item(high--));
				else
					assert_ptr_equal(hone_deque_steal(d),
						item(low++));
			}
			assert_int_equal(hone_deque_count(d), 0);
		}
	}
}

struct run {
	struct deque deque;
	/* How often an item was taken. Its data is written before its push and
	 * is not atomic, so that a sanitizer sees an item that comes early. */
	_Atomic unsigned char taken[PUSHES + 1];
	size_t says[PUSHES + 1];
	_Atomic bool stop;
	_Atomic unsigned errors;
};

static void
took(struct run *run, void *got)
{
	size_t number = (uintptr_t)got;

	if (number < 1 || number > PUSHES || run->says[number] != number ||
		atomic_fetch_add(&run->taken[number], 1) != 0)
		atomic_fetch_add(&run->errors, 1);
}

static void *
steal_all_the_time(void *arg)
{
	struct run *run = arg;

	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		void *got = hone_deque_steal(&run->deque.d);

		if (got)
			took(run, got);
	}
	return NULL;
}

/* Push and pop at random, often while there is no room. */
static void
push_and_pop(struct run *run, uint64_t seed)
{
	struct hone_deque *d = &run->deque.d;
	size_t pushed = 0, refused = 0;
	void *got;

	while (pushed < PUSHES) {
		size_t n = support_below(&seed, 2 * SLOTS);

		for (; n > 0 && pushed < PUSHES; n--) {
			run->says[pushed + 1] = pushed + 1;
			/* Thieves only remove items. */
			if (hone_deque_push(d, item(pushed + 1)))
				pushed++;
			else
				refused++;
		}
		for (n = support_below(&seed, SLOTS); n > 0; n--)
			if ((got = hone_deque_pop(d)))
				took(run, got);
	}
	while ((got = hone_deque_pop(d)))
		took(run, got);
	EXPECT(refused > 0, run);
}

TEST(each_item_is_taken_once)
{
	static struct run run;
	pthread_t thieves[THIEVES];

	begin(&run.deque, SIZE_MAX - PUSHES / 2);
	for (int i = 0; i < THIEVES; i++)
		assert_int_equal(pthread_create(&thieves[i], NULL,
					 steal_all_the_time, &run),
			0);
	push_and_pop(&run, support_seed());
	atomic_store(&run.stop, true);
	for (int i = 0; i < THIEVES; i++)
		assert_int_equal(pthread_join(thieves[i], NULL), 0);
	assert_null(hone_deque_steal(&run.deque.d));
	assert_int_equal(run.errors, 0);
	for (size_t i = 1; i <= PUSHES; i++)
		assert_int_equal(run.taken[i], 1);
}
