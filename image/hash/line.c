/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <strings.h>
#include "hash/hash.h"

#define BLANKS " \t"

static bool
skip_char(struct image_span *span, char c)
{
	if (!span->length || span->at[0] != c)
		return false;
	image_span_skip(span, 1);
	return true;
}

static bool
cut_char(struct image_span *span, char c)
{
	image_span_trim(span, BLANKS);
	if (!span->length || span->at[span->length - 1] != c)
		return false;
	span->length--;
	return true;
}

bool
image_span_line(struct image_span *rest, struct image_span *line)
{
	const char *end = memchr(rest->at, '\n', rest->length);

	*line = *rest;
	if (end)
		line->length = (size_t)(end - rest->at);
	image_span_skip(rest, line->length + (end != NULL));
	return line->length || end;
}

bool
image_percent_decode(char *to, const char *from)
{
	bool good = true;

	while (*from) {
		int high = *from == '%' ? image_hex_digit(from[1]) : -1;
		int low = high < 0 ? -1 : image_hex_digit(from[2]);
		bool escape = low >= 0 && (high | low);
		good &= escape || *from != '%';
		*to++ = escape ? (char)(high << 4 | low) : *from;
		from += escape ? 3 : 1;
	}
	*to = '\0';
	return good;
}

bool
image_expect_hex(struct image_expect *expect,
	const struct image_algorithm *algorithm, const char *digits,
	size_t length)
{
	if (length != 2 * algorithm->length)
		return false;
	for (size_t i = 0; i < length; i += 2) {
		int high = image_hex_digit(digits[i]),
		    low = image_hex_digit(digits[i + 1]);
		if (high < 0 || low < 0)
			return false;
		expect->bytes[i / 2] = (unsigned char)(high << 4 | low);
	}
	expect->algorithm = algorithm;
	return true;
}

/* Returns whether a list of words, with blanks between them, has the word. */
static bool
has_word(const char *words, const char *word, size_t length)
{
	while (*words) {
		size_t n = strcspn(words, " ");
		if (n == length && strncasecmp(words, word, n) == 0)
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

/* The algorithm of a tag, or NULL. */
static const struct image_algorithm *
by_tag(const char *tag, size_t length)
{
	const struct image_algorithm *algorithm;

	for (size_t i = 0; (algorithm = image_algorithm(i)); i++)
		if (has_word(algorithm->tag, tag, length) ||
			has_word(algorithm->other_tags, tag, length))
			return algorithm;
	return NULL;
}

static bool
parse_tagged(struct image_span line, struct image_sum *sum)
{
	const char *open = memchr(line.at, '(', line.length);

	if (!open)
		return false;
	struct image_span tag = {line.at, (size_t)(open - line.at)};
	image_span_trim(&tag, BLANKS);
	const struct image_algorithm *algorithm = by_tag(tag.at, tag.length);
	if (!algorithm)
		return false;
	image_span_skip(&line, (size_t)(open - line.at) + 1);
	image_span_trim(&line, BLANKS);
	size_t digits = 2 * algorithm->length;
	if (line.length <= digits)
		return false;
	line.length -= digits;
	if (!image_expect_hex(
		    &sum->expect, algorithm, line.at + line.length, digits) ||
		!cut_char(&line, '=') || !cut_char(&line, ')'))
		return false;
	sum->name = line.at;
	sum->length = line.length;
	return true;
}

/* The algorithm of coreutils with that digest, or NULL. */
static const struct image_algorithm *
by_digits(size_t digits)
{
	const struct image_algorithm *algorithm;
	size_t i = 0;

	/* SHA-512 stands before BLAKE2b. */
	while ((algorithm = image_algorithm(i)) &&
		2 * algorithm->length != digits)
		i++;
	return algorithm;
}

static bool
parse_plain(struct image_span line, struct image_sum *sum)
{
	size_t digits = 0;

	while (digits < line.length && image_hex_digit(line.at[digits]) >= 0)
		digits++;
	const struct image_algorithm *algorithm = by_digits(digits);
	if (!algorithm ||
		!image_expect_hex(&sum->expect, algorithm, line.at, digits))
		return false;
	image_span_skip(&line, digits);
	struct image_span rest = line;
	image_span_trim(&rest, BLANKS);
	sum->name = NULL;
	if (rest.length == 0)
		return true;
	if (!skip_char(&line, ' '))
		return false;
	if (!skip_char(&line, ' '))
		skip_char(&line, '*');
	sum->name = line.at;
	sum->length = line.length;
	return true;
}

bool
image_sum_parse(const char *line, size_t length, struct image_sum *sum)
{
	struct image_span span = {line, length};

	*sum = (struct image_sum){.escaped = skip_char(&span, '\\')};
	return parse_tagged(span, sum) || parse_plain(span, sum);
}

/* Take the next byte of a name. Returns -1 for an unknown escape. */
static int
next_byte(struct image_span *name, bool escaped)
{
	char c = name->at[0];

	image_span_skip(name, 1);
	if (c != '\\' || !escaped)
		return (unsigned char)c;
	c = name->length ? name->at[0] : '\0';
	if (!strchr("nr\\", c) || !c)
		return -1;
	image_span_skip(name, 1);
	return c == 'n' ? '\n' : c == 'r' ? '\r' : c;
}

static bool
is_equal(struct image_span own, bool escaped, const char *name)
{
	while (own.length) {
		int byte = next_byte(&own, escaped);
		if (byte < 0 || byte != (unsigned char)*name || !*name)
			return false;
		name++;
	}
	return !*name;
}

/* Skip "./" at the beginning. */
static void
skip_here(struct image_span *name)
{
	while (name->length > 2 && memcmp(name->at, "./", 2) == 0)
		image_span_skip(name, 2);
}

bool
image_sum_is_for(const struct image_sum *sum, const char *name, bool last)
{
	struct image_span own = {sum->name, sum->length};

	if (!sum->name)
		return false;
	const char *slash = last ? memrchr(own.at, '/', own.length) : NULL;
	if (slash)
		image_span_skip(&own, (size_t)(slash - own.at) + 1);
	skip_here(&own);
	if (is_equal(own, sum->escaped, name))
		return true;
	/* "SHA256 (*NAME) = ", and two blanks before an asterisk */
	if (!skip_char(&own, '*'))
		return false;
	skip_here(&own);
	return is_equal(own, sum->escaped, name);
}
