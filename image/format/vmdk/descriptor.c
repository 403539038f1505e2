/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the text of a descriptor: with strict by the rules of OpenStack's
 * format inspector, otherwise as QEMU, 7-Zip and libvmdk agree on the files of
 * the disk. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "format/vmdk/vmdk.h"

/* Returns the first byte that is neither a blank nor a line end. */
static const char *
skip_blank_lines(const char *p, const char *end)
{
	while (p < end && strchr(" \t\r\n", *p) && *p)
		p++;
	return p;
}

/* As vmdk_probe() of QEMU 7.2: comments and blank lines, then version=1, 2
 * or 3. The version may lack its line end, and blank lines that QEMU refuses
 * are accepted. */
static bool
has_version(const unsigned char *head, size_t length)
{
	static const char version[] = "version=";
	const char *p = (const char *)head, *end = p + length;

	for (p = skip_blank_lines(p, end); p < end && *p == '#';
		p = skip_blank_lines(p, end)) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return false;
	}
	size_t left = (size_t)(end - p);
	return left > strlen(version) &&
	       memcmp(p, version, strlen(version)) == 0 &&
	       p[strlen(version)] >= '1' && p[strlen(version)] <= '3';
}

bool
vmdk_is_descriptor(const unsigned char *head, size_t length)
{
	static const char first[] = "# Disk DescriptorFile";

	return (length >= strlen(first) &&
		       memcmp(head, first, strlen(first)) == 0) ||
	       has_version(head, length);
}

struct parser {
	const char *name;
	struct vmdk_descriptor *descriptor;
	unsigned line;
	bool strict;
	bool has_cid;
	bool has_parent_cid;
	struct image_error *err;
};

static int
refuse_line(const struct parser *p, const char *line)
{
	return image_damaged(p->err, p->name, -EINVAL,
		"line %u of its descriptor is not understood: '%.100s'",
		p->line, line);
}

static char *
trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	for (length = strlen(text); length && strchr(" \t\r", text[length - 1]);
		length--)
		text[length - 1] = '\0';
	return text;
}

/* Set *number to the decimal or hexadecimal digits of the whole text. */
static bool
parse_number(const char *text, int base, uint64_t *number)
{
	const char *digits =
		base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
	size_t length = strlen(text);

	if (length == 0 || length > 19 || strspn(text, digits) != length)
		return false;
	errno = 0;
	*number = strtoull(text, NULL, base);
	return errno == 0;
}

static int
set_text(struct parser *p, char **field, const char *key, char *value)
{
	size_t length = strlen(value);

	if (*field)
		return image_damaged(p->err, p->name, -EINVAL,
			"line %u of its descriptor has a second %s", p->line,
			key);
	/* Some programs write no quotes. */
	if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
		value[length - 1] = '\0';
		value++;
	}
	*field = strdup(value);
	return *field ? 0 : image_no_memory(p->err);
}

/*
 * Xen Orchestra writes the CID in decimal digits. Eight of them may be either,
 * and the CID is not used without a parent.
 */
static int
set_cid(struct parser *p, bool *has, uint32_t *cid, const char *key,
	const char *value)
{
	bool parent = has == &p->has_parent_cid;
	uint64_t number;

	if (*has)
		return image_damaged(p->err, p->name, -EINVAL,
			"line %u of its descriptor has a second %s", p->line,
			key);
	if ((!parse_number(value, 16, &number) || number > UINT32_MAX) &&
		(parent || strlen(value) > 10 ||
			!parse_number(value, 10, &number) ||
			number > UINT32_MAX))
		return image_damaged(p->err, p->name, -EINVAL,
			"%s '%.32s' of its descriptor is not a hexadecimal "
			"number of 32 bits",
			key, value);
	*has = true;
	*cid = (uint32_t)number;
	return 0;
}

/* KEY=VALUE. Keys that do not describe the data are ignored. */
static int
parse_field(struct parser *p, const char *key, char *value)
{
	struct vmdk_descriptor *d = p->descriptor;

	if (strcasecmp(key, "createType") == 0)
		return set_text(p, &d->create_type, key, value);
	if (strcasecmp(key, "parentFileNameHint") == 0)
		return set_text(p, &d->parent, key, value);
	if (strcasecmp(key, "encoding") == 0)
		return set_text(p, &d->encoding, key, value);
	if (strcasecmp(key, "ddb.adapterType") == 0)
		return set_text(p, &d->adapter_type, key, value);
	if (strcasecmp(key, "ddb.virtualHWVersion") == 0)
		return set_text(p, &d->hw_version, key, value);
	if (strcasecmp(key, "CID") == 0)
		return set_cid(p, &p->has_cid, &d->cid, key, value);
	if (strcasecmp(key, "parentCID") == 0)
		return set_cid(
			p, &p->has_parent_cid, &d->parent_cid, key, value);
	return 0;
}

/*
 * Returns the next word of *rest and ends it with a NUL, or NULL. A word in
 * quotes may have blanks; *quoted reports the quotes.
 */
static char *
next_word(char **rest, bool *quoted)
{
	char *word = *rest + strspn(*rest, " \t");
	char *end;

	*quoted = *word == '"';
	if (*word == '\0')
		return NULL;
	if (*quoted) {
		end = strchr(++word, '"');
		if (!end)
			return NULL;
	} else {
		end = word + strcspn(word, " \t");
	}
	*rest = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static int
add_line(struct parser *p, const struct vmdk_line *line)
{
	struct vmdk_descriptor *d = p->descriptor;

	if (d->count == VMDK_MAX_EXTENTS)
		return image_fail(p->err, p->name, -EFBIG,
			"its descriptor has more than %d extents, which are "
			"8 TiB in files of 2 GiB",
			VMDK_MAX_EXTENTS);
	int rc = image_grow(
		&d->lines, &d->room, d->count + 1, sizeof(*d->lines), p->err);
	if (rc < 0)
		return rc;
	struct vmdk_line *to = &d->lines[d->count];
	*to = *line;
	if (line->name) {
		to->name = strdup(line->name);
		if (!to->name)
			return image_no_memory(p->err);
	}
	d->count++;
	return 0;
}

/* A line ACCESS SECTORS TYPE ["NAME" [OFFSET ...]]; the access was read. */
static int
parse_extent(struct parser *p, const char *whole, char *rest)
{
	struct vmdk_line line = {.sectors = 0};
	bool quoted;
	char *word = next_word(&rest, &quoted);

	if (!word || !parse_number(word, 10, &line.sectors) ||
		line.sectors > INT64_MAX / VMDK_SECTOR)
		return refuse_line(p, whole);
	word = next_word(&rest, &quoted);
	if (!word || strlen(word) >= sizeof(line.type) || quoted)
		return refuse_line(p, whole);
	for (size_t i = 0; word[i]; i++)
		line.type[i] = (char)(word[i] & (word[i] >= 'a' ? ~0x20 : ~0));
	line.name = next_word(&rest, &quoted);
	if (line.name && !quoted)
		return refuse_line(p, whole);
	if (!line.name && strcmp(line.type, "ZERO") != 0)
		return refuse_line(p, whole);
	word = next_word(&rest, &quoted);
	if (word && (!parse_number(word, 10, &line.offset) ||
			    line.offset > INT64_MAX / VMDK_SECTOR))
		return refuse_line(p, whole);
	/* OpenStack's inspector takes every / of the line for that of a path.
	 */
	if (p->strict && strchr(rest, '/'))
		return refuse_line(p, whole);
	return add_line(p, &line);
}

static int
parse_line(struct parser *p, char *line)
{
	char whole[101];

	line = trim(line);
	if (*line == '\0' || *line == '#')
		return 0;
	snprintf(whole, sizeof(whole), "%s", line);
	size_t length = strcspn(line, " \t");
	/* Other programs read a line with such a word as an extent. */
	if ((length == 2 && strncasecmp(line, "RW", 2) == 0) ||
		(length == 6 && strncasecmp(line, "RDONLY", 6) == 0)) {
		/* OpenStack's inspector splits at blanks alone. */
		if (p->strict && line[length] != ' ')
			return refuse_line(p, whole);
		return parse_extent(p, whole, line + length);
	}
	char *equals = strchr(line, '=');
	bool noaccess = length == 8 && strncasecmp(line, "NOACCESS", 8) == 0;
	if (noaccess || (!equals && p->strict))
		return refuse_line(p, whole);
	if (!equals)
		return 0;
	*equals = '\0';
	/* OpenStack's inspector allows a blank here in the disk database only,
	 * "ddb.adapterType = ...". */
	if (p->strict && strncasecmp(line, "ddb", 3) != 0 && strchr(line, ' '))
		return refuse_line(p, whole);
	char *key = trim(line);
	if (*key != '\0' && !strpbrk(key, " \t"))
		return parse_field(p, key, trim(equals + 1));
	return p->strict ? refuse_line(p, whole) : 0;
}

/*
 * Returns whether the byte is one of text. QEMU takes other control characters
 * for blanks, also a carriage return inside a line.
 */
static bool
is_text(const char *text, size_t at, size_t end)
{
	char c = text[at];

	if (c == '\r')
		return at + 1 == end || text[at + 1] == '\n';
	return c == '\t' || c == '\n' || (c >= ' ' && c < 0x7f);
}

/* Returns the bytes of a character that is not ASCII, or 0 if it is not UTF-8.
 */
static size_t
utf8_length(const char *text, size_t left)
{
	unsigned char first = (unsigned char)text[0];
	size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

	if (first < 0xc2 || first > 0xf4 || length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/*
 * Returns whether the bytes that are not ASCII are those of a text. Names are
 * in UTF-8, or as the line encoding="GBK" states. In each encoding of VMware,
 * no part of a character is a quote, a slash, a blank or a control character.
 */
static bool
is_encoded(const struct parser *p, const char *text, size_t at, size_t end,
	size_t *length)
{
	const char *encoding = p->descriptor->encoding;

	*length = 1;
	if (p->strict || !(text[at] & 0x80))
		return false;
	if (encoding && strcasecmp(encoding, "UTF-8") != 0)
		return true;
	*length = utf8_length(text + at, end - at);
	return *length > 0;
}

/*
 * Fail if a byte is not one of text. QEMU writes a CID of fewer than 7 digits
 * over one of 8, and leaves the end of the longer text behind the NUL.
 */
static int
check_bytes(const struct parser *p, const char *text, size_t end, size_t length)
{
	size_t left =
		end < length ? strnlen(text + end + 1, length - end - 1) : 0;
	size_t step;

	if (left && left <= 6 && left <= end &&
		memcmp(text + end + 1, text + end - left, left) == 0)
		left++;
	else
		left = 0;
	for (size_t i = 0; i < length; i += step) {
		step = i == end && left ? left : 1;
		if (i < end ? is_text(text, i, end) ||
					is_encoded(p, text, i, end, &step)
			    : text[i] == 0)
			continue;
		return image_damaged(p->err, p->name, -EINVAL,
			"its descriptor has the byte 0x%02x at offset %zu, "
			"which is not text",
			(unsigned char)text[i], i);
	}
	return 0;
}

int
vmdk_parse_descriptor(const char *text, size_t length, const char *name,
	bool strict, struct vmdk_descriptor *descriptor,
	struct image_error *err)
{
	struct parser p = {.name = name,
		.descriptor = descriptor,
		.strict = strict,
		.err = err};
	/* The rest of the last sector is zero. */
	size_t end = strnlen(text, length);

	*descriptor = (struct vmdk_descriptor){.parent_cid = VMDK_NO_PARENT};
	char *copy = strndup(text, end);
	if (!copy)
		return image_no_memory(err);
	char *rest = copy;
	int rc = 0;
	while (rc == 0 && rest) {
		p.line++;
		rc = parse_line(&p, strsep(&rest, "\n"));
	}
	free(copy);
	if (rc == -ENOMEM)
		return rc;
	/* Any line may have the encoding. A byte that is not text is the reason
	 * why its line is not understood. */
	int bytes = check_bytes(&p, text, end, length);
	if (bytes < 0 || rc < 0)
		return bytes < 0 ? bytes : rc;
	/*
	 * QEMU looks for the name of this field in the whole text, and opens
	 * the file that follows it, also in a comment.
	 */
	static const char hint[] = "parentFileNameHint";

	if (p.descriptor->parent || !memmem(text, end, hint, strlen(hint)))
		return 0;
	return image_fail(p.err, p.name, -EPERM,
		"its descriptor has %s in a comment or a value, where QEMU "
		"finds the name of a parent",
		hint);
}

void
vmdk_descriptor_destroy(struct vmdk_descriptor *descriptor)
{
	for (size_t i = 0; i < descriptor->count; i++)
		free(descriptor->lines[i].name);
	free(descriptor->lines);
	free(descriptor->create_type);
	free(descriptor->adapter_type);
	free(descriptor->hw_version);
	free(descriptor->encoding);
	free(descriptor->parent);
	*descriptor = (struct vmdk_descriptor){.count = 0};
}
