/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools whose slots have 32 bits. */
#include <string.h>
#include <sys/mman.h>
#include "mempool_support.h"

#define OBJECTS 64
#define PAGE 4096

/*
 * The address for mappings that have room for the objects, used if the system
 * allows it; NULL: any address. And how often it was used.
 */
static void *begin_at;
static int began_there;

STANDS_FOR(void *, mmap, void *addr, size_t size, int prot, int flags, int fd,
	off_t at)
{
	void *there = size >= OBJECTS * PAGE ? begin_at : NULL, *got;

	got = __real_mmap(addr ? addr : there, size, prot, flags, fd, at);
	began_there += there && got == there;
	return got;
}

/* The name of mmap() where off_t has 64 bits by choice. */
STANDS_FOR(void *, mmap64, void *addr, size_t size, int prot, int flags, int fd,
	off_t at)
{
	return __wrap_mmap(addr, size, prot, flags, fd, at);
}

/* Unused addresses on both sides of a multiple of 4 GiB. */
static char *
border(void)
{
	size_t size = (size_t)((uint64_t)2 << 32);
	char *p = __real_mmap(NULL, size, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(munmap(p, size), 0);
	return p + (-(uintptr_t)p & UINT32_MAX);
}

static bool
lies_across(const char *p, size_t size)
{
	return (uint64_t)(uintptr_t)p >> 32 !=
	       ((uint64_t)(uintptr_t)p + size - 1) >> 32;
}

/* A pool of 64 pages whose memory would begin this many pages before a
 * border. */
static void
short_slots_reach_all_objects_wherever_they_are(void **state)
{
	(void)state;
	for (size_t before = 0; before <= 66; before += before < 4 ? 1 : 6) {
		struct hone_mempool_attr attr = attributes(OBJECTS, 8, 2);
		struct hone_mempool *pool;
		struct hone_mempool_cache *c;
		void *objs[OBJECTS];

		attr.object_size = attr.alignment = PAGE;
		attr.flags = HONE_MEMPOOL_SHORT_SLOTS | HONE_MEMPOOL_NO_COLOUR;
		begin_at = border() - before * PAGE;
		assert_int_equal(hone_mempool_create(&pool, &attr), 0);
		begin_at = NULL;
		c = opened(pool);
		assert_int_equal(hone_mempool_get_bulk(c, objs, OBJECTS), 0);
		all_different(objs, OBJECTS);
		for (size_t i = 0; i < OBJECTS; i++)
			memset(objs[i], (int)i, PAGE);
		hone_mempool_put_bulk(c, objs, OBJECTS);
		hone_mempool_cache_close(c);
		destroyed(pool);
	}
	assert_true(began_there > 8);
}

static void
short_slots_that_do_not_reach_are_refused(void **state)
{
	struct hone_mempool_attr attr = attributes(OBJECTS, 8, 2);
	struct hone_mempool *pool = NULL;
	char *memory = __real_mmap(border() - 2 * PAGE, OBJECTS * PAGE,
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(
		memory != MAP_FAILED && lies_across(memory, OBJECTS * PAGE));
	attr.object_size = attr.alignment = PAGE;
	attr.flags = HONE_MEMPOOL_SHORT_SLOTS | HONE_MEMPOOL_NO_COLOUR;
	attr.memory = memory;
	attr.memory_size = OBJECTS * PAGE;
	assert_int_equal(hone_mempool_memory_size(&attr), 0);
	assert_int_equal(hone_mempool_create(&pool, &attr), -EINVAL);
	attr.capacity = 2;
	assert_int_equal(hone_mempool_create(&pool, &attr), 0);
	destroyed(pool);
	attr.memory = NULL;
	attr.capacity = 1 << 20;
	assert_int_equal(
		hone_mempool_memory_size(&attr), (size_t)((uint64_t)1 << 32));
	attr.capacity++;
	assert_int_equal(hone_mempool_memory_size(&attr), 0);
	attr.flags = HONE_MEMPOOL_NO_COLOUR;
	assert_true(hone_mempool_memory_size(&attr) > 0);
	assert_int_equal(munmap(memory, OBJECTS * PAGE), 0);
}

/* A user sees pointers, whatever the slots contain. */
static void
magazines_and_reserves_are_of_pointers(void **state)
{
	struct hone_mempool_attr attr = attributes(1511, 504, 2);
	struct hone_mempool *pool;
	struct hone_mempool_cache *c;
	struct hone_mempool_magazine *m[3];
	void *objs[1511];
	size_t n = 0;

	(void)state;
	attr.flags = HONE_MEMPOOL_SHORT_SLOTS;
	assert_int_equal(hone_mempool_create(&pool, &attr), 0);
	c = opened(pool);
	for (int i = 0; i < 3; i++) {
		m[i] = hone_mempool_get_magazine(c);
		memcpy(objs + n, m[i]->objects, m[i]->count * sizeof(*objs));
		n += m[i]->count;
	}
	assert_int_equal(n, 1511);
	all_different(objs, n);
	for (size_t i = 0; i < n; i++)
		memset(objs[i], (int)i, attr.object_size);
	for (int i = 0; i < 3; i++)
		hone_mempool_put_magazine(c, m[i]);
	audited(pool, 0);
	assert_int_equal(hone_mempool_reserve(c, 1000), 0);
	assert_int_equal(hone_mempool_get_bulk(c, objs, 1511), 0);
	all_different(objs, 1511);
	hone_mempool_put_bulk(c, objs, 1511);
	assert_int_equal(hone_mempool_reserve(c, 700), 0);
	hone_mempool_cache_close(c);
	destroyed(pool);
}

/* No variant has been chosen then. */
static void
objects_move_both_ways_right_after_a_limit(void **state)
{
	(void)state;
	for (int put_first = 0; put_first < 2; put_first++) {
		struct hone_mempool_attr attr = attributes(OBJECTS, 8, 2);
		struct hone_mempool *pool;
		struct hone_mempool_cache *c;
		void *objs[OBJECTS];

		attr.flags = HONE_MEMPOOL_SHORT_SLOTS;
		assert_int_equal(hone_mempool_create(&pool, &attr), 0);
		c = opened(pool);
		assert_int_equal(hone_mempool_get_bulk(c, objs, OBJECTS), 0);
		hone_cpu_limit(0);
		hone_mempool_put_bulk(c, objs, OBJECTS);
		if (!put_first)
			hone_cpu_limit(0);
		assert_int_equal(hone_mempool_get_bulk(c, objs, OBJECTS), 0);
		all_different(objs, OBJECTS);
		hone_mempool_put_bulk(c, objs, OBJECTS);
		hone_cpu_limit(HONE_CPU_ALL);
		hone_mempool_cache_close(c);
		destroyed(pool);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			short_slots_reach_all_objects_wherever_they_are),
		cmocka_unit_test(short_slots_that_do_not_reach_are_refused),
		cmocka_unit_test(magazines_and_reserves_are_of_pointers),
		cmocka_unit_test(objects_move_both_ways_right_after_a_limit),
	};

	/* On such machines no address has upper bits. */
	if (sizeof(void *) <= sizeof(uint32_t))
		return support_skip_all("mempool_slots", "pointers are short");
	return cmocka_run_group_tests_name("mempool_slots", tests, NULL, NULL);
}
