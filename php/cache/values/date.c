/* SPDX-License-Identifier: BSD-3-Clause */
/* What __serialize() of a date would return: values.h. */
#include "layout.h"
#include "ext/date/php_date.h"

enum { DATE, ZONE_TYPE, ZONE };

/* A name as an interned zend_string. */
struct name {
	zend_refcounted_h gc;
	zend_ulong hash;
	size_t len;
	char bytes[16];
};

#define NAME(text)                                                             \
	{                                                                      \
		{1, {IS_STRING | IS_STR_INTERNED << GC_FLAGS_SHIFT}}, 0,       \
			sizeof(text) - 1, text                                 \
	}

static const struct name names[PHP_HONE_DATE_ELEMENTS] = {
	[DATE] = NAME("date"),
	[ZONE_TYPE] = NAME("timezone_type"),
	[ZONE] = NAME("timezone"),
};

bool
php_hone_class_is_date(
	const struct php_hone_builder *builder, const zend_class_entry *class)
{
	const zend_function *method = class->__serialize;
	zif_handler handler;

	if (method == NULL || method->type != ZEND_INTERNAL_FUNCTION)
		return false;
	handler = method->internal_function.handler;
	return handler != NULL && (handler == builder->date_methods[0] ||
					  handler == builder->date_methods[1]);
}

static bool
has_plain_zone(const timelib_time *time)
{
	switch (time->zone_type) {
	case TIMELIB_ZONETYPE_ID:
		return time->tz_info != NULL &&
		       strlen(time->tz_info->name) <= PHP_HONE_ZONE_MOST;
	case TIMELIB_ZONETYPE_ABBR:
		return time->tz_abbr != NULL &&
		       strlen(time->tz_abbr) <= PHP_HONE_ZONE_MOST;
	case TIMELIB_ZONETYPE_OFFSET:
		/* PHP 8.5 writes the seconds too. */
		return time->z % 60 == 0 && time->z > -100 * 3600 &&
		       time->z < 100 * 3600;
	default:
		return false;
	}
}

static zend_always_inline bool
is_within(timelib_sll number, timelib_sll least, timelib_sll most)
{
	return number >= least && number <= most;
}

bool
php_hone_date_is_plain(const zend_object *object)
{
	const timelib_time *time =
		php_date_obj_from_obj((zend_object *)object)->time;

	return time != NULL && time->is_localtime &&
	       object->ce->default_properties_count == 0 &&
	       (object->properties == NULL ||
		       object->properties->nNumOfElements == 0) &&
	       is_within(time->y, 0, 9999) && is_within(time->m, 1, 12) &&
	       is_within(time->d, 1, 31) && is_within(time->h, 0, 23) &&
	       is_within(time->i, 0, 59) && is_within(time->s, 0, 59) &&
	       is_within(time->us, 0, 999999) && has_plain_zone(time);
}

static void
prepare(struct php_hone_date *date)
{
	zend_array *array = &date->array;
	uint32_t mask = HT_SIZE_TO_MASK(HT_MIN_SIZE);

	GC_SET_REFCOUNT(array, 1);
	GC_TYPE_INFO(array) = GC_ARRAY;
	HT_FLAGS(array) = HASH_FLAG_STATIC_KEYS;
	array->nTableMask = mask;
	array->arData = date->elements;
	array->nNumUsed = array->nNumOfElements = PHP_HONE_DATE_ELEMENTS;
	array->nTableSize = HT_MIN_SIZE;
	array->nNextFreeElement = ZEND_LONG_MIN;
	memset(date->index, 0xff, sizeof(date->index));
	for (uint32_t i = 0; i < PHP_HONE_DATE_ELEMENTS; i++) {
		Bucket *bucket = &date->elements[i];
		uint32_t *slot;
		bucket->key = (zend_string *)(uintptr_t)&names[i];
		bucket->h = php_hone_string_hash(names[i].bytes, names[i].len);
		slot = &HT_HASH_EX(date->elements, (uint32_t)bucket->h | mask);
		Z_NEXT(bucket->val) = *slot;
		*slot = HT_IDX_TO_HASH(i);
	}
	ZVAL_ARR(&date->value, array);
}

/* Returns the end. */
static zend_always_inline char *
write_digits(char *to, unsigned number, unsigned n, char after)
{
	for (unsigned i = n; i-- > 0; number /= 10)
		to[i] = (char)('0' + number % 10);
	to[n] = after;
	return to + n + 1;
}

static void
write_time(char *to, const timelib_time *time)
{
	to = write_digits(to, (unsigned)time->y, 4, '-');
	to = write_digits(to, (unsigned)time->m, 2, '-');
	to = write_digits(to, (unsigned)time->d, 2, ' ');
	to = write_digits(to, (unsigned)time->h, 2, ':');
	to = write_digits(to, (unsigned)time->i, 2, ':');
	to = write_digits(to, (unsigned)time->s, 2, '.');
	write_digits(to, (unsigned)time->us, 6, '\0');
}

static void
write_zone(char *to, const timelib_time *time)
{
	unsigned minutes = (unsigned)abs((int)time->z) / 60;

	if (time->zone_type == TIMELIB_ZONETYPE_OFFSET) {
		*to++ = time->z < 0 ? '-' : '+';
		to = write_digits(to, minutes / 60, 2, ':');
		write_digits(to, minutes % 60, 2, '\0');
	} else {
		const char *name = time->zone_type == TIMELIB_ZONETYPE_ID
					   ? time->tz_info->name
					   : time->tz_abbr;
		memcpy(to, name, strlen(name) + 1);
	}
}

static char *
bytes_of(union php_hone_date_text *text)
{
	return text->room + _ZSTR_HEADER_SIZE;
}

/* A string with one reference, so that the build does not look for its
 * address. */
static zend_string *
text_of(union php_hone_date_text *text)
{
	zend_string *string = &text->string;

	GC_SET_REFCOUNT(string, 1);
	GC_TYPE_INFO(string) = GC_STRING;
	ZSTR_H(string) = 0;
	ZSTR_LEN(string) = strlen(bytes_of(text));
	return string;
}

const zval *
php_hone_date_answer(
	struct php_hone_builder *builder, const zend_object *object)
{
	struct php_hone_date *date = &builder->date;
	const timelib_time *time =
		php_date_obj_from_obj((zend_object *)object)->time;

	if (date->array.arData != date->elements)
		prepare(date);
	write_time(bytes_of(&date->text), time);
	write_zone(bytes_of(&date->zone), time);
	ZVAL_STR(&date->elements[DATE].val, text_of(&date->text));
	ZVAL_LONG(&date->elements[ZONE_TYPE].val, (zend_long)time->zone_type);
	ZVAL_STR(&date->elements[ZONE].val, text_of(&date->zone));
	return &date->value;
}
