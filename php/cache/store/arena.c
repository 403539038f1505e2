/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapping, its layout, and the blocks of each arena. */
#include <assert.h>
#include <fcntl.h>
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

/* What was mapped before an error is left to php_hone_store_unmap(). */
static int
map(struct php_hone_store *store, const struct php_hone_store_attr *attr)
{
	char name[40];
	snprintf(name, sizeof name, "hone-cache %s",
		attr->name != NULL ? attr->name : "");
	int fd = memfd_create(
		name, MFD_CLOEXEC | (attr->huge_pages ? MFD_HUGETLB : 0));
	if (fd < 0)
		return -errno;
	int error = 0;
	void *rw = MAP_FAILED, *ro = MAP_FAILED;
	if (ftruncate(fd, (off_t)store->size) == 0)
		rw = mmap(NULL, store->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);
	if (rw != MAP_FAILED) {
		store->rw = rw;
		store->region = rw;
		ro = attr->protect ? mmap(NULL, store->size, PROT_READ,
					     MAP_SHARED, fd, 0)
				   : rw;
		store->ro = ro != MAP_FAILED ? ro : rw;
	}
	if (ro == MAP_FAILED)
		error = -errno;
	close(fd);
	return error;
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
		shard->store = store;
		shard->bit = 1u << i;
		shard->first = shard->hand = at + index;
		shard->end = at + each;
		if (php_hone_units_of(shard) > PHP_HONE_ARENA_MOST)
			shard->end = shard->first + PHP_HONE_ARENA_MOST;
		shard->min_expires = UINT32_MAX;
		at += each;
	}
}

static int
init_mutex(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	int error = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return -error;
}

static int
fill(struct php_hone_store *store, const struct php_hone_store_attr *attr)
{
	struct php_hone_region *region = store->region;
	assert(region != NULL);
	if (attr->name != NULL)
		snprintf(region->name, sizeof region->name, "%s", attr->name);
	region->start = (int64_t)time(NULL);
	region->epoch = 1;
	store->made = (int64_t)seconds();
	lay_out(store, attr);
	int error = 0;
	for (unsigned i = 0; i < store->n_shards && error == 0; i++) {
		struct php_hone_shard *shard = &store->shards[i];
		/* One free block. */
		php_hone_set_block(shard, shard->first,
			php_hone_word(
				php_hone_units_of(shard), PHP_HONE_FREE, 0));
		php_hone_arena_rebuild(shard);
		error = init_mutex(&shard->mutex);
	}
	return error;
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
	int error = map(store, attr);
	if (error == 0)
		error = fill(store, attr);
	if (error == 0)
		*out = store;
	else
		php_hone_store_unmap(store);
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
	if (store->rw != NULL)
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

/* Two-level segregated fit: Masmano et al., "TLSF: a New Dynamic Memory
 * Allocator for Real-Time Systems", 2004. */

/* A search that goes from block to block looks at this many at most. */
#define LOOK_MOST 32

/* The first class whose blocks all have at least that size. */
static unsigned
class_that_fits(uint32_t units)
{
	if (units < PHP_HONE_LINEAR)
		return units;
	unsigned shift =
		31 - (unsigned)__builtin_clz(units) - PHP_HONE_LINEAR_BITS;
	return php_hone_class_of(units + ((uint32_t)1 << shift) - 1);
}

/* The first class from this one on that has a block, or PHP_HONE_CLASSES. */
static unsigned
class_with_block(const struct php_hone_shard *shard, unsigned class)
{
	uint64_t mask = ~(uint64_t)0 << class % 64;
	for (unsigned word = class / 64; word < PHP_HONE_CLASS_WORDS; word++) {
		uint64_t bits = shard->class_bits[word] & mask;
		if (bits != 0)
			return word * 64 + (unsigned)__builtin_ctzll(bits);
		mask = ~(uint64_t)0;
	}
	return PHP_HONE_CLASSES;
}

static void
list(struct php_hone_shard *shard, uint32_t offset, uint32_t units)
{
	unsigned class = php_hone_class_of(units);
	struct php_hone_free_block *b = php_hone_free_at(shard, offset);
	b->next = shard->heads[class];
	b->prev = 0;
	if (b->next != 0)
		php_hone_free_at(shard, b->next)->prev = offset;
	shard->heads[class] = offset;
	shard->class_bits[class / 64] |= (uint64_t)1 << class % 64;
	*php_hone_footer(shard, offset + units) = units;
	shard->sums[PHP_HONE_FREE] += units;
}

static void
unlist(struct php_hone_shard *shard, uint32_t offset, uint32_t units)
{
	const struct php_hone_free_block *b = php_hone_free_at(shard, offset);
	if (b->next != 0)
		php_hone_free_at(shard, b->next)->prev = b->prev;
	shard->sums[PHP_HONE_FREE] -= units;
	if (b->prev != 0) {
		php_hone_free_at(shard, b->prev)->next = b->next;
		return;
	}
	unsigned class = php_hone_class_of(units);
	shard->heads[class] = b->next;
	if (b->next == 0)
		shard->class_bits[class / 64] &= ~((uint64_t)1 << class % 64);
}

/* Record in the block at `offset` whether the block before it is free. */
static void
set_prev_free(struct php_hone_shard *shard, uint32_t offset, bool prev_free)
{
	if (offset == shard->end)
		return;
	uint64_t word = php_hone_block(shard, offset);
	uint64_t to = prev_free ? word | PHP_HONE_PREV_FREE
				: word & ~PHP_HONE_PREV_FREE;
	if (to != word)
		php_hone_set_block(shard, offset, to);
}

/* The class of that size may have a block that is large enough. A block of
 * nearly the size of the arena is found only here. */
static uint32_t
look_through(const struct php_hone_shard *shard, uint32_t units)
{
	uint32_t offset = shard->heads[php_hone_class_of(units)];
	for (unsigned i = 0; offset != 0 && i < LOOK_MOST; i++) {
		if (php_hone_units_at(shard, offset) >= units)
			return offset;
		offset = php_hone_free_at(shard, offset)->next;
	}
	return 0;
}

static uint32_t
find(const struct php_hone_shard *shard, uint32_t units)
{
	/* Prefer the block that became free last: it is in the CPU cache. */
	uint32_t offset = shard->heads[php_hone_class_of(units)];
	if (offset != 0 && php_hone_units_at(shard, offset) >= units)
		return offset;
	unsigned class = class_with_block(shard, class_that_fits(units));
	return class < PHP_HONE_CLASSES ? shard->heads[class]
					: look_through(shard, units);
}

uint32_t
php_hone_arena_alloc_long(struct php_hone_shard *shard, uint32_t units)
{
	uint32_t offset = find(shard, units);
	if (offset == 0)
		return 0;

	uint32_t had = php_hone_units_at(shard, offset);
	unlist(shard, offset, had);
	/* The word of the rest lies inside a free block: no walk reads it. */
	if (had > units)
		php_hone_set_block(shard, offset + units,
			php_hone_word(had - units, PHP_HONE_FREE, 0));
	/* This store is the step. PHP_HONE_PREV_FREE is not set: two neighbours
	 * are never both free. */
	php_hone_set_block(
		shard, offset, php_hone_word(units, PHP_HONE_RESERVED, 0));
	shard->sums[PHP_HONE_RESERVED] += units;
	if (had > units)
		list(shard, offset + units, had - units);
	else
		set_prev_free(shard, offset + units, false);
	return offset;
}

/* A hand points at the begin of a block: move one inside a merged block. */
static void
move_hands(struct php_hone_shard *shard, uint32_t offset, uint32_t units)
{
	if (shard->hand - offset < units)
		shard->hand = offset;
	if (shard->sweep - offset < units)
		shard->sweep = offset;
}

void
php_hone_arena_free(struct php_hone_shard *shard, uint32_t offset)
{
	uint64_t word = php_hone_block(shard, offset);
	uint32_t units = php_hone_word_units(word);
	shard->sums[php_hone_word_state(word)] -= units;

	uint32_t next = offset + units;
	if (next < shard->end &&
		php_hone_state_at(shard, next) == PHP_HONE_FREE) {
		uint32_t after = php_hone_units_at(shard, next);
		unlist(shard, next, after);
		units += after;
	}
	if (word & PHP_HONE_PREV_FREE) {
		uint32_t before = *php_hone_footer(shard, offset);
		unlist(shard, offset - before, before);
		offset -= before;
		units += before;
	}
	move_hands(shard, offset, units);
	/* This store is the step. */
	php_hone_set_block(
		shard, offset, php_hone_word(units, PHP_HONE_FREE, 0));
	list(shard, offset, units);
	set_prev_free(shard, offset + units, true);
}

uint32_t
php_hone_arena_largest(const struct php_hone_shard *shard)
{
	unsigned class = PHP_HONE_CLASSES - 1;
	while (class > 0 && shard->heads[class] == 0)
		class --;
	uint32_t most = 0, offset = shard->heads[class];
	for (unsigned i = 0; offset != 0 && i < LOOK_MOST; i++) {
		uint32_t units = php_hone_units_at(shard, offset);
		most = units > most ? units : most;
		offset = php_hone_free_at(shard, offset)->next;
	}
	return most;
}

void
php_hone_arena_rebuild(struct php_hone_shard *shard)
{
	bool prev_free = false;
	for (uint32_t at = shard->first; at < shard->end;) {
		uint32_t units = php_hone_units_at(shard, at);
		enum php_hone_state state = php_hone_state_at(shard, at);
		/* The owner may have been killed before it merged neighbours.
		 */
		while (state == PHP_HONE_FREE && at + units < shard->end &&
			php_hone_state_at(shard, at + units) == PHP_HONE_FREE)
			units += php_hone_units_at(shard, at + units);
		php_hone_set_block(shard, at,
			php_hone_word(units, state,
				prev_free ? PHP_HONE_PREV_FREE : 0));
		move_hands(shard, at, units);
		if (state == PHP_HONE_FREE)
			list(shard, at, units);
		else
			shard->sums[state] += units;
		prev_free = state == PHP_HONE_FREE;
		at += units;
	}
}

/* ---- quick blocks ---- */

/* To merge a small block and to split it again takes a third of the time of a
 * small store. So at most 1/32 of an arena waits for entries of the same size.
 */
void
php_hone_arena_free_quick(struct php_hone_shard *shard, uint32_t offset)
{
	uint32_t units = php_hone_units_at(shard, offset);
	if (units >= PHP_HONE_QUICK_SIZES ||
		shard->sums[PHP_HONE_QUICK] >= php_hone_units_of(shard) / 32) {
		php_hone_arena_free(shard, offset);
		return;
	}
	php_hone_block_become(shard, offset, PHP_HONE_QUICK);
	php_hone_entry_at(shard->store, offset)->link = shard->quick[units];
	shard->quick[units] = offset;
}

void
php_hone_arena_drain(struct php_hone_shard *shard)
{
	for (uint32_t units = 1; units < PHP_HONE_QUICK_SIZES; units++) {
		while (shard->quick[units] != 0) {
			uint32_t offset = shard->quick[units];
			shard->quick[units] =
				php_hone_entry_at(shard->store, offset)->link;
			php_hone_arena_free(shard, offset);
		}
	}
}
