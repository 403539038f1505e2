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
	       result == CURLE_COULDNT_CONNECT ||
	       result == CURLE_SSL_CONNECT_ERROR;
}

/* Returns whether the answer cannot come again: without a strong ETag, nothing
 * shows that the bytes before are those that came. */
static bool
comes_once(const struct http *http)
{
	return http->streams &&
	       (!http->first.etag[0] ||
		       http->first.length == IMAGE_SIZE_UNKNOWN);
}

/*
 * Returns whether libcurl has no space for a line of the header, or, as 8.14
 * reports, for a line of the trailers. For a line of the header, some versions
 * report that there is no memory, which is far less likely after the first byte
 * of an answer.
 */
static bool
is_long_line(const struct http_transfer *t, CURLcode result)
{
	curl_off_t first_byte = 0;

	if (result != CURLE_OUT_OF_MEMORY && result != CURLE_TOO_LARGE)
		return false;
	libcurl.easy_getinfo(
		t->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
	return first_byte > 0 &&
	       (result == CURLE_TOO_LARGE || t->verdict == HTTP_UNJUDGED);
}

/* Returns whether libcurl cannot use the file of --cacert. */
static bool
is_bad_trust(const struct http_transfer *t, CURLcode result)
{
	return t->http->target.trust.file &&
	       (result == CURLE_SSL_CACERT_BADFILE ||
		       result == CURLE_SSL_CERTPROBLEM);
}

/* Returns the proxy that the environment names for an address, as libcurl looks
 * for it, or NULL. no_proxy may leave it out. */
static const char *
proxy_of(const char *url)
{
	static const char *const plain[] = {
		"http_proxy", "all_proxy", "ALL_PROXY", NULL};
	static const char *const tls[] = {
		"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
	bool plain_url = strncasecmp(url, "http:", strlen("http:")) == 0;

	for (const char *const *name = plain_url ? plain : tls; *name; name++) {
		const char *proxy = getenv(*name);
		if (proxy && proxy[0])
			return proxy;
	}
	return NULL;
}

/* Returns whether libcurl can use the address of a proxy. */
static bool
is_valid_proxy(const char *proxy)
{
	static const char *const schemes[] = {"http", "https", "socks",
		"socks4", "socks4a", "socks5", "socks5h"};
	CURLU *parts = libcurl.url();
	char *scheme = NULL;
	bool valid = !parts; /* unknown without memory */

	if (parts &&
		!libcurl.url_set(parts, CURLUPART_URL, proxy,
			CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME) &&
		!libcurl.url_get(parts, CURLUPART_SCHEME, &scheme, 0))
		for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
			if (strcasecmp(scheme, schemes[i]) == 0)
				valid = true;
	libcurl.free(scheme);
	libcurl.url_cleanup(parts);
	return valid;
}

/* libcurl's codes for this are those of a host that cannot be reached. */
static bool
is_bad_proxy(const struct http_transfer *t, CURLcode result)
{
	const char *proxy = proxy_of(http_transfer_url(t));

	return (result == CURLE_COULDNT_RESOLVE_PROXY ||
		       result == CURLE_COULDNT_CONNECT) &&
	       proxy && !is_valid_proxy(proxy);
}

/* Returns the status by which a proxy refused to connect, or 0. */
static unsigned
proxy_status(const struct http_transfer *t)
{
	long status = 0;

	libcurl.easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &status);
	return status >= 300 ? (unsigned)status : 0;
}

/* Returns who may have broken off TLS. For http, only a proxy has TLS. */
static const char *
peer_of_tls(const struct http_transfer *t)
{
	const char *url = http_transfer_url(t);
	const char *proxy = proxy_of(url);

	if (strncasecmp(url, "http:", strlen("http:")) == 0)
		return "the proxy";
	return proxy && strncasecmp(proxy, "https:", strlen("https:")) == 0
		       ? "the server or the proxy"
		       : "the server";
}

/* Returns what follows the text about a peer without TLS. A server chose the
 * address of a redirect. */
static const char *
way_without_tls(const struct http_transfer *t)
{
	if (!t->named)
		return "";
	return t->http->target.auth
		       ? "; --plain-http reads from a registry without TLS"
		       : "; is it an http:// address?";
}

const char *
http_way_with_tls(const struct http_transfer *t)
{
	const char *url = http_transfer_url(t);

	if (t->http->open || !t->named || t->http->target.derived ||
		proxy_of(url) ||
		strncasecmp(url, "http:", strlen("http:")) != 0)
		return "";
	return t->http->target.auth
		       ? "; does the registry want TLS? Leave out --plain-http"
		       : "; is it an https:// address?";
}

/* Set the error of a connection without TLS or without authorities. Returns
 * false if the reason is another. */
static bool
fail_tls(struct http_transfer *t, CURLcode result, const char *text)
{
	const char *file, *variable;

	/* libcurl has no code for a peer that answers without TLS. */
	if (result == CURLE_SSL_CONNECT_ERROR && !t->http->open) {
		http_transfer_fail(t, -EIO,
			"there is no TLS with %s at this port (%s)%s",
			peer_of_tls(t), text, way_without_tls(t));
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

/* Returns whether a result of OpenSSL says that an authority is not known, and
 * not that a date or a name does not fit: X509_V_ERR_* of <openssl/x509_vfy.h>.
 */
static bool
is_unknown_authority(long verified)
{
	enum { NO_ISSUER = 2, SELF_SIGNED = 18, UNVERIFIED_LEAF = 21 };

	return verified == NO_ISSUER ||
	       (verified >= SELF_SIGNED && verified <= UNVERIFIED_LEAF);
}

/* Returns what follows libcurl's text about an authority that is not trusted.
 * As curl does, --cacert leaves out the proxy. */
static const char *
way_to_trust(const struct http_transfer *t)
{
	long server = 0, proxy = 0;

	libcurl.easy_getinfo(t->easy, CURLINFO_SSL_VERIFYRESULT, &server);
	libcurl.easy_getinfo(t->easy, CURLINFO_PROXY_SSL_VERIFYRESULT, &proxy);
	if (is_unknown_authority(proxy))
		return "; --capath DIR trusts other authorities, also of a "
		       "proxy";
	return is_unknown_authority(server)
		       ? "; --cacert FILE trusts another authority"
		       : "";
}

/* Returns whether a server with TLS may have been asked without it. Such a
 * server closes the connection, or sends an alert, which libcurl takes for an
 * answer of HTTP/0.9. */
static bool
may_be_tls(CURLcode result)
{
	return result == CURLE_GOT_NOTHING || result == CURLE_RECV_ERROR ||
	       result == CURLE_SEND_ERROR ||
	       result == CURLE_UNSUPPORTED_PROTOCOL ||
	       result == CURLE_WEIRD_SERVER_REPLY;
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
	else if (is_bad_trust(t, result))
		t->code = image_fail(&t->err, t->http->target.trust.file,
			-EINVAL, "has a certificate that is not valid");
	else if (is_bad_proxy(t, result))
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
	else if (!fail_tls(t, result, text))
		http_transfer_fail(t,
			result == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EIO,
			"cannot be read at offset %" PRIu64 ": %s%s", t->at,
			text,
			result == CURLE_PEER_FAILED_VERIFICATION
				? way_to_trust(t)
			: may_be_tls(result) ? http_way_with_tls(t)
					     : "");
}

bool
http_end_lost(struct http_transfer *t, CURLcode result)
{
	bool timeout = result == CURLE_OPERATION_TIMEDOUT;
	bool long_line = is_long_line(t, result);
	unsigned proxy = proxy_status(t);
	bool again = may_pass(result) && !long_line &&
		     !is_bad_proxy(t, result) &&
		     (!proxy || http_is_busy(proxy));
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
