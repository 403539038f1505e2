/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HONE_MEMPOOL_FOREIGN and HONE_MEMPOOL_SHARED: a pool of the caller's
 * pointers, and a pool in memory that several processes use.
 */
#include "mempool.h"
#include "mempool_support.h"

#define N 100

static char things[N + 1][3];

static struct hone_mempool_attr
foreign(size_t capacity, size_t cache_size, unsigned flags)
{
	struct hone_mempool_attr attr = attributes(capacity, cache_size, 4);

	attr.object_size = 0;
	attr.flags = HONE_MEMPOOL_FOREIGN | flags;
	return attr;
}

static struct hone_mempool *
foreign_pool(size_t cache_size, unsigned flags)
{
	struct hone_mempool_attr attr = foreign(N, cache_size, flags);

	assert_int_equal(hone_mempool_memory_size(&attr), 0);
	return made(&attr);
}

static void
closed(struct hone_mempool *pool, struct hone_mempool_cache *c)
{
	hone_mempool_cache_close(c);
	assert_ok(hone_mempool_destroy(pool));
}

static void
put_things(struct hone_mempool_cache *c, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		hone_mempool_put(c, things[i]);
}

/* Gets n things, each once, in any order. */
static void
get_things(struct hone_mempool_cache *c, size_t n)
{
	void *objs[N + 1];

	assert_int_equal(hone_mempool_get_burst(c, objs, N + 1), n);
	all_different(objs, n);
	for (size_t i = 0; i < n; i++) {
		size_t offset = (size_t)((char *)objs[i] - things[0]);

		assert_true(offset < sizeof(things) && offset % 3 == 0);
	}
}

static void
holds_what_is_put(unsigned flags)
{
	static const char zeros[sizeof(things)];
	struct hone_mempool *pool = foreign_pool(7, flags);
	struct hone_mempool_cache *c = opened(pool), *d = opened(pool);

	assert_null(hone_mempool_get(c));
	audited(pool, N);
	for (int round = 0; round < 20; round++) {
		put_things(round % 2 ? d : c, 0, N);
		audited(pool, 0);
		if (round % 2 == 0 && !(flags & HONE_MEMPOOL_EXACT)) {
			size_t left = stats_of(pool).loaded;

			get_things(d, N - left);
			get_things(c, left);
		} else {
			get_things(d, N);
		}
		audited(pool, N);
	}
	put_things(c, 0, 10);
	assert_ptr_equal(hone_mempool_get(c), things[9]);
	put_things(d, 9, 1);
	audited(pool, N - 10);
	assert_memory_equal(things, zeros, sizeof(zeros));
	assert_int_equal(stats_of(pool).stride, 0);
	hone_mempool_cache_close(c);
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	hone_mempool_cache_close(d);
	/* some are in the pool, the others are out */
	assert_ok(hone_mempool_destroy(pool));
}

TEST(a_pool_starts_empty_and_holds_what_is_put)
{
	holds_what_is_put(0);
}

TEST(an_exact_pool_holds_what_is_put)
{
	holds_what_is_put(HONE_MEMPOOL_EXACT);
}

TEST(the_debug_flavour_holds_what_is_put)
{
	holds_what_is_put(HONE_MEMPOOL_DEBUG);
	holds_what_is_put(HONE_MEMPOOL_DEBUG | HONE_MEMPOOL_EXACT);
}

TEST(a_pool_stays_while_a_magazine_is_out)
{
	struct hone_mempool *pool = foreign_pool(7, 0);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_magazine *m;

	put_things(c, 0, 3);
	m = hone_mempool_get_magazine(c);
	assert_non_null(m);
	hone_mempool_cache_close(c);
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	c = opened(pool);
	hone_mempool_put_magazine(c, m);
	hone_mempool_cache_close(c);
	assert_ok(hone_mempool_destroy(pool));
}

static void
never(void *object, size_t index, void *arg)
{
	(void)object;
	(void)index;
	(void)arg;
	fail();
}

TEST(what_goes_with_own_objects_alone_is_refused)
{
	struct hone_mempool_attr attr = foreign(N, 7, 0);
	struct hone_mempool *pool = foreign_pool(7, 0);
	const struct {
		size_t object_size, capacity;
		unsigned flags;
		int node;
		void *memory;
		void (*constructor)(void *, size_t, void *);
	} wrong[] = {{1, N, 0, -1, NULL, NULL}, {0, 0, 0, -1, NULL, NULL},
		{0, SIZE_MAX / 16, 0, -1, NULL, NULL},
		{0, N, HONE_MEMPOOL_HUGETLB, -1, NULL, NULL},
		{0, N, HONE_MEMPOOL_HUGE_ADVISE, -1, NULL, NULL},
		{0, N, HONE_MEMPOOL_NO_COLOUR, -1, NULL, NULL},
		{0, N, HONE_MEMPOOL_SHARED << 1, -1, NULL, NULL},
		{0, N, 0, 0, NULL, NULL}, {0, N, 0, -1, pool, NULL},
		{0, N, HONE_MEMPOOL_SHARED, -1, NULL, NULL},
		{0, N, HONE_MEMPOOL_SHARED, -1, (char *)pool + 64, NULL},
		{0, N, 0, -1, NULL, never}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct hone_mempool *unset = NULL;

		attr.object_size = wrong[i].object_size;
		attr.capacity = wrong[i].capacity;
		attr.flags = HONE_MEMPOOL_FOREIGN | wrong[i].flags;
		attr.numa_node = wrong[i].node;
		attr.memory = wrong[i].memory;
		attr.memory_size = 1 << 30;
		attr.constructor = wrong[i].constructor;
		assert_int_equal(hone_mempool_create(&unset, &attr), -EINVAL);
		assert_null(unset);
	}
	hone_mempool_iterate(pool, never, NULL);
	assert_ok(hone_mempool_destroy(pool));
}

TEST(the_audit_finds_what_was_put_twice)
{
	struct hone_mempool *pool = foreign_pool(7, 0);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_findings findings;

	put_things(c, 0, 20);
	put_things(c, 10, 3);
	hone_mempool_audit(pool, &findings, NULL, NULL);
	assert_int_equal(findings.in_pool, 20);
	assert_int_equal(findings.out, N - 20);
	assert_int_equal(findings.doubled, 3);
	assert_int_equal(findings.foreign, 0);
	closed(pool, c);
}

TEST(the_debug_flavour_finds_a_second_put_null_and_one_too_many)
{
	struct faults faults;
	struct hone_mempool *pool = noting_pool(&faults, foreign(N, 7, 0));
	struct hone_mempool_cache *c = opened(pool);

	hone_mempool_put(c, NULL);
	told(&faults, HONE_MEMPOOL_FAULT_FOREIGN, NULL);
	put_things(c, 0, N);
	told(&faults, 0, NULL);
	hone_mempool_put(c, things[N]);
	told(&faults, HONE_MEMPOOL_FAULT_FOREIGN, things[N]);
	hone_mempool_put(c, things[40]);
	told(&faults, HONE_MEMPOOL_FAULT_DOUBLE_PUT, things[40]);
	audited(pool, 0);
	get_things(c, N);
	hone_mempool_put(c, things[N]);
	told(&faults, 0, NULL);
	closed(pool, c);
}

/* The table of the debug flavour, with many pointers and random order. */
TEST(the_debug_flavour_forgets_what_is_got)
{
	struct faults faults;
	struct hone_mempool *pool = noting_pool(&faults, foreign(N, 1, 0));
	struct hone_mempool_cache *c = opened(pool);
	uint64_t seed = support_seed();
	bool in[N] = {false};

	for (int turn = 0; turn < 20000; turn++) {
		size_t i = support_below(&seed, N);
		char *got;

		if (support_below(&seed, 2)) {
			hone_mempool_put(c, things[i]);
			told(&faults, in[i] ? HONE_MEMPOOL_FAULT_DOUBLE_PUT : 0,
				things[i]);
			in[i] = true;
			continue;
		}
		got = hone_mempool_get(c);
		if (got) {
			i = (size_t)(got - things[0]) / 3;
			assert_true(in[i]);
			in[i] = false;
		}
	}
	closed(pool, c);
}

TEST(a_child_has_the_pointers_that_are_in_the_pool)
{
	struct hone_mempool *pool = foreign_pool(7, 0);
	struct hone_mempool_cache *c = opened(pool);
	void *objs[N];

	put_things(c, 0, 60);
	PASSES_IN_CHILD(hone_mempool_after_fork(pool) != N - 60 ||
			hone_mempool_get_burst(hone_mempool_thread_cache(pool),
				objs, N) != 60);
	get_things(c, 60);
	closed(pool, c);
}

/* Emulators do not have them. */
static bool
there_are_robust_mutexes(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	assert_ok(pthread_mutexattr_init(&attr));
	assert_ok(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	assert_ok(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	int error = pthread_mutex_init(&mutex, &attr);
	if (error == 0)
		pthread_mutex_destroy(&mutex);
	else
		assert_int_equal(error, ENOTSUP);
	pthread_mutexattr_destroy(&attr);
	return error == 0;
}

/* A pool in shared memory; its address is that of the memory. */
static struct hone_mempool *
shared_pool(struct hone_mempool_attr *attr)
{
	struct hone_mempool *pool = NULL;
	size_t size;

	attr->flags |= HONE_MEMPOOL_SHARED;
	size = hone_mempool_memory_size(attr);
	assert_true(size > 0);
	assert_int_equal(size % HONE_MEMPOOL_PAGE, 0);
	attr->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(attr->memory, MAP_FAILED);
	memset(attr->memory, 0xff, size);
	attr->memory_size = size - 1;
	assert_int_equal(hone_mempool_create(&pool, attr), -ENOBUFS);
	assert_null(pool);
	attr->memory_size = size;
	if (!there_are_robust_mutexes()) {
		assert_int_equal(hone_mempool_create(&pool, attr), -ENOTSUP);
		printf("# skipped: there are no robust mutexes here\n");
		skip();
	}
	assert_ok(hone_mempool_create(&pool, attr));
	assert_ptr_equal(pool, attr->memory);
	assert_null(hone_mempool_thread_cache(pool));
	return pool;
}

static void
unshared(struct hone_mempool *pool, const struct hone_mempool_attr *attr)
{
	audited(pool, 0);
	assert_ok(hone_mempool_destroy(pool));
	memset(attr->memory, 0, attr->memory_size);
	assert_ok(munmap(attr->memory, attr->memory_size));
}

/* Gets and puts at random; returns the exit status. */
static int
use(struct hone_mempool *pool, uint64_t seed, int turns)
{
	struct hone_mempool_cache *c;
	void *objs[20];

	if (hone_mempool_cache_open(pool, &c) != 0)
		return 1;
	for (int turn = 0; turn != turns; turn++) {
		size_t n = 1 + support_below(&seed, 20);

		n = hone_mempool_get_burst(c, objs, n);
		hone_mempool_put_bulk(c, objs, n);
	}
	hone_mempool_cache_close(c);
	return 0;
}

static void
processes_share(struct hone_mempool_attr attr)
{
	struct hone_mempool *pool = shared_pool(&attr);
	struct hone_mempool_cache *c = opened(pool);
	uint64_t seed = support_seed();
	pid_t pids[3];

	for (size_t i = 0; attr.flags & HONE_MEMPOOL_FOREIGN && i < N; i++)
		hone_mempool_put(c, things[i]);
	for (size_t i = 0; i < 3; i++) {
		uint64_t own = support_random(&seed);

		pids[i] = fork();
		if (pids[i] == 0)
			_exit(use(pool, own, 20000));
	}
	hone_mempool_cache_close(c);
	assert_int_equal(use(pool, seed, 20000), 0);
	for (size_t i = 0; i < 3; i++)
		support_exits_with_0(pids[i]);
	unshared(pool, &attr);
}

TEST(processes_share_a_pool)
{
	processes_share(attributes(N, 7, 4));
	processes_share(foreign(N, 7, 0));
	processes_share(foreign(N, 7, HONE_MEMPOOL_EXACT));
	processes_share(foreign(N, 7, HONE_MEMPOOL_DEBUG));
}

/* Tools, which know of one process, must not report this. */
TEST(an_object_that_another_process_got_may_be_used)
{
	struct hone_mempool_attr attr = attributes(1, 1, 2);
	struct hone_mempool *pool = shared_pool(&attr);
	struct hone_mempool_cache *c = opened(pool);
	char *object = hone_mempool_get(c);
	pid_t pid;

	assert_non_null(object);
	hone_mempool_put(c, object);
	hone_mempool_cache_close(c);
	pid = fork();
	if (pid == 0) {
		c = opened(pool);
		object = hone_mempool_get(c);
		hone_mempool_cache_close(c);
		_exit(object == NULL);
	}
	support_exits_with_0(pid);
	*object = 1;
	c = opened(pool);
	hone_mempool_put(c, object);
	hone_mempool_cache_close(c);
	unshared(pool, &attr);
}

TEST(a_process_that_dies_with_the_mutex_stops_nobody)
{
#if defined(EMULATED)
	printf("# skipped: an emulator has no robust mutexes\n");
	skip();
#endif
	struct hone_mempool_attr attr = foreign(N, 7, HONE_MEMPOOL_EXACT);
	struct hone_mempool *pool = shared_pool(&attr);
	struct hone_mempool_cache *c = opened(pool);
	pid_t pid = fork();

	if (pid == 0) {
		hone_mempool_lock(pool);
		_exit(0);
	}
	support_exits_with_0(pid);
	put_things(c, 0, N);
	get_things(c, N);
	put_things(c, 0, N);
	hone_mempool_cache_close(c);
	unshared(pool, &attr);
}
