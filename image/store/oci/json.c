/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>
#include "hash/hash.h"
#include "store/oci/json.h"

#define MAX_DEPTH 32
/* A name that is longer is no name that is looked for. */
#define MAX_NAME 1024

/* skip_... returns the byte behind what it skips, NULL if not valid. */

static const char *
skip_blanks(const char *at, const char *end)
{
	while (at < end &&
		(*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

/* Encode as UTF-8. Returns the number of bytes, 0 for a NUL and a surrogate. */
static int
encode(unsigned code, char *bytes)
{
	int n = code < 0x80 ? 1 : code < 0x800 ? 2 : 3;

	if (code == 0 || (code >= 0xd800 && code < 0xe000))
		return 0;
	for (int i = n - 1; i > 0; i--, code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3f));
	bytes[0] = (char)(n == 1 ? code : n == 2 ? 0xc0 | code : 0xe0 | code);
	return n;
}

/* Take a character from the front. As encode(); -1 if it is not valid. */
static int
take(const char **at, const char *end, char *bytes)
{
	static const char letters[] = "\"\\/bfnrtu",
			  values[] = "\"\\/\b\f\n\r\t";
	unsigned code = 0;

	bytes[0] = *(*at)++;
	if (bytes[0] != '\\')
		return (unsigned char)bytes[0] < ' ' ? -1 : 1;
	const char *letter =
		*at < end && **at ? strchr(letters, *(*at)++) : NULL;
	if (!letter)
		return -1;
	if (*letter != 'u') {
		bytes[0] = values[letter - letters];
		return 1;
	}
	for (int i = 0; i < 4; i++) {
		int digit = *at < end ? image_hex_digit(*(*at)++) : -1;
		if (digit < 0)
			return -1;
		code = code << 4 | (unsigned)digit;
	}
	return encode(code, bytes);
}

static const char *
skip_text(const char *at, const char *end)
{
	char bytes[4];

	if (at == end || *at++ != '"')
		return NULL;
	while (at < end && *at != '"')
		if (take(&at, end, bytes) < 0)
			return NULL;
	return at < end ? at + 1 : NULL;
}

static const char *
skip_digits(const char *at, const char *end)
{
	const char *begin = at;

	while (at && at < end && *at >= '0' && *at <= '9')
		at++;
	return at == begin ? NULL : at;
}

static const char *
skip_number(const char *at, const char *end)
{
	at += at < end && *at == '-';
	at = at < end && *at == '0' ? at + 1 : skip_digits(at, end);
	if (at && at < end && *at == '.')
		at = skip_digits(at + 1, end);
	if (at && at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		at = skip_digits(at, end);
	}
	return at;
}

static const char *
skip_word(const char *at, const char *end, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(end - at) >= length && memcmp(at, word, length) == 0
		       ? at + length
		       : NULL;
}

static const char *
skip_name(const char *at, const char *end)
{
	at = skip_text(at, end);
	at = at ? skip_blanks(at, end) : end;
	return at < end && *at == ':' ? skip_blanks(at + 1, end) : NULL;
}

static const char *skip_value(const char *at, const char *end, unsigned depth);

static const char *
skip_list(const char *at, const char *end, unsigned depth)
{
	bool object = *at == '{';
	char close = object ? '}' : ']';

	at = skip_blanks(at + 1, end);
	if (at < end && *at == close)
		return at + 1;
	while (at) {
		if (object)
			at = skip_name(at, end);
		if (at)
			at = skip_value(at, end, depth);
		at = at ? skip_blanks(at, end) : end;
		if (at == end || (*at != close && *at != ','))
			return NULL;
		if (*at == close)
			return at + 1;
		at = skip_blanks(at + 1, end);
	}
	return NULL;
}

static const char *
skip_value(const char *at, const char *end, unsigned depth)
{
	if (at == end)
		return NULL;
	switch (*at) {
	case '{':
	case '[':
		return depth < MAX_DEPTH ? skip_list(at, end, depth + 1) : NULL;
	case '"':
		return skip_text(at, end);
	case 't':
		return skip_word(at, end, "true");
	case 'f':
		return skip_word(at, end, "false");
	case 'n':
		return skip_word(at, end, "null");
	default:
		return skip_number(at, end);
	}
}

bool
image_json_parse(const char *text, size_t length, struct image_json *root)
{
	const char *end = text + length;

	*root = (struct image_json){skip_blanks(text, end), end};
	const char *behind = skip_value(root->at, end, 0);
	return behind && skip_blanks(behind, end) == end;
}

unsigned
image_json_get(
	struct image_json object, const char *name, struct image_json *value)
{
	const char *end = object.end;
	char text[MAX_NAME];
	unsigned found = 0;

	if (*object.at != '{')
		return 0;
	for (const char *at = skip_blanks(object.at + 1, end); *at != '}';) {
		bool wanted = image_json_text((struct image_json){at, end},
				      text, sizeof(text)) &&
			      strcmp(text, name) == 0;
		at = skip_name(at, end);
		assert(at);
		if (wanted) {
			found++;
			*value = (struct image_json){at, end};
		}
		at = skip_value(at, end, 0);
		assert(at);
		at = skip_blanks(at, end);
		if (*at == ',')
			at = skip_blanks(at + 1, end);
	}
	return found;
}

bool
image_json_next(struct image_json *list, struct image_json *item)
{
	const char *at = list->at;

	if (*at != '[' && *at != ',')
		return false;
	at = skip_blanks(at + 1, list->end);
	if (*at == ']') {
		list->at = at;
		return false;
	}
	*item = (struct image_json){at, list->end};
	at = skip_value(at, list->end, 0);
	assert(at);
	list->at = skip_blanks(at, list->end);
	return true;
}

bool
image_json_text(struct image_json value, char *text, size_t size)
{
	const char *at = value.at;
	size_t length = 0;
	char bytes[4];

	if (*at++ != '"')
		return false;
	while (*at != '"') {
		int n = take(&at, value.end, bytes);
		if (n <= 0 || length + (size_t)n >= size)
			return false;
		memcpy(text + length, bytes, (size_t)n);
		length += (size_t)n;
	}
	text[length] = '\0';
	return true;
}

bool
image_json_number(struct image_json value, uint64_t *number)
{
	const char *at = value.at;

	*number = 0;
	if (*at < '0' || *at > '9')
		return false;
	for (; at < value.end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*number, 10, number) ||
			__builtin_add_overflow(
				*number, (unsigned)(*at - '0'), number))
			return false;
	return at == value.end || !strchr(".eE", *at);
}

bool
image_json_member(
	struct image_json object, const char *name, char *text, size_t size)
{
	struct image_json value;

	if (image_json_get(object, name, &value) == 1 &&
		image_json_text(value, text, size))
		return true;
	text[0] = '\0';
	return false;
}
