/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the file of --http-header. What is accepted is a list of header
 * fields that are whole lines of the file, none with a control character, and
 * none that Hone sets itself.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>
#include "store/http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
check(const char *field, const uint8_t *data, size_t size)
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct image_store_how how = {.network.http_header_file = path};
	struct http_target target = {0};
	struct image_error err = {.text = ""};

	if (fd < 0) {
		fd = memfd_create("fields", MFD_CLOEXEC);
		/* libcurl, which makes the list of fields */
		if (fd < 0 || !image_http_library())
			abort();
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	int rc = http_target_parse(&target, "http://h/", "name", &how, &err);
	if (rc < 0 && !err.text[0])
		abort();
	/* The first one is Hone's. */
	if (rc == 0)
		for (const struct curl_slist *at = target.headers->next; at;
			at = at->next)
			check(at->data, data, size);
	http_target_free(&target);
	return 0;
}
