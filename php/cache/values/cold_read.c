/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes values of the cold form, whose bytes may be any: at the end of the
 * buffers of the builder, as build.c does it, or in their final place. Memory
 * is proportional to the bytes, and so is time, but for the sort of the keys of
 * a long chain. After a problem, reader->at is the end of the bytes.
 */
#include "cold.h"
#include "record.h"
#include "text.h"
#ifdef HONE_LZ4
#include <lz4.h>
#endif

/* objects_text.c writes values with objects by recursion, so deeper ones are
 * rejected. */
#define DEEPEST 10000
/* The most keys of a chain that a new one is compared with. */
#define CHAIN 64

struct reader {
	const unsigned char *at, *end;
	struct php_hone_cold *cold;
	struct php_hone_builder *builder;
	const char *problem;
	/* elements of the levels that were not read yet: each has a byte */
	uint64_t owed;
	bool graph; /* objects are allowed */
	/* In its final place: pointers are addresses, and the strings lie at
	 * the end of the memory, the last one first. */
	bool direct;
};

struct level {
	size_t record;  /* offset in builder->arrays, also if it is in place */
	size_t element; /* of the element that leads to the record */
	uint32_t i, n;  /* the next element, and the end */
	uint32_t markers;
	uint32_t depth; /* as in build.c; only with objects */
	uint32_t node;  /* the number of its object plus 1; 0: an array */
	uint32_t class; /* of the object */
};

struct keys {
	size_t record;
	zend_long next; /* the usual next key after them */
};

struct class
{
	size_t shape;
	uint32_t kind, n;
};

static zend_never_inline ZEND_COLD void
note(struct reader *reader, const char *phrase)
{
	if (reader->problem == NULL)
		reader->problem = phrase;
	reader->at = reader->end;
}

/* The compiler sees that this returns false, and that no value is missing. */
static zend_always_inline bool
problem(struct reader *reader, const char *phrase)
{
	note(reader, phrase);
	return false;
}

static bool
make_room(struct reader *reader, struct php_hone_buffer *buffer, size_t size)
{
	return EXPECTED(php_hone_buffer_reserve(buffer, size)) ||
	       problem(reader, PHP_HONE_NO_MEMORY);
}

/* New bytes at the end of a buffer, or NULL after a problem. */
static zend_always_inline void *
add(struct reader *reader, struct php_hone_buffer *buffer, size_t size)
{
	void *at = php_hone_buffer_add(buffer, size);

	if (UNEXPECTED(at == NULL))
		problem(reader, PHP_HONE_NO_MEMORY);
	return at;
}

/* ---- bytes ---- */

static zend_always_inline size_t
left(const struct reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static zend_always_inline bool
take_byte(struct reader *reader, unsigned *byte)
{
	if (UNEXPECTED(reader->at == reader->end))
		return problem(reader, "the value is cut off");
	*byte = *reader->at++;
	return true;
}

static bool
take_number(struct reader *reader, uint64_t *number)
{
	unsigned byte, shift = 0;

	*number = 0;
	do {
		if (!take_byte(reader, &byte))
			return false;
		if (shift > 56)
			return problem(reader, "a number is too large");
		*number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte >= 0x80);
	return true;
}

/* Whether the value has the bytes for a count of structures of at least `least`
 * bytes each, and for the elements that are owed. */
static bool
has_bytes(struct reader *reader, uint64_t count, size_t least)
{
	return (left(reader) >= reader->owed &&
		       count <= (left(reader) - reader->owed) / least &&
		       count <= HT_MAX_SIZE) ||
	       problem(reader, "a count is larger than the value");
}

/* An earlier structure, each of which has `size` bytes in this buffer. */
static zend_always_inline const void *
earlier(struct reader *reader, const struct php_hone_buffer *buffer,
	size_t size, uint64_t number)
{
	if (EXPECTED(number < buffer->used / size))
		return buffer->bytes + number * size;
	problem(reader, "a number leads to nothing");
	return NULL;
}

static bool
take_low_bytes(struct reader *reader, unsigned n, uint64_t *bits)
{
	if (UNEXPECTED(left(reader) < n))
		return problem(reader, "the value is cut off");
	*bits = 0;
	for (unsigned i = 0; i < n; i++)
		*bits |= (uint64_t)reader->at[i] << 8 * i;
	reader->at += n;
	return true;
}

static zend_always_inline bool
is_int(unsigned tag)
{
	return tag - PHP_HONE_COLD_INT < 16 ||
	       tag - PHP_HONE_COLD_SMALL_INT < PHP_HONE_COLD_SMALL;
}

static zend_always_inline bool
take_int(struct reader *reader, unsigned tag, zend_long *number)
{
	uint64_t bits;

	if (tag >= PHP_HONE_COLD_SMALL_INT) {
		*number = (zend_long)(tag - PHP_HONE_COLD_SMALL_INT);
		return true;
	}
	if (!take_low_bytes(reader, tag % 8 + 1, &bits))
		return false;
	if (UNEXPECTED(bits > ZEND_LONG_MAX))
		return problem(reader, "an integer is too large");
	*number = tag >= PHP_HONE_COLD_COMPLEMENT ? ~(zend_long)bits
						  : (zend_long)bits;
	return true;
}

/* ---- strings ---- */

/* Begins a string, without its hash and bytes. *pointer is what elements have.
 * Returns NULL if the buffers have no room. */
static zend_always_inline zend_string *
begin_string(struct reader *reader, size_t len, zend_string **pointer)
{
	struct php_hone_buffer *arrays = &reader->builder->arrays;
	struct php_hone_buffer *strings = &reader->builder->strings;
	struct php_hone_buffer *known = &reader->cold->strings;
	size_t size = php_hone_string_size(len);
	zend_string *string;

	if (UNEXPECTED(known->room - known->used < sizeof(uintptr_t)))
		return NULL;
	if (EXPECTED(reader->direct)) {
		if (UNEXPECTED(arrays->room - arrays->used < size))
			return NULL;
		arrays->room -= size;
		string = (zend_string *)(arrays->bytes + arrays->room);
		*pointer = string;
	} else {
		if (UNEXPECTED(strings->room - strings->used < size))
			return NULL;
		string = (zend_string *)(strings->bytes + strings->used);
		*pointer = (zend_string *)(strings->used + 1);
		strings->used += size;
	}
	*(uintptr_t *)(known->bytes + known->used) = (uintptr_t)*pointer;
	known->used += sizeof(uintptr_t);
	GC_SET_REFCOUNT(string, PHP_HONE_REFCOUNT);
	GC_TYPE_INFO(string) = PHP_HONE_STRING_INFO;
	ZSTR_LEN(string) = len;
	return string;
}

/* Returns NULL, without a problem, if read_new_string() has to read it. A leaf:
 * a function with calls saves six registers. */
static zend_never_inline zend_string *
read_short_string(struct reader *reader, const unsigned char *at, size_t len)
{
	zend_string *string, *pointer;

	if (UNEXPECTED((size_t)(reader->end - at) < len + 8))
		return NULL;
	string = begin_string(reader, len, &pointer);
	if (UNEXPECTED(string == NULL))
		return NULL;
	ZSTR_H(string) =
		php_hone_copy_short(ZSTR_VAL(string), (const char *)at, len, 0);
	return pointer;
}

static zend_string *
read_new_string(struct reader *reader, uint64_t len)
{
	zend_string *string, *pointer;
	size_t size = php_hone_string_size((size_t)len);

	if (len > left(reader)) {
		problem(reader, "a string is cut off");
		return NULL;
	}
	if (!make_room(reader, &reader->cold->strings, sizeof(uintptr_t)) ||
		(!reader->direct &&
			!make_room(reader, &reader->builder->strings, size)))
		return NULL;
	string = begin_string(reader, (size_t)len, &pointer);
	if (string == NULL) {
		problem(reader, PHP_HONE_NO_MEMORY);
		return NULL;
	}
	memset((char *)string + size - 8, 0, 8);
	memcpy(ZSTR_VAL(string), reader->at, len);
	ZSTR_H(string) = php_hone_string_hash(ZSTR_VAL(string), len);
	reader->at += len;
	return pointer;
}

static zend_always_inline bool
is_string(unsigned tag)
{
	return tag >= PHP_HONE_COLD_SMALL_STRING ||
	       tag - PHP_HONE_COLD_NEAR_AGAIN < 8 ||
	       tag - PHP_HONE_COLD_STRING < 2;
}

static zend_string *
string_of_number(struct reader *reader, uint64_t number)
{
	const uintptr_t *pointer = earlier(
		reader, &reader->cold->strings, sizeof *pointer, number);

	return pointer != NULL ? (zend_string *)*pointer : NULL;
}

static zend_string *
read_string(struct reader *reader, unsigned tag)
{
	zend_string *string;
	uint64_t number;
	unsigned low;

	if (tag >= PHP_HONE_COLD_SMALL_AGAIN)
		return string_of_number(
			reader, tag - PHP_HONE_COLD_SMALL_AGAIN);
	if (tag >= PHP_HONE_COLD_SMALL_STRING) {
		tag -= PHP_HONE_COLD_SMALL_STRING;
		string = read_short_string(reader, reader->at, tag);
		if (UNEXPECTED(string == NULL))
			return read_new_string(reader, tag);
		reader->at += tag;
		return string;
	}
	if (tag >= PHP_HONE_COLD_NEAR_AGAIN) {
		if (!take_byte(reader, &low))
			return NULL;
		return string_of_number(reader,
			PHP_HONE_COLD_SMALL +
				((tag - PHP_HONE_COLD_NEAR_AGAIN) << 8 | low));
	}
	if (!take_number(reader, &number))
		return NULL;
	/* The number has at most 63 bits. */
	if (tag == PHP_HONE_COLD_STRING)
		return read_new_string(reader, number + PHP_HONE_COLD_SMALL);
	return string_of_number(reader, number + PHP_HONE_COLD_NEAR);
}

static bool
read_name(struct reader *reader, zval *to)
{
	unsigned tag;

	if (!take_byte(reader, &tag))
		return false;
	if (!is_string(tag))
		return problem(reader, "a name is not a string");
	to->value.str = read_string(reader, tag);
	php_hone_set_type(to, IS_STRING, 0);
	return to->value.str != NULL;
}

/* ---- arrays ---- */

static zend_string *
string_at(const struct reader *reader, const zend_string *pointer)
{
	return reader->direct ? (zend_string *)(uintptr_t)pointer
			      : (zend_string *)(reader->builder->strings.bytes +
						(uintptr_t)pointer - 1);
}

/* What an element has as the pointer to the record at this offset. */
static zend_always_inline zend_long
record_pointer(const struct reader *reader, size_t at)
{
	const unsigned char *arrays = reader->builder->arrays.bytes;

	return (zend_long)(reader->direct ? (uintptr_t)arrays + at : at);
}

static zend_array *
record_at(const struct reader *reader, size_t at)
{
	return php_hone_record_at(reader->builder, at);
}

/* Begin a table, without its index. Returns NULL after a problem. */
static zend_always_inline Bucket *
begin_table(struct reader *reader, uint32_t n)
{
	uint32_t size = php_hone_table_size(n), mask = HT_SIZE_TO_MASK(size);
	zend_array *record = add(reader, &reader->builder->arrays,
		php_hone_record_size(mask, n, false));

	if (record == NULL)
		return NULL;
	php_hone_record_head(record, HASH_FLAG_STATIC_KEYS, mask, n);
	record->nNumOfElements = n;
	record->nTableSize = size;
	/* An offset in place of this address is replaced with the others. */
	record->arData = php_hone_record_elements(record, mask);
	return record->arData;
}

static bool
read_key(struct reader *reader, Bucket *bucket)
{
	zend_string *string;
	zend_long number;
	unsigned tag;

	if (!take_byte(reader, &tag))
		return false;
	if (is_int(tag)) {
		bucket->key = NULL;
		if (!take_int(reader, tag, &number))
			return false;
		bucket->h = (zend_ulong)number;
		return true;
	}
	if (!is_string(tag))
		return problem(reader, "a key is neither string nor integer");
	bucket->key = read_string(reader, tag);
	if (bucket->key == NULL)
		return false;
	string = string_at(reader, bucket->key);
	bucket->h = ZSTR_H(string);
	return true;
}

/* Enter a bucket into the index. Returns false if its key is one of the last
 * CHAIN ones; if there are more, sets *crowded. */
static bool
enter(struct reader *reader, Bucket *buckets, uint32_t i, uint32_t mask,
	bool *crowded)
{
	const Bucket *bucket = &buckets[i];
	uint32_t *slot = &HT_HASH_EX(buckets, (uint32_t)bucket->h | mask);
	uint32_t at = *slot;

	for (unsigned n = 0; at != HT_INVALID_IDX;
		at = Z_NEXT(buckets[HT_HASH_TO_IDX(at)].val)) {
		if (UNEXPECTED(n++ == CHAIN)) {
			*crowded = true;
			break;
		}
		const Bucket *other = &buckets[HT_HASH_TO_IDX(at)];
		const zend_string *key = other->key;
		if (other->h == bucket->h &&
			(key == bucket->key ||
				(key != NULL && bucket->key != NULL &&
					php_hone_is_equal(
						string_at(reader, key),
						string_at(
							reader, bucket->key)))))
			return problem(reader, "a key is repeated");
	}
	Z_NEXT(buckets[i].val) = *slot;
	*slot = HT_IDX_TO_HASH(i);
	return true;
}

/* A key for the sort: an integer is without bytes. */
struct sorted {
	zend_ulong h;
	const zend_string *string;
};

static int
by_key(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->h != y->h)
		return x->h < y->h ? -1 : 1;
	if (x->string == NULL || y->string == NULL)
		return (x->string != NULL) - (y->string != NULL);
	if (ZSTR_LEN(x->string) != ZSTR_LEN(y->string))
		return ZSTR_LEN(x->string) < ZSTR_LEN(y->string) ? -1 : 1;
	return memcmp(
		ZSTR_VAL(x->string), ZSTR_VAL(y->string), ZSTR_LEN(x->string));
}

static zend_never_inline bool
are_different(struct reader *reader, const Bucket *buckets, uint32_t n)
{
	struct sorted *keys = calloc(n, sizeof *keys);
	bool good = true;

	if (keys == NULL)
		return problem(reader, PHP_HONE_NO_MEMORY);
	for (uint32_t i = 0; i < n; i++) {
		keys[i].h = buckets[i].h;
		if (buckets[i].key != NULL)
			keys[i].string = string_at(reader, buckets[i].key);
	}
	qsort(keys, n, sizeof *keys, by_key);
	for (uint32_t i = 1; i < n && good; i++)
		good = by_key(&keys[i - 1], &keys[i]) != 0;
	free(keys);
	return good || problem(reader, "a key is repeated");
}

static struct level *
top(const struct reader *reader)
{
	const struct php_hone_buffer *levels = &reader->cold->levels;

	return levels->used == 0
		       ? NULL
		       : (struct level *)(levels->bytes + levels->used) - 1;
}

/* The depth of what an element of the level on top leads to. The dynamic
 * properties of an object are not deeper than the object. */
static uint32_t
see_depth(struct reader *reader)
{
	const struct level *parent = top(reader);
	uint32_t depth = 1;

	if (parent != NULL)
		depth = parent->depth +
			(parent->node == 0 || parent->i > PHP_HONE_NODE_HEAD);
	if (depth > reader->builder->graph.depth)
		reader->builder->graph.depth = depth;
	return depth;
}

static zend_always_inline void
push(struct reader *reader, const struct level *new)
{
	struct php_hone_buffer *levels = &reader->cold->levels;
	uint32_t depth = reader->graph ? see_depth(reader) : 0;
	struct level *level;

	if (reader->graph && levels->used >= DEEPEST * sizeof *level) {
		problem(reader, "objects are nested too deep");
		return;
	}
	level = add(reader, levels, sizeof *level);
	if (level == NULL)
		return;
	*level = *new;
	reader->owed += level->n - level->i;
	level->depth = depth;
	level->markers = reader->builder->graph.markers;
}

static zend_always_inline bool
enter_array(struct reader *reader, size_t record)
{
	uint32_t *unit = add(reader, &reader->cold->arrays, sizeof *unit);

	if (unit != NULL)
		*unit = (uint32_t)(record / 8);
	return unit != NULL;
}

static zend_always_inline void
push_array(struct reader *reader, size_t record, size_t element)
{
	zend_array *array = record_at(reader, record);
	struct level level = {
		.record = record, .element = element, .n = array->nNumUsed};

	array->pDestructor = PHP_HONE_INCOMPLETE;
	if (enter_array(reader, record))
		push(reader, &level);
}

static bool
begin_list(struct reader *reader, uint32_t n, zend_long next)
{
	size_t at = reader->builder->arrays.used;
	zend_array *record;

	if (php_hone_begin_list(reader->builder, n) == NULL)
		return problem(reader, PHP_HONE_NO_MEMORY);
	record = record_at(reader, at);
	record->nNextFreeElement = next;
	record->arData = php_hone_record_elements(record, HT_MIN_MASK);
	if (n == 0)
		HT_FLAGS(record) = HASH_FLAG_UNINITIALIZED;
	return true;
}

static bool
take_next(struct reader *reader, bool has_next, zend_long *next)
{
	unsigned tag;

	if (!has_next)
		return true;
	if (!take_byte(reader, &tag))
		return false;
	if (!is_int(tag))
		return problem(reader, "a next key is not an integer");
	return take_int(reader, tag, next);
}

static void
read_list(struct reader *reader, uint64_t n, bool has_next, size_t element)
{
	size_t record = reader->builder->arrays.used;
	zend_long next = (zend_long)n;

	if (!take_next(reader, has_next, &next) || !has_bytes(reader, n, 1))
		return;
	/* PHP stores an appended element at this index without a check. */
	if (n != 0 && next < (zend_long)n)
		problem(reader, "a list has a wrong next key");
	else if (begin_list(reader, (uint32_t)n, next))
		push_array(reader, record, element);
}

static bool
read_keys(struct reader *reader, Bucket *buckets, uint32_t n, zend_long *next)
{
	uint32_t mask = HT_SIZE_TO_MASK(php_hone_table_size(n));
	bool crowded = false;

	memset((char *)buckets - HT_HASH_SIZE(mask), 0xff, HT_HASH_SIZE(mask));
	for (uint32_t i = 0; i < n; i++) {
		if (!read_key(reader, &buckets[i]) ||
			!enter(reader, buckets, i, mask, &crowded))
			return false;
		if (buckets[i].key == NULL)
			*next = php_hone_cold_next(
				*next, (zend_long)buckets[i].h);
	}
	return EXPECTED(!crowded) || are_different(reader, buckets, n);
}

/* Longer keys are not copied to another value. */
#define FIRST_MOST 2048

/* Copies the keys of another value's first table, if their bytes are equal. */
static zend_always_inline bool
copy_first(struct reader *reader, const struct php_hone_cold_first *first,
	uint32_t n, zend_long *next)
{
	struct php_hone_buffer *arrays = &reader->builder->arrays;
	struct php_hone_buffer *known = &reader->cold->strings;
	const unsigned char *from = first->bytes.bytes;
	size_t record_bytes = first->record_bytes;
	zend_array *record = (zend_array *)(arrays->bytes + arrays->used);
	uintptr_t by;

	if (first->n != n || left(reader) < first->key_bytes ||
		memcmp(reader->at, from, first->key_bytes) != 0 ||
		arrays->room - arrays->used <
			record_bytes + first->string_bytes ||
		!make_room(reader, known, n * sizeof(uintptr_t)))
		return false;
	reader->at += first->key_bytes;
	from += first->key_bytes;
	memcpy(record, from, record_bytes);
	arrays->used += record_bytes;
	arrays->room -= first->string_bytes;
	memcpy(arrays->bytes + arrays->room, from + record_bytes,
		first->string_bytes);
	by = (uintptr_t)(arrays->bytes + arrays->room) - first->strings_at;
	record->arData = php_hone_record_elements(record, record->nTableMask);
	/* Keys are different, so each string is new. */
	for (uint32_t i = 0; i < n; i++) {
		uintptr_t key = (uintptr_t)record->arData[i].key;
		if (key == 0)
			continue;
		key += by;
		record->arData[i].key = (zend_string *)key;
		*(uintptr_t *)(known->bytes + known->used) = key;
		known->used += sizeof key;
	}
	*next = first->next;
	return true;
}

/* `at`, `room`: the place of the keys, and the room for arrays and strings
 * before them. */
static void
keep_first(struct reader *reader, struct php_hone_cold_first *first,
	const struct keys *keys, const unsigned char *at, size_t room)
{
	const struct php_hone_buffer *arrays = &reader->builder->arrays;
	const zend_array *table = record_at(reader, keys->record);
	size_t key_bytes = (size_t)(reader->at - at);
	size_t record_bytes = arrays->used - keys->record;
	size_t string_bytes = room - arrays->room;
	unsigned char *to;

	first->n = 0;
	first->bytes.used = 0;
	if (key_bytes + record_bytes + string_bytes > FIRST_MOST ||
		!php_hone_buffer_reserve(&first->bytes, FIRST_MOST))
		return;
	to = first->bytes.bytes;
	memcpy(to, at, key_bytes);
	memcpy(to + key_bytes, table, record_bytes);
	memcpy(to + key_bytes + record_bytes, arrays->bytes + arrays->room,
		string_bytes);
	first->n = table->nNumUsed;
	first->key_bytes = (uint32_t)key_bytes;
	first->record_bytes = (uint32_t)record_bytes;
	first->string_bytes = (uint32_t)string_bytes;
	first->strings_at = (uintptr_t)(arrays->bytes + arrays->room);
	first->next = keys->next;
}

static bool
read_new_keys(struct reader *reader, uint32_t n, struct keys *keys)
{
	const unsigned char *at = reader->at;
	size_t room = reader->builder->arrays.room;
	struct php_hone_cold_first *first = NULL;
	Bucket *buckets;

	if (reader->direct && reader->cold->strings.used == 0) {
		/* The table has two bytes at least. */
		first = &reader->cold
				 ->firsts[(n + reader->at[0] + reader->at[1]) %
					  PHP_HONE_COLD_FIRSTS];
		if (copy_first(reader, first, n, &keys->next))
			return true;
	}
	buckets = begin_table(reader, n);
	if (buckets == NULL || !read_keys(reader, buckets, n, &keys->next))
		return false;
	if (first != NULL)
		keep_first(reader, first, keys, at, room);
	return true;
}

static void
read_table(struct reader *reader, uint64_t n, bool has_next, size_t element)
{
	struct keys *known,
		keys = {reader->builder->arrays.used, ZEND_LONG_MIN};
	zend_long next = 0;

	if (!take_next(reader, has_next, &next) || !has_bytes(reader, n, 2))
		return;
	if (n == 0) {
		problem(reader, "a table has no keys");
		return;
	}
	if (!read_new_keys(reader, (uint32_t)n, &keys) ||
		(known = add(reader, &reader->cold->keys, sizeof keys)) == NULL)
		return;
	*known = keys;
	record_at(reader, keys.record)->nNextFreeElement =
		has_next ? next : keys.next;
	push_array(reader, keys.record, element);
}

/* Reads an integer of 1 to 7 bytes that is not negative, or a double. Returns
 * NULL for others, or if fewer than 8 bytes are left. */
static zend_always_inline const unsigned char *
read_plain_number(const struct reader *reader, const unsigned char *at,
	unsigned tag, zval *to, uint32_t next)
{
	unsigned n = tag - PHP_HONE_COLD_INT + 1;
	uint64_t bits;

	if (UNEXPECTED((size_t)(reader->end - at) < sizeof bits))
		return NULL;
	memcpy(&bits, at, sizeof bits);
#ifdef WORDS_BIGENDIAN
	bits = __builtin_bswap64(bits);
#endif
	if (tag == PHP_HONE_COLD_DOUBLE) {
		php_hone_put(to, IS_DOUBLE, (zend_long)bits, next);
		return at + sizeof bits;
	}
	if (n - 1 >= 7)
		return NULL;
	bits &= (UINT64_C(1) << 8 * n) - 1;
	php_hone_put(to, IS_LONG, (zend_long)bits, next);
	return at + n;
}

/* Reads a number, or a string that is short or was read before. Returns the
 * byte after it, or NULL if read_value() has to read the value. `at` is not in
 * the reader: the next tag would wait for its store. */
static zend_always_inline const unsigned char *
read_plain(
	struct reader *reader, const unsigned char *at, zval *to, uint32_t next)
{
	const struct php_hone_buffer *known = &reader->cold->strings;
	zend_string *string;
	unsigned tag;

	if (UNEXPECTED(at == reader->end))
		return NULL;
	tag = *at++;
	if (tag >= PHP_HONE_COLD_SMALL_AGAIN) {
		tag -= PHP_HONE_COLD_SMALL_AGAIN;
		if (UNEXPECTED(tag >= known->used / sizeof(uintptr_t)))
			return NULL;
		to->value.str = ((zend_string **)known->bytes)[tag];
		php_hone_set_type(to, IS_STRING, next);
		return at;
	}
	if (tag >= PHP_HONE_COLD_SMALL_STRING) {
		tag -= PHP_HONE_COLD_SMALL_STRING;
		string = read_short_string(reader, at, tag);
		to->value.str = string;
		php_hone_set_type(to, IS_STRING, next);
		return EXPECTED(string != NULL) ? at + tag : NULL;
	}
	if (tag < PHP_HONE_COLD_SMALL_INT)
		return read_plain_number(reader, at, tag, to, next);
	php_hone_put(to, IS_LONG, tag - PHP_HONE_COLD_SMALL_INT, next);
	return at;
}

/* Reads the values of a table up to the first that is not plain, and returns
 * its number. */
static zend_always_inline uint32_t
read_plain_values(struct reader *reader, Bucket *buckets, uint32_t n)
{
	const unsigned char *at = reader->at, *after;
	uint32_t i;

	for (i = 0; i < n; i++, at = after) {
		zval *to = &buckets[i].val;
		after = read_plain(reader, at, to, Z_NEXT_P(to));
		if (UNEXPECTED(after == NULL))
			break;
	}
	reader->at = at;
	return i;
}

static void
read_alike(
	struct reader *reader, uint64_t number, bool has_next, size_t element)
{
	const struct keys *keys =
		earlier(reader, &reader->cold->keys, sizeof *keys, number);
	size_t at = reader->builder->arrays.used;
	const zend_array *known;
	zend_array *record;
	zend_long next;
	uint32_t n;

	if (keys == NULL)
		return;
	next = keys->next;
	n = record_at(reader, keys->record)->nNumUsed;
	if (!take_next(reader, has_next, &next) || !has_bytes(reader, n, 1) ||
		begin_table(reader, n) == NULL)
		return;
	record = record_at(reader, at);
	known = record_at(reader, keys->record);
	record->nNextFreeElement = next;
	memcpy(record + 1, known + 1,
		php_hone_record_bytes(known) - sizeof *known);
	push_array(reader, at, element);
}

/* Copy an earlier table, with another next key. NULL after a problem. */
static zend_always_inline zend_array *
copy_table(struct reader *reader, const zend_array *known, zend_long next)
{
	struct php_hone_buffer *arrays = &reader->builder->arrays;
	size_t bytes = php_hone_record_bytes(known);
	zend_array *record = (zend_array *)(arrays->bytes + arrays->used);

	if (UNEXPECTED(arrays->room - arrays->used < bytes)) {
		problem(reader, PHP_HONE_NO_MEMORY);
		return NULL;
	}
	if (!enter_array(reader, arrays->used))
		return NULL;
	arrays->used += bytes;
	memcpy(record, known, bytes);
	record->arData = php_hone_record_elements(record, known->nTableMask);
	record->nNextFreeElement = next;
	record->pDestructor = NULL;
	return record;
}

/*
 * Reads this element and the next ones of its array, as long as they are tables
 * with the keys of one earlier table and with plain values. Returns false after
 * a problem, or if the last table needs a level for its other values.
 */
static zend_never_inline bool
read_rows(struct reader *reader, unsigned tag, zval *to, uint32_t next)
{
	const struct keys *keys = earlier(reader, &reader->cold->keys,
		sizeof *keys, tag - PHP_HONE_COLD_SMALL_ALIKE);
	struct level *parent = top(reader), row = {0};
	const zend_array *known;
	zend_array *record;
	bool packed;

	if (keys == NULL)
		return false;
	known = record_at(reader, keys->record);
	packed = HT_IS_PACKED(record_at(reader, parent->record));
	row.n = known->nNumUsed;
	for (;;) {
		row.record = reader->builder->arrays.used;
		if (!has_bytes(reader, row.n, 1) ||
			(record = copy_table(reader, known, keys->next)) ==
				NULL)
			return false;
		php_hone_put(to, IS_ARRAY, (zend_long)(uintptr_t)record, next);
		row.i = read_plain_values(reader, record->arData, row.n);
		if (UNEXPECTED(row.i != row.n))
			break;
		if (parent->i == parent->n || reader->at == reader->end ||
			*reader->at != tag)
			return true;
		reader->at++;
		reader->owed--;
		parent->i++;
		to += php_hone_element_size(packed) / sizeof *to;
		next = packed ? 0 : Z_NEXT_P(to);
	}
	record->pDestructor = PHP_HONE_INCOMPLETE;
	push(reader, &row);
	return false;
}

/* All empty arrays are one. */
static void
read_empty(struct reader *reader, zval *to, uint32_t next)
{
	struct php_hone_builder *builder = reader->builder;
	uint32_t *empty = &builder->met_arrays.empty;
	bool first = *empty == UINT32_MAX;

	if (first)
		*empty = (uint32_t)(builder->arrays.used / 8);
	php_hone_put(
		to, IS_ARRAY, record_pointer(reader, (size_t)*empty * 8), next);
	if (first && begin_list(reader, 0, ZEND_LONG_MIN))
		see_depth(reader);
}

static void
read_array(struct reader *reader, unsigned tag, size_t element)
{
	bool has_next = tag >= PHP_HONE_COLD_NEXT_LIST &&
			tag <= PHP_HONE_COLD_NEXT_ALIKE;
	uint64_t number;

	if (tag >= PHP_HONE_COLD_SMALL_LIST) {
		number = tag - PHP_HONE_COLD_SMALL_LIST + 1;
		tag = PHP_HONE_COLD_LIST;
	} else if (tag >= PHP_HONE_COLD_SMALL_ALIKE) {
		number = tag - PHP_HONE_COLD_SMALL_ALIKE;
		tag = PHP_HONE_COLD_ALIKE;
	} else if (!take_number(reader, &number)) {
		return;
	}
	if (has_next)
		tag -= PHP_HONE_COLD_NEXT;
	if (tag == PHP_HONE_COLD_LIST)
		read_list(reader, number, has_next, element);
	else if (tag == PHP_HONE_COLD_TABLE)
		read_table(reader, number, has_next, element);
	else
		read_alike(reader, number, has_next, element);
}

static void
read_array_again(struct reader *reader, zval *to, uint32_t next)
{
	const uint32_t *at;
	const zend_array *record;
	uint64_t number;

	if (!take_number(reader, &number) ||
		(at = earlier(reader, &reader->cold->arrays, sizeof *at,
			 number)) == NULL)
		return;
	record = record_at(reader, (size_t)*at * 8);
	if (record->pDestructor == PHP_HONE_INCOMPLETE)
		problem(reader, "an array contains itself");
	else if (record->nInternalPointer != 0)
		php_hone_put_marker(reader->builder, to,
			-(zend_long)record->nInternalPointer, next);
	else
		php_hone_put(to, IS_ARRAY,
			record_pointer(reader, (size_t)*at * 8), next);
}

/* ---- objects ---- */

static bool
read_class(struct reader *reader, struct class *class, zval *name)
{
	uint64_t kind, n;

	if (!take_number(reader, &kind) || !read_name(reader, name) ||
		!take_number(reader, &n) || !has_bytes(reader, n, 2))
		return false;
	class->kind = (uint32_t)kind;
	class->n = (uint32_t)n;
	if ((kind != 0 && kind != PHP_HONE_KIND_ENUM &&
		    kind != PHP_HONE_KIND_DATA &&
		    kind != PHP_HONE_KIND_WAKEUP) ||
		(kind == PHP_HONE_KIND_DATA && class->n != 0))
		return problem(reader, "a class has a wrong kind");
	return true;
}

/* The shape of a new class, after its first node. */
static bool
read_shape(struct reader *reader, struct class *class, const zval *name)
{
	struct class *known =
		add(reader, &reader->cold->classes, sizeof *known);
	zval *elements = php_hone_begin_list(
		reader->builder, PHP_HONE_SHAPE_HEAD + class->n);

	if (elements == NULL || known == NULL)
		return problem(reader, PHP_HONE_NO_MEMORY);
	*known = *class;
	elements[PHP_HONE_SHAPE_CLASS] = *name;
	php_hone_put(&elements[PHP_HONE_SHAPE_NUMBER], IS_LONG,
		reader->builder->graph.n_shapes++, 0);
	php_hone_put(&elements[PHP_HONE_SHAPE_KIND], IS_LONG,
		(zend_long) class->kind, 0);
	for (uint32_t i = 0; i < class->n; i++)
		if (!read_name(reader, &elements[PHP_HONE_SHAPE_HEAD + i]))
			return false;
	return true;
}

static bool
read_node(struct reader *reader, struct level *level)
{
	const struct php_hone_buffer *known = &reader->cold->classes;
	uint32_t n_classes = (uint32_t)(known->used / sizeof(struct class));
	struct class class = {0};
	uint64_t number;
	zval name = {0};

	if (!take_number(reader, &number))
		return false;
	if (number > n_classes)
		return problem(reader, "an object has no class");
	if (number < n_classes)
		class = ((struct class *)known->bytes)[number];
	else if (!read_class(reader, &class, &name))
		return false;
	level->class = (uint32_t)number;
	level->n = PHP_HONE_NODE_HEAD + class.n;
	if (!has_bytes(reader, (uint64_t) class.n + 1, 1))
		return false;
	if (php_hone_begin_list(reader->builder, level->n) == NULL)
		return problem(reader, PHP_HONE_NO_MEMORY);
	if (number == n_classes) {
		class.shape = reader->builder->arrays.used;
		if (!read_shape(reader, &class, &name))
			return false;
	}
	php_hone_put(&php_hone_elements_at(reader->builder,
			     level->record)[PHP_HONE_NODE_SHAPE],
		IS_ARRAY, (zend_long) class.shape, 0);
	return true;
}

static void
read_object(struct reader *reader, zval *to, uint32_t next)
{
	struct php_hone_builder *builder = reader->builder;
	uint32_t number =
		(uint32_t)(builder->graph.objects.used / sizeof(size_t));
	struct level level = {
		.record = reader->builder->arrays.used,
		.i = PHP_HONE_NODE_PROPERTIES,
		.node = number + 1,
	};

	php_hone_put_marker(builder, to, number, next);
	if (!php_hone_append(builder, &builder->graph.objects, level.record))
		problem(reader, PHP_HONE_NO_MEMORY);
	else if (read_node(reader, &level))
		push(reader, &level);
}

static void
read_object_again(struct reader *reader, zval *to, uint32_t next)
{
	uint64_t number;

	if (take_number(reader, &number) &&
		earlier(reader, &reader->builder->graph.objects, sizeof(size_t),
			number) != NULL)
		php_hone_put_marker(
			reader->builder, to, (zend_long)number, next);
}

/* The array that an element leads to, maybe by a marker, or NULL. */
static const zend_array *
table_of(const struct reader *reader, const zval *element)
{
	const size_t *paths =
		(const size_t *)reader->builder->graph.paths.bytes;
	zend_long number = Z_LVAL_P(element);

	if (Z_TYPE_P(element) == IS_ARRAY)
		return record_at(reader, (size_t)number);
	if (Z_TYPE_P(element) == IS_OBJECT && number < 0)
		return record_at(reader, paths[~number]);
	return NULL;
}

/* PHP assumes that each key of such a table is a string. */
static bool
are_properties(const struct reader *reader, const zval *element)
{
	const zend_array *table = table_of(reader, element);
	const Bucket *buckets;

	if (Z_TYPE_P(element) == IS_NULL)
		return true;
	if (table == NULL || HT_IS_PACKED(table) || table->nNumUsed == 0)
		return false;
	buckets = php_hone_record_elements(table, table->nTableMask);
	for (uint32_t i = 0; i < table->nNumUsed; i++)
		if (buckets[i].key == NULL)
			return false;
	return true;
}

static bool
is_case(const zval *declared, uint32_t n)
{
	return n >= 1 && n <= 2 && Z_TYPE(declared[0]) == IS_STRING &&
	       (n == 1 || Z_TYPE(declared[1]) == IS_STRING ||
		       Z_TYPE(declared[1]) == IS_LONG);
}

static bool
is_node(const struct reader *reader, const struct class *class, size_t record)
{
	const zval *node = php_hone_elements_at(reader->builder, record);
	const zval *properties = &node[PHP_HONE_NODE_PROPERTIES];

	if (class->kind == PHP_HONE_KIND_DATA)
		return table_of(reader, properties) != NULL;
	if (class->kind == PHP_HONE_KIND_ENUM &&
		!is_case(&node[PHP_HONE_NODE_HEAD], class->n))
		return false;
	return are_properties(reader, properties) &&
	       (class->n == 0 || Z_TYPE_P(properties) == IS_NULL);
}

static void
end_node(struct reader *reader, const struct level *level)
{
	struct php_hone_builder *builder = reader->builder;
	const struct class *class =
		(struct class *)reader->cold->classes.bytes + level->class;

	if (!is_node(reader, class, level->record))
		problem(reader, "an object has wrong properties");
	else if ((class->kind & (PHP_HONE_KIND_DATA | PHP_HONE_KIND_WAKEUP)) &&
		 !php_hone_append(
			 builder, &builder->graph.calls, level->node - 1))
		problem(reader, PHP_HONE_NO_MEMORY);
}

/* ---- the walk ---- */

/* An element without a value: of a list, or a declared property. */
static bool
read_undef(struct reader *reader, zval *to)
{
	const struct level *level = top(reader);
	zend_array *record =
		level != NULL ? record_at(reader, level->record) : NULL;

	if (record == NULL || !HT_IS_PACKED(record) ||
		(level->node != 0 && level->i <= PHP_HONE_NODE_HEAD))
		return problem(reader, "an element is empty");
	record->nNumOfElements--;
	php_hone_put(to, IS_UNDEF, 0, 0);
	return true;
}

/* Read an array or an object. The elements may have moved afterwards. */
static void
read_structure(struct reader *reader, unsigned tag, zval *to, uint32_t next)
{
	size_t element =
		(uintptr_t)to - (uintptr_t)reader->builder->arrays.bytes;

	if (tag == PHP_HONE_COLD_EMPTY) {
		read_empty(reader, to, next);
	} else if (tag == PHP_HONE_COLD_ARRAY_AGAIN) {
		read_array_again(reader, to, next);
	} else if (tag < PHP_HONE_COLD_ARRAY_AGAIN ||
		   tag - PHP_HONE_COLD_SMALL_ALIKE < 16) {
		php_hone_put(to, IS_ARRAY,
			record_pointer(reader, reader->builder->arrays.used),
			next);
		read_array(reader, tag, element);
	} else if (tag > PHP_HONE_COLD_OBJECT_AGAIN) {
		problem(reader, "a value has an unknown type");
	} else if (!reader->graph) {
		problem(reader, "an object is not allowed");
	} else if (tag == PHP_HONE_COLD_OBJECT) {
		read_object(reader, to, next);
	} else {
		read_object_again(reader, to, next);
	}
}

/* Returns false if the elements may have moved, or after a problem. */
static bool
read_other(struct reader *reader, unsigned tag, zval *to, uint32_t next)
{
	switch (tag) {
	case PHP_HONE_COLD_UNDEF:
		return read_undef(reader, to);
	case PHP_HONE_COLD_NULL:
	case PHP_HONE_COLD_FALSE:
	case PHP_HONE_COLD_TRUE:
		php_hone_put(to, tag - PHP_HONE_COLD_NULL + IS_NULL, 0, next);
		return true;
	default:
		if (is_string(tag)) {
			php_hone_set_type(to, IS_STRING, next);
			to->value.str = read_string(reader, tag);
			return to->value.str != NULL;
		}
		read_structure(reader, tag, to, next);
		return false;
	}
}

static bool
read_value(struct reader *reader, zval *to, uint32_t next)
{
	unsigned tag;

	if (!take_byte(reader, &tag))
		return false;
	if (is_int(tag)) {
		php_hone_set_type(to, IS_LONG, next);
		return take_int(reader, tag, &to->value.lval);
	}
	if (tag == PHP_HONE_COLD_DOUBLE) {
		uint64_t bits;
		if (!take_low_bytes(reader, 8, &bits))
			return false;
		php_hone_put(to, IS_DOUBLE, (zend_long)bits, next);
		return true;
	}
	if (reader->direct && tag - PHP_HONE_COLD_SMALL_ALIKE < 8)
		return read_rows(reader, tag, to, next);
	return read_other(reader, tag, to, next);
}

static void
end_level(struct reader *reader)
{
	struct php_hone_builder *builder = reader->builder;
	const struct level *level = top(reader);
	zend_array *record = record_at(reader, level->record);

	record->pDestructor = NULL;
	if (level->node != 0)
		end_node(reader, level);
	else if (builder->graph.markers != level->markers)
		php_hone_graph_array(builder, level->record, level->element);
	reader->cold->levels.used -= sizeof *level;
}

/* Up to an element that has a level of its own. */
static void
read_level(struct reader *reader)
{
	struct level *level = top(reader);
	zend_array *record = record_at(reader, level->record);
	bool packed = HT_IS_PACKED(record);
	zval *elements = php_hone_record_elements(record, record->nTableMask);
	Bucket *buckets = (Bucket *)elements;
	const unsigned char *at = reader->at, *after;
	uint32_t i = level->i, n = level->n;

	for (; i != n; i++, at = after) {
		zval *to = packed ? &elements[i] : &buckets[i].val;
		uint32_t next = packed ? 0 : Z_NEXT_P(to);
		after = read_plain(reader, at, to, next);
		if (EXPECTED(after != NULL))
			continue;
		reader->at = at;
		reader->owed -= i + 1 - level->i;
		level->i = i + 1;
		if (!read_value(reader, to, next))
			return;
		i = level->i - 1;
		after = reader->at;
	}
	reader->at = at;
	reader->owed -= n - level->i;
	level->i = n;
	end_level(reader);
}

static void
read_all(struct reader *reader)
{
	struct php_hone_builder *builder = reader->builder;
	zval *root = &builder->root;

	if (reader->graph) {
		root = php_hone_graph_begin(builder);
		if (root == NULL) {
			problem(reader, PHP_HONE_NO_MEMORY);
			return;
		}
	}
	read_value(reader, root, 0);
	while (reader->cold->levels.used != 0 && reader->problem == NULL)
		read_level(reader);
	if (reader->problem == NULL && reader->at != reader->end)
		problem(reader, "there are bytes after the value");
	if (!reader->graph || reader->problem != NULL)
		return;
	if (Z_TYPE(php_hone_elements_at(builder, 0)[PHP_HONE_VALUE_AT]) !=
		IS_OBJECT)
		problem(reader, "there is no object");
	else
		php_hone_graph_end(builder);
	Z_TYPE_INFO(builder->root) = IS_ARRAY;
}

#ifdef HONE_LZ4

/* LZ4 makes at most 255 bytes of one, and no block that was written is longer
 * than what it makes. */
static bool
decompress(struct reader *reader, uint64_t size)
{
	struct php_hone_buffer *to = &reader->cold->other;

	to->used = 0;
	if (size > PHP_HONE_COLD_COMPRESSED_MOST || size / 255 > left(reader) ||
		size < left(reader))
		return problem(reader, "the uncompressed size is wrong");
	if (!make_room(reader, to, (size_t)size))
		return false;
	if (LZ4_decompress_safe((const char *)reader->at, (char *)to->bytes,
		    (int)left(reader), (int)size) != (int)size)
		return problem(reader, "the value cannot be decompressed");
	reader->at = to->bytes;
	reader->end = to->bytes + size;
	return true;
}

#else

static bool
decompress(struct reader *reader, uint64_t size)
{
	(void)size;
	return problem(reader, "it needs LZ4, which this build does not have");
}

#endif

static void
begin(struct php_hone_cold *cold, struct php_hone_builder *builder)
{
	cold->levels.used = cold->arrays.used = cold->strings.used =
		cold->classes.used = cold->keys.used = 0;
	builder->arrays.used = builder->strings.used = 0;
	builder->met_arrays.empty = UINT32_MAX;
	builder->graph.markers = builder->graph.depth = 0;
	builder->size = 0;
	builder->refused = PHP_HONE_REFUSED_NOT;
	builder->string = NULL;
	memset(&builder->root, 0, sizeof builder->root);
}

static bool
read_bytes(struct reader *reader, const char **phrase)
{
	struct php_hone_builder *builder = reader->builder;
	bool plain =
		reader->at == reader->end || *reader->at != PHP_HONE_COLD_LZ4;
	uint64_t size;

	begin(reader->cold, builder);
	reader->at += !plain;
	if (plain || (take_number(reader, &size) && decompress(reader, size)))
		read_all(reader);
	if (builder->refused != PHP_HONE_REFUSED_NOT)
		problem(reader, PHP_HONE_NO_MEMORY);
	*phrase = reader->problem;
	return reader->problem == NULL;
}

bool
php_hone_cold_read(struct php_hone_cold *cold, const void *bytes, size_t size,
	bool graph, struct php_hone_builder *builder, const char **phrase)
{
	struct reader reader = {
		.at = bytes,
		.end = (const unsigned char *)bytes + size,
		.cold = cold,
		.builder = builder,
		.graph = graph,
	};

	if (!read_bytes(&reader, phrase))
		return false;
	builder->size = builder->arrays.used + builder->strings.used;
	return true;
}

bool
php_hone_cold_read_to(struct php_hone_cold *cold, const void *bytes,
	size_t size, struct php_hone_builder *builder, void *to, size_t made,
	const char **phrase)
{
	struct reader reader = {
		.at = bytes,
		.end = (const unsigned char *)bytes + size,
		.cold = cold,
		.builder = builder,
		.direct = true,
	};
	struct php_hone_buffer arrays = builder->arrays;
	bool good;

	/* It does not grow: even 2 bytes more are too many. */
	builder->arrays =
		(struct php_hone_buffer){.bytes = to, .room = made, .most = 1};
	good = read_bytes(&reader, phrase);
	if (good && builder->arrays.used != builder->arrays.room) {
		*phrase = "the value has fewer bytes";
		good = false;
	}
	builder->arrays = arrays;
	return good;
}
