/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the files of the profiles of AWS, and as the name of an object.
 * The first byte chooses the file and the profile. What is accepted has a
 * region without other characters, and a whole pair of keys or none.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "store/address.h"
#include "store/http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns a file without a name, and its name for open(). */
static int
make_file(char *path, size_t size)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

static void
fill(int fd, const uint8_t *data, size_t size)
{
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
}

static void
check(const struct http_target *target)
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
parse(const char *address)
{
	struct http_target target = {0};
	struct image_error err;

	if (http_s3_parse(&target, address, "name", &err) == 0)
		check(&target);
	else if (!err.text[0])
		abort();
	http_target_free(&target);
	image_s3_is_plain();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
	parse(n ? address : "s3://bucket/key");
	return 0;
}
