/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include "image.h"
#include "store/address.h"
#include "store/device.h"

struct scheme {
	const char *name;
	int (*open)(const char *address, const struct image_store_how *how,
		struct image_store **out, struct image_error *err);
	int (*target)(const char *address, const struct image_store_how *how,
		struct image_store **out, struct image_error *err);
};

/* Ends with a NULL name. */
static const struct scheme schemes[] = {
#define IMAGE_SCHEME(name, open, target) {name, open, target},
#include "store/schemes.def"
#undef IMAGE_SCHEME
	{NULL, NULL, NULL},
};

/* Returns the scheme of an address, or NULL for a path. */
static const struct scheme *
scheme_of(const char *address)
{
	/* A path with a colon has a slash first: "./nbd:x". */
	size_t length = strcspn(address, ":/");

	if (address[length] != ':')
		return NULL;
	for (const struct scheme *s = schemes; s->name; s++)
		if (strlen(s->name) == length &&
			memcmp(s->name, address, length) == 0)
			return s;
	return NULL;
}

bool
image_is_address(const char *address)
{
	return scheme_of(address) != NULL;
}

int
image_store_open_address(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	const struct scheme *scheme = scheme_of(address);

	*out = NULL;
	if (!scheme)
		return image_store_open(address, NULL, how, out, err);
	return scheme->open(address, how, out, err);
}

int
image_store_open_target(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	const struct scheme *scheme = scheme_of(address);

	*out = NULL;
	if (!scheme)
		return image_device_open(address, how, out, err);
	if (!scheme->target)
		return image_fail(err, address, -ENOTSUP,
			"cannot be written: %s: is for reading only",
			scheme->name);
	return scheme->target(address, how, out, err);
}
