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
 *	    UNJUDGED ---- connection lost ----> end_lost() --------+
 *	        |                                   ^              |
 *	        | judge(): the header has ended     |              |
 *	        |                                   |              |
 *	        +--> TAKE ---- bytes missing -------+              |
 *	        |      +------ all bytes came ----> done           |
 *	        +--> REDIRECT ----------------> end_redirect() ----+
 *	        +--> RETRY -------------------> end_status() ------+
 *	        +--> FAIL --------------------> done, with an error
 *
 * The three functions at the right return false if another request follows, and
 * set an error if none does. A body that is not the range turns TAKE into FAIL.
 * http_transfer_end() chooses among these ends.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <hone/api.h>
#include "store/http/http.h"
#include "thread.h"

/* Bytes of an error page, read so that the connection can be used again. */
#define MAX_PAGE 65536
/* Bytes of the header and the trailers of one answer. libcurl keeps them all,
 * and older releases have no limit. */
#define MAX_HEADER 262144
/* Fewer bytes a second are no progress. */
#define LOW_SPEED 100
/* Failures that one time-out counts as: there is one second try. */
#define TIMEOUT_TRIES 3
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

/* Set the error of a transfer. Returns HTTP_FAIL. */
__attribute__((format(printf, 3, 4))) static enum http_verdict
fail(struct http_transfer *t, int code, const char *format, ...)
{
	char text[sizeof(t->err.text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	t->code = image_fail(&t->err, t->http->store.name, code, "%s", text);
	t->verdict = HTTP_FAIL;
	return HTTP_FAIL;
}

static const char *
url_of(const struct http_transfer *t)
{
	if (t->url)
		return t->url;
	return t->http->url ? t->http->url : t->http->target.url;
}

static const char *
reason(unsigned status)
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

static enum http_verdict
fail_encoded(struct http_transfer *t)
{
	return fail(t, -EPROTO,
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
	       (names_gzip(url_of(t)) || names_gzip(t->http->target.url));
}

/* Returns whether these bytes show that an encoding is not that of the file.
 * There may be a byte of them only. */
static bool
is_no_gzip_file(const struct http_transfer *t, const char *data, size_t length)
{
	static const char magic[] = {'\x1f', '\x8b'};

	if (!t->answer.encoding[0] || t->skip)
		return false;
	for (size_t i = 0; i < length && t->at + i < sizeof(magic); i++)
		if (data[i] != magic[t->at + i])
			return true;
	return false;
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
		return fail(t, -EPROTO,
			"the server answered with a Content-Length that is not "
			"a number, or with two that differ");
	/* libcurl decodes some, without being asked. */
	if (a->transfer[0])
		return fail(t, -EPROTO,
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
		return fail(t, -EPROTO,
			"the server answered 206 without a valid "
			"Content-Range");
	/* The first request does not know the length. */
	if (!t->http->open && end > a->total)
		end = a->total;
	if (a->first != t->at || a->last != end - 1)
		return fail(t, -EPROTO,
			"the server answered with bytes %" PRIu64 "-%" PRIu64
			", not with bytes %" PRIu64 "-%" PRIu64,
			a->first, a->last, t->at, end - 1);
	if (a->length != IMAGE_SIZE_UNKNOWN &&
		a->length != a->last - a->first + 1)
		return fail(t, -EPROTO,
			"the server answered %" PRIu64
			" bytes in place of bytes %" PRIu64 "-%" PRIu64,
			a->length, a->first, a->last);
	const char *differs =
		t->http->open ? http_answer_differs(&t->http->first, a) : NULL;
	if (differs)
		return fail(t, -EIO,
			"changed while it was read: %s is another one",
			differs);
	t->end = end;
	return HTTP_TAKE;
}

/* The first answer decides what the store is. Returns false without memory. */
static bool
open_store(struct http_transfer *t, uint64_t size)
{
	struct http *http = t->http;

	http->url = strdup(url_of(t));
	if (!http->url)
		return false;
	http->first = t->answer;
	pthread_mutex_lock(&http->lock);
	http->store.size = size;
	bool ranges = t->answer.status == 206;
	bool good = !ranges || http_blocks_begin(http, t->end);
	if (good && ranges && http->whole)
		http_ahead_begin(http);
	http->open = good;
	pthread_cond_broadcast(&http->changed);
	pthread_mutex_unlock(&http->lock);
	return good;
}

/* Use the address of this answer from now on. */
static void
keep_address(struct http_transfer *t)
{
	char *url = strdup(url_of(t));

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
		return fail(t, -EPROTO,
			"the server answered with a range in place of the "
			"whole file");
	enum http_verdict verdict = check_range(t);
	if (verdict != HTTP_TAKE)
		return verdict;
	if (!t->http->open && !open_store(t, t->answer.total))
		return fail(t, -ENOMEM, "out of memory");
	if (t->expired)
		keep_address(t);
	return HTTP_TAKE;
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
		return fail(t, -EIO,
			"changed while it was read: %s is another one",
			differs);
	t->skip = t->at;
	return HTTP_TAKE;
}

static enum http_verdict
judge_whole(struct http_transfer *t)
{
	if (t->http->ring.data)
		return judge_again(t);
	if (t->http->open)
		return fail(t, -EPROTO,
			"the server answered with the whole file in place of a "
			"range");
	t->whole = true;
	return http_ring_create(t->http, t->answer.length) &&
			       open_store(t, t->answer.length)
		       ? HTTP_TAKE
		       : fail(t, -ENOMEM, "out of memory");
}

/* An answer that has no byte of the file. */
static enum http_verdict
judge_status(struct http_transfer *t)
{
	struct http *http = t->http;
	unsigned status = t->answer.status;
	bool denied = status == 401 || status == 403 || status == 404 ||
		      status == 410;

	if (denied && http->open && t->expired < HTTP_TRIES &&
		strcmp(url_of(t), http->target.url) != 0) {
		/* The address of a redirect may be valid for some minutes. */
		t->expired++;
		t->redirects = 0;
		free(t->url);
		t->url = strdup(http->target.url);
		return t->url ? HTTP_RETRY : fail(t, -ENOMEM, "out of memory");
	}
	return fail(t, denied ? -EACCES : -EPROTO, "the server answered %u%s",
		status, reason(status));
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

/* Returns whether the same request may have another answer later. */
static bool
is_busy(unsigned status)
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
judge(struct http_transfer *t)
{
	const struct http_answer *a = &t->answer;

	if (is_other_region(t))
		return fail(t, -EINVAL,
			"the server answered %u%s: the bucket is in region %s; "
			"set AWS_REGION",
			a->status, reason(a->status), a->region);
	if (is_busy(a->status))
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
		return open_store(t, 0) ? HTTP_TAKE
					: fail(t, -ENOMEM, "out of memory");
	default:
		return judge_status(t);
	}
	if (check_body(t) != HTTP_TAKE)
		return HTTP_FAIL;
	return a->status == 206 ? judge_range(t) : judge_whole(t);
}

static size_t
on_header(char *line, size_t size, size_t n, void *opaque)
{
	struct http_transfer *t = opaque;

	t->header += size * n;
	if (t->header > MAX_HEADER) {
		fail(t, -EPROTO,
			"the server sent more than %d bytes of header fields",
			MAX_HEADER);
		return 0;
	}
	http_answer_line(&t->answer, line, size * n);
	/* 1xx comes before the answer, a trailer after it. */
	if (t->answer.complete && t->answer.status >= 200 &&
		t->verdict == HTTP_UNJUDGED)
		t->verdict = judge(t);
	return t->verdict == HTTP_FAIL ? 0 : size * n;
}

/* Take bytes of one block. Returns their number. */
static size_t
fill(struct http_transfer *t, const char *data, size_t length)
{
	struct http *http = t->http;
	size_t skip = t->at % HTTP_BLOCK;
	uint64_t left = t->end - t->at;

	if (length > HTTP_BLOCK - skip)
		length = (size_t)HTTP_BLOCK - skip;
	if (length > left)
		length = (size_t)left;
	pthread_mutex_lock(&http->lock);
	struct http_slot *slot = http_slot_find(http, t->at / HTTP_BLOCK);
	pthread_mutex_unlock(&http->lock);
	/* A slot keeps its block until it is ready. */
	assert(slot);
	memcpy(slot->data + skip, data, length);
	t->at += length;
	if (t->at == t->end) {
		/* Ready at the end of the answer, which may be too long. */
		t->last = slot;
	} else if (t->at % HTTP_BLOCK == 0) {
		pthread_mutex_lock(&http->lock);
		http_block_ready(http, slot);
		pthread_mutex_unlock(&http->lock);
	}
	return length;
}

/* Take bytes of the whole file. */
static size_t
put(struct http_transfer *t, const char *data, size_t length)
{
	size_t skip = t->skip < length ? (size_t)t->skip : length;

	/* libcurl offers all of them again after a pause. */
	if (length > skip &&
		!http_ring_put(t->http, data + skip, length - skip))
		return CURL_WRITEFUNC_PAUSE;
	t->skip -= skip;
	t->at += length - skip;
	return length;
}

/* Returns another number than length to end the request. */
static size_t
on_body(char *data, size_t size, size_t n, void *opaque)
{
	struct http_transfer *t = opaque;
	size_t length = size * n;

	if (t->verdict == HTTP_TAKE && is_no_gzip_file(t, data, length)) {
		fail_encoded(t);
		return 0;
	}
	if (t->verdict == HTTP_TAKE && t->whole)
		return put(t, data, length);
	if (t->verdict != HTTP_TAKE || t->answer.status == 416) {
		t->discarded += length;
		return t->discarded <= MAX_PAGE ? length : 0;
	}
	for (size_t done = 0; done < length;) {
		if (t->at == t->end) {
			t->verdict = fail(t, -EPROTO,
				"the server answered more bytes than the range "
				"has");
			return 0;
		}
		done += fill(t, data + done, length - done);
	}
	return length;
}

/* Set an option, and keep the first error. */
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
	/* end() checks each redirect. */
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
	t->discarded = 0;
	t->header = 0;
	t->text[0] = '\0';
	if (!t->easy)
		t->easy = libcurl.easy_init();
	else
		libcurl.easy_reset(t->easy);
	if (!t->easy || set_up(t) != CURLE_OK ||
		!http_target_apply(
			&t->http->target, t->easy, url_of(t), &t->named))
		fail(t, -ENOMEM, "out of memory");
	return t->code;
}

/* Returns whether a second try may succeed. */
static bool
may_pass(CURLcode result)
{
	switch (result) {
	/* The answer was shorter than its range. */
	case CURLE_OK:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
	case CURLE_PARTIAL_FILE:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return true;
	default:
		return false;
	}
}

/* Before the first answer, an address that cannot be reached is most often a
 * wrong one. */
static bool
is_unreachable(CURLcode result)
{
	return result == CURLE_COULDNT_RESOLVE_PROXY ||
	       result == CURLE_COULDNT_RESOLVE_HOST ||
	       result == CURLE_COULDNT_CONNECT;
}

/*
 * Plan another try after a failure that counts as `tries`. Returns false if
 * there were too many.
 */
static bool
try_again(struct http_transfer *t, unsigned tries)
{
	curl_off_t wait = 0;

	/* Each try of a whole file begins with its first byte. */
	if (!t->whole && t->at >= t->good + HTTP_BLOCK) {
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

/* The server cannot answer now. */
static bool
end_status(struct http_transfer *t)
{
	if (t->answer.status < 408 || t->answer.status == 416)
		t->due_ms = 0;
	else if (!try_again(t, 1)) {
		fail(t, -EIO, "the server answered %u%s", t->answer.status,
			reason(t->answer.status));
		t->err.again = true;
		return true;
	}
	return false;
}

/* Returns whether the answer cannot come again: without a strong ETag, nothing
 * shows that the bytes before are those that came. */
static bool
comes_once(const struct http *http)
{
	return http->ring.data &&
	       (!http->first.etag[0] ||
		       http->first.length == IMAGE_SIZE_UNKNOWN);
}

/*
 * Returns whether libcurl has no space for a line of the header or of the
 * trailers. It reports the same if there is no memory, which is far less likely
 * after the first byte of an answer.
 */
static bool
is_long_line(const struct http_transfer *t, CURLcode result)
{
	static const char trailer[] = "Out of memory in chunked-encoding";
	curl_off_t first_byte = 0;

	if (strcmp(t->text, trailer) == 0)
		return true;
	if (result != CURLE_OUT_OF_MEMORY && result != CURLE_TOO_LARGE)
		return false;
	libcurl.easy_getinfo(
		t->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
	return first_byte > 0 && t->verdict == HTTP_UNJUDGED;
}

/* Returns whether libcurl cannot use the file of --cacert. */
static bool
is_bad_trust(const struct http_transfer *t)
{
	return t->http->target.trust.file &&
	       strcmp(t->text, "error importing CA certificate blob") == 0;
}

/* Returns whether libcurl cannot use the address of the proxy. Its codes are
 * those of a host that cannot be reached. */
static bool
is_bad_proxy(const struct http_transfer *t)
{
	static const char text[] = "Unsupported proxy ";

	return strncmp(t->text, text, strlen(text)) == 0;
}

/* Returns the status by which a proxy refused to connect, or 0. */
static unsigned
proxy_status(const struct http_transfer *t)
{
	long status = 0;

	libcurl.easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &status);
	return status >= 300 ? (unsigned)status : 0;
}

/* PEER_ANY: no_proxy may leave out the proxy, and libcurl does not tell. */
enum peer { PEER_SERVER, PEER_PROXY, PEER_ANY };

/* OpenSSL's text if the peer answered, but not by TLS. */
#define NO_TLS "wrong version number"

/*
 * Returns whether the peer answered, but not as one that has TLS, or by
 * refusing ours. A cut connection has the same code. After a first answer by
 * TLS, such an answer may pass.
 */
static bool
is_without_tls(const struct http_transfer *t, CURLcode result)
{
	static const char *const texts[] = {
		NO_TLS, "alert protocol version", "alert handshake failure"};

	if (result == CURLE_SSL_CONNECT_ERROR && !t->http->open)
		for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
			if (strstr(t->text, texts[i]))
				return true;
	return false;
}

/* Returns who may have broken off TLS. For http, only a proxy has TLS. */
static enum peer
peer_of_tls(const struct http_transfer *t)
{
	static const char *const names[] = {
		"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

	if (strncasecmp(url_of(t), "http:", strlen("http:")) == 0)
		return PEER_PROXY;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *proxy = getenv(names[i]);
		if (proxy &&
			strncasecmp(proxy, "https:", strlen("https:")) == 0)
			return PEER_ANY;
	}
	return PEER_SERVER;
}

/* Set the error of a connection without TLS or without authorities. Returns
 * false if the reason is another. */
static bool
fail_tls(struct http_transfer *t, CURLcode result)
{
	static const char *const peer_names[] = {
		[PEER_SERVER] = "the server",
		[PEER_PROXY] = "the proxy",
		[PEER_ANY] = "the server or the proxy",
	};
	const char *file, *variable;

	if (is_without_tls(t, result) && strstr(t->text, NO_TLS)) {
		fail(t, -EIO,
			"%s does not speak TLS at this port; is it an "
			"http:// address?",
			peer_names[peer_of_tls(t)]);
		return true;
	}
	if (result != CURLE_SSL_CACERT_BADFILE)
		return false;
	file = http_trust_variable(&variable);
	if (file)
		fail(t, -EIO,
			"%s names '%s', which has no certificate that can be "
			"read",
			variable, file);
	else
		fail(t, -EIO,
			"there are no certificates of authorities here: "
			"install ca-certificates, or use --cacert FILE");
	return true;
}

/* Returns what follows libcurl's text about an authority that is not trusted. A
 * date or a name that does not fit has other texts. */
static const char *
way_to_trust(const struct http_transfer *t, CURLcode result, const char *text)
{
	bool unknown = strstr(text, "self-signed certificate") ||
		       strstr(text, "self signed certificate") ||
		       strstr(text, "issuer certificate");

	if (result != CURLE_PEER_FAILED_VERIFICATION || !unknown)
		return "";
	/* As curl does, --cacert leaves out the proxy. */
	return peer_of_tls(t) == PEER_SERVER
		       ? "; --cacert FILE trusts another authority"
		       : "; --capath DIR trusts other authorities, also of a "
			 "proxy";
}

/* Set the error of a lost connection. */
static void
fail_lost(struct http_transfer *t, CURLcode result, bool long_line)
{
	/* An address in libcurl's text may have a password. */
	const char *text = t->text[0] && !strstr(t->text, "://")
				   ? t->text
				   : libcurl.easy_strerror(result);
	unsigned proxy = proxy_status(t);

	if (result == CURLE_OK || result == CURLE_PARTIAL_FILE)
		fail(t, -EIO,
			"the server ended its answer at offset %" PRIu64
			", before the end of the %s",
			t->at, t->whole ? "file" : "range");
	else if (result == CURLE_OPERATION_TIMEDOUT)
		fail(t, -ETIMEDOUT,
			"the server sent nothing for %ld seconds at offset "
			"%" PRIu64,
			t->http->target.timeout, t->at);
	else if (is_bad_trust(t))
		t->code = image_fail(&t->err, t->http->target.trust.file,
			-EINVAL, "has a certificate that is not valid");
	else if (is_bad_proxy(t))
		/* Without the address, which may have a password. */
		fail(t, -EINVAL,
			"cannot be read: the address of the proxy is not "
			"valid, or libcurl does not support its scheme: see "
			"http_proxy, https_proxy and all_proxy");
	else if (proxy)
		fail(t, -EIO, "the proxy answered %u%s", proxy, reason(proxy));
	else if (long_line)
		fail(t, -EPROTO,
			"the server sent a header line that is too long");
	else if (!fail_tls(t, result))
		fail(t, result == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EIO,
			"cannot be read at offset %" PRIu64 ": %s%s", t->at,
			text, way_to_trust(t, result, text));
}

/* The connection was lost. */
static bool
end_lost(struct http_transfer *t, CURLcode result)
{
	bool timeout = result == CURLE_OPERATION_TIMEDOUT;
	bool long_line = is_long_line(t, result);
	unsigned proxy = proxy_status(t);
	bool again = may_pass(result) && !long_line && !is_bad_proxy(t) &&
		     (!proxy || is_busy(proxy)) && !is_without_tls(t, result);
	bool hopeless = !again || comes_once(t->http) ||
			(!t->http->open && is_unreachable(result));

	if (t->refused_peer[0]) {
		fail(t, -EPROTO,
			"the server redirects to %s, a private address: if "
			"that is meant, use the address of the redirect",
			t->refused_peer);
		return true;
	}
	if (!hopeless && try_again(t, timeout ? TIMEOUT_TRIES : 1))
		return false;
	fail_lost(t, result, long_line);
	t->err.again = again;
	return true;
}

static bool
end_redirect(struct http_transfer *t)
{
	char *to = NULL;

	libcurl.easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to);
	if (!to) {
		fail(t, -EPROTO,
			"the server answered %u without a valid address",
			t->answer.status);
		return true;
	}
	const char *refused = http_refuse_redirect(url_of(t), to);
	if (refused) {
		fail(t, -EPROTO, "the server redirects %s", refused);
		return true;
	}
	if (++t->redirects > HTTP_REDIRECTS) {
		fail(t, -ELOOP, "the server redirects more than %d times",
			HTTP_REDIRECTS);
		return true;
	}
	char *url = strdup(to);
	if (!url) {
		fail(t, -ENOMEM, "out of memory");
		return true;
	}
	free(t->url);
	t->url = url;
	t->due_ms = 0;
	return false;
}

/*
 * Returns whether the end of a body without a failure is that of the file.
 * Whoever closes a connection may have failed, or have been cut off.
 */
static bool
is_whole(const struct http_transfer *t)
{
	long version = 0;

	if (t->http->expected || t->answer.chunked ||
		t->answer.length != IMAGE_SIZE_UNKNOWN)
		return true;
	libcurl.easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
	return version >= CURL_HTTP_VERSION_2_0;
}

/* The answer with the whole file has ended. */
static bool
end_whole(struct http_transfer *t)
{
	if (is_whole(t)) {
		http_ring_end(t->http);
		return true;
	}
	fail(t, -EIO,
		"the server closed the connection at offset %" PRIu64
		", and gave no length that shows whether this is the end of "
		"the file; with --expect-file, its digest does",
		t->at);
	t->err.again = true;
	return true;
}

bool
http_transfer_end(struct http_transfer *t, CURLcode result)
{
	switch (t->verdict) {
	case HTTP_FAIL:
		return true;
	case HTTP_REDIRECT:
		return end_redirect(t);
	case HTTP_RETRY:
		return end_status(t);
	case HTTP_TAKE:
	case HTTP_UNJUDGED:
		break;
	}
	if (t->http->ring.data && result == CURLE_OK)
		return end_whole(t);
	/* Of a whole file, `end` is that of the range before. */
	if (!t->whole && t->at == t->end && t->verdict == HTTP_TAKE) {
		pthread_mutex_lock(&t->http->lock);
		if (t->last)
			http_block_ready(t->http, t->last);
		pthread_mutex_unlock(&t->http->lock);
		return true;
	}
	return end_lost(t, result);
}
