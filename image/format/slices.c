/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table of slices, and a list of slices in order of use. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <hone/zero.h>
#include "format/slices.h"

/* By default chains have 8 slices if each slice has the least length, 512
 * bytes. */
#define BUCKET_BITS 12

struct image_slices {
	pthread_mutex_t mutex;
	/* bytes of all slices, and their limit */
	size_t bytes;
	size_t limit;
	struct image_slice *newest;
	struct image_slice *oldest;
	struct image_slice *buckets[1 << BUCKET_BITS];
};

struct image_slices *
image_slices_create(size_t bytes)
{
	struct image_slices *cache = calloc(1, sizeof(*cache));
	if (cache) {
		pthread_mutex_init(&cache->mutex, NULL);
		cache->limit = bytes;
	}
	return cache;
}

void
image_slices_destroy(struct image_slices *cache)
{
	if (!cache)
		return;
	while (cache->newest) {
		struct image_slice *slice = cache->newest;
		cache->newest = slice->older;
		free(slice);
	}
	pthread_mutex_destroy(&cache->mutex);
	free(cache);
}

/* Offsets are multiples of 512: Fibonacci hashing spreads them. */
static struct image_slice **
bucket_of(struct image_slices *cache, const struct image_store *store,
	uint64_t offset)
{
	uint64_t key = offset / 512 + (uintptr_t)store;
	return &cache->buckets[key * UINT64_C(0x9e3779b97f4a7c15) >>
			       (64 - BUCKET_BITS)];
}

static void
list_remove(struct image_slices *cache, struct image_slice *slice)
{
	*(slice->newer ? &slice->newer->older : &cache->newest) = slice->older;
	*(slice->older ? &slice->older->newer : &cache->oldest) = slice->newer;
}

static void
list_add(struct image_slices *cache, struct image_slice *slice)
{
	slice->newer = NULL;
	slice->older = cache->newest;
	*(slice->older ? &slice->older->newer : &cache->oldest) = slice;
	cache->newest = slice;
}

/* Returns the slice with one more user, or NULL if the slice is not cached. */
static struct image_slice *
find(struct image_slices *cache, struct image_store *store, uint64_t offset)
{
	struct image_slice *slice = *bucket_of(cache, store, offset);

	while (slice && (slice->store != store || slice->offset != offset))
		slice = slice->next_in_bucket;
	if (slice) {
		slice->users++;
		list_remove(cache, slice);
		list_add(cache, slice);
	}
	return slice;
}

static void
evict(struct image_slices *cache, struct image_slice *slice)
{
	struct image_slice **at = bucket_of(cache, slice->store, slice->offset);

	while (*at != slice)
		at = &(*at)->next_in_bucket;
	*at = slice->next_in_bucket;
	list_remove(cache, slice);
	cache->bytes -= slice->length;
	free(slice);
}

static void
insert(struct image_slices *cache, struct image_slice *slice)
{
	struct image_slice **bucket =
		bucket_of(cache, slice->store, slice->offset);

	slice->next_in_bucket = *bucket;
	*bucket = slice;
	list_add(cache, slice);
	cache->bytes += slice->length;
	/* Few slices are in use, because a thread uses one at a time. */
	struct image_slice *old = cache->oldest;
	while (old && cache->bytes > cache->limit) {
		struct image_slice *newer = old->newer;
		if (old->users == 0)
			evict(cache, old);
		old = newer;
	}
}

static int
load(struct image_store *store, uint64_t offset, size_t length,
	struct image_slice **out, struct image_error *err)
{
	struct image_slice *slice = malloc(sizeof(*slice) + length);
	if (!slice)
		return image_no_memory(err);
	int rc = image_store_read(store, offset, slice->words, length, err);
	if (rc < 0) {
		free(slice);
		return rc;
	}
	/* A sparse file may have huge L2 tables in holes. The entries of a
	 * slice of zeros are not visited one by one. */
	slice->zero = hone_buffer_is_zero(slice->words, length);
	slice->store = store;
	slice->offset = offset;
	slice->length = length;
	slice->users = 1;
	*out = slice;
	return 0;
}

int
image_slices_get(struct image_slices *cache, struct image_store *store,
	uint64_t offset, size_t length, struct image_slice **out,
	struct image_error *err)
{
	struct image_slice *loaded = NULL;

	pthread_mutex_lock(&cache->mutex);
	*out = find(cache, store, offset);
	pthread_mutex_unlock(&cache->mutex);
	if (*out)
		return 0;
	/* Without the mutex, so that other threads do not wait for the disk. */
	int rc = load(store, offset, length, &loaded, err);
	if (rc < 0)
		return rc;
	assert(loaded);
	pthread_mutex_lock(&cache->mutex);
	/* Another thread may have loaded the same slice meanwhile. */
	*out = find(cache, store, offset);
	if (!*out) {
		insert(cache, loaded);
		*out = loaded;
		loaded = NULL;
	}
	pthread_mutex_unlock(&cache->mutex);
	free(loaded);
	return 0;
}

void
image_slices_put(struct image_slices *cache, struct image_slice *slice)
{
	pthread_mutex_lock(&cache->mutex);
	slice->users--;
	pthread_mutex_unlock(&cache->mutex);
}
