/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include "cli.h"

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
		snprintf(buf, CLI_SIZE_TEXT, "%" PRIu64 " %s", size,
			image_plural(size, "byte", "bytes"));
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
