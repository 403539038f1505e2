/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of users and servers, each parsed by the functions that trust none. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hash/hash.h"
#include "store/address.h"
#include "store/http/answer.h"
#include "store/http/http.h"
#include "store/oci/json.h"
#include "store/oci/oci.h"

/* ./dev fuzz links each of them as LLVMFuzzerTestOneInput(). */
#define TARGET(name)                                                           \
	int fuzz_##name(const uint8_t *data, size_t size);                     \
	int fuzz_##name(const uint8_t *data, size_t size)

static void
check(bool good)
{
	if (!good)
		abort();
}

/* Returns a file without a name, and its name for open(). */
static int
make_file(char *path, size_t size)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	check(fd >= 0);
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

static void
fill(int fd, const uint8_t *data, size_t size)
{
	check(ftruncate(fd, 0) == 0 &&
		pwrite(fd, data, size, 0) == (ssize_t)size);
}

static void
answer_check(const struct http_answer *answer)
{
	if (strnlen(answer->etag, HTTP_ETAG) == HTTP_ETAG ||
		strnlen(answer->modified, HTTP_WORD) == HTTP_WORD ||
		strnlen(answer->encoding, HTTP_WORD) == HTTP_WORD ||
		strnlen(answer->region, HTTP_WORD) == HTTP_WORD ||
		strnlen(answer->transfer, HTTP_WORD) == HTTP_WORD ||
		strnlen(answer->challenges, HTTP_CHALLENGES) ==
			HTTP_CHALLENGES ||
		answer->status > 999 || answer->length > IMAGE_SIZE_UNKNOWN)
		abort();
	if (answer->has_range && !answer->bad_range &&
		answer->first <= answer->last && answer->last >= answer->total)
		abort();
	if (http_answer_differs(answer, answer))
		abort();
	if (answer->complete && answer->chunked &&
		answer->length != IMAGE_SIZE_UNKNOWN)
		abort();
}

/*
 * Any bytes as the lines of an answer's header. What is a valid range lies in
 * its file, and texts end.
 */
TARGET(answer)
{
	struct http_answer answer = {.length = IMAGE_SIZE_UNKNOWN};
	const char *at = (const char *)data;
	const char *end = at + size;

	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const char *next = line ? line + 1 : end;
		/* a buffer of its own, so that a read past it is found */
		char *copy = malloc((size_t)(next - at));
		if (!copy)
			abort();
		memcpy(copy, at, (size_t)(next - at));
		http_answer_line(&answer, copy, (size_t)(next - at));
		free(copy);
		answer_check(&answer);
		at = next;
	}
	return 0;
}

static bool
has_line(const uint8_t *data, size_t size, const char *field, size_t length)
{
	const uint8_t *end = data + size, *next;

	for (const uint8_t *at = data; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			next = end;
		size_t n = (size_t)(next - at);
		n -= n && at[n - 1] == '\r';
		if (n == length && memcmp(at, field, n) == 0)
			return true;
	}
	return false;
}

/* Of RFC 9110: each name is a token. */
static void
fields_check(const char *field, const uint8_t *data, size_t size)
{
	static const char *const ours[] = {"Range:", "If-Range:", "Host:",
		"Accept-Encoding:", "Content-Length:", "Transfer-Encoding:"};
	size_t length = strlen(field), name = strcspn(field, ":");

	if (name == 0 || name == length ||
		strcspn(field, " \t\"(),/;<=>?@[\\]{}") < name)
		abort();
	for (size_t i = 0; i < length; i++)
		if ((iscntrl((unsigned char)field[i]) && field[i] != '\t') ||
			(i < name && (unsigned char)field[i] >= 127))
			abort();
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (strncasecmp(field, ours[i], strlen(ours[i])) == 0)
			abort();
	if (!has_line(data, size, field, length))
		abort();
}

/*
 * Any bytes as the file of --http-header. What is accepted is a list of header
 * fields that are whole lines of the file, none with a control character, and
 * none that Hone sets itself.
 */
TARGET(fields)
{
	static int fd = -1;
	static char path[64];
	struct image_store_how how = {.network.http_header_file = path};
	struct http_target target = {0};
	struct image_error err = {.text = ""};

	if (fd < 0) {
		fd = make_file(path, sizeof(path));
		/* libcurl, which makes the list of fields */
		check(image_http_library());
	}
	fill(fd, data, size);
	int rc = http_target_parse(&target, "http://h/", "name", &how, &err);
	if (rc < 0 && !err.text[0])
		abort();
	/* The first one is Hone's. */
	if (rc == 0)
		for (const struct curl_slist *at = target.headers->next; at;
			at = at->next)
			fields_check(at->data, data, size);
	http_target_free(&target);
	return 0;
}

static void
parse_manifest(const char *text, size_t size, const struct oci_wanted *wanted)
{
	struct oci_manifest manifest;
	struct image_error err;
	struct image_expect expect;

	int rc =
		oci_manifest_parse(text, size, "name", wanted, &manifest, &err);
	check(rc < 0 || (manifest.count >= 1 && manifest.count <= OCI_LAYERS));
	for (size_t i = 0; rc == 0 && i < manifest.count; i++) {
		const struct oci_file *file = &manifest.files[i];
		check(strnlen(file->name, OCI_TEXT) < OCI_TEXT);
		check(file->name[0] && file->size < IMAGE_SIZE_UNKNOWN);
		check(oci_digest_parse(file->digest, &expect));
		check(manifest.index == !file->layer);
		check(file->layer != IMAGE_LAYER_DISK || manifest.count == 1);
	}
	oci_manifest_free(&manifest);
}

/* Every value, by the functions that trust the text. */
static void
oci_walk(struct image_json value, int depth)
{
	struct image_json item;
	char text[16];
	uint64_t number;

	image_json_text(value, text, sizeof(text));
	image_json_number(value, &number);
	if (image_json_get(value, "a", &item))
		oci_walk(item, depth);
	for (int n = 0; n < 4 && image_json_next(&value, &item); n++)
		if (depth < 8)
			oci_walk(item, depth + 1);
}

/*
 * Any bytes as a manifest, as the challenges of a server, and as an address.
 * What is accepted is in its limits, and a text is read as far as it goes.
 */
TARGET(oci)
{
	static const struct oci_wanted wanted[] = {{0},
		{.platform = "linux/arm/v7"}, {.annotation = "a=b"},
		{.member = "a.raw"}};
	struct oci_challenge challenge;
	struct oci_address address;
	struct image_json root;

	if (size == 0)
		return 0;
	/* buffers of their own, so that a read past them is found */
	char *json = malloc(size - 1),
	     *text = strndup((const char *)data + 1, size - 1);
	check((json || size == 1) && text);
	if (size > 1)
		memcpy(json, data + 1, size - 1);
	parse_manifest(json, size - 1, &wanted[data[0] % 4]);
	if (image_json_parse(json, size - 1, &root))
		oci_walk(root, 0);
	free(json);
	oci_challenge_parse(text, &challenge);
	check(strnlen(challenge.realm, sizeof(challenge.realm)) <
		sizeof(challenge.realm));
	check(strnlen(challenge.service, OCI_TEXT) < OCI_TEXT);
	check(challenge.bearer || !challenge.realm[0]);
	if (!oci_address_parse(&address, text))
		check(!strpbrk(address.name, "%?#@:\\") &&
			!strstr(address.name, "/.") && address.reference[0] &&
			!strpbrk(address.host, "/%?#@\\"));
	free(text);
	return 0;
}

static void
profile_check(const struct http_target *target)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	if (!target->url || !target->region ||
		target->region[strspn(target->region, good)])
		abort();
	for (const char *p = target->url + strlen(target->url); *--p != '/';)
		if (!strchr("%-._~", *p) && !isalnum((unsigned char)*p))
			abort();
	if (!target->sigv4 != !target->user ||
		!target->user != !target->password)
		abort();
	if (target->user && (!target->user[0] || !target->password[0]))
		abort();
}

static void
profile_parse(const char *address)
{
	struct http_target target = {0};
	struct image_error err;

	if (http_s3_parse(&target, address, "name", &err) == 0)
		profile_check(&target);
	else if (!err.text[0])
		abort();
	http_target_free(&target);
	image_s3_is_plain();
}

/*
 * Any bytes as the files of the profiles of AWS, and as the name of an object.
 * The first byte chooses the file and the profile. What is accepted has a
 * region without other characters, and a whole pair of keys or none.
 */
TARGET(profile)
{
	static int fds[2] = {-1, -1};
	static const char *const names[] = {
		"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"};
	char address[64] = "s3://bucket/";
	size_t length = strlen(address);

	if (fds[0] < 0) {
		/* libcurl, which makes the list of fields */
		if (!image_http_library())
			abort();
		for (int i = 0; i < 2; i++) {
			char path[64];
			fds[i] = make_file(path, sizeof(path));
			setenv(names[i], path, 1);
		}
	}
	if (size < 1)
		return 0;
	if (data[0] & 2)
		setenv("AWS_PROFILE", "mine", 1);
	else
		unsetenv("AWS_PROFILE");
	fill(fds[data[0] & 1], data + 1, size - 1);
	fill(fds[!(data[0] & 1)], data + 1, data[0] & 4 ? size - 1 : 0);
	/* the last bytes, up to a NUL, as the key */
	size_t n = size - 1 < 32 ? size - 1 : 32;
	memcpy(address + length, data + size - n, n);
	address[length + n] = '\0';
	profile_parse(n ? address : "s3://bucket/key");
	return 0;
}

#define NAME "disk.img"
#define BEFORE "d41d8cd98f00b204e9800998ecf8427e  x\n"
#define BEGIN "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n"
#define END "\n-----BEGIN PGP SIGNATURE-----\n"

static bool
stands_in(const char *text, size_t size, const struct image_expect *expect)
{
	char hex[2 * IMAGE_DIGEST_MAX + 1];
	size_t length = expect->algorithm->length;

	for (size_t i = 0; i < length; i++)
		snprintf(hex + 2 * i, 3, "%02x", expect->bytes[i]);
	for (size_t i = 0; i + 2 * length <= size; i++)
		if (strncasecmp(text + i, hex, 2 * length) == 0)
			return true;
	return false;
}

/* Finds the digest in a copy, since the text is changed. */
static int
sums_find(const uint8_t *data, size_t size, const char *before,
	const char *after, struct image_expect *expect)
{
	size_t head = strlen(before), tail = strlen(after);
	struct image_error err;
	char *text = malloc(head + size + tail + 1);

	if (!text)
		abort();
	memcpy(text, before, head);
	memcpy(text + head, data, size);
	memcpy(text + head + size, after, tail);
	int rc = image_sums_find(
		"list", text, head + size + tail, NAME, expect, &err);
	free(text);
	return rc;
}

/*
 * Any bytes as a list of digests. A digest that is found stands in the list,
 * and a list in a signed message is found again without what surrounds it.
 */
TARGET(sums)
{
	struct image_expect found, again;

	int rc = sums_find(data, size, "", "", &found);
	if (rc == 0 && !stands_in((const char *)data, size, &found))
		abort();
	if (memmem(data, size, "PGP", 3) || memmem(data, size, "- ", 2))
		return 0;
	if (sums_find(data, size, BEFORE BEGIN, END, &again) != rc)
		abort();
	if (rc == 0 && (again.algorithm != found.algorithm ||
			       memcmp(again.bytes, found.bytes,
				       found.algorithm->length) != 0))
		abort();
	return 0;
}
