/* SPDX-License-Identifier: BSD-3-Clause */
/* The policies besides the bytes: threshold, traits, order. */
#include <stdatomic.h>
#include <hone/hone.h>
#include "copy.h"
#include "support.h"

#define BLOCK ((size_t)16384)
/* ThreadSanitizer follows the order itself, and needs no luck. */
#define ROUNDS (TSAN ? 100u : 3000u)
#define EACH_BYTE UINT64_C(0x0101010101010101)

TEST(the_threshold_is_what_was_set_or_comes_from_the_trait)
{
	size_t own = hone_cpu_trait(HONE_CPU_TRAIT_STREAM_MIN);

	hone_copy_set_threshold(0);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_MIN, 0);
	assert_int_equal(hone_copy_threshold(), 16 << 20);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_MIN, 54321);
	assert_int_equal(hone_copy_threshold(), 54321);
	hone_copy_set_threshold(12345);
	assert_int_equal(hone_copy_threshold(), 12345);
	hone_copy_set_threshold(SIZE_MAX);
	assert_int_equal(hone_copy_threshold(), SIZE_MAX);
	hone_copy_set_threshold(0);
	assert_int_equal(hone_copy_threshold(), 54321);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_MIN, own);
}

TEST(a_block_may_be_copied_to_itself)
{
	static unsigned char a[20000], b[20000];

	for (size_t i = 0; i < sizeof(a); i++)
		a[i] = b[i] = (unsigned char)(i * 7 + 1);
	for (size_t n = 0; n <= sizeof(a); n += 1 + n / 5)
		for (int policy = HONE_COPY_AUTO;
			policy <= HONE_COPY_STREAM_PROTECT; policy++) {
			hone_memcpy(a, a, n, policy);
			assert_memory_equal(a, b, sizeof(a));
		}
}

/* A macro: in a function, no n would be a constant. */
#define BLOCKS_ARE_COPIED(n)                                                   \
	do {                                                                   \
		memset(b, 0xa5, sizeof(b));                                    \
		hone_copy_blocks(b, a, (n));                                   \
		assert_memory_equal(b, a, (n) * (size_t)64);                   \
		assert_int_equal(b[(n)*64], 0xa5);                             \
	} while (0)

TEST(inline_copies_move_just_what_they_say)
{
	static unsigned char a[64 * 9] __attribute__((aligned(64)));
	static unsigned char b[64 * 10] __attribute__((aligned(64)));
	void *from[70], *to[71];
	size_t none = 0;

	for (size_t i = 0; i < sizeof(a); i++)
		a[i] = (unsigned char)(i * 7 + 1);
	for (size_t n = 0; n <= 9; n++)
		BLOCKS_ARE_COPIED(n);
	BLOCKS_ARE_COPIED(0);
	BLOCKS_ARE_COPIED(1);
	BLOCKS_ARE_COPIED(2);
	BLOCKS_ARE_COPIED(3);
	BLOCKS_ARE_COPIED(9);
	hone_copy_blocks(NULL, NULL, 0);
	__asm__("" : "+r"(none));
	hone_copy_blocks(NULL, NULL, none);
	for (size_t i = 0; i < 70; i++)
		from[i] = &a[i];
	for (size_t n = 0; n <= 70; n++) {
		memset(to, 0, sizeof(to));
		hone_copy_pointers(to, from, n);
		for (size_t i = 0; i < 71; i++)
			assert_ptr_equal(to[i], i < n ? from[i] : NULL);
	}
}

/* By the pointer of the inline function. */
static void
copy_3_bytes(void)
{
	unsigned char a[3] = {1, 2, 3}, b[3];
	size_t n = 3; /* compilers replace constant copies */

	__asm__("" : "+r"(n));
	hone_memcpy(b, a, n, HONE_COPY_KEEP);
	assert_memory_equal(a, b, 3);
}

TEST(a_limit_holds_after_functions_were_used)
{
	for (size_t i = 0; i < hone_copy_n_variants; i++) {
		const struct hone_copy_variant *v = &hone_copy_variants[i];

		if (!hone_cpu_has(v->row.needs))
			continue;
		hone_cpu_limit(v->row.needs);
		copy_3_bytes();
#ifdef NDEBUG /* a debug build checks for overlap here */
		assert_ptr_equal(hone_detail_copy_keep, v->keep);
		assert_ptr_equal(hone_detail_copy_short, v->up_to_64);
#endif
		assert_string_equal(hone_cpu_variant("copy"), v->row.name);
		hone_cpu_limit(HONE_CPU_ALL);
	}
}

TEST(a_trait_that_is_set_has_the_library_choose_again)
{
	void (*installed)(void *, const void *, size_t);
	void (*installed_short)(void *, const void *, size_t);

	copy_3_bytes();
	installed = hone_detail_copy_keep;
	installed_short = hone_detail_copy_short;
	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_MIN,
		hone_cpu_trait(HONE_CPU_TRAIT_STREAM_MIN));
	assert_ptr_not_equal(hone_detail_copy_keep, installed);
	assert_ptr_not_equal(hone_detail_copy_short, installed_short);
	copy_3_bytes();
	assert_ptr_equal(hone_detail_copy_keep, installed);
	assert_ptr_equal(hone_detail_copy_short, installed_short);
}

#ifdef NDEBUG /* in a debug build all copies are checked by the pointer */
static unsigned calls, short_calls;

static void
count_call(void *dst, const void *src, size_t n)
{
	calls++;
	memmove(dst, src, n);
}

static void
count_short_call(void *dst, const void *src, size_t n)
{
	short_calls++;
	memmove(dst, src, n);
}

/* Whether the inline copy leaves n bytes to libhone. */
static bool
is_our_copy(size_t n)
{
	static unsigned char a[BLOCK], b[BLOCK];

	hone_detail_copy_keep = count_call;
	hone_detail_copy_short = count_short_call;
	calls = short_calls = 0;
	__asm__("" : "+r"(n)); /* compilers replace constant copies */
	hone_memcpy(a, b, n, HONE_COPY_KEEP);
	assert_true(calls + short_calls <= 1);
	assert_int_equal(short_calls, n <= HONE_DETAIL_COPY_SHORT);
	return calls + short_calls == 1;
}

TEST(the_c_library_copies_all_but_what_the_traits_say)
{
	static const struct {
		size_t min, max, n;
		bool ours;
	} cases[] = {{0, 0, 0, true}, {0, 0, 64, true}, {0, 0, 65, false},
		{0, 0, BLOCK, false}, {0, 64, 65, false}, {0, 65, 65, true},
		{65, SIZE_MAX, 65, true}, {66, SIZE_MAX, 65, false},
		{3000, SIZE_MAX, 64, true}, {3000, SIZE_MAX, 2999, false},
		{3000, SIZE_MAX, 3000, true}, {3000, SIZE_MAX, BLOCK, true},
		{3000, 2999, BLOCK, false},
		/* The variant sees the end of the range. */
		{3000, 4000, BLOCK, true}};
	size_t min = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MIN);
	size_t max = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MIN, cases[i].min);
		hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, cases[i].max);
		copy_3_bytes();
		assert_int_equal(is_our_copy(cases[i].n), cases[i].ours);
	}
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MIN, min);
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, max);
}
#endif

TEST(a_variant_leaves_to_libc_what_is_above_the_range)
{
	size_t max = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX);

	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, 5000);
	assert_false(hone_copy_is_of_libc(5000));
	assert_true(hone_copy_is_of_libc(5001));
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, 300);
	assert_false(hone_copy_is_of_libc(4096));
	assert_true(hone_copy_is_of_libc(4097));
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, SIZE_MAX);
	assert_false(hone_copy_is_of_libc(SIZE_MAX / 2));
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, 0);
	assert_false(hone_copy_is_of_libc(SIZE_MAX / 2));
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, max);
}

TEST(stream_fetches_into_l2_if_the_trait_is_not_0)
{
	size_t own = hone_cpu_trait(HONE_CPU_TRAIT_STREAM_L2);

	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_L2, 0);
	assert_false(hone_copy_fetches_into_l2());
	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_L2, 1);
	assert_true(hone_copy_fetches_into_l2());
	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_L2, SIZE_MAX);
	assert_true(hone_copy_fetches_into_l2());
	hone_cpu_set_trait(HONE_CPU_TRAIT_STREAM_L2, own);
}

/* A block that one thread fills by streaming and another reads. */
struct exchange {
	uint64_t *block;
	int policy;
	_Atomic unsigned published, seen;
	unsigned torn;
};

static void *
publish(void *arg)
{
	struct exchange *x = arg;
	unsigned char source[BLOCK];

	for (unsigned round = 1; round <= ROUNDS; round++) {
		memset(source, (int)(round % 251), sizeof(source));
		hone_memcpy(x->block, source, sizeof(source), x->policy);
		if (x->policy & HONE_COPY_NO_FENCE)
			hone_copy_fence();
		/* Release: pairs with the acquire in the reader. */
		atomic_store_explicit(
			&x->published, round, memory_order_release);
		while (atomic_load_explicit(&x->seen, memory_order_acquire) !=
			round)
			sched_yield();
	}
	return NULL;
}

static void
exchange_blocks(int policy)
{
	static uint64_t block[BLOCK / 8] __attribute__((aligned(64)));
	struct exchange x = {.block = block, .policy = policy};
	pthread_t thread;

	assert_ok(pthread_create(&thread, NULL, publish, &x));
	for (unsigned round = 1; round <= ROUNDS; round++) {
		/* Acquire: pairs with the release in publish(). */
		while (atomic_load_explicit(
			       &x.published, memory_order_acquire) != round)
			sched_yield();
		for (size_t i = BLOCK / 8; i-- > 0;)
			x.torn += block[i] != round % 251 * EACH_BYTE;
		/* Release: the writer may overwrite what was read. */
		atomic_store_explicit(&x.seen, round, memory_order_release);
	}
	assert_ok(pthread_join(thread, NULL));
	assert_int_equal(x.torn, 0);
}

TEST(a_streamed_copy_is_seen_whole_once_published)
{
	exchange_blocks(HONE_COPY_STREAM);
	exchange_blocks(HONE_COPY_STREAM_PROTECT);
}

TEST(a_batch_is_seen_whole_after_its_fence)
{
	exchange_blocks(HONE_COPY_STREAM | HONE_COPY_NO_FENCE);
}

#ifndef NDEBUG /* a release build of the library asserts nothing */
/* Whether a copy between these ends the process by an assertion. */
static bool
is_refused(unsigned char *dst, const unsigned char *src, size_t n, int policy)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		fclose(stderr); /* the text of the assertion */
		hone_memcpy(dst, src, n, policy);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST(an_overlap_is_caught_in_debug_builds)
{
	static const int policies[] = {HONE_COPY_AUTO, HONE_COPY_KEEP,
		HONE_COPY_STREAM, HONE_COPY_STREAM_PROTECT};
	static unsigned char block[3 * BLOCK];

	for (size_t i = 0; i < 4; i++) {
		int policy = policies[i];

		assert_true(is_refused(block, block + 1, BLOCK, policy));
		assert_true(
			is_refused(block + BLOCK - 1, block, BLOCK, policy));
		assert_false(is_refused(block, block + BLOCK, BLOCK, policy));
		assert_false(is_refused(block + BLOCK, block, BLOCK, policy));
	}
}

#endif

/*
 * Copies while another thread changes the limit, the threshold and the traits.
 * ThreadSanitizer runs it too.
 */

#define CALLERS 3
#define LIMITS 2000
#define LONGEST ((size_t)9000)

static atomic_bool done;
static atomic_int wrong;
static unsigned char source[LONGEST];

/* Every policy, at sizes that are kept and at sizes that are streamed. */
static void *
copy_until_done(void *state)
{
	static const int policies[] = {HONE_COPY_AUTO, HONE_COPY_KEEP,
		HONE_COPY_STREAM,
		HONE_COPY_STREAM_PROTECT | HONE_COPY_NO_FENCE};
	unsigned char target[LONGEST];
	uint64_t random = *(uint64_t *)state;

	for (size_t i = 0; !atomic_load(&done); i++) {
		size_t n = 1 + support_below(&random, LONGEST);
		int policy = policies[i % 4];

		memset(target, 0xa5, n);
		hone_memcpy(target, source, n, policy);
		hone_copy_fence();
		if (memcmp(target, source, n) != 0)
			atomic_fetch_add(&wrong, 1);
		hone_memset_zero(target, n, policy);
		if (!hone_buffer_is_zero(target, n))
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void
change_limits(void)
{
	for (size_t i = 0; i < LIMITS; i++) {
		hone_cpu_limit(
			hone_copy_variants[i % hone_copy_n_variants].row.needs);
		hone_copy_set_threshold(i % 3 * 4096);
		hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MIN, i % 5 * 1000);
		hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, i % 7 * 1500);
	}
	hone_cpu_limit(HONE_CPU_ALL);
}

/* A reset that came between the stores of a choice has undone it. */
static void
assert_choice_follows_the_traits(void)
{
#ifdef NDEBUG /* in a debug build the number is always 0 */
	size_t min = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MIN);
	unsigned char target[3];
	size_t n = 3; /* compilers replace constant copies */

	__asm__("" : "+r"(n));
	hone_memcpy(target, source, n, HONE_COPY_KEEP);
	assert_true(min > 65 && min < hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX));
	assert_int_equal(hone_detail_copy_libc, min - 65);
#endif
}

TEST(copies_stay_right_while_limit_threshold_and_traits_change)
{
	size_t min = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MIN);
	size_t max = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX);
	pthread_t threads[CALLERS];
	uint64_t seeds[CALLERS], random = support_seed();

	atomic_store(&done, false);
	for (int i = 0; i < CALLERS; i++) {
		seeds[i] = support_random(&random);
		assert_ok(pthread_create(
			&threads[i], NULL, copy_until_done, &seeds[i]));
	}
	change_limits();
	atomic_store(&done, true);
	for (int i = 0; i < CALLERS; i++)
		assert_ok(pthread_join(threads[i], NULL));
	assert_int_equal(wrong, 0);
	assert_choice_follows_the_traits();
	hone_copy_set_threshold(0);
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MIN, min);
	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, max);
}

int
main(void)
{
	for (size_t i = 0; i < LONGEST; i++)
		source[i] = (unsigned char)(i * 7 % 251 + 1);
	return run_all_tests(NULL, NULL);
}
