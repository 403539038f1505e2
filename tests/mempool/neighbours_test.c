/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that use neighbouring objects, whose stride is not a multiple of 8.
 * AddressSanitizer keeps one byte of state for 8 bytes of memory: if two
 * objects shared that byte, it would report correct programs.
 */
#include <string.h>
#include "mempool_support.h"

#define OBJECTS 64
#define TURNS 5000

static struct hone_mempool *
packed(size_t size, size_t alignment, unsigned flags)
{
	struct hone_mempool_attr attr = attributes(OBJECTS, 4, 4);
	struct hone_mempool *pool;

	attr.object_size = size;
	attr.alignment = alignment;
	attr.flags |= flags;
	assert_int_equal(hone_mempool_create(&pool, &attr), 0);
	return pool;
}

TEST(a_sanitizer_has_whole_granules_for_each_object)
{
	static const unsigned flags[] = {0, HONE_MEMPOOL_NO_COLOUR,
		HONE_MEMPOOL_DEBUG,
		HONE_MEMPOOL_DEBUG | HONE_MEMPOOL_NO_COLOUR};

	for (size_t f = 0; f < 4; f++)
		for (size_t alignment = 1; alignment <= 16; alignment *= 2)
			for (size_t size = 1; size <= 40; size++) {
				struct hone_mempool *pool =
					packed(size, alignment, flags[f]);
				size_t stride = stats_of(pool).stride;

				assert_int_equal(stride % GRANULE, 0);
				assert_int_equal(stride % alignment, 0);
				assert_true(stride >= size);
				destroyed(pool);
			}
}

struct user {
	struct hone_mempool *pool;
	unsigned char number;
	unsigned errors;
};

static void *
use(void *arg)
{
	struct user *u = arg;
	struct hone_mempool_cache *c = opened(u->pool);

	for (int i = 0; i < TURNS; i++) {
		unsigned char *objs[9];
		size_t n = hone_mempool_get_burst(c, (void **)objs, 9);

		for (size_t k = 0; k < n; k++)
			memset(objs[k], u->number, 3);
		for (size_t k = 0; k < n; k++)
			u->errors += objs[k][0] != u->number ||
				     objs[k][2] != u->number;
		hone_mempool_put_bulk(c, (void *const *)objs, n);
	}
	hone_mempool_cache_close(c);
	return NULL;
}

TEST(threads_use_neighbouring_objects)
{
	struct hone_mempool *pool = packed(3, 1, HONE_MEMPOOL_NO_COLOUR);
	struct user users[4];

	for (unsigned char i = 0; i < 4; i++)
		users[i] = (struct user){.pool = pool, .number = i};
	support_threads(use, users, 4, sizeof(*users));
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(users[i].errors, 0);
	destroyed(pool);
}
