/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of processes, requests and children. */
#include "../cache.h"
#include "ext/standard/file.h"
#include "zend_fibers.h"

/* Bytes at the end of a stack, as PHP's zend.reserved_stack_size, but at most
 * a quarter of the stack. */
#define RESERVED ((size_t)32 << 10)

/* Memory that a builder keeps from request to request. */
#define BUILDER_KEEP ((size_t)1 << 20)

void
php_hone_cache_minit(int type, int module_number, zend_class_entry *entries)
{
	php_hone_cache_settings(type, module_number);
	php_hone_apcu_minit(type, module_number);
	php_hone_pools_make(type);
	php_hone_snapshot_begin();
	php_hone_entries_minit(entries);
	php_hone_dates_minit();
	if (php_hone_pools_store() != NULL) {
		php_hone_fork_minit();
		php_hone_apcu_tell();
	}
}

static void
leave(struct php_hone_cache *cache)
{
	if (cache->member.slot != NULL)
		php_hone_member_leave(&cache->member);
	php_hone_builder_free(&cache->builder);
	php_hone_cold_free(&cache->cold);
	php_hone_block_free_memory(cache);
}

void
php_hone_cache_mshutdown(void)
{
	leave(&HONE_G(cache));
	php_hone_snapshot_end();
	php_hone_protect_end();
	php_hone_pools_unmap();
}

/* For a thread that ends before the module. */
void
php_hone_cache_gshutdown(struct php_hone_cache *cache)
{
	if (php_hone_pools_store() != NULL)
		leave(cache);
}

void
php_hone_cache_rinit(void)
{
	php_hone_pools_choose();
	if (UNEXPECTED(php_hone_pools_is_left_out()))
		php_hone_apcu_disable();
}

uintptr_t
php_hone_stack_limit(void)
{
#ifdef ZEND_CHECK_STACK_LIMIT
	return (uintptr_t)EG(stack_limit);
#else
	/* PHP 8.2 knows only the stack of a fiber. Its header does not have the
	 * struct, which begins with the lowest address and the size. */
	const zend_fiber_context *context = EG(current_fiber_context);
	const uintptr_t *stack;

	if (context == NULL || context->stack == NULL)
		return 0;
	stack = (const uintptr_t *)context->stack;
	return stack[0] + MIN(RESERVED, stack[1] / 4);
#endif
}

const char *
php_hone_cache_off(void)
{
	const char *refused = HONE_G(cache).refused;

	return refused != NULL ? refused : php_hone_pools_off();
}

/* The first use of the cache in a request. */
ZEND_COLD struct php_hone_member *
php_hone_cache_open_first(void)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	struct php_hone_store *store = php_hone_pools_store();
	int error;

	if (cache->refused != NULL)
		return NULL;
	if (!php_hone_pools_match()) {
		cache->refused = "hone.cache_pool is not the pool of this "
				 "process";
		return NULL;
	}
	if (store == NULL)
		return NULL;
	if (cache->member.slot == NULL) {
		error = php_hone_member_join(&cache->member, store);
		if (error < 0) {
			cache->refused =
				"all slots of hone.cache_slots are in use";
			php_hone_pools_full(store);
			return NULL;
		}
	}
	php_hone_member_pin(&cache->member);
	if (cache->read == PHP_HONE_READ_BLOCK ||
		cache->read == PHP_HONE_READ_COPY)
		php_hone_member_close(&cache->member);
	cache->member.packs = !cache->cold_off;
	php_hone_dates_begin(&cache->builder);
	cache->open = true;
	cache->opened = php_hone_store_now(store);
	cache->fetches = 0;
	cache->most_depth = NULL;
	return &cache->member;
}

/* PHP destroys these tables after all hooks of extensions, and then reads the
 * flags of each name, which may be a string of the cache. The tables have no
 * destructor, and no code uses them after this hook. */
static void
destroy_names(HashTable **table)
{
	if (*table == NULL)
		return;
	zend_hash_destroy(*table);
	efree(*table);
	*table = NULL;
}

/* PHP calls this after the last value of the request was freed.
 * docs/design/cache.md lists the later steps of PHP. */
void
php_hone_cache_post_deactivate(void)
{
	struct php_hone_cache *cache = &HONE_G(cache);

	cache->refused = NULL;
	if (cache->open) {
		destroy_names(&FG(stream_filters));
		destroy_names(&FG(stream_wrappers));
		/* A fatal error may skip the end of a fetch: that of
		 * memory_limit in a copy, with a PHP that leaves by longjmp().
		 */
		while (cache->member.fetches > 0)
			php_hone_fetch_end(&cache->member);
		php_hone_claims_end();
		php_hone_member_unpin(&cache->member);
	}
	php_hone_block_free_all();
	php_hone_dates_end();
	memset(cache->recent, 0, sizeof cache->recent);
	cache->open = false;
	cache->claims = NULL;
	php_hone_builder_trim(&cache->builder, BUILDER_KEEP);
	php_hone_cold_trim(&cache->cold, BUILDER_KEEP);
}
