/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool with the ops "hone" under lcores, threads that EAL does not know, and
 * other processes. The object's owner is in its first word, so an object that
 * two threads have is found.
 *
 *	stress EAL-OPTION... -- CACHE-SIZE
 *		[fork | kill | wait | secondary | lose | twice]
 *
 * fork: a child of fork() shares the memory of DPDK, and takes part as another
 * lcore. kill: the child is killed at a random moment; then what it held is
 * lost, and nothing else. wait: "ready" is printed, and the check comes after a
 * line of input. secondary: takes part in the pool of a primary process. lose,
 * twice: what a driver with a bug does, which must be found.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#undef RTE_USE_LIBBSD
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#define NAME "stress"
#define OBJECTS 2047
#define MOST 40   /* objects that a thread holds at a time */
#define THREADS 3 /* that EAL does not know */
#define TURNS 300000
#define CHILD 40 /* number of its lcore, which no other thread has */

static struct rte_mempool *pool;
static _Atomic unsigned errors;

static void
wrong(const char *what)
{
	if (atomic_fetch_add(&errors, 1) < 5)
		printf("not so: %s\n", what);
}

/* Sets the owner of objects that belonged to `before`. */
static void
pass(void **objs, unsigned n, uint64_t before, uint64_t after)
{
	for (unsigned i = 0; i < n; i++) {
		_Atomic uint64_t *owner = objs[i];

		if (atomic_exchange_explicit(
			    owner, after, memory_order_relaxed) != before)
			wrong("an object belongs to one thread at a time");
	}
}

/* Gets and puts at random; for ever if turns is 0. */
static int
churn(unsigned turns)
{
	uint64_t me = (uint64_t)getpid() << 32 | (uint32_t)rte_gettid();
	unsigned seed = (unsigned)me, have = 0;
	void *objs[MOST];

	for (unsigned turn = 0; turns == 0 || turn < turns; turn++) {
		unsigned n = 1 + (unsigned)rand_r(&seed) % MOST;

		if (n <= MOST - have && rand_r(&seed) % 2) {
			if (rte_mempool_get_bulk(pool, objs + have, n) != 0)
				continue;
			pass(objs + have, n, 0, me);
			have += n;
		} else {
			n = n < have ? n : have;
			have -= n;
			pass(objs + have, n, me, 0);
			rte_mempool_put_bulk(pool, objs + have, n);
		}
	}
	pass(objs, have, me, 0);
	rte_mempool_put_bulk(pool, objs, have);
	return 0;
}

static int
on_lcore(void *arg)
{
	(void)arg;
	return churn(TURNS);
}

static void *
on_thread(void *arg)
{
	(void)arg;
	(void)churn(TURNS / 4);
	return NULL;
}

/* All lcores and some threads at once. */
static void
use(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, on_thread, NULL) != 0)
			rte_exit(1, "pthread_create() failed\n");
	rte_eal_mp_remote_launch(on_lcore, NULL, CALL_MAIN);
	rte_eal_mp_wait_lcore();
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

static pid_t
begin_child(unsigned turns)
{
	pid_t pid = fork();

	if (pid == 0) {
		RTE_PER_LCORE(_lcore_id) = CHILD;
		(void)churn(turns);
		_exit(errors != 0);
	}
	return pid;
}

static void
end_child(pid_t pid, int with)
{
	int status;

	if (with) {
		usleep((useconds_t)getpid() % 50 * 1000);
		(void)kill(pid, with);
	}
	if (waitpid(pid, &status, 0) != pid ||
		(with ? !WIFSIGNALED(status) : status != 0))
		wrong("the child ends as it should");
}

/* One lcore gets what the count shows, past the caches of rte_mempool. */
static void
check(unsigned lost)
{
	static void *objs[OBJECTS];
	unsigned cached = 0;
	unsigned n = rte_mempool_get_ops(pool->ops_index)->get_count(pool);

	for (unsigned i = 0; pool->cache_size > 0 && i < RTE_MAX_LCORE; i++)
		cached += pool->local_cache[i].len;
	if (n + cached > OBJECTS || n + cached + lost < OBJECTS)
		wrong("no object is lost");
	unsigned got = n;
	if (rte_mempool_ops_dequeue_bulk(pool, objs, n) != 0) {
		/* The count has what a killed process had loaded in a call; no
		 * get takes that: see calls_of() in src/mempool/exact.c. */
		got = 0;
		while (got < n &&
			rte_mempool_ops_dequeue_bulk(pool, objs + got, 1) == 0)
			got++;
		if (lost == 0 || got + cached + lost < OBJECTS)
			wrong("one lcore gets what the count shows");
	}
	if (rte_mempool_ops_dequeue_bulk(pool, objs + got, 1) == 0)
		wrong("there is no more than that");
	if (lost == 0)
		pass(objs, got, 0, 1);
	printf("%u objects, %u in caches, %u lost, %u errors\n", got, cached,
		OBJECTS - got - cached, errors);
}

static void
nobodys(struct rte_mempool *mp, void *arg, void *obj, unsigned index)
{
	(void)mp;
	(void)arg;
	(void)index;
	*(uint64_t *)obj = 0;
}

static struct rte_mempool *
create(unsigned cache_size)
{
	pool = rte_mempool_create_empty(
		NAME, OBJECTS, 64, cache_size, 0, SOCKET_ID_ANY, 0);
	if (!pool || rte_mempool_set_ops_byname(pool, "hone", NULL) != 0 ||
		rte_mempool_populate_default(pool) != OBJECTS)
		return NULL;
	rte_mempool_obj_iter(pool, nobodys, NULL);
	return pool;
}

/* An object is lost, or is in the pool twice. */
static void
plant_bug(const char *how)
{
	bool lose = strcmp(how, "lose") == 0, twice = strcmp(how, "twice") == 0;
	void *objs[2];

	if (!lose && !twice)
		return;
	if (rte_mempool_ops_dequeue_bulk(pool, objs, 2) != 0)
		rte_exit(1, "the pool is empty\n");
	objs[1] = objs[0];
	(void)rte_mempool_ops_enqueue_bulk(pool, objs, lose ? 1 : 2);
}

int
main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv);
	const char *how = used + 2 < argc ? argv[used + 2] : "";
	unsigned lost = 0;
	pid_t pid = 0;

	if (used < 0 || used + 1 >= argc)
		return 1;
	if (strcmp(how, "secondary") == 0)
		pool = rte_mempool_lookup(NAME);
	else
		pool = create((unsigned)atoi(argv[used + 1]));
	if (!pool)
		rte_exit(1, "there is no pool\n");
	plant_bug(how);
	if (strcmp(how, "wait") == 0)
		puts("ready");
	fflush(stdout);
	if (strcmp(how, "fork") == 0)
		pid = begin_child(TURNS);
	if (strcmp(how, "kill") == 0)
		pid = begin_child(0);
	use();
	if (pid)
		end_child(pid, strcmp(how, "kill") == 0 ? SIGKILL : 0);
	if (strcmp(how, "kill") == 0) {
		/* In its hands, loaded in a call, in a cache of rte_mempool. */
		lost = MOST + 512 + pool->cache_size * 3 / 2;
		use();
	}
	if (strcmp(how, "wait") == 0)
		(void)getchar();
	if (strcmp(how, "secondary") != 0)
		check(lost);
	if (strcmp(how, "kill") != 0)
		rte_mempool_free(strcmp(how, "secondary") ? pool : NULL);
	(void)rte_eal_cleanup();
	return errors != 0;
}
