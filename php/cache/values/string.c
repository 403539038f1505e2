/* SPDX-License-Identifier: BSD-3-Clause */
/* Long strings of a stored value. */
#include "text.h"
#include <hone/hone.h>

void
php_hone_write_long(
	zend_string *copy, const zend_string *string, zend_ulong hash)
{
	size_t len = ZSTR_LEN(string);
	size_t whole = len & ~(size_t)7;
	uint64_t word =
		php_hone_last_word(ZSTR_VAL(string) + whole, len - whole);

	copy->h =
		hash != 0 ? hash : php_hone_string_hash(ZSTR_VAL(string), len);
	hone_memcpy(ZSTR_VAL(copy), ZSTR_VAL(string), whole, HONE_COPY_KEEP);
	memcpy(ZSTR_VAL(copy) + whole, &word, 8);
}
