/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include "archive/archive.h"
#include "hash/hash.h"

#define BLANKS " \t\r\n"
#define MAX_PARTS 100000

static bool
same(struct image_span a, struct image_span b)
{
	return a.length && a.length == b.length &&
	       memcmp(a.at, b.at, a.length) == 0;
}

static struct image_span
take_until(struct image_span *from, const char *set)
{
	struct image_span taken = {from->at, 0};

	while (taken.length < from->length &&
		(!from->at[taken.length] ||
			!strchr(set, from->at[taken.length])))
		taken.length++;
	image_span_skip(from, taken.length);
	return taken;
}

/* "ovf:File" is File. */
static struct image_span
local(struct image_span name)
{
	const char *colon = memchr(name.at, ':', name.length);

	if (colon)
		image_span_skip(&name, (size_t)(colon - name.at) + 1);
	return name;
}

/* Take the next element that begins. Sets *name, and *inside to its attributes.
 */
static bool
next_element(struct image_span *text, struct image_span *name,
	struct image_span *inside)
{
	for (;;) {
		take_until(text, "<");
		if (!text->length)
			return false;
		image_span_skip(text, 1);
		if (text->length >= 3 && memcmp(text->at, "!--", 3) == 0) {
			const char *end =
				memmem(text->at, text->length, "-->", 3);
			if (!end)
				return false;
			image_span_skip(text, (size_t)(end - text->at));
			continue;
		}
		*inside = take_until(text, ">");
		*name = local(take_until(inside, BLANKS "/"));
		return true;
	}
}

static bool
next_attribute(struct image_span *inside, struct image_span *name,
	struct image_span *value)
{
	while (inside->length && strchr(BLANKS "/", inside->at[0]) &&
		inside->at[0])
		image_span_skip(inside, 1);
	*name = local(take_until(inside, BLANKS "="));
	take_until(inside, "\"'");
	if (!inside->length)
		return false;
	const char quote[] = {inside->at[0], '\0'};
	image_span_skip(inside, 1);
	*value = take_until(inside, quote);
	if (!inside->length)
		return false;
	image_span_skip(inside, 1);
	return true;
}

/* Returns the value of an attribute; empty if there is none. */
static struct image_span
attribute(struct image_span inside, const char *wanted)
{
	struct image_span name, value;

	while (next_attribute(&inside, &name, &value))
		if (image_span_is(name, wanted))
			return value;
	return (struct image_span){"", 0};
}

/* Returns a number, or another value if these are no digits. */
static uint64_t
number(struct image_span digits, uint64_t other)
{
	uint64_t value;

	return tar_decimal(digits.at, digits.length, &value) ? value : other;
}

static struct image_span
last_part(struct image_span path)
{
	const char *slash = memrchr(path.at, '/', path.length);

	if (slash)
		image_span_skip(&path, (size_t)(slash - path.at) + 1);
	return path;
}

/* Returns whether a disk refers to the file. oVirt puts a folder before it. */
static bool
is_disk(struct image_span text, struct image_span id, struct image_span href)
{
	struct image_span name, inside;

	while (next_element(&text, &name, &inside)) {
		if (!image_span_is(name, "Disk"))
			continue;
		struct image_span ref = attribute(inside, "fileRef");
		if (same(ref, id) || same(ref, href) ||
			same(last_part(ref), last_part(id)) ||
			same(last_part(ref), last_part(href)))
			return true;
	}
	return false;
}

/* Returns whether a reference, relative to the description, is the member. */
static bool
is_member(const struct manifest_file *ovf, struct image_span href,
	const char *name)
{
	const char *own = archive_name(ovf->name);
	const char *slash = strrchr(own, '/');
	size_t folder = slash ? (size_t)(slash - own) + 1 : 0;

	while (href.length > 2 && memcmp(href.at, "./", 2) == 0)
		image_span_skip(&href, 2);
	name = archive_name(name);
	return image_span_is(href, name) ||
	       (folder && strncmp(name, own, folder) == 0 &&
		       image_span_is(href, name + folder));
}

bool
ovf_find(const struct manifest_file *ovf, const char *name,
	struct ovf_file *file)
{
	struct image_span whole = {ovf->text, ovf->length};
	struct image_span text = whole, element, inside;

	while (ovf->name && next_element(&text, &element, &inside)) {
		struct image_span href = attribute(inside, "href");
		if (!image_span_is(element, "File") ||
			!is_member(ovf, href, name))
			continue;
		*file = (struct ovf_file){
			.disk = is_disk(whole, attribute(inside, "id"), href),
			.size = number(
				attribute(inside, "size"), IMAGE_SIZE_UNKNOWN),
			.chunk = number(attribute(inside, "chunkSize"), 0),
		};
		return true;
	}
	return false;
}

int
ovf_part(const char *name)
{
	size_t length = strlen(name);

	if (length <= OVF_PART || name[length - OVF_PART] != '.')
		return -1;
	struct image_span digits = {name + length - OVF_PART + 1, OVF_PART - 1};
	uint64_t value = number(digits, MAX_PARTS);
	return value < MAX_PARTS ? (int)value : -1;
}
