/* SPDX-License-Identifier: BSD-3-Clause */
/* The structures of a stored value from outside, each by itself. */
#include "check.h"

bool
php_hone_check_string(struct php_hone_check *check, size_t at)
{
	const zend_string *string = (const void *)(check->bytes + at);
	size_t left = check->size - at;
	size_t len, whole;

	if (left < _ZSTR_HEADER_SIZE + 8)
		return php_hone_problem(check, "a string is cut off");
	len = ZSTR_LEN(string);
	if (len > left - _ZSTR_HEADER_SIZE - 1)
		return php_hone_problem(
			check, "a string is longer than the value");
	whole = php_hone_string_size(len);
	if (whole > left)
		return php_hone_problem(
			check, "a string is longer than the value");
	if (string->gc.refcount != PHP_HONE_REFCOUNT ||
		GC_TYPE_INFO(string) != PHP_HONE_STRING_INFO)
		return php_hone_problem(check, "a string has other flags");
	for (size_t i = _ZSTR_HEADER_SIZE + len; i < whole; i++) {
		if (check->bytes[at + i] != 0)
			return php_hone_problem(
				check, "a string does not end in zeros");
	}
	if (ZSTR_H(string) != php_hone_string_hash(ZSTR_VAL(string), len))
		return php_hone_problem(check, "a string has another hash");
	php_hone_mark(check, at);
	return true;
}

/* The head of a record: no element is read. */
bool
php_hone_check_head(struct php_hone_check *check, size_t at)
{
	const zend_array *record = (const void *)(check->bytes + at);
	size_t left = check->size - at;
	bool packed;
	uint32_t used;

	if (left < sizeof(*record) + HT_HASH_SIZE(HT_MIN_MASK))
		return php_hone_problem(check, "an array is cut off");
	packed = HT_IS_PACKED(record);
	used = record->nNumUsed;
	if (record->gc.refcount != PHP_HONE_REFCOUNT ||
		GC_TYPE_INFO(record) != PHP_HONE_ARRAY_INFO ||
		record->pDestructor != NULL || record->nInternalPointer != 0)
		return php_hone_problem(check, "an array has other flags");
	if (HT_FLAGS(record) !=
		(used == 0 ? HASH_FLAG_UNINITIALIZED
			   : HASH_FLAG_STATIC_KEYS |
					(packed ? HASH_FLAG_PACKED : 0)))
		return php_hone_problem(check, "an array has other flags");
	if (record->nTableSize < HT_MIN_SIZE ||
		record->nTableSize > HT_MAX_SIZE ||
		(record->nTableSize & (record->nTableSize - 1)) != 0 ||
		used > record->nTableSize ||
		record->nTableMask !=
			(packed || used == 0
					? HT_MIN_MASK
					: HT_SIZE_TO_MASK(record->nTableSize)))
		return php_hone_problem(check, "an array has a wrong size");
	if ((packed || used == 0) &&
		record->nTableSize != php_hone_table_size(used))
		return php_hone_problem(check, "an array has a wrong size");
	if (php_hone_record_bytes(record) > left)
		return php_hone_problem(
			check, "an array is larger than the value");
	if ((uintptr_t)record->arData !=
		check->base + at + sizeof(*record) +
			HT_HASH_SIZE(record->nTableMask))
		return php_hone_problem(
			check, "an array has its elements elsewhere");
	return true;
}

/* Each bucket is in the chain of its slot, and no chain has a loop. */
static bool
check_index(struct php_hone_check *check, const zend_array *record)
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
				return php_hone_problem(
					check, "a hash chain is broken");
			at = Z_NEXT(buckets[i].val);
		}
	}
	if (visited != record->nNumUsed)
		return php_hone_problem(check, "a hash chain is incomplete");
	return true;
}

static bool
check_packed(struct php_hone_check *check, const zend_array *record)
{
	const uint32_t *index = (const uint32_t *)(record + 1);
	const zval *elements =
		php_hone_record_elements(record, record->nTableMask);
	uint32_t n = 0;

	if (index[0] != HT_INVALID_IDX || index[1] != HT_INVALID_IDX)
		return php_hone_problem(check, "an index is not empty");
	for (uint32_t i = 0; i < record->nNumUsed; i++) {
		n += Z_TYPE(elements[i]) != IS_UNDEF;
		if (elements[i].u2.next != 0)
			return php_hone_problem(
				check, "an element has other flags");
	}
	if (n != record->nNumOfElements)
		return php_hone_problem(check, "an array has a wrong count");
	/* PHP stores the next element there without looking. */
	if (record->nNumUsed != 0 &&
		record->nNextFreeElement < (zend_long)record->nNumUsed)
		return php_hone_problem(
			check, "an array has a wrong next element");
	return true;
}

/* All of a record but its elements' pointers. */
bool
php_hone_check_record(struct php_hone_check *check, size_t at)
{
	const zend_array *record = (const void *)(check->bytes + at);

	if (record->nNumUsed == 0 || HT_IS_PACKED(record))
		return check_packed(check, record);
	if (record->nNumUsed != record->nNumOfElements)
		return php_hone_problem(check, "an array has a wrong count");
	return check_index(check, record);
}
