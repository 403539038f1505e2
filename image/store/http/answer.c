/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <strings.h>
#include "store/http/answer.h"

struct piece {
	const char *at;
	size_t length;
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Take decimal digits from the front. Returns false for none or too many. */
static bool
parse_number(struct piece *p, uint64_t *number)
{
	size_t n = 0;

	*number = 0;
	for (; n < p->length && is_digit(p->at[n]); n++)
		if (__builtin_mul_overflow(*number, 10, number) ||
			__builtin_add_overflow(
				*number, (unsigned)(p->at[n] - '0'), number))
			return false;
	p->at += n;
	p->length -= n;
	return n > 0 && *number < IMAGE_SIZE_UNKNOWN;
}

static bool
take(struct piece *p, const char *word)
{
	size_t length = strlen(word);

	if (p->length < length || strncasecmp(p->at, word, length) != 0)
		return false;
	p->at += length;
	p->length -= length;
	return true;
}

/* "bytes 0-99/1000"; a star may stand for the range or the total. */
static bool
parse_range(struct http_answer *answer, struct piece value)
{
	if (!take(&value, "bytes "))
		return false;
	if (take(&value, "*")) {
		answer->first = 1;
		answer->last = 0;
	} else if (!parse_number(&value, &answer->first) ||
		   !take(&value, "-") || !parse_number(&value, &answer->last) ||
		   answer->first > answer->last) {
		return false;
	}
	if (!take(&value, "/"))
		return false;
	if (take(&value, "*"))
		answer->total = IMAGE_SIZE_UNKNOWN;
	else if (!parse_number(&value, &answer->total))
		return false;
	return value.length == 0 &&
	       (answer->first > answer->last || answer->last < answer->total);
}

static void
copy(char *to, size_t size, struct piece value)
{
	if (value.length >= size || memchr(value.at, '\0', value.length))
		return;
	memcpy(to, value.at, value.length);
	to[value.length] = '\0';
}

static struct piece
trim(struct piece p)
{
	while (p.length && strchr(" \t\r\n", p.at[p.length - 1]))
		p.length--;
	while (p.length && (*p.at == ' ' || *p.at == '\t')) {
		p.at++;
		p.length--;
	}
	return p;
}

/* libcurl takes the first digits, and what follows them may be anything. */
static void
parse_length(struct http_answer *answer, struct piece item)
{
	uint64_t length = IMAGE_SIZE_UNKNOWN;
	size_t digits = 0;

	while (digits < item.length && is_digit(item.at[digits]))
		digits++;
	if (digits == 0 || digits < item.length)
		answer->bad_length = true;
	else if (!parse_number(&item, &length))
		length = IMAGE_SIZE_UNKNOWN;
	if (answer->has_length && answer->length != length)
		answer->bad_length = true;
	answer->has_length = true;
	answer->length = length;
}

static bool
is_word(struct piece p, const char *word)
{
	return take(&p, word) && p.length == 0;
}

/* In the first releases of HTTP/1.1, "identity" is no encoding. */
static void
parse_transfer(struct http_answer *answer, struct piece item)
{
	if (is_word(item, "chunked")) {
		answer->chunked = true;
	} else if (item.length && !answer->transfer[0] &&
		   !is_word(item, "identity")) {
		copy(answer->transfer, sizeof(answer->transfer),
			(struct piece){"unknown", strlen("unknown")});
		copy(answer->transfer, sizeof(answer->transfer), item);
	}
}

static void
parse_list(struct http_answer *answer, struct piece list,
	void (*parse)(struct http_answer *answer, struct piece item))
{
	do {
		const char *comma = memchr(list.at, ',', list.length);
		size_t length = comma ? (size_t)(comma - list.at) : list.length;
		parse(answer, trim((struct piece){list.at, length}));
		length += comma != NULL;
		list.at += length;
		list.length -= length;
	} while (list.length);
}

/* Several fields of a name are one list. */
static void
join(char *to, size_t size, struct piece value)
{
	size_t length = strlen(to);
	size_t comma = length ? strlen(", ") : 0;

	if (length + comma + value.length >= size)
		return;
	memcpy(to + length, ", ", comma);
	copy(to + length + comma, size - length - comma, value);
	if (strlen(to) <= length + comma)
		to[length] = '\0';
}

static void
parse_field(struct http_answer *answer, struct piece name, struct piece value)
{
#define NAME(text)                                                             \
	(name.length == sizeof(text) - 1 &&                                    \
		strncasecmp(name.at, text, name.length) == 0)
	if (NAME("etag")) {
		/* A weak ETag does not compare bytes. */
		if (value.length >= 2 && value.at[0] == '"' &&
			value.at[value.length - 1] == '"')
			copy(answer->etag, sizeof(answer->etag), value);
	} else if (NAME("last-modified")) {
		copy(answer->modified, sizeof(answer->modified), value);
	} else if (NAME("content-length")) {
		parse_list(answer, value, parse_length);
	} else if (NAME("transfer-encoding")) {
		parse_list(answer, value, parse_transfer);
	} else if (NAME("content-range")) {
		answer->bad_range =
			answer->has_range || !parse_range(answer, value);
		answer->has_range = true;
	} else if (NAME("content-encoding")) {
		if (is_word(value, "identity"))
			return;
		copy(answer->encoding, sizeof(answer->encoding),
			(struct piece){"unknown", strlen("unknown")});
		copy(answer->encoding, sizeof(answer->encoding), value);
	} else if (NAME("location")) {
		answer->location = true;
	} else if (NAME("www-authenticate")) {
		join(answer->challenges, sizeof(answer->challenges), value);
	} else if (NAME("x-amz-bucket-region")) {
		copy(answer->region, sizeof(answer->region), value);
	}
#undef NAME
}

void
http_answer_line(struct http_answer *answer, const char *line, size_t length)
{
	struct piece all = trim((struct piece){line, length});
	struct piece rest = all;

	if (length && (*line == ' ' || *line == '\t'))
		return;
	if (take(&rest, "HTTP/")) {
		uint64_t status = 0;
		while (rest.length && *rest.at != ' ') {
			rest.at++;
			rest.length--;
		}
		rest = trim(rest);
		if (!parse_number(&rest, &status) || status > 999)
			status = 0;
		*answer = (struct http_answer){.status = (unsigned)status,
			.length = IMAGE_SIZE_UNKNOWN};
		return;
	}
	if (all.length == 0) {
		answer->complete = true;
		/* It is not the length of the file. */
		if (answer->chunked || answer->transfer[0])
			answer->length = IMAGE_SIZE_UNKNOWN;
	}
	const char *colon = memchr(all.at, ':', all.length);
	if (!colon || answer->complete)
		return;
	size_t name = (size_t)(colon - all.at);
	parse_field(answer, (struct piece){all.at, name},
		trim((struct piece){colon + 1, all.length - name - 1}));
}

const char *
http_answer_differs(
	const struct http_answer *first, const struct http_answer *answer)
{
	if (answer->total != first->total)
		return "its length";
	if (strcmp(answer->etag, first->etag) != 0)
		return "its ETag";
	/* Several servers of one name may have other dates for one file. */
	if (!first->etag[0] && strcmp(answer->modified, first->modified) != 0)
		return "its date";
	return NULL;
}
