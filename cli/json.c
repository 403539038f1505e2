/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON that is only ever printed: four kinds of value, no nesting to check.
 * A parser would be a library's business; for this one would add a
 * dependency and no safety.
 */
#include <inttypes.h>
#include <string.h>
#include "cli.h"

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

/*
 * Length of the UTF-8 sequence at s as RFC 3629 allows it, 0 if it is none:
 * no overlong form, no surrogate, nothing above U+10FFFF.
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

/* A byte that belongs to no UTF-8 sequence becomes U+FFFD. */
static void
put_string(FILE *to, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	putc('"', to);
	while (*s) {
		size_t length = utf8_length(s);
		if (length == 0) {
			fputs("\\ufffd", to);
			length = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(to, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(to, "\\u%04x", *s);
		} else {
			fwrite(s, 1, length, to);
		}
		s += length;
	}
	putc('"', to);
}

void
json_key(struct json *json, const char *key)
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
	json_key(json, key);
	put_string(json->to, value);
}

void
json_number(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	fprintf(json->to, "%" PRIu64, value);
}

void
json_seconds(struct json *json, const char *key, double value)
{
	json_key(json, key);
	fprintf(json->to, "%.6f", value);
}

void
json_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	fputs(value ? "true" : "false", json->to);
}

void
json_open(struct json *json, const char *key, char bracket)
{
	json_key(json, key);
	putc(bracket, json->to);
	json->comma = false;
}
