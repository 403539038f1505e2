/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements that are neither a number nor a string. */
#include "element.h"
#include "zend_closures.h"

/*
 * Set *to to an array that is in the data, or will be next: that one is
 * returned. `once`: nothing else can lead to the array.
 */
static const zend_array *
put_array(struct php_hone_builder *builder, const zend_array *array, bool once,
	zval *to, uint32_t chain)
{
	size_t at = builder->arrays.used;
	const zend_array *next = array;

	if (array->nNumOfElements == 0 &&
		array->nNextFreeElement == zend_empty_array.nNextFreeElement) {
		if (builder->empty != UINT32_MAX) {
			at = (size_t)builder->empty * 8;
			next = NULL;
		} else {
			builder->empty = (uint32_t)(at / 8);
		}
	} else if (!once && php_hone_shared_find(builder, array, &at)) {
		const zend_array *record =
			(const zend_array *)(builder->arrays.bytes + at);
		if (record->pDestructor == PHP_HONE_INCOMPLETE)
			builder->refused = "an array that contains itself";
		next = NULL;
	}
	to->value.counted = (zend_refcounted *)(uintptr_t)at;
	php_hone_set_type(to, IS_ARRAY, chain);
	return next;
}

static void
put_object(struct php_hone_builder *builder, const zend_object *object)
{
	if (object->ce == zend_ce_closure)
		builder->refused = "a closure";
	else
		builder->object = true;
}

const zend_array *
php_hone_put_other(struct php_hone_builder *builder, const zval *element,
	zval *to, uint32_t next)
{
	bool once = true;

	element = php_hone_direct(element);
	if (Z_ISREF_P(element)) {
		once = Z_REFCOUNT_P(element) == 1;
		element = Z_REFVAL_P(element);
	}
	if (Z_TYPE_P(element) == IS_ARRAY) {
		once = once && GC_REFCOUNT(Z_ARR_P(element)) == 1;
		return put_array(builder, Z_ARR_P(element), once, to, next);
	}
	to->value.dval = 0;
	php_hone_set_type(to, IS_NULL, next);
	switch (Z_TYPE_P(element)) {
	case IS_UNDEF:
		break;
	case IS_OBJECT:
		put_object(builder, Z_OBJ_P(element));
		break;
	case IS_RESOURCE:
		builder->refused = "a resource";
		break;
	default:
		if (Z_TYPE_P(element) < IS_OBJECT)
			return php_hone_put(builder, element, to, next);
		builder->refused = "a value of an unknown type";
	}
	return NULL;
}
