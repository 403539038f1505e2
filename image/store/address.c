/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "image.h"
#include "store/address.h"
#include "store/device.h"
#include "store/nbd/open.h"

typedef int (*open_fn)(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err);

struct scheme {
	const char *name;
	open_fn open;
	open_fn target;
};

/* Ends with a NULL name. */
static const struct scheme schemes[] = {
#define IMAGE_SCHEME(name, open, target) {name, open, target},
#include "store/schemes.def"
#undef IMAGE_SCHEME
	{NULL, NULL, NULL},
};

/* Returns the scheme of an address, in upper or lower case, or NULL for a path.
 */
static const struct scheme *
scheme_of(const char *address)
{
	/* A path with a colon has a slash first: "./nbd:x". */
	size_t length = strcspn(address, ":/");

	if (address[length] != ':')
		return NULL;
	for (const struct scheme *s = schemes; s->name; s++)
		if (strlen(s->name) == length &&
			strncasecmp(s->name, address, length) == 0)
			return s;
	return NULL;
}

bool
image_is_address(const char *address)
{
	return scheme_of(address) != NULL;
}

bool
image_address_is_web(const char *address)
{
	const struct scheme *scheme = scheme_of(address);

	return scheme && scheme->open == image_http_open;
}

/* Of these, the query may be a signature. */
static bool
is_http(const struct scheme *scheme)
{
	return strcmp(scheme->name, "http") == 0 ||
	       strcmp(scheme->name, "https") == 0;
}

/* Returns whether host and port have no colon that a password may follow. */
static bool
is_host(const char *host, size_t length)
{
	const char *bracket = memchr(host, ']', length);
	const char *from = bracket ? bracket : host;
	const char *end = host + length;
	const char *colon = memchr(from, ':', (size_t)(end - from));

	return !colon ||
	       strspn(colon + 1, "0123456789") == (size_t)(end - colon - 1);
}

/*
 * Returns what may be shown of an address that has its host here: after a user,
 * or nothing if a password may have a slash in it.
 */
static const char *
behind_user(const char *host, const char *end)
{
	size_t length = strcspn(host, "/?#");

	if (length > (size_t)(end - host))
		length = (size_t)(end - host);
	const char *at = memrchr(host, '@', length);
	if (at) {
		length -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	return is_host(host, length) ? host : end;
}

char *
image_address_name(const char *address)
{
	const struct scheme *scheme = scheme_of(address);
	const char *host = scheme ? strstr(address, "://") : NULL;

	if (!scheme)
		return strdup(address);
	size_t before = strlen(scheme->name) + 1;
	size_t end = strcspn(address, is_http(scheme) ? "?#" : "");
	char *name = malloc(strlen(address) + 1);
	if (!name)
		return NULL;
	if (host == address + before - 1) {
		before += 2;
		host = behind_user(address + before, address + end);
	} else {
		const char *at = memrchr(address, '@', end);
		host = at ? at + 1 : address + before;
	}
	memcpy(name, address, before);
	memcpy(name, scheme->name, strlen(scheme->name));
	size_t rest = (size_t)(address + end - host);
	memcpy(name + before, host, rest);
	name[before + rest] = '\0';
	return name;
}

/* Returns whether the text up to here ends with "http://" or "https://". */
static bool
ends_as_http(const char *text, const char *end)
{
	size_t length = (size_t)(end - text);

	return (length >= 7 && strncasecmp(end - 7, "http", 4) == 0) ||
	       (length >= 8 && strncasecmp(end - 8, "https", 5) == 0);
}

char *
image_hide_secrets(const char *text)
{
	if (image_is_address(text))
		return image_address_name(text);
	char *shown = malloc(strlen(text) + 1), *to = shown;
	const char *host = strstr(text, "://");
	if (!shown)
		return NULL;
	for (; host; host = strstr(text, "://")) {
		host += 3;
		/* the word of a message or of JSON */
		const char *next = host + strcspn(host, " '\"");
		const char *end = next;
		if (ends_as_http(text, host))
			end = host + strcspn(host, "?# '\"");
		to = mempcpy(to, text, (size_t)(host - text));
		host = behind_user(host, end);
		to = mempcpy(to, host, (size_t)(end - host));
		text = next;
	}
	memcpy(to, text, strlen(text) + 1);
	return shown;
}

bool
image_address_is_plain(const char *address)
{
	const struct scheme *scheme = scheme_of(address);

	if (!scheme)
		return false;
	return strcmp(scheme->name, "http") == 0 ||
	       (strcmp(scheme->name, "s3") == 0 && image_s3_is_plain());
}

/* Open an address by its scheme in lower case. */
static int
open_with(open_fn open, const struct scheme *scheme, const char *address,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err)
{
	char *lower = strdup(address);

	if (!lower)
		return image_no_memory(err);
	memcpy(lower, scheme->name, strlen(scheme->name));
	int rc = open(lower, how, out, err);
	free(lower);
	return rc;
}

int
image_store_open_address(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	const struct scheme *scheme = scheme_of(address);

	*out = NULL;
	if (strcmp(address, "-") == 0)
		return image_store_open_stdin(how, out, err);
	if (!scheme)
		return image_store_open(address, NULL, how, out, err);
	return open_with(scheme->open, scheme, address, how, out, err);
}

int
image_store_open_target(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	const struct scheme *scheme = scheme_of(address);

	*out = NULL;
	if (strcmp(address, "-") == 0)
		return image_store_open_stdout(how, out, err);
	if (!scheme)
		return image_device_open(address, how, out, err);
	if (!scheme->target)
		return image_fail(err, address, -ENOTSUP,
			"cannot be written: %s: is for reading only",
			scheme->name);
	return open_with(scheme->target, scheme, address, how, out, err);
}
