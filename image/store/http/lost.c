/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection that was lost: is there a second try, and which error does the
 * user get. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "store/http/http.h"

/* Failures that one time-out counts as: there is one second try. */
#define TIMEOUT_TRIES 3

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

	if (strncasecmp(http_transfer_url(t), "http:", strlen("http:")) == 0)
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
		http_transfer_fail(t, -EIO,
			"%s does not speak TLS at this port; is it an "
			"http:// address?",
			peer_names[peer_of_tls(t)]);
		return true;
	}
	if (result != CURLE_SSL_CACERT_BADFILE)
		return false;
	file = http_trust_variable(&variable);
	if (file)
		http_transfer_fail(t, -EIO,
			"%s names '%s', which has no certificate that can be "
			"read",
			variable, file);
	else
		http_transfer_fail(t, -EIO,
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
		http_transfer_fail(t, -EIO,
			"the server ended its answer at offset %" PRIu64
			", before the end of the %s",
			t->at, t->whole ? "file" : "range");
	else if (result == CURLE_OPERATION_TIMEDOUT)
		http_transfer_fail(t, -ETIMEDOUT,
			"the server sent nothing for %ld seconds at offset "
			"%" PRIu64,
			t->http->target.timeout, t->at);
	else if (is_bad_trust(t))
		t->code = image_fail(&t->err, t->http->target.trust.file,
			-EINVAL, "has a certificate that is not valid");
	else if (is_bad_proxy(t))
		/* Without the address, which may have a password. */
		http_transfer_fail(t, -EINVAL,
			"cannot be read: the address of the proxy is not "
			"valid, or libcurl does not support its scheme: see "
			"http_proxy, https_proxy and all_proxy");
	else if (proxy)
		http_transfer_fail(t, -EIO, "the proxy answered %u%s", proxy,
			http_reason(proxy));
	else if (long_line)
		http_transfer_fail(t, -EPROTO,
			"the server sent a header line that is too long");
	else if (!fail_tls(t, result))
		http_transfer_fail(t,
			result == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EIO,
			"cannot be read at offset %" PRIu64 ": %s%s", t->at,
			text, way_to_trust(t, result, text));
}

bool
http_end_lost(struct http_transfer *t, CURLcode result)
{
	bool timeout = result == CURLE_OPERATION_TIMEDOUT;
	bool long_line = is_long_line(t, result);
	unsigned proxy = proxy_status(t);
	bool again = may_pass(result) && !long_line && !is_bad_proxy(t) &&
		     (!proxy || http_is_busy(proxy)) &&
		     !is_without_tls(t, result);
	bool hopeless = !again || comes_once(t->http) ||
			(!t->http->open && is_unreachable(result));

	if (t->refused_peer[0]) {
		http_transfer_fail(t, -EPROTO,
			"the server redirects to %s, a private address: if "
			"that is meant, use the address of the redirect",
			t->refused_peer);
		return true;
	}
	if (!hopeless &&
		http_transfer_try_again(t, timeout ? TIMEOUT_TRIES : 1))
		return false;
	fail_lost(t, result, long_line);
	t->err.again = again;
	return true;
}
