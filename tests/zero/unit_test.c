/* SPDX-License-Identifier: BSD-3-Clause */
/* hone_zero_map and the walk, compared with a model that looks at each byte. */
#include <stdatomic.h>
#include <hone/hone.h>
#include <hone/zero.h>
#include "zero.h"
#include "support.h"

static uint64_t seed;
static struct fence fence;

/* Blocks that fill() makes at most. */
#define MAX_BLOCKS 200

static bool
model_is_zero(const unsigned char *p, size_t len)
{
	while (len > 0 && *p == 0) {
		p++;
		len--;
	}
	return len == 0;
}

/* Random blocks, about half of them zero; returns the buffer's length. */
static size_t
fill(uint64_t *random, size_t block)
{
	size_t room = (size_t)(fence.end - fence.start);
	size_t most = block * MAX_BLOCKS;
	size_t len = support_below(random, room < most ? room : most);
	unsigned char *p = fence.end - len;

	memset(p, 0, len);
	for (size_t at = 0; at < len; at += block) {
		size_t n = len - at < block ? len - at : block;

		if (support_below(random, 2))
			p[at + support_below(random, n)] = 1;
	}
	return len;
}

static size_t
random_block(uint64_t *random)
{
	static const size_t usual[] = {1, 2, 7, 64, 512, 4096};

	return support_below(random, 2) ? usual[support_below(random, 6)]
					: 1 + support_below(random, 300);
}

TEST(map_says_of_each_block_whether_it_is_zero)
{
	uint64_t random = seed;
	/* and one byte that must not be touched */
	unsigned char bitmap[(MAX_BLOCKS + 7) / 8 + 1];

	for (int turn = 0; turn < 3000; turn++) {
		size_t block = random_block(&random);
		size_t len = fill(&random, block), zeros = 0, blocks;
		const unsigned char *p = fence.end - len;

		blocks = (len + block - 1) / block;
		assert_in_range(blocks, 0, MAX_BLOCKS);
		memset(bitmap, 0xa5, sizeof(bitmap));
		size_t told = hone_zero_map(p, len, block, bitmap);

		for (size_t i = 0; i < blocks; i++) {
			size_t at = i * block;
			size_t n = len - at < block ? len - at : block;
			bool zero = model_is_zero(p + at, n);

			assert_int_equal(bitmap[i / 8] >> i % 8 & 1, zero);
			zeros += zero;
		}
		assert_int_equal(told, zeros);
		if (blocks % 8)
			assert_int_equal(bitmap[blocks / 8] >> blocks % 8, 0);
		assert_int_equal(bitmap[(blocks + 7) / 8], 0xa5);
	}
}

TEST(map_of_nothing_writes_nothing)
{
	assert_int_equal(hone_zero_map(NULL, 0, 4096, NULL), 0);
}

TEST(walk_covers_the_buffer_with_alternating_extents)
{
	uint64_t random = seed + 1;

	for (int turn = 0; turn < 3000; turn++) {
		size_t block = random_block(&random), at = 0;
		size_t len = fill(&random, block);
		const unsigned char *p = fence.end - len;
		struct hone_zero_extent e, before = {0, 0, false};
		struct hone_zero_walk walk;

		hone_zero_walk_init(&walk, p, len, block);
		while (hone_zero_walk_next(&walk, &e)) {
			assert_int_equal(e.offset, at);
			assert_true(e.length > 0);
			if (at > 0)
				assert_true(e.zero != before.zero);
			at += e.length;
			assert_true(at == len || at % block == 0);
			for (size_t i = e.offset; i < at; i += block) {
				size_t n = at - i < block ? at - i : block;

				assert_int_equal(
					model_is_zero(p + i, n), e.zero);
			}
			before = e;
		}
		assert_int_equal(at, len);
		assert_false(hone_zero_walk_next(&walk, &e));
	}
}

TEST(walk_with_a_block_beyond_the_buffer_tells_one_extent)
{
	struct hone_zero_walk walk;
	struct hone_zero_extent e;
	unsigned char byte = 0;

	hone_zero_walk_init(&walk, &byte, 1, SIZE_MAX);
	assert_true(hone_zero_walk_next(&walk, &e));
	assert_true(e.zero && e.offset == 0 && e.length == 1);
	assert_false(hone_zero_walk_next(&walk, &e));
	hone_zero_walk_init(&walk, NULL, 0, 1);
	assert_false(hone_zero_walk_next(&walk, &e));
}

TEST(a_block_of_nothing_has_a_result_in_release_builds)
{
#ifdef NDEBUG
	struct hone_zero_walk walk;
	struct hone_zero_extent e;
	unsigned char bytes[100] = {0}, map = 0xa5;

	assert_int_equal(hone_zero_map(bytes, sizeof(bytes), 0, &map), 0);
	assert_int_equal(map, 0xa5);
	hone_zero_walk_init(&walk, bytes, sizeof(bytes), 0);
	assert_false(hone_zero_walk_next(&walk, &e));
#else
	print_message("# a debug build asserts it\n");
	skip();
#endif
}

/* Which variant is chosen, and that hone_cpu_limit() changes the choice. */

TEST(the_last_row_that_can_run_is_chosen)
{
	const char *last = NULL;

	for (size_t i = 0; i < hone_zero_n_variants; i++)
		if (hone_cpu_has(hone_zero_variants[i].row.needs))
			last = hone_zero_variants[i].row.name;
	assert_string_equal(hone_cpu_variant("zero"), last);
}

static bool
answers(const unsigned char *buf, size_t n, int function)
{
	switch (function) {
	case 0:
		return hone_find_nonzero(buf, n) == 20;
	case 1:
		return hone_rfind_nonzero(buf, n) == 30;
	case 2: /* not answered inline */
		return hone_buffer_is_zero(buf, 17);
	default:
		return !hone_buffer_is_zero_long(buf, n) &&
		       hone_buffer_is_zero_long(buf, 20);
	}
}

/* The functions were used with other limits before. */
TEST(a_limit_holds_whichever_function_is_the_first_after_it)
{
	unsigned char buf[64] = {[20] = 1, [30] = 1};

	for (size_t i = 0; i < hone_zero_n_variants; i++)
		for (int function = 0; function < 4; function++) {
			const struct hone_zero_variant *v =
				&hone_zero_variants[i];

			if (!hone_cpu_has(v->row.needs))
				continue;
			hone_cpu_limit(v->row.needs);
			assert_true(answers(buf, sizeof(buf), function));
			assert_ptr_equal(hone_detail_is_zero, v->is_zero);
			assert_string_equal(
				hone_cpu_variant("zero"), v->row.name);
			hone_cpu_limit(HONE_CPU_ALL);
		}
}

/* Dispatch while other threads change the limit. ThreadSanitizer runs it
 * too. */

#define CALLERS 3
#define LIMITS 2000

static atomic_bool done;
static unsigned char buffer[700];

static void *
call_until_done(void *wrong)
{
	while (!atomic_load(&done))
		if (hone_buffer_is_zero(buffer, sizeof(buffer)) ||
			hone_find_nonzero(buffer, sizeof(buffer)) != 500 ||
			hone_rfind_nonzero(buffer, sizeof(buffer)) != 500)
			atomic_fetch_add((atomic_int *)wrong, 1);
	return NULL;
}

TEST(answers_stay_right_while_the_limit_changes)
{
	pthread_t threads[CALLERS];
	atomic_int wrong = 0;

	buffer[500] = 1;
	for (int i = 0; i < CALLERS; i++)
		assert_ok(pthread_create(
			&threads[i], NULL, call_until_done, &wrong));
	for (size_t i = 0; i < LIMITS; i++)
		hone_cpu_limit(
			hone_zero_variants[i % hone_zero_n_variants].row.needs);
	atomic_store(&done, true);
	for (int i = 0; i < CALLERS; i++)
		assert_ok(pthread_join(threads[i], NULL));
	assert_int_equal(wrong, 0);
	hone_cpu_limit(HONE_CPU_ALL);
}

/* What hone_buffer_is_zero() answers without a call. */

#define MOST 16 /* bytes of a constant length that is tested inline */

/* A constant length, for the compiler too. */
#define CASE(n)                                                                \
	case n:                                                                \
		return hone_buffer_is_zero(p, n);

static bool
constant_length_is_zero(const unsigned char *p, size_t len)
{
	switch (len) {
		CASE(0)
		CASE(1)
		CASE(2)
		CASE(3)
		CASE(4)
		CASE(5)
		CASE(6)
		CASE(7)
		CASE(8)
		CASE(9)
		CASE(10)
		CASE(11)
		CASE(12)
		CASE(13)
		CASE(14)
		CASE(15)
		CASE(16)
	}
	fail_msg("no case for length %zu", len);
	return false;
}

TEST(constant_lengths_find_each_byte_and_none_beside_the_buffer)
{
	memset(fence.start, 0xff, (size_t)(fence.end - fence.start));
	for (size_t len = 0; len <= MOST; len++) {
		unsigned char *const places[] = {fence.start, fence.end - len};

		for (size_t k = 0; k < 2; k++) {
			unsigned char *p = places[k];

			memset(p, 0, len);
			assert_true(constant_length_is_zero(p, len));
			for (size_t at = 0; at < len; at++) {
				p[at] = 0x80;
				assert_false(constant_length_is_zero(p, len));
				p[at] = 0;
			}
			memset(p, 0xff, len);
		}
	}
}

static bool
never_called(const void *buf, size_t len)
{
	(void)buf;
	fail_msg("a call for %zu bytes", len);
	return false;
}

TEST(lengths_8_and_16_need_no_call_even_if_not_constant)
{
	/* Longer than needed: the compiler does not know the length, and
	 * would warn of the samples of a long buffer. */
	static const unsigned char zeros[4096];
	bool (*chosen)(const void *, size_t) = hone_detail_is_zero;
	volatile size_t len;

	hone_detail_is_zero = never_called;
	for (len = 8; len <= MOST; len += 8)
		assert_true(hone_buffer_is_zero(zeros, len));
	hone_detail_is_zero = chosen;
}

int
main(void)
{
	seed = support_seed();
	fence_create(&fence, 65536, 4096);
	return run_all_tests(NULL, NULL);
}
