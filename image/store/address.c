/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "image.h"
#include "host/host.h"
#include "store/address.h"
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

static bool
ends_as(const char *text, const char *end, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(end - text) >= length &&
	       strncasecmp(end - length, word, length) == 0;
}

/* Returns what follows two slashes, in JSON maybe "\/\/", or NULL. */
static const char *
behind_two(const char *text)
{
	for (int i = 0; i < 2; i++) {
		text += *text == '\\';
		if (*text++ != '/')
			return NULL;
	}
	return text;
}

/* Returns the colon of the next "://" of a text, or NULL. */
static const char *
find_colon(const char *text)
{
	do
		text = strchr(text, ':');
	while (text && !behind_two(++text));
	return text ? text - 1 : NULL;
}

/* Without a host, such an address has the name of an export. */
static bool
is_nbd(const char *text, const char *colon)
{
	return ends_as(text, colon, "nbd") || ends_as(text, colon, "nbds") ||
	       ends_as(text, colon, "+unix");
}

/* libcurl takes a host after more than two slashes, too. */
static const char *
host_of(const char *text, const char *colon)
{
	return is_nbd(text, colon) ? behind_two(colon + 1)
				   : colon + 1 + strspn(colon + 1, "\\/");
}

/*
 * Returns what may be shown of an address behind its scheme and slashes: what
 * follows a user, or nothing if a password may have a slash in it.
 */
static const char *
behind_user(const char *text, const char *colon, const char *end)
{
	const char *host = host_of(text, colon);
	size_t length = strcspn(host, "/?#");

	if (length > (size_t)(end - host))
		length = (size_t)(end - host);
	const char *at = memrchr(host, '@', length);
	if (at) {
		length -= (size_t)(at + 1 - host);
		host = at + 1;
		/* Shown, its slashes would be some more of the scheme's. */
		if (strchr("\\/", *host) && !is_nbd(text, colon))
			return end;
	}
	return is_host(host, length) ? host : end;
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
	const char *from = text, *colon = find_colon(text);
	char *to = text;

	while (colon) {
		const char *host = host_of(from, colon);
		if (host > word)
			word = end = host + strcspn(host, " '\"");
		if (ends_as(from, colon, "http") ||
			ends_as(from, colon, "https"))
			end = host + strcspn(host, "?# '\"");
		const char *shown = behind_user(from, colon, end);
		to = append(to, from, host);
		from = shown;
		colon = find_colon(from);
		/* An address may be a part of another. */
		if (!colon || colon >= end) {
			to = append(to, from, end);
			from = word;
			colon = find_colon(from);
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
		host = behind_user(name, from - 1, from + strlen(from));
		from += host_of(name, from - 1) - from;
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
