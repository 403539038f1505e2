/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's address and options, and what of them a host gets. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "store/http/http.h"
#include "store/stream.h"

#define DEFAULT_TIMEOUT 60
#define MAX_HEADERS 65536

bool
http_append(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = libcurl.slist_append(*list, line);

	if (longer)
		*list = longer;
	return longer != NULL;
}

/* Fields that Hone sets, or that change what an answer means. */
static bool
is_ours(const char *line, size_t length)
{
	static const char *const names[] = {"range", "if-range",
		"accept-encoding", "te", "connection", "transfer-encoding",
		"content-length", "host", "expect", "upgrade"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == length &&
			strncasecmp(line, names[i], length) == 0)
			return true;
	return false;
}

/* The message has no byte of the line: it may be a secret. */
static int
parse_header(struct http_target *target, const char *line, const char *file,
	unsigned number, struct image_error *err)
{
	size_t name = strcspn(line, ":");
	bool good = name > 0 && line[name] == ':';

	for (size_t i = 0; i < name; i++)
		good = good && (isalnum((unsigned char)line[i]) ||
				       strchr("!#$%&'*+-.^_`|~", line[i]));
	for (const char *p = line + name; *p; p++)
		good = good && (!iscntrl((unsigned char)*p) || *p == '\t');
	if (!good)
		return image_fail(err, file, -EINVAL,
			"line %u is not a header field: NAME: VALUE", number);
	if (is_ours(line, name))
		return image_fail(err, file, -EINVAL,
			"line %u: the field %.*s cannot be set", number,
			(int)name, line);
	return http_append(&target->headers, line) ? 0 : image_no_memory(err);
}

static int
parse_headers(struct http_target *target, char *text, const char *file,
	struct image_error *err)
{
	unsigned number = 0;
	int rc = 0;

	while (text && rc == 0) {
		char *line = strsep(&text, "\n");
		size_t length = strlen(line);
		if (length && line[length - 1] == '\r')
			line[length - 1] = '\0';
		number++;
		if (line[0])
			rc = parse_header(target, line, file, number, err);
	}
	return rc;
}

static int
read_headers(
	struct http_target *target, const char *file, struct image_error *err)
{
	char *text;
	size_t length;
	int rc = image_stream_read_file(file, MAX_HEADERS, &text, &length, err);

	if (rc == 0 && strlen(text) < length)
		rc = image_fail(err, file, -EINVAL, "is not a text");
	else if (rc == 0)
		rc = parse_headers(target, text, file, err);
	free(text);
	return rc;
}

/* A part of an address, which the caller frees by libcurl.free(). */
static char *
part(CURLU *parts, CURLUPart which, unsigned flags)
{
	char *text = NULL;

	libcurl.url_get(parts, which, &text, flags);
	return text;
}

static bool
copy_part(CURLU *parts, CURLUPart which, unsigned flags, char **out)
{
	char *text = part(parts, which, flags);

	*out = text ? strdup(text) : NULL;
	libcurl.free(text);
	return *out || !text;
}

static bool
split(struct http_target *target, CURLU *parts)
{
	bool good = copy_part(parts, CURLUPART_USER, CURLU_URLDECODE,
			    &target->user) &&
		    copy_part(parts, CURLUPART_PASSWORD, CURLU_URLDECODE,
			    &target->password);
	/* libcurl uses a password with a user only. */
	if (good && target->user && !target->password) {
		target->password = strdup("");
		good = target->password;
	}
	libcurl.url_set(parts, CURLUPART_USER, NULL, 0);
	libcurl.url_set(parts, CURLUPART_PASSWORD, NULL, 0);
	libcurl.url_set(parts, CURLUPART_FRAGMENT, NULL, 0);
	return good && copy_part(parts, CURLUPART_URL, 0, &target->url) &&
	       target->url;
}

static int
parse_address(struct http_target *target, const char *address, const char *name,
	struct image_error *err)
{
	CURLU *parts = libcurl.url();
	int rc = 0;

	if (!parts)
		return image_no_memory(err);
	CURLUcode code =
		libcurl.url_set(parts, CURLUPART_URL, address, CURLU_URLENCODE);
	/* libcurl accepts http:host and http:/host. */
	if (code != CURLUE_OK || !strstr(address, "://"))
		rc = image_fail(err, name, -EINVAL,
			"is not a valid address: %s",
			code ? libcurl.url_strerror(code)
			     : "https://HOST/PATH has two slashes");
	else if (!split(target, parts))
		rc = image_no_memory(err);
	libcurl.url_cleanup(parts);
	return rc;
}

int
http_target_parse(struct http_target *target, const char *address,
	const char *name, const struct image_store_how *how,
	struct image_error *err)
{
	const struct image_request *request = how->request;
	bool s3 = strncmp(address, "s3:", 3) == 0;

	target->timeout = how->network.timeout ? (long)how->network.timeout
					       : DEFAULT_TIMEOUT;
	target->public_redirects = how->network.public_redirects;
	target->trace = how->network.http_trace;
	target->derived = s3 || (request && !request->auth);
	bool good =
		http_append(&target->headers, "Accept-Encoding: identity") &&
		http_append(&target->plain, "Accept-Encoding: identity");
	if (request) {
		target->foreign = request->foreign;
		target->auth = request->auth;
		if (target->auth)
			target->auth->users++;
		target->form = request->form ? strdup(request->form) : NULL;
		good = good && (target->form || !request->form) &&
		       (!request->accept ||
			       http_append(&target->headers, request->accept));
	}
	if (!good)
		return image_no_memory(err);
	int rc = s3 ? http_s3_parse(target, address, name, err)
		    : parse_address(target, address, name, err);
	if (rc == 0 && request && request->user) {
		free(target->user);
		free(target->password);
		target->user = strdup(request->user);
		target->password = strdup(request->password);
		if (!target->user || !target->password)
			rc = image_no_memory(err);
	}
	if (rc == 0)
		rc = http_trust_parse(&target->trust, &how->network, err);
	if (rc == 0 && how->network.http_header_file)
		rc = read_headers(target, how->network.http_header_file, err);
	return rc;
}

void
http_target_free(struct http_target *target)
{
	image_auth_drop(target->auth);
	if (target->form)
		explicit_bzero(target->form, strlen(target->form));
	free(target->form);
	free(target->url);
	free(target->user);
	free(target->password);
	free(target->sigv4);
	free(target->region);
	http_trust_free(&target->trust);
	libcurl.slist_free_all(target->headers);
	libcurl.slist_free_all(target->plain);
}

static bool
same_part(CURLU *a, CURLU *b, CURLUPart which)
{
	char *x = part(a, which, CURLU_DEFAULT_PORT);
	char *y = part(b, which, CURLU_DEFAULT_PORT);
	bool same = x && y && strcasecmp(x, y) == 0;

	libcurl.free(x);
	libcurl.free(y);
	return same;
}

#define SET(option, value)                                                     \
	(good = good &&                                                        \
		libcurl.easy_setopt(easy, (option), (value)) == CURLE_OK)

static bool
apply_parts(const struct http_target *target, CURL *easy, CURLU *origin,
	CURLU *parts, struct http_transfer *t)
{
	const struct image_auth *auth = target->auth;
	const char *url = http_transfer_url(t);

	if (libcurl.url_set(origin, CURLUPART_URL, target->url, 0) ||
		libcurl.url_set(parts, CURLUPART_URL, url, CURLU_URLENCODE))
		return false;
	/* as curl: another port or scheme is another host */
	bool same = same_part(origin, parts, CURLUPART_SCHEME) &&
		    same_part(origin, parts, CURLUPART_HOST) &&
		    same_part(origin, parts, CURLUPART_PORT);
	t->named = same && !target->foreign;
	t->posts = same && target->form;
	bool netrc = t->named && !target->region && !auth && !target->form;
	/* A server chose those of a redirect. */
	libcurl.url_set(parts, CURLUPART_USER, NULL, 0);
	libcurl.url_set(parts, CURLUPART_PASSWORD, NULL, 0);
	char *text = part(parts, CURLUPART_URL, 0);
	bool good = text;
	SET(CURLOPT_URL, text);
	SET(CURLOPT_HTTPHEADER, same ? target->headers : target->plain);
	SET(CURLOPT_NETRC,
		(long)(netrc ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
	if (same && target->user) {
		SET(CURLOPT_USERNAME, target->user);
		SET(CURLOPT_PASSWORD, target->password);
	}
	if (t->posts)
		SET(CURLOPT_POSTFIELDS, target->form);
	if (same && target->sigv4)
		SET(CURLOPT_AWS_SIGV4, target->sigv4);
	if (same && auth && auth->user) {
		SET(CURLOPT_USERNAME, auth->user);
		SET(CURLOPT_PASSWORD, auth->password);
	}
	if (same && auth && auth->token) {
		SET(CURLOPT_XOAUTH2_BEARER, auth->token);
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
	}
	libcurl.free(text);
	return good;
}

bool
http_target_apply(
	const struct http_target *target, CURL *easy, struct http_transfer *t)
{
	CURLU *origin = libcurl.url();
	CURLU *parts = libcurl.url();
	bool good =
		origin && parts && apply_parts(target, easy, origin, parts, t);

	libcurl.url_cleanup(origin);
	libcurl.url_cleanup(parts);
	return good;
}

static bool
begins(const char *url, const char *scheme)
{
	return strncasecmp(url, scheme, strlen(scheme)) == 0;
}

const char *
http_refuse_redirect(const char *from, const char *to)
{
	CURLU *parts = libcurl.url();
	bool valid = parts && libcurl.url_set(parts, CURLUPART_URL, to,
				      CURLU_URLENCODE) == CURLUE_OK;

	libcurl.url_cleanup(parts);
	if (!begins(to, "https://") && !begins(to, "http://"))
		return "to an address that is neither http nor https";
	if (!valid)
		return "to an address that is not valid";
	if (begins(from, "https://") && !begins(to, "https://"))
		return "from https to http";
	return NULL;
}
