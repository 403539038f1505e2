/* SPDX-License-Identifier: BSD-3-Clause */
#include "value_read.h"
#include "graph.h"
#include "value_text.h"

static volatile zend_ulong sink;

void
value_must(bool good)
{
	if (!good)
		abort();
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

	value_must(ZSTR_H(string) == hash);
	value_must(ZSTR_VAL(string)[ZSTR_LEN(string)] == '\0');
	value_must(GC_REFCOUNT(string) == 2 && ZSTR_IS_INTERNED(string));
	sink += hash;
}

/* The bucket is found by its key. */
static void
look_up(const Bucket *buckets, const zend_array *array, uint32_t i)
{
	uint32_t index = HT_HASH_EX(buckets, buckets[i].h | array->nTableMask);

	while (index != HT_INVALID_IDX && HT_HASH_TO_IDX(index) != i)
		index = Z_NEXT(buckets[HT_HASH_TO_IDX(index)].val);
	value_must(index != HT_INVALID_IDX);
}

static void read_value(struct reader *reader, const zval *value);

static void
read_array(struct reader *reader, const void *pointer)
{
	const zend_array *array = at(reader, pointer);
	const void *data = at(reader, array->arData);
	uint32_t n = 0;

	value_must(GC_REFCOUNT(array) == 2 &&
		   (GC_FLAGS(array) & IS_ARRAY_IMMUTABLE) != 0);
	value_must(
		(HT_FLAGS(array) & ~(HASH_FLAG_PACKED | HASH_FLAG_STATIC_KEYS |
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
	value_must(reader->budget == 0 || n == array->nNumOfElements);
}

static void
read_value(struct reader *reader, const zval *value)
{
	value_must(!Z_REFCOUNTED_P(value) && Z_TYPE_P(value) <= IS_ARRAY);
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
	value_must(Z_TYPE_INFO_P(list) == IS_ARRAY);
	array = at(reader, Z_PTR_P(list));
	value_must(HT_IS_PACKED(array));
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
	value_must(Z_TYPE_INFO_P(element) == IS_OBJECT);
	value_must(number < 0 ? (zend_ulong)~number < made
			      : (zend_ulong)number < from->n_objects);
}

static void
read_list(struct directory *from, uint32_t i)
{
	const zend_array *array = at(&from->reader, Z_PTR(from->arrays[i]));
	const void *data = at(&from->reader, array->arData);

	value_must(Z_TYPE_INFO(from->arrays[i]) == IS_ARRAY);
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
		value_must(Z_LVAL_P(table) < 0);
		table = &from->arrays[~Z_LVAL_P(table)];
	}
	array = at(&from->reader, Z_PTR_P(table));
	buckets = at(&from->reader, array->arData);
	value_must(!HT_IS_PACKED(array));
	for (uint32_t i = 0; i < array->nNumUsed; i++)
		value_must(buckets[i].key != NULL);
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

	value_must(n >= PHP_HONE_NODE_HEAD && n_shape >= PHP_HONE_SHAPE_HEAD);
	value_must(n - PHP_HONE_NODE_HEAD == n_shape - PHP_HONE_SHAPE_HEAD);
	value_must((zend_ulong)Z_LVAL(shape[PHP_HONE_SHAPE_NUMBER]) <
		   from->n_shapes);
	for (uint32_t i = 0; i < n_shape; i++)
		if (i != PHP_HONE_SHAPE_NUMBER && i != PHP_HONE_SHAPE_KIND) {
			value_must(Z_TYPE_INFO(shape[i]) == IS_STRING);
			read_string(reader, Z_PTR(shape[i]));
		}
	from->data[number] = kind == PHP_HONE_KIND_DATA;
	if (from->data[number]) {
		value_must(n == PHP_HONE_NODE_HEAD);
		value_must(Z_TYPE_P(properties) == IS_ARRAY ||
			   (Z_TYPE_P(properties) == IS_OBJECT &&
				   Z_LVAL_P(properties) < 0));
		read_element(from, properties, from->n_arrays);
	} else {
		read_table(from, properties);
	}
	for (uint32_t i = PHP_HONE_NODE_HEAD; i < n; i++)
		read_element(from, &node[i], from->n_arrays);
	if (kind == PHP_HONE_KIND_ENUM)
		value_must(n > PHP_HONE_NODE_HEAD &&
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
	value_must(n == PHP_HONE_DIRECTORY);
	from.objects = list_at(
		&from.reader, &head[PHP_HONE_OBJECTS_AT], &from.n_objects);
	from.arrays = list_at(
		&from.reader, &head[PHP_HONE_ARRAYS_AT], &from.n_arrays);
	from.calls =
		list_at(&from.reader, &head[PHP_HONE_CALLS_AT], &from.n_calls);
	value_must(from.n_objects != 0 && from.n_objects < UINT16_MAX);
	from.n_shapes = (uint32_t)Z_LVAL(head[PHP_HONE_SHAPES_AT]);
	value_must(Z_TYPE(head[PHP_HONE_VALUE_AT]) == IS_OBJECT);
	read_element(&from, &head[PHP_HONE_VALUE_AT], from.n_arrays);
	for (uint32_t i = 0; i < from.n_arrays; i++)
		read_list(&from, i);
	for (uint32_t i = 0; i < from.n_objects; i++)
		read_node(&from, i, &called);
	value_must(called == from.n_calls);
	for (uint32_t i = 0; i < from.n_calls; i++)
		value_must(Z_TYPE_INFO(from.calls[i]) == IS_LONG &&
			   (zend_ulong)Z_LVAL(from.calls[i]) < from.n_objects);
}

void
value_read(const unsigned char *bytes, const zval *root, bool graph)
{
	struct reader reader = {bytes, 100000};

	if (graph)
		read_directory(bytes);
	else
		read_value(&reader, root);
}
