/* SPDX-License-Identifier: BSD-3-Clause */
/* A stored value depends on these numbers, which differ between builds of
 * PHP. */
#include "snapshot.h"
#include "../values/layout.h"
#include "zend_modules.h"

#define OFFSET(type, member)                                                   \
	{                                                                      \
		"offset of " #type "." #member,                                \
			(uint32_t)offsetof(type, member)                       \
	}
#define SIZE(type)                                                             \
	{                                                                      \
		"size of " #type, (uint32_t)sizeof(type)                       \
	}
#define NUMBER(name)                                                           \
	{                                                                      \
#name, (uint32_t)(name)                                        \
	}

const struct php_hone_layout php_hone_layout[] = {
	/* All releases of a minor version have the same layout. */
	{"PHP version (major * 100 + minor)",
		PHP_MAJOR_VERSION * 100 + PHP_MINOR_VERSION},
	NUMBER(ZEND_MODULE_API_NO),
#ifdef ZTS
	{"thread safety", 1},
#else
	{"thread safety", 0},
#endif
	{"debug build", ZEND_DEBUG},
	SIZE(void *),
	SIZE(zval),
	OFFSET(zval, u1),
	OFFSET(zval, u2),
	SIZE(zend_string),
	OFFSET(zend_string, h),
	OFFSET(zend_string, len),
	OFFSET(zend_string, val),
	SIZE(Bucket),
	OFFSET(Bucket, h),
	OFFSET(Bucket, key),
	SIZE(zend_array),
	OFFSET(zend_array, u),
	OFFSET(zend_array, nTableMask),
	OFFSET(zend_array, arData),
	OFFSET(zend_array, nNumUsed),
	OFFSET(zend_array, nNumOfElements),
	OFFSET(zend_array, nTableSize),
	OFFSET(zend_array, nInternalPointer),
	OFFSET(zend_array, nNextFreeElement),
	OFFSET(zend_array, pDestructor),
	NUMBER(PHP_HONE_STRING_INFO),
	NUMBER(PHP_HONE_ARRAY_INFO),
	NUMBER(PHP_HONE_REFCOUNT),
	NUMBER(HASH_FLAG_PACKED),
	NUMBER(HASH_FLAG_UNINITIALIZED),
	NUMBER(HASH_FLAG_STATIC_KEYS),
	NUMBER(HT_MIN_MASK),
	NUMBER(HT_MIN_SIZE),
	/* One hexadecimal digit for each type. */
	{"types", IS_UNDEF | IS_NULL << 4 | IS_FALSE << 8 | IS_TRUE << 12 |
			  IS_LONG << 16 | IS_DOUBLE << 20 | IS_STRING << 24 |
			  IS_ARRAY << 28},
};

const uint32_t php_hone_n_layout =
	sizeof php_hone_layout / sizeof *php_hone_layout;
