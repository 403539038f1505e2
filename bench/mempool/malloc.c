/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc() and free() of glibc and of libraries that replace them. dlopen()
 * loads each beside the others. The calls go through pointers, as through the
 * linker's table. The program itself uses glibc's.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "pools.h"

struct allocator {
	void *(*allocate)(size_t);
	void (*release)(void *);
	size_t size;
};

static inline int
get_bulk(const struct allocator *a, void **objects, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		objects[i] = a->allocate(a->size);
	return 0;
}

static inline void
put_bulk(const struct allocator *a, void **objects, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		a->release(objects[i]);
}

#define POOL malloc
#define POOL_BEGIN(t) const struct allocator a = *(struct allocator *)(t)
#define POOL_END() (void)0
#define POOL_GET(p, n) get_bulk(&a, p, n)
#define POOL_PUT(p, n) put_bulk(&a, p, n)
#include "loop.h"

static const char *
missing(const struct pool_subject *s)
{
	return dlopen(s->kind, RTLD_NOW | RTLD_LOCAL) ? NULL : dlerror();
}

static void *
open_library(const struct pool_subject *s, const struct pool_shape *shape)
{
	struct allocator *a = malloc(sizeof(*a));
	void *library = dlopen(s->kind, RTLD_NOW | RTLD_LOCAL), *f;

	if (!library || !a) {
		free(a);
		return NULL;
	}
	a->size = shape->object_size;
	f = dlsym(library, "malloc");
	memcpy(&a->allocate, &f, sizeof(f));
	f = dlsym(library, "free");
	memcpy(&a->release, &f, sizeof(f));
	return a;
}

static void *
enter(void *pool)
{
	return pool;
}

#define ROW(name, library)                                                     \
	{                                                                      \
		name, library, missing, open_library, enter, malloc_cycle,     \
			malloc_touch, malloc_produce, malloc_consume,          \
			malloc_take, malloc_give                               \
	}

const struct pool_subject pool_mallocs[] = {
	ROW("glibc", "libc.so.6"),
	ROW("jemalloc", "libjemalloc.so.2"),
	ROW("mimalloc", "libmimalloc.so.2"),
	ROW("mimalloc-3", "libmimalloc.so.3"),
	ROW("tcmalloc", "libtcmalloc_minimal.so.4"),
	{0},
};
