/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints JSON: four kinds of value, without a check of the nesting. A library
 * would add a dependency and no safety.
 */
#include <inttypes.h>
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
	for (s += cli_print_plain(to, s); *s; s += cli_print_plain(to, s)) {
		size_t length = cli_utf8_length(s);
		if (length == 0) {
			fputs("\\ufffd", to);
			length = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(to, "\\%c", *s);
		} else if (cli_is_control(cli_utf8_decode(s, length))) {
			put_escaped(to, cli_utf8_decode(s, length));
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
