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

#define MAX_ANSWER ((size_t)64 << 10)
/* The address or the form of a request for a token: an identity token has
 * OCI_SECRET bytes at most, other parts OCI_TEXT, and an escape three. */
#define MAX_FORM ((size_t)3 * (OCI_SECRET + 6 * OCI_TEXT))

struct oci_auth {
	struct image_auth auth;
	struct oci_address address;
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

/* Append a text with its escapes. Returns the end. */
static char *
escape(char *to, const char *text)
{
	for (; *text; text++)
		to += sprintf(to, "%%%02x", (unsigned char)*text);
	return to;
}

/* A field of a header has no blanks and no ends of lines. */
static int
take_token(struct oci_auth *a, const char *text, size_t length,
	struct image_error *err)
{
	struct image_json root;
	char *token = malloc(length + 1);

	if (!token)
		return image_no_memory(err);
	bool good = length <= MAX_ANSWER &&
		    image_json_parse(text, length, &root) &&
		    (image_json_member(root, "token", token, length) ||
			    image_json_member(
				    root, "access_token", token, length)) &&
		    *token;
	for (const char *p = token; good && *p; p++)
		good = *p > ' ' && *p < '\x7f';
	if (!good) {
		free(token);
		return image_fail(err, a->name, -EPROTO,
			"the server of tokens sent no valid token");
	}
	free(a->auth.token);
	a->auth.token = token;
	a->auth.serial++;
	return 0;
}

/*
 * Ask for a token, or exchange an identity token by a form of OAuth 2. Whoever
 * changes the answers of a registry without TLS chooses the realm, and sees the
 * token. With TLS, auth_renew() takes no other realm.
 */
static int
request_token(struct oci_auth *a, const struct oci_challenge *c,
	struct image_error *err)
{
	bool secure = !a->network.plain_http;
	bool exchange = secure && a->login.identity;
	const char *host = strstr(c->realm, "://");
	size_t host_length = strlen(a->address.host), length = 0;
	char scope[OCI_TEXT + 32], *text = malloc(MAX_FORM), *answer = NULL;
	struct image_store *store = NULL;

	if (!text)
		return image_no_memory(err);
	char *to = text;
	if (exchange)
		to = stpcpy(to, "grant_type=refresh_token&client_id=hone&");
	else
		to += sprintf(to, "%s%c", c->realm,
			strchr(c->realm, '?') ? '&' : '?');
	to = escape(stpcpy(to, "service="), c->service);
	/* That of this repository, whatever the server names. */
	snprintf(scope, sizeof(scope), "repository:%s:pull", a->address.name);
	to = escape(stpcpy(to, "&scope="), scope);
	if (exchange)
		escape(stpcpy(to, "&refresh_token="), a->login.identity);
	const struct image_request request = {.name = a->name,
		.user = secure ? a->login.user : NULL,
		.password = secure ? a->login.password : NULL,
		.size = IMAGE_SIZE_UNKNOWN,
		.form = exchange ? text : NULL,
		/* the user named another host */
		.foreign = !host ||
			   strncasecmp(host + 3, a->address.host,
				   host_length) != 0 ||
			   !strchr("/?", host[3 + host_length])};
	const struct image_store_how how = {
		.network = a->network, .request = &request, .expected = true};
	int rc = image_http_open(exchange ? c->realm : text, &how, &store, err);
	if (rc == 0 && store)
		rc = image_stream_read_store(
			store, MAX_ANSWER, &answer, &length, err);
	/* One that is too long has no valid token either. */
	if (rc == 0 || length > MAX_ANSWER)
		rc = take_token(a, answer, length, err);
	free(answer);
	explicit_bzero(text, MAX_FORM);
	free(text);
	return rc;
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
	if (!c.bearer && !c.basic)
		return image_fail(err, a->name, -EACCES,
			"the server answered 401 (unauthorized)");
	/* Basic: a registry without TLS gets no password. */
	if (!c.bearer && (!a->login.user || a->network.plain_http))
		return image_fail(err, a->name, -EACCES,
			"the server answered 401 (unauthorized): it asks for "
			"a user and a password%s",
			a->login.user ? ", which are not sent without TLS"
			: a->login.identity
				? ", and the login has an identity token alone"
				: "; docker login keeps them, and podman login "
				  "with REGISTRY_AUTH_FILE");
	if (!c.bearer) {
		auth->user = a->login.user;
		auth->password = a->login.password;
		auth->serial++;
		return 0;
	}
	if (strncasecmp(c.realm, "https://", 8) != 0 &&
		(!a->network.plain_http ||
			strncasecmp(c.realm, "http://", 7) != 0))
		return image_fail(err, a->name, -EPROTO,
			"the server names no address with https for tokens");
	return request_token(a, &c, err);
}

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
