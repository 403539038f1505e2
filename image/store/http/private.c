/* SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "store/http/private.h"

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
has_prefix(const unsigned char *address, const struct prefix *prefix)
{
	unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;
	unsigned mask = 0xff00u >> rest & 0xff;

	if (memcmp(address, prefix->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       ((address[whole] ^ prefix->bytes[whole]) & mask) == 0;
}

static bool
has_any(const unsigned char *address, const struct prefix *prefixes,
	size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has_prefix(address, &prefixes[i]))
			return true;
	return false;
}

static bool
is_private_6(const unsigned char *address)
{
	if (has_any(address, prefixes_6, COUNT(prefixes_6)))
		return true;
	for (size_t i = 0; i < COUNT(with_4); i++)
		if (has_prefix(address, &with_4[i]) &&
			has_any(address + with_4[i].bits / 8, prefixes_4,
				COUNT(prefixes_4)))
			return true;
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
		return is_private_6(v6.sin6_addr.s6_addr);
	}
	return true;
}

bool
http_is_same_peer(const struct sockaddr *a, const struct sockaddr *b)
{
	struct sockaddr_in x4, y4;
	struct sockaddr_in6 x6, y6;

	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET) {
		memcpy(&x4, a, sizeof(x4));
		memcpy(&y4, b, sizeof(y4));
		return x4.sin_port == y4.sin_port &&
		       x4.sin_addr.s_addr == y4.sin_addr.s_addr;
	}
	if (a->sa_family != AF_INET6)
		return false;
	memcpy(&x6, a, sizeof(x6));
	memcpy(&y6, b, sizeof(y6));
	return x6.sin6_port == y6.sin6_port &&
	       x6.sin6_scope_id == y6.sin6_scope_id &&
	       memcmp(&x6.sin6_addr, &y6.sin6_addr, 16) == 0;
}
