/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mapping and what lies where in it.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "arena.h"

#define HUGE ((size_t)2 << 20)
#define BYTES_PER_SHARD ((size_t)16 << 20)
#define SLOTS 1024
/* Bytes of arena for each bucket: a chain of small entries has two. */
#define BYTES_PER_BUCKET 256
/* The part of an arena that eviction keeps free. */
#define RESERVE 64

static uint64_t
seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec;
}

uint32_t
php_hone_store_tick(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint32_t)t.tv_sec * 16 + (uint32_t)(t.tv_nsec / 62500000);
}

uint32_t
php_hone_store_now(const struct php_hone_store *store)
{
	/* From 1 on: 0 is never. */
	return (uint32_t)(seconds() - (uint64_t)store->made + 1);
}

/* A descriptor of unnamed memory, or a negative errno. */
static int
open_memory(const struct php_hone_store_attr *attr, size_t size)
{
	char name[40];
	snprintf(name, sizeof name, "hone-cache %s",
		attr->name != NULL ? attr->name : "");
	unsigned flags = MFD_CLOEXEC;
	if (attr->huge_pages)
		flags |= MFD_HUGETLB;
	int fd = memfd_create(name, flags);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) != 0) {
		int error = errno;
		close(fd);
		return -error;
	}
	return fd;
}

static int
map(struct php_hone_store *store, int fd, bool protect)
{
	void *rw = mmap(
		NULL, store->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rw == MAP_FAILED)
		return -errno;
	store->rw = rw;
	store->region = rw;
	store->ro = rw;
	if (!protect)
		return 0;
	void *ro = mmap(NULL, store->size, PROT_READ, MAP_SHARED, fd, 0);
	if (ro == MAP_FAILED) {
		int error = errno;
		munmap(rw, store->size);
		return -error;
	}
	store->ro = ro;
	return 0;
}

/* All pages now, so that a lack of memory is an error and not a signal. */
static int
populate(const struct php_hone_store *store)
{
#ifdef MADV_POPULATE_WRITE
	if (madvise(store->rw, store->size, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
#endif
	/* Linux before 5.14. */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t at = 0; at < store->size; at += page)
		((volatile unsigned char *)store->rw)[at] = 0;
	return 0;
}

static unsigned
shards_of(const struct php_hone_store_attr *attr, size_t size)
{
	size_t n = attr->shards;
	if (n == 0)
		n = size / BYTES_PER_SHARD;
	/* A shard of less than this has no room for large values. */
	if (n > size / (PHP_HONE_STORE_LEAST / 2))
		n = size / (PHP_HONE_STORE_LEAST / 2);
	if (n > PHP_HONE_MAX_SHARDS)
		n = PHP_HONE_MAX_SHARDS;
	return n != 0 ? (unsigned)n : 1;
}

static uint32_t
units_for(size_t bytes)
{
	return (uint32_t)((bytes + PHP_HONE_UNIT - 1) / PHP_HONE_UNIT);
}

/* Where things lie; the same in each process, since the handle is copied. */
static void
lay_out(struct php_hone_store *store, const struct php_hone_store_attr *attr)
{
	store->n_shards = shards_of(attr, store->size);
	store->n_slots = attr->slots != 0 ? attr->slots : SLOTS;
	/* Slots take at most an eighth. */
	size_t most = store->size / 8 / sizeof(struct php_hone_slot);
	if (store->n_slots > most)
		store->n_slots = (uint32_t)most;
	store->recip = ((uint64_t)PHP_HONE_REGIONS << 32) /
		       (store->size / PHP_HONE_UNIT);

	uint32_t at = units_for(sizeof *store->region);
	store->slots = php_hone_at(store, at);
	at += units_for(store->n_slots * sizeof *store->slots);
	store->shards = php_hone_at(store, at);
	at += units_for(store->n_shards * sizeof *store->shards);
	uint32_t each =
		(uint32_t)(store->size / PHP_HONE_UNIT - at) / store->n_shards;
	size_t buckets = 1;
	while (buckets * 2 * BYTES_PER_BUCKET <= each * PHP_HONE_UNIT)
		buckets *= 2;
	store->bucket_mask = (uint32_t)buckets - 1;
	uint32_t index = units_for(buckets * sizeof(uint32_t));
	for (unsigned i = 0; i < store->n_shards; i++) {
		struct php_hone_shard *shard = php_hone_shard_at(store, i);
		store->buckets[i] = at;
		shard->first = at + index;
		shard->end = at + each;
		if (shard->end - shard->first > PHP_HONE_ARENA_MOST)
			shard->end = shard->first + PHP_HONE_ARENA_MOST;
		shard->reserve = (shard->end - shard->first) / RESERVE;
		shard->min_expires = UINT32_MAX;
		at += each;
	}
}

static int
init_mutex(struct php_hone_shard *shard)
{
	pthread_mutexattr_t attr;
	int error = pthread_mutexattr_init(&attr);
	if (error != 0)
		return -error;
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	error = pthread_mutex_init(&shard->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return -error;
}

static int
fill(struct php_hone_store *store, const struct php_hone_store_attr *attr)
{
	struct php_hone_region *region = store->region;
	assert(region != NULL && store->rw != NULL);
	if (attr->populate) {
		int error = populate(store);
		if (error != 0)
			return error;
	}
	snprintf(region->name, sizeof region->name, "%s",
		attr->name != NULL ? attr->name : "");
	region->start = (int64_t)time(NULL);
	region->epoch = 1;
	store->made = (int64_t)seconds();
	lay_out(store, attr);
	for (unsigned i = 0; i < store->n_shards; i++) {
		struct php_hone_shard *shard = php_hone_shard_at(store, i);
		php_hone_arena_init(store, shard);
		int error = init_mutex(shard);
		if (error != 0)
			return error;
	}
	return 0;
}

int
php_hone_store_create(
	struct php_hone_store **out, const struct php_hone_store_attr *attr)
{
	*out = NULL;
	if (attr->size < PHP_HONE_STORE_LEAST ||
		attr->size > PHP_HONE_STORE_MOST)
		return -EINVAL;
	struct php_hone_store *store = calloc(1, sizeof *store);
	if (store == NULL)
		return -ENOMEM;
	store->size = (attr->size + HUGE - 1) & ~(HUGE - 1);
	int error = open_memory(attr, store->size);
	if (error >= 0) {
		int fd = error;
		error = map(store, fd, attr->protect);
		close(fd);
	}
	if (error == 0) {
		error = fill(store, attr);
		if (error != 0)
			php_hone_store_unmap(store);
	} else {
		free(store);
	}
	if (error == 0)
		*out = store;
	return error;
}

void
php_hone_store_unmap(struct php_hone_store *store)
{
	if (store->ro != store->rw)
		munmap((void *)(uintptr_t)store->ro, store->size);
	munmap(store->rw, store->size);
	free(store);
}

void *
php_hone_store_view(const struct php_hone_store *store, void *writable)
{
	return (unsigned char *)(uintptr_t)store->ro +
	       ((unsigned char *)writable - store->rw);
}

void *
php_hone_store_writable(const struct php_hone_store *store, const void *view)
{
	return store->rw + ((const unsigned char *)view - store->ro);
}
