/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the files that an image names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/named.h"

const char *
image_named_show(char shown[IMAGE_NAME_SHOWN + 1], const char *name)
{
	char *whole = image_hide_secrets(name);

	snprintf(shown, IMAGE_NAME_SHOWN + 1, "%s",
		whole ? whole : "out of memory");
	free(whole);
	return shown;
}

/*
 * Fail if the name is not that of a file of this machine. A name may begin with
 * a protocol, such as "json:{...}" or "nbd:...". The rule is QEMU's: a colon
 * before the first slash.
 */
static int
parse_path(const struct image_store *image, const char *field, const char *name,
	struct image_error *err)
{
	size_t n = strcspn(name, ":/");

	if (name[n] == ':')
		return image_fail(err, image->name, -EPERM,
			"its %s '%s' begins with a protocol; only file names "
			"are allowed",
			field, IMAGE_NAME(name));
	/* Its directory is one of a server. */
	if (name[0] != '/' && image_store_origin(image)->served)
		return image_fail(err, image->name, -EPERM,
			"its %s '%s' lies on the server, and an image names "
			"files of this machine only: copy both files, then "
			"read the copy",
			field, IMAGE_NAME(name));
	return 0;
}

/* A name is relative to the directory of the image that contains the name. */
static char *
resolve(const struct image_store *image, const char *name)
{
	const char *slash = strrchr(image->name, '/');
	char *path;

	if (name[0] == '/' || !slash)
		return strdup(name);
	if (asprintf(&path, "%.*s%s", (int)(slash - image->name + 1),
		    image->name, name) < 0)
		return NULL;
	return path;
}

int
image_named_open(const struct image_store *image, const char *field,
	const char *name, const char *below, const struct image_open *how,
	struct image_store **out, struct image_error *err)
{
	struct image_store_how store_how = {
		.force_share = how->force_share,
		.direct = how->direct,
		.drop_cache = how->drop_cache,
	};

	int rc = parse_path(image, field, name, err);
	if (rc < 0)
		return rc;
	char *path = resolve(image, name);
	if (!path)
		return image_no_memory(err);
	rc = image_store_open(path, below, &store_how, out, err);
	free(path);
	return rc;
}
