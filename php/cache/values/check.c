/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks values from outside: first each structure alone, then the walk. The
 * walk has the order in which build.c writes: an element leads to the next
 * record, or back to a complete one. So no array contains itself, each record
 * is visited once, and the strings begin at the end of the last record.
 *
 * Each function returns false with check->problem set.
 */
#include "graph.h"

/* objects_text.c writes values with objects by recursion, so deeper ones are
 * rejected. */
#define DEEPEST 10000

/* The state for a value with objects: graph.h. */
struct graph {
	const zval *objects, *arrays; /* the lists of the directory */
	size_t objects_at, arrays_at; /* their records */
	uint32_t n_objects, n_arrays, n_shapes, n_calls;
	const zval *calls; /* the numbers of objects */
	uint32_t called;   /* the number of objects with a call so far */
	uint64_t *heads;   /* one bit for each 8 bytes: a record begins here */
	uint64_t *special; /* the same: a marker led to this record */
	bool *begun;       /* for each object, whether its node was begun */
	uint32_t begun_n;  /* the number of begun objects */
	uint32_t ended;    /* the number of arrays whose visit has ended */
	uint32_t depth;    /* of the deepest record so far, as in build.c */
	size_t *shapes;    /* the record of each; 0 before the first visit */
};

struct check {
	const unsigned char *bytes;
	size_t size;
	uint64_t base;
	size_t arrays;    /* the end of the arrays, and the beginning of the
			     strings */
	size_t next;      /* the next record */
	uint64_t *begins; /* one bit for each 8 bytes: a string, or a record
			     whose elements were visited */
	struct php_hone_buffer stack;
	const char *problem;
	struct graph *graph; /* NULL: there are no objects */
};

static bool
problem(struct check *check, const char *phrase)
{
	check->problem = phrase;
	return false;
}

static bool
bit(const uint64_t *bits, size_t offset)
{
	return bits[offset / 512] >> (offset / 8 % 64) & 1;
}

static void
set_bit(uint64_t *bits, size_t offset)
{
	bits[offset / 512] |= UINT64_C(1) << (offset / 8 % 64);
}

static void
mark(struct check *check, size_t offset)
{
	set_bit(check->begins, offset);
}

static bool
is_marked(const struct check *check, size_t offset)
{
	return bit(check->begins, offset);
}

/* The offset of a pointer. SIZE_MAX if the pointer is outside of the data or
 * not aligned. */
static size_t
offset_of(const struct check *check, const void *pointer)
{
	uint64_t offset = (uint64_t)(uintptr_t)pointer - check->base;

	return offset < check->size && offset % 8 == 0 ? (size_t)offset
						       : SIZE_MAX;
}

/* ---- structures ---- */

/* Check a string at an offset below the size. */
static bool
check_string(struct check *check, size_t at)
{
	const zend_string *string = (const void *)(check->bytes + at);
	size_t left = check->size - at;
	size_t len, whole;

	if (left < _ZSTR_HEADER_SIZE + 8)
		return problem(check, "a string is cut off");
	len = ZSTR_LEN(string);
	if (len > left - _ZSTR_HEADER_SIZE - 1)
		return problem(check, "a string is longer than the value");
	whole = php_hone_string_size(len);
	if (whole > left)
		return problem(check, "a string is longer than the value");
	if (string->gc.refcount != PHP_HONE_REFCOUNT ||
		GC_TYPE_INFO(string) != PHP_HONE_STRING_INFO)
		return problem(check, "a string has invalid flags");
	for (size_t i = _ZSTR_HEADER_SIZE + len; i < whole; i++) {
		if (check->bytes[at + i] != 0)
			return problem(check, "a string does not end in zeros");
	}
	if (ZSTR_H(string) != php_hone_string_hash(ZSTR_VAL(string), len))
		return problem(check, "a string has a wrong hash");
	mark(check, at);
	return true;
}

/* Check the zend_array at an offset up to the size: its fields, and that its
 * record lies in the data. Reads no element. */
static bool
check_head(struct check *check, size_t at)
{
	const zend_array *record = (const void *)(check->bytes + at);
	size_t left = check->size - at;
	bool packed;
	uint32_t used;

	if (left < sizeof(*record) + HT_HASH_SIZE(HT_MIN_MASK))
		return problem(check, "an array is cut off");
	packed = HT_IS_PACKED(record);
	used = record->nNumUsed;
	if (record->gc.refcount != PHP_HONE_REFCOUNT ||
		GC_TYPE_INFO(record) != PHP_HONE_ARRAY_INFO ||
		record->pDestructor != NULL || record->nInternalPointer != 0)
		return problem(check, "an array has invalid flags");
	if (HT_FLAGS(record) !=
		(used == 0 ? HASH_FLAG_UNINITIALIZED
			   : HASH_FLAG_STATIC_KEYS |
					(packed ? HASH_FLAG_PACKED : 0)))
		return problem(check, "an array has invalid flags");
	if (record->nTableSize < HT_MIN_SIZE ||
		record->nTableSize > HT_MAX_SIZE ||
		(record->nTableSize & (record->nTableSize - 1)) != 0 ||
		used > record->nTableSize ||
		record->nTableMask !=
			(packed || used == 0
					? HT_MIN_MASK
					: HT_SIZE_TO_MASK(record->nTableSize)))
		return problem(check, "an array has a wrong size");
	if ((packed || used == 0) &&
		record->nTableSize != php_hone_table_size(used))
		return problem(check, "an array has a wrong size");
	if (php_hone_record_bytes(record) > left)
		return problem(check, "an array is larger than the value");
	if ((uintptr_t)record->arData !=
		check->base + at + sizeof(*record) +
			HT_HASH_SIZE(record->nTableMask))
		return problem(
			check, "an array has a wrong address of its elements");
	return true;
}

/* Check that each bucket is in the chain of its slot, and that no chain has a
 * loop. */
static bool
check_index(struct check *check, const zend_array *record)
{
	const Bucket *buckets =
		php_hone_record_elements(record, record->nTableMask);
	uint32_t visited = 0;

	for (uint32_t slot = record->nTableMask; slot != 0; slot++) {
		uint32_t at = HT_HASH_EX(buckets, slot);
		while (at != HT_INVALID_IDX) {
			uint32_t i = HT_HASH_TO_IDX(at);
			if (i >= record->nNumUsed || at != HT_IDX_TO_HASH(i) ||
				((uint32_t)buckets[i].h | record->nTableMask) !=
					slot ||
				++visited > record->nNumUsed)
				return problem(check, "a hash chain is broken");
			at = Z_NEXT(buckets[i].val);
		}
	}
	if (visited != record->nNumUsed)
		return problem(check, "a hash chain is incomplete");
	return true;
}

static bool
check_packed(struct check *check, const zend_array *record)
{
	const uint32_t *index = (const uint32_t *)(record + 1);
	const zval *elements =
		php_hone_record_elements(record, record->nTableMask);
	uint32_t n = 0;

	if (index[0] != HT_INVALID_IDX || index[1] != HT_INVALID_IDX)
		return problem(check, "an index is not empty");
	for (uint32_t i = 0; i < record->nNumUsed; i++) {
		n += Z_TYPE(elements[i]) != IS_UNDEF;
		if (elements[i].u2.next != 0)
			return problem(check, "an element has invalid flags");
	}
	if (n != record->nNumOfElements)
		return problem(check, "an array has a wrong count");
	/* PHP stores an appended element at this index without a check. */
	if (record->nNumUsed != 0 &&
		record->nNextFreeElement < (zend_long)record->nNumUsed)
		return problem(check, "an array has a wrong next element");
	return true;
}

/* Check a record after check_head(), except its values and keys. */
static bool
check_record(struct check *check, size_t at)
{
	const zend_array *record = (const void *)(check->bytes + at);

	if (record->nNumUsed == 0 || HT_IS_PACKED(record))
		return check_packed(check, record);
	if (record->nNumUsed != record->nNumOfElements)
		return problem(check, "an array has a wrong count");
	return check_index(check, record);
}

/* ---- objects ---- */

static bool
is_a(const zval *value, uint32_t type)
{
	return Z_TYPE_INFO_P(value) == type;
}

/* The record of an element that must be a list. NULL if no record begins
 * there. */
static const zend_array *
record_of(const struct check *check, const zval *value)
{
	size_t at = is_a(value, IS_ARRAY) ? offset_of(check, Z_PTR_P(value))
					  : SIZE_MAX;

	if (at >= check->arrays || !bit(check->graph->heads, at))
		return NULL;
	return (const void *)(check->bytes + at);
}

static const zval *
elements_of(const zend_array *record)
{
	return php_hone_record_elements(record, HT_MIN_MASK);
}

static bool
take_list(const struct check *check, const zval *from, const zval **list,
	uint32_t *n, size_t *at)
{
	const zend_array *record = record_of(check, from);

	if (record == NULL || !HT_IS_PACKED(record) || record->nNumUsed == 0)
		return false;
	*list = elements_of(record);
	*n = record->nNumUsed;
	*at = (size_t)((const unsigned char *)record - check->bytes);
	for (uint32_t i = 0; i < *n; i++)
		if (record_of(check, &(*list)[i]) == NULL)
			return false;
	return true;
}

/* Check the list of the calls. The walk checks its numbers. */
static bool
take_calls(const struct check *check, const zval *from)
{
	const zend_array *record;

	if (is_a(from, IS_NULL))
		return true;
	record = record_of(check, from);
	if (record == NULL || !HT_IS_PACKED(record))
		return false;
	check->graph->calls = elements_of(record);
	check->graph->n_calls = record->nNumUsed;
	for (uint32_t i = 0; i < record->nNumUsed; i++)
		if (!is_a(&check->graph->calls[i], IS_LONG))
			return false;
	return true;
}

/* Check the directory, and prepare the walk, after check_head() of all
 * records. */
static bool
check_directory(struct check *check)
{
	struct graph *graph = check->graph;
	const zend_array *record = (const void *)check->bytes;
	const zval *head = elements_of(record);

	if (!HT_IS_PACKED(record) || record->nNumUsed != PHP_HONE_DIRECTORY ||
		!is_a(&head[PHP_HONE_VALUE_AT], IS_OBJECT) ||
		!take_list(check, &head[PHP_HONE_OBJECTS_AT], &graph->objects,
			&graph->n_objects, &graph->objects_at) ||
		!(is_a(&head[PHP_HONE_ARRAYS_AT], IS_NULL) ||
			take_list(check, &head[PHP_HONE_ARRAYS_AT],
				&graph->arrays, &graph->n_arrays,
				&graph->arrays_at)) ||
		!is_a(&head[PHP_HONE_SHAPES_AT], IS_LONG) ||
		Z_LVAL(head[PHP_HONE_SHAPES_AT]) < 1 ||
		Z_LVAL(head[PHP_HONE_SHAPES_AT]) > graph->n_objects ||
		!is_a(&head[PHP_HONE_DEPTH_AT], IS_LONG) ||
		Z_LVAL(head[PHP_HONE_DEPTH_AT]) < 1 ||
		!take_calls(check, &head[PHP_HONE_CALLS_AT]))
		return problem(check, "the list of objects is wrong");
	graph->n_shapes = (uint32_t)Z_LVAL(head[PHP_HONE_SHAPES_AT]);
	graph->begun = calloc(graph->n_objects, sizeof(*graph->begun));
	graph->shapes = calloc(graph->n_shapes, sizeof(*graph->shapes));
	if (graph->begun == NULL || graph->shapes == NULL)
		return problem(check, PHP_HONE_NO_MEMORY);
	return true;
}

static void
free_graph(struct graph *graph)
{
	free(graph->heads);
	free(graph->special);
	free(graph->begun);
	free(graph->shapes);
}

/*
 * Find the record of a marker. *begins: this record must come next. The record
 * becomes a special one.
 */
static bool
find_marked(
	struct check *check, const zval *marker, size_t *record, bool *begins)
{
	struct graph *graph = check->graph;
	zend_long number = Z_LVAL_P(marker);
	const zval *list = number < 0 ? graph->arrays : graph->objects;
	uint32_t n = number < 0 ? graph->n_arrays : graph->n_objects;
	zend_ulong i = (zend_ulong)(number < 0 ? ~number : number);

	if (i >= n)
		return problem(check, "an object is not in the list");
	*record = offset_of(check, Z_PTR(list[i]));
	if (number < 0) {
		/* The record is complete, or is the next one. */
		*begins = !is_marked(check, *record);
		if (!*begins && !bit(graph->special, *record))
			return problem(
				check, "a marker leads to a wrong array");
	} else {
		*begins = !graph->begun[i];
		graph->begun_n += *begins;
		graph->begun[i] = true;
	}
	if (*begins && *record != check->next)
		return problem(check, "an object is not the next record");
	set_bit(graph->special, *record);
	return true;
}

static bool
is_kind(const zval *value)
{
	return is_a(value, IS_LONG) &&
	       (Z_LVAL_P(value) == 0 || Z_LVAL_P(value) == PHP_HONE_KIND_ENUM ||
		       Z_LVAL_P(value) == PHP_HONE_KIND_DATA ||
		       Z_LVAL_P(value) == PHP_HONE_KIND_WAKEUP);
}

/* The walk has checked the strings, which are all elements but two. */
static bool
check_shape(struct check *check, const zend_array *shape)
{
	size_t at = (size_t)((const unsigned char *)shape - check->bytes);
	const zval *head = elements_of(shape);
	size_t *known;

	if (!HT_IS_PACKED(shape) || shape->nNumUsed < PHP_HONE_SHAPE_HEAD ||
		bit(check->graph->special, at) ||
		!is_a(&head[PHP_HONE_SHAPE_NUMBER], IS_LONG) ||
		(zend_ulong)Z_LVAL(head[PHP_HONE_SHAPE_NUMBER]) >=
			check->graph->n_shapes ||
		!is_kind(&head[PHP_HONE_SHAPE_KIND]) ||
		(Z_LVAL(head[PHP_HONE_SHAPE_KIND]) == PHP_HONE_KIND_DATA &&
			shape->nNumUsed != PHP_HONE_SHAPE_HEAD))
		return false;
	for (uint32_t i = 0; i < shape->nNumUsed; i++)
		if (!is_a(&head[i], IS_STRING) && i != PHP_HONE_SHAPE_NUMBER &&
			i != PHP_HONE_SHAPE_KIND)
			return false;
	known = &check->graph->shapes[Z_LVAL(head[PHP_HONE_SHAPE_NUMBER])];
	if (*known == 0)
		*known = at;
	return *known == at;
}

/* The array of an element of a node, which may be a marker. NULL if there is no
 * array. */
static const zend_array *
table_of(const struct check *check, const zval *element)
{
	if (is_a(element, IS_ARRAY))
		return record_of(check, element);
	if (is_a(element, IS_OBJECT) && Z_LVAL_P(element) < 0)
		return record_of(
			check, &check->graph->arrays[~Z_LVAL_P(element)]);
	return NULL;
}

/* PHP assumes that each key of such a table is a string. */
static bool
check_properties(const struct check *check, const zval *properties)
{
	const zend_array *table = table_of(check, properties);
	const Bucket *buckets;

	if (is_a(properties, IS_NULL))
		return true;
	if (table == NULL || HT_IS_PACKED(table) || table->nNumUsed == 0)
		return false;
	buckets = php_hone_record_elements(table, table->nTableMask);
	for (uint32_t i = 0; i < table->nNumUsed; i++)
		if (buckets[i].key == NULL)
			return false;
	return true;
}

/* Check the number of a call: the list has the order in which the walk leaves
 * the nodes. */
static bool
check_call(struct graph *graph, zend_long kind, uint32_t number)
{
	if ((kind & (PHP_HONE_KIND_DATA | PHP_HONE_KIND_WAKEUP)) == 0)
		return true;
	return graph->called < graph->n_calls &&
	       Z_LVAL(graph->calls[graph->called++]) == number;
}

/* The name of a case, and the value of a backed one. */
static bool
is_enum(const zval *properties, uint32_t n)
{
	return n >= 1 && n <= 2 && is_a(&properties[0], IS_STRING) &&
	       (n == 1 || is_a(&properties[1], IS_STRING) ||
		       is_a(&properties[1], IS_LONG));
}

/* Whether the elements of a node with n properties match the kind of its
 * class. */
static bool
check_kind(
	const struct check *check, zend_long kind, const zval *node, uint32_t n)
{
	const zval *properties = &node[PHP_HONE_NODE_PROPERTIES];

	if (kind == PHP_HONE_KIND_DATA)
		return table_of(check, properties) != NULL;
	if (kind == PHP_HONE_KIND_ENUM &&
		!is_enum(node + PHP_HONE_NODE_HEAD, n))
		return false;
	return check_properties(check, properties) &&
	       (n == 0 || is_a(properties, IS_NULL));
}

/* Check a node after its elements. */
static bool
check_node(struct check *check, const zend_array *node, uint32_t number)
{
	const zval *head = elements_of(node);
	const zend_array *shape = NULL;
	zend_long kind;
	uint32_t n;

	if (HT_IS_PACKED(node) && node->nNumUsed >= PHP_HONE_NODE_HEAD)
		shape = record_of(check, &head[PHP_HONE_NODE_SHAPE]);
	if (shape == NULL || !check_shape(check, shape))
		return problem(check, "an object has no class");
	n = node->nNumUsed - PHP_HONE_NODE_HEAD;
	kind = Z_LVAL(elements_of(shape)[PHP_HONE_SHAPE_KIND]);
	if (n != shape->nNumUsed - PHP_HONE_SHAPE_HEAD ||
		!check_kind(check, kind, head, n))
		return problem(check, "an object has wrong properties");
	return check_call(check->graph, kind, number) ||
	       problem(check, "the list of calls has another object");
}

/* ---- the walk ---- */

struct level {
	size_t record;
	uint32_t element;
	bool special;   /* the record may have markers */
	uint32_t node;  /* the number of its object plus 1; 0: another record */
	uint32_t depth; /* as in build.c; only with objects */
};

static bool
check_strings(struct check *check)
{
	size_t at = check->arrays;

	while (at < check->size) {
		if (!check_string(check, at))
			return false;
		at += php_hone_string_size(
			ZSTR_LEN((const zend_string *)(check->bytes + at)));
	}
	return true;
}

static bool
check_string_at(struct check *check, const void *pointer)
{
	size_t offset = offset_of(check, pointer);

	if (offset == SIZE_MAX || offset < check->arrays ||
		!is_marked(check, offset))
		return problem(check, "a pointer does not lead to a string");
	return true;
}

/* Whether the present element is deeper than its record: the dynamic properties
 * of an object are not. */
static bool
is_deeper(const struct level *level)
{
	return level->node == 0 || level->element > PHP_HONE_NODE_HEAD;
}

static bool
push(struct check *check, size_t record, bool special, uint32_t node)
{
	struct graph *graph = check->graph;
	struct level *level;

	if (graph != NULL && check->stack.used / sizeof(*level) >= DEEPEST)
		return problem(check, "objects are nested too deep");
	if (!php_hone_buffer_reserve(&check->stack, sizeof(*level)))
		return problem(check, PHP_HONE_NO_MEMORY);
	level = (struct level *)(check->stack.bytes + check->stack.used);
	check->stack.used += sizeof(*level);
	level->record = record;
	level->element = 0;
	level->special = special;
	level->node = node;
	level->depth = 0;
	if (graph != NULL && check->stack.used > sizeof(*level))
		level->depth = level[-1].depth + is_deeper(&level[-1]);
	if (graph != NULL && level->depth > graph->depth)
		graph->depth = level->depth;
	if (record >= check->arrays)
		return problem(check, "an array is missing");
	if (!check_record(check, record))
		return false;
	check->next =
		record + php_hone_record_bytes(
				 (const zend_array *)(check->bytes + record));
	return true;
}

static struct level *
top(const struct check *check)
{
	return (struct level *)(check->stack.bytes + check->stack.used) - 1;
}

/* Whether the record on top of the stack is the list of objects, or the list of
 * arrays with objects. */
static bool
is_list(const struct check *check)
{
	size_t record = top(check)->record;

	return record == check->graph->objects_at ||
	       (check->graph->n_arrays != 0 &&
		       record == check->graph->arrays_at);
}

static bool
check_array_at(struct check *check, const void *pointer)
{
	size_t offset = offset_of(check, pointer);

	bool listed = check->graph != NULL && is_list(check);

	if (offset != SIZE_MAX && offset == check->next && !listed)
		return push(check, offset, false, 0);
	if (offset == SIZE_MAX || offset >= check->next ||
		!is_marked(check, offset))
		return problem(check, "a pointer does not lead to an array");
	/* Only these two lists lead to records with markers. */
	if (check->graph != NULL &&
		bit(check->graph->special, offset) != listed)
		return problem(
			check, "a pointer leads to a wrong kind of array");
	return true;
}

/* An object, or an array that has objects. */
static bool
check_marker(struct check *check, const zval *marker)
{
	bool begins;
	size_t record;

	if (check->graph == NULL || !top(check)->special)
		return problem(check, "a value has an unknown type");
	if (!find_marked(check, marker, &record, &begins))
		return false;
	return !begins ||
	       push(check, record, true,
		       Z_LVAL_P(marker) < 0 ? 0
					    : (uint32_t)Z_LVAL_P(marker) + 1);
}

static bool
check_value(struct check *check, const zval *value)
{
	if (Z_TYPE_INFO_P(value) != Z_TYPE_P(value))
		return problem(check, "a value has invalid flags");
	switch (Z_TYPE_P(value)) {
	case IS_UNDEF:
	case IS_NULL:
	case IS_FALSE:
	case IS_TRUE:
		if (Z_LVAL_P(value) != 0)
			return problem(check, "a value has invalid bits");
		return true;
	case IS_LONG:
	case IS_DOUBLE:
		return true;
	case IS_STRING:
		return check_string_at(check, Z_PTR_P(value));
	case IS_ARRAY:
		return check_array_at(check, Z_PTR_P(value));
	case IS_OBJECT:
		return check_marker(check, value);
	default:
		return problem(check, "a value has an unknown type");
	}
}

static bool
check_key(struct check *check, const Bucket *bucket)
{
	const zend_string *key;

	if (Z_TYPE(bucket->val) == IS_UNDEF)
		return problem(check, "an element is empty");
	if (bucket->key == NULL)
		return true;
	if (!check_string_at(check, bucket->key))
		return false;
	key = (const void *)(check->bytes + offset_of(check, bucket->key));
	if (ZSTR_H(key) != bucket->h)
		return problem(check, "a key has a wrong hash");
	return true;
}

/* Check the place of an array with objects: a fetch makes these arrays in the
 * order of the list, and each array after the arrays in it. */
static bool
end_special(struct check *check, size_t record)
{
	struct graph *graph = check->graph;

	return (graph->ended < graph->n_arrays &&
		       offset_of(check, Z_PTR(graph->arrays[graph->ended++])) ==
			       record) ||
	       problem(check,
		       "the list of arrays with objects has a wrong order");
}

/* Check the next element of the array on top of the stack. */
static bool
check_next(struct check *check)
{
	struct level *level = top(check);
	const zend_array *record = (const void *)(check->bytes + level->record);
	const void *elements =
		php_hone_record_elements(record, record->nTableMask);
	uint32_t i = level->element++;

	if (i == record->nNumUsed) {
		if (level->node != 0 &&
			!check_node(check, record, level->node - 1))
			return false;
		if (level->special && level->node == 0 && level->record != 0 &&
			!end_special(check, level->record))
			return false;
		mark(check, level->record);
		check->stack.used -= sizeof(*level);
		return true;
	}
	if (HT_IS_PACKED(record))
		return check_value(check, (const zval *)elements + i);
	return check_key(check, (const Bucket *)elements + i) &&
	       check_value(check, &((const Bucket *)elements)[i].val);
}

/* Check the heads of all records, and find their end. */
static bool
find_strings(struct check *check)
{
	size_t at = 0;

	while (check->size - at >= sizeof(zend_array) &&
		php_hone_is_record(check->bytes + at)) {
		if (!check_head(check, at))
			return false;
		if (check->graph != NULL)
			set_bit(check->graph->heads, at);
		at += php_hone_record_bytes(
			(const zend_array *)(check->bytes + at));
	}
	check->arrays = at;
	return true;
}

/* A fetch compares the stored depth with unserialize_max_depth. */
static bool
check_depth(const struct check *check)
{
	const zval *head = elements_of((const zend_array *)check->bytes);

	return Z_LVAL(head[PHP_HONE_DEPTH_AT]) == check->graph->depth;
}

static bool
check_arrays(struct check *check)
{
	bool objects = check->graph != NULL;

	if (!find_strings(check) || !check_strings(check))
		return false;
	if (check->arrays == 0)
		return problem(check, "an array is missing");
	if (objects && !check_directory(check))
		return false;
	if (!push(check, 0, objects, 0))
		return false;
	while (check->stack.used != 0) {
		if (!check_next(check))
			return false;
	}
	if (check->next != check->arrays)
		return problem(check, "an array is not part of the value");
	/* So each element of a list has exactly one marker that began it. */
	if (objects && (check->graph->begun_n != check->graph->n_objects ||
			       check->graph->ended != check->graph->n_arrays ||
			       check->graph->called != check->graph->n_calls))
		return problem(check,
			"a list has an element that is not in the value");
	if (objects && !check_depth(check))
		return problem(check, "the depth of the value is wrong");
	return true;
}

static bool
check_root(struct check *check, const zval *root)
{
	uint32_t type = Z_TYPE_P(root);

	if (Z_TYPE_INFO_P(root) != type || root->u2.next != 0)
		return problem(check, "the value has invalid flags");
	if (type < IS_STRING)
		return check->size == 0 && type != IS_UNDEF
			       ? check_value(check, root)
			       : problem(check, "the value has no data");
	if (type > IS_ARRAY || check->size < sizeof(zend_array) - 24 ||
		check->size % 8 != 0)
		return problem(check, "the value has a wrong type");
	if (check->base % PHP_HONE_VALUE_ALIGN != 0 ||
		(uint64_t)(uintptr_t)Z_PTR_P(root) != check->base)
		return problem(check, "the value has a wrong address");
	if (type == IS_ARRAY)
		return check_arrays(check);
	return check_string(check, 0) &&
	       (php_hone_string_size(ZSTR_LEN(
			(const zend_string *)check->bytes)) == check->size ||
		       problem(check, "there are bytes after the string"));
}

static bool
check_all(struct check *check, const zval *root, const char **phrase)
{
	bool good = false;

	check->begins = calloc(check->size / 512 + 1, sizeof(*check->begins));
	if (check->begins == NULL)
		check->problem = PHP_HONE_NO_MEMORY;
	else
		good = check_root(check, root);
	free(check->begins);
	free(check->stack.bytes);
	*phrase = check->problem;
	return good;
}

bool
php_hone_value_check(const void *bytes, size_t size, uint64_t base,
	const zval *root, const char **phrase)
{
	struct check check = {.bytes = bytes, .size = size, .base = base};

	return check_all(&check, root, phrase);
}

bool
php_hone_value_check_objects(const void *bytes, size_t size, uint64_t base,
	const zval *root, const char **phrase)
{
	size_t words = size / 512 + 1;
	struct graph graph = {
		.heads = calloc(words, sizeof(*graph.heads)),
		.special = calloc(words, sizeof(*graph.special)),
	};
	struct check check = {
		.bytes = bytes, .size = size, .base = base, .graph = &graph};
	bool good = false;

	*phrase = PHP_HONE_NO_MEMORY;
	if (graph.heads != NULL && graph.special != NULL)
		good = check_all(&check, root, phrase);
	free_graph(&graph);
	return good;
}
