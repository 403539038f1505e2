/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes ordinary values from stored values. The walk has the order of the
 * arrays in the data, so that no depth of nesting needs a stack.
 */
#include "layout.h"

/* No two structures begin in the same unit. */
#define UNIT 32

struct unpacked {
	uintptr_t base;
	void **made; /* the copy of each array and string, by offset */
};

static zend_always_inline void **
place_of(const struct unpacked *unpacked, const void *address)
{
	return &unpacked->made[((uintptr_t)address - unpacked->base) / UNIT];
}

static zend_never_inline zend_string *
copy_string(const zend_string *string)
{
	size_t size = php_hone_string_size(ZSTR_LEN(string));
	zend_string *copy;

	if (ZSTR_LEN(string) <= 1)
		return zend_string_init_fast(
			ZSTR_VAL(string), ZSTR_LEN(string));
	copy = emalloc(size);
	memcpy(copy, string, size);
	GC_SET_REFCOUNT(copy, 0);
	GC_TYPE_INFO(copy) = GC_STRING;
	return copy;
}

/* With a reference for the caller. */
static zend_always_inline zend_string *
string_of(const struct unpacked *unpacked, const zend_string *string)
{
	void **place = place_of(unpacked, string);

	if (*place == NULL)
		*place = copy_string(string);
	return zend_string_copy(*place);
}

/* The 32 bits that PHP keeps beside the type stay. */
static zend_always_inline void
unpack_value(const struct unpacked *unpacked, zval *value)
{
	if (Z_TYPE_P(value) == IS_STRING) {
		ZVAL_STR(value, string_of(unpacked, Z_STR_P(value)));
	} else if (Z_TYPE_P(value) == IS_ARRAY) {
		zend_array *array = *place_of(unpacked, Z_ARR_P(value));
		GC_ADDREF(array);
		ZVAL_ARR(value, array);
	}
}

static void
unpack_elements(const struct unpacked *unpacked, zend_array *array)
{
	if (HT_IS_PACKED(array)) {
		for (uint32_t i = 0; i < array->nNumUsed; i++)
			unpack_value(unpacked, &array->arPacked[i]);
		return;
	}
	for (uint32_t i = 0; i < array->nNumUsed; i++) {
		Bucket *bucket = &array->arData[i];
		if (bucket->key != NULL) {
			bucket->key = string_of(unpacked, bucket->key);
			if (!ZSTR_IS_INTERNED(bucket->key))
				HT_FLAGS(array) &= ~HASH_FLAG_STATIC_KEYS;
		}
		unpack_value(unpacked, &bucket->val);
	}
}

static const zend_array *
record_after(const struct php_hone_value *stored, size_t *at)
{
	const zend_array *record =
		(const void *)((const char *)stored->data + *at);

	if (*at >= stored->size || !php_hone_is_record(record))
		return NULL;
	*at += php_hone_record_bytes(record);
	return record;
}

static void
unpack_arrays(struct unpacked *unpacked, const struct php_hone_value *stored)
{
	const zend_array *record;
	size_t at = 0;

	/* PHP copies an immutable array byte by byte. */
	while ((record = record_after(stored, &at)) != NULL) {
		zend_array *array = zend_array_dup((zend_array *)record);
		GC_SET_REFCOUNT(array, 0);
		*place_of(unpacked, record) = array;
	}
	at = 0;
	while ((record = record_after(stored, &at)) != NULL)
		unpack_elements(unpacked, *place_of(unpacked, record));
}

void
php_hone_value_unpack(const struct php_hone_value *stored, zval *copy)
{
	struct unpacked unpacked;

	if (stored->data == NULL) {
		*copy = stored->root;
		return;
	}
	unpacked.base = (uintptr_t)Z_PTR(stored->root);
	unpacked.made =
		ecalloc(stored->size / UNIT + 1, sizeof(*unpacked.made));
	if (Z_TYPE(stored->root) == IS_ARRAY)
		unpack_arrays(&unpacked, stored);
	ZVAL_COPY_VALUE(copy, &stored->root);
	unpack_value(&unpacked, copy);
	efree(unpacked.made);
}
