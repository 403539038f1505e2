/* SPDX-License-Identifier: BSD-3-Clause */
/* The digest that an image has to have: found in a list, and compared. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "hash/hash.h"
#include "store/address.h"
#include "blocks/blocks.h"

/* A list of a hundred thousand files. */
#define LIST_MAX ((size_t)16 << 20)

/* Opens a file of any kind, such as the pipe of a gpg. */
static int
open_file(const char *path, struct image_stream **out, struct image_error *err)
{
	int fd;

	do
		fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return image_fail(err, path, -errno, "cannot be opened: %s",
			strerror(errno));
	return image_stream_of_fd(fd, true, path, out, err);
}

static int
open_list(const char *list, const struct image_network *network,
	struct image_stream **out, struct image_error *err)
{
	struct image_store_how how = {.network = *network};
	bool https = strncasecmp(list, "https:", 6) == 0;
	struct image_store *store;

	if (!https && !image_is_address(list) && !strstr(list, "://"))
		return open_file(list, out, err);
	if (!https)
		return image_fail(err, list, -EPROTONOSUPPORT,
			"is not safe: a list of digests comes from a file or "
			"by https");
	/* The headers are for the host of the image. */
	how.network.http_header_file = NULL;
	int rc = image_store_open_address(list, &how, &store, err);
	return rc < 0 ? rc : image_stream_of_store(store, out, err);
}

static int
read_all(struct image_stream *stream, char *text, size_t *length,
	struct image_error *err)
{
	int rc = image_stream_read_all(stream, text, LIST_MAX, length, err);

	if (rc == 0 && *length == LIST_MAX)
		return image_fail(err, stream->name, -EFBIG,
			"is larger than 16 MiB: not a list of digests");
	return rc;
}

/* The last part of a path or of an address, to be freed. */
static char *
name_of(const char *address)
{
	bool is_address = image_is_address(address);
	size_t length = is_address ? strcspn(address, "?#") : strlen(address);
	const char *slash = memrchr(address, '/', length);
	const char *from = slash ? slash + 1 : address;

	/* The host and the user are not part of a name. */
	const char *host = is_address ? strstr(address, "://") : NULL;
	if (is_address && (!slash || (host && slash < host + 3)))
		from = address + length;
	char *name = strndup(from, length - (size_t)(from - address));

	if (name && is_address)
		image_percent_decode(name, name);
	return name;
}

static int
find(const char *list, const struct image_network *network, const char *name,
	struct image_expect *expect, struct image_error *err)
{
	struct image_stream *stream = NULL;
	char *text = malloc(LIST_MAX);
	size_t length;

	if (!text)
		return image_no_memory(err);
	int rc = open_list(list, network, &stream, err);
	if (rc == 0 && stream) {
		rc = read_all(stream, text, &length, err);
		if (rc == 0)
			rc = image_sums_find(
				stream->name, text, length, name, expect, err);
		image_stream_close(stream);
	}
	free(text);
	return rc;
}

int
image_expect_in_list(struct image_expect *expect, const char *list,
	const struct image_network *network, const char *address,
	struct image_error *err)
{
	char *name = name_of(address);
	int rc;

	if (!name)
		return image_no_memory(err);
	if (!*name || strcmp(address, "-") == 0)
		rc = image_fail(err, address, -EINVAL,
			"has no file name that a list of digests could have");
	else
		rc = find(list, network, name, expect, err);
	free(name);
	return rc;
}

const char *
image_hash_text(const unsigned char *bytes, size_t length, char *text)
{
	for (size_t i = 0; i < length; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

int
image_expect_check(const struct image_expect *expect,
	const unsigned char *digest, const char *name, const char *what,
	struct image_error *err)
{
	size_t length = expect->algorithm->length;
	char text[2][2 * IMAGE_DIGEST_MAX + 1];

	if (memcmp(digest, expect->bytes, length) == 0)
		return 0;
	int rc = image_fail(err, name, -EINVAL,
		"%s is refused: its %s is %s, not %s", what,
		expect->algorithm->name,
		image_hash_text(digest, length, text[0]),
		image_hash_text(expect->bytes, length, text[1]));
	err->refused = true;
	return rc;
}

/* The digest of the bytes of a sequence, which has to be that expected. */

struct expect_tap {
	struct image_tap tap;
	struct image_expect expect;
	struct image_hash *hash;
	char *name;
};

static int
verify(struct expect_tap *t, struct image_error *err)
{
	unsigned char digest[IMAGE_DIGEST_MAX];
	int rc = image_hash_end(t->hash, digest, err);

	return rc == 0 ? image_expect_check(
				 &t->expect, digest, t->name, "the file", err)
		       : rc;
}

static int
expect_see(struct image_tap *tap, const void *bytes, size_t length,
	struct image_error *err)
{
	struct expect_tap *t = (struct expect_tap *)tap;

	return length ? image_hash_add(t->hash, bytes, length, err)
		      : verify(t, err);
}

static void
expect_close(struct image_tap *tap)
{
	struct expect_tap *t = (struct expect_tap *)tap;

	image_hash_destroy(t->hash);
	free(t->name);
	free(t);
}

int
image_tap_expect(const struct image_expect *expect, const char *name,
	struct image_tap **out, struct image_error *err)
{
	struct expect_tap *t = calloc(1, sizeof(*t));
	int rc;

	*out = NULL;
	if (!t)
		return image_no_memory(err);
	t->tap.see = expect_see;
	t->tap.close = expect_close;
	t->expect = *expect;
	t->name = strdup(name);
	rc = t->name ? image_hash_create(&t->hash, expect->algorithm, err)
		     : image_no_memory(err);
	if (rc < 0) {
		expect_close(&t->tap);
		return rc;
	}
	*out = &t->tap;
	return 0;
}

int
image_blocks_expect(struct image_store **store,
	const struct image_expect *expect, uint64_t memory,
	struct image_error *err)
{
	struct image_tap *tap;

	int rc = image_tap_expect(expect, (*store)->name, &tap, err);
	if (rc == 0)
		return image_blocks_once(store, memory, tap, err);
	image_store_close(*store);
	return rc;
}
