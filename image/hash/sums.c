/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include "hash/hash.h"
#include "hash/sums.h"

/* SHA-224 has the shortest digest that is accepted. */
#define LEAST_LENGTH 28

/* Bytes of the text; not terminated. */
struct span {
	char *at;
	size_t length;
};

struct sums {
	const char *name;
	/* by number of the algorithm; algorithm NULL: none was found */
	struct image_expect found[IMAGE_ALGORITHMS];
	/* an algorithm with two different digests, or NULL */
	const struct image_algorithm *conflict;
};

static bool
is(const struct span *span, const char *text)
{
	return span->length == strlen(text) &&
	       memcmp(span->at, text, span->length) == 0;
}

static void
skip(struct span *span, size_t n)
{
	span->at += n;
	span->length -= n;
}

static bool
skip_char(struct span *span, char c)
{
	if (!span->length || span->at[0] != c)
		return false;
	skip(span, 1);
	return true;
}

static void
trim_end(struct span *span, const char *set)
{
	while (span->length && span->at[span->length - 1] &&
		strchr(set, span->at[span->length - 1]))
		span->length--;
}

static bool
next_line(struct span *rest, struct span *line)
{
	if (!rest->length)
		return false;
	char *end = memchr(rest->at, '\n', rest->length);
	line->at = rest->at;
	line->length = end ? (size_t)(end - rest->at) : rest->length;
	skip(rest, line->length + (end != NULL));
	trim_end(line, "\r");
	return true;
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

bool
image_algorithm_is_safe(const struct image_algorithm *algorithm)
{
	return algorithm->length >= LEAST_LENGTH;
}

/* Replace the escapes of a name. Returns false for an unknown one. */
static bool
unescape(struct span *name)
{
	size_t to = 0;

	for (size_t i = 0; i < name->length; i++) {
		char c = name->at[i];
		if (c == '\\') {
			if (++i == name->length)
				return false;
			c = name->at[i];
			if (c == 'n')
				c = '\n';
			else if (c == 'r')
				c = '\r';
			else if (c != '\\')
				return false;
		}
		name->at[to++] = c;
	}
	name->length = to;
	return true;
}

/* Remove the folders of a name. */
static void
keep_last_part(struct span *name)
{
	char *slash = memrchr(name->at, '/', name->length);

	if (slash)
		skip(name, (size_t)(slash - name->at) + 1);
}

static void
note(struct sums *sums, const struct image_expect *expect)
{
	size_t i = 0;

	while (image_algorithm(i) != expect->algorithm)
		i++;
	struct image_expect *found = &sums->found[i];
	if (found->algorithm && memcmp(found->bytes, expect->bytes,
					expect->algorithm->length) != 0)
		sums->conflict = expect->algorithm;
	*found = *expect;
}

/* Set *algorithm to that of the tag, and skip the tag. */
static bool
skip_tag(struct span *line, const struct image_algorithm **algorithm)
{
	for (size_t i = 0; (*algorithm = image_algorithm(i)); i++) {
		size_t length = strlen((*algorithm)->tag);
		if (length < line->length &&
			memcmp(line->at, (*algorithm)->tag, length) == 0) {
			skip(line, length);
			return true;
		}
	}
	return false;
}

/* "SHA256 (NAME) = HEX", and "SHA256(NAME)= HEX" of OpenSSL. */
static bool
parse_tagged(struct span line, struct span *name, struct image_expect *expect)
{
	const struct image_algorithm *algorithm;

	if (!skip_tag(&line, &algorithm))
		return false;
	skip_char(&line, ' ');
	size_t digits = 2 * algorithm->length;
	if (!skip_char(&line, '(') || line.length <= digits)
		return false;
	line.length -= digits;
	if (!image_expect_hex(expect, algorithm, line.at + line.length, digits))
		return false;
	trim_end(&line, " ");
	if (!line.length || line.at[--line.length] != '=')
		return false;
	trim_end(&line, " ");
	if (!line.length || line.at[--line.length] != ')')
		return false;
	*name = line;
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

/* "HEX  NAME", "HEX *NAME", and "HEX NAME" of BSD. */
static bool
parse_plain(struct span line, struct span *name, struct image_expect *expect)
{
	size_t digits = 0;

	while (digits < line.length && image_hex_digit(line.at[digits]) >= 0)
		digits++;
	const struct image_algorithm *algorithm = by_digits(digits);
	if (!algorithm || !image_expect_hex(expect, algorithm, line.at, digits))
		return false;
	skip(&line, digits);
	if (!skip_char(&line, ' '))
		return false;
	if (!skip_char(&line, ' '))
		skip_char(&line, '*');
	*name = line;
	return true;
}

static void
parse_line(struct sums *sums, struct span line)
{
	struct image_expect expect;
	struct span name;
	bool escaped = skip_char(&line, '\\');

	if (!parse_tagged(line, &name, &expect) &&
		!parse_plain(line, &name, &expect))
		return;
	if (!image_algorithm_is_safe(expect.algorithm) ||
		(escaped && !unescape(&name)))
		return;
	keep_last_part(&name);
	if (is(&name, sums->name))
		note(sums, &expect);
}

/* Returns whether the line is an armor header line of OpenPGP. */
static bool
is_armor(struct span line, const char *text)
{
	trim_end(&line, " \t");
	return is(&line, text);
}

#define BEGIN_MESSAGE "-----BEGIN PGP SIGNED MESSAGE-----"
#define BEGIN_SIGNATURE "-----BEGIN PGP SIGNATURE-----"

/*
 * Set *rest to what follows the line that begins a signed message. Returns
 * false if there is none.
 */
static bool
find_message(struct span *rest)
{
	struct span line;

	while (next_line(rest, &line))
		if (is_armor(line, BEGIN_MESSAGE))
			return true;
	return false;
}

/* The lines of a signed message alone: RFC 9580, 7. */
static int
parse_message(struct sums *sums, const char *list, struct span rest,
	struct image_error *err)
{
	struct span line = {.length = 0};

	/* "Hash: SHA512", up to an empty line */
	while (next_line(&rest, &line) && !is_armor(line, ""))
		;
	while (next_line(&rest, &line)) {
		if (is_armor(line, BEGIN_SIGNATURE))
			return find_message(&rest)
				       ? image_fail(err, list, -EINVAL,
						 "has two signed messages")
				       : 0;
		if (line.length > 1 && line.at[0] == '-' && line.at[1] == ' ')
			skip(&line, 2);
		parse_line(sums, line);
	}
	return image_fail(err, list, -EINVAL,
		"has a signed message without an end: the list is not "
		"complete");
}

static int
choose(const struct sums *sums, const char *list, struct image_expect *expect,
	struct image_error *err)
{
	const struct image_expect *best = NULL;

	if (sums->conflict)
		return image_fail(err, list, -EINVAL,
			"has two different %s digests of '%s'",
			sums->conflict->name, sums->name);
	for (size_t i = 0; i < IMAGE_ALGORITHMS; i++) {
		const struct image_expect *found = &sums->found[i];
		if (found->algorithm &&
			(!best || found->algorithm->length >
					  best->algorithm->length))
			best = found;
	}
	if (!best)
		return image_fail(err, list, -ENOENT,
			"has no digest of '%s', by SHA-2 or BLAKE2b",
			sums->name);
	*expect = *best;
	return 0;
}

int
image_sums_find(const char *list, char *text, size_t length, const char *name,
	struct image_expect *expect, struct image_error *err)
{
	struct sums sums = {.name = name};
	struct span rest = {text, length};
	struct span message = rest;
	struct span line;
	int rc = 0;

	if (find_message(&message))
		rc = parse_message(&sums, list, message, err);
	else
		while (next_line(&rest, &line))
			parse_line(&sums, line);
	return rc < 0 ? rc : choose(&sums, list, expect, err);
}
