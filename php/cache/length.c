/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An estimate of what the values would take as strings of serialize(). Nothing
 * is counted when a value is stored: this looks at some entries, and in each at
 * some elements.
 */
#include "cache.h"
#include "values/graph.h"
#include "zend_smart_str.h"

/* With up to so many entries, each one is looked at; else so many of all. */
#define ENTRIES 1024
/* Bytes of the longest float. */
#define FLOAT_MOST 400
/* Elements that are looked at in all entries, on each level of the arrays. */
#define ELEMENTS 65536
#define ELEMENTS_LEAST 32 /* in an entry */
#define LEVELS 32

struct sample {
	uint64_t random;
	uint64_t elements; /* of an entry */
	uint64_t entries, quota;
	double length, size;
	smart_str text; /* of a float */
};

static double length_of(
	struct sample *sample, const zval *value, uint64_t most, int level);

static unsigned
digits(uint64_t number)
{
	unsigned n = 1;

	while (number >= 10) {
		number /= 10;
		n++;
	}
	return n;
}

/* i:-12; */
static double
int_length(zend_long number)
{
	uint64_t bits = (uint64_t)number;

	return 3 + (number < 0) + digits(number < 0 ? 0 - bits : bits);
}

/* s:3:"abc"; */
static double
string_length(size_t len)
{
	return 6 + digits(len) + (double)len;
}

/* An element of part i of n parts of the elements. */
static uint32_t
pick(struct sample *sample, uint32_t i, uint32_t n, uint32_t all)
{
	uint64_t from = (uint64_t)all * i / n, to = (uint64_t)all * (i + 1) / n;

	sample->random = sample->random * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(from + (sample->random >> 33) % (to - from));
}

/* All elements with their keys. */
static double
elements_length(struct sample *sample, const zend_array *array, uint64_t most,
	int level)
{
	uint32_t all = array->nNumUsed;
	uint32_t n = all < most ? all : (uint32_t)most;
	double length = 0;

	if (all == 0 || level == LEVELS)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = n == all ? i : pick(sample, i, n, all);
		const zval *value;
		if (HT_IS_PACKED(array)) {
			value = &array->arPacked[at];
			length += int_length((zend_long)at);
		} else {
			const Bucket *bucket = &array->arData[at];
			value = &bucket->val;
			length += bucket->key != NULL
					  ? string_length(ZSTR_LEN(bucket->key))
					  : int_length((zend_long)bucket->h);
		}
		length += length_of(
			sample, value, most / n != 0 ? most / n : 1, level + 1);
	}
	return length * all / n;
}

static double
length_of(struct sample *sample, const zval *value, uint64_t most, int level)
{
	switch (Z_TYPE_P(value)) {
	case IS_NULL:
		return 2;
	case IS_FALSE:
	case IS_TRUE:
		return 4;
	case IS_LONG:
		return int_length(Z_LVAL_P(value));
	case IS_DOUBLE:
		/* The buffer has room, so this allocates nothing. */
		ZSTR_LEN(sample->text.s) = 0;
		smart_str_append_double(&sample->text, Z_DVAL_P(value),
			(int)PG(serialize_precision), false);
		return 3 + (double)ZSTR_LEN(sample->text.s);
	case IS_STRING:
		return string_length(Z_STRLEN_P(value));
	case IS_ARRAY:
		return 5 + digits(Z_ARR_P(value)->nNumOfElements) +
		       elements_length(sample, Z_ARR_P(value), most, level);
	default:
		/* A marker: the object, or the array, is counted once, in its
		 * list. */
		return 0;
	}
}

/* One object, without the objects in it. */
static double
node_length(struct sample *sample, const zval *node, uint64_t most)
{
	const zend_array *shape = Z_ARR(node[PHP_HONE_NODE_SHAPE]);
	const zval *head = shape->arPacked;
	const zval *dynamic = &node[PHP_HONE_NODE_PROPERTIES];
	uint32_t n = shape->nNumUsed - PHP_HONE_SHAPE_HEAD;
	uint32_t count = n;
	double length;

	if (Z_LVAL(head[PHP_HONE_SHAPE_KIND]) == PHP_HONE_KIND_ENUM)
		return string_length(Z_STRLEN(head[PHP_HONE_SHAPE_CLASS]) + 1 +
				     Z_STRLEN(node[PHP_HONE_NODE_HEAD]));
	if (Z_TYPE_P(dynamic) == IS_ARRAY)
		count += Z_ARR_P(dynamic)->nNumOfElements;
	/* O:3:"Abc":2:{} */
	length = 3 + digits(count) +
		 string_length(Z_STRLEN(head[PHP_HONE_SHAPE_CLASS]));
	if (Z_TYPE_P(dynamic) == IS_ARRAY)
		length += elements_length(sample, Z_ARR_P(dynamic), most, 1);
	node += PHP_HONE_NODE_HEAD;
	for (uint32_t i = 0; i < n; i++)
		if (Z_TYPE(node[i]) != IS_UNDEF)
			length += string_length(Z_STRLEN(
					  head[PHP_HONE_SHAPE_HEAD + i])) +
				  length_of(sample, &node[i], most, 1);
	return length;
}

/* A value with objects. */
static double
directory_length(struct sample *sample, const zend_array *directory)
{
	const zval *head = directory->arPacked;
	uint64_t most = sample->elements;
	double length = length_of(sample, &head[PHP_HONE_VALUE_AT], most, 0);

	for (unsigned list = PHP_HONE_OBJECTS_AT; list <= PHP_HONE_ARRAYS_AT;
		list++) {
		const zend_array *of = Z_ARR(head[list]);
		uint32_t all, n;
		double sum = 0;
		if (Z_TYPE(head[list]) != IS_ARRAY || of->nNumUsed == 0)
			continue;
		all = of->nNumUsed;
		n = all < most ? all : (uint32_t)most;
		for (uint32_t i = 0; i < n; i++) {
			const zval *one =
				&of->arPacked[n == all ? i
						       : pick(sample, i, n,
								 all)];
			sum += list == PHP_HONE_OBJECTS_AT
				       ? node_length(sample,
						 Z_ARR_P(one)->arPacked,
						 most / n + 1)
				       : length_of(
						 sample, one, most / n + 1, 0);
		}
		length += sum * all / n;
	}
	return length;
}

/* Called for each entry of a walk; the entry is valid until the return. */
static bool
add(const struct php_hone_entry *entry, void *opaque)
{
	struct sample *sample = opaque;
	zval root;

	php_hone_root_of(entry, &root);
	if (entry->flags & (PHP_HONE_SERIALIZED | PHP_HONE_IGBINARY))
		sample->length += (double)Z_STRLEN(root);
	else if (entry->flags & PHP_HONE_OBJECTS)
		sample->length += directory_length(sample, Z_ARR(root));
	else
		sample->length += length_of(sample, &root, sample->elements, 0);
	sample->size += (double)entry->data_at + (double)entry->data_size;
	return ++sample->entries < sample->quota;
}

uint64_t
php_hone_serialized_length(
	struct php_hone_member *member, const struct php_hone_store_info *info)
{
	struct sample sample = {.random = 1, .quota = UINT64_MAX};
	uint64_t n = info->entries < ENTRIES ? info->entries : ENTRIES;
	uint64_t cursor = 0;

	sample.elements = n * ELEMENTS_LEAST < ELEMENTS ? ELEMENTS / (n + !n)
							: ELEMENTS_LEAST;
	smart_str_alloc(&sample.text, FLOAT_MOST, false);
	if (info->entries <= ENTRIES) {
		php_hone_store_walk(member, &cursor, add, &sample);
		smart_str_free(&sample.text);
		return (uint64_t)sample.length;
	}
	for (unsigned i = 0; i < info->shards; i++) {
		sample.quota = ENTRIES * (i + UINT64_C(1)) / info->shards;
		cursor = (uint64_t)i << 32;
		if (sample.entries < sample.quota)
			php_hone_store_walk(member, &cursor, add, &sample);
	}
	smart_str_free(&sample.text);
	return sample.size > 0 ? (uint64_t)(sample.length / sample.size *
					    (double)info->used)
			       : 0;
}
