/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an answer means, for http_transfer_end(). A status becomes a verdict or
 * the error of the transfer, and a header is compared with the range that was
 * requested and with the first answer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "store/http/http.h"

const char *
http_reason(unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} rows[] = {{401, " (unauthorized)"}, {403, " (forbidden)"},
		{404, " (not found)"},
		{407, " (proxy authentication required)"}, {410, " (gone)"},
		{416, " (range not satisfiable)"},
		{429, " (too many requests)"}, {503, " (service unavailable)"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].status == status)
			return rows[i].text;
	return "";
}

bool
http_is_busy(unsigned status)
{
	return status == 408 || status == 429 || status == 500 ||
	       (status >= 502 && status <= 504);
}

static enum http_verdict
fail_encoded(struct http_transfer *t)
{
	return http_transfer_fail(t, -EPROTO,
		"the server encoded the file (Content-Encoding: %s), although "
		"the bytes of the file were asked for",
		t->answer.encoding);
}

/* Returns whether the path of an address ends as that of a gzip file. */
static bool
names_gzip(const char *url)
{
	static const char *const ends[] = {".gz", ".tgz"};
	size_t length = strcspn(url, "?#");

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(ends[i]);
		if (length > n &&
			strncasecmp(url + length - n, ends[i], n) == 0)
			return true;
	}
	return false;
}

/* There may be a byte of them only. */
bool
http_judge_bytes(struct http_transfer *t, const char *data, size_t length)
{
	static const char magic[] = {'\x1f', '\x8b'};

	if (!t->answer.encoding[0] || t->skip)
		return true;
	for (size_t i = 0; i < length && t->at + i < sizeof(magic); i++)
		if (data[i] != magic[t->at + i]) {
			fail_encoded(t);
			return false;
		}
	return true;
}

/* Are the bytes those of the file, in a length that libcurl uses, too? */
static enum http_verdict
check_body(struct http_transfer *t)
{
	const struct http_answer *a = &t->answer;

	if (a->bad_length)
		return http_transfer_fail(t, -EPROTO,
			"the server answered with a Content-Length that is not "
			"a number, or with two that differ");
	/* libcurl decodes some, without being asked. */
	if (a->transfer[0])
		return http_transfer_fail(t, -EPROTO,
			"the server encoded its answer (Transfer-Encoding: "
			"%s), although the bytes of the file were asked for",
			a->transfer);
	/* Apache may make an encoding of the suffix of a file. */
	bool may_be_gzip_file =
		(strcasecmp(a->encoding, "gzip") == 0 ||
			strcasecmp(a->encoding, "x-gzip") == 0) &&
		(names_gzip(http_transfer_url(t)) ||
			names_gzip(t->http->target.url));
	return a->encoding[0] && !may_be_gzip_file ? fail_encoded(t)
						   : HTTP_TAKE;
}

static enum http_verdict
check_range(struct http_transfer *t)
{
	const struct http_answer *a = &t->answer;
	uint64_t end = t->end;

	if (!a->has_range || a->bad_range || a->first > a->last)
		return http_transfer_fail(t, -EPROTO,
			"the server answered 206 without a valid "
			"Content-Range");
	/* The first request does not know the length. */
	if (!t->http->open && end > a->total)
		end = a->total;
	if (a->first != t->at || a->last != end - 1)
		return http_transfer_fail(t, -EPROTO,
			"the server answered with bytes %" PRIu64 "-%" PRIu64
			", not with bytes %" PRIu64 "-%" PRIu64,
			a->first, a->last, t->at, end - 1);
	if (a->length != IMAGE_SIZE_UNKNOWN &&
		a->length != a->last - a->first + 1)
		return http_transfer_fail(t, -EPROTO,
			"the server answered %" PRIu64
			" bytes in place of bytes %" PRIu64 "-%" PRIu64,
			a->length, a->first, a->last);
	const char *differs =
		t->http->open ? http_answer_differs(&t->http->first, a) : NULL;
	if (differs)
		return http_transfer_fail(t, -EIO,
			"changed while it was read: %s is another one",
			differs);
	t->end = end;
	return HTTP_TAKE;
}

/* The first answer decides what the store is. */
static enum http_verdict
open_store(struct http_transfer *t, uint64_t size)
{
	struct http *http = t->http;

	if (size == IMAGE_SIZE_UNKNOWN)
		size = http->stated;
	/* The size of a file of a registry is known beforehand. */
	if (http->stated != IMAGE_SIZE_UNKNOWN && size != http->stated) {
		http_transfer_fail(t, -EINVAL,
			"the file is refused: the server has %" PRIu64
			" bytes, and the manifest states %" PRIu64,
			size, http->stated);
		t->err.refused = true;
		return HTTP_FAIL;
	}
	http->url = strdup(http_transfer_url(t));
	if (!http->url)
		return http_transfer_fail(t, -ENOMEM, "out of memory");
	http->first = t->answer;
	http_trace_open(t, size);
	pthread_mutex_lock(&http->blocks.lock);
	http->blocks.store.size = size;
	bool good = http_fill_begin(http, t->end);
	if (good && http->whole && !http->streams)
		blocks_ahead_begin(&http->blocks);
	http->open = good;
	blocks_wake(&http->blocks);
	pthread_cond_broadcast(&http->blocks.changed);
	pthread_mutex_unlock(&http->blocks.lock);
	return good ? HTTP_TAKE
		    : http_transfer_fail(t, -ENOMEM, "out of memory");
}

static enum http_verdict
judge_range(struct http_transfer *t)
{
	if (!t->http->open && !t->whole && t->answer.has_range &&
		!t->answer.bad_range && t->answer.total == IMAGE_SIZE_UNKNOWN) {
		/* Some servers have no ranges for a file of unknown length. */
		t->whole = true;
		return HTTP_RETRY;
	}
	if (t->whole)
		return http_transfer_fail(t, -EPROTO,
			"the server answered with a range in place of the "
			"whole file");
	enum http_verdict verdict = check_range(t);
	if (verdict != HTTP_TAKE)
		return verdict;
	if (!t->http->open)
		verdict = open_store(t, t->answer.total);
	char *url = t->expired ? strdup(http_transfer_url(t)) : NULL;
	if (url) {
		/* Use the address of this answer from now on. */
		free(t->http->url);
		t->http->url = url;
		t->expired = 0;
	}
	return verdict;
}

static enum http_verdict
judge_whole(struct http_transfer *t)
{
	const struct http_answer *first = &t->http->first;

	if (!t->http->streams && t->http->open)
		return http_transfer_fail(t, -EPROTO,
			"the server answered with the whole file in place of a "
			"range");
	if (!t->http->streams) {
		t->whole = true;
		t->http->streams = true;
		return open_store(t, t->answer.length);
	}
	const char *differs = http_answer_differs(first, &t->answer);
	if (!differs && t->answer.length != first->length)
		differs = "its length";
	if (differs)
		return http_transfer_fail(t, -EIO,
			"changed while it was read: %s is another one",
			differs);
	/* The file once more, after a lost connection. */
	t->skip = t->at;
	return HTTP_TAKE;
}

/* An answer that has no byte of the file. */
static enum http_verdict
judge_status(struct http_transfer *t)
{
	struct http *http = t->http;
	unsigned status = t->answer.status;
	bool denied = status == 401 || status == 403 || status == 404 ||
		      status == 410;

	/* A token lasts for a minute. Another host has no tokens. */
	if (status == 401 && http->target.auth && t->named && !t->renewed)
		return HTTP_RENEW;
	if (denied && http->open && t->expired < HTTP_TRIES &&
		strcmp(http_transfer_url(t), http->target.url) != 0) {
		/* The address of a redirect may be valid for some minutes. */
		t->expired++;
		t->redirects = 0;
		free(t->url);
		t->url = strdup(http->target.url);
		return t->url ? HTTP_RETRY
			      : http_transfer_fail(t, -ENOMEM, "out of memory");
	}
	/* nginx, Apache and servers in Go answer 400 if they want TLS. */
	return http_transfer_fail(t, denied ? -EACCES : -EPROTO,
		"the server answered %u%s%s", status, http_reason(status),
		status == 400 ? http_way_with_tls(t) : "");
}

enum http_verdict
http_judge(struct http_transfer *t)
{
	const struct http_answer *a = &t->answer;
	const char *region = t->http->target.region;

	/* S3 answers with the region of the bucket, if it is another. */
	if (region && a->region[0] && strcmp(region, a->region) != 0 &&
		(a->status == 301 || a->status == 307 || a->status == 400 ||
			a->status == 403))
		return http_transfer_fail(t, -EINVAL,
			"the server answered %u%s: the bucket is in region %s; "
			"set AWS_REGION",
			a->status, http_reason(a->status), a->region);
	if (http_is_busy(a->status))
		return HTTP_RETRY;
	switch (a->status) {
	case 301:
	case 302:
	case 303:
	case 307:
	case 308:
		return a->location ? HTTP_REDIRECT : judge_status(t);
	case 200:
	case 206:
		break;
	case 416:
		if (t->http->open || t->whole)
			return judge_status(t);
		if (!a->has_range || a->bad_range || a->total != 0) {
			t->whole = true;
			return HTTP_RETRY;
		}
		t->end = 0;
		return open_store(t, 0);
	default:
		return judge_status(t);
	}
	if (check_body(t) != HTTP_TAKE)
		return HTTP_FAIL;
	return a->status == 206 ? judge_range(t) : judge_whole(t);
}
