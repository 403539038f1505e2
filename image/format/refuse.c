/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is refused in place of a raw image: containers and packings, which no
 * raw image begins with, and texts.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include "archive/tar.h"
#include "format/formats.h"
#include "unpack/unpack.h"

static const struct container {
	const char *what;
	bool from_end;
	uint64_t offset;
	const char *magic;
	size_t length;
	const char *way;
} containers[] = {
#define IMAGE_CONTAINER(what, from_end, offset, magic, way)                    \
	{what, from_end, offset, magic, sizeof(magic) - 1, way},
#include "format/containers.def"
#undef IMAGE_CONTAINER
};

#define IMAGE_CONTAINER(what, from_end, offset, magic, way)                    \
	_Static_assert(sizeof(magic) - 1 >= 4, "too short for " what);         \
	_Static_assert(                                                        \
		(offset) + sizeof(magic) - 1 <= IMAGE_HEAD_SIZE || (from_end), \
		"the head is too short for " what);                            \
	_Static_assert(!(from_end) || (offset) <= IMAGE_TAIL_SIZE,             \
		"the tail is too short for " what);
#include "format/containers.def"
#undef IMAGE_CONTAINER

#define COUNT (sizeof(containers) / sizeof(containers[0]))

/* Fail if the bytes, which the file begins or ends with, are a container's. */
static int
refuse(const struct image_store *store, bool from_end,
	const unsigned char *bytes, size_t length, struct image_error *err)
{
	for (size_t i = 0; i < COUNT; i++) {
		const struct container *c = &containers[i];
		size_t at = (size_t)(from_end ? length - c->offset : c->offset);
		if (c->from_end != from_end ||
			(from_end ? c->offset > length
				  : at + c->length > length) ||
			memcmp(bytes + at, c->magic, c->length) != 0)
			continue;
		return image_fail(err, store->name, -EINVAL,
			"is %s, not a raw image: %s; " RAW_HINT, c->what,
			c->way);
	}
	return 0;
}

/* A tar archive in a file whose name or place says that it is a disk. */
static int
refuse_tar(const struct image_store *store, const unsigned char *head,
	size_t length, struct image_error *err)
{
	if (!tar_begins(head, length))
		return 0;
	image_fail(err, store->name, -EINVAL,
		store->member ? "begins as a tar archive: extract it, or -f raw"
			      : "begins as a tar archive: --member NAME or "
				"-f raw");
	err->refused = true;
	return -EINVAL;
}

int
image_refuse_container(const struct image_store *store,
	const struct image_open *how, const unsigned char *head, size_t length,
	struct image_error *err)
{
	int rc = 0;

	/* The user may have said that nothing is to be unpacked. */
	if (how->packing != IMAGE_PACKING_NONE)
		rc = image_refuse_packed(store, head, length, err);
	if (rc == 0 && how->packing != IMAGE_PACKING_NONE)
		rc = refuse_tar(store, head, length, err);
	return rc < 0 ? rc : refuse(store, false, head, length, err);
}

int
image_refuse_tail(
	struct image_store *store, uint64_t size, struct image_error *err)
{
	unsigned char tail[IMAGE_TAIL_SIZE];
	size_t length = size < sizeof(tail) ? (size_t)size : sizeof(tail);

	int rc = image_store_read(store, size - length, tail, length, err);
	return rc < 0 ? rc : refuse(store, true, tail, length, err);
}

/*
 * Servers and people send other files in place of an image: a page with a login
 * form, the text of an error, a part of a file.
 */

static bool
is_page(const char *text, size_t length)
{
	static const char *const begin[] = {
		"<!doctype html", "<html", "<head", "<?xml"};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (length >= strlen(begin[i]) &&
			strncasecmp(text, begin[i], strlen(begin[i])) == 0)
			return true;
	return false;
}

/* The first sector of a disk has other bytes than those of a text. */
static bool
is_text(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (((unsigned char)text[i] < ' ' &&
			    !strchr("\t\r\n", text[i])) ||
			text[i] == '\0')
			return false;
	return length > 0;
}

int
image_refuse_text(const struct image_store *store, const unsigned char *head,
	size_t length, struct image_error *err)
{
	bool may_be_page = image_store_origin(store)->may_be_error_page &&
			   !store->unpacked;
	uint64_t size = length < IMAGE_HEAD_SIZE ? length : store->size;
	const char *text = (const char *)head;

	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		length -= 3;
	}
	for (; length && strchr(" \t\r\n", *text) && *text; length--)
		text++;
	if (is_page(text, length) || (may_be_page && is_text(text, length)))
		return image_fail(err, store->name, -EINVAL,
			"is a text that begins with '%.*s', not an "
			"image; " RAW_HINT,
			(int)(length < 24 ? length : 24), text);
	if (!may_be_page || size == IMAGE_SIZE_UNKNOWN ||
		(size > 0 && size % IMAGE_SECTOR == 0))
		return 0;
	return image_fail(err, store->name, -EINVAL,
		"has no header of an image, and its %s are not the sectors of "
		"a disk; " RAW_HINT,
		IMAGE_COUNT(size, "byte"));
}
