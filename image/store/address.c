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

/* Of these, the query may be a signature. */
static bool
is_http(const struct scheme *scheme)
{
	return strcmp(scheme->name, "http") == 0 ||
	       strcmp(scheme->name, "https") == 0;
}

/* Returns whether this is a host, maybe with a port, and not the beginning of a
 * user and a password. */
static bool
is_host(const char *host, size_t length)
{
	const char *end = host + length;
	const char *colon = memchr(host, ':', length);
	const char *bracket = memchr(host, ']', length);

	if (strcspn(host, " '\"") < length)
		return false;
	if (bracket && *host == '[')
		colon = bracket + 1 < end ? bracket + 1 : NULL;
	return !colon || (*colon == ':' && strspn(colon + 1, "0123456789") ==
						   (size_t)(end - colon - 1));
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

/* Returns whether the text up to here ends with "http://" or "https://". */
static bool
ends_as_http(const char *text, const char *end)
{
	size_t length = (size_t)(end - text);

	return (length >= 7 && strncasecmp(end - 7, "http", 4) == 0) ||
	       (length >= 8 && strncasecmp(end - 8, "https", 5) == 0);
}

static char *
append(char *to, const char *from, const char *end)
{
	size_t length = (size_t)(end - from);

	memmove(to, from, length);
	return to + length;
}

/* Hide the secrets of all addresses in a text, which becomes shorter. */
static void
hide(char *text)
{
	/* the word of a message or of JSON, and what is shown of it */
	const char *word = text, *end = text;
	const char *from = text, *host;
	char *to = text;

	while ((host = strstr(from, "://"))) {
		host += 3;
		if (host > word)
			word = end = host + strcspn(host, " '\"");
		if (ends_as_http(from, host))
			end = host + strcspn(host, "?# '\"");
		to = append(to, from, host);
		from = behind_user(host, end);
		/* An address may be a part of another. */
		if (!memmem(from, (size_t)(end - from), "://", 3)) {
			to = append(to, from, end);
			from = word;
		}
	}
	append(to, from, from + strlen(from) + 1);
}

char *
image_address_name(const char *address)
{
	const struct scheme *scheme = scheme_of(address);
	char *name = strdup(address);

	if (!scheme || !name)
		return name;
	size_t length = strlen(scheme->name);
	memcpy(name, scheme->name, length);
	char *from = name + length + 1;
	const char *host = from;
	if (is_http(scheme))
		from[strcspn(from, "?#")] = '\0';
	if (strncmp(from, "//", 2) == 0) {
		from += 2;
		host = behind_user(from, from + strlen(from));
	} else {
		hide(name);
		char *at = strrchr(from, '@');
		if (at)
			host = at + 1 + strspn(at + 1, "/");
	}
	memmove(from, host, strlen(host) + 1);
	hide(name);
	return name;
}

char *
image_hide_secrets(const char *text)
{
	char *shown = image_address_name(text);

	if (shown)
		hide(shown);
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
