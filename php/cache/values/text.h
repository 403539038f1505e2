/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_TEXT_H
#define PHP_HONE_VALUES_TEXT_H
/* Strings of a stored value, in line for the loops over elements. */
#include "layout.h"
#include "words.h"

/* Above this, memcpy() and vectors are faster than a loop of words. */
#define PHP_HONE_SHORT 64

/*
 * The bytes, a NUL, and zeros up to a multiple of 8. PHP's memory of a string
 * is a multiple of 8, too, so that a word that begins in it ends in it. Returns
 * the hash if `hash` is 0.
 */
static zend_always_inline zend_ulong
php_hone_copy_short(char *to, const char *from, size_t len, zend_ulong hash)
{
	uint64_t sum = PHP_HONE_HASH_BEGIN, word;
	size_t whole = len & ~(size_t)7;

	if (hash != 0) {
		for (size_t i = 0; i < whole; i += 8)
			memcpy(to + i, from + i, 8);
		word = php_hone_last_word(from + whole, len - whole);
		memcpy(to + whole, &word, 8);
		return hash;
	}
	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, from + i, 8);
		memcpy(to + i, &word, 8);
		sum = php_hone_hash_word(sum, word);
	}
	word = php_hone_last_word(from + whole, len - whole);
	memcpy(to + whole, &word, 8);
	return php_hone_hash_last(sum, word, len - whole);
}

/* Write a string to `to`, in php_hone_string_size() bytes. `hash`: 0 if
 * unknown. */
static zend_always_inline void
php_hone_write_string(void *to, const zend_string *string, zend_ulong hash)
{
	zend_string *copy = to;
	size_t len = ZSTR_LEN(string);

	GC_SET_REFCOUNT(copy, PHP_HONE_REFCOUNT);
	GC_TYPE_INFO(copy) = PHP_HONE_STRING_INFO;
	ZSTR_LEN(copy) = len;
	if (EXPECTED(len <= PHP_HONE_SHORT))
		copy->h = php_hone_copy_short(
			ZSTR_VAL(copy), ZSTR_VAL(string), len, hash);
	else
		php_hone_write_long(copy, string, hash);
}

/*
 * The pointer to a string's copy in builder->strings. On out of memory, sets
 * builder->refused.
 */
static zend_always_inline zend_string *
php_hone_append_string(
	struct php_hone_builder *builder, const zend_string *string)
{
	struct php_hone_buffer *strings = &builder->strings;
	size_t size = php_hone_string_size(ZSTR_LEN(string));

	if (UNEXPECTED(!php_hone_buffer_reserve(strings, size))) {
		builder->refused = PHP_HONE_NO_MEMORY;
		return NULL;
	}
	php_hone_write_string(
		strings->bytes + strings->used, string, ZSTR_H(string));
	strings->used += size;
	return (zend_string *)(uintptr_t)(strings->used - size + 1);
}

/*
 * The same for one that may have been appended already. A string with one
 * reference cannot appear twice. Others are looked up by their address in a
 * table without chains: a miss costs memory, not correctness.
 */
static zend_always_inline zend_string *
php_hone_put_string(struct php_hone_builder *builder, const zend_string *string)
{
	struct php_hone_repeated *entry;
	uintptr_t bits = (uintptr_t)string;
	zend_string *copy;

	if (!ZSTR_IS_INTERNED(string) && GC_REFCOUNT(string) == 1)
		return php_hone_append_string(builder, string);
	entry = &builder->repeated[(bits >> 3 ^ bits >> 10) %
				   PHP_HONE_REPEATED];
	if (entry->string == string && entry->build == builder->build)
		return (zend_string *)((uintptr_t)entry->at * 8 + 1);
	copy = php_hone_append_string(builder, string);
	entry->string = string;
	entry->build = builder->build;
	entry->at = (uint32_t)((uintptr_t)copy / 8);
	return copy;
}

#endif
