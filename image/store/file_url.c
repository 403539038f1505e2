/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of files: file:///PATH, as file managers and browsers copy them. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "hash/line.h"
#include "image.h"

#define SCHEME "file://"
#define HERE "localhost"

/* Returns the path of an address, with its escapes, or NULL and *why. */
static char *
path_of(char *address, const char **why)
{
	char *host = address + strlen(SCHEME);
	size_t length = strcspn(host, "/");

	*why = "has no path: file:///PATH has three slashes";
	if (!host[length])
		return NULL;
	*why = "names a file of another host";
	if (length && (length != strlen(HERE) ||
			      strncasecmp(host, HERE, length) != 0))
		return NULL;
	*why = "has a '?' or a '#', which is %3F or %23 in a path";
	return strpbrk(host, "?#") ? NULL : host + length;
}

/* Replace %41 by A. Returns false for what is no escape, or that of a NUL. */
static bool
decode(char *to, const char *from)
{
	while (*from) {
		if (*from != '%') {
			*to++ = *from++;
			continue;
		}
		int high = image_hex_digit(from[1]);
		int low = high < 0 ? -1 : image_hex_digit(from[2]);
		if (low < 0 || (high | low) == 0)
			return false;
		*to++ = (char)(high << 4 | low);
		from += 3;
	}
	*to = '\0';
	return true;
}

int
image_file_url(char *address, const char **why)
{
	if (strncasecmp(address, SCHEME, strlen(SCHEME)) != 0)
		return 0;
	char *path = path_of(address, why);
	if (!path)
		return -EINVAL;
	*why = "has a '%' without the two digits of a byte";
	return decode(address, path) ? 1 : -EINVAL;
}
