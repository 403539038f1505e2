/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that closes the shared library while a thread has a cache of its
 * own: the thread closes the cache at its exit, by code of the library. The
 * argument is the path of the library. tests/consume/copies.c unloads one.
 */
#include <dlfcn.h>
#include "mempool_support.h"

static const char *path;

/* What the test calls, in the library that was opened. */
static struct {
	void (*init)(struct hone_mempool_attr *attr);
	int (*create)(struct hone_mempool **pool,
		const struct hone_mempool_attr *attr);
	struct hone_mempool_cache *(*thread_cache)(struct hone_mempool *pool);
} lib;

static pthread_barrier_t barrier;

static void *
hold_a_cache(void *pool)
{
	bool found = lib.thread_cache(pool) != NULL;

	(void)pthread_barrier_wait(&barrier); /* opened */
	(void)pthread_barrier_wait(&barrier); /* closed */
	return found ? pool : NULL;
}

static void
find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		_exit(2);
	memcpy(function, &symbol, sizeof(symbol));
}

/* Opens the library, and makes a pool by its functions. */
static void *
open_library(struct hone_mempool **pool)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct hone_mempool_attr attr;

	if (!library)
		_exit(1);
	find(library, "hone_mempool_attr_init", &lib.init);
	find(library, "hone_mempool_create", &lib.create);
	find(library, "hone_mempool_thread_cache", &lib.thread_cache);
	lib.init(&attr);
	attr.object_size = attr.capacity = 64;
	if (lib.create(pool, &attr) != 0)
		_exit(3);
	return library;
}

/* Returns an exit status. */
static int
close_before_the_thread_ends(void)
{
	struct hone_mempool *pool;
	void *library = open_library(&pool), *end;
	pthread_t thread;

	if (pthread_barrier_init(&barrier, NULL, 2) != 0 ||
		pthread_create(&thread, NULL, hold_a_cache, pool) != 0)
		return 4;
	(void)pthread_barrier_wait(&barrier);
	if (dlclose(library) != 0)
		return 5;
	(void)pthread_barrier_wait(&barrier);
	return pthread_join(thread, &end) == 0 && end == pool ? 0 : 6;
}

/* In a process that has no other key: the first call fails, and the next. */
static int
open_without_a_key(void)
{
	pthread_key_t last = 0, more;
	struct hone_mempool *pool;

	while (pthread_key_create(&more, NULL) == 0)
		last = more;
	(void)open_library(&pool);
	for (int i = 0; i < 2; i++)
		if (lib.thread_cache(pool))
			return 4;
	return pthread_key_delete(last) == 0 && lib.thread_cache(pool) ? 0 : 5;
}

TEST(a_thread_may_end_after_the_library_was_closed)
{
	PASSES_IN_CHILD(close_before_the_thread_ends());
}

TEST(a_thread_cache_needs_one_key)
{
	PASSES_IN_CHILD(open_without_a_key());
}

int
main(int argc, char **argv)
{
	assert_int_equal(argc, 2);
	path = argv[1];
	return run_all_tests(NULL, NULL);
}
