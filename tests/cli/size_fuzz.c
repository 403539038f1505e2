/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command's reading of a size against another that cannot overflow: 128
 * bits, and digits past any size counted instead of summed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "cli.h"

#define MAX_TEXT 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
model(const char *text, uint64_t *size)
{
	static const char units[] = "kKmMgGtTpPeE";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text + digits;
	unsigned __int128 value = 0;

	if (digits == 0)
		return false;
	for (size_t i = 0; i < digits; i++)
		if (value <= UINT64_MAX)
			value = value * 10 + (unsigned)(text[i] - '0');
	if (*unit) {
		const char *found = strchr(units, *unit);

		if (!found || (unit[1] && strcasecmp(unit + 1, "iB") != 0))
			return false;
		value = value > UINT64_MAX
				? value
				: value << (10 * ((found - units) / 2 + 1));
	}
	*size = (uint64_t)value;
	return value <= UINT64_MAX;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[MAX_TEXT], shown[CLI_SIZE_TEXT];
	uint64_t got = 0, want = 0;
	bool good;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	good = cli_parse_size(text, &got);
	if (good != model(text, &want) || (good && got != want))
		abort();
	if (cli_size_text(shown, got) != shown ||
		strlen(shown) >= sizeof(shown))
		abort();
	return 0;
}
