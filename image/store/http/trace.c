/* SPDX-License-Identifier: BSD-3-Clause */
/* What image_network.http_trace gets. No line has a field of a header. */
#include <inttypes.h>
#include <stdlib.h>
#include "store/http/http.h"
#include "thread.h"

void
http_trace_request(struct http_transfer *t)
{
	static unsigned requests;
	const struct image_trace *trace = t->http->target.trace;

	if (!trace)
		return;
	char *url = image_address_name(http_transfer_url(t));
	t->number = __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
	image_trace(trace, "#%u %s %s %s%s", t->number,
		t->posts ? "POST" : "GET", url ? url : "",
		t->whole ? "whole file" : "bytes ", t->whole ? "" : t->range);
	free(url);
}

void
http_trace_answer(const struct http_transfer *t)
{
	const struct image_trace *trace = t->http->target.trace;
	const struct http_answer *a = &t->answer;

	if (!trace)
		return;
	if (a->has_range && !a->bad_range && a->first <= a->last)
		image_trace(trace,
			"#%u answered %u, bytes %" PRIu64 "-%" PRIu64,
			t->number, a->status, a->first, a->last);
	else if (a->length != IMAGE_SIZE_UNKNOWN)
		image_trace(trace, "#%u answered %u, %s", t->number, a->status,
			IMAGE_COUNT(a->length, "byte"));
	else
		image_trace(trace, "#%u answered %u", t->number, a->status);
}

void
http_trace_open(const struct http_transfer *t, uint64_t size)
{
	const struct http *http = t->http;

	image_trace(http->target.trace, "#%u the file has %s, and is read %s",
		t->number,
		size == IMAGE_SIZE_UNKNOWN ? "no length"
					   : IMAGE_COUNT(size, "byte"),
		http->streams ? "once, as a whole" : "in ranges");
}

void
http_trace_end(const struct http_transfer *t, CURLcode result, bool complete)
{
	const struct image_trace *trace = t->http->target.trace;

	if (!trace)
		return;
	if (complete && t->code < 0) {
		image_trace(trace, "#%u failed: %s", t->number, t->err.text);
	} else if (complete) {
		image_trace(trace, "#%u is complete", t->number);
	} else if (t->verdict == HTTP_REDIRECT) {
		char *url = image_address_name(http_transfer_url(t));
		image_trace(trace, "#%u redirects to %s", t->number,
			url ? url : "");
		free(url);
	} else {
		bool no_data =
			t->verdict == HTTP_RETRY || t->verdict == HTTP_RENEW;
		const char *why = result == CURLE_OK
					  ? "the answer is too short"
					  : libcurl.easy_strerror(result);
		uint64_t now = image_now_ns() / 1000000;
		image_trace(trace,
			"#%u stopped at offset %" PRIu64
			": %s; the next try is in %" PRIu64 " ms",
			t->number, t->at, no_data ? "no data" : why,
			t->due_ms > now ? t->due_ms - now : 0);
	}
}
