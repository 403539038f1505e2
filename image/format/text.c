/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers and people send other files in place of an image: a page with a login
 * form, the text of an error, a part of a file. These functions refuse them.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include "format/formats.h"

/* Returns whether the bytes are those of a page in HTML or XML. */
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
		"has no header of an image, and its %" PRIu64
		" %s are not the sectors of a disk; " RAW_HINT,
		size, image_plural(size, "byte", "bytes"));
}
