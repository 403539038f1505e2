/* SPDX-License-Identifier: BSD-3-Clause */
/* Judges each address before a connection: a name may get another one. */
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include "store/http/http.h"

/* The first bits of addresses, in the order of the network. */
struct prefix {
	unsigned char bytes[16];
	unsigned bits;
};

static const struct prefix prefixes_4[] = {
	/* this network; the kernel takes 0.0.0.0 for loopback */
	{{0}, 8},
	{{10}, 8},
	/* shared by the customers of a provider */
	{{100, 64}, 10},
	/* loopback */
	{{127}, 8},
	/* link-local, where clouds have their metadata */
	{{169, 254}, 16},
	{{172, 16}, 12},
	/* for protocols, and for examples that tests use */
	{{192, 0, 0}, 24},
	{{192, 168}, 16},
	/* for benchmarks */
	{{198, 18}, 15},
	/* multicast, reserved, broadcast */
	{{224}, 3},
};

static const struct prefix prefixes_6[] = {
	/* none, and loopback */
	{{0}, 127},
	/* translated by the network itself */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48},
	/* unique local */
	{{0xfc}, 7},
	/* link-local, and site-local of before */
	{{0xfe, 0x80}, 9},
	/* multicast */
	{{0xff}, 8},
};

/* Of these, an address of IPv4 follows. */
static const struct prefix with_4[] = {
	/* compatible, mapped, and mapped with a zero between */
	{{0}, 96},
	{{[10] = 0xff, [11] = 0xff}, 96},
	{{[8] = 0xff, [9] = 0xff}, 96},
	/* translated */
	{{0x00, 0x64, 0xff, 0x9b}, 96},
	/* 6to4 */
	{{0x20, 0x02}, 16},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool
has_any(const unsigned char *address, const struct prefix *prefixes,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct prefix *prefix = &prefixes[i];
		unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;
		if (memcmp(address, prefix->bytes, whole) == 0 &&
			(rest == 0 || (address[whole] ^ prefix->bytes[whole]) >>
						      (8 - rest) ==
					      0))
			return true;
	}
	return false;
}

bool
http_is_private(const struct sockaddr *address, socklen_t length)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	unsigned char bytes[4];

	if (address->sa_family == AF_INET && length >= sizeof(v4)) {
		memcpy(&v4, address, sizeof(v4));
		memcpy(bytes, &v4.sin_addr, sizeof(bytes));
		return has_any(bytes, prefixes_4, COUNT(prefixes_4));
	}
	if (address->sa_family == AF_INET6 && length >= sizeof(v6)) {
		memcpy(&v6, address, sizeof(v6));
		const unsigned char *at = v6.sin6_addr.s6_addr;
		bool private = has_any(at, prefixes_6, COUNT(prefixes_6));
		for (size_t i = 0; i < COUNT(with_4); i++) {
			const unsigned char *rest = at + with_4[i].bits / 8;
			private |= has_any(at, &with_4[i], 1) &&
				   has_any(rest, prefixes_4, COUNT(prefixes_4));
		}
		return private;
	}
	return true;
}

bool
http_is_same_peer(const struct sockaddr *a, const struct sockaddr *b)
{
	size_t length = a->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
			: a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						   : 0;

	return a->sa_family == b->sa_family && length &&
	       memcmp(a, b, length) == 0;
}

/* The user may name a private host, whose server may answer by a redirect to
 * another name of itself. */
static curl_socket_t
open_socket(void *opaque, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct http_transfer *t = opaque;
	struct sockaddr_storage *named = &t->http->named;
	struct sockaddr *address = &to->addr;
	socklen_t length = (socklen_t)to->addrlen;
	bool private = http_is_private(address, length);

	(void)purpose;
	/* Another address of the host may be connected to. */
	t->refused_peer[0] = '\0';
	if (private && t->named && length <= sizeof(*named))
		memcpy(named, address, length);
	if (!private || t->named ||
		http_is_same_peer((const struct sockaddr *)named, address))
		return socket(
			to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	if (getnameinfo(address, length, t->refused_peer,
		    sizeof(t->refused_peer), NULL, 0, NI_NUMERICHOST) != 0)
		strcpy(t->refused_peer, "unknown");
	return CURL_SOCKET_BAD;
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
