/* SPDX-License-Identifier: BSD-3-Clause */
/* oci://HOST[:PORT]/NAME[:TAG][@DIGEST] */
#include <stdio.h>
#include <string.h>
#include "store/oci/oci.h"

#define DIGITS "0123456789"
#define SMALL "abcdefghijklmnopqrstuvwxyz" DIGITS
#define WORD SMALL "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define MAX_TAG 128

static bool
has_only(const char *text, const char *bytes)
{
	return *text && !text[strspn(text, bytes)];
}

/* Each part between slashes begins and ends with a letter or a digit. */
static bool
is_name(const char *name)
{
	char before = '/';

	for (; *name; before = *name++) {
		bool edge = *name == '/' || before == '/';
		if (strchr(SMALL, *name))
			continue;
		if (!strchr("._-/", *name) || (edge && !strchr(SMALL, before)))
			return false;
	}
	return strchr(SMALL, before);
}

bool
oci_digest_parse(const char *text, struct image_expect *expect)
{
	size_t length = strcspn(text, ":");
	const struct image_algorithm *algorithm =
		image_algorithm_by_name(text, length);

	return algorithm && image_algorithm_is_safe(algorithm) &&
	       text[length] && strlen(text) < OCI_DIGEST &&
	       has_only(text + length + 1, "abcdef" DIGITS) &&
	       image_expect_hex(expect, algorithm, text + length + 1,
		       strlen(text + length + 1));
}

/* Cut the text at the last such byte. Returns what is behind it, or NULL. */
static char *
cut(char *text, char byte)
{
	char *at = strrchr(text, byte);

	if (at)
		*at++ = '\0';
	return at;
}

const char *
oci_address_parse(struct oci_address *a, const char *text)
{
	static const char scheme[] = "oci://";
	char copy[3 * OCI_TEXT];

	if (strncmp(text, scheme, strlen(scheme)) != 0)
		return "oci://HOST/NAME has two slashes";
	if (snprintf(copy, sizeof(copy), "%s", text + strlen(scheme)) >=
		(int)sizeof(copy))
		return "it is too long";
	char *name = strchr(copy, '/');
	if (!name)
		return "it has no name: oci://HOST/NAME has one";
	*name++ = '\0';
	if (!has_only(copy, WORD ".-:[]"))
		return "the host is not letters, digits, '.', '-' and a port; "
		       "the address has no user and no password";
	const char *digest = cut(name, '@');
	const char *tag = cut(name, ':');
	if (!is_name(name))
		return "the name has other characters than a-z, 0-9, and "
		       "single '/', '.', '_' and '-' between them";
	if (tag && (!has_only(tag, WORD ".-") || *tag == '.' || *tag == '-' ||
			   strlen(tag) > MAX_TAG))
		return "the tag is not 1 to 128 letters, digits, '_', '.' and "
		       "'-'";
	a->by_digest = digest;
	if (digest && !oci_digest_parse(digest, &a->expect))
		return "the digest is not sha256: or sha512: with its digits";
	/* Docker's own images need no folder. */
	bool docker = strcmp(copy, "docker.io") == 0 ||
		      strcmp(copy, "index.docker.io") == 0;
	if (snprintf(a->name, OCI_TEXT, "%s%s",
		    docker && !strchr(name, '/') ? "library/" : "",
		    name) >= OCI_TEXT ||
		snprintf(a->host, OCI_TEXT, "%s", docker ? OCI_DOCKER : copy) >=
			OCI_TEXT)
		return "it is too long";
	snprintf(a->reference, sizeof(a->reference), "%s",
		digest ? digest
		: tag  ? tag
		       : "latest");
	return NULL;
}
