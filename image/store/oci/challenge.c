/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the ways to log in that a server names: WWW-Authenticate. */
#include <string.h>
#include <strings.h>
#include "store/oci/oci.h"

/* Bytes of a token of RFC 9110. */
#define TOKEN                                                                  \
	"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"                  \
	"abcdefghijklmnopqrstuvwxyz"

static bool
is_word(const char *word, size_t length, const char *wanted)
{
	return strlen(wanted) == length &&
	       strncasecmp(word, wanted, length) == 0;
}

/* A value that does not fit is empty. */
static const char *
take_value(const char *at, char *value, size_t size)
{
	bool quoted = *at == '"';
	size_t n = 0;

	for (at += quoted; *at && (quoted ? *at != '"' : !strchr(", \t", *at));
		at++) {
		at += quoted && *at == '\\' && at[1];
		if (n < size)
			value[n++] = *at;
	}
	value[n < size ? n : 0] = '\0';
	return at + (quoted && *at);
}

void
oci_challenge_parse(const char *text, struct oci_challenge *c)
{
	char other[8];
	bool bearer = false;

	*c = (struct oci_challenge){.bearer = false};
	for (;;) {
		const char *word = text + strspn(text, ", \t");
		size_t length = strspn(word, TOKEN);
		text = word + length;
		text += strspn(text, " \t");
		if (length == 0)
			return;
		if (*text != '=') {
			/* The first one of two counts. */
			bearer = is_word(word, length, "Bearer") && !c->bearer;
			c->bearer |= bearer;
			c->basic |= is_word(word, length, "Basic");
			continue;
		}
		text++;
		text += strspn(text, " \t");
		if (bearer && is_word(word, length, "realm"))
			text = take_value(text, c->realm, sizeof(c->realm));
		else if (bearer && is_word(word, length, "service"))
			text = take_value(text, c->service, sizeof(c->service));
		else
			text = take_value(text, other, sizeof(other));
	}
}
