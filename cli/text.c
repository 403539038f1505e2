/* SPDX-License-Identifier: BSD-3-Clause */
/* Text from outside, such as names, sizes and ranges, and how it is printed. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include "cli.h"

size_t
cli_utf8_length(const unsigned char *s)
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

uint32_t
cli_utf8_decode(const unsigned char *s, size_t length)
{
	/* The first byte without the bits of the length. */
	uint32_t code = length > 1 ? s[0] & (0x7fu >> length) : s[0];

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

bool
cli_is_control(uint32_t code)
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

size_t
cli_print_plain(FILE *to, const unsigned char *s)
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

	for (s += cli_print_plain(to, s); *s; s += cli_print_plain(to, s)) {
		size_t length = cli_utf8_length(s);
		bool plain =
			length && !cli_is_control(cli_utf8_decode(s, length));
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

const char *
cli_range_text(char *buf, size_t min, size_t max)
{
	char first[CLI_SIZE_TEXT], last[CLI_SIZE_TEXT];

	if (max < min || max == 0 || min == SIZE_MAX)
		return "never";
	cli_size_text(first, min);
	if (max == SIZE_MAX)
		snprintf(buf, CLI_RANGE_TEXT, "from %s", first);
	else
		snprintf(buf, CLI_RANGE_TEXT, "from %s to %s", first,
			cli_size_text(last, max));
	return buf;
}
