/* SPDX-License-Identifier: BSD-3-Clause */
/* Which addresses of servers count as private. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include "store/http/private.h"
#include "support.h"

/* Returns the length of the address of a text, with a port. */
static socklen_t
parse(const char *text, unsigned port, struct sockaddr_storage *address)
{
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};

	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		memcpy(address, &v4, sizeof(v4));
		return sizeof(v4);
	}
	assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	memcpy(address, &v6, sizeof(v6));
	return sizeof(v6);
}

static bool
is_private(const char *text)
{
	struct sockaddr_storage address;
	socklen_t length = parse(text, 80, &address);

	return http_is_private((struct sockaddr *)&address, length);
}

TEST(the_first_and_the_last_address_of_each_range_are_private)
{
	static const char *const addresses[] = {"0.0.0.0", "0.255.255.255",
		"10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
		"127.0.0.1", "127.255.255.255", "169.254.0.0",
		"169.254.169.254", "169.254.255.255", "172.16.0.0",
		"172.31.255.255", "192.0.0.0", "192.0.0.255", "192.168.0.0",
		"192.168.255.255", "198.18.0.0", "198.19.255.255", "224.0.0.0",
		"255.255.255.255", "::", "::1",
		"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fec0::1",
		"ff02::1", "64:ff9b:1::808:808", "::ffff:127.0.0.1",
		"::ffff:10.1.2.3", "::127.0.0.1", "::ffff:0:192.168.1.1",
		"64:ff9b::10.0.0.1", "2002:7f00:1::", "2002:c0a8:101::1"};

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++)
		if (!is_private(addresses[i]))
			fail_msg("%s", addresses[i]);
}

TEST(the_neighbours_of_each_range_are_public)
{
	static const char *const addresses[] = {"1.0.0.0", "9.255.255.255",
		"11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
		"128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
		"172.32.0.0", "191.255.255.255", "192.0.1.0", "192.167.255.255",
		"192.169.0.0", "198.17.255.255", "198.20.0.0",
		"223.255.255.255", "8.8.8.8", "2606:4700::1111",
		"fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::1", "fe7f::1",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
		"2001:db8::1"};

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++)
		if (is_private(addresses[i]))
			fail_msg("%s", addresses[i]);
}

TEST(what_is_not_known_is_private)
{
	struct sockaddr_storage address;
	socklen_t length = parse("8.8.8.8", 80, &address);

	assert_true(http_is_private((struct sockaddr *)&address, length - 1));
	address.ss_family = AF_UNIX;
	assert_true(http_is_private((struct sockaddr *)&address, length));
	length = parse("2606:4700::1111", 80, &address);
	assert_true(http_is_private((struct sockaddr *)&address, length - 1));
}

TEST(a_peer_is_a_host_and_a_port)
{
	static const struct {
		const char *a, *b;
		unsigned port;
		bool same;
	} rows[] = {{"127.0.0.1", "127.0.0.1", 80, true},
		{"127.0.0.1", "127.0.0.1", 81, false},
		{"127.0.0.1", "127.0.0.2", 80, false},
		{"127.0.0.1", "::ffff:127.0.0.1", 80, false},
		{"::1", "::1", 80, true}, {"::1", "::1", 81, false},
		{"::1", "::2", 80, false}};
	struct sockaddr_storage a, b = {.ss_family = AF_UNSPEC};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		parse(rows[i].a, 80, &a);
		/* Nothing was connected to yet. */
		assert_false(http_is_same_peer(
			(struct sockaddr *)&b, (struct sockaddr *)&a));
		parse(rows[i].b, rows[i].port, &b);
		assert_int_equal(http_is_same_peer((struct sockaddr *)&a,
					 (struct sockaddr *)&b),
			rows[i].same);
		b.ss_family = AF_UNSPEC;
	}
}
