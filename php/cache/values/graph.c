/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of a value with objects: graph.h. */
#include "record.h"

bool
php_hone_append(struct php_hone_builder *builder,
	struct php_hone_buffer *buffer, size_t number)
{
	size_t *at = php_hone_add(builder, buffer, sizeof(number));

	if (at != NULL)
		*at = number;
	return at != NULL;
}

void
php_hone_graph_array(
	struct php_hone_builder *builder, size_t record, size_t element)
{
	size_t number = builder->graph.paths.used / sizeof(size_t);
	zval *to = (zval *)(builder->arrays.bytes + element);

	if (!php_hone_append(builder, &builder->graph.paths, record))
		return;
	/* For later elements with this array. finish_list() resets it to 0. */
	php_hone_record_at(builder, record)->nInternalPointer =
		(uint32_t)number + 1;
	php_hone_put_marker(builder, to, ~(zend_long)number, Z_NEXT_P(to));
}

/* Element `at` of the directory becomes a list of these numbers, which are
 * offsets of records if `type` is IS_ARRAY. Without numbers, it is null. */
static void
finish_list(struct php_hone_builder *builder,
	const struct php_hone_buffer *from, uint32_t type, uint32_t at)
{
	uint32_t n = (uint32_t)(from->used / sizeof(size_t));
	const size_t *numbers = (const size_t *)from->bytes;
	size_t list = builder->arrays.used;
	zval *elements;

	if (builder->refused != PHP_HONE_REFUSED_NOT)
		return;
	if (n == 0) {
		php_hone_put(
			&php_hone_elements_at(builder, 0)[at], IS_NULL, 0, 0);
		return;
	}
	elements = php_hone_begin_list(builder, n);
	if (elements == NULL)
		return;
	for (uint32_t i = 0; i < n; i++) {
		php_hone_put(&elements[i], type, (zend_long)numbers[i], 0);
		if (type == IS_ARRAY)
			php_hone_record_at(builder, numbers[i])
				->nInternalPointer = 0;
	}
	php_hone_put(&php_hone_elements_at(builder, 0)[at], IS_ARRAY,
		(zend_long)list, 0);
}

zval *
php_hone_graph_begin(struct php_hone_builder *builder)
{
	builder->graph.objects.used = builder->graph.paths.used =
		builder->graph.calls.used = 0;
	builder->graph.n_shapes = builder->graph.markers =
		builder->graph.depth = builder->graph.answered =
			builder->graph.visited = 0;
	builder->graph.outer = NULL;
	return php_hone_begin_list(builder, PHP_HONE_DIRECTORY);
}

void
php_hone_graph_end(struct php_hone_builder *builder)
{
	zval *directory;

	finish_list(builder, &builder->graph.objects, IS_ARRAY,
		PHP_HONE_OBJECTS_AT);
	finish_list(
		builder, &builder->graph.paths, IS_ARRAY, PHP_HONE_ARRAYS_AT);
	finish_list(builder, &builder->graph.calls, IS_LONG, PHP_HONE_CALLS_AT);
	if (builder->refused != PHP_HONE_REFUSED_NOT)
		return;
	directory = php_hone_elements_at(builder, 0);
	php_hone_put(&directory[PHP_HONE_SHAPES_AT], IS_LONG,
		builder->graph.n_shapes, 0);
	php_hone_put(&directory[PHP_HONE_DEPTH_AT], IS_LONG,
		builder->graph.depth, 0);
}
