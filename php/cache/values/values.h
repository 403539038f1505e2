/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_H
#define PHP_HONE_VALUES_H
/*
 * A stored PHP value has a root, which is a zval. A string or an array also has
 * data: one block of PHP's own structures, so that a fetch returns a pointer.
 * The data of ['a' => 1, 'b' => ['x', 2]]:
 *
 *	root -> zend_array | hash index | Bucket "a" 1 | Bucket "b" --.
 *	        zend_array | hash index | zval "x" | zval 2       <---'
 *	        zend_string "a" | zend_string "b" | zend_string "x"
 *
 * A record is a zend_array, its hash index and its elements, without gaps. A
 * parent comes before its children, and all records come before all strings. So
 * the walk from record to record visits each pointer, no list of pointers is
 * needed, and one copy moves all strings. Strings are padded to a multiple of 8
 * bytes.
 *
 * In the buffers of a build, a pointer to an array is its offset there, and one
 * to a string its offset plus 1, so that a key at offset 0 is not NULL.
 *
 * No function of this folder writes to its input, or calls code of the user.
 * Several threads may read one value; a builder belongs to one thread. A fetch
 * from shared memory calls no function of this folder.
 * The reasons: docs/design/cache.md, "Values".
 */
#include "php.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zval's 8 bytes are kept as a zend_long, and pointers differ in it. */
_Static_assert(sizeof(void *) == 8 && sizeof(zend_long) == 8,
	"the PHP extension needs 64-bit Linux");

/* The alignment of a stored value, in bytes. */
#define PHP_HONE_VALUE_ALIGN 64

/* The form in which a value can be stored. */
enum php_hone_built {
	/* no objects: the data, if any, is the value */
	PHP_HONE_BUILT_FLAT,
	/* a directory: graph.h */
	PHP_HONE_BUILT_GRAPH,
	/* only serialize() can store the value */
	PHP_HONE_BUILT_TEXT,
	/* the value cannot be stored: builder->refused */
	PHP_HONE_BUILT_REFUSED,
	/* the value has an object: php_hone_value_build_objects() */
	PHP_HONE_BUILT_OBJECT,
	/* __serialize() or __sleep() of an object must run first */
	PHP_HONE_BUILT_HOOKS,
};

/* Why the build of a value has ended early. */
enum php_hone_refused {
	PHP_HONE_REFUSED_NOT,
	/* another form may do */
	PHP_HONE_REFUSED_OBJECT,
	PHP_HONE_REFUSED_HOOKS,
	PHP_HONE_REFUSED_TEXT,
	/* no form does: php_hone_refused_text() */
	PHP_HONE_REFUSED_CLOSURE,
	PHP_HONE_REFUSED_RESOURCE,
	PHP_HONE_REFUSED_CIRCLE,
	PHP_HONE_REFUSED_DEPTH,
	PHP_HONE_REFUSED_STACK,
	PHP_HONE_REFUSED_UNKNOWN,
	PHP_HONE_REFUSED_MEMORY,
	/* of the caller: an object that is initialized at its first use */
	PHP_HONE_REFUSED_LAZY,
	/* of the caller: an exception or a warning has the reason */
	PHP_HONE_REFUSED_TOLD,
};

/* The address where a recursion has to end, above a reserve at the end of the
 * stack of this thread or fiber; 0 if that is unknown. The caller of this
 * folder defines this function. */
uintptr_t php_hone_stack_limit(void);

static zend_always_inline bool
php_hone_stack_is_past(uintptr_t limit)
{
	return (uintptr_t)__builtin_frame_address(0) < limit;
}

/* Bytes from here to the limit; if that is unknown, more than any stack has. */
static inline size_t
php_hone_stack_left(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t limit = php_hone_stack_limit();

	return here > limit ? here - limit : 0;
}

/* Levels for which no recursion needs to check the stack: none takes 4 KiB a
 * level. */
static inline uint32_t
php_hone_stack_unchecked(uint32_t most)
{
	return (uint32_t)MIN(php_hone_stack_left() >> 12, most);
}

/* Bytes of the stack that serialize() takes a level, at most: measured with PHP
 * 8.2 of Debian 12 on x86-64. */
#define PHP_HONE_SERIALIZE_STACK 1643

/* Whether serialize() has stack for so many levels. Otherwise PHP 8.2 ends the
 * process, and PHP 8.4 throws. */
static inline bool
php_hone_stack_serializes(uint32_t levels)
{
	return php_hone_stack_left() / PHP_HONE_SERIALIZE_STACK >= levels;
}

/* From malloc(). */
struct php_hone_buffer {
	unsigned char *bytes;
	size_t used, room;
	size_t most; /* that `used` may be; 0: 32 GiB */
};

/* Rows of each of the two tables of strings; a power of two. */
#define PHP_HONE_REPEATED 256

struct php_hone_repeated {
	const zend_string *string;
	uint32_t build; /* of builder.build; any other one: invalid */
	uint32_t at;    /* its offset in units of 8 bytes */
};

/* An array that has more than one reference and is in the data already. */
struct php_hone_shared {
	const void *array; /* also a class: graph.h */
	uint32_t build;
	uint32_t at;
};

/* The number of an object that has more than one reference. */
struct php_hone_numbered {
	uint32_t build; /* of builder.build; any other one: not numbered yet */
	uint32_t number;
};

/* The number of classes that a builder knows; a power of two. */
#define PHP_HONE_CLASSES 16

struct php_hone_class {
	const zend_class_entry *class;
	uint16_t kind;  /* graph.h */
	bool date;      /* php_hone_class_is_date() */
	bool silent;    /* neither an enum, nor asked for an answer */
	bool loose;     /* all properties of its objects are dynamic */
	uint32_t build; /* of builder.build; any other one: no node yet */
	size_t node;    /* the offset of a node of the class */
	/* its shape and the strings of the shape, from the second value on */
	unsigned char *image;
	uint32_t image_arrays, image_strings; /* bytes */
	uint32_t shapes;                      /* that were built */
};

/*
 * What __serialize() and __sleep() returned, each with its object, in the order
 * in which serialize() calls them.
 */
struct php_hone_answers {
	struct php_hone_answer {
		zend_object *object;
		/* The array of __serialize(). Of __sleep(), a string with a
		 * uint32_t for each declared property: its place among the
		 * names, from 1, or 0 if __sleep() did not name it. */
		zval data;
	} * of;
	uint32_t n, room;
	/* The number of the objects that serialize() writes, but for enums. */
	uint32_t objects;
};

/* Tables that are remembered by their number of keys; a power of two. */
#define PHP_HONE_LIKES 8

struct php_hone_like {
	const Bucket *from; /* its elements */
	size_t at;          /* the offset of their copies */
	uint32_t n;
	uint32_t build; /* of builder.build; any other one: invalid */
};

/*
 * What __serialize() of DateTime and DateTimeImmutable returns, without a call:
 * PHP formats the time for 5,000 instructions. date.c makes the answer:
 *
 *	date => "2026-11-25 12:34:56.000000",
 *	timezone_type => 3,
 *	timezone => "Europe/Berlin"
 */
#define PHP_HONE_DATE_ELEMENTS 3
/* The longest name of a time zone. */
#define PHP_HONE_ZONE_MOST 47

union php_hone_date_text {
	zend_string string;
	char room[_ZSTR_HEADER_SIZE + PHP_HONE_ZONE_MOST + 1];
};

struct php_hone_date {
	zval value;
	zend_array array;
	/* of a table of HT_MIN_SIZE */
	uint32_t index[2 * HT_MIN_SIZE];
	Bucket elements[PHP_HONE_DATE_ELEMENTS];
	union php_hone_date_text text, zone;
};

/* The number of remembered classes whose answers only serialize() could
 * store. */
#define PHP_HONE_LEFT 64

/*
 * What a build has met. The tables are kept from build to build: places of
 * other builds are invalid. A miss in the tables of strings and of tables costs
 * memory, not correctness.
 */
struct php_hone_met_strings {
	/* by address: two places each, the latest one first */
	struct php_hone_repeated repeated[2 * PHP_HONE_REPEATED];
	/* by hash: `build` of php_hone_repeated in the high half, `at` in the
	 * low one */
	uint64_t equal[PHP_HONE_REPEATED];
	uint32_t looks; /* look-ups by hash until they end */
	uint32_t armed; /* becomes `looks` at the first array in the value */
};

struct php_hone_met_arrays {
	struct php_hone_shared *shared; /* by address: builder.c */
	uint32_t n, room;
	uint32_t empty; /* the offset of an empty array, or UINT32_MAX */
	struct php_hone_like like[PHP_HONE_LIKES]; /* by the number of keys */
};

struct php_hone_met_objects {
	struct php_hone_numbered *numbered; /* by the handle of the object */
	uint32_t room;
};

struct php_hone_met_classes {
	struct php_hone_class known[PHP_HONE_CLASSES]; /* of this request */
	uint32_t replaced; /* the build in which a class lost its place */
	/* Hashes of the names, because each request has new class entries. */
	zend_ulong left[PHP_HONE_LEFT];
	uint32_t n_left;
};

/* The build of a value with objects: graph.h. */
struct php_hone_graph {
	struct php_hone_buffer objects, paths; /* offsets of records */
	struct php_hone_buffer calls;          /* numbers of objects */
	zend_object *next_object;
	struct php_hone_class *next_class; /* its class, until its shape */
	bool next_is_date;                 /* php_hone_date_is_plain() */
	const struct php_hone_answers *answers;
	uint32_t answered; /* the number of answers in the data */
	uint32_t visited;  /* the number of objects, but for enums */
	/* The outermost class whose answer is being built, or NULL. */
	const zend_class_entry *outer;
	uint32_t n_shapes, depth;
	uint32_t markers; /* the number of written markers */
};

/* One for each process or thread. All zero at first, but for date_methods. */
struct php_hone_builder {
	/* the result of the last build */
	zval root;   /* a scalar, or only the type */
	size_t size; /* bytes of the data, a multiple of 8 */
	enum php_hone_refused refused;

	/* __serialize() of DateTime and of DateTimeImmutable; NULL: dates are
	 * as other objects with methods */
	zif_handler date_methods[2];

	/* the rest is private */
	const zend_string *string; /* the value, if it is a string */
	struct php_hone_buffer arrays, strings;
	uint32_t build;
	uintptr_t stack_limit;
	uint32_t unchecked; /* php_hone_stack_unchecked() */
	bool past_objects;  /* the build goes on after an object */
	bool has_objects;   /* the build is of a graph */
	struct php_hone_graph graph;
	struct php_hone_met_strings met_strings;
	struct php_hone_met_arrays met_arrays;
	struct php_hone_met_objects met_objects;
	struct php_hone_met_classes met_classes;
	struct php_hone_date date;
};

/*
 * Build the data of a value without objects. Returns FLAT, OBJECT or REFUSED.
 * References are replaced by their values. The value must not change before it
 * is placed.
 */
enum php_hone_built php_hone_value_build(
	struct php_hone_builder *builder, const zval *value);
/*
 * Whether a value with objects has a closure, a resource, or an array that
 * contains itself or is nested too deep, outside its objects.
 * php_hone_value_build() ends at the first object. Sets builder->refused to the
 * reason.
 */
bool php_hone_value_is_refused(
	struct php_hone_builder *builder, const zval *value);
/*
 * Build the data of a value that has objects, for php_hone_objects_make().
 * Returns GRAPH or TEXT, or, if `answers` is NULL, HOOKS at the first object
 * that needs an answer: then nothing is known of the rest of the value. If the
 * answers are the reason for TEXT, calls php_hone_builder_leave().
 */
enum php_hone_built php_hone_value_build_objects(
	struct php_hone_builder *builder, const zval *value,
	const struct php_hone_answers *answers);
/* graph.h. PHP_HONE_KIND_OPAQUE if only serialize() can store the object. */
uint32_t php_hone_object_kind(
	struct php_hone_builder *builder, const zend_object *object);
/* From now on, objects of this class are OPAQUE: only serialize() can store
 * what its method returns, and the method is called once for each store. */
void php_hone_builder_leave(
	struct php_hone_builder *builder, const zend_class_entry *class);
/* "a resource", "an array that contains itself" */
const char *php_hone_refused_text(enum php_hone_refused refused);
/* Free the memory of the builder, which may be used again. */
void php_hone_builder_free(struct php_hone_builder *builder);
/* Free each buffer of more than `keep` bytes, at the end of a request. */
void php_hone_builder_trim(struct php_hone_builder *builder, size_t keep);

/*
 * Write the builder->size bytes of a built value to `to`, with pointers for
 * readers at `view`. Both are aligned to PHP_HONE_VALUE_ALIGN. *root becomes
 * the zval of the value, with `view` as its pointer.
 */
void php_hone_value_place(const struct php_hone_builder *builder, void *to,
	const void *view, zval *root);

/* The pointers in the data assume that the data lies at the root's pointer. */
struct php_hone_value {
	zval root;
	const void *data; /* where the data is; NULL: the root is a scalar */
	size_t size;
};

/*
 * Copy stored->size bytes of a stored value to `to`, with pointers for readers
 * at `view`. Both are aligned to PHP_HONE_VALUE_ALIGN. In memory of this
 * process, `to` and `view` are equal. *copy becomes the root of the copy.
 */
void php_hone_value_copy(const struct php_hone_value *stored, void *to,
	const void *view, zval *copy);
/* Copy a stored value to ordinary, mutable PHP structures in memory of the
 * request. The pointers of the stored value must be valid. */
void php_hone_value_unpack(const struct php_hone_value *stored, zval *copy);

/* Whether __serialize() of the class is that of DateTime or DateTimeImmutable,
 * so that its objects have the time in C. */
bool php_hone_class_is_date(
	const struct php_hone_builder *builder, const zend_class_entry *class);
/* Whether the answer of this object of such a class is known: years 0 to 9999,
 * and no properties. */
bool php_hone_date_is_plain(const zend_object *object);
/* Its answer, which is valid until the next answer. */
const zval *php_hone_date_answer(
	struct php_hone_builder *builder, const zend_object *object);

/* PHP's hash of a string (DJBX33A with the top bit set), by SIMD if the CPU has
 * it. */
zend_ulong php_hone_string_hash(const char *bytes, size_t len);

#endif
