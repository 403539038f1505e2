/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of which it is known what is secret: all capitals of such an
 * address, and no others, are in its user, its password, its query and its
 * fragment. A capital in a name or a message is therefore a part of a secret.
 *
 * The first byte chooses the form of the address. Its parts follow, each up to
 * a NUL.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store/address.h"
#include "store/http/http.h"

#define LONGEST 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum part { BEFORE, USER, PASSWORD, HOST, PATH, QUERY, FRAGMENT, AFTER, PARTS };

struct made {
	const char *scheme;
	const char *slashes;
	bool http;
	bool has_password;
	char part[PARTS][LONGEST];
	char address[PARTS * LONGEST];
};

static void
must(bool good)
{
	if (!good)
		abort();
}

static void
split(const uint8_t *data, size_t size, struct made *m)
{
	for (int i = 0; i < PARTS && size; i++) {
		const uint8_t *end = memchr(data, 0, size);
		size_t length = end ? (size_t)(end - data) : size;
		size_t kept = length < LONGEST ? length : LONGEST - 1;
		memcpy(m->part[i], data, kept);
		size -= length + !!end;
		data += length + !!end;
	}
}

/* Replace those of the characters that the text has. */
static void
replace(char *text, const char *characters, char by)
{
	for (text = strpbrk(text, characters); text;
		text = strpbrk(text, characters))
		*text = by;
}

static void
set_case(char *text, int (*convert)(int))
{
	for (; *text; text++)
		*text = (char)convert((unsigned char)*text);
}

/* Replace what has another meaning in the part. `word`: the address is a word
 * of a text. */
static void
clean(struct made *m, bool word)
{
	char *password = m->part[PASSWORD];

	for (int i = 0; i < PARTS; i++) {
		bool secret = i == USER || i == PASSWORD ||
			      (m->http && (i == QUERY || i == FRAGMENT));
		set_case(m->part[i], secret ? toupper : tolower);
		if (word && i != BEFORE && i != AFTER)
			replace(m->part[i], " '\"", '_');
	}
	replace(m->part[USER], "/?#", '_');
	/* It counts as one more slash, as in JSON, and stays. */
	if (m->part[USER][0] == '\\')
		m->part[USER][0] = '_';
	if (!m->has_password || !strpbrk(password, "/?#"))
		return;
	/* With such a password, the address could be that of another host. */
	if (strchr("/?#", password[strspn(password, "0123456789")]))
		password[0] = '_';
	for (size_t i = 0; !strchr("/?#", password[i]); i++)
		if (password[i] == '@')
			password[i] = '_';
	replace(m->part[USER], "[", '_');
}

static bool
is_nbd(const struct made *m)
{
	return strncmp(m->scheme, "nbd", 3) == 0;
}

static void
make(struct made *m, uint8_t form)
{
	static const char *const schemes[] = {
		"http", "https", "s3", "nbd", "nbds", "nbd+unix", "ftp", "a+b"};

	m->scheme = schemes[form & 7];
	m->http = (form & 7) < 2;
	m->has_password = form & 8;
	bool word = (form & 7) > 5 || form & 16;
	clean(m, word);
	/* Some more for libcurl, and in a text as JSON may have them. */
	m->slashes = !(form & 128) || is_nbd(m) ? "//"
		     : word                     ? "\\/\\/\\/"
						: "///";
	snprintf(m->address, sizeof(m->address), "%s:%s%s%s%s@%s%s%s%s%s%s",
		m->scheme, m->slashes, m->part[USER],
		m->has_password ? ":" : "",
		m->has_password ? m->part[PASSWORD] : "", m->part[HOST],
		m->part[PATH], form & 32 ? "?" : "",
		form & 32 ? m->part[QUERY] : "", form & 64 ? "#" : "",
		form & 64 ? m->part[FRAGMENT] : "");
}

static void
check_public(const char *shown)
{
	for (; *shown; shown++)
		must(!isupper((unsigned char)*shown));
}

/* What is shown of a text is shown of that again, and nothing is added. */
static char *
hide(char *(*function)(const char *), const char *text)
{
	char *shown = function(text);
	const char *from = text;

	must(shown);
	for (const char *p = shown; *p; p++, from++)
		while (tolower((unsigned char)*from) !=
			tolower((unsigned char)*p))
			must(*from++);
	char *again = function(shown);
	must(again && strcmp(again, shown) == 0);
	free(again);
	return shown;
}

/* The host and the path of a common address are shown. */
static void
check_shown(const struct made *m, const char *shown)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
	const char *host = m->part[HOST], *path = m->part[PATH];
	size_t scheme = strlen(m->scheme), length = strlen(host);

	if (host[strspn(host, good)] || (!*host && !is_nbd(m)) ||
		path[0] != '/' || strpbrk(path, "?#'\" \\") ||
		strstr(path, "://") || strpbrk(m->part[PASSWORD], "/?#"))
		return;
	must(strncmp(shown, m->scheme, scheme) == 0);
	must(shown[scheme] == ':');
	shown += scheme + 1;
	must(strncmp(shown, m->slashes, strlen(m->slashes)) == 0);
	shown += strlen(m->slashes);
	must(strncmp(shown, host, length) == 0);
	must(strncmp(shown + length, path, strlen(path)) == 0);
	must(!m->http || !shown[length + strlen(path)]);
}

/* The address as a word of a text, which may have other addresses. */
static void
check_text(const struct made *m)
{
	char text[sizeof(m->address) + 2 * LONGEST + 2];

	snprintf(text, sizeof(text), "%s%s'%s", m->part[BEFORE], m->address,
		m->part[AFTER]);
	char *shown = hide(image_hide_secrets, text);
	check_public(shown);
	free(shown);
}

static int
parse(struct http_target *target, const char *address, const char *name,
	struct image_error *err)
{
	struct image_store_how how = {0};

	*target = (struct http_target){0};
	err->text[0] = '\0';
	int rc = http_target_parse(target, address, name, &how, err);
	must(rc == 0 || err->text[0]);
	return rc;
}

/* Neither the address that libcurl gets nor a message has a part of the
 * secrets: they are the same for other ones. */
static void
check_target(const struct made *m, const char *name)
{
	static struct made small;
	struct http_target target, other;
	struct image_error err, of_other;

	int rc = parse(&target, m->address, name, &err);
	small = *m;
	set_case(small.address, tolower);
	must(parse(&other, small.address, name, &of_other) == rc);
	must(strcmp(err.text, of_other.text) == 0);
	if (rc == 0 && !strpbrk(m->part[PASSWORD], "/?#")) {
		target.url[strcspn(target.url, "?")] = '\0';
		other.url[strcspn(other.url, "?")] = '\0';
		must(strcmp(target.url, other.url) == 0);
	}
	http_target_free(&target);
	http_target_free(&other);
}

static void
check_same(const char *a, const char *b)
{
	bool same = image_address_is_same(a, b);

	must(image_address_is_same(a, a));
	must(image_address_is_same(b, a) == same);
	must(!same || strcmp(a, b) == 0 ||
		(image_is_address(a) && image_is_address(b)));
}

/* Neither the user nor TLS nor the case of a host makes another export. */
static void
check_export(const struct made *m)
{
	char other[sizeof(m->address)];
	const char *host = m->part[HOST], *path = m->part[PATH];

	if (strcspn(host, "/?#@") < strlen(host) || path[0] != '/' ||
		strpbrk(path, "?#") || strstr(path, "%00"))
		return;
	int n = snprintf(other, sizeof(other), "NBDS://%s", host);
	must(n > 0);
	set_case(other, toupper);
	size_t room = sizeof(other) - (size_t)n;
	snprintf(other + n, room, "%s", path);
	char *plain = strdup(m->address);
	must(plain);
	plain[strcspn(plain, "?#")] = '\0';
	if (!strpbrk(m->part[PASSWORD], "/?#"))
		must(image_address_is_same(plain, other));
	free(plain);
	snprintf(other + n, room, "%s-", path);
	must(!image_address_is_same(m->address, other));
}

static void
check_made(const uint8_t *data, size_t size)
{
	struct made m = {0};

	split(data + 1, size - 1, &m);
	make(&m, data[0]);
	check_same(m.part[BEFORE], m.part[AFTER]);
	check_same(m.address, m.part[AFTER]);
	if (!image_is_address(m.address) || data[0] & 16) {
		check_text(&m);
		return;
	}
	char *name = hide(image_address_name, m.address);
	check_public(name);
	check_shown(&m, name);
	if (!is_nbd(&m))
		check_target(&m, name);
	else if (strcmp(m.scheme, "nbd") == 0)
		check_export(&m);
	free(name);
}

/* What is behind the scheme of an address of a file. */
static void
check_file(const char *rest)
{
	static const char scheme[] = "file://";
	char *address = malloc(sizeof(scheme) + strlen(rest));
	const char *why = NULL;

	must(address);
	strcpy(stpcpy(address, scheme), rest);
	int rc = image_file_url(address, &why);
	if (rc == 1)
		must(address[0] == '/' && strlen(address) <= strlen(rest));
	else
		must(rc < 0 && why);
	free(address);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	/* libcurl, which parses addresses */
	must(image_http_library());
	check_made(data, size);
	char *text = strndup((const char *)data, size);
	must(text);
	free(hide(image_hide_secrets, text));
	free(hide(image_address_name, text));
	check_file(text);
	free(text);
	return 0;
}
