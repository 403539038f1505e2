/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a web server's answer. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include "store/http/answer.h"
#include "store/http/http.h"
#include "support.h"

/* Take lines, each to its end, behind a status line. */
static struct http_answer
answer_of(const char *lines)
{
	struct http_answer answer = {.length = 1};

	http_answer_line(&answer, "HTTP/1.1 206 Partial Content\r\n", 30);
	for (size_t n; *lines; lines += n) {
		n = strcspn(lines, "\n");
		n += lines[n] == '\n';
		http_answer_line(&answer, lines, n);
	}
	return answer;
}

/* Expect all that the lines say: what is not there has no word. */
static void
expect(const char *lines, const char *expected)
{
	struct http_answer a = answer_of(lines);
	char text[HTTP_ETAG + 500], range[64] = "", total[32] = "*",
				    length[64] = "";

	if (a.total != IMAGE_SIZE_UNKNOWN)
		snprintf(total, sizeof(total), "%" PRIu64, a.total);
	if (a.bad_range)
		strcpy(range, " bad range");
	else if (a.has_range && a.first > a.last)
		snprintf(range, sizeof(range), " range */%s", total);
	else if (a.has_range)
		snprintf(range, sizeof(range),
			" range %" PRIu64 "-%" PRIu64 "/%s", a.first, a.last,
			total);
	if (a.bad_length)
		strcpy(length, " bad length");
	else if (a.length != IMAGE_SIZE_UNKNOWN)
		snprintf(length, sizeof(length), " length %" PRIu64, a.length);
	snprintf(text, sizeof(text), "%u%s%s%s%s%s%s%s%s%s%s", a.status, range,
		length, *a.etag ? " etag " : "", a.etag,
		*a.encoding ? " encoding " : "", a.encoding,
		*a.transfer ? " transfer " : "", a.transfer,
		a.chunked ? " chunked" : "", a.complete ? " complete" : "");
	assert_string_equal(text, expected);
}

/* Expect the same of a field with each of these values. */
static void
expect_each(const char *field, const char *const *values, const char *expected)
{
	char line[200];

	for (; *values; values++) {
		snprintf(line, sizeof(line), "%s: %s\r\n", field, *values);
		expect(line, expected);
	}
}

TEST(a_status_line_begins_another_answer)
{
	expect("ETag: \"a\"\r\n", "206 etag \"a\"");
	expect("ETag: \"a\"\r\n\r\n", "206 etag \"a\" complete");
	expect("ETag: \"a\"\r\n\r\nHTTP/2 503\r\n", "503");
}

TEST(a_valid_range_is_taken)
{
	expect("content-RANGE: \t bytes 5-9/10  \r\n", "206 range 5-9/10");
	expect("Content-Range: bytes 0-0/*", "206 range 0-0/*");
	expect("Content-Range: bytes */0", "206 range */0");
}

TEST(other_ranges_are_refused)
{
	static const char *const values[] = {"", "bytes", "bytes ", "bytes 1",
		"bytes 1-", "bytes 1-2", "bytes 1-2/", "bytes 2-1/9",
		"bytes 1-9/9", "bytes -1/9", "bytes 1-2/9x", "bytes 1 -2/9",
		"bytes 1-2 /9", "bytes 0x1-2/9", "bits 1-2/9", "bytes=1-2/9",
		"bytes 1-2/9223372036854775807",
		"bytes 0-18446744073709551616/18446744073709551617",
		"bytes 1-2/*9", "bytes **/9", "bytes *-2/9",
		"bytes 1-2/9, bytes 3-4/9",
		/* a second field */
		"bytes 1-2/9\nContent-Range: bytes 1-2/9", NULL};

	expect_each("Content-Range", values, "206 bad range");
}

TEST(a_weak_or_long_etag_counts_as_none)
{
	static const char *const none[] = {"W/\"a\"", "\"", "a", NULL};
	char line[HTTP_ETAG + 20];

	expect_each("ETag", none, "206");
	expect("ETag: \"\"", "206 etag \"\"");
	snprintf(line, sizeof(line), "ETag: \"%0*d\"", HTTP_ETAG - 3, 7);
	assert_int_equal(strlen(answer_of(line).etag), HTTP_ETAG - 1);
	snprintf(line, sizeof(line), "ETag: \"%0*d\"", HTTP_ETAG - 2, 7);
	expect(line, "206");
}

TEST(an_encoding_is_never_overlooked)
{
	char line[200];

	expect("Content-Encoding: IDENTITY", "206");
	expect("Content-Encoding: gzip", "206 encoding gzip");
	expect("Content-Encoding: identityx", "206 encoding identityx");
	snprintf(line, sizeof(line), "Content-Encoding: %0150d", 1);
	expect(line, "206 encoding unknown");
}

TEST(a_length_is_one_number)
{
	static const char *const bad[] = {"", "-1", "+1", "1 2", "17x", "0x10",
		"17, 18", "17, 17, 9", "18446744073709551616, 1",
		"17\nContent-Length: 18",
		"17\nContent-Length: 18\nContent-Length: 18", NULL};
	static const char *const same[] = {
		"17", "17 , 17", "17 , 17\ncontent-length: 17", NULL};

	expect_each("Content-Length", bad, "206 bad length");
	expect_each("Content-Length", same, "206 length 17");
}

TEST(a_length_that_no_file_has_counts_as_none)
{
	static const char *const large[] = {"9223372036854775807",
		"18446744073709551615", "18446744073709551616",
		"99999999999999999999999999", NULL};

	expect_each("Content-Length", large, "206");
}

TEST(with_chunks_the_length_is_not_known)
{
	static const char *const values[] = {"Chunked\nContent-Length: 512\n",
		/* a trailer */
		"Chunked\nContent-Length: 512\n\nContent-Length: 512", NULL};

	expect_each("Transfer-Encoding", values, "206 chunked complete");
	expect("Content-Length: 512\nTransfer-Encoding: Chunked\n\r\n"
	       "Content-Length: 512",
		"206 chunked complete");
}

TEST(a_transfer_is_never_encoded_unseen)
{
	static const char *const gzip[] = {
		"gzip, chunked", "chunked,gzip", NULL};
	static const char *const none[] = {"identity", "", NULL};

	expect_each("Transfer-Encoding", gzip, "206 transfer gzip chunked");
	expect_each("Transfer-Encoding", none, "206");
	expect("Transfer-Encoding: x-gzip", "206 transfer x-gzip");
	expect("Transfer-Encoding: chunkedx", "206 transfer chunkedx");
	expect("Transfer-Encoding: chunkedidentity",
		"206 transfer chunkedidentity");
	expect("Transfer-Encoding: identity, deflate", "206 transfer deflate");
}

TEST(a_folded_line_is_no_field)
{
	expect("ETag: \"a\"\r\n Content-Length: 512\r\n"
	       "\tContent-Length: 512\r\n ETag: \"b\"\r\n"
	       " Content-Encoding: identity\r\n HTTP/1.1 200 OK\r\n",
		"206 etag \"a\"");
	expect("ETag: \"a\"\r\n ETag: \"b\"\r\n\r\n",
		"206 etag \"a\" complete");
}

TEST(the_date_counts_without_a_strong_etag)
{
	struct http_answer a = answer_of("Last-Modified: Mon");
	struct http_answer b = answer_of("Last-Modified: Tue");

	assert_null(http_answer_differs(&a, &a));
	assert_string_equal(http_answer_differs(&a, &b), "its date");
	a = answer_of("Last-Modified: Mon\nETag: \"x\"");
	assert_string_equal(http_answer_differs(&a, &b), "its ETag");
	b = answer_of("Last-Modified: Tue\nETag: \"x\"");
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
