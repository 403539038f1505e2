/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a value of a snapshot: as they are, and with flags, pointers
 * of elements and hashes that are right, so that the walk is reached. What is
 * accepted is read as PHP reads it, and copied; a value with objects is read as
 * a fetch reads it. The input is the type of the value, 7 bytes without a
 * meaning, and the data. The seeds are stored values: the program writes them
 * to its last argument, the corpus.
 */
#include "value_text.h"
#include "graph.h"
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* PHP's headers name a function of PHP, which is not here. */
#undef snprintf

#define HEAD 8

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile zend_ulong sink;

static void
require(bool good)
{
	if (!good)
		abort();
}

static void
write_seeds(const char *corpus, const char *name, const char *const *texts)
{
	char path[4096];

	for (unsigned i = 0; texts[i] != NULL; i++) {
		struct text_made made = text_store(texts[i]);
		unsigned char head[HEAD] = {Z_TYPE(made.root)};
		snprintf(path, sizeof path, "%s/%s-%u", corpus, name, i);
		FILE *file = fopen(path, "w");
		require(file != NULL && fwrite(head, HEAD, 1, file) == 1 &&
			fwrite(made.bytes, 1, made.size, file) == made.size &&
			fclose(file) == 0);
		free(made.bytes);
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *corpus = (*argv)[*argc - 1];
	struct stat status;

	if (*argc < 2 || stat(corpus, &status) != 0 || !S_ISDIR(status.st_mode))
		return 0;
	write_seeds(corpus, "seed", value_texts);
	write_seeds(corpus, "object", object_texts);
	return 0;
}

/* ---- what PHP does with a value ---- */

/* Pointers as the data has them; a value may hold one array in many places.
 */
struct reader {
	const unsigned char *bytes;
	size_t budget;
};

static const void *
at(const struct reader *reader, const void *pointer)
{
	return reader->bytes + ((uintptr_t)pointer - TEXT_BASE);
}

static void
read_string(const struct reader *reader, const void *pointer)
{
	const zend_string *string = at(reader, pointer);
	zend_ulong hash =
		zend_inline_hash_func(ZSTR_VAL(string), ZSTR_LEN(string));

	require(ZSTR_H(string) == hash);
	require(ZSTR_VAL(string)[ZSTR_LEN(string)] == '\0');
	require(GC_REFCOUNT(string) == 2 && ZSTR_IS_INTERNED(string));
	sink += hash;
}

/* The bucket is found by its key. */
static void
look_up(const Bucket *buckets, const zend_array *array, uint32_t i)
{
	uint32_t index = HT_HASH_EX(buckets, buckets[i].h | array->nTableMask);

	while (index != HT_INVALID_IDX && HT_HASH_TO_IDX(index) != i)
		index = Z_NEXT(buckets[HT_HASH_TO_IDX(index)].val);
	require(index != HT_INVALID_IDX);
}

static void read_value(struct reader *reader, const zval *value);

static void
read_array(struct reader *reader, const void *pointer)
{
	const zend_array *array = at(reader, pointer);
	const void *data = at(reader, array->arData);
	uint32_t n = 0;

	require(GC_REFCOUNT(array) == 2 &&
		(GC_FLAGS(array) & IS_ARRAY_IMMUTABLE) != 0);
	require((HT_FLAGS(array) & ~(HASH_FLAG_PACKED | HASH_FLAG_STATIC_KEYS |
					   HASH_FLAG_UNINITIALIZED)) == 0);
	for (uint32_t i = 0; i < array->nNumUsed && reader->budget != 0; i++) {
		reader->budget--;
		if (HT_IS_PACKED(array)) {
			const zval *value = (const zval *)data + i;
			n += Z_TYPE_P(value) != IS_UNDEF;
			read_value(reader, value);
			continue;
		}
		const Bucket *buckets = data;
		look_up(buckets, array, i);
		n++;
		if (buckets[i].key != NULL)
			read_string(reader, buckets[i].key);
		read_value(reader, &buckets[i].val);
	}
	require(reader->budget == 0 || n == array->nNumOfElements);
}

static void
read_value(struct reader *reader, const zval *value)
{
	require(!Z_REFCOUNTED_P(value) && Z_TYPE_P(value) <= IS_ARRAY);
	if (Z_TYPE_P(value) == IS_STRING)
		read_string(reader, Z_PTR_P(value));
	else if (Z_TYPE_P(value) == IS_ARRAY)
		read_array(reader, Z_PTR_P(value));
	else
		sink += (zend_ulong)Z_LVAL_P(value);
}

/* ---- what a fetch does with objects: php/cache/objects/objects.c ---- */

struct directory {
	struct reader reader;
	const zval *objects, *arrays, *calls;
	uint32_t n_objects, n_arrays, n_calls, n_shapes;
	bool data[UINT16_MAX]; /* objects that have __unserialize() */
};

static const zval *
list_at(const struct reader *reader, const zval *list, uint32_t *n)
{
	const zend_array *array;

	*n = 0;
	if (Z_TYPE_P(list) == IS_NULL)
		return NULL;
	require(Z_TYPE_INFO_P(list) == IS_ARRAY);
	array = at(reader, Z_PTR_P(list));
	require(HT_IS_PACKED(array));
	*n = array->nNumUsed;
	return at(reader, array->arData);
}

/* An element outside of the lists. A marker of an array leads to one that is
 * made before: the first `made` ones. */
static void
read_element(struct directory *from, const zval *element, uint32_t made)
{
	zend_long number = Z_LVAL_P(element);

	if (Z_TYPE_P(element) != IS_OBJECT) {
		/* Without markers: a fetch shares it. */
		read_value(&from->reader, element);
		return;
	}
	require(Z_TYPE_INFO_P(element) == IS_OBJECT);
	require(number < 0 ? (zend_ulong)~number < made
			   : (zend_ulong)number < from->n_objects);
}

static void
read_list(struct directory *from, uint32_t i)
{
	const zend_array *array = at(&from->reader, Z_PTR(from->arrays[i]));
	const void *data = at(&from->reader, array->arData);

	require(Z_TYPE_INFO(from->arrays[i]) == IS_ARRAY);
	for (uint32_t k = 0; k < array->nNumUsed; k++) {
		if (HT_IS_PACKED(array)) {
			read_element(from, (const zval *)data + k, i);
			continue;
		}
		const Bucket *buckets = data;
		look_up(buckets, array, k);
		if (buckets[k].key != NULL)
			read_string(&from->reader, buckets[k].key);
		read_element(from, &buckets[k].val, i);
	}
}

/* The table of dynamic properties has no numbers as keys. */
static void
read_table(struct directory *from, const zval *table)
{
	const zend_array *array;
	const Bucket *buckets;

	read_element(from, table, from->n_arrays);
	if (Z_TYPE_P(table) == IS_NULL)
		return;
	if (Z_TYPE_P(table) == IS_OBJECT) {
		require(Z_LVAL_P(table) < 0);
		table = &from->arrays[~Z_LVAL_P(table)];
	}
	array = at(&from->reader, Z_PTR_P(table));
	buckets = at(&from->reader, array->arData);
	require(!HT_IS_PACKED(array));
	for (uint32_t i = 0; i < array->nNumUsed; i++)
		require(buckets[i].key != NULL);
}

static void
read_node(struct directory *from, uint32_t number, uint32_t *called)
{
	const struct reader *reader = &from->reader;
	uint32_t n, n_shape;
	const zval *node = list_at(reader, &from->objects[number], &n);
	const zval *shape =
		list_at(reader, &node[PHP_HONE_NODE_SHAPE], &n_shape);
	zend_long kind = Z_LVAL(shape[PHP_HONE_SHAPE_KIND]);
	const zval *properties = &node[PHP_HONE_NODE_PROPERTIES];

	require(n >= PHP_HONE_NODE_HEAD && n_shape >= PHP_HONE_SHAPE_HEAD);
	require(n - PHP_HONE_NODE_HEAD == n_shape - PHP_HONE_SHAPE_HEAD);
	require((zend_ulong)Z_LVAL(shape[PHP_HONE_SHAPE_NUMBER]) <
		from->n_shapes);
	for (uint32_t i = 0; i < n_shape; i++)
		if (i != PHP_HONE_SHAPE_NUMBER && i != PHP_HONE_SHAPE_KIND) {
			require(Z_TYPE_INFO(shape[i]) == IS_STRING);
			read_string(reader, Z_PTR(shape[i]));
		}
	from->data[number] = kind == PHP_HONE_KIND_DATA;
	if (from->data[number]) {
		require(n == PHP_HONE_NODE_HEAD);
		require(Z_TYPE_P(properties) == IS_ARRAY ||
			(Z_TYPE_P(properties) == IS_OBJECT &&
				Z_LVAL_P(properties) < 0));
		read_element(from, properties, from->n_arrays);
	} else {
		read_table(from, properties);
	}
	for (uint32_t i = PHP_HONE_NODE_HEAD; i < n; i++)
		read_element(from, &node[i], from->n_arrays);
	if (kind == PHP_HONE_KIND_ENUM)
		require(n > PHP_HONE_NODE_HEAD &&
			Z_TYPE(node[PHP_HONE_NODE_HEAD]) == IS_STRING);
	*called += (kind & (PHP_HONE_KIND_DATA | PHP_HONE_KIND_WAKEUP)) != 0;
}

static void
read_directory(const unsigned char *bytes)
{
	static struct directory from;
	uint32_t n, called = 0;
	zval root;
	const zval *head;

	from.reader = (struct reader){bytes, 100000};
	ZVAL_PTR(&root, (void *)(uintptr_t)TEXT_BASE);
	Z_TYPE_INFO(root) = IS_ARRAY;
	head = list_at(&from.reader, &root, &n);
	require(n == PHP_HONE_DIRECTORY);
	from.objects = list_at(
		&from.reader, &head[PHP_HONE_OBJECTS_AT], &from.n_objects);
	from.arrays = list_at(
		&from.reader, &head[PHP_HONE_ARRAYS_AT], &from.n_arrays);
	from.calls =
		list_at(&from.reader, &head[PHP_HONE_CALLS_AT], &from.n_calls);
	require(from.n_objects != 0 && from.n_objects < UINT16_MAX);
	from.n_shapes = (uint32_t)Z_LVAL(head[PHP_HONE_SHAPES_AT]);
	require(Z_TYPE(head[PHP_HONE_VALUE_AT]) == IS_OBJECT);
	read_element(&from, &head[PHP_HONE_VALUE_AT], from.n_arrays);
	for (uint32_t i = 0; i < from.n_arrays; i++)
		read_list(&from, i);
	for (uint32_t i = 0; i < from.n_objects; i++)
		read_node(&from, i, &called);
	require(called == from.n_calls);
	for (uint32_t i = 0; i < from.n_calls; i++)
		require(Z_TYPE_INFO(from.calls[i]) == IS_LONG &&
			(zend_ulong)Z_LVAL(from.calls[i]) < from.n_objects);
}

/* ---- judging ---- */

static void
copy(const unsigned char *bytes, size_t size, const zval *root)
{
	const uintptr_t base = 1 << 20;
	struct php_hone_value stored = {*root, size != 0 ? bytes : NULL, size};
	unsigned char *to = aligned_alloc(64, (size + 64) / 64 * 64);
	const char *phrase = NULL;
	zval moved;

	require(to != NULL);
	php_hone_value_copy(&stored, to, (const void *)base, &moved);
	require(php_hone_value_check(to, size, base, &moved, &phrase));
	free(to);
}

/* Exactly these bytes, so that AddressSanitizer sees what lies after them. */
static void
judge(const unsigned char *data, size_t size, uint32_t type)
{
	unsigned char *bytes = aligned_alloc(8, (size + 7) / 8 * 8 + !size * 8);
	struct reader reader = {bytes, 100000};
	const char *phrase = NULL;
	zval root;

	require(bytes != NULL);
	memcpy(bytes, data, size);
	memset(&root, 0, sizeof root);
	Z_TYPE_INFO(root) = type;
	if (type >= IS_STRING)
		root.value.ptr = (void *)(uintptr_t)TEXT_BASE;
	if (php_hone_value_check_objects(
		    bytes, size, TEXT_BASE, &root, &phrase)) {
		if (type == IS_ARRAY)
			read_directory(bytes);
	} else {
		require(phrase != NULL);
	}
	phrase = NULL;
	if (php_hone_value_check(bytes, size, TEXT_BASE, &root, &phrase)) {
		read_value(&reader, &root);
		copy(bytes, size, &root);
	} else {
		require(phrase != NULL);
	}
	free(bytes);
}

/* ---- mending ---- */

static void
mend_string(unsigned char *bytes, size_t left, size_t *size)
{
	zend_string *string = (void *)bytes;

	ZSTR_LEN(string) %= left - _ZSTR_HEADER_SIZE;
	*size = php_hone_string_size(ZSTR_LEN(string));
	if (*size > left)
		return;
	GC_SET_REFCOUNT(string, PHP_HONE_REFCOUNT);
	GC_TYPE_INFO(string) = PHP_HONE_STRING_INFO;
	memset(ZSTR_VAL(string) + ZSTR_LEN(string), 0,
		*size - _ZSTR_HEADER_SIZE - ZSTR_LEN(string));
	ZSTR_H(string) =
		php_hone_string_hash(ZSTR_VAL(string), ZSTR_LEN(string));
}

static void
mend_record(unsigned char *bytes, size_t offset)
{
	zend_array *record = (void *)(bytes + offset);
	bool packed = HT_IS_PACKED(record);

	GC_SET_REFCOUNT(record, PHP_HONE_REFCOUNT);
	GC_TYPE_INFO(record) = PHP_HONE_ARRAY_INFO;
	HT_FLAGS(record) = record->nNumUsed == 0
				   ? HASH_FLAG_UNINITIALIZED
				   : HASH_FLAG_STATIC_KEYS |
					     (packed ? HASH_FLAG_PACKED : 0);
	record->pDestructor = NULL;
	record->nInternalPointer = 0;
	record->nNumUsed %= 64;
	if (packed || record->nNumUsed == 0)
		record->nTableSize = php_hone_table_size(record->nNumUsed);
	else
		record->nTableSize = HT_MIN_SIZE << record->nTableSize / 8 % 4;
	record->nTableMask = packed || record->nNumUsed == 0
				     ? HT_MIN_MASK
				     : HT_SIZE_TO_MASK(record->nTableSize);
	record->arData = (void *)(TEXT_BASE + offset + sizeof *record +
				  HT_HASH_SIZE(record->nTableMask));
}

/* The hash of each key is that of the string to which it leads. */
static void
mend_keys(unsigned char *bytes, size_t offset, size_t size)
{
	const zend_array *record = (const void *)(bytes + offset);
	Bucket *buckets = php_hone_record_elements(record, record->nTableMask);

	for (uint32_t i = 0; !HT_IS_PACKED(record) && i < record->nNumUsed;
		i++) {
		size_t key = (uintptr_t)buckets[i].key - TEXT_BASE;
		if (buckets[i].key != NULL && size >= sizeof(zend_string) &&
			key % 8 == 0 && key <= size - sizeof(zend_string))
			buckets[i].h = ZSTR_H((zend_string *)(bytes + key));
	}
}

/* The same chains as PHP makes. */
static void
mend_index(unsigned char *bytes, size_t offset)
{
	zend_array *record = (void *)(bytes + offset);
	Bucket *buckets = php_hone_record_elements(record, record->nTableMask);

	memset(record + 1, 0xff, HT_HASH_SIZE(record->nTableMask));
	for (uint32_t i = 0; !HT_IS_PACKED(record) && i < record->nNumUsed;
		i++) {
		uint32_t slot = (uint32_t)buckets[i].h | record->nTableMask;
		Z_NEXT(buckets[i].val) = HT_HASH_EX(buckets, slot);
		HT_HASH_EX(buckets, slot) = HT_IDX_TO_HASH(i);
	}
}

static void
mend(unsigned char *bytes, size_t size, uint32_t type)
{
	size_t end = 0, more;

	while (type == IS_ARRAY && size - end >= sizeof(zend_array) + 8 &&
		php_hone_is_record(bytes + end)) {
		mend_record(bytes, end);
		more = php_hone_record_bytes((zend_array *)(bytes + end));
		if (more > size - end)
			break;
		end += more;
	}
	for (size_t i = end; size - i >= _ZSTR_HEADER_SIZE + 8; i += more) {
		mend_string(bytes + i, size - i, &more);
		if (more > size - i)
			break;
	}
	for (size_t i = 0; i < end;
		i += php_hone_record_bytes((zend_array *)(bytes + i))) {
		mend_keys(bytes, i, size);
		mend_index(bytes, i);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD)
		return 0;
	uint32_t type = data[0];
	data += HEAD;
	size -= HEAD;
	judge(data, size, type);
	size -= size % 8;
	unsigned char *bytes = aligned_alloc(64, (size + 64) / 64 * 64);
	require(bytes != NULL);
	memcpy(bytes, data, size);
	mend(bytes, size, type);
	judge(bytes, size, type);
	free(bytes);
	return 0;
}
