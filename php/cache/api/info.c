/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of the cache: Hone\Cache::info(), metrics(), the map, and
 * phpinfo(). */
#include "../cache.h"
#include "ext/standard/info.h"
#include "zend_smart_str.h"

#define MAP_PARTS_MAX (1 << 20)
/* The most requests in a list of those that hold back memory. */
#define HOLDERS_MAX 16

/* The requests that hold back memory of removed values, in descending order of
 * bytes. */
static void
add_holders(struct php_hone_member *member, zval *info)
{
	struct php_hone_holder holders[HOLDERS_MAX];
	unsigned n = php_hone_store_holders(member, holders, HOLDERS_MAX);
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

/* X(name in info() and in phpinfo(), name of the metric or NULL, its type, its
 * help) */
#define FIGURES(X)                                                             \
	X(size, "size_bytes", "gauge", "Memory of the pool.")                  \
	X(used, "used_bytes", "gauge", "Memory of keys and values.")           \
	X(retired, "retired_bytes", "gauge",                                   \
		"Memory of removed values that a request may still use.")      \
	X(free, "free_bytes", "gauge", "Free memory.")                         \
	X(largest_free, "largest_free_bytes", "gauge",                         \
		"The largest free block.")                                     \
	X(largest_value, NULL, NULL, NULL)                                     \
	X(entries, "entries", "gauge", "Keys and tags.")                       \
	X(hits, "hits_total", "counter", "Fetches that found a value.")        \
	X(misses, "misses_total", "counter", "Fetches that found no value.")   \
	X(stores, "stores_total", "counter", "Values stored.")                 \
	X(evictions, "evictions_total", "counter",                             \
		"Values removed to free memory.")                              \
	X(expirations, "expirations_total", "counter",                         \
		"Values removed because they had expired.")                    \
	X(recoveries, "recoveries_total", "counter",                           \
		"Shards repaired after a writer was killed.")                  \
	X(closed_slots, "closed_slots_total", "counter",                       \
		"Requests switched to block copies for lack of memory.")       \
	X(cold_entries, "cold_entries", "gauge", "Values in the cold form.")   \
	X(cold_bytes, "cold_bytes", "gauge",                                   \
		"Memory of values in the cold form.")                          \
	X(cold_hits, "cold_hits_total", "counter",                             \
		"Fetches that found a value in the cold form.")                \
	X(packed, "packed_total", "counter",                                   \
		"Values written in the cold form.")                            \
	X(warmed, "warmed_total", "counter",                                   \
		"Values in the cold form that were made warm.")                \
	X(shards, NULL, NULL, NULL)                                            \
	X(slots, NULL, NULL, NULL)                                             \
	X(slots_used, "processes", "gauge", "Processes that use the pool.")    \
	X(epoch, NULL, NULL, NULL)                                             \
	X(start, "start_time_seconds", "gauge",                                \
		"When the pool was made or cleared, in seconds since 1970.")

static const struct {
	const char *name, *metric, *type, *help;
} figures[] = {
#define FIGURE(name, metric, type, help) {#name, metric, type, help},
	FIGURES(FIGURE)
#undef FIGURE
};
#define N_FIGURES (sizeof figures / sizeof *figures)

/* The figures, and the numbers in the order of the table. */
static void
look(struct php_hone_member *member, struct php_hone_store_info *info,
	uint64_t numbers[N_FIGURES])
{
	php_hone_store_info(member, info);
#define NUMBER(name, metric, type, help) *numbers++ = (uint64_t)info->name;
	FIGURES(NUMBER)
#undef NUMBER
}

ZEND_METHOD(Hone_Cache, info)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_store_info info;
	uint64_t numbers[N_FIGURES];
	const char *off = php_hone_cache_off();
	zval pools;

	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	add_assoc_bool(return_value, "enabled", member != NULL);
	if (member == NULL)
		add_assoc_string(return_value, "reason", off);
	array_init(&pools);
	php_hone_pools_add(&pools);
	add_assoc_zval(return_value, "pools", &pools);
	if (member == NULL)
		return;
	look(member, &info, numbers);
	add_assoc_string(return_value, "pool", info.name);
	add_assoc_string(return_value, "read",
		zend_ini_string(ZEND_STRL("hone.cache_read"), 0));
	add_assoc_bool(return_value, "apcu", php_hone_apcu_enabled());
	for (size_t i = 0; i < N_FIGURES; i++)
		add_assoc_long(
			return_value, figures[i].name, (zend_long)numbers[i]);
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

void
php_hone_cache_minfo(void)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_store_info info;
	uint64_t numbers[N_FIGURES];
	const char *off = php_hone_cache_off();
	char text[24];

	php_info_print_table_start();
	php_info_print_table_header(2, "Shared cache", "Value");
#ifdef HONE_LZ4
	php_info_print_table_row(2, "LZ4", "on");
#else
	php_info_print_table_row(2, "LZ4", "off");
#endif
	php_info_print_table_row(
		2, "Shared cache, state", member != NULL ? "on" : off);
	php_info_print_table_row(2, "Functions of APCu", php_hone_apcu_state());
	if (member != NULL) {
		look(member, &info, numbers);
		php_info_print_table_row(2, "Pool", info.name);
		for (size_t i = 0; i < N_FIGURES; i++) {
			snprintf(text, sizeof text, "%" PRIu64, numbers[i]);
			php_info_print_table_row(2, figures[i].name, text);
		}
	}
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
	struct php_hone_holder of[HOLDERS_MAX];
	unsigned n = php_hone_store_holders(member, of, HOLDERS_MAX);

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

ZEND_METHOD(Hone_Cache, metrics)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_store_info info;
	uint64_t numbers[N_FIGURES];
	smart_str text = {0};

	ZEND_PARSE_PARAMETERS_NONE();
	if (member == NULL)
		RETURN_EMPTY_STRING();
	look(member, &info, numbers);
	for (size_t i = 0; i < N_FIGURES; i++) {
		const char *name = figures[i].metric;

		if (name == NULL)
			continue;
		head(&text, name, figures[i].type, figures[i].help);
		labels(&text, name, info.name);
		smart_str_append_printf(&text, "} %" PRIu64 "\n", numbers[i]);
	}
	holders(&text, member, info.name);
	smart_str_0(&text);
	RETURN_STR(text.s);
}
