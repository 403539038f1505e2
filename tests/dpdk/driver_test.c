/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mempool driver without DPDK: stub.h has what the driver includes of DPDK.
 * So the test chooses the number of an lcore, and what fails. test_dpdk.py runs
 * the driver in DPDK.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): for its data */
#include "../../integrations/dpdk/hone_mempool.c"
#include "support.h"

#define N 100
#define BYTES (4 << 20)

static char things[N + 1];
static unsigned lcore, n_lcores;
static const struct rte_mempool_ops *ops;
/* Memory of DPDK: areas that are there, and whether there are more. */
static unsigned areas;
static bool memory_lacks;
static int socket_of_memory;
static char logged[200];
/* Locks of the driver's mutex, and of any. Which call of pthread_mutex_init()
 * fails; 0 if none does. */
static struct driver *watched;
static unsigned locks, all_locks, failing_init;

int
rte_mempool_register_ops(const struct rte_mempool_ops *registered)
{
	ops = registered;
	return 0;
}

unsigned
rte_lcore_id(void)
{
	return lcore;
}

unsigned
rte_lcore_count(void)
{
	return n_lcores;
}

/* Of processes that fork, too. */
void *
rte_zmalloc_socket(const char *type, size_t size, unsigned align, int socket)
{
	void *memory;

	(void)type;
	assert_true(align <= 4096);
	assert_true(size <= BYTES);
	if (memory_lacks)
		return NULL;
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	areas++;
	socket_of_memory = socket;
	return memory;
}

void
rte_free(void *memory)
{
	assert_ok(munmap(memory, BYTES));
	areas--;
}

void
stub_log(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(logged, sizeof(logged), format, list);
	va_end(list);
}

/* There is one thread: it would wait for ever. */
STANDS_FOR(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
	int error = pthread_mutex_trylock(mutex);

	assert_int_not_equal(error, EBUSY);
	all_locks++;
	if (watched && mutex == &watched->mutex)
		locks++;
	return error;
}

STANDS_FOR(int, pthread_mutex_init, pthread_mutex_t *mutex,
	const pthread_mutexattr_t *attr)
{
	if (failing_init > 0 && --failing_init == 0)
		return ENOMEM;
	return __real_pthread_mutex_init(mutex, attr);
}

static struct rte_mempool
mempool(void)
{
	struct rte_mempool mp = {.name = "packets", .socket_id = 3, .size = N};

	lcore = 0;
	n_lcores = 1;
	memory_lacks = false;
	logged[0] = '\0';
	watched = NULL;
	assert_int_equal(ops->alloc(&mp), 0);
	watched = mp.pool_data;
	locks = all_locks = 0;
	return mp;
}

static void
put(struct rte_mempool *mp, unsigned first, unsigned n)
{
	void *objs[N] = {NULL};

	for (unsigned i = 0; i < n; i++)
		objs[i] = &things[first + i];
	assert_int_equal(ops->enqueue(mp, objs, n), 0);
}

/* Gets n, each once, which are all that the mempool has. */
static void
get_all(struct rte_mempool *mp, unsigned n)
{
	void *objs[N + 1];
	bool had[N] = {false};

	assert_int_equal(ops->get_count(mp), n);
	assert_int_equal(ops->dequeue(mp, objs, n + 1), -ENOBUFS);
	assert_int_equal(ops->get_count(mp), n);
	assert_int_equal(ops->dequeue(mp, objs, n), 0);
	for (unsigned i = 0; i < n; i++) {
		size_t at = (size_t)((char *)objs[i] - things);

		assert_true(at < N && !had[at]);
		had[at] = true;
	}
	assert_int_equal(ops->get_count(mp), 0);
}

static void
freed(struct rte_mempool *mp)
{
	ops->free(mp);
	assert_null(mp->pool_data);
	assert_int_equal(areas, 0);
}

TEST(the_driver_registers_as_hone)
{
	assert_non_null(ops);
	assert_string_equal(ops->name, "hone");
}

TEST(one_lcore_gets_what_others_put)
{
	struct rte_mempool mp = mempool();

	put(&mp, 0, 60);
	lcore = 1;
	put(&mp, 60, 40);
	lcore = 2;
	get_all(&mp, N);
	lcore = 0;
	get_all(&mp, 0);
	assert_int_equal(locks, 0);
	assert_string_equal(logged, "");
	freed(&mp);
}

TEST(threads_without_a_number_share_a_cache_under_the_mutex)
{
	struct rte_mempool mp = mempool();

	put(&mp, 0, 50);
	lcore = LCORE_ID_ANY;
	put(&mp, 50, 50);
	assert_int_equal(locks, 1);
	get_all(&mp, N);
	assert_int_equal(locks, 3);
	put(&mp, 0, N);
	lcore = 0;
	get_all(&mp, N);
	assert_int_equal(locks, 4);
	freed(&mp);
}

TEST(the_memory_is_of_the_socket_of_the_mempool)
{
	struct rte_mempool mp = mempool();

	assert_int_equal(socket_of_memory, 3);
	freed(&mp);
}

/* How many lcores have a cache of their own, in a process with n of them. */
static unsigned
own_caches(unsigned n)
{
	struct rte_mempool mp = mempool();
	unsigned own = 0;

	freed(&mp);
	n_lcores = n;
	assert_int_equal(ops->alloc(&mp), 0);
	watched = mp.pool_data;
	for (lcore = 0; lcore < RTE_MAX_LCORE; lcore++) {
		locks = 0;
		put(&mp, lcore, 1);
		own += locks == 0;
	}
	lcore = 0;
	get_all(&mp, RTE_MAX_LCORE);
	freed(&mp);
	return own;
}

TEST(there_are_caches_for_twice_as_many_lcores_and_for_sixteen)
{
	assert_int_equal(own_caches(1), 16);
	assert_int_equal(own_caches(8), 16);
	assert_int_equal(own_caches(9), 18);
	assert_int_equal(own_caches(20), RTE_MAX_LCORE);
}

static size_t
cache_size(unsigned lcores, unsigned size)
{
	struct rte_mempool mp = {.name = "packets", .size = size};
	struct hone_mempool_stats stats;

	n_lcores = lcores;
	assert_int_equal(ops->alloc(&mp), 0);
	watched = mp.pool_data;
	hone_mempool_get_stats(watched->pool, &stats);
	freed(&mp);
	return stats.cache_size;
}

TEST(lcores_and_threads_leave_a_quarter_of_the_objects)
{
	assert_int_equal(cache_size(5, 600), 75);
	assert_int_equal(cache_size(4, 600), 90);
	assert_int_equal(cache_size(3, 600), 112);
	assert_int_equal(cache_size(2, 600), 150);
	assert_int_equal(cache_size(1, 600), 150);
	assert_int_equal(cache_size(14, 600), 30);
	assert_int_equal(cache_size(15, 640), 20);
	assert_int_equal(cache_size(16, 640), 20);
	assert_int_equal(cache_size(1, 5000), 512);
	assert_int_equal(cache_size(4, 9), 1);
}

/* The mutex of the pool is for those that open a cache. */
TEST(an_lcore_without_a_cache_looks_for_one_once)
{
	struct rte_mempool mp = mempool();

	for (lcore = 0; lcore < 16; lcore++)
		put(&mp, lcore, 1);
	assert_string_equal(logged, "");
	put(&mp, 16, 1);
	assert_string_equal(logged,
		"NOTICE MEMPOOL: hone: packets: no cache is left for lcore "
		"16, which shares one\n");
	logged[0] = '\0';
	locks = all_locks = 0;
	put(&mp, 17, 1);
	assert_int_equal(locks, 1);
	assert_int_equal(all_locks, 1);
	assert_string_equal(logged, "");
	get_all(&mp, 18);
	freed(&mp);
}

TEST(a_process_that_dies_with_the_mutex_stops_nobody)
{
	struct rte_mempool mp = mempool();
	int status;
	pid_t pid;

	lcore = LCORE_ID_ANY;
	put(&mp, 0, N);
	pid = fork();
	if (pid == 0) {
		(void)pthread_mutex_trylock(&watched->mutex);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	get_all(&mp, N);
	put(&mp, 0, N);
	/* no state of an error is left */
	assert_ok(pthread_mutex_trylock(&watched->mutex));
	assert_ok(pthread_mutex_unlock(&watched->mutex));
	freed(&mp);
}

TEST(a_mempool_that_was_never_populated_is_freed)
{
	struct rte_mempool mp = {.size = N};

	freed(&mp);
	mp = mempool();
	freed(&mp);
	freed(&mp);
}

TEST(what_is_in_the_mempool_does_not_keep_it)
{
	struct rte_mempool mp = mempool();

	put(&mp, 0, N);
	lcore = LCORE_ID_ANY;
	put(&mp, 0, 0);
	freed(&mp);
}

TEST(an_alloc_that_fails_keeps_nothing)
{
	struct rte_mempool mp = mempool();
	unsigned failed = 0;

	freed(&mp);
	memory_lacks = true;
	assert_int_equal(ops->alloc(&mp), -ENOMEM);
	assert_non_null(strstr(logged, "ERR MEMPOOL: hone: packets: no "));
	assert_non_null(strstr(logged, " bytes in one piece on socket 3\n"));
	memory_lacks = false;
	/* the driver's mutex, and the pool's */
	for (unsigned i = 1;; i++) {
		logged[0] = '\0';
		failing_init = i;
		if (ops->alloc(&mp) == 0)
			break;
		failed++;
		assert_string_equal(logged,
			"ERR MEMPOOL: hone: packets: the pool is not created: "
			"Cannot allocate memory\n");
		assert_null(mp.pool_data);
		assert_int_equal(areas, 0);
	}
	failing_init = 0;
	assert_int_equal(failed, 2);
	freed(&mp);
	mp.size = 0;
	assert_int_equal(ops->alloc(&mp), -EINVAL);
	freed(&mp);
}
