/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images from outside. The walk repeats the order in which build.c writes: an
 * element leads to the record that comes next, or back to one that is complete.
 * So no array contains itself, each record is visited once, and the end of the
 * last one is the beginning of the strings.
 */
#include "check.h"

struct level {
	size_t record;
	uint32_t element;
};

static bool
check_strings(struct php_hone_check *check)
{
	size_t at = check->arrays;

	while (at < check->size) {
		if (!php_hone_check_string(check, at))
			return false;
		at += php_hone_string_size(
			ZSTR_LEN((const zend_string *)(check->bytes + at)));
	}
	return true;
}

/* The offset of a pointer, SIZE_MAX if it is not in the data or not aligned.
 */
static size_t
offset_of(const struct php_hone_check *check, const void *pointer)
{
	uint64_t offset = (uint64_t)(uintptr_t)pointer - check->base;

	return offset < check->size && offset % 8 == 0 ? (size_t)offset
						       : SIZE_MAX;
}

static bool
check_string_at(struct php_hone_check *check, const void *pointer)
{
	size_t offset = offset_of(check, pointer);

	if (offset == SIZE_MAX || offset < check->arrays ||
		!php_hone_marked(check, offset))
		return php_hone_problem(
			check, "a pointer does not lead to a string");
	return true;
}

static bool
push(struct php_hone_check *check, size_t record)
{
	struct level *level;

	if (!php_hone_buffer_reserve(&check->stack, sizeof(*level)))
		return php_hone_problem(check, PHP_HONE_NO_MEMORY);
	level = (struct level *)(check->stack.bytes + check->stack.used);
	check->stack.used += sizeof(*level);
	level->record = record;
	level->element = 0;
	if (record >= check->arrays)
		return php_hone_problem(check, "an array is missing");
	if (!php_hone_check_record(check, record))
		return false;
	check->next =
		record + php_hone_record_bytes(
				 (const zend_array *)(check->bytes + record));
	return true;
}

static bool
check_array_at(struct php_hone_check *check, const void *pointer)
{
	size_t offset = offset_of(check, pointer);

	if (offset != SIZE_MAX && offset == check->next)
		return push(check, offset);
	if (offset == SIZE_MAX || offset >= check->next ||
		!php_hone_marked(check, offset))
		return php_hone_problem(
			check, "a pointer does not lead to an array");
	return true;
}

static bool
check_value(struct php_hone_check *check, const zval *value)
{
	if (Z_TYPE_INFO_P(value) != Z_TYPE_P(value))
		return php_hone_problem(check, "a value has other flags");
	switch (Z_TYPE_P(value)) {
	case IS_UNDEF:
	case IS_NULL:
	case IS_FALSE:
	case IS_TRUE:
		if (Z_LVAL_P(value) != 0)
			return php_hone_problem(
				check, "a value has other bits");
		return true;
	case IS_LONG:
	case IS_DOUBLE:
		return true;
	case IS_STRING:
		return check_string_at(check, Z_PTR_P(value));
	case IS_ARRAY:
		return check_array_at(check, Z_PTR_P(value));
	default:
		return php_hone_problem(check, "a value has an unknown type");
	}
}

static bool
check_key(struct php_hone_check *check, const Bucket *bucket)
{
	const zend_string *key;

	if (Z_TYPE(bucket->val) == IS_UNDEF)
		return php_hone_problem(check, "an element is empty");
	if (bucket->key == NULL)
		return true;
	if (!check_string_at(check, bucket->key))
		return false;
	key = (const void *)(check->bytes + offset_of(check, bucket->key));
	if (ZSTR_H(key) != bucket->h)
		return php_hone_problem(check, "a key has another hash");
	return true;
}

/* The next element of the array on top of the stack. */
static bool
check_next(struct php_hone_check *check)
{
	struct level *level =
		(struct level *)(check->stack.bytes + check->stack.used) - 1;
	const zend_array *record = (const void *)(check->bytes + level->record);
	const void *elements =
		php_hone_record_elements(record, record->nTableMask);
	uint32_t i = level->element++;

	if (i == record->nNumUsed) {
		php_hone_mark(check, level->record);
		check->stack.used -= sizeof(*level);
		return true;
	}
	if (HT_IS_PACKED(record))
		return check_value(check, (const zval *)elements + i);
	return check_key(check, (const Bucket *)elements + i) &&
	       check_value(check, &((const Bucket *)elements)[i].val);
}

/* Where the records end, if they are what they seem to be. */
static bool
find_strings(struct php_hone_check *check)
{
	size_t at = 0;

	while (check->size - at >= sizeof(zend_array) &&
		php_hone_is_record(check->bytes + at)) {
		if (!php_hone_check_head(check, at))
			return false;
		at += php_hone_record_bytes(
			(const zend_array *)(check->bytes + at));
	}
	check->arrays = at;
	return true;
}

static bool
check_arrays(struct php_hone_check *check)
{
	if (!find_strings(check) || !check_strings(check) || !push(check, 0))
		return false;
	while (check->stack.used != 0) {
		if (!check_next(check))
			return false;
	}
	if (check->next != check->arrays)
		return php_hone_problem(check, "an array is in no other one");
	return true;
}

static bool
check_root(struct php_hone_check *check, const zval *root)
{
	uint32_t type = Z_TYPE_P(root);

	if (Z_TYPE_INFO_P(root) != type || root->u2.next != 0)
		return php_hone_problem(check, "the value has other flags");
	if (type < IS_STRING)
		return check->size == 0 && type != IS_UNDEF
			       ? check_value(check, root)
			       : php_hone_problem(
					 check, "the value has no data");
	if (type > IS_ARRAY || check->size < sizeof(zend_array) - 24 ||
		check->size % 8 != 0)
		return php_hone_problem(check, "the value has another type");
	if (check->base % PHP_HONE_VALUE_ALIGN != 0 ||
		(uint64_t)(uintptr_t)Z_PTR_P(root) != check->base)
		return php_hone_problem(check, "the value is elsewhere");
	if (type == IS_ARRAY)
		return check_arrays(check);
	return php_hone_check_string(check, 0) &&
	       (php_hone_string_size(ZSTR_LEN(
			(const zend_string *)check->bytes)) == check->size ||
		       php_hone_problem(
			       check, "there are bytes after the string"));
}

bool
php_hone_value_check(const void *bytes, size_t size, uint64_t base,
	const zval *root, const char **phrase)
{
	struct php_hone_check check = {
		.bytes = bytes, .size = size, .base = base};
	bool good;

	check.begins = calloc(size / 512 + 1, sizeof(*check.begins));
	if (check.begins == NULL) {
		*phrase = PHP_HONE_NO_MEMORY;
		return false;
	}
	good = check_root(&check, root);
	free(check.begins);
	free(check.stack.bytes);
	*phrase = check.problem;
	return good;
}
