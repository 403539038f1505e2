/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of a pool in memory, and the memory of the objects. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "mempool/mempool.h"

#define HUGE_PAGE ((size_t)2 << 20)
/* log2 of HUGE_PAGE for the flags of mmap: MAP_HUGE_2MB of newer headers. */
#define MAP_HUGE_OF_2MB (21 << 26)
/* MADV_POPULATE_WRITE of newer headers. */
#define POPULATE_WRITE 23
#define MAX_ALIGNMENT ((size_t)1 << 30)
#define MAX_CACHES 65535
/* Bits of the mask in bind_to(): no kernel is built for more nodes. */
#define MAX_NODES 1024
/*
 * AddressSanitizer keeps the state of 8 bytes in one byte, without atomics. If
 * two objects shared the 8 bytes, threads that put one and get the other would
 * destroy each other's state, and correct programs would be reported.
 */
#define ASAN_GRANULE ((size_t)8)
#define KNOWN_FLAGS                                                            \
	((unsigned)(HONE_MEMPOOL_HUGETLB | HONE_MEMPOOL_HUGE_ADVISE |          \
		    HONE_MEMPOOL_NO_COLOUR | HONE_MEMPOOL_DEBUG |              \
		    HONE_MEMPOOL_FOREIGN | HONE_MEMPOOL_EXACT |                \
		    HONE_MEMPOOL_SHARED))
/* Most objects that a cache of an exact pool loads above a full magazine: two
 * bursts of 32, as most programs of DPDK have them. */
#define MOST_ABOVE 64
/* Caches that the default cache size of an exact pool assumes to be busy. */
#define BUSY_CACHES 16
/* Slots of a deque that has none for each magazine of the pool: as many, or as
 * many for each magazine that is the cache's by an equal share. */
#define SLOTS_PER_CACHE 1024
#define SLOTS_PER_MAGAZINE 64
/* Default cache size of pools with few objects for each cache, and 16 or more.
 */
#define LEAST_FAST 8

/* The next four return the name of an attribute that is out of range, or NULL.
 * Foreign objects have their size, their place and their content already. */
static const char *
wrong_foreign(const struct hone_mempool_attr *attr)
{
	const unsigned placing = HONE_MEMPOOL_HUGETLB |
				 HONE_MEMPOOL_HUGE_ADVISE |
				 HONE_MEMPOOL_NO_COLOUR;

	if (attr->object_size != 0)
		return "object_size";
	if (attr->constructor)
		return "constructor";
	if (attr->capacity > SIZE_MAX / 4 / sizeof(void *))
		return "capacity";
	if (attr->numa_node != -1)
		return "numa_node";
	if (attr->flags & placing)
		return "flags";
	return attr->memory && !(attr->flags & HONE_MEMPOOL_SHARED) ? "memory"
								    : NULL;
}

/* Memory of the caller has its node and its pages already. */
static const char *
wrong_memory(const struct hone_mempool_attr *attr)
{
	const unsigned huge = HONE_MEMPOOL_HUGETLB | HONE_MEMPOOL_HUGE_ADVISE;
	bool shared = attr->flags & HONE_MEMPOOL_SHARED;
	size_t alignment = shared ? HONE_MEMPOOL_PAGE : HONE_MEMPOOL_LINE;

	if (alignment < attr->alignment)
		alignment = attr->alignment;
	if (!attr->memory && !shared)
		return NULL;
	if (attr->flags & huge)
		return "flags";
	if (attr->numa_node != -1)
		return "numa_node";
	return (uintptr_t)attr->memory % alignment != 0 ? "memory" : NULL;
}

static const char *
wrong_number(const struct hone_mempool_attr *attr)
{
	size_t alignment = attr->alignment;

	if (attr->capacity == 0)
		return "capacity";
	if (attr->cache_size > HONE_MEMPOOL_CACHE_MAX)
		return "cache_size";
	if (attr->max_caches == 0 || attr->max_caches > MAX_CACHES)
		return "max_caches";
	if (attr->numa_node < -1 || attr->numa_node >= MAX_NODES)
		return "numa_node";
	return alignment == 0 || alignment > MAX_ALIGNMENT ||
			       (alignment & (alignment - 1)) != 0
		       ? "alignment"
		       : NULL;
}

static const char *
wrong(const struct hone_mempool_attr *attr)
{
	const char *name = wrong_number(attr);

	if (attr->flags & ~KNOWN_FLAGS)
		return "flags";
	for (size_t i = 0; i < sizeof(attr->reserved) / sizeof(void *); i++)
		if (attr->reserved[i])
			return "reserved";
	if (!name)
		name = wrong_memory(attr);
	if (!name && attr->flags & HONE_MEMPOOL_FOREIGN)
		name = wrong_foreign(attr);
	else if (!name && attr->object_size == 0)
		name = "object_size";
	return name;
}

/* Rounds n up to a multiple of a power of two; returns false on overflow. */
static bool
round_up(size_t n, size_t to, size_t *result)
{
	bool over = __builtin_add_overflow(n, to - 1, result);

	*result &= ~(to - 1);
	return !over;
}

/* Adds an area of n times each bytes and sets *at to its offset. */
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
 * Objects whose stride is a multiple of a large power of two compete for a few
 * sets of the CPU cache. An odd number of lines spreads them over all sets.
 */
static bool
lay_out_objects(struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr)
{
	size_t unit = attr->alignment > HONE_MEMPOOL_LINE ? attr->alignment
							  : HONE_MEMPOOL_LINE;
	size_t gap = attr->flags & HONE_MEMPOOL_DEBUG ? HONE_MEMPOOL_GAP : 0;
	size_t step = attr->alignment, size;

	if (HONE_MEMPOOL_ASAN && step < ASAN_GRANULE)
		step = ASAN_GRANULE;
	memset(layout, 0, sizeof(*layout));
	layout->alignment = unit;
	if (attr->flags & HONE_MEMPOOL_FOREIGN)
		return true;
	layout->front = gap ? unit : 0;
	if (__builtin_add_overflow(attr->object_size, gap, &size) ||
		!round_up(size, step, &layout->stride))
		return false;
	/* No overflow: SIZE_MAX + 1 is a multiple of 2 * unit, too. */
	if (!(attr->flags & HONE_MEMPOOL_NO_COLOUR) &&
		layout->stride % (2 * unit) == 0)
		layout->stride += unit;
	return !__builtin_mul_overflow(
		       layout->stride, attr->capacity, &layout->objects_size) &&
	       !__builtin_add_overflow(layout->objects_size, layout->front,
		       &layout->objects_size) &&
	       round_up(layout->objects_size, unit, &layout->objects_size) &&
	       layout->objects_size <= SIZE_MAX / 2;
}

/*
 * Magazines that may exist at the same time: those that can be full, and one
 * partial; for each cache the loaded one, one on its way to or from a deque,
 * the head of the reserve, and one that the user has and that is not full. One
 * more, so that a thread that needs an empty magazine finds one.
 */
static bool
count_magazines(
	struct hone_mempool_layout *layout, size_t capacity, size_t caches)
{
	size_t cache_size = layout->cache_size;

	/* The largest one takes a line more than a page, so that it holds whole
	 * bursts (docs/design/mempool.md). Small ones share a page: 4 KiB for a
	 * few pointers is too much. */
	layout->magazine_stride = HONE_MEMPOOL_PAGE;
	if (cache_size * sizeof(void *) > HONE_MEMPOOL_PAGE - HONE_MEMPOOL_LINE)
		layout->magazine_stride += HONE_MEMPOOL_LINE;
	for (size_t stride = 512; stride >= 128; stride /= 2)
		if (HONE_MEMPOOL_LINE + cache_size * sizeof(void *) <= stride)
			layout->magazine_stride = stride;
	/* No overflow: the objects have at most SIZE_MAX / 2 bytes, and the
	 * capacity is limited if they are foreign. */
	layout->n_magazines = capacity / layout->full + caches * 4 + 2;
	/* A stack of those that spilled has 32 bits for the number of one. */
	if (layout->n_magazines > SIZE_MAX / HONE_MEMPOOL_PAGE / 4 ||
		layout->n_magazines >= UINT32_MAX)
		return false;
	return true;
}

/*
 * Room for all magazines in each deque; but with more than 64 caches, all
 * deques together have room for so many times as many as there are, or for so
 * many for each cache. A magazine for which a deque has no room spills
 * (spill.c): the next thread takes it as fast, but all threads change the same
 * word.
 */
static void
choose_slots(struct hone_mempool_layout *layout, size_t caches)
{
	/* No overflow: n_magazines is limited. */
	size_t most = (layout->n_magazines / caches + 1) * SLOTS_PER_MAGAZINE;

	if (most < SLOTS_PER_CACHE)
		most = SLOTS_PER_CACHE;
	layout->deque_slots = HONE_MEMPOOL_LINE / sizeof(void *);
	while (layout->deque_slots < layout->n_magazines &&
		layout->deque_slots < most)
		layout->deque_slots *= 2;
}

/*
 * A small pool with many caches does not give each cache its part of half of
 * the objects: one or two pointers are exchanged at most calls, in 22 to 200 ns
 * a pair in place of 2 (a loop that holds 1 to 8 objects, Zen 4). Most such
 * pools have few threads. In an exact pool, a cache keeps nothing from the
 * others; so of many caches, only those count that are busy at the same time.
 */
static size_t
choose_cache_size(const struct hone_mempool_attr *attr)
{
	size_t caches = attr->max_caches, size;

	if (attr->cache_size > 0)
		return attr->cache_size;
	if (attr->flags & HONE_MEMPOOL_EXACT && caches > BUSY_CACHES)
		caches = BUSY_CACHES;
	size = attr->capacity / 2 / caches;
	if (size < LEAST_FAST)
		size = LEAST_FAST;
	if (size > attr->capacity / 2)
		size = attr->capacity / 2;
	if (size > HONE_MEMPOOL_CACHE_MAX)
		size = HONE_MEMPOOL_CACHE_MAX;
	return size > 0 ? size : 1;
}

/*
 * In an exact pool, a loop of gets and puts at the border of a full or an empty
 * magazine would exchange it at each turn, in long calls. So a cache loads some
 * more than a full magazine has, and keeps these objects when it passes the
 * magazine on. In other pools, what a cache loads is kept from the others.
 */
static size_t
choose_full(size_t cache_size, unsigned flags)
{
	size_t above = cache_size / 4;

	if (above > MOST_ABOVE)
		above = MOST_ABOVE;
	return flags & HONE_MEMPOOL_EXACT ? cache_size - above : cache_size;
}

/* A mark is a bit, or a pointer in a table of which a fifth stays free. */
static void
count_marks(struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr)
{
	size_t n = attr->capacity;

	layout->n_places = n;
	layout->marks_size = n / 8 + 1;
	if (attr->flags & HONE_MEMPOOL_FOREIGN) {
		/* No overflow: wrong_foreign() limits the capacity. */
		layout->n_places = n + n / 4 + 1;
		layout->marks_size = layout->n_places * sizeof(void *);
	}
}

/* The memory that the caller provides: the objects, after the pool itself if
 * that is there, too. */
static bool
lay_out_memory(struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr)
{
	if (attr->flags & HONE_MEMPOOL_SHARED &&
		!round_up(layout->size, layout->alignment, &layout->objects))
		return false;
	if (__builtin_add_overflow(layout->objects, layout->objects_size,
		    &layout->memory_size) ||
		layout->memory_size > SIZE_MAX / 2)
		return false;
	/* A multiple of the alignment that the memory must have. */
	return !(attr->flags & HONE_MEMPOOL_SHARED) ||
	       round_up(layout->memory_size, HONE_MEMPOOL_PAGE,
		       &layout->memory_size);
}

const char *
hone_mempool_layout(struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr)
{
	size_t caches = attr->max_caches, watched = 0, none, slots;
	size_t size = HONE_MEMPOOL_PAGE;
	const char *name = wrong(attr);

	if (name)
		return name;
	if (!lay_out_objects(layout, attr))
		return attr->capacity > attr->object_size ? "capacity"
							  : "object_size";
	if (attr->flags & HONE_MEMPOOL_DEBUG &&
		!(attr->flags & HONE_MEMPOOL_FOREIGN))
		watched = attr->capacity;
	layout->cache_size = choose_cache_size(attr);
	layout->full = choose_full(layout->cache_size, attr->flags);
	count_marks(layout, attr);
	if (!count_magazines(layout, attr->capacity, caches))
		return "capacity";
	choose_slots(layout, caches);
	slots = layout->deque_slots * 2 * sizeof(void *);
	if (!area(&size, &none, caches, HONE_MEMPOOL_PAGE) ||
		!area(&size, &layout->slots, caches, slots) ||
		!area(&size, &layout->marks, layout->marks_size, 1) ||
		!area(&size, &layout->states, watched, 1) ||
		!area(&size, &layout->sums, watched, sizeof(uint64_t)) ||
		!area(&size, &layout->magazines, layout->n_magazines,
			layout->magazine_stride) ||
		size > SIZE_MAX / 2)
		return "capacity";
	layout->size = size;
	return lay_out_memory(layout, attr) ? NULL : "capacity";
}

static int
bind_to(void *addr, size_t size, int node)
{
	/* MPOL_BIND of the kernel, whose headers may be absent with musl. */
	enum { BITS = 8 * sizeof(unsigned long), BIND = 2 };
	unsigned long nodes[MAX_NODES / BITS] = {0};

	nodes[node / BITS] = 1UL << node % BITS;
	/* The kernel subtracts 1 from the number of bits. */
	if (syscall(SYS_mbind, addr, size, BIND, nodes, MAX_NODES + 1UL, 0UL))
		return -errno;
	return 0;
}

/*
 * The administrator sets huge pages aside for all nodes together. Whether this
 * node has enough shows at the first access. An access here returns an error;
 * later, the first user of an object would get a signal.
 */
static int
touch_all(void *addr, size_t size)
{
	/* EINVAL: a kernel before 5.14, which cannot do this. */
	if (madvise(addr, size, POPULATE_WRITE) != 0 && errno != EINVAL)
		return -ENOMEM;
	return 0;
}

int
hone_mempool_allocate(struct hone_mempool *pool,
	const struct hone_mempool_layout *layout,
	const struct hone_mempool_attr *attr)
{
	bool hugetlb = attr->flags & HONE_MEMPOOL_HUGETLB;
	bool huge = hugetlb || attr->flags & HONE_MEMPOOL_HUGE_ADVISE;
	size_t unit = huge ? HUGE_PAGE : HONE_MEMPOOL_PAGE, size, offset;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, error = 0;
	char *mapping;

	if (layout->objects_size == 0)
		return 0;
	if (attr->memory) {
		if (attr->memory_size < layout->memory_size)
			return -ENOBUFS;
		pool->objects =
			(char *)attr->memory + layout->objects + layout->front;
		return 0;
	}
	if (hugetlb)
		flags |= MAP_HUGETLB | MAP_HUGE_OF_2MB;
	if (unit < layout->alignment)
		unit = layout->alignment;
	/* Room for the alignment; huge pages of hugetlbfs are aligned. */
	size = (layout->objects_size + unit - 1) / unit * unit;
	if (!hugetlb || unit > HUGE_PAGE)
		size += unit;
	mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (mapping == MAP_FAILED)
		return -ENOMEM;
	offset = -(uintptr_t)mapping & (unit - 1);
	if (attr->flags & HONE_MEMPOOL_HUGE_ADVISE)
		(void)madvise(mapping, size, MADV_HUGEPAGE);
	if (attr->numa_node >= 0)
		error = bind_to(mapping, size, attr->numa_node);
	if (!error && hugetlb && attr->numa_node >= 0)
		error = touch_all(mapping, size);
	if (error) {
		(void)munmap(mapping, size);
		return error;
	}
	pool->objects = mapping + offset + layout->front;
	pool->mapping = mapping;
	pool->mapping_size = size;
	return 0;
}
