/* SPDX-License-Identifier: BSD-3-Clause */
/* Where everything lies, and the memory that it lies in. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "mempool/mempool.h"

#define HUGE_PAGE ((size_t)2 << 20)
/* log2 of it where mmap wants it, as MAP_HUGE_2MB of newer headers. */
#define MAP_HUGE_OF_2MB (21 << 26)
/* MADV_POPULATE_WRITE of newer headers. */
#define POPULATE_WRITE 23
#define MAX_ALIGNMENT ((size_t)1 << 30)
#define MAX_CACHES 65535
/* What bind_to() has bits for: no kernel is built for more nodes. */
#define MAX_NODES 1024
#define KNOWN_FLAGS                                                            \
	((unsigned)(HONE_MEMPOOL_HUGETLB | HONE_MEMPOOL_HUGE_ADVISE |          \
		    HONE_MEMPOOL_NO_COLOUR | HONE_MEMPOOL_DEBUG |              \
		    HONE_MEMPOOL_SHORT_SLOTS))

static bool
valid(const struct hone_mempool_attr *attr)
{
	unsigned huge = HONE_MEMPOOL_HUGETLB | HONE_MEMPOOL_HUGE_ADVISE;
	size_t alignment = attr->alignment;

	for (size_t i = 0; i < sizeof(attr->reserved) / sizeof(void *); i++)
		if (attr->reserved[i])
			return false;
	if (attr->memory &&
		((attr->flags & huge) || attr->numa_node != -1 ||
			(uintptr_t)attr->memory % HONE_MEMPOOL_LINE != 0))
		return false;
	return attr->object_size > 0 && attr->capacity > 0 &&
	       attr->cache_size <= HONE_MEMPOOL_CACHE_MAX &&
	       attr->max_caches > 0 && attr->max_caches <= MAX_CACHES &&
	       (attr->flags & ~KNOWN_FLAGS) == 0 && attr->numa_node >= -1 &&
	       attr->numa_node < MAX_NODES && alignment > 0 &&
	       alignment <= MAX_ALIGNMENT &&
	       (alignment & (alignment - 1)) == 0 &&
	       (uintptr_t)attr->memory % alignment == 0;
}

/* n rounded up to a multiple of a power of two; false if that is too much. */
static bool
round_up(size_t n, size_t to, size_t *result)
{
	bool over = __builtin_add_overflow(n, to - 1, result);

	*result &= ~(to - 1);
	return !over;
}

/* Add an area of n times each bytes; its offset goes to *at. */
static bool
area(size_t *size, size_t *at, size_t n, size_t each)
{
	size_t bytes;

	*at = *size;
	return !__builtin_mul_overflow(n, each, &bytes) &&
	       !__builtin_add_overflow(*size, bytes, size) &&
	       round_up(*size, HONE_MEMPOOL_PAGE, size);
}

/*
 * Objects whose stride is a multiple of a large power of two meet in a few
 * sets of the cache: an odd number of lines spreads them over all.
 */
static bool
place_objects(
	struct hone_mempool_place *place, const struct hone_mempool_attr *attr)
{
	size_t unit = attr->alignment > HONE_MEMPOOL_LINE ? attr->alignment
							  : HONE_MEMPOOL_LINE;
	size_t gap = attr->flags & HONE_MEMPOOL_DEBUG ? HONE_MEMPOOL_GAP : 0;
	size_t size;

	place->alignment = unit;
	place->front = gap ? unit : 0;
	if (__builtin_add_overflow(attr->object_size, gap, &size) ||
		!round_up(size, attr->alignment, &place->stride))
		return false;
	if (!(attr->flags & HONE_MEMPOOL_NO_COLOUR) &&
		place->stride % (2 * unit) == 0 &&
		__builtin_add_overflow(place->stride, unit, &place->stride))
		return false;
	return !__builtin_mul_overflow(
		       place->stride, attr->capacity, &place->objects_size) &&
	       !__builtin_add_overflow(place->objects_size, place->front,
		       &place->objects_size) &&
	       place->objects_size <= SIZE_MAX / 2;
}

/* Nobody has said yet where memory of the pool's own is to be. */
static bool
short_slots_reach(const struct hone_mempool_place *place,
	const struct hone_mempool_attr *attr)
{
	return !(attr->flags & HONE_MEMPOOL_SHORT_SLOTS) ||
	       hone_mempool_in_window(
		       (uintptr_t)attr->memory, place->objects_size);
}

/*
 * As many as could be full, and one partial; for each handle the one loaded,
 * one on its way to or from a deque, the head of its reserve and one that the
 * user has and that is not full; and one that is left for who needs one.
 */
static bool
count_magazines(
	struct hone_mempool_place *place, size_t capacity, size_t caches)
{
	size_t cache_size = place->cache_size;

	place->magazine_stride = HONE_MEMPOOL_PAGE;
	/* Small ones share a page: 4 KiB for a few pointers is too much. */
	for (size_t stride = 512; stride >= 128; stride /= 2)
		if (HONE_MEMPOOL_LINE + cache_size * sizeof(void *) <= stride)
			place->magazine_stride = stride;
	if (__builtin_add_overflow(capacity / cache_size, caches * 4 + 2,
		    &place->n_magazines) ||
		place->n_magazines > SIZE_MAX / HONE_MEMPOOL_PAGE / 4)
		return false;
	place->deque_slots = HONE_MEMPOOL_LINE / sizeof(void *);
	while (place->deque_slots <= place->n_magazines)
		place->deque_slots *= 2;
	return true;
}

int
hone_mempool_place(
	struct hone_mempool_place *place, const struct hone_mempool_attr *attr)
{
	size_t n = attr->capacity, caches = attr->max_caches, none, slots;
	size_t size = HONE_MEMPOOL_PAGE;
	bool debug = attr->flags & HONE_MEMPOOL_DEBUG;

	if (!valid(attr) || !place_objects(place, attr) ||
		!short_slots_reach(place, attr))
		return -EINVAL;
	place->cache_size = attr->cache_size;
	if (place->cache_size == 0) {
		place->cache_size = n / 2 / caches;
		if (place->cache_size > HONE_MEMPOOL_CACHE_MAX)
			place->cache_size = HONE_MEMPOOL_CACHE_MAX;
		if (place->cache_size == 0)
			place->cache_size = 1;
	}
	if (!count_magazines(place, n, caches))
		return -EINVAL;
	slots = place->deque_slots * 2 * sizeof(void *);
	if (!area(&size, &none, caches, HONE_MEMPOOL_PAGE) ||
		!area(&size, &place->slots, caches, slots) ||
		!area(&size, &place->marks, n / 8 + 1, 1) ||
		!area(&size, &place->states, debug ? n : 0, 1) ||
		!area(&size, &place->sums, debug ? n : 0, sizeof(uint64_t)) ||
		!area(&size, &place->magazines, place->n_magazines,
			place->magazine_stride) ||
		size > SIZE_MAX / 2)
		return -EINVAL;
	place->size = size;
	return 0;
}

static int
bind_to(void *addr, size_t size, int node)
{
	enum { BITS = 8 * sizeof(unsigned long) };
	unsigned long nodes[MAX_NODES / BITS] = {0};

	nodes[node / BITS] = 1UL << node % BITS;
	/* The kernel takes the number of bits to be one more. */
	if (syscall(SYS_mbind, addr, size, MPOL_BIND, nodes, MAX_NODES + 1UL,
		    0UL))
		return -errno;
	return 0;
}

/*
 * Huge pages are set aside for all nodes together; whether this one has as
 * many shows when they are touched. Better here, where it is an error, than by
 * a signal to who uses an object first.
 */
static int
touch_all(void *addr, size_t size)
{
	/* EINVAL: a kernel older than 5.14, which leaves us to hope. */
	if (madvise(addr, size, POPULATE_WRITE) != 0 && errno != EINVAL)
		return -ENOMEM;
	return 0;
}

int
hone_mempool_map_objects(struct hone_mempool *pool,
	const struct hone_mempool_place *place,
	const struct hone_mempool_attr *attr)
{
	bool hugetlb = attr->flags & HONE_MEMPOOL_HUGETLB;
	bool huge = hugetlb || attr->flags & HONE_MEMPOOL_HUGE_ADVISE;
	size_t unit = huge ? HUGE_PAGE : HONE_MEMPOOL_PAGE, size, offset;
	size_t window = 0;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, error = 0;
	char *map;

	if (attr->memory) {
		if (attr->memory_size < place->objects_size)
			return -ENOBUFS;
		pool->objects = (char *)attr->memory + place->front;
		return 0;
	}
	if (hugetlb)
		flags |= MAP_HUGETLB | MAP_HUGE_OF_2MB;
	if (unit < place->alignment)
		unit = place->alignment;
	/* Room to align in; huge pages of hugetlbfs come aligned. */
	size = (place->objects_size + unit - 1) / unit * unit;
	if (!hugetlb || unit > HUGE_PAGE)
		size += unit;
	if (attr->flags & HONE_MEMPOOL_SHORT_SLOTS)
		window = place->objects_size;
	map = hone_mempool_map(size, window, unit, flags);
	if (map == MAP_FAILED)
		return -ENOMEM;
	offset = -(uintptr_t)map & (unit - 1);
	if (attr->flags & HONE_MEMPOOL_HUGE_ADVISE)
		(void)madvise(map, size, MADV_HUGEPAGE);
	if (attr->numa_node >= 0)
		error = bind_to(map, size, attr->numa_node);
	if (!error && hugetlb && attr->numa_node >= 0)
		error = touch_all(map, size);
	if (error) {
		(void)munmap(map, size);
		return error;
	}
	pool->objects = map + offset + place->front;
	pool->object_map = map;
	pool->object_map_size = size;
	return 0;
}
