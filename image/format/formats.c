/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of formats; detection of a format by file name and first bytes. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "archive/archive.h"
#include "format/formats.h"
#include "unpack/unpack.h"

static const struct image_format *const formats[] = {
#define IMAGE_FORMAT(name) &image_format_##name,
#include "format/formats.def"
#undef IMAGE_FORMAT
};

static const struct image_foreign foreign[] = {
#define IMAGE_FOREIGN(name, driver, offset, magic, suffixes, in_disk)          \
	{name, driver, offset, magic, sizeof(magic) - 1, suffixes, in_disk},
#include "format/foreign.def"
#undef IMAGE_FOREIGN
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct image_format *
image_format(size_t index)
{
	return index < COUNT(formats) ? formats[index] : NULL;
}

const struct image_format *
image_format_by_name(const char *name)
{
	for (size_t i = 0; i < COUNT(formats); i++)
		if (strcmp(formats[i]->name, name) == 0 ||
			(formats[i]->alias &&
				strcmp(formats[i]->alias, name) == 0))
			return formats[i];
	return NULL;
}

bool
image_format_begins_as_disk(const struct image_format *format)
{
	return format == &image_format_raw || format->footer;
}

bool
image_format_is_archive(const struct image_format *format)
{
	return format == &image_format_gce;
}

const struct image_option *
image_format_options(const struct image_format *format)
{
	static const struct image_option none;
	return format->options ? format->options : &none;
}

static const struct image_option open_options[] = {
	{"size", IMAGE_OPTION_WORD, "current geometry",
		"which size of a VHD (by its creator)"},
	{0},
};

const struct image_option *
image_open_options(void)
{
	return open_options;
}

void
image_open_set(struct image_open *how, const struct image_option *option,
	uint64_t value)
{
	(void)option;
	assert(option == open_options);
	how->vhd_size =
		value == 0 ? IMAGE_VHD_CURRENT_SIZE : IMAGE_VHD_GEOMETRY;
}

void
image_create_init(struct image_create *create)
{
	*create = (struct image_create){.version = 3, .refcount_bits = 16};
}

/* Returns the suffix of the file name with its dot; "" if there is none. */
static const char *
suffix_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	return dot && dot != name ? dot : "";
}

/* Returns whether a space separated list holds a word, in any case. */
static bool
listed(const char *list, const char *word)
{
	size_t length = strlen(word);
	while (length && *list) {
		size_t n = strcspn(list, " ");
		if (n == length && strncasecmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

/* Returns the format of foreign.def that has the suffix of path, or NULL. */
static const char *
foreign_by_suffix(const char *path)
{
	for (size_t i = 0; i < COUNT(foreign); i++)
		if (listed(foreign[i].suffixes, suffix_of(path)))
			return foreign[i].name;
	return NULL;
}

bool
image_has_suffix(const char *path)
{
	for (size_t i = 0; i < COUNT(formats); i++)
		if (listed(formats[i]->suffixes, suffix_of(path)))
			return true;
	return foreign_by_suffix(path);
}

bool
image_is_disk_name(const char *path)
{
	static const char others[] = ".dd .disk .dsk .hdd .iso .vol";

	return image_has_suffix(path) || listed(others, suffix_of(path));
}

const struct image_foreign *
image_foreign_by_magic(const unsigned char *head, size_t length)
{
	for (size_t i = 0; i < COUNT(foreign); i++) {
		const struct image_foreign *f = &foreign[i];
		if (f->length && f->offset + f->length <= length &&
			memcmp(head + f->offset, f->magic, f->length) == 0)
			return f;
	}
	return NULL;
}

const struct image_format *
image_format_by_suffix(const char *path)
{
	for (size_t i = 0; i < COUNT(formats); i++)
		if (listed(formats[i]->suffixes, suffix_of(path)))
			return formats[i];
	/* A suffix of no format means raw: "debian-12.5", "disk.old". */
	return foreign_by_suffix(path) || path[image_unpack_name(path)] ||
			       image_archive_by_suffix(path)
		       ? NULL
		       : &image_format_raw;
}

const struct image_format *
image_format_by_magic(const unsigned char *head, size_t length)
{
	for (size_t i = 0; i < COUNT(formats); i++)
		if (formats[i]->probe && formats[i]->probe(head, length))
			return formats[i];
	return NULL;
}

const char *
image_claimed_by_suffix(const char *path)
{
	const char *name = foreign_by_suffix(path);
	if (name)
		return name;
	const struct image_format *format = image_format_by_suffix(path);
	return format && format->probe ? format->name : NULL;
}
