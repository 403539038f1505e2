/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets the token that a registry asks for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "blocks/blocks.h"
#include "store/address.h"
#include "store/oci/json.h"
#include "store/oci/oci.h"

/* Bytes of the answer with a token. */
#define MAX_ANSWER ((size_t)64 << 10)
#define MAX_URL 4096
/* An identity token has 16 KiB at most, and an escape three bytes. */
#define MAX_FORM ((size_t)64 << 10)

struct oci_auth {
	struct image_auth auth;
	struct oci_address address;
	/* for messages */
	char *name;
	/* of the user; looked for once */
	struct oci_login login;
	bool looked;
	/* with copies of its texts */
	struct image_network network;
};

static void
auth_free(struct image_auth *auth)
{
	struct oci_auth *a = (struct oci_auth *)auth;

	free((char *)(uintptr_t)a->network.ca_file);
	free((char *)(uintptr_t)a->network.ca_directory);
	oci_login_free(&a->login);
	free(a->name);
	free(auth->token);
	free(a);
}

/* Append a text. Returns false if it does not fit. */
static bool
append(char *to, size_t size, const char *text)
{
	size_t at = strlen(to);

	return (size_t)snprintf(to + at, size - at, "%s", text) < size - at;
}

/* As append(), with the escapes of the text. */
static bool
escape(char *to, size_t size, const char *text)
{
	size_t at = strlen(to);

	for (; *text && at + 4 <= size; text++)
		at += (size_t)snprintf(
			to + at, size - at, "%%%02x", (unsigned char)*text);
	return !*text;
}

/* Append what a token is for. The scope is that of this repository, whatever
 * the server names. */
static bool
append_query(const struct oci_auth *a, const struct oci_challenge *c, char *to,
	size_t size)
{
	char scope[OCI_TEXT + 32];

	snprintf(scope, sizeof(scope), "repository:%s:pull", a->address.name);
	return append(to, size, "service=") && escape(to, size, c->service) &&
	       append(to, size, "&scope=") && escape(to, size, scope);
}

static bool
token_url(const struct oci_auth *a, const struct oci_challenge *c, char *url)
{
	*url = '\0';
	return append(url, MAX_URL, c->realm) &&
	       append(url, MAX_URL, strchr(c->realm, '?') ? "&" : "?") &&
	       append_query(a, c, url, MAX_URL);
}

/* The request of OAuth 2 that exchanges an identity token. */
static bool
token_form(const struct oci_auth *a, const struct oci_challenge *c, char *form)
{
	*form = '\0';
	return append(form, MAX_FORM,
		       "grant_type=refresh_token&client_id=hone&") &&
	       append_query(a, c, form, MAX_FORM) &&
	       append(form, MAX_FORM, "&refresh_token=") &&
	       escape(form, MAX_FORM, a->login.identity);
}

/* Returns whether the realm is on the host that the user named. */
static bool
is_own(const struct oci_auth *a, const char *realm)
{
	const char *host = strstr(realm, "://");
	size_t length = strlen(a->address.host);

	return host && strncasecmp(host + 3, a->address.host, length) == 0 &&
	       strchr("/?", host[3 + length]);
}

/* Set the token of an answer. What is in the header of a request has no blanks
 * and no ends of lines. */
static int
take_token(struct oci_auth *a, const char *text, size_t length,
	struct image_error *err)
{
	struct image_json root;
	char *token = malloc(MAX_ANSWER);

	if (!token)
		return image_no_memory(err);
	bool good = image_json_parse(text, length, &root) &&
		    (image_json_member(root, "token", token, MAX_ANSWER) ||
			    image_json_member(
				    root, "access_token", token, MAX_ANSWER));
	for (const char *p = token; good && *p; p++)
		good = *p > ' ' && *p < '\x7f';
	if (!good || !*token) {
		free(token);
		return image_fail(err, a->name, -EPROTO,
			"the server of tokens sent no valid token");
	}
	free(a->auth.token);
	a->auth.token = token;
	a->auth.serial++;
	return 0;
}

/* Send the request, and take the token of its answer. */
static int
get_token(struct oci_auth *a, const char *url,
	const struct image_request *request, struct image_error *err)
{
	const struct image_store_how how = {
		.network = a->network, .request = request, .expected = true};
	char *text = malloc(MAX_ANSWER);
	struct image_stream *stream = NULL;
	struct image_store *store = NULL;
	size_t length = 0;

	if (!text)
		return image_no_memory(err);
	int rc = image_http_open(url, &how, &store, err);
	if (rc == 0 && store)
		rc = image_stream_of_store(store, &stream, err);
	if (rc == 0 && stream) {
		rc = image_stream_read_all(
			stream, text, MAX_ANSWER, &length, err);
		image_stream_close(stream);
	}
	if (rc == 0)
		rc = take_token(a, text, length, err);
	free(text);
	return rc;
}

static int
request_token(struct oci_auth *a, const struct oci_challenge *c,
	struct image_error *err)
{
	/* Whoever changes the answers of a registry without TLS chooses the
	 * realm, and sees the token. With TLS, auth_renew() takes no other
	 * realm. */
	bool secure = !a->network.plain_http;
	struct image_request request = {.name = a->name,
		.user = secure ? a->login.user : NULL,
		.password = secure ? a->login.password : NULL,
		.size = IMAGE_SIZE_UNKNOWN,
		.foreign = !is_own(a, c->realm)};
	char url[MAX_URL], *form = NULL;
	bool fits;

	if (!secure || !a->login.identity) {
		fits = token_url(a, c, url);
	} else {
		form = malloc(MAX_FORM);
		if (!form)
			return image_no_memory(err);
		snprintf(url, sizeof(url), "%s", c->realm);
		fits = token_form(a, c, form);
	}
	request.form = form;
	int rc = fits ? get_token(a, url, &request, err)
		      : image_fail(err, a->name, -EPROTO,
				"the address for tokens is too long");
	if (form)
		explicit_bzero(form, MAX_FORM);
	free(form);
	return rc;
}

/* Basic: a registry without TLS gets no password. */
static int
use_login(struct oci_auth *a, const struct oci_challenge *c,
	struct image_error *err)
{
	if (!c->basic)
		return image_fail(err, a->name, -EACCES,
			"the server answered 401 (unauthorized)");
	if (!a->login.user || a->network.plain_http)
		return image_fail(err, a->name, -EACCES,
			"the server answered 401 (unauthorized): it asks for "
			"a user and a password%s",
			a->login.user ? ", which are not sent without TLS"
			: a->login.identity
				? ", and the login has an identity token alone"
				: "; docker login keeps them, and podman login "
				  "with REGISTRY_AUTH_FILE");
	a->auth.user = a->login.user;
	a->auth.password = a->login.password;
	a->auth.serial++;
	return 0;
}

static int
auth_renew(struct image_auth *auth, const char *challenges,
	struct image_error *err)
{
	struct oci_auth *a = (struct oci_auth *)auth;
	struct oci_challenge c;

	oci_challenge_parse(challenges, &c);
	int rc = a->looked ? 0 : oci_login_find(&a->address, &a->login, err);
	if (rc < 0)
		return rc;
	a->looked = true;
	if (!c.bearer)
		return use_login(a, &c, err);
	if (strncasecmp(c.realm, "https://", 8) != 0 &&
		(!a->network.plain_http ||
			strncasecmp(c.realm, "http://", 7) != 0))
		return image_fail(err, a->name, -EPROTO,
			"the server names no address with https for tokens");
	return request_token(a, &c, err);
}

/* A copy, or NULL for NULL. */
static char *
copy(const char *text, bool *good)
{
	char *made = text ? strdup(text) : NULL;

	*good &= made || !text;
	return made;
}

int
oci_auth_create(const struct oci_address *address, const char *name,
	const struct image_network *network, struct image_auth **out,
	struct image_error *err)
{
	struct oci_auth *a = calloc(1, sizeof(*a));
	bool good = true;

	*out = NULL;
	if (!a)
		return image_no_memory(err);
	a->auth = (struct image_auth){
		.users = 1, .renew = auth_renew, .free = auth_free};
	a->address = *address;
	a->name = copy(name, &good);
	a->network = *network;
	/* The fields are for the registry. */
	a->network.http_header_file = NULL;
	a->network.ca_file = copy(network->ca_file, &good);
	a->network.ca_directory = copy(network->ca_directory, &good);
	if (!good) {
		auth_free(&a->auth);
		return image_no_memory(err);
	}
	*out = &a->auth;
	return 0;
}
