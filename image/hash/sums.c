/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include "hash/hash.h"

/* SHA-224 has the shortest digest that is accepted. */
#define LEAST_LENGTH 28

struct sums {
	const char *name;
	/* by number of the algorithm; algorithm NULL: none was found */
	struct image_expect found[IMAGE_ALGORITHMS];
	/* an algorithm with two different digests, or NULL */
	const struct image_algorithm *conflict;
	/* lines that are not empty */
	size_t lines;
	/* the digits of a line that has no name; algorithm NULL: none */
	struct image_expect alone;
};

static bool
next_line(struct image_span *rest, struct image_span *line)
{
	bool found = image_span_line(rest, line);

	image_span_trim(line, "\r");
	return found;
}

bool
image_algorithm_is_safe(const struct image_algorithm *algorithm)
{
	return algorithm->length >= LEAST_LENGTH;
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

static void
parse_line(struct sums *sums, struct image_span line)
{
	struct image_sum sum;
	struct image_span text = line;

	image_span_trim(&text, " \t");
	sums->lines += text.length > 0;
	if (!image_sum_parse(line.at, line.length, &sum) ||
		!image_algorithm_is_safe(sum.expect.algorithm))
		return;
	if (!sum.name)
		sums->alone = sum.expect;
	else if (image_sum_is_for(&sum, sums->name, true))
		note(sums, &sum.expect);
}

/* Returns whether the line is an armor header line of OpenPGP. */
static bool
is_armor(struct image_span line, const char *text)
{
	image_span_trim(&line, " \t");
	return image_span_is(line, text);
}

#define BEGIN_MESSAGE "-----BEGIN PGP SIGNED MESSAGE-----"
#define BEGIN_SIGNATURE "-----BEGIN PGP SIGNATURE-----"

/*
 * Set *rest to what follows the line that begins a signed message. Returns
 * false if there is none.
 */
static bool
find_message(struct image_span *rest)
{
	struct image_span line;

	while (next_line(rest, &line))
		if (is_armor(line, BEGIN_MESSAGE))
			return true;
	return false;
}

/* The lines of a signed message alone: RFC 9580, 7. */
static int
parse_message(struct sums *sums, const char *list, struct image_span rest,
	struct image_error *err)
{
	struct image_span line = {.length = 0};

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
			image_span_skip(&line, 2);
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
	/* A file such as disk.img.sha256, with the digits alone */
	if (!best && sums->lines == 1 && sums->alone.algorithm)
		best = &sums->alone;
	if (!best)
		return image_fail(err, list, -ENOENT,
			"lists no SHA-2 or BLAKE2b digest of '%s' (the name in "
			"the list must be that of the image's file)",
			sums->name);
	*expect = *best;
	return 0;
}

int
image_sums_find(const char *list, char *text, size_t length, const char *name,
	struct image_expect *expect, struct image_error *err)
{
	struct sums sums = {.name = name};
	struct image_span rest = {text, length};
	struct image_span message = rest;
	struct image_span line;
	int rc = 0;

	if (find_message(&message))
		rc = parse_message(&sums, list, message, err);
	else
		while (next_line(&rest, &line))
			parse_line(&sums, line);
	return rc < 0 ? rc : choose(&sums, list, expect, err);
}

/* The rows of algorithms.def as a table. */

static const struct image_algorithm algorithms[] = {
#define IMAGE_ALGORITHM(name, tag, other_tags, evp, bits)                      \
	{name, tag, other_tags, evp, (bits) / 8},
#include "hash/algorithms.def"
#undef IMAGE_ALGORITHM
};

_Static_assert(sizeof(algorithms) / sizeof(algorithms[0]) == IMAGE_ALGORITHMS,
	"image.h has the number of rows");

const struct image_algorithm *
image_algorithm(size_t index)
{
	return index < IMAGE_ALGORITHMS ? &algorithms[index] : NULL;
}

const struct image_algorithm *
image_algorithm_by_name(const char *name, size_t length)
{
	for (size_t i = 0; i < IMAGE_ALGORITHMS; i++)
		if (strlen(algorithms[i].name) == length &&
			memcmp(algorithms[i].name, name, length) == 0)
			return &algorithms[i];
	return NULL;
}
