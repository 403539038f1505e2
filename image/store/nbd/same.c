/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares addresses of exports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "hash/hash.h"
#include "image.h"

/* The port of NBD's URI specification. */
#define PORT "10809"

struct place {
	char *copy;
	/* NULL: an address with a host */
	char *socket;
	const char *host;
	const char *port;
	char *name;
};

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

static bool
parse(const char *address, struct place *place)
{
	*place = (struct place){.copy = strdup(address)};
	if (!place->copy || !image_is_address(address) ||
		strncasecmp(address, "nbd", 3) != 0)
		return false;
	char *after = strstr(place->copy, "://");
	if (!after)
		return false;
	*after = '\0';
	char *authority = after + 3;
	char *query = cut(authority, "?#");
	place->name = cut(authority, "/");
	decode(place->name);
	if (!strchr(place->copy, '+')) {
		/* The host and the port follow the user. */
		char *at = strrchr(authority, '@');
		char *host = at ? at + 1 : authority;
		char *bracket = strchr(host, ']');
		char *port = cut(bracket ? bracket : host, ":");
		place->host = host;
		place->port = *port ? port : PORT;
		return true;
	}
	while (*query && strncmp(query, "socket=", 7) != 0)
		query = cut(query, "&;#");
	cut(query, "&;#");
	place->socket = *query ? query + 7 : query;
	decode(place->socket);
	return true;
}

static bool
is_same(const struct place *a, const struct place *b)
{
	struct stat of_a, of_b;

	if (!a->socket != !b->socket || strcmp(a->name, b->name) != 0)
		return false;
	if (a->socket &&
		(stat(a->socket, &of_a) < 0 || stat(b->socket, &of_b) < 0))
		return strcmp(a->socket, b->socket) == 0;
	if (a->socket)
		return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
	return strcasecmp(a->host, b->host) == 0 &&
	       strtoul(a->port, NULL, 10) == strtoul(b->port, NULL, 10);
}

bool
image_address_is_same(const char *a, const char *b)
{
	struct place of_a = {0}, of_b = {0};

	bool same = strcmp(a, b) == 0 || (parse(a, &of_a) && parse(b, &of_b) &&
						 is_same(&of_a, &of_b));
	free(of_a.copy);
	free(of_b.copy);
	return same;
}
