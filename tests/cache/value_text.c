/* SPDX-License-Identifier: BSD-3-Clause */
#include "value_text.h"
#include "graph.h"

/* What php/cache/values needs of PHP itself. */
zend_class_entry *zend_ce_closure;
uintptr_t
php_hone_stack_limit(void)
{
	return 0;
}

const HashTable zend_empty_array = {.nNextFreeElement = ZEND_LONG_MIN};
zend_class_entry *zend_standard_class_def;
const zend_object_handlers std_object_handlers;

/* A table of methods has __wakeup() or __sleep(): its count is W or S. */
zval *
zend_hash_str_find(const HashTable *table, const char *name, size_t len)
{
	static zval method;
	uint32_t kind = table->nNumOfElements;

	(void)len;
	return (kind == 'W' && strcmp(name, "__wakeup") == 0) ||
			       (kind == 'S' && strcmp(name, "__sleep") == 0)
		       ? &method
		       : NULL;
}

/* Values of one text; the next text has the same memory. */
static _Alignas(64) unsigned char memory[1 << 16];
static size_t used;
static zend_array *last;

#define MOST 32
static zend_class_entry *classes[MOST];
static zend_object *objects[MOST];
static struct php_hone_answer answers[MOST];
static unsigned n_classes, n_objects, n_answers, n_enums;

/* PHP's headers may turn assert() off. */
void
value_must(bool good)
{
	if (!good)
		abort();
}

static void *
take(size_t size)
{
	void *at = memory + used;

	used += (size + 7) / 8 * 8;
	value_must(used <= sizeof memory);
	memset(at, 0, size);
	return at;
}

static void parse(const char **text, zval *value);

static zend_string *
parse_string(const char **text)
{
	size_t len = strcspn(++*text, "'");
	zend_string *string = take(_ZSTR_STRUCT_SIZE(len));

	GC_SET_REFCOUNT(string, 1);
	GC_TYPE_INFO(string) = IS_STRING;
	ZSTR_LEN(string) = len;
	/* What lies after a string of PHP is anything. */
	memset(ZSTR_VAL(string) + len + 1, 0xee, 7 - len % 8);
	memcpy(ZSTR_VAL(string), *text, len);
	*text += len + 1;
	return string;
}

static zend_array *
new_array(uint32_t flags)
{
	zend_array *array = take(sizeof *array);

	GC_SET_REFCOUNT(array, 1);
	GC_TYPE_INFO(array) = IS_ARRAY;
	HT_FLAGS(array) = flags;
	array->nTableSize = 64;
	array->nNextFreeElement = ZEND_LONG_MIN;
	return array;
}

static zend_array *
parse_list(const char **text)
{
	zend_array *array = new_array(HASH_FLAG_PACKED);
	uint32_t *data = take(HT_PACKED_SIZE_EX(64, HT_MIN_MASK));

	data[0] = data[1] = HT_INVALID_IDX;
	HT_SET_DATA_ADDR(array, data);
	array->nTableMask = HT_MIN_MASK;
	HT_SET_DATA_ADDR(array, data);
	for (++*text; **text != ']'; *text += **text == ' ') {
		zval *to = &array->arPacked[array->nNumUsed++];
		parse(text, to);
		array->nNumOfElements += Z_TYPE_P(to) != IS_UNDEF;
		array->nNextFreeElement = array->nNumUsed;
	}
	++*text;
	return array;
}

static void
parse_bucket(const char **text, zend_array *array)
{
	uint32_t i = array->nNumUsed++;
	Bucket *bucket = &array->arData[i];
	uint32_t *slot;

	if (**text == '\'') {
		bucket->key = parse_string(text);
		bucket->h = php_hone_string_hash(
			ZSTR_VAL(bucket->key), ZSTR_LEN(bucket->key));
	} else {
		bucket->h = strtoul(*text, (char **)(uintptr_t)text, 10);
		if (array->nNextFreeElement <= (zend_long)bucket->h)
			array->nNextFreeElement = (zend_long)bucket->h + 1;
	}
	++*text;
	parse(text, &bucket->val);
	slot = &HT_HASH(array, (int32_t)(bucket->h | array->nTableMask));
	Z_NEXT(bucket->val) = *slot;
	*slot = HT_IDX_TO_HASH(i);
}

static zend_array *
parse_table(const char **text)
{
	zend_array *array = new_array(0);
	char *data;

	array->nTableSize = HT_MIN_SIZE;
	for (const char *c = *text; *c != '\0'; c++) {
		/* Each takes at least four characters of the text. */
		if ((size_t)(c - *text) / 4 >= array->nTableSize)
			array->nTableSize *= 2;
	}
	data = take(HT_SIZE_EX(
		array->nTableSize, HT_SIZE_TO_MASK(array->nTableSize)));
	array->nTableMask = HT_SIZE_TO_MASK(array->nTableSize);
	memset(data, 0xff, HT_HASH_SIZE(array->nTableMask));
	HT_SET_DATA_ADDR(array, data);
	for (++*text; **text != '}'; *text += **text == ' ')
		parse_bucket(text, array);
	array->nNumOfElements = array->nNumUsed;
	++*text;
	return array;
}

/* The class of this name, whose objects all have n properties. */
static zend_class_entry *
class_of(zend_string *name, char kind, int n)
{
	static zend_function method;
	zend_class_entry *class;

	for (unsigned i = 0; i < n_classes; i++)
		if (strcmp(ZSTR_VAL(classes[i]->name), ZSTR_VAL(name)) == 0)
			return classes[i];
	value_must(n_classes < MOST);
	class = classes[n_classes++] = take(sizeof *class);
	class->name = name;
	class->type = ZEND_USER_CLASS;
	class->ce_flags = ZEND_ACC_LINKED;
	class->default_properties_count = n;
	class->properties_info_table = take(((size_t)n + 1) * sizeof(void *));
	class->function_table.nNumOfElements = (uint32_t)kind;
	if (kind == 'E')
		class->ce_flags |= ZEND_ACC_ENUM;
	if (kind == 'T')
		class->ce_flags |= ZEND_ACC_ALLOW_DYNAMIC_PROPERTIES;
	if (kind == 'D')
		class->__serialize = class->__unserialize = &method;
	return class;
}

static void
parse_properties(
	const char **text, zend_object *object, zval *values, uint32_t *places)
{
	uint32_t place = 0;

	for (int i = 0; **text == '\''; *text += **text == ' ', i++) {
		zend_string *name = parse_string(text);
		zend_property_info *info = take(sizeof *info);
		value_must(i < object->ce->default_properties_count);
		info->name = name;
		if (object->ce->properties_info_table[i] == NULL)
			object->ce->properties_info_table[i] = info;
		++*text;
		parse(text, &values[i]);
		if (places != NULL && Z_TYPE(values[i]) != IS_UNDEF)
			places[i] = ++place;
	}
}

static zend_object *
parse_object(const char **text)
{
	char kind = *++*text;
	int n = *++*text - '0';
	zend_string *name = (++*text, parse_string(text));
	zend_class_entry *class = class_of(name, kind, n);
	zend_object *object = take(sizeof *object + (size_t)n * sizeof(zval));
	zval other = {0};
	uint32_t *places = NULL;
	struct php_hone_answer *answer = NULL;

	value_must(n_objects < MOST);
	objects[n_objects++] = object;
	n_enums += kind == 'E';
	GC_SET_REFCOUNT(object, 1);
	GC_TYPE_INFO(object) = IS_OBJECT;
	object->ce = class;
	object->handlers = zend_get_std_object_handlers();
	object->handle = (uint32_t)n_objects;
	if (kind == 'D' || kind == 'S') {
		answer = &answers[n_answers++];
		answer->object = object;
	}
	if (kind == 'S') {
		ZVAL_NEW_STR(&answer->data,
			take(_ZSTR_STRUCT_SIZE((size_t)n * sizeof *places)));
		places = (uint32_t *)Z_STRVAL(answer->data);
	}
	*text += **text == ' ';
	if (kind == 'D' || kind == 'T')
		parse(text, &other);
	else
		parse_properties(
			text, object, object->properties_table, places);
	if (kind == 'D')
		answer->data = other;
	else if (kind == 'T')
		object->properties = Z_ARR(other);
	value_must(**text == ')');
	++*text;
	return object;
}

static void
parse(const char **text, zval *value)
{
	uint32_t next = Z_NEXT_P(value);

	switch (**text) {
	case '\'':
		ZVAL_NEW_STR(value, parse_string(text));
		break;
	case '[':
	case '{':
		last = **text == '[' ? parse_list(text) : parse_table(text);
		ZVAL_ARR(value, last);
		break;
	case '&':
		++*text;
		value_must(last != NULL);
		GC_ADDREF(last);
		ZVAL_ARR(value, last);
		break;
	case '(':
		ZVAL_OBJ(value, parse_object(text));
		break;
	case '#': {
		unsigned number = (unsigned)strtoul(
			++*text, (char **)(uintptr_t)text, 10);
		value_must(number < n_objects);
		GC_ADDREF(objects[number]);
		ZVAL_OBJ(value, objects[number]);
		break;
	}
	case 'N':
	case 'T':
	case 'F':
	case '_':
		Z_TYPE_INFO_P(value) = **text == 'N'   ? IS_NULL
				       : **text == 'T' ? IS_TRUE
				       : **text == 'F' ? IS_FALSE
						       : IS_UNDEF;
		++*text;
		break;
	default:
		ZVAL_LONG(value, strtol(*text, (char **)(uintptr_t)text, 10));
	}
	Z_NEXT_P(value) = next;
}

static zval
value_of(const char *text)
{
	zval value;

	used = 0;
	last = NULL;
	n_classes = n_objects = n_answers = n_enums = 0;
	memset(&value, 0, sizeof value);
	parse(&text, &value);
	value_must(*text == '\0');
	return value;
}

static struct text_made
placed(const struct php_hone_builder *builder)
{
	struct text_made made = {.size = builder->size};

	made.bytes = aligned_alloc(64, (made.size + 64) / 64 * 64);
	value_must(made.bytes != NULL);
	php_hone_value_place(
		builder, made.bytes, (const void *)TEXT_BASE, &made.root);
	return made;
}

struct text_made
text_store(const char *text)
{
	static struct php_hone_builder builder;
	struct text_made made;
	zval value = value_of(text);

	if (php_hone_value_build(&builder, &value) == PHP_HONE_BUILT_OBJECT) {
		struct php_hone_answers all = {.of = answers,
			.n = n_answers,
			.objects = n_objects - n_enums};

		value_must(php_hone_value_build_objects(&builder, &value,
				   n_answers != 0 ? &all : NULL) ==
			   PHP_HONE_BUILT_GRAPH);
	}
	value_must(builder.refused == PHP_HONE_REFUSED_NOT);
	made = placed(&builder);
	php_hone_builder_free(&builder);
	return made;
}

struct text_made
text_names(unsigned n)
{
	char name[] = "'the name of row 00' ";
	char text[64 * sizeof name + 2] = "[";

	value_must(n <= 64);
	for (unsigned i = 0; i < n; i++) {
		name[17] = (char)('0' + i / 10);
		name[18] = (char)('0' + i % 10);
		memcpy(text + 1 + i * (sizeof name - 1), name, sizeof name);
	}
	text[1 + n * (sizeof name - 1)] = ']';
	return text_store(text);
}

void
text_cold(struct php_hone_cold *cold, const struct text_made *made, bool graph)
{
	struct php_hone_value stored = {
		made->root, made->size != 0 ? made->bytes : NULL, made->size};

	value_must(php_hone_cold_write(cold, &stored, NULL, graph));
}

bool
text_built(struct php_hone_cold *cold, const char *text)
{
	static struct php_hone_builder builder;
	zval value = value_of(text);
	bool good =
		php_hone_value_build(&builder, &value) == PHP_HONE_BUILT_FLAT &&
		Z_TYPE(builder.root) == IS_ARRAY;

	value_must(!good || php_hone_cold_write(cold, NULL, &builder, false));
	return good;
}

/* ---- php_hone_cold_read_to() beside php_hone_cold_read() ---- */

/* In exactly `room` bytes. Returns the memory. */
static char *
read_to(struct php_hone_cold *cold, const void *bytes, size_t size,
	struct php_hone_builder *builder, size_t room, const char **phrase)
{
	char *at = malloc(room);

	value_must(at != NULL);
	if (php_hone_cold_read_to(cold, bytes, size, builder, at, room, phrase))
		*phrase = NULL;
	return at;
}

static void
is_equal_string_in_place(const struct text_made *made, const zend_string *of,
	const zend_string *string)
{
	const zend_string *other =
		(const void *)(made->bytes + (uintptr_t)of - TEXT_BASE);

	value_must(ZSTR_LEN(string) == ZSTR_LEN(other) &&
		   memcmp(ZSTR_VAL(string), ZSTR_VAL(other),
			   ZSTR_LEN(other) + 1) == 0);
	value_must(ZSTR_IS_INTERNED(string) && GC_REFCOUNT(string) == 2);
	value_must(ZSTR_H(string) == ZSTR_H(other));
}

static void
is_equal_in_place(const struct text_made *made, const zval *of,
	const zval *value, const char *at)
{
	value_must(Z_TYPE_INFO_P(of) == Z_TYPE_INFO_P(value));
	if (Z_TYPE_P(of) == IS_STRING)
		is_equal_string_in_place(made, Z_PTR_P(of), Z_PTR_P(value));
	else if (Z_TYPE_P(of) == IS_ARRAY)
		value_must((uintptr_t)Z_PTR_P(of) - TEXT_BASE ==
			   (uintptr_t)Z_PTR_P(value) - (uintptr_t)at);
	else if (Z_TYPE_P(of) == IS_LONG || Z_TYPE_P(of) == IS_DOUBLE)
		value_must(Z_LVAL_P(of) == Z_LVAL_P(value));
}

/* The record, and what its index leads to. Returns its bytes. */
static size_t
is_equal_record(const struct text_made *made, const zend_array *of,
	const zend_array *record, const char *at)
{
	const void *x = php_hone_record_elements(of, of->nTableMask);
	const void *y = php_hone_record_elements(record, record->nTableMask);
	bool packed = HT_IS_PACKED(of);

	value_must(of->nTableMask == record->nTableMask &&
		   HT_FLAGS(of) == HT_FLAGS(record) &&
		   of->nNumUsed == record->nNumUsed &&
		   of->nNumOfElements == record->nNumOfElements &&
		   of->nNextFreeElement == record->nNextFreeElement &&
		   (const void *)record->arData == y &&
		   record->pDestructor == NULL);
	value_must(
		memcmp(of + 1, record + 1, HT_HASH_SIZE(of->nTableMask)) == 0);
	for (uint32_t i = 0; i < of->nNumUsed; i++) {
		const Bucket *a = (const Bucket *)x + i;
		const Bucket *b = (const Bucket *)y + i;
		if (packed) {
			is_equal_in_place(made, (const zval *)x + i,
				(const zval *)y + i, at);
			continue;
		}
		value_must(a->h == b->h &&
			   (a->key == NULL) == (b->key == NULL) &&
			   Z_NEXT(a->val) == Z_NEXT(b->val));
		if (a->key != NULL)
			is_equal_string_in_place(made, a->key, b->key);
		is_equal_in_place(made, &a->val, &b->val, at);
	}
	return php_hone_record_bytes(of);
}

/* In exactly the bytes of the value, twice, since the keys of the first table
 * are kept; 8 bytes less are too few, 8 more too many. */
static void
is_made_in_place(struct php_hone_cold *cold, const void *bytes, size_t size,
	const struct text_made *made)
{
	static struct php_hone_builder builder;
	const char *phrase;
	char *at;

	for (unsigned n = 0; n < 2; n++) {
		at = read_to(cold, bytes, size, &builder, made->size, &phrase);
		value_must(phrase == NULL && Z_TYPE(builder.root) == IS_ARRAY &&
			   Z_PTR(builder.root) == (void *)at);
		for (size_t i = 0;
			i < made->size && php_hone_is_record(made->bytes + i);)
			i += is_equal_record(made,
				(const void *)(made->bytes + i),
				(const void *)(at + i), at);
		free(at);
	}
	free(read_to(cold, bytes, size, &builder, made->size - 8, &phrase));
	value_must(strcmp(phrase, PHP_HONE_NO_MEMORY) == 0);
	free(read_to(cold, bytes, size, &builder, made->size + 8, &phrase));
	value_must(phrase != NULL);
}

bool
text_warm(struct php_hone_cold *cold, const void *bytes, size_t size,
	bool graph, struct text_made *made, const char **phrase)
{
	static struct php_hone_builder builder;
	const char *other;

	if (!php_hone_cold_read(cold, bytes, size, graph, &builder, phrase)) {
		if (graph)
			return false;
		free(read_to(cold, bytes, size, &builder, 65536, &other));
		value_must(other != NULL &&
			   (strcmp(other, *phrase) == 0 ||
				   strcmp(other, PHP_HONE_NO_MEMORY) == 0));
		return false;
	}
	*made = placed(&builder);
	if (!graph && Z_TYPE(made->root) == IS_ARRAY)
		is_made_in_place(cold, bytes, size, made);
	return true;
}

bool
text_again(struct php_hone_cold *cold, bool graph, struct text_made *made)
{
	size_t size = cold->bytes.used;
	void *copy = malloc(size);
	const char *phrase;
	bool good;

	value_must(copy != NULL);
	memcpy(copy, cold->bytes.bytes, size);
	good = text_warm(cold, copy, size, graph, made, &phrase);
	free(copy);
	return good;
}

const char *const value_texts[] = {
	"N",
	"12",
	"''",
	"'x'",
	("'a text of some length, for which a vector is used: 1234567890 "
	 "1234567"
	 "890 1234567890 1234567890 1234567890 1234567890 1234567890 "
	 "1234567890'"),
	"[]",
	"{}",
	"[1]",
	"[N T F 1 'a' 'b']",
	"[1 _ 3]",
	/* Four values of a list are copied at once. */
	"['a' 2 3 4 5 6 7 8 ['b']]",
	"[1 'a' 3 4 5 ['b'] 7 8 9]",
	"[1 2 'a' 4 5 6 ['b'] 8 9]",
	"[1 2 3 'a' 5 6 7 ['b'] 9]",
	"[1 2 3 4 'a' 6 7 8 9 10 'b']",
	"[N T F 1 N T F 1]",
	"[[] [] {}]",
	"{'k':1}",
	"{7:'v'}",
	"{'k':{'a':1} 'l':3}",
	"['s' ['t'] {'k':&} &]",
	"[[[[[[1]]]]] {'a':{'b':{'c':{'d':'e'}}}}]",
	/* Rows: the second one is read without a level. */
	"[{'k':1} {'k':2} {'k':3} {'k':4} {'k':5} [1 2 3 4]]",
	("{'a':{'k':1 'l':'x'} 'b':{'k':300 'l':&} 'c':{'k':[1] 'l':&} "
	 "'d':{'k':F 'l':2}}"),
	/* One chain: the keys differ above the mask. */
	"{0:1 64:2 128:3 192:4 256:5 320:6}",
	("{'one':1 'two':2 'three':3 'four':4 'five':5 'six':6 'seven':7 "
	 "'eight':8 'nine':9 'ten':10 'eleven':11 'twelve':12}"),
	NULL,
};

const char *const object_texts[] = {
	"(O0'Empty')",
	"(O3'C' 'a':1 'b':'x' 'c':[1 2])",
	"(O3'C' 'a':_ 'b':N 'c':(O3'C' 'a':#0 'b':#1 'c':_))",
	"[(O1'C' 'a':1) (O1'C' 'a':'x') #0 [#1]]",
	"[(E1'Suit' 'name':'Hearts') (E2'Level' 'name':'Low' 'value':7)]",
	"[(E2'Name' 'name':'A' 'value':'a') #0 {'k':#0}]",
	"(W2'Wakes' 'tag':1 'of':[(W2'Wakes' 'tag':2 'of':#0) N])",
	"[(D0'Data' [1 2]) (D0'Data' []) (D0'Data' {'a':[#0 #1] 'b':'x'})]",
	"(D0'Outer' {'of':(D0'Data' {'x':(W1'Wakes' 'of':#0)})})",
	"(T0'Dynamic' {'a':1 'b':[1 2] 'c':#0})",
	"[(T0'Dynamic' {'x':(T0'Dynamic' {'y':'z'})}) {'s':#1}]",
	"(S3'Sleeps' 'a':1 'b':_ 'c':(O1'C' 'a':#0))",
	"[(S2'Sleeps' 'a':(D0'Data' ['x']) 'b':2) #0]",
	"['s' [(O1'C' 'a':N)] & {'k':& 'l':#0}]",
	("{'list':[1 'a' 3 4 5 (O2'C' 'a':[[(O2'C' 'a':1 'b':'y')]] "
	 "'b':['x' 'y']) 7 8 9] 'same':[#1 #0] 'plain':[1 [2 {'k':'v'}]]}"),
	("[(O1'C' 'a':(W1'W' 'b':(D0'D' ['d' (E1'E' 'name':'A')]))) "
	 "(T0'T' {'p':(S1'S' 'q':#1)}) [[[[#0 #2 #5]]]]]"),
	NULL,
};

static volatile zend_ulong sink;

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
