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
	/* From the least to the most recently used: TAILQ_LAST() and
	 * TAILQ_PREV() break the rules of strict aliasing. */
	TAILQ_HEAD(, image_slice) order;
	LIST_HEAD(bucket, image_slice) buckets[1 << BUCKET_BITS];
};

struct image_slices *
image_slices_create(size_t bytes)
{
	struct image_slices *cache = calloc(1, sizeof(*cache));
	if (cache) {
		pthread_mutex_init(&cache->mutex, NULL);
		cache->limit = bytes;
		TAILQ_INIT(&cache->order);
	}
	return cache;
}

void
image_slices_destroy(struct image_slices *cache)
{
	if (!cache)
		return;
	struct image_slice *slice;
	while ((slice = TAILQ_FIRST(&cache->order))) {
		TAILQ_REMOVE(&cache->order, slice, in_order);
		free(slice);
	}
	pthread_mutex_destroy(&cache->mutex);
	free(cache);
}

/* Offsets are multiples of 512: Fibonacci hashing spreads them. */
static struct bucket *
bucket_of(struct image_slices *cache, const struct image_store *store,
	uint64_t offset)
{
	uint64_t key = offset / 512 + (uintptr_t)store;
	return &cache->buckets[key * UINT64_C(0x9e3779b97f4a7c15) >>
			       (64 - BUCKET_BITS)];
}

/* Returns the slice with one more user, or NULL if the slice is not cached. */
static struct image_slice *
find(struct image_slices *cache, struct image_store *store, uint64_t offset)
{
	struct image_slice *slice = LIST_FIRST(bucket_of(cache, store, offset));

	while (slice && (slice->store != store || slice->offset != offset))
		slice = LIST_NEXT(slice, in_bucket);
	if (slice) {
		slice->users++;
		TAILQ_REMOVE(&cache->order, slice, in_order);
		TAILQ_INSERT_TAIL(&cache->order, slice, in_order);
	}
	return slice;
}

static void
insert(struct image_slices *cache, struct image_slice *slice)
{
	LIST_INSERT_HEAD(bucket_of(cache, slice->store, slice->offset), slice,
		in_bucket);
	TAILQ_INSERT_TAIL(&cache->order, slice, in_order);
	cache->bytes += slice->length;
	/* Few slices are in use, because a thread uses one at a time. */
	struct image_slice *old = TAILQ_FIRST(&cache->order);
	while (old && cache->bytes > cache->limit) {
		struct image_slice *newer = TAILQ_NEXT(old, in_order);
		if (old->users == 0) {
			LIST_REMOVE(old, in_bucket);
			TAILQ_REMOVE(&cache->order, old, in_order);
			cache->bytes -= old->length;
			free(old);
		}
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
