/* SPDX-License-Identifier: BSD-3-Clause */
/* One value inside a stored value. */
#include "layout.h"

/* The index of PHP for a float, if PHP takes it without losing a fraction. */
static const zval *
at_double(const zend_array *array, double key)
{
	zend_long index = zend_dval_to_lval(key);

	return zend_hash_index_find(array, (zend_ulong)index);
}

static const zval *
at_key(const zend_array *array, const zval *key)
{
	ZVAL_DEREF(key);
	switch (Z_TYPE_P(key)) {
	case IS_NULL:
		return zend_hash_find(array, ZSTR_EMPTY_ALLOC());
	case IS_FALSE:
		return zend_hash_index_find(array, 0);
	case IS_TRUE:
		return zend_hash_index_find(array, 1);
	case IS_LONG:
		return zend_hash_index_find(array, (zend_ulong)Z_LVAL_P(key));
	case IS_DOUBLE:
		return at_double(array, Z_DVAL_P(key));
	case IS_STRING:
		return zend_symtable_find(array, Z_STR_P(key));
	default:
		return NULL;
	}
}

const zval *
php_hone_value_field(const zval *root, const zval *path, uint32_t n_path)
{
	const zval *value = root;

	for (uint32_t i = 0; i < n_path; i++) {
		if (Z_TYPE_P(value) != IS_ARRAY)
			return NULL;
		value = at_key(Z_ARR_P(value), &path[i]);
		if (value == NULL)
			return NULL;
	}
	return value;
}
