/* SPDX-License-Identifier: BSD-3-Clause */
/* hone_zero_map and the walk, compared with a model that looks at each byte. */
#include <hone/zero.h>
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

int
main(void)
{
	seed = support_seed();
	fence_create(&fence, 65536, 4096);
	return run_all_tests(NULL, NULL);
}
