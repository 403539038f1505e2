/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a web server's answer. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include "store/http/answer.h"
#include "store/http/http.h"
#include "support.h"

static void
take(struct http_answer *answer, const char *line)
{
	http_answer_line(answer, line, strlen(line));
}

static struct http_answer
answer_of(const char *line)
{
	struct http_answer answer = {.length = 1};

	take(&answer, "HTTP/1.1 206 Partial Content\r\n");
	take(&answer, line);
	return answer;
}

TEST(a_status_line_begins_another_answer)
{
	struct http_answer answer = answer_of("ETag: \"a\"\r\n");

	assert_int_equal(answer.status, 206);
	assert_string_equal(answer.etag, "\"a\"");
	take(&answer, "\r\n");
	assert_true(answer.complete);
	take(&answer, "HTTP/2 503\r\n");
	assert_int_equal(answer.status, 503);
	assert_string_equal(answer.etag, "");
	assert_false(answer.complete);
	assert_true(answer.length == IMAGE_SIZE_UNKNOWN);
}

TEST(a_valid_range_is_taken)
{
	struct http_answer answer =
		answer_of("content-RANGE: \t bytes 5-9/10  \r\n");

	assert_true(answer.has_range && !answer.bad_range);
	assert_int_equal(answer.first, 5);
	assert_int_equal(answer.last, 9);
	assert_int_equal(answer.total, 10);
	answer = answer_of("Content-Range: bytes 0-0/*");
	assert_true(answer.has_range && !answer.bad_range);
	assert_true(answer.total == IMAGE_SIZE_UNKNOWN);
	answer = answer_of("Content-Range: bytes */0");
	assert_true(answer.has_range && !answer.bad_range);
	assert_true(answer.first > answer.last);
	assert_int_equal(answer.total, 0);
}

TEST(other_ranges_are_refused)
{
	static const char *const lines[] = {"", "bytes", "bytes ", "bytes 1",
		"bytes 1-", "bytes 1-2", "bytes 1-2/", "bytes 2-1/9",
		"bytes 1-9/9", "bytes -1/9", "bytes 1-2/9x", "bytes 1 -2/9",
		"bytes 1-2 /9", "bytes 0x1-2/9", "bits 1-2/9", "bytes=1-2/9",
		"bytes 1-2/9223372036854775807",
		"bytes 0-18446744073709551616/18446744073709551617",
		"bytes 1-2/*9", "bytes **/9", "bytes *-2/9",
		"bytes 1-2/9, bytes 3-4/9"};
	char line[100];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		snprintf(line, sizeof(line), "Content-Range: %s\r\n", lines[i]);
		struct http_answer answer = answer_of(line);
		assert_true(answer.has_range && answer.bad_range);
	}
}

TEST(a_second_range_makes_both_bad)
{
	struct http_answer answer = answer_of("Content-Range: bytes 1-2/9");

	take(&answer, "Content-Range: bytes 1-2/9");
	assert_true(answer.bad_range);
}

TEST(a_weak_or_long_etag_counts_as_none)
{
	char line[HTTP_ETAG + 20];

	assert_string_equal(answer_of("ETag: W/\"a\"").etag, "");
	assert_string_equal(answer_of("ETag: \"").etag, "");
	assert_string_equal(answer_of("ETag: a").etag, "");
	assert_string_equal(answer_of("ETag: \"\"").etag, "\"\"");
	memset(line, 'x', sizeof(line));
	memcpy(line, "ETag: \"", 7);
	line[6 + HTTP_ETAG - 2] = '"';
	line[6 + HTTP_ETAG - 1] = '\0';
	assert_int_equal(strlen(answer_of(line).etag), HTTP_ETAG - 1);
	line[6 + HTTP_ETAG - 2] = 'x';
	line[6 + HTTP_ETAG - 1] = '"';
	line[6 + HTTP_ETAG] = '\0';
	assert_string_equal(answer_of(line).etag, "");
}

TEST(an_encoding_is_never_overlooked)
{
	char line[200];

	assert_string_equal(
		answer_of("Content-Encoding: IDENTITY").encoding, "");
	assert_string_equal(
		answer_of("Content-Encoding: gzip").encoding, "gzip");
	assert_string_equal(
		answer_of("Content-Encoding: identityx").encoding, "identityx");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	memcpy(line, "Content-Encoding: ", 18);
	assert_string_equal(answer_of(line).encoding, "unknown");
}

TEST(a_length_is_one_number)
{
	static const char *const bad[] = {"", "-1", "+1", "1 2", "17x", "0x10",
		"17, 18", "17, 17, 9", "18446744073709551616, 1"};
	char line[100];

	assert_int_equal(answer_of("Content-Length: 17").length, 17);
	assert_false(answer_of("Content-Length: 17").bad_length);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(line, sizeof(line), "Content-Length: %s\r\n", bad[i]);
		assert_true(answer_of(line).bad_length);
	}
}

TEST(a_length_may_come_twice_if_it_is_the_same)
{
	struct http_answer answer = answer_of("Content-Length: 17 , 17");

	take(&answer, "content-length: 17\r\n");
	assert_false(answer.bad_length);
	assert_int_equal(answer.length, 17);
	take(&answer, "Content-Length: 18");
	assert_true(answer.bad_length);
	take(&answer, "Content-Length: 18");
	assert_true(answer.bad_length);
}

TEST(a_length_that_no_file_has_counts_as_none)
{
	static const char *const large[] = {"9223372036854775807",
		"18446744073709551615", "18446744073709551616",
		"99999999999999999999999999"};
	char line[100];

	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
		snprintf(line, sizeof(line), "Content-Length: %s", large[i]);
		struct http_answer answer = answer_of(line);
		assert_false(answer.bad_length);
		assert_true(answer.length == IMAGE_SIZE_UNKNOWN);
	}
}

TEST(with_chunks_the_length_is_not_known)
{
	static const char *const fields[] = {
		"Content-Length: 512\r\n", "Transfer-Encoding: Chunked\r\n"};

	for (size_t i = 0; i < 2; i++) {
		struct http_answer answer = answer_of(fields[i]);
		take(&answer, fields[1 - i]);
		take(&answer, "\r\n");
		assert_true(answer.chunked && !answer.transfer[0]);
		assert_true(answer.length == IMAGE_SIZE_UNKNOWN);
		/* a trailer */
		take(&answer, "Content-Length: 512\r\n");
		assert_true(answer.length == IMAGE_SIZE_UNKNOWN);
	}
}

TEST(a_transfer_is_never_encoded_unseen)
{
	static const struct {
		const char *line;
		const char *transfer;
		bool chunked;
	} rows[] = {{"Transfer-Encoding: gzip, chunked", "gzip", true},
		{"Transfer-Encoding: chunked,gzip", "gzip", true},
		{"Transfer-Encoding: x-gzip", "x-gzip", false},
		{"Transfer-Encoding: chunkedx", "chunkedx", false},
		{"Transfer-Encoding: identity", "", false},
		{"Transfer-Encoding: chunkedidentity", "chunkedidentity",
			false},
		{"Transfer-Encoding: identity, deflate", "deflate", false},
		{"Transfer-Encoding:", "", false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct http_answer answer = answer_of(rows[i].line);
		assert_string_equal(answer.transfer, rows[i].transfer);
		assert_int_equal(answer.chunked, rows[i].chunked);
	}
}

TEST(a_folded_line_is_no_field)
{
	static const char *const lines[] = {" Content-Length: 512\r\n",
		"\tContent-Length: 512\r\n", " ETag: \"b\"\r\n",
		" Content-Encoding: identity\r\n", " HTTP/1.1 200 OK\r\n"};
	struct http_answer answer = answer_of("ETag: \"a\"\r\n");

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		take(&answer, lines[i]);
	assert_int_equal(answer.status, 206);
	assert_false(answer.has_length);
	assert_string_equal(answer.etag, "\"a\"");
	take(&answer, "\r\n");
	assert_true(answer.complete);
}

TEST(the_date_counts_without_a_strong_etag)
{
	struct http_answer a = answer_of("Last-Modified: Mon");
	struct http_answer b = answer_of("Last-Modified: Tue");

	assert_null(http_answer_differs(&a, &a));
	assert_string_equal(http_answer_differs(&a, &b), "its date");
	take(&a, "ETag: \"x\"");
	assert_string_equal(http_answer_differs(&a, &b), "its ETag");
	take(&b, "ETag: \"x\"");
	assert_null(http_answer_differs(&a, &b));
	b.total = 1;
	assert_string_equal(http_answer_differs(&a, &b), "its length");
}

/* Which addresses of servers count as private. */

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
