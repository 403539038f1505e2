/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes stored values in the cold form. The walk has the order of the records
 * in the block: an element leads to the next record, or back to an earlier one.
 */
#include "cold.h"
#include "record.h"
#ifdef HONE_LZ4
#include <lz4.h>
#endif

/* The most bytes of a tag and its numbers, but for those of a string. */
#define TOKEN 24
/* The most other structures that one is compared with. */
#define LOOKS 64

struct writer {
	struct php_hone_cold *cold;
	/* the structures, and the addresses that the pointers to them assume */
	const unsigned char *arrays_at, *strings_at;
	uintptr_t arrays_base, strings_base;
	const zval *objects, *arrays; /* the lists of the directory, or NULL */
	size_t next;                  /* offset of the next record */
	uint32_t n_classes;
	const zend_array *last;              /* table; NULL: none */
	uint32_t last_number;                /* of its keys */
	zend_long last_usual;                /* the next key after them */
	bool failed;                         /* memory is exhausted */
	struct php_hone_cold_place left_out; /* of its table */
};

struct level {
	const char *at; /* the next element */
	uint32_t left;
	uint32_t step; /* bytes from element to element */
};

static size_t
offset_of(const struct writer *writer, const void *array)
{
	return (uintptr_t)array - writer->arrays_base;
}

static const zend_array *
array_at(const struct writer *writer, const void *pointer)
{
	return (const void *)(writer->arrays_at + offset_of(writer, pointer));
}

static const zend_string *
string_at(const struct writer *writer, const void *pointer)
{
	return (const void *)(writer->strings_at +
			      ((uintptr_t)pointer - writer->strings_base));
}

static bool
make_room(struct writer *writer, struct php_hone_buffer *buffer, size_t size)
{
	if (EXPECTED(php_hone_buffer_reserve(buffer, size)))
		return true;
	writer->failed = true;
	return false;
}

/* ---- bytes: the caller has made room for TOKEN of them ---- */

static zend_always_inline void
put_byte(struct writer *writer, unsigned byte)
{
	struct php_hone_buffer *bytes = &writer->cold->bytes;

	bytes->bytes[bytes->used++] = (unsigned char)byte;
}

static void
put_number(struct writer *writer, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		put_byte(writer, 0x80 | (number & 0x7f));
	put_byte(writer, (unsigned)number);
}

static zend_always_inline void
put_low_bytes(struct writer *writer, uint64_t number, unsigned n)
{
	struct php_hone_buffer *bytes = &writer->cold->bytes;

#ifdef WORDS_BIGENDIAN
	number = __builtin_bswap64(number);
#endif
	/* TOKEN has room for all 8. */
	memcpy(bytes->bytes + bytes->used, &number, sizeof number);
	bytes->used += n;
}

static zend_always_inline void
put_int(struct writer *writer, zend_long number)
{
	uint64_t bits = (uint64_t)(number < 0 ? ~number : number);
	unsigned n = (71 - (unsigned)__builtin_clzll(bits | 1)) / 8;

	if (number >= 0 && number < PHP_HONE_COLD_SMALL) {
		put_byte(writer, PHP_HONE_COLD_SMALL_INT + (unsigned)number);
		return;
	}
	put_byte(writer,
		(number < 0 ? PHP_HONE_COLD_COMPLEMENT : PHP_HONE_COLD_INT) +
			n - 1);
	put_low_bytes(writer, bits, n);
}

/* ---- tables of strings and of lists of keys ---- */

static bool
grow(struct writer *writer, struct php_hone_cold_table *table)
{
	struct php_hone_cold_table old = *table;
	uint32_t value = writer->cold->value;

	table->room = old.room == 0 ? 64 : old.room * 2;
	table->places = table->room > old.room
				? calloc(table->room, sizeof *table->places)
				: NULL;
	if (table->places == NULL) {
		*table = old;
		writer->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < old.room; i++) {
		uint32_t at = old.places[i].hash & (table->room - 1);
		if (old.places[i].value != value)
			continue;
		while (table->places[at].value == value)
			at = (at + 1) & (table->room - 1);
		table->places[at] = old.places[i];
	}
	free(old.places);
	return true;
}

/* The low bits of hashes choose a place, and neighbours are often taken. */
static uint32_t
spread(uint32_t hash)
{
	hash *= UINT32_C(0x9e3779b1);
	return hash ^ hash >> 15;
}

/*
 * Look for an equal structure. Returns its place with the number, or a free
 * place that gets the next number; NULL if memory is exhausted. After LOOKS
 * other structures the search ends, and this one is not entered: whoever
 * chooses the strings of a value can give them one hash.
 */
static zend_always_inline struct php_hone_cold_place *
look_up(struct writer *writer, struct php_hone_cold_table *table, uint32_t hash,
	const unsigned char *base, const void *structure,
	bool (*is_equal)(
		const struct writer *writer, const void *a, const void *b),
	bool *found)
{
	struct php_hone_cold_place *place;
	uint32_t value = writer->cold->value, at, looks = 0;

	if (UNEXPECTED(table->n >= table->room / 2) && !grow(writer, table))
		return NULL;
	hash = spread(hash);
	for (at = hash & (table->room - 1);;
		at = (at + 1) & (table->room - 1)) {
		place = &table->places[at];
		if (place->value != value)
			break;
		if (UNEXPECTED(looks++ == LOOKS)) {
			place = &writer->left_out;
			break;
		}
		*found = place->hash == hash &&
			 is_equal(writer, base + (size_t)place->at * 8,
				 structure);
		if (*found)
			return place;
	}
	*found = false;
	place->value = value;
	place->hash = hash;
	place->at =
		(uint32_t)((size_t)((const unsigned char *)structure - base) /
			   8);
	place->number = table->number++;
	table->n += place != &writer->left_out;
	return place;
}

static bool
is_equal_string(const struct writer *writer, const void *a, const void *b)
{
	(void)writer;
	return a == b || php_hone_is_equal(a, b);
}

static void
put_new_string(struct writer *writer, const zend_string *string)
{
	struct php_hone_buffer *bytes = &writer->cold->bytes;
	size_t len = ZSTR_LEN(string);

	if (!make_room(writer, bytes, TOKEN + len))
		return;
	if (len < PHP_HONE_COLD_SMALL) {
		put_byte(writer, PHP_HONE_COLD_SMALL_STRING + (unsigned)len);
	} else {
		put_byte(writer, PHP_HONE_COLD_STRING);
		put_number(writer, len - PHP_HONE_COLD_SMALL);
	}
	memcpy(bytes->bytes + bytes->used, ZSTR_VAL(string), len);
	bytes->used += len;
	writer->cold->made += php_hone_string_size(len);
}

static zend_always_inline void
put_known_string(struct writer *writer, uint32_t number)
{
	if (EXPECTED(number < PHP_HONE_COLD_SMALL)) {
		put_byte(writer, PHP_HONE_COLD_SMALL_AGAIN + number);
	} else if (number < PHP_HONE_COLD_NEAR) {
		number -= PHP_HONE_COLD_SMALL;
		put_byte(writer, PHP_HONE_COLD_NEAR_AGAIN + (number >> 8));
		put_byte(writer, number & 0xff);
	} else {
		put_byte(writer, PHP_HONE_COLD_STRING_AGAIN);
		put_number(writer, number - PHP_HONE_COLD_NEAR);
	}
}

static zend_always_inline void
put_string(struct writer *writer, const zend_string *pointer)
{
	const zend_string *string = string_at(writer, pointer);
	const struct php_hone_cold_place *place;
	bool found;

	place = look_up(writer, &writer->cold->string_table,
		(uint32_t)ZSTR_H(string), writer->strings_at, string,
		is_equal_string, &found);
	if (place == NULL)
		return;
	if (!found)
		put_new_string(writer, string);
	else if (make_room(writer, &writer->cold->bytes, TOKEN))
		put_known_string(writer, place->number);
}

/* ---- arrays ---- */

static const Bucket *
buckets_of(const zend_array *record)
{
	return php_hone_record_elements(record, record->nTableMask);
}

static bool
has_equal_keys(const struct writer *writer, const void *a, const void *b)
{
	const zend_array *first = a, *second = b;
	const Bucket *x = buckets_of(first), *y = buckets_of(second);

	if (first->nNumUsed != second->nNumUsed)
		return false;
	for (uint32_t i = 0; i < first->nNumUsed; i++) {
		if (x[i].key == y[i].key && x[i].h == y[i].h)
			continue;
		if (x[i].key == NULL || y[i].key == NULL ||
			!php_hone_is_equal(string_at(writer, x[i].key),
				string_at(writer, y[i].key)))
			return false;
	}
	return true;
}

/* Up to the first array or object. Returns its number. */
static zend_always_inline uint32_t
put_plain(struct writer *writer, const char *at, uint32_t n, size_t step)
{
	uint32_t i;

	for (i = 0; i < n; i++, at += step) {
		const zval *value = (const zval *)at;
		if (Z_TYPE_P(value) == IS_STRING) {
			put_string(writer, Z_PTR_P(value));
			if (UNEXPECTED(writer->failed))
				break;
			continue;
		}
		if (Z_TYPE_P(value) > IS_STRING ||
			!make_room(writer, &writer->cold->bytes, TOKEN))
			break;
		if (Z_TYPE_P(value) == IS_LONG) {
			put_int(writer, Z_LVAL_P(value));
		} else if (Z_TYPE_P(value) == IS_DOUBLE) {
			put_byte(writer, PHP_HONE_COLD_DOUBLE);
			put_low_bytes(writer, (uint64_t)Z_LVAL_P(value), 8);
		} else {
			put_byte(writer, PHP_HONE_COLD_UNDEF + Z_TYPE_P(value));
		}
	}
	return i;
}

/* Writes the first elements, and has a level for the others. */
static void
put_elements(
	struct writer *writer, const void *elements, uint32_t n, size_t step)
{
	struct php_hone_buffer *levels = &writer->cold->levels;
	uint32_t put = put_plain(writer, elements, n, step);

	if (put == n || !make_room(writer, levels, sizeof(struct level)))
		return;
	*(struct level *)(levels->bytes + levels->used) = (struct level){
		(const char *)elements + put * step, n - put, (uint32_t)step};
	levels->used += sizeof(struct level);
}

/* The tag of an array, its count or number, and its next key if that is not the
 * usual one. */
static void
put_head(struct writer *writer, unsigned tag, uint64_t number,
	const zend_array *record, zend_long usual)
{
	bool next = record->nNextFreeElement != usual;

	if (tag == PHP_HONE_COLD_ALIKE && number < 8 && !next) {
		put_byte(writer, PHP_HONE_COLD_SMALL_ALIKE + (unsigned)number);
		return;
	}
	if (tag == PHP_HONE_COLD_LIST && number - 1 < 8 && !next) {
		put_byte(writer,
			PHP_HONE_COLD_SMALL_LIST + (unsigned)number - 1);
		return;
	}
	put_byte(writer, tag + (next ? PHP_HONE_COLD_NEXT : 0));
	put_number(writer, number);
	if (next)
		put_int(writer, record->nNextFreeElement);
}

static void
put_keys(struct writer *writer, const Bucket *buckets, uint32_t n)
{
	for (uint32_t i = 0; i < n && !writer->failed; i++) {
		if (buckets[i].key != NULL)
			put_string(writer, buckets[i].key);
		else if (make_room(writer, &writer->cold->bytes, TOKEN))
			put_int(writer, (zend_long)buckets[i].h);
	}
}

static void
put_table(struct writer *writer, const zend_array *record)
{
	const Bucket *buckets = buckets_of(record);
	uint32_t n = record->nNumUsed;
	zend_long usual = ZEND_LONG_MIN;
	uint64_t hash = n;
	const struct php_hone_cold_place *place;
	bool found;

	/* Rows come one after the other. */
	if (writer->last != NULL &&
		has_equal_keys(writer, writer->last, record)) {
		put_head(writer, PHP_HONE_COLD_ALIKE, writer->last_number,
			record, writer->last_usual);
		put_elements(writer, &buckets->val, n, sizeof *buckets);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		hash = (hash ^ buckets[i].h) * UINT64_C(0x9e3779b97f4a7c15);
		if (buckets[i].key == NULL)
			usual = php_hone_cold_next(
				usual, (zend_long)buckets[i].h);
	}
	place = look_up(writer, &writer->cold->keys_table,
		(uint32_t)(hash >> 32), writer->arrays_at, record,
		has_equal_keys, &found);
	if (place == NULL)
		return;
	writer->last = record;
	writer->last_number = place->number;
	writer->last_usual = usual;
	if (found) {
		put_head(writer, PHP_HONE_COLD_ALIKE, place->number, record,
			usual);
	} else {
		put_head(writer, PHP_HONE_COLD_TABLE, n, record, usual);
		put_keys(writer, buckets, n);
	}
	put_elements(writer, &buckets->val, n, sizeof *buckets);
}

/* Goes behind the array at writer->next. The table that is made of a table has
 * the smallest index. */
static void
pass(struct writer *writer, const zend_array *record)
{
	uint32_t n = record->nNumUsed, mask = record->nTableMask;
	bool packed = HT_IS_PACKED(record);

	writer->next += php_hone_record_size(mask, n, packed);
	if (!packed && n != 0)
		mask = HT_SIZE_TO_MASK(php_hone_table_size(n));
	writer->cold->made += php_hone_record_size(mask, n, packed);
}

/* The array at writer->next. */
static void
put_new_array(struct writer *writer, const zend_array *record)
{
	struct php_hone_buffer *arrays = &writer->cold->arrays;
	uint32_t n = record->nNumUsed;

	if (!make_room(writer, arrays, sizeof(uint32_t)))
		return;
	*(uint32_t *)(arrays->bytes + arrays->used) =
		(uint32_t)(writer->next / 8);
	arrays->used += sizeof(uint32_t);
	pass(writer, record);
	if (n != 0 && !HT_IS_PACKED(record)) {
		put_table(writer, record);
		return;
	}
	put_head(writer, PHP_HONE_COLD_LIST, n, record, n);
	put_elements(writer, php_hone_record_elements(record, HT_MIN_MASK), n,
		sizeof(zval));
}

static void
put_array_again(struct writer *writer, size_t offset)
{
	const struct php_hone_buffer *arrays = &writer->cold->arrays;
	const uint32_t *known = (const uint32_t *)arrays->bytes;
	size_t from = 0, to = arrays->used / sizeof *known;

	while (to - from > 1) {
		size_t middle = (from + to) / 2;
		if (known[middle] <= offset / 8)
			from = middle;
		else
			to = middle;
	}
	put_byte(writer, PHP_HONE_COLD_ARRAY_AGAIN);
	put_number(writer, from);
}

static void
put_array(struct writer *writer, const void *pointer)
{
	const zend_array *record = array_at(writer, pointer);
	size_t offset = offset_of(writer, pointer);
	bool next = offset == writer->next;

	if (record->nNumUsed == 0 &&
		record->nNextFreeElement == ZEND_LONG_MIN) {
		put_byte(writer, PHP_HONE_COLD_EMPTY);
		if (next)
			pass(writer, record);
	} else if (next) {
		put_new_array(writer, record);
	} else {
		put_array_again(writer, offset);
	}
}

/* ---- objects ---- */

static const zval *
list_at(const struct writer *writer, const zval *from)
{
	return php_hone_record_elements(
		array_at(writer, Z_PTR_P(from)), HT_MIN_MASK);
}

static void
put_class(struct writer *writer, const zend_array *record, const zval *shape)
{
	writer->next += php_hone_record_bytes(record);
	writer->n_classes++;
	put_number(writer, (uint64_t)Z_LVAL(shape[PHP_HONE_SHAPE_KIND]));
	put_string(writer, Z_PTR(shape[PHP_HONE_SHAPE_CLASS]));
	if (!make_room(writer, &writer->cold->bytes, TOKEN))
		return;
	put_number(writer, record->nNumUsed - PHP_HONE_SHAPE_HEAD);
	for (uint32_t i = PHP_HONE_SHAPE_HEAD;
		i < record->nNumUsed && !writer->failed; i++)
		put_string(writer, Z_PTR(shape[i]));
}

static void
put_new_object(struct writer *writer, const zend_array *node)
{
	const zval *elements = php_hone_record_elements(node, HT_MIN_MASK);
	const zval *to_shape = &elements[PHP_HONE_NODE_SHAPE];
	const zval *shape = list_at(writer, to_shape);
	zend_long number = Z_LVAL(shape[PHP_HONE_SHAPE_NUMBER]);

	writer->next += php_hone_record_bytes(node);
	put_byte(writer, PHP_HONE_COLD_OBJECT);
	put_number(writer, (uint64_t)number);
	if (number == writer->n_classes)
		put_class(writer, array_at(writer, Z_PTR_P(to_shape)), shape);
	put_elements(writer, &elements[PHP_HONE_NODE_PROPERTIES],
		node->nNumUsed - PHP_HONE_NODE_PROPERTIES, sizeof(zval));
}

static void
put_marked(struct writer *writer, zend_long number)
{
	const zval *list = number < 0 ? writer->arrays : writer->objects;
	const void *pointer;

	/* Only a directory has markers. */
	if (UNEXPECTED(list == NULL))
		return;
	pointer = Z_PTR(list[number < 0 ? ~number : number]);
	if (number < 0) {
		put_array(writer, pointer);
	} else if (offset_of(writer, pointer) == writer->next) {
		put_new_object(writer, array_at(writer, pointer));
	} else {
		put_byte(writer, PHP_HONE_COLD_OBJECT_AGAIN);
		put_number(writer, (uint64_t)number);
	}
}

/* ---- the walk ---- */

static void
put_value(struct writer *writer, const zval *value)
{
	if (!make_room(writer, &writer->cold->bytes, TOKEN))
		return;
	if (Z_TYPE_P(value) == IS_ARRAY)
		put_array(writer, Z_PTR_P(value));
	else if (Z_TYPE_P(value) == IS_OBJECT)
		put_marked(writer, Z_LVAL_P(value));
	else
		put_plain(writer, (const char *)value, 1, 0);
}

/* Up to an element that has a level of its own. */
static void
put_level(struct writer *writer)
{
	struct php_hone_buffer *levels = &writer->cold->levels;
	size_t used = levels->used;
	struct level *level = (struct level *)(levels->bytes + used) - 1;

	while (level->left != 0 && !writer->failed) {
		const zval *value = (const zval *)level->at;
		level->at += level->step;
		level->left--;
		put_value(writer, value);
		if (levels->used != used)
			return;
	}
	levels->used -= sizeof *level;
}

static void
put_all(struct writer *writer, const zval *root, bool graph)
{
	const zval *directory;

	if (graph) {
		directory = list_at(writer, root);
		writer->next =
			php_hone_record_bytes(array_at(writer, Z_PTR_P(root)));
		writer->objects =
			list_at(writer, &directory[PHP_HONE_OBJECTS_AT]);
		if (Z_TYPE(directory[PHP_HONE_ARRAYS_AT]) != IS_NULL)
			writer->arrays =
				list_at(writer, &directory[PHP_HONE_ARRAYS_AT]);
		root = &directory[PHP_HONE_VALUE_AT];
	}
	put_value(writer, root);
	while (writer->cold->levels.used != 0 && !writer->failed)
		put_level(writer);
}

static void
begin(struct php_hone_cold *cold)
{
	/* No place of an earlier value is valid. */
	if (++cold->value == 0) {
		php_hone_cold_free(cold);
		cold->value = 1;
	}
	cold->bytes.used = cold->levels.used = cold->arrays.used = 0;
	cold->made = 0;
	cold->string_table.n = cold->keys_table.n = 0;
	cold->string_table.number = cold->keys_table.number = 0;
}

static zend_always_inline uint64_t
add_to_sum(uint64_t sum, const void *bytes, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, bytes, size);
	/* Each step can be inverted: another word gives another sum. */
	sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 32;
}

uint32_t
php_hone_cold_sum(const void *bytes, size_t size)
{
	/* Four, since each step waits for the multiplication before it. */
	uint64_t sums[4] = {size};
	const char *at = bytes;

	for (; size >= sizeof sums; size -= sizeof sums, at += sizeof sums)
		for (unsigned i = 0; i < 4; i++)
			sums[i] = add_to_sum(sums[i], at + i * sizeof *sums, 8);
	for (; size >= 8; size -= 8, at += 8)
		sums[0] = add_to_sum(sums[0], at, 8);
	sums[0] = add_to_sum(sums[0], at, size);
	for (unsigned i = 1; i < 4; i++)
		sums[0] = add_to_sum(sums[0], &sums[i], 8);
	return (uint32_t)(sums[0] >> 33);
}

bool
php_hone_cold_write(struct php_hone_cold *cold,
	const struct php_hone_value *stored,
	const struct php_hone_builder *builder, bool graph)
{
	struct writer writer = {.cold = cold};
	zval root;

	if (stored != NULL) {
		root = stored->root;
		writer.arrays_at = writer.strings_at = stored->data;
		if (stored->data != NULL)
			writer.arrays_base = writer.strings_base =
				(uintptr_t)Z_PTR(root);
	} else {
		php_hone_put(&root, IS_ARRAY, 0, 0);
		writer.arrays_at = builder->arrays.bytes;
		writer.strings_at = builder->strings.bytes;
		writer.strings_base = 1;
	}
	begin(cold);
	put_all(&writer, &root, graph);
	return !writer.failed;
}

#ifdef HONE_LZ4

/* Fewer bytes save too little: an entry is a multiple of 64 bytes. */
#define COMPRESSED_LEAST 256

void
php_hone_cold_compress(struct php_hone_cold *cold, size_t others)
{
	struct php_hone_buffer bytes = cold->bytes, *to = &cold->other;
	size_t align = PHP_HONE_VALUE_ALIGN, most, head;
	struct writer writer = {.cold = cold};
	int size;

	if (bytes.used < COMPRESSED_LEAST ||
		bytes.used > PHP_HONE_COLD_COMPRESSED_MOST)
		return;
	/* of the entry, rounded down, since its block is rounded up */
	most = (bytes.used + others + align - 1) / align * align / 8 * 7;
	most -= most % align;
	to->used = 0;
	if (most <= others + TOKEN ||
		!php_hone_buffer_reserve(to, most - others))
		return;
	cold->bytes = *to;
	put_byte(&writer, PHP_HONE_COLD_LZ4);
	put_number(&writer, bytes.used);
	head = cold->bytes.used;
	size = LZ4_compress_default((const char *)bytes.bytes,
		(char *)cold->bytes.bytes + head, (int)bytes.used,
		(int)(most - others - head));
	if (size > 0) {
		cold->bytes.used = head + (size_t)size;
		cold->other = bytes;
	} else {
		cold->bytes = bytes;
	}
}

#else

void
php_hone_cold_compress(struct php_hone_cold *cold, size_t others)
{
	(void)cold;
	(void)others;
}

#endif

void
php_hone_cold_free(struct php_hone_cold *cold)
{
	free(cold->bytes.bytes);
	free(cold->other.bytes);
	free(cold->levels.bytes);
	free(cold->arrays.bytes);
	free(cold->strings.bytes);
	free(cold->classes.bytes);
	free(cold->keys.bytes);
	for (unsigned i = 0; i < PHP_HONE_COLD_FIRSTS; i++)
		free(cold->firsts[i].bytes.bytes);
	free(cold->string_table.places);
	free(cold->keys_table.places);
	memset(cold, 0, sizeof *cold);
}

void
php_hone_cold_trim(struct php_hone_cold *cold, size_t keep)
{
	size_t room = cold->bytes.room + cold->other.room + cold->levels.room +
		      cold->arrays.room + cold->strings.room +
		      cold->classes.room + cold->keys.room;

	for (unsigned i = 0; i < PHP_HONE_COLD_FIRSTS; i++)
		room += cold->firsts[i].bytes.room;
	room += ((size_t)cold->string_table.room + cold->keys_table.room) *
		sizeof(struct php_hone_cold_place);
	if (UNEXPECTED(room > keep))
		php_hone_cold_free(cold);
}
