/* SPDX-License-Identifier: BSD-3-Clause */
/* Hone\Cache::metrics(): the text format that Prometheus reads. */
#include "cache.h"
#include "zend_smart_str.h"

/* The name of a pool is printable ASCII: pools.c. */
static void
metric(smart_str *text, const char *name, const char *type, const char *help,
	const char *pool, uint64_t value)
{
	smart_str_append_printf(text,
		"# HELP hone_cache_%s %s\n# TYPE hone_cache_%s %s\n"
		"hone_cache_%s{pool=\"",
		name, help, name, type, name);
	for (const char *at = pool; *at != '\0'; at++) {
		if (*at == '"' || *at == '\\')
			smart_str_appendc(text, '\\');
		smart_str_appendc(text, *at);
	}
	smart_str_append_printf(text, "\"} %llu\n", (unsigned long long)value);
}

#define METRICS(X)                                                             \
	X("size_bytes", "gauge", "Memory of the pool.", size)                  \
	X("used_bytes", "gauge", "Memory of keys and values.", used)           \
	X("retired_bytes", "gauge",                                            \
		"Memory of removed values that a request may still have.",     \
		retired)                                                       \
	X("free_bytes", "gauge", "Memory that is free.", free)                 \
	X("largest_free_bytes", "gauge", "The largest free block.",            \
		largest_free)                                                  \
	X("entries", "gauge", "Keys and tags.", entries)                       \
	X("hits_total", "counter", "Fetches that found a value.", hits)        \
	X("misses_total", "counter", "Fetches that found none.", misses)       \
	X("stores_total", "counter", "Values stored.", stores)                 \
	X("evictions_total", "counter", "Values removed to get memory.",       \
		evictions)                                                     \
	X("expirations_total", "counter", "Values removed at their end.",      \
		expirations)                                                   \
	X("recoveries_total", "counter",                                       \
		"Shards repaired after a writer was killed.", recoveries)      \
	X("closed_slots_total", "counter",                                     \
		"Requests that a store without memory switched to copies.",    \
		closed_slots)                                                  \
	X("processes", "gauge", "Processes that use the pool.", slots_used)    \
	X("start_time_seconds", "gauge",                                       \
		"When the pool was made or cleared, since 1970.", start)

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
	smart_str_0(&text);
	RETURN_STR(text.s);
}
