/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which servers a redirect may lead to. The owner of a name decides at
 * each request which address the name has. So each address is judged before a
 * connection to it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include "store/http/http.h"
#include "store/http/private.h"

/* Set the text of an address, for the message. */
static void
note_refused(struct http_transfer *t, const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	const void *bytes = &v6.sin6_addr;

	if (address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		bytes = &v4.sin_addr;
	} else if (address->sa_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
	}
	if (!inet_ntop(address->sa_family, bytes, t->refused_peer,
		    sizeof(t->refused_peer)))
		strcpy(t->refused_peer, "unknown");
}

/*
 * Returns whether a connection may be made. The user may name a private host,
 * whose server may answer by a redirect to another name of itself.
 */
static bool
may_connect(struct http_transfer *t, const struct sockaddr *address,
	socklen_t length)
{
	struct sockaddr_storage *named = &t->http->named;

	if (!http_is_private(address, length))
		return true;
	if (t->named) {
		if (length <= sizeof(*named))
			memcpy(named, address, length);
		return true;
	}
	if (http_is_same_peer((const struct sockaddr *)named, address))
		return true;
	note_refused(t, address);
	return false;
}

static curl_socket_t
open_socket(void *opaque, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http_transfer *t = opaque;

	(void)purpose;
	if (!may_connect(t, &address->addr, (socklen_t)address->addrlen))
		return CURL_SOCKET_BAD;
	/* Another address of the host may be connected to. */
	t->refused_peer[0] = '\0';
	return socket(address->family, address->socktype | SOCK_CLOEXEC,
		address->protocol);
}

CURLcode
http_peer_apply(struct http_transfer *t)
{
	t->refused_peer[0] = '\0';
	if (!t->http->target.public_redirects)
		return CURLE_OK;
	CURLcode code = libcurl.easy_setopt(
		t->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	return code ? code
		    : libcurl.easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t);
}
