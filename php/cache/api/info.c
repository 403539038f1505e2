/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of the cache: Hone\Cache::info(), metrics(), the map, and
 * phpinfo(). */
#include "../cache.h"
#include "ext/standard/info.h"
#include "zend_smart_str.h"

#define MAP_PARTS_MAX (1 << 20)

static void
add_pool(const char *name, size_t size, void *opaque)
{
	add_assoc_long((zval *)opaque, name, (zend_long)size);
}

/* The requests that hold back memory of removed values, in descending order of
 * bytes. */
static void
add_holders(struct php_hone_member *member, zval *info)
{
	struct php_hone_holder holders[PHP_HONE_HOLDERS];
	unsigned n = php_hone_store_holders(member, holders, PHP_HONE_HOLDERS);
	zval list, row;

	array_init(&list);
	for (unsigned i = 0; i < n; i++) {
		array_init(&row);
		add_assoc_long(&row, "pid", holders[i].pid);
		add_assoc_long(&row, "seconds", holders[i].seconds);
		add_assoc_long(&row, "bytes", (zend_long)holders[i].bytes);
		add_next_index_zval(&list, &row);
	}
	add_assoc_zval(info, "holders", &list);
}

#define FIGURES(X)                                                             \
	X(size)                                                                \
	X(used)                                                                \
	X(retired)                                                             \
	X(free)                                                                \
	X(largest_free)                                                        \
	X(largest_value)                                                       \
	X(entries)                                                             \
	X(hits)                                                                \
	X(misses)                                                              \
	X(stores)                                                              \
	X(evictions)                                                           \
	X(expirations)                                                         \
	X(recoveries)                                                          \
	X(closed_slots)                                                        \
	X(cold_entries)                                                        \
	X(cold_bytes)                                                          \
	X(cold_hits)                                                           \
	X(packed)                                                              \
	X(warmed)                                                              \
	X(shards)                                                              \
	X(slots)                                                               \
	X(slots_used)                                                          \
	X(epoch)                                                               \
	X(start)

ZEND_METHOD(Hone_Cache, info)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_store_info info;
	const char *off = php_hone_cache_off();
	zval pools;

	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	add_assoc_bool(return_value, "enabled", member != NULL);
	if (member == NULL)
		add_assoc_string(return_value, "reason", off);
	array_init(&pools);
	php_hone_pools_each(add_pool, &pools);
	add_assoc_zval(return_value, "pools", &pools);
	if (member == NULL)
		return;
	memset(&info, 0, sizeof info);
	php_hone_store_info(member, &info);
	add_assoc_string(return_value, "pool", info.name);
	add_assoc_string(
		return_value, "read", php_hone_read_names[HONE_G(cache).read]);
	add_assoc_bool(return_value, "apcu", php_hone_apcu_enabled());
#define ADD(name) add_assoc_long(return_value, #name, (zend_long)info.name);
	FIGURES(ADD)
#undef ADD
	/* The fraction outside of the largest free block of each shard. */
	add_assoc_double(return_value, "fragmentation",
		info.free > 0 ? 1.0 - (double)info.whole / (double)info.free
			      : 0.0);
	add_assoc_long(return_value, "block_bytes_used",
		(zend_long)HONE_G(cache).block_bytes_used);
	add_holders(member, return_value);
}

ZEND_METHOD(Hone_Cache, memory_map)
{
	struct php_hone_member *member = php_hone_cache_open();
	zend_long parts = 1024;
	zend_string *map;

	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(parts)
	ZEND_PARSE_PARAMETERS_END();
	if (parts < 1 || parts > MAP_PARTS_MAX) {
		zend_argument_value_error(
			1, "must be between 1 and %d", MAP_PARTS_MAX);
		return;
	}
	if (member == NULL)
		RETURN_EMPTY_STRING();
	map = zend_string_alloc((size_t)parts, 0);
	php_hone_store_map(
		member, (unsigned char *)ZSTR_VAL(map), (size_t)parts);
	for (zend_long i = 0; i < parts; i++)
		ZSTR_VAL(map)[i] = (char)('0' + ZSTR_VAL(map)[i]);
	ZSTR_VAL(map)[parts] = '\0';
	RETURN_NEW_STR(map);
}

static void
number_row(const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	php_info_print_table_row(2, name, text);
}

void
php_hone_cache_minfo(void)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_store_info info;
	const char *off = php_hone_cache_off();

	php_info_print_table_start();
	php_info_print_table_header(2, "Shared cache", "Value");
#ifdef HONE_LZ4
	php_info_print_table_row(2, "LZ4", "on");
#else
	php_info_print_table_row(2, "LZ4", "off");
#endif
	if (member == NULL) {
		php_info_print_table_row(2, "Shared cache, state", off);
		php_info_print_table_row(
			2, "Functions of APCu", php_hone_apcu_state());
		php_info_print_table_end();
		return;
	}
	memset(&info, 0, sizeof info);
	php_hone_store_info(member, &info);
	php_info_print_table_row(2, "Shared cache, state", "on");
	php_info_print_table_row(2, "Pool", info.name);
	php_info_print_table_row(2, "Functions of APCu", php_hone_apcu_state());
	number_row("Bytes", info.size);
	number_row("Bytes used", info.used);
	number_row("Bytes free", info.free);
	number_row("Largest free block", info.largest_free);
	number_row("Keys", info.entries);
	number_row("Hits", info.hits);
	number_row("Misses", info.misses);
	number_row("Stores", info.stores);
	number_row("Evictions", info.evictions);
	number_row("Expirations", info.expirations);
	number_row("Recoveries after a killed process", info.recoveries);
	number_row("Processes", info.slots_used);
	number_row("Requests switched to block copies for lack of memory",
		info.closed_slots);
	php_info_print_table_end();
}

/* ---- metrics(): the text format that Prometheus reads ---- */

static void
head(smart_str *text, const char *name, const char *type, const char *help)
{
	smart_str_append_printf(text,
		"# HELP hone_cache_%s %s\n# TYPE hone_cache_%s %s\n", name,
		help, name, type);
}

/* A name needs no more escapes: pools.c accepts only printable ASCII. */
static void
labels(smart_str *text, const char *name, const char *pool)
{
	smart_str_append_printf(text, "hone_cache_%s{pool=\"", name);
	for (const char *at = pool; *at != '\0'; at++) {
		if (*at == '"' || *at == '\\')
			smart_str_appendc(text, '\\');
		smart_str_appendc(text, *at);
	}
	smart_str_appendc(text, '"');
}

static void
metric(smart_str *text, const char *name, const char *type, const char *help,
	const char *pool, uint64_t value)
{
	head(text, name, type, help);
	labels(text, name, pool);
	smart_str_append_printf(text, "} %llu\n", (unsigned long long)value);
}

/* The slot makes lines unique: threads have one pid, and Prometheus rejects two
 * lines with equal labels. */
static void
holder(smart_str *text, const char *name, const char *pool,
	const struct php_hone_holder *of, uint64_t value)
{
	labels(text, name, pool);
	smart_str_append_printf(text, ",pid=\"%d\",slot=\"%u\"} %llu\n",
		of->pid, of->slot, (unsigned long long)value);
}

static void
holders(smart_str *text, struct php_hone_member *member, const char *pool)
{
	struct php_hone_holder of[PHP_HONE_HOLDERS];
	unsigned n = php_hone_store_holders(member, of, PHP_HONE_HOLDERS);

	if (n == 0)
		return;
	head(text, "held_bytes", "gauge",
		"Memory of removed values that the request of a process holds "
		"back.");
	for (unsigned i = 0; i < n; i++)
		holder(text, "held_bytes", pool, &of[i], of[i].bytes);
	head(text, "held_seconds", "gauge",
		"Age of a request that holds back memory.");
	for (unsigned i = 0; i < n; i++)
		holder(text, "held_seconds", pool, &of[i], of[i].seconds);
}

#define METRICS(X)                                                             \
	X("size_bytes", "gauge", "Memory of the pool.", size)                  \
	X("used_bytes", "gauge", "Memory of keys and values.", used)           \
	X("retired_bytes", "gauge",                                            \
		"Memory of removed values that a request may still use.",      \
		retired)                                                       \
	X("free_bytes", "gauge", "Free memory.", free)                         \
	X("largest_free_bytes", "gauge", "The largest free block.",            \
		largest_free)                                                  \
	X("entries", "gauge", "Keys and tags.", entries)                       \
	X("hits_total", "counter", "Fetches that found a value.", hits)        \
	X("misses_total", "counter", "Fetches that found no value.", misses)   \
	X("stores_total", "counter", "Values stored.", stores)                 \
	X("evictions_total", "counter", "Values removed to free memory.",      \
		evictions)                                                     \
	X("expirations_total", "counter",                                      \
		"Values removed because they had expired.", expirations)       \
	X("recoveries_total", "counter",                                       \
		"Shards repaired after a writer was killed.", recoveries)      \
	X("closed_slots_total", "counter",                                     \
		"Requests switched to block copies for lack of memory.",       \
		closed_slots)                                                  \
	X("cold_entries", "gauge", "Values in the cold form.", cold_entries)   \
	X("cold_bytes", "gauge", "Memory of values in the cold form.",         \
		cold_bytes)                                                    \
	X("cold_hits_total", "counter",                                        \
		"Fetches that found a value in the cold form.", cold_hits)     \
	X("packed_total", "counter", "Values written in the cold form.",       \
		packed)                                                        \
	X("warmed_total", "counter",                                           \
		"Values in the cold form that were made warm.", warmed)        \
	X("processes", "gauge", "Processes that use the pool.", slots_used)    \
	X("start_time_seconds", "gauge",                                       \
		"When the pool was made or cleared, in seconds since 1970.",   \
		start)

ZEND_METHOD(Hone_Cache, metrics)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_store_info info;
	smart_str text = {0};

	ZEND_PARSE_PARAMETERS_NONE();
	if (member == NULL)
		RETURN_EMPTY_STRING();
	memset(&info, 0, sizeof info);
	php_hone_store_info(member, &info);
#define ADD(metric_name, type, help, field)                                    \
	metric(&text, metric_name, type, help, info.name, (uint64_t)info.field);
	METRICS(ADD)
#undef ADD
	holders(&text, member, info.name);
	smart_str_0(&text);
	RETURN_STR(text.s);
}
