/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include "cli.h"

static int
unit_shift(char unit)
{
	switch (unit) {
	case 'k':
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	case 'T':
		return 40;
	default:
		return -1;
	}
}

bool
cli_parse_size(const char *text, uint64_t *size)
{
	uint64_t value = 0;
	const char *c = text;

	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(
				value, (unsigned)(*c - '0'), &value))
			return false;
	if (c == text)
		return false;
	if (*c) {
		int shift = unit_shift(*c);
		if (shift < 0 || c[1] ||
			__builtin_mul_overflow(
				value, UINT64_C(1) << shift, &value))
			return false;
	}
	*size = value;
	return true;
}

const char *
cli_size_text(char *buf, uint64_t size)
{
	double value = (double)size / 1024;
	const char *unit = "KMGTPE";

	if (size < 1024) {
		snprintf(buf, CLI_SIZE_TEXT, "%" PRIu64 " bytes", size);
		return buf;
	}
	for (; value >= 1024; unit++)
		value /= 1024;
	snprintf(buf, CLI_SIZE_TEXT, "%.*f %ciB", value < 100 ? 1 : 0, value,
		*unit);
	return buf;
}
