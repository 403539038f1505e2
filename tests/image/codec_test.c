/* SPDX-License-Identifier: BSD-3-Clause */
/* What codec.h promises of every codec and level. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>
#include "codec_support.h"
#include "store/store.h"

/* No context and no buffer can be made when set. */
static bool out_of_memory;

STANDS_FOR(
	struct libdeflate_compressor *, libdeflate_alloc_compressor, int level)
{
	return out_of_memory ? NULL : __real_libdeflate_alloc_compressor(level);
}

STANDS_FOR(
	struct libdeflate_decompressor *, libdeflate_alloc_decompressor, void)
{
	return out_of_memory ? NULL : __real_libdeflate_alloc_decompressor();
}

STANDS_FOR(ZSTD_CCtx *, ZSTD_createCCtx, void)
{
	return out_of_memory ? NULL : __real_ZSTD_createCCtx();
}

STANDS_FOR(ZSTD_DCtx *, ZSTD_createDCtx, void)
{
	return out_of_memory ? NULL : __real_ZSTD_createDCtx();
}

STANDS_FOR(int, deflateInit2_, z_streamp stream, int level, int method,
	int window, int memory, int strategy, const char *version, int size)
{
	return out_of_memory ? Z_MEM_ERROR
			     : __real_deflateInit2_(stream, level, method,
				       window, memory, strategy, version, size);
}

STANDS_FOR(void *, calloc, size_t count, size_t size)
{
	/* zlib's state follows this allocation of ours */
	bool fail = out_of_memory && count * size > sizeof(z_stream);
	return fail ? NULL : __real_calloc(count, size);
}

STANDS_FOR(void *, aligned_alloc, size_t alignment, size_t size)
{
	return out_of_memory ? NULL : __real_aligned_alloc(alignment, size);
}

TEST(what_goes_in_comes_out_at_every_level)
{
	static const size_t lengths[] = {
		1, 4096, 65536, 511, 512, 16384, LARGEST};
	struct image_scratch scratch = {0};

	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		/* higher levels take seconds for all of them */
		size_t n = c->level < 4 ? COUNT(lengths) : 3;
		for (size_t i = 0; i < n; i++) {
			for (int kind = 0; kind < CONTENTS; kind++) {
				size_t length = lengths[i];
				codec_fill(from, length, (enum content)kind);
				size_t stored = codec_pack(c, &scratch, length);
				memset(to, 0xee, length + 1);
				MUST(image_decompress(c->id, &scratch, packed,
					     stored, to, length) == 0,
					c);
				MUST(memcmp(from, to, length) == 0, c);
				MUST(to[length] == 0xee, c);
			}
		}
	}
	image_scratch_destroy(&scratch);
}

TEST(bytes_after_the_stream_are_ignored)
{
	struct image_scratch scratch = {0};

	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		codec_fill(from, 65536, WORDS);
		size_t stored = codec_pack(c, &scratch, 65536);
		for (size_t after = 0; after < 600; after++)
			packed[stored + after] =
				(unsigned char)support_below(&codec_seed, 256);
		for (size_t after = 0; after < 600; after += 13)
			MUST(image_decompress(c->id, &scratch, packed,
				     stored + after, to, 65536) == 0,
				c);
		MUST(memcmp(from, to, 65536) == 0, c);
	}
	image_scratch_destroy(&scratch);
}

#define LENGTH ((size_t)16384)

/* Another length than that of the content is refused, as is a cut stream. */
TEST(only_exactly_the_length_is_accepted)
{
	static const size_t wrong[] = {1, 512, LENGTH - 1, LENGTH + 1, 131072};
	struct image_scratch scratch = {0};

	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		for (int kind = 0; kind < CONTENTS; kind++) {
			codec_fill(from, LENGTH, (enum content)kind);
			size_t stored = codec_pack(c, &scratch, LENGTH);
			for (size_t i = 0; i < COUNT(wrong); i++)
				MUST(image_decompress(c->id, &scratch, packed,
					     stored, to, wrong[i]) == -EINVAL,
					c);
			size_t step = stored / 50 + 1;
			for (size_t cut = 0; cut < stored; cut += step)
				MUST(image_decompress(c->id, &scratch, packed,
					     cut, to, LENGTH) == -EINVAL,
					c);
		}
	}
	image_scratch_destroy(&scratch);
}

/* What a thread did before must not show: any thread may get any cluster. */
TEST(a_used_context_gives_the_bytes_of_a_fresh_one)
{
	static unsigned char expected[70000];
	struct image_scratch used = {0};

	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		if (c->fast)
			continue;
		for (unsigned turn = 0; turn < 4; turn++) {
			struct image_scratch fresh = {0};
			size_t other = 1 + support_below(&codec_seed, 25000);
			codec_fill(
				from, other, (enum content)(turn % CONTENTS));
			codec_pack(c, &used, other);
			/* a refused one leaves the most behind */
			image_compress(c, &used, from, other, packed, 20);

			codec_fill(from, LENGTH,
				(enum content)(turn / 2 % CONTENTS));
			size_t stored = codec_pack(c, &fresh, LENGTH);
			MUST(stored <= sizeof(expected), c);
			memcpy(expected, packed, stored);
			MUST(codec_pack(c, &used, LENGTH) == stored, c);
			MUST(memcmp(packed, expected, stored) == 0, c);
			image_scratch_destroy(&fresh);
		}
	}
	image_scratch_destroy(&used);
}

TEST(a_result_longer_than_the_room_is_not_given)
{
	struct image_scratch scratch = {0};

	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		for (int kind = 0; kind < CONTENTS; kind++) {
			codec_fill(from, LENGTH, (enum content)kind);
			size_t stored = codec_pack(c, &scratch, LENGTH);
			memset(packed, 0xee, LARGEST);
			MUST(image_compress(c, &scratch, from, LENGTH, packed,
				     stored - 1) == 0,
				c);
			MUST(packed[stored - 1] == 0xee, c);
			MUST(image_compress(c, &scratch, from, LENGTH, packed,
				     stored + 16) == (int64_t)stored,
				c);
			if (kind == NOISE)
				MUST(image_compress(c, &scratch, from, LENGTH,
					     packed, LENGTH - 1) == 0,
					c);
		}
	}
	image_scratch_destroy(&scratch);
}

static void
expect_init(struct image_codec codec, int level)
{
	struct image_error err = {0};
	int rc = image_codec_init(&codec, &err);

	if (level > 0) {
		assert_int_equal(rc, 0);
		assert_int_equal(codec.level, level);
	} else {
		assert_int_equal(rc, -EINVAL);
		assert_string_not_equal(err.text, "");
	}
}

TEST(levels_have_a_default_and_an_end)
{
	expect_init(ZLIB(0, false, false), 1);
	expect_init(ZLIB(12, false, false), 12);
	expect_init(ZLIB(13, false, false), -1);
	expect_init(ZLIB(-1, false, false), -1);
	expect_init(ZLIB(0, true, false), 6);
	expect_init(ZLIB(10, true, false), -1);
	expect_init(ZLIB(1, false, true), 1);
	expect_init(ZLIB(4, false, true), -1);
	expect_init(ZSTD(0), 3);
	expect_init(ZSTD(19), 19);
	expect_init(ZSTD(20), -1);
	expect_init(
		((struct image_codec){IMAGE_CODEC_ZSTD, 3, true, false, false}),
		-1);
	expect_init(
		((struct image_codec){IMAGE_CODEC_ZSTD, 3, false, true, false}),
		-1);
}

TEST(without_memory_every_call_fails_and_the_next_one_works)
{
	struct image_scratch scratch = {0};

	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		codec_fill(from, 4096, WORDS);
		out_of_memory = true;
		MUST(image_compress(c, &scratch, from, 4096, packed, 8192) ==
				-ENOMEM,
			c);
		out_of_memory = false;
		size_t stored = codec_pack(c, &scratch, 4096);
		struct image_scratch fresh = {0};
		out_of_memory = true;
		MUST(image_decompress(c->id, &fresh, packed, stored, to,
			     4096) == -ENOMEM,
			c);
		out_of_memory = false;
		MUST(image_decompress(
			     c->id, &fresh, packed, stored, to, 4096) == 0,
			c);
		image_scratch_destroy(&fresh);
	}
	out_of_memory = true;
	assert_null(image_scratch_buffer(&scratch, 100));
	out_of_memory = false;
	assert_non_null(image_scratch_buffer(&scratch, 100));
	image_scratch_destroy(&scratch);
}

TEST(a_zlib_stream_needs_no_more_room_than_stored_blocks)
{
	static const size_t lengths[] = {1, 65535, 65536, 131071};
	struct image_codec codec = ZLIB(6, false, false);
	struct image_scratch scratch = {0};

	for (size_t i = 0; i < COUNT(lengths); i++) {
		size_t length = lengths[i], made = 0;
		size_t room = length + 5 * ((length + 65534) / 65535) +
			      IMAGE_ZLIB_FRAME;
		codec_fill(from, length, NOISE);
		int64_t n = image_compress_zlib(
			&codec, &scratch, from, length, packed, room);
		assert_in_range(n, 1, room);
		uLongf theirs = LARGEST;
		assert_int_equal(
			uncompress(to, &theirs, packed, (uLong)n), Z_OK);
		assert_int_equal(theirs, length);
		assert_memory_equal(from, to, length);
		assert_int_equal(image_unzlib(&scratch, packed, (size_t)n, to,
					 length, &made),
			0);
		assert_int_equal(made, length);
	}
	image_scratch_destroy(&scratch);
}

TEST(a_scratch_buffer_is_aligned_and_grows)
{
	struct image_scratch scratch = {0};

	for (size_t size = 1; size <= 1 << 20; size = size * 3 + 1) {
		unsigned char *buf = image_scratch_buffer(&scratch, size);
		assert_non_null(buf);
		assert_int_equal((uintptr_t)buf % IMAGE_ALIGN, 0);
		memset(buf, 1, size);
		assert_ptr_equal(image_scratch_buffer(&scratch, size), buf);
	}
	image_scratch_destroy(&scratch);
	image_scratch_destroy(&scratch);
}

int
main(void)
{
	return run_all_tests(codec_begin, codec_end);
}
