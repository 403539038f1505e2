/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The times of DateTime and DateTimeImmutable (docs/design/cache.md, "Dates").
 * Times of one zone between two of its changes differ only in their numbers. So
 * __unserialize() makes the first one, and later ones of the request are copies
 * with other numbers.
 */
#include "../cache.h"
#include "ext/date/php_date.h"

/* Zones that a request remembers, each between two of its changes. */
#define ZONES 16

/* Seconds around a change where a local time may exist twice, or not at all.
 * The offset of a zone is at most a day. */
#define NEAR_CHANGE (2 * 86400)

struct zone {
	int64_t from, to; /* of its times, in seconds since 1970 */
	int64_t offset;   /* from the time to the local time */
	zend_long type;
	size_t len;
	char name[PHP_HONE_ZONE_MOST + 1];
	timelib_time time; /* PHP keeps its tz_info for the request */
	char abbreviation[PHP_HONE_ZONE_MOST + 1];
};

struct php_hone_zones {
	uint32_t n;      /* that were remembered, also replaced ones */
	uint32_t latest; /* that was used */
	struct zone of[ZONES];
};

/* What __serialize() returned, in numbers. */
struct date {
	int64_t local; /* seconds from 1970-01-01 00:00:00 to the local time */
	unsigned year, month, day, hour, minute, second, microsecond;
	zend_long type;
	const zend_string *zone;
};

/* __serialize() and __unserialize() of DateTime and DateTimeImmutable. */
static zif_handler serializes[2], unserializes[2];

void
php_hone_dates_minit(void)
{
	const zend_class_entry *classes[2] = {
		php_date_get_date_ce(), php_date_get_immutable_ce()};

	for (int i = 0; i < 2; i++) {
		serializes[i] =
			classes[i]->__serialize->internal_function.handler;
		unserializes[i] =
			classes[i]->__unserialize->internal_function.handler;
	}
}

void
php_hone_dates_begin(struct php_hone_builder *builder)
{
	memcpy(builder->date_methods, serializes, sizeof serializes);
}

static bool
is_date(const zend_class_entry *class)
{
	const zend_function *method = class->__unserialize;

	return method->type == ZEND_INTERNAL_FUNCTION &&
	       (method->internal_function.handler == unserializes[0] ||
		       method->internal_function.handler == unserializes[1]);
}

/* ---- the text ---- */

/* Reads `n` digits. Returns false if one is missing, or if another byte than
 * `after` follows. */
static zend_always_inline bool
read_digits(const char **from, unsigned n, char after, unsigned *number)
{
	const char *at = *from;
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned digit = (unsigned char)at[i] - (unsigned)'0';
		if (digit > 9)
			return false;
		sum = sum * 10 + digit;
	}
	*number = sum;
	*from = at + n + 1;
	return at[n] == after;
}

static unsigned
days_of(unsigned year, unsigned month)
{
	if (month == 2)
		return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
			       ? 29
			       : 28;
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* Days from 1970-01-01 in the Gregorian calendar. */
static int64_t
days_before(unsigned year, unsigned month, unsigned day)
{
	/* A year begins in March, so that a leap day is its last. */
	unsigned years = month > 2 ? year : year - 1;
	unsigned months = month > 2 ? month - 3 : month + 9;
	unsigned days = (153 * months + 2) / 5 + day - 1;

	return (int64_t)years * 365 + years / 4 - years / 100 + years / 400 +
	       days - 719468;
}

static bool
read_text(const zend_string *text, struct date *date)
{
	const char *at = ZSTR_VAL(text);

	if (ZSTR_LEN(text) != sizeof "2026-11-25 12:34:56.000000" - 1 ||
		!read_digits(&at, 4, '-', &date->year) ||
		!read_digits(&at, 2, '-', &date->month) ||
		!read_digits(&at, 2, ' ', &date->day) ||
		!read_digits(&at, 2, ':', &date->hour) ||
		!read_digits(&at, 2, ':', &date->minute) ||
		!read_digits(&at, 2, '.', &date->second) ||
		!read_digits(&at, 6, '\0', &date->microsecond))
		return false;
	if (date->year == 0 || date->month - 1 > 11 || date->day == 0 ||
		date->day > days_of(date->year, date->month) ||
		date->hour > 23 || date->minute > 59 || date->second > 59)
		return false;
	date->local = days_before(date->year, date->month, date->day) * 86400 +
		      date->hour * 3600 + date->minute * 60 + date->second;
	return true;
}

static zend_always_inline const zval *
element(const zend_array *array, uint32_t i, const char *name, size_t len,
	uint32_t type)
{
	const Bucket *bucket = &array->arData[i];

	return bucket->key != NULL && ZSTR_LEN(bucket->key) == len &&
			       memcmp(ZSTR_VAL(bucket->key), name, len) == 0 &&
			       Z_TYPE(bucket->val) == type
		       ? &bucket->val
		       : NULL;
}

static bool
read_data(const zval *data, struct date *date)
{
	const zend_array *array = Z_ARR_P(data);
	const zval *text, *type, *zone;

	if (HT_IS_PACKED(array) || array->nNumUsed != PHP_HONE_DATE_ELEMENTS)
		return false;
	text = element(array, 0, ZEND_STRL("date"), IS_STRING);
	type = element(array, 1, ZEND_STRL("timezone_type"), IS_LONG);
	zone = element(array, 2, ZEND_STRL("timezone"), IS_STRING);
	if (text == NULL || type == NULL || zone == NULL ||
		Z_STRLEN_P(zone) > PHP_HONE_ZONE_MOST)
		return false;
	date->type = Z_LVAL_P(type);
	date->zone = Z_STR_P(zone);
	return read_text(Z_STR_P(text), date);
}

/* ---- zones ---- */

/* Sets the times for which the zone has one offset and one abbreviation.
 * Returns false if the table of its changes does not have them. */
static bool
between_changes(const timelib_tzinfo *info, struct zone *zone)
{
	int64_t time = zone->time.sse;
	size_t n = info->trans != NULL ? info->bit64.timecnt : 0, i = 0;
	/* No rule continues the table. */
	bool ends = info->posix_info == NULL || info->posix_info->dst == NULL;

	while (i < n && info->trans[i] <= time)
		i++;
	if (info->bit64.leapcnt != 0 || (i == n && !ends))
		return false;
	if (i > 0)
		zone->from = info->trans[i - 1] + NEAR_CHANGE;
	if (i < n)
		zone->to = info->trans[i] - NEAR_CHANGE;
	return zone->from <= time && time < zone->to;
}

/* Whether the parser of PHP has read the name as a zone, and as nothing else.
 */
static bool
is_zone(const struct date *date, const timelib_time *time)
{
	const char *name = ZSTR_VAL(date->zone);
	unsigned number;

	switch (date->type) {
	case TIMELIB_ZONETYPE_OFFSET:
		return (*name == '+' || *name == '-') &&
		       ZSTR_LEN(date->zone) == sizeof "+02:00" - 1 &&
		       (name++, read_digits(&name, 2, ':', &number)) &&
		       read_digits(&name, 2, '\0', &number);
	case TIMELIB_ZONETYPE_ABBR:
		return time->tz_abbr != NULL &&
		       strcasecmp(time->tz_abbr, name) == 0;
	case TIMELIB_ZONETYPE_ID:
		return time->tz_info != NULL &&
		       strcasecmp(time->tz_info->name, name) == 0;
	default:
		return false;
	}
}

static bool
has_numbers(const timelib_time *time, const struct date *date)
{
	return time->y == date->year && time->m == date->month &&
	       time->d == date->day && time->h == date->hour &&
	       time->i == date->minute && time->s == date->second &&
	       time->us == date->microsecond && !time->have_relative;
}

static struct zone *
find(const struct date *date)
{
	struct php_hone_zones *zones = HONE_G(cache).zones;
	uint32_t n;

	if (zones == NULL)
		return NULL;
	n = zones->n < ZONES ? zones->n : ZONES;
	for (uint32_t i = 0, at = zones->latest; i < n; i++, at++) {
		struct zone *zone = &zones->of[at < n ? at : at - n];
		int64_t time = date->local - zone->offset;
		if (time >= zone->from && time < zone->to &&
			date->type == zone->type &&
			ZSTR_LEN(date->zone) == zone->len &&
			memcmp(ZSTR_VAL(date->zone), zone->name, zone->len) ==
				0) {
			zones->latest = at < n ? at : at - n;
			return zone;
		}
	}
	return NULL;
}

static bool
make_zone(struct zone *zone, const timelib_time *time, const struct date *date)
{
	memset(zone, 0, sizeof *zone);
	zone->time = *time;
	zone->from = INT64_MIN / 2;
	zone->to = INT64_MAX / 2;
	zone->offset = date->local - time->sse;
	zone->type = date->type;
	zone->len = ZSTR_LEN(date->zone);
	memcpy(zone->name, ZSTR_VAL(date->zone), zone->len);
	if (time->tz_abbr != NULL) {
		if (strlen(time->tz_abbr) > PHP_HONE_ZONE_MOST)
			return false;
		strcpy(zone->abbreviation, time->tz_abbr);
	}
	return date->type != TIMELIB_ZONETYPE_ID ||
	       between_changes(time->tz_info, zone);
}

void
php_hone_date_learn(zend_object *object, const zval *data)
{
	struct php_hone_cache *cache = &HONE_G(cache);
	struct date date;
	struct zone zone;
	const timelib_time *time;

	if (!is_date(object->ce) || !read_data(data, &date))
		return;
	time = php_date_obj_from_obj(object)->time;
	if (time == NULL || (zend_long)time->zone_type != date.type ||
		!time->is_localtime || !time->sse_uptodate ||
		!time->tim_uptodate || !has_numbers(time, &date) ||
		!is_zone(&date, time) || !make_zone(&zone, time, &date))
		return;
	if (cache->zones == NULL)
		cache->zones = ecalloc(1, sizeof *cache->zones);
	cache->zones->latest = cache->zones->n++ % ZONES;
	cache->zones->of[cache->zones->latest] = zone;
}

void
php_hone_dates_end(void)
{
	if (HONE_G(cache).zones != NULL)
		efree(HONE_G(cache).zones);
	HONE_G(cache).zones = NULL;
}

/* ---- times ---- */

bool
php_hone_date_make(zend_object *object, const zval *data)
{
	struct date date;
	const struct zone *zone;
	timelib_time *time;

	if (!is_date(object->ce) ||
		php_date_obj_from_obj(object)->time != NULL ||
		!read_data(data, &date) || (zone = find(&date)) == NULL)
		return false;
	time = timelib_malloc(sizeof *time);
	*time = zone->time;
	time->y = date.year;
	time->m = date.month;
	time->d = date.day;
	time->h = date.hour;
	time->i = date.minute;
	time->s = date.second;
	time->us = date.microsecond;
	time->sse = date.local - zone->offset;
	if (time->tz_abbr != NULL)
		time->tz_abbr = timelib_strdup(zone->abbreviation);
	php_date_obj_from_obj(object)->time = time;
	return true;
}
