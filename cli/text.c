/* SPDX-License-Identifier: BSD-3-Clause */
/* Text from outside, such as names and sizes, how it is printed, and JSON. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include "cli.h"

/*
 * Returns the length of the UTF-8 sequence at s, or 0 if RFC 3629 does not
 * allow it: no overlong form, no surrogate, nothing above U+10FFFF.
 */
static size_t
utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char first, last, low, high, length;
	} forms[] = {
		{0x00, 0x7f, 0x00, 0xff, 1},
		{0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (s[0] < forms[i].first || s[0] > forms[i].last)
			continue;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return forms[i].length == 1;
		for (size_t at = 2; at < forms[i].length; at++)
			if ((s[at] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

static uint32_t
utf8_decode(const unsigned char *s, size_t length)
{
	/* The first byte without the bits of the length. */
	uint32_t code = length > 1 ? s[0] & (0x7fu >> length) : s[0];

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

/* Returns true if a terminal would interpret the character. */
static bool
is_control(uint32_t code)
{
	/*
	 * Control characters, including those of C1, which terminals interpret
	 * like ESC; line separators; and the invisible format characters
	 * (Unicode's Cf), which reorder, join or hide the characters around
	 * them. In their order: the search ends at the first one that is not
	 * below.
	 */
	static const struct {
		uint32_t first, last;
	} controls[] = {{0x00, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad},
		{0x61c, 0x61c}, {0x180e, 0x180e}, {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
		{0xfff9, 0xfffb}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
		{0x1d173, 0x1d17a}, {0xe0000, 0xe007f}};

	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		if (code <= controls[i].last)
			return code >= controls[i].first;
	return false;
}

/*
 * Print the printable ASCII characters in front of the first '"', '\\' or other
 * byte. Returns how many: most names are printed by one call.
 */
static size_t
print_plain(FILE *to, const unsigned char *s)
{
	size_t length = 0;

	while (s[length] >= ' ' && s[length] <= '~' && s[length] != '"' &&
		s[length] != '\\')
		length++;
	if (length)
		fwrite(s, 1, length, to);
	return length;
}

void
cli_print_name(FILE *to, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;

	for (s += print_plain(to, s); *s; s += print_plain(to, s)) {
		size_t length = utf8_length(s);
		bool plain = length && !is_control(utf8_decode(s, length));
		if (length == 0)
			length = 1;
		if (*s == '\\')
			fputs("\\\\", to);
		else if (plain)
			fwrite(s, 1, length, to);
		else
			for (size_t i = 0; i < length; i++)
				fprintf(to, "\\x%02x", s[i]);
		s += length;
	}
}

/*
 * Returns the exponent of a unit such as "k" or "KiB"; 0 for no unit, -1 for an
 * invalid one. "kB" is refused, because it may mean 1000.
 */
static int
unit_shift(const char *unit)
{
	static const char units[] = "kmgtpe";

	if (!*unit)
		return 0;
	const char *found = strchr(units, *unit | 0x20);
	if (!found || (unit[1] && strcasecmp(unit + 1, "ib") != 0))
		return -1;
	return 10 * (int)(found - units + 1);
}

/*
 * Parse decimal digits. Returns their end; NULL if there are none or too many.
 */
static const char *
parse_digits(const char *text, uint64_t *number)
{
	uint64_t value = 0;
	const char *c = text;

	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(
				value, (unsigned)(*c - '0'), &value))
			return NULL;
	*number = value;
	return c == text ? NULL : c;
}

bool
cli_parse_int(const char *text, int *number)
{
	uint64_t value;
	const char *end = parse_digits(text, &value);

	if (!end || *end || value > INT_MAX)
		return false;
	*number = (int)value;
	return true;
}

bool
cli_parse_size(const char *text, uint64_t *size)
{
	uint64_t value;
	const char *c = parse_digits(text, &value);

	if (!c)
		return false;
	int shift = unit_shift(c);
	if (shift < 0 ||
		__builtin_mul_overflow(value, UINT64_C(1) << shift, &value))
		return false;
	*size = value;
	return true;
}

const char *
cli_size_text(char *buf, uint64_t size)
{
	double value = (double)size / 1024;
	const char *unit = "KMGTPE";

	if (size < 1024) {
		snprintf(buf, CLI_SIZE_TEXT, "%s", IMAGE_COUNT(size, "byte"));
		return buf;
	}
	/* From these limits on, rounding would give 1024 or 100.0. */
	for (; value >= 1023.5; unit++)
		value /= 1024;
	snprintf(buf, CLI_SIZE_TEXT, "%.*f %ciB", value < 99.95 ? 1 : 0, value,
		*unit);
	return buf;
}

/*
 * JSON: four kinds of value, without a check of the nesting. A library would
 * add a dependency and no safety.
 */

void
json_begin(struct json *json, FILE *to, char bracket)
{
	*json = (struct json){.to = to};
	putc(bracket, to);
}

void
json_end(struct json *json, char bracket)
{
	putc(bracket, json->to);
	json->comma = true;
}

/* A code point above U+FFFF is two surrogates: RFC 8259, section 7. */
static void
put_escaped(FILE *to, uint32_t code)
{
	if (code > 0xffff) {
		code -= 0x10000;
		fprintf(to, "\\u%04" PRIx32, 0xd800 + (code >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	fprintf(to, "\\u%04" PRIx32, code);
}

/*
 * Control characters are escaped, because JSON is also printed on terminals. A
 * byte that is not part of a UTF-8 sequence becomes U+FFFD.
 */
static void
put_string(FILE *to, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	putc('"', to);
	for (s += print_plain(to, s); *s; s += print_plain(to, s)) {
		size_t length = utf8_length(s);
		if (length == 0) {
			fputs("\\ufffd", to);
			length = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(to, "\\%c", *s);
		} else if (is_control(utf8_decode(s, length))) {
			put_escaped(to, utf8_decode(s, length));
		} else {
			fwrite(s, 1, length, to);
		}
		s += length;
	}
	putc('"', to);
}

/* Begin a value; key is NULL in an array. */
static void
begin_value(struct json *json, const char *key)
{
	if (json->comma)
		fputs(", ", json->to);
	json->comma = true;
	if (key) {
		put_string(json->to, key);
		fputs(": ", json->to);
	}
}

void
json_string(struct json *json, const char *key, const char *value)
{
	begin_value(json, key);
	put_string(json->to, value);
}

void
json_number(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	fprintf(json->to, "%" PRIu64, value);
}

void
json_null(struct json *json, const char *key)
{
	begin_value(json, key);
	fputs("null", json->to);
}

void
json_seconds(struct json *json, const char *key, double value)
{
	begin_value(json, key);
	fprintf(json->to, "%.6f", value);
}

void
json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->to);
}

void
json_open(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	putc(bracket, json->to);
	json->comma = false;
}
