/* SPDX-License-Identifier: BSD-3-Clause */
/* Images from values. */
#include "text.h"
#include "zend_closures.h"

/* Offsets are kept as 32 bits of units of 8 bytes. */
#define LARGEST ((size_t)UINT32_MAX * 8)

bool
php_hone_buffer_grow(struct php_hone_buffer *buffer, size_t size)
{
	size_t room = buffer->room < 4096 ? 4096 : buffer->room;
	unsigned char *bytes;

	if (size > LARGEST - buffer->used)
		return false;
	while (room < buffer->used + size)
		room *= 2;
	bytes = realloc(buffer->bytes, room);
	if (bytes == NULL)
		return false;
	buffer->bytes = bytes;
	buffer->room = room;
	return true;
}

static void
trim_buffer(struct php_hone_buffer *buffer, size_t keep)
{
	if (buffer->room > keep) {
		free(buffer->bytes);
		memset(buffer, 0, sizeof(*buffer));
	}
}

void
php_hone_builder_trim(struct php_hone_builder *builder, size_t keep)
{
	trim_buffer(&builder->arrays, keep);
	trim_buffer(&builder->strings, keep);
	trim_buffer(&builder->frames, keep);
	if (builder->shared_room * sizeof(*builder->shared) > keep) {
		free(builder->shared);
		builder->shared = NULL;
		builder->shared_room = 0;
	}
}

void
php_hone_builder_free(struct php_hone_builder *builder)
{
	php_hone_builder_trim(builder, 0);
}

/* Entries of earlier builds become invalid by their number. */
static void
begin_build(struct php_hone_builder *builder)
{
	builder->build++;
	if (UNEXPECTED(builder->build == 0)) {
		builder->build = 1;
		memset(builder->repeated, 0, sizeof(builder->repeated));
		if (builder->shared != NULL)
			memset(builder->shared, 0,
				builder->shared_room *
					sizeof(*builder->shared));
	}
	builder->arrays.used = 0;
	builder->strings.used = 0;
	builder->frames.used = 0;
	builder->n_shared = 0;
	builder->empty = UINT32_MAX;
	builder->object = false;
}

static void
build_array(struct php_hone_builder *builder, const zend_array *root, bool once)
{
	size_t at;

	if (!once)
		php_hone_shared_find(builder, root, &at);
	if (builder->refused == NULL)
		php_hone_build_arrays(builder, root);
	builder->size = builder->arrays.used + builder->strings.used;
}

/* Whether the array is a stored value that can be copied as a block. */
static bool
is_known(struct php_hone_builder *builder, const zend_array *array)
{
	if (builder->stored_at == NULL ||
		!(GC_FLAGS(array) & IS_ARRAY_IMMUTABLE) ||
		(uintptr_t)array % PHP_HONE_VALUE_ALIGN != 0)
		return false;
	builder->size = builder->stored_at(array, builder->opaque);
	return builder->size != 0;
}

static enum php_hone_built
build_root_array(
	struct php_hone_builder *builder, const zend_array *array, bool once)
{
	if (is_known(builder, array)) {
		builder->known = array;
		return PHP_HONE_BUILT_DATA;
	}
	begin_build(builder);
	build_array(builder, array, once);
	if (builder->refused != NULL)
		return PHP_HONE_BUILT_REFUSED;
	return builder->object ? PHP_HONE_BUILT_OBJECT : PHP_HONE_BUILT_DATA;
}

static void
build_root_string(struct php_hone_builder *builder, const zend_string *string)
{
	builder->string = string;
	builder->size = php_hone_string_size(ZSTR_LEN(string));
}

static enum php_hone_built
refuse(struct php_hone_builder *builder, const char *reason)
{
	builder->refused = reason;
	return PHP_HONE_BUILT_REFUSED;
}

enum php_hone_built
php_hone_value_build(struct php_hone_builder *builder, const zval *value)
{
	bool once = true;

	if (Z_ISREF_P(value)) {
		once = Z_REFCOUNT_P(value) == 1;
		value = Z_REFVAL_P(value);
	}
	builder->size = 0;
	builder->refused = NULL;
	builder->string = NULL;
	builder->known = NULL;
	memset(&builder->root, 0, sizeof(builder->root));
	Z_TYPE_INFO(builder->root) = Z_TYPE_P(value);
	switch (Z_TYPE_P(value)) {
	case IS_UNDEF:
		Z_TYPE_INFO(builder->root) = IS_NULL;
		return PHP_HONE_BUILT_SCALAR;
	case IS_NULL:
	case IS_FALSE:
	case IS_TRUE:
		return PHP_HONE_BUILT_SCALAR;
	case IS_LONG:
	case IS_DOUBLE:
		builder->root.value = value->value;
		return PHP_HONE_BUILT_SCALAR;
	case IS_STRING:
		build_root_string(builder, Z_STR_P(value));
		return PHP_HONE_BUILT_DATA;
	case IS_ARRAY:
		once = once && GC_REFCOUNT(Z_ARR_P(value)) == 1;
		return build_root_array(builder, Z_ARR_P(value), once);
	case IS_OBJECT:
		if (Z_OBJCE_P(value) == zend_ce_closure)
			return refuse(builder, "a closure");
		return PHP_HONE_BUILT_OBJECT;
	case IS_RESOURCE:
		return refuse(builder, "a resource");
	default:
		return refuse(builder, "a value of an unknown type");
	}
}
