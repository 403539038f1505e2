/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes stored objects in the format of serialize(). */
#include "../cache.h"
#include "../values/graph.h"
#include "zend_smart_str.h"

struct writing {
	const zval *nodes, *arrays;
	zend_long *places; /* of each object, for "r:"; 0: not written */
	zend_long n;       /* values written so far */
	smart_str text;
	size_t most; /* bytes of the text */
	bool too_long;
	uintptr_t stack_limit;
	bool too_deep;
};

/*
 * An array at two places is written twice, so a few small arrays can give any
 * length. unserialize() needs several times the memory of the text.
 */
#define TEXT_MOST ((size_t)256 << 20)
#define MEMORY_PER_TEXT 8

static void write_value(struct writing *to, const zval *value);

static void
write_string(struct writing *to, const zend_string *string)
{
	smart_str_append_printf(&to->text, "s:%zu:\"", ZSTR_LEN(string));
	smart_str_append(&to->text, string);
	smart_str_appendl(&to->text, "\";", 2);
}

static void
write_number(struct writing *to, char type, zend_long number)
{
	smart_str_append_printf(
		&to->text, "%c:" ZEND_LONG_FMT ";", type, number);
}

/* The names of properties are strings, even "1". */
static void
write_elements(struct writing *to, const zend_array *array)
{
	zend_ulong index;
	zend_string *key;
	zval *value;

	ZEND_HASH_FOREACH_KEY_VAL((zend_array *)array, index, key, value)
	{
		if (key != NULL)
			write_string(to, key);
		else
			write_number(to, 'i', (zend_long)index);
		write_value(to, value);
		if (to->too_long || to->too_deep)
			return;
	}
	ZEND_HASH_FOREACH_END();
}

static void
write_array(struct writing *to, const zend_array *array)
{
	smart_str_append_printf(
		&to->text, "a:%u:{", zend_hash_num_elements(array));
	write_elements(to, array);
	smart_str_appendc(&to->text, '}');
}

static void
write_object(struct writing *to, const zval *node)
{
	const zend_array *shape = Z_ARR(node[PHP_HONE_NODE_SHAPE]);
	const zval *head = shape->arPacked;
	const zend_string *class = Z_STR(head[PHP_HONE_SHAPE_CLASS]);
	uint32_t n = shape->nNumUsed - PHP_HONE_SHAPE_HEAD, written = 0;
	const zval *properties = &node[PHP_HONE_NODE_PROPERTIES];
	const zend_array *dynamic = NULL;

	node += PHP_HONE_NODE_HEAD;
	if (Z_LVAL(head[PHP_HONE_SHAPE_KIND]) == PHP_HONE_KIND_ENUM) {
		smart_str_append_printf(&to->text, "E:%zu:\"%s:%s\";",
			ZSTR_LEN(class) + 1 + Z_STRLEN_P(node), ZSTR_VAL(class),
			Z_STRVAL_P(node));
		return;
	}
	if (Z_TYPE_P(properties) == IS_ARRAY)
		dynamic = Z_ARR_P(properties);
	else if (Z_TYPE_P(properties) == IS_OBJECT)
		dynamic = Z_ARR(to->arrays[~Z_LVAL_P(properties)]);
	for (uint32_t i = 0; i < n; i++)
		written += Z_TYPE(node[i]) != IS_UNDEF;
	if (dynamic != NULL)
		written += zend_hash_num_elements(dynamic);
	smart_str_append_printf(&to->text, "O:%zu:\"%s\":%u:{", ZSTR_LEN(class),
		ZSTR_VAL(class), written);
	for (uint32_t i = 0; i < n; i++) {
		if (Z_TYPE(node[i]) == IS_UNDEF)
			continue;
		write_string(to, Z_STR(head[PHP_HONE_SHAPE_HEAD + i]));
		write_value(to, &node[i]);
	}
	if (dynamic != NULL)
		write_elements(to, dynamic);
	smart_str_appendc(&to->text, '}');
}

static void
write_marker(struct writing *to, zend_long number)
{
	if (number < 0) {
		write_array(to, Z_ARR(to->arrays[~number]));
		return;
	}
	if (to->places[number] != 0) {
		write_number(to, 'r', to->places[number]);
		return;
	}
	to->places[number] = to->n;
	write_object(to, Z_ARR(to->nodes[number])->arPacked);
}

static void
write_value(struct writing *to, const zval *value)
{
	to->n++;
	if (to->text.s != NULL && ZSTR_LEN(to->text.s) > to->most)
		to->too_long = true;
	if (php_hone_stack_is_past(to->stack_limit))
		to->too_deep = true;
	if (to->too_long || to->too_deep)
		return;
	switch (Z_TYPE_P(value)) {
	case IS_FALSE:
	case IS_TRUE:
		smart_str_appends(&to->text,
			Z_TYPE_P(value) == IS_TRUE ? "b:1;" : "b:0;");
		break;
	case IS_LONG:
		write_number(to, 'i', Z_LVAL_P(value));
		break;
	case IS_DOUBLE:
		smart_str_appendl(&to->text, "d:", 2);
		smart_str_append_double(&to->text, Z_DVAL_P(value),
			(int)PG(serialize_precision), false);
		smart_str_appendc(&to->text, ';');
		break;
	case IS_STRING:
		write_string(to, Z_STR_P(value));
		break;
	case IS_ARRAY:
		write_array(to, Z_ARR_P(value));
		break;
	case IS_OBJECT:
		write_marker(to, Z_LVAL_P(value));
		break;
	default:
		smart_str_appendl(&to->text, "N;", 2);
	}
}

zend_string *
php_hone_objects_text(const zend_array *directory)
{
	const zval *head = directory->arPacked;
	const zend_array *nodes = Z_ARR(head[PHP_HONE_OBJECTS_AT]);
	struct writing to = {.nodes = nodes->arPacked,
		.most = TEXT_MOST,
		.stack_limit = php_hone_stack_limit()};

	if (PG(memory_limit) > 0 &&
		(size_t)PG(memory_limit) / MEMORY_PER_TEXT < to.most)
		to.most = (size_t)PG(memory_limit) / MEMORY_PER_TEXT;

	if (Z_TYPE(head[PHP_HONE_ARRAYS_AT]) == IS_ARRAY)
		to.arrays = Z_ARR(head[PHP_HONE_ARRAYS_AT])->arPacked;
	to.places = ecalloc(nodes->nNumUsed, sizeof(*to.places));
	write_value(&to, &head[PHP_HONE_VALUE_AT]);
	efree(to.places);
	if (to.too_deep) {
		smart_str_free(&to.text);
		php_error_docref(NULL, E_WARNING,
			"A class of a value in the cache has changed, and the "
			"stack of this thread or fiber has no room for the "
			"levels of the value");
		return NULL;
	}
	if (to.too_long) {
		smart_str_free(&to.text);
		php_error_docref(NULL, E_WARNING,
			"A class of a value in the cache has changed, and "
			"unserialize() would need a string of more than %zu "
			"bytes",
			to.most);
		return NULL;
	}
	return smart_str_extract(&to.text);
}
