/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_CHECK_H
#define PHP_HONE_VALUES_CHECK_H
/*
 * What check.c and check_record.c share: the walk, and the structures that it
 * meets. Each function returns false with check->problem set.
 */
#include "layout.h"

struct php_hone_check {
	const unsigned char *bytes;
	size_t size;
	uint64_t base;
	size_t arrays;    /* where the strings begin */
	size_t next;      /* the record to come */
	uint64_t *begins; /* a bit for each 8 bytes: a string, or a record whose
			     elements were visited */
	struct php_hone_buffer stack;
	const char *problem;
};

static inline bool
php_hone_problem(struct php_hone_check *check, const char *phrase)
{
	check->problem = phrase;
	return false;
}

static inline void
php_hone_mark(struct php_hone_check *check, size_t offset)
{
	check->begins[offset / 512] |= UINT64_C(1) << (offset / 8 % 64);
}

static inline bool
php_hone_marked(const struct php_hone_check *check, size_t offset)
{
	return check->begins[offset / 512] >> (offset / 8 % 64) & 1;
}

/* A string at an offset below the size. */
bool php_hone_check_string(struct php_hone_check *check, size_t at);
/* The zend_array at an offset up to the size: its fields, and that its record
 * lies in the data. No element is read. */
bool php_hone_check_head(struct php_hone_check *check, size_t at);
/* All of a record whose head is good, except the values and keys. */
bool php_hone_check_record(struct php_hone_check *check, size_t at);

#endif
