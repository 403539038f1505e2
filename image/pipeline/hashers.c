/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <hone/zero.h>
#include "format/bytes.h"
#include "hash/hash.h"
#include "pipeline/hashers.h"
#include "thread.h"

/* Zeros of one call, and the blocks of a sparse digest; stays in the
 * first-level CPU cache beside the state. */
#define ZEROS 16384
/* Zeros between two calls of progress. */
#define STEP ((uint64_t)1 << 20)

struct hasher {
	struct image_hashers *all;
	struct image_hash *hash;
	pthread_t thread;
	/* end of what was hashed */
	uint64_t at;
	/* from here on, blocks with data; UINT64_MAX: not sparse */
	uint64_t sparse_from;
	/* the block before `at` is one */
	bool has_data;
	int rc;
	struct image_error err;
};

struct image_hashers {
	const struct image_run *run;
	/* NULL: none */
	const struct image_patches *patches;
	bool compact;
	size_t count;
	/* the first hashers have threads */
	size_t threads;
	struct hasher list[IMAGE_ALGORITHMS + 1];

	pthread_mutex_t lock;
	pthread_cond_t posted;
	pthread_cond_t done;
	/* Everything below is used under the lock; what is posted is constant
	 * while threads are busy. */
	const struct image_chunk *chunk;
	const struct image_pieces *pieces;
	/* without a chunk: zeros up to here */
	uint64_t end;
	uint64_t posts;
	size_t busy;
	bool quit;

	/* Atomic: the digests are no longer needed. */
	int stopped;
};

static void
report(struct hasher *hasher)
{
	const struct image_run *run = hasher->all->run;

	if (hasher == hasher->all->list && run->progress)
		run->progress(run->opaque, hasher->at);
}

void
image_hashers_stop(struct image_hashers *all)
{
	__atomic_store_n(&all->stopped, 1, __ATOMIC_RELAXED);
}

static void
add(struct hasher *hasher, const void *bytes, size_t length)
{
	if (hasher->rc == 0) {
		hasher->rc = image_hash_add(
			hasher->hash, bytes, length, &hasher->err);
		if (hasher->rc < 0)
			image_hashers_stop(hasher->all);
	}
}

static const unsigned char zeros[ZEROS];

static void
add_number(struct hasher *hasher, uint64_t number)
{
	unsigned char bytes[8];

	image_put_le64(bytes, number);
	add(hasher, bytes, sizeof(bytes));
}

/*
 * As add_bytes(), at most to the end of a block. Only blocks with data are
 * hashed, each behind its offset: two disks give the same input if and only if
 * they are equal, but for zeros at the end.
 */
static uint64_t
add_sparse(struct hasher *hasher, const unsigned char *bytes, uint64_t length)
{
	size_t skip = (size_t)(hasher->at % ZEROS);
	size_t n = length < ZEROS - skip ? (size_t)length : ZEROS - skip;

	hasher->has_data = hasher->has_data && skip;
	if (!hasher->has_data && !bytes)
		return length;
	if (!hasher->has_data && hone_buffer_is_zero(bytes, n))
		return n;
	if (!hasher->has_data) {
		add_number(hasher, hasher->at - skip);
		add(hasher, zeros, skip);
		hasher->has_data = true;
	}
	add(hasher, bytes ? bytes : zeros, n);
	return n;
}

/* Add bytes or, with NULL, zeros. Returns how many. */
static uint64_t
add_bytes(struct hasher *hasher, const unsigned char *bytes, uint64_t length)
{
	if (hasher->at >= hasher->sparse_from)
		return add_sparse(hasher, bytes, length);
	if (length > hasher->sparse_from - hasher->at)
		length = hasher->sparse_from - hasher->at;
	size_t n = bytes || length < ZEROS ? (size_t)length : ZEROS;
	add(hasher, bytes ? bytes : zeros, n);
	return n;
}

/* Hash the disk up to end: these bytes or, with NULL, zeros. If the digest is
 * not sparse, it is that of the disk before the patches. */
static void
add_up_to(struct hasher *hasher, uint64_t end, const unsigned char *bytes)
{
	bool sparse = hasher->sparse_from < UINT64_MAX;
	const struct image_patches *patches =
		sparse ? NULL : hasher->all->patches;

	if (patches && end > patches->size)
		end = patches->size;
	/* A hole of several TiB takes hours. */
	while (!__atomic_load_n(&hasher->all->stopped, __ATOMIC_RELAXED) &&
		hasher->at < end) {
		uint64_t at = hasher->at, stop = end;
		const struct image_patch *patch =
			patches ? image_patch_at(patches, at, &stop) : NULL;
		const unsigned char *from =
			patch ? patch->was + (at - patch->offset) : bytes;
		uint64_t n = add_bytes(hasher, from, stop - at);
		hasher->at += n;
		if (bytes)
			bytes += n;
		else if (hasher->at % STEP < ZEROS)
			report(hasher);
	}
}

/* Hash what is posted. */
static void
hash_posted(struct hasher *hasher)
{
	const struct image_hashers *all = hasher->all;

	if (!all->chunk) {
		uint64_t end = all->end > hasher->at ? all->end : hasher->at;
		/* The end of the disk may be in a block. */
		if (end >= hasher->sparse_from)
			end = (end | (ZEROS - 1)) + 1;
		add_up_to(hasher, end, NULL);
		return;
	}
	size_t at = 0;
	for (size_t i = 0; i < all->pieces->count; i++) {
		const struct image_extent *e = &all->pieces->list[i];
		if (e->kind != IMAGE_DATA)
			continue;
		if (!all->compact)
			at = (size_t)(e->offset - all->chunk->offset);
		add_up_to(hasher, e->offset, NULL);
		add_up_to(hasher, e->offset + e->length, all->chunk->data + at);
		at += (size_t)e->length;
	}
	report(hasher);
}

static void *
hashers_loop(void *opaque)
{
	struct hasher *hasher = opaque;
	struct image_hashers *all = hasher->all;

	pthread_mutex_lock(&all->lock);
	for (uint64_t seen = 0;; seen++) {
		while (all->posts == seen && !all->quit)
			pthread_cond_wait(&all->posted, &all->lock);
		if (all->posts == seen)
			break;
		pthread_mutex_unlock(&all->lock);
		hash_posted(hasher);
		pthread_mutex_lock(&all->lock);
		if (--all->busy == 0)
			pthread_cond_signal(&all->done);
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

int
image_hashers_create(struct image_hashers **out,
	const struct image_digests *digests, const struct image_run *run,
	const struct image_patches *patches, unsigned flags,
	struct image_error *err)
{
	struct image_hashers *all = calloc(1, sizeof(*all));
	int rc = 0;

	*out = all;
	if (!all)
		return image_no_memory(err);
	all->run = run;
	all->patches = patches;
	all->compact = flags & IMAGE_HASHERS_COMPACT;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->posted, NULL);
	pthread_cond_init(&all->done, NULL);
	while (rc == 0 && all->count < digests->count) {
		struct hasher *hasher = &all->list[all->count];
		hasher->all = all;
		hasher->sparse_from = digests->list[all->count].sparse
					      ? digests->list[all->count].from
					      : UINT64_MAX;
		rc = image_hash_create(&hasher->hash,
			digests->list[all->count++].algorithm, err);
	}
	if (rc < 0) {
		image_hashers_destroy(all);
		*out = NULL;
		return rc;
	}
	size_t wanted = all->count - (flags & IMAGE_HASHERS_JOIN ? 1 : 0);
	while (all->threads < wanted &&
		image_thread_create(&all->list[all->threads].thread,
			hashers_loop, &all->list[all->threads]) == 0)
		all->threads++;
	return 0;
}

void
image_hashers_destroy(struct image_hashers *all)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	all->quit = true;
	pthread_cond_broadcast(&all->posted);
	pthread_mutex_unlock(&all->lock);
	for (size_t i = 0; i < all->threads; i++)
		pthread_join(all->list[i].thread, NULL);
	for (size_t i = 0; i < all->count; i++)
		image_hash_destroy(all->list[i].hash);
	pthread_cond_destroy(&all->done);
	pthread_cond_destroy(&all->posted);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static void
post(struct image_hashers *all, const struct image_chunk *chunk,
	const struct image_pieces *pieces, uint64_t end)
{
	pthread_mutex_lock(&all->lock);
	all->chunk = chunk;
	all->pieces = pieces;
	all->end = end;
	all->busy = all->threads;
	all->posts++;
	pthread_cond_broadcast(&all->posted);
	pthread_mutex_unlock(&all->lock);
}

/* Wait until what is posted was hashed by all. Returns the first error. */
static int
wait_for_all(struct image_hashers *all, struct image_error *err)
{
	for (size_t i = all->threads; i < all->count; i++)
		hash_posted(&all->list[i]);
	pthread_mutex_lock(&all->lock);
	while (all->busy > 0)
		pthread_cond_wait(&all->done, &all->lock);
	pthread_mutex_unlock(&all->lock);
	for (size_t i = 0; i < all->count; i++) {
		if (all->list[i].rc < 0) {
			*err = all->list[i].err;
			return all->list[i].rc;
		}
	}
	return 0;
}

int
image_hashers_write(struct image_hashers *all,
	const struct image_pieces *pieces, image_write_stage write,
	void *opaque, struct image_scratch *scratch, struct image_chunk *chunk,
	struct image_error *err)
{
	struct image_error hash_err;
	size_t i = 0;

	/* A stream of unknown size has a hole in chunks, which would each wake
	 * the threads. */
	while (i < pieces->count && pieces->list[i].kind != IMAGE_DATA)
		i++;
	if (i == pieces->count && write)
		return write(opaque, scratch, chunk, err);
	post(all, chunk, pieces, 0);
	int rc = write ? write(opaque, scratch, chunk, err) : 0;
	if (rc < 0)
		image_hashers_stop(all);
	int hash_rc = wait_for_all(all, &hash_err);
	if (rc == 0 && hash_rc < 0) {
		*err = hash_err;
		rc = hash_rc;
	}
	return rc;
}

int
image_hashers_finish(struct image_hashers *all, uint64_t size,
	struct image_digests *digests, struct image_error *err)
{
	post(all, NULL, NULL, size);
	int rc = wait_for_all(all, err);
	for (size_t i = 0; rc == 0 && i < all->count; i++)
		rc = image_hash_end(
			all->list[i].hash, digests->list[i].bytes, err);
	return rc;
}
