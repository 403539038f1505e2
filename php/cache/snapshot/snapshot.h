/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_SNAPSHOT_H
#define PHP_HONE_SNAPSHOT_H
/*
 * Snapshots: format.h has the file, parse.c and file.c know nothing of PHP.
 *
 *	layout.c   the numbers of this PHP
 *	sum.c      the checksum
 *	save.c     from a store to a file
 *	load.c     from a file to a store
 *	methods.c  start and end of the server, Hone\Cache::save() and load()
 */
#include "../cache.h"
#include "format.h"

extern const struct php_hone_layout php_hone_layout[];
extern const uint32_t php_hone_n_layout;

/* ---- sum.c: XXH64 with seed 0, https://xxhash.com, of PHP's ext/hash ---- */

struct php_hone_sum {
	_Alignas(64) unsigned char context[256];
};

/* False if this PHP has no such function. */
bool php_hone_sum_ready(void);
void php_hone_sum_begin(struct php_hone_sum *sum);
void php_hone_sum_add(struct php_hone_sum *sum, const void *bytes, size_t size);
uint64_t php_hone_sum_end(struct php_hone_sum *sum);
uint64_t php_hone_sum_of(const void *bytes, size_t size);

/* ---- save.c, load.c ---- */

#define PHP_HONE_PROBLEM 256

/*
 * Both use a slot of their own, and no memory of the request: they never leave
 * by longjmp(). `problem` has PHP_HONE_PROBLEM bytes.
 */

/* Returns false with a problem; an older file is then as it was. */
bool php_hone_snapshot_save(
	struct php_hone_store *store, const char *path, char *problem);

/*
 * Returns how many values were stored. Keys that exist stay as they are;
 * nothing is evicted. Returns -1 with a problem if the file was refused:
 * nothing was stored. *missing: there is no such file.
 */
zend_long php_hone_snapshot_load(struct php_hone_store *store, const char *path,
	bool *missing, char *problem);

#endif
