/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A child of fork() joins the store with its own slot. The child of
 * pcntl_fork() also has the values that the request has fetched. It takes over
 * the parent's pin before the parent may end, so the parent waits for the
 * child. Other children use no value of the parent.
 */
#include "../cache.h"
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

/* A limit, because the child may have been killed. */
#define WAIT_MS 1000

/* The child sets it when the child has a pin. NULL if the parent does not wait.
 */
static __thread uint32_t *joined;

/* A library may fork in a thread that PHP has not started, or has ended. */
static bool
has_globals(void)
{
#ifdef ZTS
	return tsrm_get_ls_cache() != NULL;
#else
	return true;
#endif
}

static bool
is_pcntl_fork(void)
{
	const zend_execute_data *at = EG(current_execute_data);
	const zend_string *name;

	if (at == NULL || at->func == NULL ||
		at->func->type != ZEND_INTERNAL_FUNCTION)
		return false;
	name = at->func->common.function_name;
	return name != NULL &&
	       (zend_string_equals_literal(name, "pcntl_fork") ||
		       zend_string_equals_literal(name, "pcntl_rfork"));
}

static void
before_fork(void)
{
	joined = NULL;
	php_hone_snapshot_before_fork();
	if (!has_globals() || !HONE_G(cache).open || !is_pcntl_fork())
		return;
	joined = mmap(NULL, sizeof *joined, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (joined == MAP_FAILED)
		joined = NULL;
}

static void
in_parent(void)
{
	const struct timespec pause = {.tv_nsec = 100000};

	if (joined == NULL)
		return;
	for (unsigned i = 0; i < WAIT_MS * 10; i++) {
		/* Acquire: pairs with the release in in_child(). */
		if (__atomic_load_n(joined, __ATOMIC_ACQUIRE) != 0)
			break;
		nanosleep(&pause, NULL);
	}
	munmap(joined, sizeof *joined);
	joined = NULL;
}

static void
in_child(void)
{
	struct php_hone_cache *cache;

	if (!has_globals())
		return;
	cache = &HONE_G(cache);
	/* The claims belong to the parent. */
	cache->claims = NULL;
	cache->refused = NULL;
	if (joined != NULL) {
		cache->open = php_hone_member_inherit(&cache->member) == 0;
		__atomic_store_n(joined, 1, __ATOMIC_RELEASE);
		munmap(joined, sizeof *joined);
		joined = NULL;
	} else if (cache->member.store != NULL) {
		php_hone_member_forget(&cache->member);
		cache->open = false;
	}
	if (!cache->open)
		memset(cache->recent, 0, sizeof cache->recent);
}

/* glibc removes the handlers when the module is unloaded. */
void
php_hone_fork_minit(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}
