/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "hash/hash.h"
#include "host/host.h"
#include "image.h"
#include "store/address.h"

typedef int (*open_fn)(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err);

struct scheme {
	const char *name;
	open_fn open;
	bool writable;
};

static const struct scheme schemes[] = {
#define IMAGE_SCHEME(name, open, writable) {name, open, writable},
#include "store/schemes.def"
#undef IMAGE_SCHEME
	{NULL, NULL, false},
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
			strncasecmp(s->name, address, length) == 0)
			return s;
	return NULL;
}

bool
image_is_address(const char *address)
{
	return scheme_of(address) != NULL;
}

/* Returns whether this is a host, and not a user and a password. */
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

static const struct scheme *
scheme_before(const char *text, const char *colon)
{
	for (const struct scheme *s = schemes; s->name; s++) {
		size_t length = strlen(s->name);
		if ((size_t)(colon - text) >= length &&
			strncasecmp(colon - length, s->name, length) == 0)
			return s;
	}
	return NULL;
}

static char *
append(char *to, const char *from, const char *end)
{
	size_t length = (size_t)(end - from);

	memcpy(to, from, length);
	return to + length;
}

/*
 * Append what may be shown of an address, from the colon of its scheme to its
 * end: the host and the path. An address of another scheme ends with its
 * slashes. So do one whose host is not valid, since a password may have a slash
 * in it, and one inside the path.
 */
static char *
show(char *to, const struct scheme *scheme, const char *colon, const char *end)
{
	const char *host = behind_two(colon + 1);
	/* Without a host, such an address has the name of an export. */
	bool two = host && scheme && strncmp(scheme->name, "nbd", 3) == 0;

	/* libcurl takes a host after more than two slashes, too. */
	if (!two)
		host = colon + 1 + strspn(colon + 1, "\\/");
	to = append(to, colon, host);
	if (!scheme)
		return to;
	/* The query may be a signature. */
	if (strncmp(scheme->name, "http", 4) == 0 &&
		host + strcspn(host, "?#") < end)
		end = host + strcspn(host, "?#");
	size_t length = strcspn(host, "/?#");
	if (length > (size_t)(end - host))
		length = (size_t)(end - host);
	const char *at = memrchr(host, '@', (size_t)(end - host));
	/* Without two slashes, what is before a slash may be a user, too. */
	if (at && at >= host + length && !behind_two(colon + 1))
		return to;
	at = memrchr(host, '@', length);
	if (at) {
		length -= (size_t)(at + 1 - host);
		host = at + 1;
		/* Shown, its slashes would be some more of the scheme's. */
		if (strchr("\\/", *host) && !two)
			return to;
	}
	if (!is_host(host, length))
		return to;
	const char *inside = find_colon(host);
	if (inside && inside < end)
		end = behind_two(inside + 1);
	return append(to, host, end);
}

char *
image_hide_secrets(const char *text)
{
	const struct scheme *scheme = scheme_of(text);
	const char *colon = text + strcspn(text, ": '\"=,"), *end;
	char *shown = strdup(text), *to = shown;

	if (!shown)
		return NULL;
	/* QEMU's JSON has names and values of any kind. */
	if (strncasecmp(text, "json:", 5) == 0) {
		shown[5] = '\0';
		return shown;
	}
	/* A name is one address to its end, and may have blanks. */
	if (scheme || (*colon == ':' && behind_two(colon + 1))) {
		if (scheme)
			memcpy(shown, scheme->name, strlen(scheme->name));
		end = text + strlen(text);
		*show(to + (colon - text), scheme, colon, end) = '\0';
		return shown;
	}
	for (; (colon = find_colon(text)); text = end) {
		end = colon + strcspn(colon, " '\"");
		to = append(to, text, colon);
		to = show(to, scheme_before(text, colon), colon, end);
	}
	append(to, text, text + strlen(text) + 1);
	return shown;
}

char *
image_address_name(const char *address)
{
	/* A layout has the name "oci:DIR:TAG", which is no host. */
	bool layout = strncmp(address, "oci:", 4) == 0 &&
		      !strpbrk(address, "\\@") && !behind_two(address + 4);

	return scheme_of(address) && !layout ? image_hide_secrets(address)
					     : strdup(address);
}

#define FILE_SCHEME "file://"
#define HERE "localhost"

int
image_file_url(char *address, const char **why)
{
	if (strncasecmp(address, FILE_SCHEME, strlen(FILE_SCHEME)) != 0)
		return 0;
	char *host = address + strlen(FILE_SCHEME);
	size_t length = strcspn(host, "/");
	if (!host[length])
		*why = "has no path: file:///PATH has three slashes";
	else if (length && (length != strlen(HERE) ||
				   strncasecmp(host, HERE, length) != 0))
		*why = "names a file of another host";
	else if (strpbrk(host, "?#"))
		*why = "has a '?' or a '#', which is %3F or %23 in a path";
	else if (!image_percent_decode(address, host + length))
		*why = "has a '%' without the two digits of a byte";
	else
		return 1;
	return -EINVAL;
}

bool
image_address_is_plain(const char *address, bool plain_http)
{
	const struct scheme *scheme = scheme_of(address);

	if (!scheme)
		return false;
	if (strcmp(scheme->name, "oci") == 0)
		return plain_http && !strchr(address, '@');
	return strcmp(scheme->name, "http") == 0 ||
	       (strcmp(scheme->name, "s3") == 0 && image_s3_is_plain());
}

static int
open_with(const struct scheme *scheme, const char *address,
	const struct image_store_how *how, struct image_store **out,
	struct image_error *err)
{
	char *lower = strdup(address);

	if (!lower)
		return image_no_memory(err);
	memcpy(lower, scheme->name, strlen(scheme->name));
	int rc = scheme->open(lower, how, out, err);
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
	return open_with(scheme, address, how, out, err);
}

int
image_store_open_target(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	const struct scheme *scheme = scheme_of(address);
	struct image_store_how target_how = *how;

	*out = NULL;
	if (strcmp(address, "-") == 0)
		return image_store_open_stdout(how, out, err);
	if (!scheme)
		return image_device_open(address, how, out, err);
	if (!scheme->writable)
		return image_fail(err, address, -ENOTSUP,
			"cannot be written: %s: is for reading only",
			scheme->name);
	target_how.writable = true;
	return open_with(scheme, address, &target_how, out, err);
}
