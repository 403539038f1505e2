/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_DATE_H
#define PHP_HONE_VALUES_DATE_H
/*
 * What __serialize() of DateTime and DateTimeImmutable returns, without a call:
 * PHP formats the time for 5,000 instructions. The answer is the array
 *
 *	date => "2026-11-25 12:34:56.000000",
 *	timezone_type => 3,
 *	timezone => "Europe/Berlin"
 */
#include "values.h"

/* The longest name of a time zone. */
#define PHP_HONE_ZONE_MOST 47

/* Whether __serialize() of the class is that of DateTime or DateTimeImmutable,
 * so that its objects have the time in C. */
bool php_hone_class_is_date(
	const struct php_hone_builder *builder, const zend_class_entry *class);
/* Whether the answer of this object of such a class is known: years 0 to 9999,
 * and no properties. */
bool php_hone_date_is_plain(const zend_object *object);
/* Its answer, which is valid until the next answer. */
const zval *php_hone_date_answer(
	struct php_hone_builder *builder, const zend_object *object);

#endif
