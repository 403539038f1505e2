/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapping, its layout, and the blocks of each arena. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "arena.h"

/* ---- the mapping ---- */

#define HUGE ((size_t)2 << 20)
#define BYTES_PER_SHARD ((size_t)16 << 20)
#define SLOTS 1024
/* Bytes of arena for each bucket: two small entries. */
#define BYTES_PER_BUCKET 256

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
	/* The first second is 1, since 0 stands for never. */
	return (uint32_t)(seconds() - (uint64_t)store->made + 1);
}

/* Returns a descriptor of anonymous memory, or a negative errno. */
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

/* Touch all pages now, so that a lack of memory is an error and not a signal.
 */
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
	/* A smaller shard has no room for large values. */
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

/* The layout is the same in each process, since fork() copies the handle. */
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
		struct php_hone_shard *shard = &store->shards[i];
		store->buckets[i] = at;
		shard->first = at + index;
		shard->end = at + each;
		if (shard->end - shard->first > PHP_HONE_ARENA_MOST)
			shard->end = shard->first + PHP_HONE_ARENA_MOST;
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
		struct php_hone_shard *shard = &store->shards[i];
		/* One free block. */
		php_hone_set_block(store, shard->first,
			php_hone_word(
				shard->end - shard->first, PHP_HONE_FREE, 0));
		shard->hand = shard->first;
		php_hone_arena_rebuild(store, shard);
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

size_t
php_hone_store_size_for(size_t bytes, size_t now, unsigned slots)
{
	const struct php_hone_store_attr attr = {0};
	for (size_t size = HUGE; size <= PHP_HONE_STORE_MOST; size *= 2) {
		unsigned shards = shards_of(&attr, size);
		size_t head = (size_t)slots * sizeof(struct php_hone_slot);
		if (head > size / 8)
			head = size / 8;
		head += sizeof(struct php_hone_region) +
			shards * sizeof(struct php_hone_shard);
		size_t each = (size - head) / shards;
		/* The index takes up to a 64th, and the tags of a value a few
		 * KiB. */
		if (size > now && bytes < each - each / 64 - 8192)
			return size;
	}
	return 0;
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

bool
php_hone_store_contains(const struct php_hone_store *store, const void *address)
{
	uintptr_t at = (uintptr_t)address;

	return at - (uintptr_t)store->ro < store->size ||
	       at - (uintptr_t)store->rw < store->size;
}

/* ---- blocks ---- */

/*
 * Two-level segregated fit: Masmano et al., "TLSF: a New Dynamic Memory
 * Allocator for Real-Time Systems", 2004. Below 32 units, each size has a
 * class. Above, each power of two has 32 classes.
 */

#define LINEAR PHP_HONE_LINEAR
#define LINEAR_BITS PHP_HONE_LINEAR_BITS
/* A search that goes from block to block looks at this many at most. */
#define LOOK_MOST 32

/* The first class whose blocks all have at least that size. */
static unsigned
class_that_fits(uint32_t units)
{
	if (units < LINEAR)
		return units;
	unsigned shift = 31 - (unsigned)__builtin_clz(units) - LINEAR_BITS;
	return php_hone_class_of(units + ((uint32_t)1 << shift) - 1);
}

/* The first class from this one on that has a block, or PHP_HONE_CLASSES. */
static unsigned
class_with_block(const struct php_hone_shard *shard, unsigned class)
{
	unsigned word = class / 64;
	if (word >= PHP_HONE_CLASS_WORDS)
		return PHP_HONE_CLASSES;
	uint64_t bits = shard->class_bits[word] & ~(uint64_t)0 << class % 64;
	if (bits == 0) {
		uint64_t words = shard->class_summary & ~(uint64_t)0 << word
								     << 1;
		if (words == 0)
			return PHP_HONE_CLASSES;
		word = (unsigned)__builtin_ctzll(words);
		bits = shard->class_bits[word];
	}
	return word * 64 + (unsigned)__builtin_ctzll(bits);
}

static void
list(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset, uint32_t units)
{
	unsigned class = php_hone_class_of(units);
	struct php_hone_free_block *b = php_hone_free_at(store, offset);
	b->next = shard->heads[class];
	b->prev = 0;
	if (b->next != 0)
		php_hone_free_at(store, b->next)->prev = offset;
	shard->heads[class] = offset;
	shard->class_bits[class / 64] |= (uint64_t)1 << class % 64;
	shard->class_summary |= (uint64_t)1 << class / 64;
	*php_hone_footer(store, offset + units) = units;
	shard->sums[PHP_HONE_FREE] += units;
}

static void
unlist(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset, uint32_t units)
{
	const struct php_hone_free_block *b = php_hone_free_at(store, offset);
	if (b->next != 0)
		php_hone_free_at(store, b->next)->prev = b->prev;
	shard->sums[PHP_HONE_FREE] -= units;
	if (b->prev != 0) {
		php_hone_free_at(store, b->prev)->next = b->next;
		return;
	}
	unsigned class = php_hone_class_of(units);
	shard->heads[class] = b->next;
	if (b->next != 0)
		return;
	shard->class_bits[class / 64] &= ~((uint64_t)1 << class % 64);
	if (shard->class_bits[class / 64] == 0)
		shard->class_summary &= ~((uint64_t)1 << class / 64);
}

/* Record in the block at `offset` whether the block before it is free. */
static void
set_prev_free(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset, bool prev_free)
{
	if (offset == shard->end)
		return;
	uint64_t word = php_hone_block(store, offset);
	uint64_t to = prev_free ? word | PHP_HONE_PREV_FREE
				: word & ~PHP_HONE_PREV_FREE;
	if (to != word)
		php_hone_set_block(store, offset, to);
}

/*
 * The class of that size may have a block that is large enough. A block of
 * nearly the size of the arena is found only here.
 */
static uint32_t
look_through(const struct php_hone_store *store,
	const struct php_hone_shard *shard, uint32_t units)
{
	uint32_t offset = shard->heads[php_hone_class_of(units)];
	for (unsigned i = 0; offset != 0 && i < LOOK_MOST; i++) {
		if (php_hone_word_units(php_hone_block(store, offset)) >= units)
			return offset;
		offset = php_hone_free_at(store, offset)->next;
	}
	return 0;
}

static uint32_t
find(const struct php_hone_store *store, const struct php_hone_shard *shard,
	uint32_t units)
{
	/* Prefer the block that became free last. If a value of the same size
	 * was replaced, that block is still in the CPU cache. */
	uint32_t offset = shard->heads[php_hone_class_of(units)];
	if (offset != 0 &&
		php_hone_word_units(php_hone_block(store, offset)) >= units)
		return offset;
	unsigned class = class_with_block(shard, class_that_fits(units));
	return class < PHP_HONE_CLASSES ? shard->heads[class]
					: look_through(store, shard, units);
}

uint32_t
php_hone_arena_alloc_long(struct php_hone_store *store,
	struct php_hone_shard *shard, uint32_t units)
{
	uint32_t offset = find(store, shard, units);
	if (offset == 0)
		return 0;

	uint32_t had = php_hone_word_units(php_hone_block(store, offset));
	unlist(store, shard, offset, had);
	if (had > units) {
		/* This word lies inside a free block, so no walk reads it yet.
		 */
		php_hone_set_block(store, offset + units,
			php_hone_word(had - units, PHP_HONE_FREE, 0));
	}
	/* This store is the step. PHP_HONE_PREV_FREE is not set: two neighbours
	 * are never both free. */
	php_hone_set_block(
		store, offset, php_hone_word(units, PHP_HONE_RESERVED, 0));
	shard->sums[PHP_HONE_RESERVED] += units;
	if (had > units)
		list(store, shard, offset + units, had - units);
	else
		set_prev_free(store, shard, offset + units, false);
	return offset;
}

/* A hand points at the begin of a block. Move a hand that would be inside the
 * merged block. */
static void
move_hands(struct php_hone_shard *shard, uint32_t offset, uint32_t units)
{
	if (shard->hand - offset < units)
		shard->hand = offset;
	if (shard->sweep - offset < units)
		shard->sweep = offset;
}

void
php_hone_arena_free(struct php_hone_store *store, struct php_hone_shard *shard,
	uint32_t offset)
{
	uint64_t word = php_hone_block(store, offset);
	uint32_t units = php_hone_word_units(word);
	shard->sums[php_hone_word_state(word)] -= units;

	uint32_t next = offset + units;
	if (next < shard->end) {
		uint64_t after = php_hone_block(store, next);
		if (php_hone_word_state(after) == PHP_HONE_FREE) {
			unlist(store, shard, next, php_hone_word_units(after));
			units += php_hone_word_units(after);
		}
	}
	if (word & PHP_HONE_PREV_FREE) {
		uint32_t before = *php_hone_footer(store, offset);
		unlist(store, shard, offset - before, before);
		offset -= before;
		units += before;
	}
	/* A hand at the end of the merged block stays where it is. */
	move_hands(shard, offset, units);
	/* This store is the step. */
	php_hone_set_block(
		store, offset, php_hone_word(units, PHP_HONE_FREE, 0));
	list(store, shard, offset, units);
	set_prev_free(store, shard, offset + units, true);
}

uint32_t
php_hone_arena_largest(
	const struct php_hone_store *store, const struct php_hone_shard *shard)
{
	if (shard->class_summary == 0)
		return 0;
	unsigned word = 63 - (unsigned)__builtin_clzll(shard->class_summary);
	unsigned bit = 63 - (unsigned)__builtin_clzll(shard->class_bits[word]);
	uint32_t most = 0;
	uint32_t offset = shard->heads[word * 64 + bit];
	for (unsigned i = 0; offset != 0 && i < LOOK_MOST; i++) {
		uint32_t units =
			php_hone_word_units(php_hone_block(store, offset));
		most = units > most ? units : most;
		offset = php_hone_free_at(store, offset)->next;
	}
	return most;
}

void
php_hone_arena_rebuild(
	struct php_hone_store *store, struct php_hone_shard *shard)
{
	memset(shard->sums, 0, sizeof shard->sums);
	memset(shard->quick, 0, sizeof shard->quick);
	shard->class_summary = 0;
	memset(shard->class_bits, 0, sizeof shard->class_bits);
	memset(shard->heads, 0, sizeof shard->heads);

	bool prev_free = false;
	for (uint32_t at = shard->first; at < shard->end;) {
		uint64_t word = php_hone_block(store, at);
		uint32_t units = php_hone_word_units(word);
		enum php_hone_state state = php_hone_word_state(word);
		uint32_t next = at + units;
		/* The owner may have been killed before it merged neighbours.
		 */
		while (state == PHP_HONE_FREE && next < shard->end) {
			word = php_hone_block(store, next);
			if (php_hone_word_state(word) != PHP_HONE_FREE)
				break;
			units += php_hone_word_units(word);
			next = at + units;
		}
		php_hone_set_block(store, at,
			php_hone_word(units, state,
				prev_free ? PHP_HONE_PREV_FREE : 0));
		move_hands(shard, at, units);
		if (state == PHP_HONE_FREE)
			list(store, shard, at, units);
		else
			shard->sums[state] += units;
		prev_free = state == PHP_HONE_FREE;
		at = next;
	}
}

/* ---- quick blocks ---- */

/*
 * A quick block is small, and waits for the next entry of its size. To merge a
 * block with its neighbours and to split it again takes a third of the time of
 * a small store.
 */

/* At most 1/QUICK_PART of an arena is in quick blocks. */
#define QUICK_PART 32

void
php_hone_arena_free_quick(struct php_hone_store *store,
	struct php_hone_shard *shard, uint32_t offset)
{
	uint32_t units = php_hone_word_units(php_hone_block(store, offset));
	if (units >= PHP_HONE_QUICK_SIZES ||
		shard->sums[PHP_HONE_QUICK] >=
			(shard->end - shard->first) / QUICK_PART) {
		php_hone_arena_free(store, shard, offset);
		return;
	}
	php_hone_block_become(store, shard, offset, PHP_HONE_QUICK);
	php_hone_entry_at(store, offset)->link = shard->quick[units];
	shard->quick[units] = offset;
}

void
php_hone_arena_drain(struct php_hone_store *store, struct php_hone_shard *shard)
{
	for (uint32_t units = 1; units < PHP_HONE_QUICK_SIZES; units++) {
		while (shard->quick[units] != 0) {
			uint32_t offset = shard->quick[units];
			shard->quick[units] =
				php_hone_entry_at(store, offset)->link;
			php_hone_arena_free(store, shard, offset);
		}
	}
}
