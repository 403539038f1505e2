/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_COLD_H
#define PHP_HONE_VALUES_COLD_H
/*
 * The cold form of a value: bytes without pointers, in place of a block of
 * PHP's structures. The same on each CPU and for each version of PHP.
 *
 * A value is a byte, its tag, and what belongs to it. Arrays and objects have
 * their elements right after them, depth first. A *number* is written 7 bits at
 * a time, the lowest first; the top bit says that more follow. Integers and
 * doubles have their lowest byte first. Strings, arrays, objects, lists of keys
 * and classes are numbered in the order in which they come, each from 0; a
 * later value that equals a string, or is an array or an object again, has its
 * number.
 *
 *	string	its length and bytes; or the number of an earlier one
 *	list	the count, the elements
 *	table	the count, the keys, the values; or the number of the keys
 *		of an earlier table, the values
 *	object	the number of its class; if the class is new, its kind, its
 *		name, the count and the names of the declared properties;
 *		then the dynamic properties or the answer, and the others
 *
 * Keys and names are integers and strings like values. A list or a table whose
 * next key is not the usual one has this key, as an integer, after its count or
 * number: PHP_HONE_COLD_NEXT is added to the tag.
 *
 * All of this may be compressed: PHP_HONE_COLD_LZ4, the number of its bytes,
 * and a block of LZ4. A build without LZ4 (HONE_LZ4) writes no such form, and
 * refuses to read one.
 *
 * cold_read.c is the only code here that reads bytes from outside: it makes
 * pointers, and reads none.
 */
#include "layout.h"

enum {
	PHP_HONE_COLD_UNDEF, /* an empty element of a list or of an object */
	PHP_HONE_COLD_NULL,
	PHP_HONE_COLD_FALSE,
	PHP_HONE_COLD_TRUE,
	PHP_HONE_COLD_DOUBLE,     /* 8 bytes */
	PHP_HONE_COLD_EMPTY,      /* an array without elements; no number */
	PHP_HONE_COLD_LIST,       /* the count */
	PHP_HONE_COLD_TABLE,      /* the count, the keys */
	PHP_HONE_COLD_ALIKE,      /* the number of the keys */
	PHP_HONE_COLD_NEXT_LIST,  /* these three have their next key */
	PHP_HONE_COLD_NEXT_TABLE, /* after the count or the number */
	PHP_HONE_COLD_NEXT_ALIKE,
	PHP_HONE_COLD_ARRAY_AGAIN, /* the number */
	PHP_HONE_COLD_OBJECT,
	PHP_HONE_COLD_OBJECT_AGAIN, /* the number */
	PHP_HONE_COLD_STRING,       /* the length less COLD_SMALL, the bytes */
	PHP_HONE_COLD_STRING_AGAIN, /* the number less COLD_NEAR */
	PHP_HONE_COLD_LZ4,          /* the number of bytes; the block */
	/* The upper 3 bits of the number less COLD_SMALL; the lower 8 follow.
	 */
	PHP_HONE_COLD_NEAR_AGAIN = 0x18,
	/* An integer, or the complement of one, in 1 to 8 bytes. */
	PHP_HONE_COLD_INT = 0x20,
	PHP_HONE_COLD_COMPLEMENT = 0x28,
	/* ALIKE with the number 0 to 7, LIST of 1 to 8. */
	PHP_HONE_COLD_SMALL_ALIKE = 0x30,
	PHP_HONE_COLD_SMALL_LIST = 0x38,
	/* With a value of 0 to 63. */
	PHP_HONE_COLD_SMALL_INT = 0x40,
	PHP_HONE_COLD_SMALL_STRING = 0x80, /* the length; the bytes */
	PHP_HONE_COLD_SMALL_AGAIN = 0xc0,  /* the number of a string */
};

#define PHP_HONE_COLD_SMALL 64
#define PHP_HONE_COLD_NEAR (PHP_HONE_COLD_SMALL + 8 * 256)
/* Longer forms are not compressed: damaged bytes cannot ask for more memory. */
#define PHP_HONE_COLD_COMPRESSED_MOST ((size_t)64 << 20)
#define PHP_HONE_COLD_NEXT (PHP_HONE_COLD_NEXT_LIST - PHP_HONE_COLD_LIST)

/* The next key of a table, by PHP's rule, after an integer key. */
static zend_always_inline zend_long
php_hone_cold_next(zend_long next, zend_long key)
{
	if (key < next)
		return next;
	return key < ZEND_LONG_MAX ? key + 1 : key;
}

/* Of a string, or of a list of keys. */
struct php_hone_cold_place {
	uint32_t value; /* of cold.value; any other one: free */
	uint32_t hash;
	uint32_t at; /* its offset, in units of 8 bytes */
	uint32_t number;
};

struct php_hone_cold_table {
	struct php_hone_cold_place *places;
	uint32_t n, room; /* of this value; a power of two */
	uint32_t number;  /* the next one */
};

/* The keys of the first table of a value, to copy them to another value. */
#define PHP_HONE_COLD_FIRSTS 8
struct php_hone_cold_first {
	struct php_hone_buffer bytes; /* cold form, record, strings */
	uint32_t n, key_bytes, record_bytes, string_bytes;
	zend_long next;
	uintptr_t strings_at; /* the address of the strings in that value */
};

/* One for each process or thread. All zero at first. */
struct php_hone_cold {
	struct php_hone_buffer bytes; /* what was written */
	/* of the value that these bytes make, if it has no objects */
	size_t made;

	/* the rest is private */
	struct php_hone_buffer other; /* the bytes before or after LZ4 */
	uint32_t value;               /* the number of the writes so far */
	struct php_hone_buffer levels;
	/* of the structures of each number: offsets of arrays in units of 8
	 * bytes; what elements have as the pointer to a string */
	struct php_hone_buffer arrays, strings, classes;
	struct php_hone_buffer keys;
	struct php_hone_cold_first firsts[PHP_HONE_COLD_FIRSTS];
	struct php_hone_cold_table string_table, keys_table;
};

/*
 * A sum of 31 bits, for this machine alone. A change within 8 bytes is
 * unnoticed once in 2^31 times.
 */
uint32_t php_hone_cold_sum(const void *bytes, size_t size);

/* Write a stored value to cold->bytes, or, if `stored` is NULL, the array that
 * a builder has. `graph`: it has objects. Returns false if memory is exhausted.
 */
bool php_hone_cold_write(struct php_hone_cold *cold,
	const struct php_hone_value *stored,
	const struct php_hone_builder *builder, bool graph);

/* Compress cold->bytes by LZ4 if this saves an eighth of an entry that has
 * `others` bytes besides them. */
void php_hone_cold_compress(struct php_hone_cold *cold, size_t others);

/* Make a value of bytes, for php_hone_value_place(). If the bytes are not a
 * value, or if memory is exhausted, returns false with a phrase. */
bool php_hone_cold_read(struct php_hone_cold *cold, const void *bytes,
	size_t size, bool graph, struct php_hone_builder *builder,
	const char **problem);

/*
 * Make a value without objects in `made` bytes at `to`, a multiple of
 * PHP_HONE_VALUE_ALIGN. builder->root is the value. Also returns false if the
 * value has another number of bytes: with PHP_HONE_NO_MEMORY if it has more.
 */
bool php_hone_cold_read_to(struct php_hone_cold *cold, const void *bytes,
	size_t size, struct php_hone_builder *builder, void *to, size_t made,
	const char **phrase);

void php_hone_cold_free(struct php_hone_cold *cold);
/* Free all if it is more than `keep` bytes, at the end of a request. */
void php_hone_cold_trim(struct php_hone_cold *cold, size_t keep);

#endif
