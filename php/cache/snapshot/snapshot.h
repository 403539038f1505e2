/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_SNAPSHOT_H
#define PHP_HONE_SNAPSHOT_H
/*
 * Snapshots. format.h describes the file; parse.c and file.c do not depend on
 * PHP.
 *
 *	sum.c      the checksum
 *	save.c     from a store to a file
 *	load.c     from a file to a store
 *	methods.c  start and end of the server, Hone\Cache::save() and load()
 */
#include "../cache.h"
#include "format.h"

/* ---- sum.c: php_hone_sum_of() of parts ---- */

struct php_hone_sum {
	_Alignas(64) unsigned char context[256];
};

void php_hone_sum_begin(struct php_hone_sum *sum);
void php_hone_sum_add(struct php_hone_sum *sum, const void *bytes, size_t size);
uint64_t php_hone_sum_end(struct php_hone_sum *sum);

/* ---- save.c, load.c ---- */

/*
 * Both use their own slot and no memory of the request, so they never leave by
 * longjmp(). `problem` has PHP_HONE_PROBLEM bytes.
 */

/* On failure, returns false with a problem, and an older file stays
 * unchanged. */
bool php_hone_snapshot_save(
	struct php_hone_store *store, const char *path, char *problem);

/*
 * Returns the number of stored values. Existing keys keep their values, and no
 * value is evicted. A damaged value is not stored, and *problem names the first
 * one; otherwise *problem is empty. If the file is rejected, stores no value
 * and returns -1 with a problem. *missing: the file does not exist.
 */
zend_long php_hone_snapshot_load(struct php_hone_store *store, const char *path,
	bool *missing, char *problem);

#endif
