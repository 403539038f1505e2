/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One range of the file: its requests, their answers, and what follows.
 *
 * The states of a transfer. In capitals: the verdict on the present answer.
 *
 *	    in http.queue until due_ms <---------------------------+
 *	        |                                                  |
 *	        | http_transfer_begin(): a request is sent         |
 *	        v                                                  |
 *	    UNJUDGED ---- connection lost ----> http_end_lost() ---+
 *	        |                                   ^              |
 *	        | http_judge(): header has ended    |              |
 *	        |                                   |              |
 *	        +--> TAKE ---- bytes missing -------+              |
 *	        |      +------ all bytes came ----> done           |
 *	        +--> REDIRECT ----------------> end_redirect() ----+
 *	        +--> RETRY -------------------> end_status() ------+
 *	        +--> RENEW -------------------> end_renew() -------+
 *	        +--> FAIL --------------------> done, with an error
 *
 * The four functions at the right return false if another request follows, and
 * set an error if none does. A body that is not the range turns TAKE into FAIL.
 * end() chooses among these ends. If a whole file ends without an error of
 * libcurl, end_whole() follows TAKE: done, with an error if nothing shows that
 * all bytes came.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/api.h>
#include "store/http/http.h"
#include "thread.h"

/* Bytes of an error page, read so that the connection can be used again. */
#define MAX_PAGE 65536
/* libcurl keeps them all, and older releases have no limit. */
#define MAX_HEADER 262144
/* Fewer bytes a second are no progress. */
#define LOW_SPEED 100
/* Before the second try; twice as long before each further one. */
#define FIRST_WAIT_MS 100
#define BUFFER_SIZE (256L << 10)

struct http_transfer *
http_transfer_new(struct http *http, uint64_t at, uint64_t end)
{
	struct http_transfer *transfer = calloc(1, sizeof(*transfer));

	if (!transfer)
		return NULL;
	transfer->http = http;
	transfer->at = transfer->good = at;
	transfer->end = end;
	return transfer;
}

void
http_transfer_free(struct http_transfer *transfer)
{
	libcurl.easy_cleanup(transfer->easy);
	free(transfer->url);
	free(transfer);
}

enum http_verdict
http_transfer_fail(struct http_transfer *t, int code, const char *format, ...)
{
	char text[sizeof(t->err.text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	t->code = image_fail(
		&t->err, t->http->blocks.store.name, code, "%s", text);
	t->verdict = HTTP_FAIL;
	return HTTP_FAIL;
}

const char *
http_transfer_url(const struct http_transfer *t)
{
	if (t->url)
		return t->url;
	return t->http->url ? t->http->url : t->http->target.url;
}

static size_t
on_header(char *line, size_t size, size_t n, void *opaque)
{
	struct http_transfer *t = opaque;

	t->header += size * n;
	if (t->header > MAX_HEADER) {
		http_transfer_fail(t, -EPROTO,
			"the server sent more than %d bytes of header fields",
			MAX_HEADER);
		return 0;
	}
	http_answer_line(&t->answer, line, size * n);
	/* 1xx comes before the answer, a trailer after it. */
	if (t->answer.complete && t->answer.status >= 200 &&
		t->verdict == HTTP_UNJUDGED) {
		http_trace_answer(t);
		t->verdict = http_judge(t);
		t->renewed &= t->verdict != HTTP_TAKE;
	}
	return t->verdict == HTTP_FAIL ? 0 : size * n;
}

/* Returns another number than length to end the request. */
static size_t
on_body(char *data, size_t size, size_t n, void *opaque)
{
	struct http_transfer *t = opaque;
	size_t length = size * n;

	if (t->verdict == HTTP_TAKE && !http_judge_bytes(t, data, length))
		return 0;
	if (t->verdict == HTTP_TAKE && t->whole) {
		size_t skip = t->skip < length ? (size_t)t->skip : length;
		size_t left = length - skip;
		t->code = image_stream_check(t->http->blocks.store.name,
			t->http->blocks.store.size, t->at + left, false,
			&t->err);
		if (t->code < 0) {
			t->verdict = HTTP_FAIL;
			return 0;
		}
		/* libcurl offers all of them again after a pause. */
		if (left && !http_put(t->http, t->at, data + skip, left))
			return CURL_WRITEFUNC_PAUSE;
		t->skip -= skip;
		t->at += left;
		return length;
	}
	if (t->verdict != HTTP_TAKE || t->answer.status == 416) {
		t->discarded += length;
		return t->discarded <= MAX_PAGE ? length : 0;
	}
	for (size_t done = 0; done < length;) {
		if (t->at == t->end) {
			t->verdict = http_transfer_fail(t, -EPROTO,
				"the server answered more bytes than the range "
				"has");
			return 0;
		}
		done += http_fill(t, data + done, length - done);
	}
	return length;
}

#define SET(option, value)                                                     \
	(code = code ? code : libcurl.easy_setopt(t->easy, (option), (value)))

static CURLcode
set_up(struct http_transfer *t)
{
	const struct http_target *target = &t->http->target;
	const char *netrc = getenv("NETRC");
	CURLcode code = CURLE_OK;

	snprintf(t->range, sizeof(t->range), "%" PRIu64 "-%" PRIu64, t->at,
		t->end - 1);
	if (!t->whole)
		SET(CURLOPT_RANGE, t->range);
	SET(CURLOPT_PRIVATE, t);
	SET(CURLOPT_ERRORBUFFER, t->text);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, t);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, t);
	SET(CURLOPT_BUFFERSIZE, BUFFER_SIZE);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	/* end_redirect() checks each redirect. */
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_HTTP09_ALLOWED, 0L);
	SET(CURLOPT_USERAGENT, "hone/" HONE_VERSION_STRING);
	SET(CURLOPT_CONNECTTIMEOUT, target->timeout);
	SET(CURLOPT_LOW_SPEED_LIMIT, (long)LOW_SPEED);
	SET(CURLOPT_LOW_SPEED_TIME, target->timeout);
	/* libcurl leaves this to programs; the name is curl's. */
	if (netrc && netrc[0])
		SET(CURLOPT_NETRC_FILE, netrc);
	if (!code)
		code = http_peer_apply(t);
	return code ? code : http_trust_apply(&target->trust, t->easy);
}

int
http_transfer_begin(struct http_transfer *t)
{
	t->answer = (struct http_answer){.length = IMAGE_SIZE_UNKNOWN};
	t->verdict = HTTP_UNJUDGED;
	t->serial = t->http->target.auth ? t->http->target.auth->serial : 0;
	t->discarded = 0;
	t->header = 0;
	t->text[0] = '\0';
	if (!t->easy)
		t->easy = libcurl.easy_init();
	else
		libcurl.easy_reset(t->easy);
	if (!t->easy || set_up(t) != CURLE_OK ||
		!http_target_apply(&t->http->target, t->easy, t))
		http_transfer_fail(t, -ENOMEM, "out of memory");
	else
		http_trace_request(t);
	return t->code;
}

bool
http_transfer_try_again(struct http_transfer *t, unsigned tries)
{
	curl_off_t wait = 0;

	/* Each try of a whole file begins with its first byte. */
	if (!t->whole && t->at >= t->good + BLOCK) {
		t->good = t->at;
		t->tries = 0;
	}
	t->tries += tries;
	if (t->tries > HTTP_TRIES)
		return false;
	libcurl.easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &wait);
	if (t->verdict != HTTP_RETRY)
		wait = 0;
	if (wait > HTTP_RETRY_AFTER)
		return false;
	uint64_t ms = (uint64_t)FIRST_WAIT_MS << (t->tries - 1);
	if (ms < (uint64_t)wait * 1000)
		ms = (uint64_t)wait * 1000;
	t->due_ms = image_now_ns() / 1000000 + ms;
	return true;
}

static bool
end_renew(struct http_transfer *t)
{
	struct image_auth *auth = t->http->target.auth;

	t->due_ms = 0;
	/* Another request may have got a token meanwhile. */
	if (t->serial != auth->serial)
		return false;
	t->renewed = true;
	t->code = auth->renew(auth, t->answer.challenges, &t->err);
	return t->code < 0;
}

static bool
end_status(struct http_transfer *t)
{
	if (t->answer.status < 408 || t->answer.status == 416)
		t->due_ms = 0;
	else if (!http_transfer_try_again(t, 1)) {
		http_transfer_fail(t, -EIO, "the server answered %u%s",
			t->answer.status, http_reason(t->answer.status));
		t->err.again = true;
		return true;
	}
	return false;
}

static bool
end_redirect(struct http_transfer *t)
{
	char *to = NULL, *url = NULL;

	libcurl.easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to);
	const char *refused =
		to ? http_refuse_redirect(http_transfer_url(t), to) : NULL;
	if (!to)
		http_transfer_fail(t, -EPROTO,
			"the server answered %u without a valid address",
			t->answer.status);
	else if (refused)
		http_transfer_fail(
			t, -EPROTO, "the server redirects %s", refused);
	else if (++t->redirects > HTTP_REDIRECTS)
		http_transfer_fail(t, -ELOOP,
			"the server redirects more than %d times",
			HTTP_REDIRECTS);
	else if (!(url = strdup(to)))
		http_transfer_fail(t, -ENOMEM, "out of memory");
	if (!url)
		return true;
	free(t->url);
	t->url = url;
	t->due_ms = 0;
	return false;
}

/* The whole file has ended, or somebody cut the connection. */
static bool
end_whole(struct http_transfer *t)
{
	long version = 0;

	libcurl.easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
	if (t->http->expected || t->answer.chunked ||
		t->answer.length != IMAGE_SIZE_UNKNOWN ||
		version >= CURL_HTTP_VERSION_2_0) {
		http_fill_end(t);
		return true;
	}
	http_transfer_fail(t, -EIO,
		"the server closed the connection at offset %" PRIu64
		", and gave no length that shows whether this is the end of "
		"the file; with --expect-file, its digest does",
		t->at);
	t->err.again = true;
	return true;
}

static bool
end(struct http_transfer *t, CURLcode result)
{
	switch (t->verdict) {
	case HTTP_FAIL:
		return true;
	case HTTP_REDIRECT:
		return end_redirect(t);
	case HTTP_RETRY:
		return end_status(t);
	case HTTP_RENEW:
		return end_renew(t);
	case HTTP_TAKE:
	case HTTP_UNJUDGED:
		break;
	}
	if (t->http->streams && result == CURLE_OK)
		return end_whole(t);
	/* Of a whole file, `end` is that of the range before. */
	if (!t->whole && t->at == t->end && t->verdict == HTTP_TAKE) {
		http_fill_end(t);
		return true;
	}
	return http_end_lost(t, result);
}

bool
http_transfer_end(struct http_transfer *t, CURLcode result)
{
	bool complete = end(t, result);

	http_trace_end(t, result, complete);
	return complete;
}
