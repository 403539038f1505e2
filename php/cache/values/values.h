/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_H
#define PHP_HONE_VALUES_H
/*
 * A PHP value as the store keeps it: a root, which is a zval, and for a string
 * or an array its data, one block of PHP's own structures, so that a fetch is
 * a pointer. The data of ['a' => 1, 'b' => ['x', 2]]:
 *
 *	root -> zend_array | hash index | Bucket "a" 1 | Bucket "b" --.
 *	        zend_array | hash index | zval "x" | zval 2       <---'
 *	        zend_string "a" | zend_string "b" | zend_string "x"
 *
 * A record is a zend_array, its hash index and its elements, without gaps. A
 * parent comes before its children, and all records before all strings: the
 * walk from record to record meets each pointer, so that none is listed, and
 * the strings are moved by one copy. Strings are rounded up to 8 bytes.
 *
 * From a value to the store, and back:
 *
 *	build.c     records and strings of a value, in buffers; a pointer to an
 *	            array is its offset there, one to a string its offset plus
 *	            1, so that a key at offset 0 is not NULL
 *	builder.c   the buffers
 *	place.c     from the buffers to the final address; copies of a value
 *	unpack.c    an ordinary PHP value again
 *	check.c     whether bytes from outside are such a value
 *	layout.h    flags and sizes of the structures
 *	text.h      strings and PHP's hash of them; text.c for long ones
 *
 * A store is php_hone_value_build(), a reservation by the caller, and
 * php_hone_value_place(). A fetch from shared memory calls nothing of this.
 *
 * No function here writes to a value that it reads, and none calls code of the
 * user. Threads may read one value at a time; a builder belongs to one thread.
 * The reasons: docs/design/cache.md, "Values".
 */
#include "php.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The alignment of a stored value, in bytes. */
#define PHP_HONE_VALUE_ALIGN 64

enum php_hone_built {
	/* a value without data: null, bool, int, float */
	PHP_HONE_BUILT_SCALAR,
	/* a string or an array, also an empty one */
	PHP_HONE_BUILT_DATA,
	/* there is an object in it: serialize it and build the string */
	PHP_HONE_BUILT_OBJECT,
	/* it cannot be stored; `refused` has the reason */
	PHP_HONE_BUILT_REFUSED,
};

/* Memory from malloc() that grows. */
struct php_hone_buffer {
	unsigned char *bytes;
	size_t used, room;
};

/* Entries of the table of repeated strings; a power of two. */
#define PHP_HONE_REPEATED 256

/* A string that is in the data already. */
struct php_hone_repeated {
	const zend_string *string;
	uint32_t build; /* of builder.build; another one: not valid */
	uint32_t at;    /* its offset in units of 8 bytes */
};

/* An array that has more than one reference and is in the data already. */
struct php_hone_shared {
	const void *array; /* also an object or a class: graph.h */
	uint32_t build;
	uint32_t at;
};

/*
 * One for each process or thread, kept from store to store. All zero at first.
 * What it owns comes from malloc(), so that it outlives a request.
 */
struct php_hone_builder {
	/* what the last build made */
	zval root;           /* a scalar; of others the type */
	size_t size;         /* bytes of the data, a multiple of 8 */
	const char *refused; /* "a resource", "an array that contains itself" */

	/* the rest is private */
	const zend_string *string; /* the value, if it is a string */
	struct php_hone_buffer arrays, strings, frames;
	uint32_t build;
	uint32_t empty; /* the offset of an empty array, or UINT32_MAX */
	bool object;
	/* values with objects: graph.h */
	bool graph;
	struct php_hone_buffer objects, paths; /* offsets of records */
	zend_object *next_object;
	uint32_t n_shapes, depth;
	uint32_t markers; /* how many were written */
	struct php_hone_shared *shared;
	uint32_t n_shared, shared_room;
	struct php_hone_repeated repeated[PHP_HONE_REPEATED];
};

/*
 * Build the data of a value. References are replaced by what they refer to. On
 * out of memory, REFUSED with "more than fits into memory". An array may be
 * nested to any depth. The value must stay as it is until it is placed.
 */
enum php_hone_built php_hone_value_build(
	struct php_hone_builder *builder, const zval *value);
/*
 * Build the data of a value that has objects, after php_hone_value_build()
 * returned OBJECT. Readers must pass the root to php_hone_objects_make().
 * OBJECT again: only serialize() can store it. Calls no code of the user.
 */
enum php_hone_built php_hone_value_build_objects(
	struct php_hone_builder *builder, const zval *value);
/* Free what the builder owns; it may be used again. */
void php_hone_builder_free(struct php_hone_builder *builder);
/* Give memory above `keep` bytes back; at the end of a request. */
void php_hone_builder_trim(struct php_hone_builder *builder, size_t keep);

/*
 * Write what was built to `to`, which readers see at `view`: builder->size
 * bytes, both aligned to PHP_HONE_VALUE_ALIGN. *root becomes the zval of the
 * value as readers see it: its pointer is `view`.
 */
void php_hone_value_place(const struct php_hone_builder *builder, void *to,
	const void *view, zval *root);

/*
 * A value as the store keeps it. The root's pointer is the address that the
 * pointers in the data assume. `data` is another address if the data was moved,
 * as that of a snapshot.
 */
struct php_hone_value {
	zval root;
	const void *data; /* NULL: the root is a scalar */
	size_t size;
};

/*
 * Copy a stored value to `to`, of stored->size bytes, with pointers for readers
 * at `view`, both aligned to PHP_HONE_VALUE_ALIGN. `to` may be memory of this
 * process, and is then the view. *copy becomes the root there.
 */
void php_hone_value_copy(const struct php_hone_value *stored, void *to,
	const void *view, zval *copy);
/*
 * The same value of ordinary, counted, changeable PHP structures, in memory of
 * the request. Its pointers must be valid. What is in the data once is
 * once in the copy.
 */
void php_hone_value_unpack(const struct php_hone_value *stored, zval *copy);

/*
 * Whether a stored value has what php_hone_value_place() writes and nothing
 * else: for bytes from a snapshot. Pointers are as at address `base`, which
 * root has, too. Reads only these bytes. Takes time in proportion to the size.
 * `problem` becomes a phrase.
 */
bool php_hone_value_check(const void *bytes, size_t size, uint64_t base,
	const zval *root, const char **problem);
/* The same for the directory of a value with objects: graph.h. */
bool php_hone_value_check_objects(const void *bytes, size_t size, uint64_t base,
	const zval *root, const char **problem);

/* PHP's hash of a string (DJBX33A with the top bit set), by SIMD where the CPU
 * has it. */
zend_ulong php_hone_string_hash(const char *bytes, size_t len);

#endif
