/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's address and options, and what of them a host gets. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "store/http/http.h"

#define DEFAULT_TIMEOUT 60
/* Bytes of the file of --http-header. */
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

/* Returns the number of bytes, at most size, or a negative errno. */
static ssize_t
read_whole(int fd, char *buf, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = read(fd, buf + length, size - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	return (ssize_t)length;
}

ssize_t
http_read_file(
	const char *file, size_t max, char **text, struct image_error *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	*text = NULL;
	if (fd < 0)
		return image_fail(err, file, -errno, "cannot be opened: %s",
			strerror(errno));
	*text = calloc(1, max + 2);
	if (!*text) {
		n = image_no_memory(err);
	} else {
		n = read_whole(fd, *text, max + 1);
		if (n < 0)
			image_fail(err, file, (int)n, "cannot be read: %s",
				strerror((int)-n));
	}
	close(fd);
	return n;
}

static int
read_headers(
	struct http_target *target, const char *file, struct image_error *err)
{
	char *text;
	ssize_t n = http_read_file(file, MAX_HEADERS, &text, err);
	int rc = (int)n;

	if (n > MAX_HEADERS || (n >= 0 && text && strlen(text) < (size_t)n))
		rc = image_fail(err, file, -EINVAL,
			"is not a text of at most %d bytes", MAX_HEADERS);
	else if (n >= 0)
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

/* Copy a part. Returns false if there is no memory. */
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

static int
set_user(struct http_target *target, const struct image_request *request,
	struct image_error *err)
{
	free(target->user);
	free(target->password);
	target->user = strdup(request->user);
	target->password = strdup(request->password);
	return target->user && target->password ? 0 : image_no_memory(err);
}

int
http_target_parse(struct http_target *target, const char *address,
	const char *name, const struct image_store_how *how,
	struct image_error *err)
{
	target->timeout = how->network.timeout ? (long)how->network.timeout
					       : DEFAULT_TIMEOUT;
	if (!http_append(&target->headers, "Accept-Encoding: identity") ||
		!http_append(&target->plain, "Accept-Encoding: identity"))
		return image_no_memory(err);
	if (how->request) {
		target->foreign = how->request->foreign;
		target->auth = how->request->auth;
		target->derived = !target->auth;
		if (target->auth)
			target->auth->users++;
	}
	if (how->request && how->request->form) {
		target->form = strdup(how->request->form);
		if (!target->form)
			return image_no_memory(err);
	}
	if (how->request && how->request->accept &&
		!http_append(&target->headers, how->request->accept))
		return image_no_memory(err);
	target->public_redirects = how->network.public_redirects;
	target->trace = how->network.http_trace;
	bool s3 = strncmp(address, "s3:", 3) == 0;
	target->derived = target->derived || s3;
	int rc = s3 ? http_s3_parse(target, address, name, err)
		    : parse_address(target, address, name, err);
	if (rc == 0 && how->request && how->request->user)
		rc = set_user(target, how->request, err);
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

/* Set the options that may hold credentials. */
static bool
apply_parts(const struct http_target *target, CURL *easy, CURLU *origin,
	CURLU *parts, struct http_transfer *t)
{
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
	/* A server chose those of a redirect. */
	libcurl.url_set(parts, CURLUPART_USER, NULL, 0);
	libcurl.url_set(parts, CURLUPART_PASSWORD, NULL, 0);
	char *text = part(parts, CURLUPART_URL, 0);
	bool good =
		text &&
		libcurl.easy_setopt(easy, CURLOPT_URL, text) == CURLE_OK &&
		libcurl.easy_setopt(easy, CURLOPT_HTTPHEADER,
			same ? target->headers : target->plain) == CURLE_OK &&
		libcurl.easy_setopt(easy, CURLOPT_NETRC,
			t->named && !target->region && !target->auth &&
					!target->form
				? (long)CURL_NETRC_OPTIONAL
				: (long)CURL_NETRC_IGNORED) == CURLE_OK;
	if (good && same && target->user)
		good = libcurl.easy_setopt(easy, CURLOPT_USERNAME,
			       target->user) == CURLE_OK &&
		       libcurl.easy_setopt(easy, CURLOPT_PASSWORD,
			       target->password) == CURLE_OK;
	if (good && t->posts)
		good = libcurl.easy_setopt(easy, CURLOPT_POSTFIELDS,
			       target->form) == CURLE_OK;
	if (good && same && target->sigv4)
		good = libcurl.easy_setopt(easy, CURLOPT_AWS_SIGV4,
			       target->sigv4) == CURLE_OK;
	if (good && same && target->auth && target->auth->user)
		good = libcurl.easy_setopt(easy, CURLOPT_USERNAME,
			       target->auth->user) == CURLE_OK &&
		       libcurl.easy_setopt(easy, CURLOPT_PASSWORD,
			       target->auth->password) == CURLE_OK;
	if (good && same && target->auth && target->auth->token)
		good = libcurl.easy_setopt(easy, CURLOPT_XOAUTH2_BEARER,
			       target->auth->token) == CURLE_OK &&
		       libcurl.easy_setopt(easy, CURLOPT_HTTPAUTH,
			       (long)CURLAUTH_BEARER) == CURLE_OK;
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
