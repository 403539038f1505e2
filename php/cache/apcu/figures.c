/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that return figures. What the shared cache does not count has the
 * value of an unused entry: docs/php-cache-reference.md. */
#include "apcu.h"
#include "../api/names.h"

/* apcu_sma_info() reports each of these parts of the memory as free or used. */
#define MAP_PARTS 4096

HONE_FUNCTION(apcu_enabled)
{
	HONE_ARGS(0, 0)
	HONE_ARGS_END();
	RETURN_BOOL(php_hone_apcu_enabled());
}

HONE_FUNCTION(apcu_clear_cache)
{
	HONE_ARGS(0, 0)
	HONE_ARGS_END();
	if (php_hone_apcu_enabled()) {
		struct php_hone_member *member = &HONE_G(cache).member;
		php_hone_cache_result(member, php_hone_store_clear(member));
	}
	RETURN_TRUE;
}

#define ADD(array, name, number)                                               \
	php_hone_named_add_long(&(array), PHP_HONE_NAME_##name, number)

static void
add_item(zval *list, const struct php_hone_item *item)
{
	zval link, value;

	array_init_size(&link, 9);
	ZVAL_STR_COPY(&value, item->key);
	php_hone_named_add(&link, PHP_HONE_NAME_info, &value);
	ADD(link, ttl, item->ttl);
	ZVAL_DOUBLE(&value, item->hits);
	php_hone_named_add(&link, PHP_HONE_NAME_num_hits, &value);
	ADD(link, mtime, item->created);
	ADD(link, creation_time, item->created);
	ADD(link, deletion_time, 0);
	ADD(link, access_time, item->created);
	ADD(link, ref_count, 0);
	ADD(link, mem_size, (zend_long)item->size);
	add_next_index_zval(list, &link);
}

static void
add_lists(zval *result)
{
	struct php_hone_walk walk = {0};
	zval list, deleted, slots;

	array_init(&list);
	while (php_hone_walk_batch(&walk, NULL))
		for (uint32_t i = 0; i < walk.n; i++)
			add_item(&list, &walk.items[i]);
	php_hone_walk_reset(&walk);
	array_init(&deleted);
	array_init(&slots);
	add_assoc_zval(result, "cache_list", &list);
	add_assoc_zval(result, "deleted_list", &deleted);
	add_assoc_zval(result, "slot_distribution", &slots);
}

HONE_FUNCTION(apcu_cache_info)
{
	struct php_hone_store_info info;
	bool limited = false;

	HONE_ARGS(0, 1)
	HONE_ARGS_OPTIONAL
	HONE_ARG_BOOL(limited)
	HONE_ARGS_END();
	if (!php_hone_apcu_enabled()) {
		php_error_docref(NULL, E_WARNING,
			"No APC info available.  Perhaps APC is not enabled? "
			"Check apc.enabled in your ini file");
		RETURN_FALSE;
	}
	php_hone_store_info(&HONE_G(cache).member, &info);
	array_init(return_value);
	add_assoc_long(return_value, "num_slots", info.slots);
	add_assoc_long(return_value, "ttl", HONE_G(cache).apc.ttl);
	add_assoc_double(return_value, "num_hits", (double)info.hits);
	add_assoc_double(return_value, "num_misses", (double)info.misses);
	add_assoc_double(return_value, "num_inserts", (double)info.stores);
	add_assoc_long(return_value, "num_entries", (zend_long)info.entries);
	add_assoc_double(return_value, "expunges", (double)info.evictions);
	add_assoc_long(return_value, "start_time", (zend_long)info.start);
	add_assoc_double(return_value, "mem_size", (double)info.used);
	add_assoc_string(return_value, "memory_type", "mmap");
	if (!limited)
		add_lists(return_value);
}

HONE_FUNCTION(apcu_key_info)
{
	struct php_hone_item item = {0};
	zend_string *key;

	HONE_ARGS(1, 1)
	HONE_ARG_STR(key)
	HONE_ARGS_END();
	if (!php_hone_apcu_enabled() || !php_hone_walk_one(key, &item))
		RETURN_NULL();
	array_init_size(return_value, 7);
	ADD(*return_value, hits, item.hits);
	ADD(*return_value, access_time, item.created);
	ADD(*return_value, mtime, item.created);
	ADD(*return_value, creation_time, item.created);
	ADD(*return_value, deletion_time, 0);
	ADD(*return_value, ttl, item.ttl);
	ADD(*return_value, refs, 0);
}

/* APCu lists its free blocks. These are runs of free parts. */
static void
add_blocks(zval *result, size_t size)
{
	unsigned char *map = emalloc(MAP_PARTS);
	zval segments, blocks;
	size_t begin = 0;

	php_hone_store_map(&HONE_G(cache).member, map, MAP_PARTS);
	array_init(&segments);
	array_init(&blocks);
	for (size_t i = 0; i <= MAP_PARTS; i++) {
		if (i < MAP_PARTS && map[i] == 0)
			continue;
		if (i > begin) {
			zval block;
			array_init(&block);
			add_assoc_long(&block, "size",
				(zend_long)((i - begin) * (size / MAP_PARTS)));
			add_assoc_long(&block, "offset",
				(zend_long)(begin * (size / MAP_PARTS)));
			add_next_index_zval(&blocks, &block);
		}
		begin = i + 1;
	}
	efree(map);
	add_next_index_zval(&segments, &blocks);
	add_assoc_zval(result, "block_lists", &segments);
}

HONE_FUNCTION(apcu_sma_info)
{
	struct php_hone_store_info info;
	bool limited = false;

	HONE_ARGS(0, 1)
	HONE_ARGS_OPTIONAL
	HONE_ARG_BOOL(limited)
	HONE_ARGS_END();
	if (!php_hone_apcu_enabled()) {
		php_error_docref(NULL, E_WARNING,
			"No APC SMA info available.  Perhaps APC is disabled "
			"via apc.enabled?");
		RETURN_FALSE;
	}
	php_hone_store_info(&HONE_G(cache).member, &info);
	array_init(return_value);
	add_assoc_long(return_value, "num_seg", 1);
	add_assoc_double(return_value, "seg_size", (double)info.size);
	add_assoc_double(return_value, "avail_mem", (double)info.free);
	if (!limited)
		add_blocks(return_value, info.size);
}
