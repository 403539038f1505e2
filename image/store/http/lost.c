/* SPDX-License-Identifier: BSD-3-Clause */
/* A lost connection: another try, or which error. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "store/http/http.h"

/* Failures that one time-out counts as: there is one second try. */
#define TIMEOUT_TRIES 3

static bool
begins(const char *url, const char *scheme)
{
	return strncasecmp(url, scheme, strlen(scheme)) == 0;
}

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

/* Returns the proxy of the environment, as for libcurl, or NULL. */
static const char *
proxy_of(const char *url)
{
	static const char *const plain[] = {
		"http_proxy", "all_proxy", "ALL_PROXY", NULL};
	static const char *const tls[] = {
		"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
	const char *const *name = begins(url, "http:") ? plain : tls;

	for (; *name; name++) {
		const char *proxy = getenv(*name);
		if (proxy && proxy[0])
			return proxy;
	}
	return NULL;
}

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

const char *
http_way_with_tls(const struct http_transfer *t)
{
	const char *url = http_transfer_url(t);

	if (t->http->open || !t->named || t->http->target.derived ||
		proxy_of(url) || !begins(url, "http:"))
		return "";
	return t->http->target.auth
		       ? "; does the registry want TLS? Leave out --plain-http"
		       : "; is it an https:// address?";
}

/* Set the error of TLS. Returns false if the reason is another. */
static bool
fail_tls(struct http_transfer *t, CURLcode result, const char *text)
{
	const char *file, *variable, *url = http_transfer_url(t);
	const char *proxy = proxy_of(url);

	/* libcurl has no code for a peer that answers without TLS. For http,
	 * only a proxy has TLS. */
	if (result == CURLE_SSL_CONNECT_ERROR && !t->http->open) {
		http_transfer_fail(t, -EIO,
			"there is no TLS with %s at this port (%s)%s",
			begins(url, "http:") ? "the proxy"
			: proxy && begins(proxy, "https:")
				? "the server or the proxy"
				: "the server",
			text,
			!t->named ? ""
			: t->http->target.auth
				? "; --plain-http reads from a registry "
				  "without TLS"
				: "; is it an http:// address?");
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

/* Returns what follows libcurl's text about an authority that is not trusted,
 * and not about a date or a name that does not fit. As curl does, --cacert
 * leaves out the proxy. */
static const char *
way_to_trust(const struct http_transfer *t)
{
	/* X509_V_ERR_* of <openssl/x509_vfy.h> */
	enum { NO_ISSUER = 2, SELF_SIGNED = 18, UNVERIFIED_LEAF = 21 };
	long codes[2] = {0, 0};

	libcurl.easy_getinfo(
		t->easy, CURLINFO_PROXY_SSL_VERIFYRESULT, &codes[0]);
	libcurl.easy_getinfo(t->easy, CURLINFO_SSL_VERIFYRESULT, &codes[1]);
	for (int i = 0; i < 2; i++)
		if (codes[i] == NO_ISSUER ||
			(codes[i] >= SELF_SIGNED &&
				codes[i] <= UNVERIFIED_LEAF))
			return i ? "; --cacert FILE trusts another authority"
				 : "; --capath DIR trusts other authorities, "
				   "also of a proxy";
	return "";
}

static void
fail_lost(struct http_transfer *t, CURLcode result, bool long_line)
{
	/* An address in libcurl's text may have a password. */
	const char *text = t->text[0] && !strstr(t->text, "://")
				   ? t->text
				   : libcurl.easy_strerror(result);
	unsigned proxy = proxy_status(t);
	/* A server with TLS that is asked without it closes the connection, or
	 * sends an alert, which libcurl takes for an answer of HTTP/0.9. */
	bool may_be_tls = result == CURLE_GOT_NOTHING ||
			  result == CURLE_RECV_ERROR ||
			  result == CURLE_SEND_ERROR ||
			  result == CURLE_UNSUPPORTED_PROTOCOL ||
			  result == CURLE_WEIRD_SERVER_REPLY;

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
	else if (t->http->target.trust.file &&
		 (result == CURLE_SSL_CACERT_BADFILE ||
			 result == CURLE_SSL_CERTPROBLEM))
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
			: may_be_tls ? http_way_with_tls(t)
				     : "");
}

bool
http_end_lost(struct http_transfer *t, CURLcode result)
{
	bool timeout = result == CURLE_OPERATION_TIMEDOUT;
	curl_off_t first_byte = 0;
	libcurl.easy_getinfo(
		t->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
	/* libcurl has no space for a line of the header, or, as 8.14 reports,
	 * of the trailers. For the header, some versions report that there is
	 * no memory, which is less likely after the first byte. */
	bool long_line =
		first_byte > 0 && (result == CURLE_TOO_LARGE ||
					  (result == CURLE_OUT_OF_MEMORY &&
						  t->verdict == HTTP_UNJUDGED));
	unsigned proxy = proxy_status(t);
	bool again = may_pass(result) && !long_line &&
		     !is_bad_proxy(t, result) &&
		     (!proxy || http_is_busy(proxy));
	/* Before the first answer, it is most often a wrong address. */
	bool unreachable = !t->http->open &&
			   (result == CURLE_COULDNT_RESOLVE_PROXY ||
				   result == CURLE_COULDNT_RESOLVE_HOST ||
				   result == CURLE_COULDNT_CONNECT ||
				   result == CURLE_SSL_CONNECT_ERROR);
	/* Nothing shows that bytes that come again are the same. */
	bool comes_once = t->http->streams &&
			  (!t->http->first.etag[0] ||
				  t->http->first.length == IMAGE_SIZE_UNKNOWN);

	if (t->refused_peer[0]) {
		http_transfer_fail(t, -EPROTO,
			"the server redirects to %s, a private address: if "
			"that is meant, use the address of the redirect",
			t->refused_peer);
		return true;
	}
	if (again && !unreachable && !comes_once &&
		http_transfer_try_again(t, timeout ? TIMEOUT_TRIES : 1))
		return false;
	fail_lost(t, result, long_line);
	t->err.again = again;
	return true;
}
