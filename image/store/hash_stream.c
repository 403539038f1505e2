/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hash/hash.h"
#include "store/stream.h"

struct hash_stream {
	struct image_stream stream;
	struct image_stream *from;
	struct image_expect expect;
	struct image_hash *hash;
	bool ended;
};

static const char *
hex(const unsigned char *bytes, size_t length, char *text)
{
	for (size_t i = 0; i < length; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

static int
verify(struct hash_stream *s, struct image_error *err)
{
	const struct image_algorithm *algorithm = s->expect.algorithm;
	char text[2][2 * IMAGE_DIGEST_MAX + 1];
	unsigned char digest[IMAGE_DIGEST_MAX];

	int rc = image_hash_end(s->hash, digest, err);
	if (rc < 0)
		return rc;
	s->ended = true;
	if (memcmp(digest, s->expect.bytes, algorithm->length) == 0)
		return 0;
	rc = image_fail(err, s->stream.name, -EINVAL,
		"the file is refused: its %s is %s, not %s", algorithm->name,
		hex(digest, algorithm->length, text[0]),
		hex(s->expect.bytes, algorithm->length, text[1]));
	err->refused = true;
	return rc;
}

static int
hash_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct hash_stream *s = (struct hash_stream *)stream;

	int rc = image_stream_read(s->from, buf, length, got, err);
	if (rc == 0 && *got)
		rc = image_hash_add(s->hash, buf, *got, err);
	else if (rc == 0 && !s->ended)
		rc = verify(s, err);
	return rc;
}

static void
hash_close(struct image_stream *stream)
{
	struct hash_stream *s = (struct hash_stream *)stream;

	image_stream_close(s->from);
	image_hash_destroy(s->hash);
	free(stream->name);
	free(s);
}

static const struct image_stream_ops hash_ops = {hash_read, hash_close};

int
image_stream_expect(struct image_stream *from,
	const struct image_expect *expect, struct image_stream **out,
	struct image_error *err)
{
	struct hash_stream *s = calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s) {
		image_stream_close(from);
		return image_no_memory(err);
	}
	s->stream.ops = &hash_ops;
	s->stream.size = from->size;
	s->stream.store = from->store;
	s->from = from;
	s->expect = *expect;
	s->stream.name = strdup(from->name);
	rc = s->stream.name
		     ? image_hash_create(&s->hash, expect->algorithm, err)
		     : image_no_memory(err);
	if (rc == 0)
		rc = image_hash_begin(s->hash, err);
	if (rc < 0) {
		hash_close(&s->stream);
		return rc;
	}
	*out = &s->stream;
	return 0;
}
