/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that comes from outside: file names, words of the command line. */
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

/* U+0080 to U+009F, some of which terminals obey as they do ESC. */
static bool
is_c1_control(const unsigned char *s)
{
	return s[0] == 0xc2 && s[1] < 0xa0;
}

void
cli_print_name(FILE *to, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;

	while (*s) {
		size_t length = cli_utf8_length(s);
		bool plain =
			length && *s >= 0x20 && *s != 0x7f && !is_c1_control(s);
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
