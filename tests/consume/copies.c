/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three libraries in one process: hone.c in this program, hone.c or libhone.a
 * in a module, which is this file with -DMODULE, and libhone.so. The arguments
 * are the paths of the last two. Each library has its own state. The module is
 * unloaded while a thread that has used its pools runs on.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hone.h"

#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "copies: %s\n", #cond);                \
			exit(1);                                               \
		}                                                              \
	} while (0)

struct library {
	void (*limit)(uint64_t features);
	const char *(*variant)(const char *part);
	void (*init)(struct hone_mempool_attr *attr);
	int (*create)(struct hone_mempool **pool,
		const struct hone_mempool_attr *attr);
	int (*destroy)(struct hone_mempool *pool);
	struct hone_mempool_cache *(*thread_cache)(struct hone_mempool *pool);
};

/* The copy that is linked with this file. */
struct library linked = {hone_cpu_limit, hone_cpu_variant,
	hone_mempool_attr_init, hone_mempool_create, hone_mempool_destroy,
	hone_mempool_thread_cache};

#ifndef MODULE
static struct library *module, shared;

/* A pointer to a function cannot be cast from one to data. */
static void
find(void *handle, const char *name, void *function)
{
	void *symbol = dlsym(handle, name);

	MUST(symbol);
	memcpy(function, &symbol, sizeof(symbol));
}

static void *
load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	MUST(handle);
	return handle;
}

static void
load_shared(const char *path)
{
	void *handle = load(path);

	find(handle, "hone_cpu_limit", &shared.limit);
	find(handle, "hone_cpu_variant", &shared.variant);
	find(handle, "hone_mempool_attr_init", &shared.init);
	find(handle, "hone_mempool_create", &shared.create);
	find(handle, "hone_mempool_destroy", &shared.destroy);
	find(handle, "hone_mempool_thread_cache", &shared.thread_cache);
}

static struct hone_mempool *
pool_of(const struct library *l)
{
	struct hone_mempool_attr attr;
	struct hone_mempool *pool;

	l->init(&attr);
	attr.object_size = attr.capacity = 64;
	MUST(l->create(&pool, &attr) == 0);
	return pool;
}

static void
use(const struct library *l, struct hone_mempool *pool)
{
	struct hone_mempool_cache *cache = l->thread_cache(pool);
	void *object;

	MUST(cache);
	object = hone_mempool_get(cache);
	MUST(object);
	hone_mempool_put(cache, object);
}

static void
limit_one(const struct library *l)
{
	const struct library *each[] = {&linked, module, &shared};
	const char *best = l->variant("zero");

	l->limit(0);
	for (size_t i = 0; i < 3; i++)
		MUST(strcmp(each[i]->variant("zero"),
			     each[i] == l ? "generic" : best) == 0);
	l->limit(HONE_CPU_ALL);
}

static pthread_barrier_t barrier;

static void *
use_all(void *of_shared)
{
	struct hone_mempool *pool = pool_of(module), *own = pool_of(&linked);

	use(module, pool);
	use(&linked, own);
	use(&shared, of_shared);
	MUST(module->destroy(pool) == 0);
	(void)pthread_barrier_wait(&barrier); /* used */
	(void)pthread_barrier_wait(&barrier); /* unloaded */
	use(&linked, own);
	use(&shared, of_shared);
	return own;
}

static void
unload_while_a_thread_runs(const char *path)
{
	struct hone_mempool *of_shared = pool_of(&shared);
	void *handle = load(path), *of_thread;
	pthread_t thread;

	module = dlsym(handle, "linked");
	MUST(module && module != &linked);
	limit_one(&linked);
	limit_one(module);
	limit_one(&shared);
	MUST(pthread_barrier_init(&barrier, NULL, 2) == 0);
	MUST(pthread_create(&thread, NULL, use_all, of_shared) == 0);
	(void)pthread_barrier_wait(&barrier);
	MUST(dlclose(handle) == 0);
	MUST(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
	(void)pthread_barrier_wait(&barrier);
	MUST(pthread_join(thread, &of_thread) == 0);
	MUST(linked.destroy(of_thread) == 0);
	MUST(shared.destroy(of_shared) == 0);
}

int
main(int argc, char **argv)
{
	MUST(argc == 3);
	/* The functions of this program are hidden, also with -rdynamic. */
	MUST(!dlsym(RTLD_DEFAULT, "hone_version"));
	load_shared(argv[2]);
	unload_while_a_thread_runs(argv[1]);
	unload_while_a_thread_runs(argv[1]);
	return 0;
}
#endif
