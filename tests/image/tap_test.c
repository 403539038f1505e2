/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequences whose bytes have to have a digest. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "blocks/blocks.h"
#include "hash/hash.h"
#include "support.h"

/* Bytes in pieces; may fail instead of ending. */
struct given {
	struct image_stream stream;
	size_t left;
	size_t piece;
	bool fails;
	bool closed;
};

static int
given_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct given *given = (struct given *)stream;

	*got = given->left < given->piece ? given->left : given->piece;
	if (*got > length)
		*got = length;
	if (!*got && given->fails)
		return image_fail(err, "given", -ECONNRESET, "is lost");
	memset(buf, 'x', *got);
	given->left -= *got;
	return 0;
}

static void
given_close(struct image_stream *stream)
{
	((struct given *)stream)->closed = true;
}

static const struct image_stream_ops given_ops = {
	.read = given_read, .close = given_close};

static char name[] = "given";

static struct given
give(size_t length, size_t piece)
{
	return (struct given){
		.stream = {.ops = &given_ops, .name = name, .size = length},
		.left = length,
		.piece = piece};
}

static struct image_expect
digest_of(size_t index, size_t length)
{
	struct image_expect expect = {.algorithm = image_algorithm(index)};
	struct image_error err;
	struct image_hash *hash;

	assert_int_equal(image_hash_create(&hash, expect.algorithm, &err), 0);
	assert_int_equal(image_hash_begin(hash, &err), 0);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(image_hash_add(hash, "x", 1, &err), 0);
	assert_int_equal(image_hash_end(hash, expect.bytes, &err), 0);
	image_hash_destroy(hash);
	return expect;
}

/* Returns the result of the last read, after `length` bytes. */
static int
read_all(struct given *given, const struct image_expect *expect, size_t length,
	struct image_error *err)
{
	struct image_store *store;
	struct image_stream *stream;
	struct image_tap *tap;
	char buf[1];
	size_t got = 1, sum = 0;
	int rc = 0;

	assert_int_equal(image_tap_expect(expect, "given", &tap, err), 0);
	assert_int_equal(image_blocks_open(&given->stream, 0, &store, err), 0);
	assert_int_equal(image_blocks_once(&store, 0, tap, err), 0);
	assert_int_equal(image_stream_of_store(store, &stream, err), 0);
	assert_int_equal(stream->size, given->stream.size);
	while (rc == 0 && got) {
		rc = image_stream_read(stream, buf, sizeof(buf), &got, err);
		for (size_t i = 0; rc == 0 && i < got; i++)
			assert_int_equal(buf[i], 'x');
		sum += rc == 0 ? got : 0;
	}
	assert_int_equal(sum, length);
	/* the end stays the end */
	if (rc == 0)
		assert_int_equal(
			image_stream_read(stream, buf, 1, &got, err), 0);
	image_stream_close(stream);
	assert_true(given->closed);
	return rc;
}

TEST(a_stream_with_its_digest_ends_well)
{
	static const size_t lengths[] = {0, 1, 999, 1000, 4321};
	struct image_error err;

	for (size_t i = 0; i < 5; i++) {
		for (size_t algorithm = 0; algorithm < 2; algorithm++) {
			struct image_expect expect =
				digest_of(algorithm, lengths[i]);
			struct given given = give(lengths[i], 1 + i * 211);
			assert_int_equal(
				read_all(&given, &expect, lengths[i], &err), 0);
		}
	}
}

TEST(a_stream_with_another_digest_is_refused_at_its_end)
{
	struct image_expect expect = digest_of(0, 500);
	struct image_error err = {.again = true};

	for (size_t length = 499; length <= 501; length += 2) {
		struct given given = give(length, 100);
		assert_int_equal(
			read_all(&given, &expect, length, &err), -EINVAL);
		assert_true(err.refused && !err.again);
		assert_string_equal(err.file, "given");
		assert_int_equal(
			strncmp(err.text, "the file is refused: its sha256 is ",
				35),
			0);
		assert_non_null(strstr(err.text, ", not "));
	}
	/* every byte of the digest counts */
	for (size_t i = 0; i < 32; i++) {
		struct given given = give(500, 500);
		expect.bytes[i] ^= 1;
		assert_int_equal(read_all(&given, &expect, 500, &err), -EINVAL);
		expect.bytes[i] ^= 1;
	}
}

TEST(a_stream_that_fails_has_no_digest)
{
	struct image_expect expect = digest_of(0, 500);
	struct given given = give(500, 100);
	struct image_error err;

	given.fails = true;
	assert_int_equal(read_all(&given, &expect, 500, &err), -ECONNRESET);
	assert_string_equal(err.text, "is lost");
	assert_true(err.again && !err.refused);
}

/* An empty file has ended when its first bytes are looked for. */
TEST(a_stream_that_has_ended_before_its_tap_is_refused)
{
	struct image_expect expect = digest_of(0, 1);
	struct given given = give(0, 1);
	struct image_store *store;
	struct image_tap *tap;
	struct image_error err;
	uint64_t reached;

	assert_int_equal(image_blocks_open(&given.stream, 0, &store, &err), 0);
	assert_int_equal(image_store_reach(store, 0, 1, &reached, &err), 0);
	assert_int_equal(reached, 0);
	assert_int_equal(image_tap_expect(&expect, "given", &tap, &err), 0);
	assert_int_equal(image_blocks_once(&store, 0, tap, &err), 0);
	assert_int_equal(image_store_unchanged(store, &err), -EINVAL);
	assert_true(err.refused);
	image_store_close(store);
	assert_true(given.closed);
}
