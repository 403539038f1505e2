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
	switch (status) {
	case 401:
		return " (unauthorized)";
	case 403:
		return " (forbidden)";
	case 404:
		return " (not found)";
	case 407:
		return " (proxy authentication required)";
	case 410:
		return " (gone)";
	case 416:
		return " (range not satisfiable)";
	case 429:
		return " (too many requests)";
	case 503:
		return " (service unavailable)";
	default:
		return "";
	}
}

bool
http_is_busy(unsigned status)
{
	switch (status) {
	case 408:
	case 429:
	case 500:
	case 502:
	case 503:
	case 504:
		return true;
	default:
		return false;
	}
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

/*
 * Returns whether the encoding may be that of the file itself: a common setting
 * of Apache makes a Content-Encoding of the suffix of each file.
 */
static bool
may_be_gzip_file(const struct http_transfer *t)
{
	const char *encoding = t->answer.encoding;

	return (strcasecmp(encoding, "gzip") == 0 ||
		       strcasecmp(encoding, "x-gzip") == 0) &&
	       (names_gzip(http_transfer_url(t)) ||
		       names_gzip(t->http->target.url));
}

/* The bytes show whether an encoding is that of the file. There may be a byte
 * of them only. */
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

/*
 * Returns HTTP_TAKE if the body of an answer is the bytes of the file, in a
 * length that libcurl and this store agree on.
 */
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
	if (a->encoding[0] && !may_be_gzip_file(t))
		return fail_encoded(t);
	return HTTP_TAKE;
}

/* The checks of the answer to each request for a range. */
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

/* The size of a file of a registry is known beforehand. */
static enum http_verdict
refuse_size(struct http_transfer *t, uint64_t size)
{
	http_transfer_fail(t, -EINVAL,
		"the file is refused: the server has %" PRIu64
		" bytes, and the manifest states %" PRIu64,
		size, t->http->stated);
	t->err.refused = true;
	return HTTP_FAIL;
}

/* The first answer decides what the store is. */
static enum http_verdict
open_store(struct http_transfer *t, uint64_t size)
{
	struct http *http = t->http;

	if (size == IMAGE_SIZE_UNKNOWN)
		size = http->stated;
	if (http->stated != IMAGE_SIZE_UNKNOWN && size != http->stated)
		return refuse_size(t, size);
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

/* Use the address of this answer from now on. */
static void
keep_address(struct http_transfer *t)
{
	char *url = strdup(http_transfer_url(t));

	if (!url)
		return;
	free(t->http->url);
	t->http->url = url;
	t->expired = 0;
}

/* Some servers have no answer to a range of a file whose length they do not
 * know. */
static enum http_verdict
request_whole(struct http_transfer *t)
{
	t->whole = true;
	return HTTP_RETRY;
}

static enum http_verdict
judge_range(struct http_transfer *t)
{
	if (!t->http->open && !t->whole && t->answer.has_range &&
		!t->answer.bad_range && t->answer.total == IMAGE_SIZE_UNKNOWN)
		return request_whole(t);
	if (t->whole)
		return http_transfer_fail(t, -EPROTO,
			"the server answered with a range in place of the "
			"whole file");
	enum http_verdict verdict = check_range(t);
	if (verdict != HTTP_TAKE)
		return verdict;
	if (!t->http->open)
		verdict = open_store(t, t->answer.total);
	if (t->expired)
		keep_address(t);
	return verdict;
}

/* The file once more, after a lost connection: the bytes that came are skipped.
 */
static enum http_verdict
judge_again(struct http_transfer *t)
{
	const struct http_answer *first = &t->http->first;
	const char *differs = http_answer_differs(first, &t->answer);

	if (!differs && t->answer.length != first->length)
		differs = "its length";
	if (differs)
		return http_transfer_fail(t, -EIO,
			"changed while it was read: %s is another one",
			differs);
	t->skip = t->at;
	return HTTP_TAKE;
}

static enum http_verdict
judge_whole(struct http_transfer *t)
{
	if (t->http->streams)
		return judge_again(t);
	if (t->http->open)
		return http_transfer_fail(t, -EPROTO,
			"the server answered with the whole file in place of a "
			"range");
	t->whole = true;
	t->http->streams = true;
	return open_store(t, t->answer.length);
}

/* An answer that has no byte of the file. */
static enum http_verdict
judge_status(struct http_transfer *t)
{
	struct http *http = t->http;
	unsigned status = t->answer.status;
	bool denied = status == 401 || status == 403 || status == 404 ||
		      status == 410;

	/* A token lasts for a minute. What another host answers is not the
	 * registry's. */
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

/* S3 answers with the region of the bucket, if the request is for another. */
static bool
is_other_region(const struct http_transfer *t)
{
	const struct http_answer *a = &t->answer;
	const char *region = t->http->target.region;

	return region && a->region[0] && strcmp(region, a->region) != 0 &&
	       (a->status == 301 || a->status == 307 || a->status == 400 ||
		       a->status == 403);
}

enum http_verdict
http_judge(struct http_transfer *t)
{
	const struct http_answer *a = &t->answer;

	if (is_other_region(t))
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
		if (!a->has_range || a->bad_range || a->total != 0)
			return request_whole(t);
		t->end = 0;
		return open_store(t, 0);
	default:
		return judge_status(t);
	}
	if (check_body(t) != HTTP_TAKE)
		return HTTP_FAIL;
	return a->status == 206 ? judge_range(t) : judge_whole(t);
}
