/* SPDX-License-Identifier: BSD-3-Clause */
#include "value_text.h"

/* What php/cache/values needs of PHP itself. */
zend_class_entry *zend_ce_closure;
const HashTable zend_empty_array = {.nNextFreeElement = ZEND_LONG_MIN};
/* For values with objects, of which these tests have none. */
zend_class_entry *zend_standard_class_def;
const zend_object_handlers std_object_handlers;

zval *
zend_hash_str_find(const HashTable *table, const char *name, size_t len)
{
	(void)table, (void)name, (void)len;
	return NULL;
}

/* Values of one text; the next text has the same memory. */
static _Alignas(64) unsigned char memory[1 << 16];
static size_t used;
static zend_array *last;

/* PHP's headers may turn assert() off. */
static void
must(bool good)
{
	if (!good)
		abort();
}

static void *
take(size_t size)
{
	void *at = memory + used;

	used += (size + 7) / 8 * 8;
	must(used <= sizeof memory);
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
		must(last != NULL);
		GC_ADDREF(last);
		ZVAL_ARR(value, last);
		break;
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
	memset(&value, 0, sizeof value);
	parse(&text, &value);
	must(*text == '\0');
	return value;
}

struct text_made
text_store(const char *text)
{
	static struct php_hone_builder builder;
	struct text_made made = {0};
	zval value = value_of(text);

	php_hone_value_build(&builder, &value);
	must(builder.refused == NULL);
	made.size = builder.size;
	made.bytes = aligned_alloc(64, (made.size + 64) / 64 * 64);
	must(made.bytes != NULL);
	php_hone_value_place(
		&builder, made.bytes, (const void *)TEXT_BASE, &made.root);
	php_hone_builder_free(&builder);
	return made;
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
	/* One chain: the keys differ above the mask. */
	"{0:1 64:2 128:3 192:4 256:5 320:6}",
	("{'one':1 'two':2 'three':3 'four':4 'five':5 'six':6 'seven':7 "
	 "'eight':8 'nine':9 'ten':10 'eleven':11 'twelve':12}"),
	NULL,
};
