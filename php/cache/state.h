/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_CACHE_STATE_H
#define PHP_HONE_CACHE_STATE_H
/* The globals of the cache. */
#include "store/store.h"
#include "values/cold.h"
#include "values/values.h"

enum php_hone_read {
	PHP_HONE_READ_AUTO,
	PHP_HONE_READ_SHARED,
	PHP_HONE_READ_BLOCK,
	PHP_HONE_READ_COPY,
};

/* INI apc.*, which exist only if the functions of APCu exist. */
struct php_hone_apc {
	bool enabled;
	bool enable_cli;
	bool use_request_time;
	zend_long shm_size;
	zend_long ttl;
	char *serializer;
	/* accepted, without effect */
	char *unused;
};

/* A claim of a remember() in progress: remember.c. */
struct php_hone_claim {
	struct php_hone_claim *next;
	zend_string *key;
};

/* Powers of two. */
#define PHP_HONE_RECENT 32
#define PHP_HONE_HOOKED 64

struct php_hone_cache {
	/* INI; PHP owns the strings */
	zend_long size;
	char *pools;
	char *pool;
	char *snapshot;
	bool cli;
	bool apcu_compat;
	bool apcu_module;
	bool protect;
	bool huge_pages;
	zend_long slots;
	zend_long shared_seconds;
	zend_long block_bytes;
	/* numbers of words: settings.c */
	uint8_t igbinary;
	uint8_t serialize_objects;
	uint8_t cold_off;
	uint8_t read; /* enum php_hone_read */
	struct php_hone_apc apc;

	/* of the thread, kept from request to request */
	struct php_hone_member member;
	struct php_hone_builder builder;
	struct php_hone_cold cold;
	/* block.c: memory and table of block copies */
	struct php_hone_chunk *chunks;
	HashTable blocks; /* zero before the first copy */
	/* write.c: hashes of keys whose values had objects with methods */
	zend_ulong hooked[PHP_HONE_HOOKED];

	/* of the request */
	bool open;           /* the member is pinned */
	const char *refused; /* the reason if there is no cache */
	uint32_t opened;     /* php_hone_store_now() at the pin */
	/* unserialize_max_depth; NULL before its first use */
	const zend_ini_entry *most_depth;
	uint32_t fetches;
	size_t block_bytes_used;
	struct php_hone_claim *claims;
	struct php_hone_zones *zones; /* dates.c; NULL before the first */
	/* arrays that were fetched, by address: php_hone_cache_fetched() */
	const struct php_hone_entry *recent[PHP_HONE_RECENT];
};

#endif
