/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares addresses of exports. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "hash/hash.h"
#include "image.h"

/* The port of NBD's URI specification. */
#define PORT "10809"

/* End the text at the first of these characters. Returns what follows. */
static char *
cut(char *text, const char *characters)
{
	char *end = text + strcspn(text, characters);

	if (*end)
		*end++ = '\0';
	return end;
}

/* Replace %41 by A. %00 ends the text, as in libnbd. */
static void
decode(char *text)
{
	char *end = strstr(text, "%00");

	if (end)
		*end = '\0';
	image_percent_decode(text, text);
}

/* Returns a text that is the same for all addresses of an export; NULL if the
 * address is not one of NBD, or without memory. */
static char *
canonical(const char *address)
{
	char *copy = strdup(address), *made = NULL;
	char *after = copy ? strstr(copy, "://") : NULL;
	struct stat st;
	int rc = -1;

	if (after && image_is_address(address) &&
		strncasecmp(address, "nbd", 3) == 0) {
		*after = '\0';
		char *host = after + 3;
		char *query = cut(host, "?#");
		char *name = cut(host, "/");
		decode(name);
		if (strchr(copy, '+')) {
			while (*query && strncmp(query, "socket=", 7) != 0)
				query = cut(query, "&;#");
			cut(query, "&;#");
			query += *query ? strlen("socket=") : 0;
			decode(query);
			rc = stat(query, &st) < 0
				     ? asprintf(&made, "%s/%s", query, name)
				     : asprintf(&made, "%ju:%ju/%s",
					       (uintmax_t)st.st_dev,
					       (uintmax_t)st.st_ino, name);
		} else {
			/* The host and the port follow the user. */
			char *at = strrchr(host, '@');
			host = at ? at + 1 : host;
			char *bracket = strchr(host, ']');
			char *port = cut(bracket ? bracket : host, ":");
			for (char *p = host; *p; p++)
				*p = (char)tolower((unsigned char)*p);
			rc = asprintf(&made, "//%s:%lu/%s", host,
				strtoul(*port ? port : PORT, NULL, 10), name);
		}
	}
	free(copy);
	return rc < 0 ? NULL : made;
}

bool
image_address_is_same(const char *a, const char *b)
{
	char *of_a = canonical(a), *of_b = canonical(b);
	bool same =
		strcmp(a, b) == 0 || (of_a && of_b && strcmp(of_a, of_b) == 0);

	free(of_a);
	free(of_b);
	return same;
}
