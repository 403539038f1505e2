/* SPDX-License-Identifier: BSD-3-Clause */
/* What codec.h promises of every codec and level. */
#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>
#include "store/store.h"
#include "codec/codec.h"
#include "support.h"

#define LARGEST ((size_t)2 << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ZLIB(level, window, fast)                                              \
	((struct image_codec){IMAGE_CODEC_ZLIB, level, window, fast, false})
#define ZSTD(level)                                                            \
	((struct image_codec){IMAGE_CODEC_ZSTD, level, false, false, false})

#define MUST(cond, codec)                                                      \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("%s: id %d, level %d, window %d, fast %d",    \
				#cond, (int)(codec)->id, (codec)->level,       \
				(codec)->small_window, (codec)->fast);         \
	} while (0)

/* Kinds of content. */
enum content { ZEROS, NOISE, WORDS, DISTANT, CONTENTS };

/* DISTANT repeats at this distance only: more than 4 KiB, less than 32 KiB. */
#define FAR_DISTANCE 20000

static uint64_t codec_seed;
static unsigned char from[LARGEST + 1], packed[LARGEST + 65536],
	to[LARGEST + 1];
/* of a test */
static struct image_scratch scratch;

FIXTURE(end)
{
	image_scratch_destroy(&scratch);
	return 0;
}

#define CODEC_TEST(name) TEST_WITH(name, NULL, end)

/* Eight bytes at a time: most of these tests fill buffers. */
static void
noise(unsigned char *buf, size_t length)
{
	for (size_t at = 0; at < length; at += 8) {
		uint64_t word = support_random(&codec_seed);
		memcpy(buf + at, &word, length - at < 8 ? length - at : 8);
	}
}

static void
codec_fill(unsigned char *buf, size_t length, enum content content)
{
	size_t at = 0;

	if (content == ZEROS) {
		memset(buf, 0, length);
	} else if (content == NOISE) {
		noise(buf, length);
	} else if (content == WORDS) {
		static const char words[] = "cluster extent store sink place ";
		for (; at < length; at++)
			buf[at] = (unsigned char)
				words[(at / 7 * 13 +
					      support_below(&codec_seed, 6)) %
					(sizeof(words) - 1)];
	} else {
		at = length < FAR_DISTANCE ? length : FAR_DISTANCE;
		noise(buf, at);
		for (size_t n; at < length; at += n) {
			n = length - at < FAR_DISTANCE ? length - at
						       : FAR_DISTANCE;
			memcpy(buf + at, buf + at - FAR_DISTANCE, n);
		}
	}
}

/* Everything that can be asked for; ends with level -1. */
static const struct image_codec *
codec_all(void)
{
	/* One level for each way to search: of libdeflate, of zlib, whose
	 * window can be short, and of zstd. */
	static const int deflate[] = {1, 2, 5, 8, 10, 12};
	static const int windowed[] = {1, 3, 4, 6, 9};
	static const int zstd[] = {1, 3, 5, 6, 9, 13, 16, 18, 19};
	static struct image_codec all[64];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(deflate); i++)
		all[n++] = ZLIB(deflate[i], false, false);
	for (size_t i = 0; i < COUNT(windowed); i++)
		all[n++] = ZLIB(windowed[i], true, false);
	for (int level = 1; level <= 3; level++) {
		all[n++] = ZLIB(level, false, true);
		all[n++] = ZLIB(level, true, true);
	}
	for (size_t i = 0; i < COUNT(zstd); i++)
		all[n++] = ZSTD(zstd[i]);
	all[n++] = ZLIB(-1, false, false);
	assert_true(n <= COUNT(all));
	return all;
}

/* Compress what is in `from`; there is always room. */
static size_t
codec_pack(const struct image_codec *codec, struct image_scratch *with,
	size_t length)
{
	int64_t rc = image_compress(
		codec, with, from, length, packed, sizeof(packed));
	MUST(rc > 0, codec);
	return (size_t)rc;
}

/* ---- codecs and levels ---- */

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

CODEC_TEST(what_goes_in_comes_out_at_every_level)
{
	static const size_t lengths[] = {
		1, 4096, 65536, 511, 512, 16384, LARGEST};

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
}

#define LENGTH ((size_t)16384)

CODEC_TEST(bytes_after_the_stream_are_ignored)
{
	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		codec_fill(from, LENGTH, WORDS);
		size_t stored = codec_pack(c, &scratch, LENGTH);
		for (size_t after = 0; after < 600; after++)
			packed[stored + after] =
				(unsigned char)support_below(&codec_seed, 256);
		for (size_t after = 0; after < 600; after += 13)
			MUST(image_decompress(c->id, &scratch, packed,
				     stored + after, to, LENGTH) == 0,
				c);
		MUST(memcmp(from, to, LENGTH) == 0, c);
	}
}

/* Another length than that of the content is refused, as is a cut stream. */
CODEC_TEST(only_exactly_the_length_is_accepted)
{
	static const size_t wrong[] = {1, 512, LENGTH - 1, LENGTH + 1, 131072};

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
}

/* What a thread did before must not show: any thread may get any cluster. */
CODEC_TEST(a_used_context_gives_the_bytes_of_a_fresh_one)
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

CODEC_TEST(a_result_longer_than_the_room_is_not_given)
{
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

CODEC_TEST(levels_have_a_default_and_an_end)
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

CODEC_TEST(without_memory_every_call_fails_and_the_next_one_works)
{
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
}

CODEC_TEST(a_zlib_stream_needs_no_more_room_than_stored_blocks)
{
	static const size_t lengths[] = {1, 65535, 65536, 131071};
	struct image_codec codec = ZLIB(6, false, false);

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
		assert_ok(image_unzlib(
			&scratch, packed, (size_t)n, to, length, &made));
		assert_int_equal(made, length);
	}
}

CODEC_TEST(a_scratch_buffer_is_aligned_and_grows)
{
	for (size_t size = 1; size <= 1 << 20; size = size * 3 + 1) {
		unsigned char *buf = image_scratch_buffer(&scratch, size);
		assert_non_null(buf);
		assert_int_equal((uintptr_t)buf % IMAGE_ALIGN, 0);
		memset(buf, 1, size);
		assert_ptr_equal(image_scratch_buffer(&scratch, size), buf);
	}
	/* the fixture does it again */
	image_scratch_destroy(&scratch);
}

/* ---- streams as others write and read them, damaged ones too ---- */

/* The buffers are as long as they must be: for AddressSanitizer. */
CODEC_TEST(a_damaged_stream_stays_inside_its_buffers)
{
	const struct image_codec some[] = {ZLIB(1, false, false), ZSTD(3)};
	unsigned refused = 0;

	for (size_t i = 0; i < COUNT(some); i++) {
		for (unsigned turn = 0; turn < 2000; turn++) {
			size_t length = 512 << support_below(&codec_seed, 6);
			codec_fill(
				from, length, (enum content)(turn % CONTENTS));
			size_t stored = codec_pack(&some[i], &scratch, length);
			unsigned char *in = malloc(stored);
			unsigned char *out = malloc(length);
			assert_true(in && out);
			memcpy(in, packed, stored);
			for (size_t n = support_below(&codec_seed, 4); n <= 4;
				n++)
				in[support_below(&codec_seed, stored)] ^=
					(unsigned char)(1 + turn % 255);
			int rc = image_decompress(
				some[i].id, &scratch, in, stored, out, length);
			assert_true(rc == 0 || rc == -EINVAL);
			refused += rc != 0;
			free(in);
			free(out);
		}
	}
	/* neither codec has a checksum here: a literal may change unnoticed */
	assert_true(refused > 1000);
}

/* A frame of 64 KiB with one parameter that is not ours. */
static size_t
foreign_frame(ZSTD_cParameter parameter, int value)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	assert_non_null(context);
	assert_false(ZSTD_isError(
		ZSTD_CCtx_setParameter(context, parameter, value)));
	size_t stored = ZSTD_compress2(context, packed, LARGEST, from, 65536);
	assert_false(ZSTD_isError(stored));
	ZSTD_freeCCtx(context);
	return stored;
}

CODEC_TEST(frames_of_other_writers_are_read)
{
	static const struct {
		ZSTD_cParameter parameter;
		int value;
	} frames[] = {{ZSTD_c_contentSizeFlag, 0}, {ZSTD_c_checksumFlag, 1},
		{ZSTD_c_windowLog, 27}, {ZSTD_c_compressionLevel, -5}};

	for (size_t i = 0; i < COUNT(frames); i++) {
		codec_fill(from, 65536, WORDS);
		size_t stored =
			foreign_frame(frames[i].parameter, frames[i].value);
		memset(to, 0, 65536);
		assert_ok(image_decompress(IMAGE_CODEC_ZSTD, &scratch, packed,
			stored + 100, to, 65536));
		assert_memory_equal(from, to, 65536);
	}
}

CODEC_TEST(what_is_no_zstd_frame_is_refused)
{
	/* 4 bytes as zstd 0.7 stores them; a skippable frame of 4 bytes */
	static const unsigned char legacy[] = {0x27, 0xb5, 0x2f, 0xfd, 0x20, 4,
		0x40, 0, 4, 'a', 'b', 'c', 'd', 0xc0, 0, 0};
	static const unsigned char skippable[] = {
		0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};

	assert_int_equal(image_decompress(IMAGE_CODEC_ZSTD, &scratch, legacy,
				 sizeof(legacy), to, 4),
		-EINVAL);
	assert_int_equal(image_decompress(IMAGE_CODEC_ZSTD, &scratch, skippable,
				 sizeof(skippable), to, 65536),
		-EINVAL);
}

/* Inflate in pieces, as a reader does that has a window of 4 KiB and no more.
 * Returns false if a distance is longer. */
static bool
fits_small_window(const unsigned char *stream, size_t stored, size_t length)
{
	z_stream z = {0};
	unsigned char piece[256];
	size_t done = 0;
	int rc;

	assert_int_equal(inflateInit2(&z, -12), Z_OK);
	z.next_in = (z_const Bytef *)stream;
	z.avail_in = (uInt)stored;
	do {
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		rc = inflate(&z, Z_SYNC_FLUSH);
		size_t got = sizeof(piece) - z.avail_out;
		if (rc == Z_OK || rc == Z_STREAM_END)
			assert_memory_equal(piece, from + done, got);
		done += got;
	} while (rc == Z_OK);
	inflateEnd(&z);
	return rc == Z_STREAM_END && done == length;
}

CODEC_TEST(a_small_window_has_no_distance_of_more_than_4_kib)
{
	for (const struct image_codec *c = codec_all(); c->level > 0; c++) {
		if (c->id != IMAGE_CODEC_ZLIB)
			continue;
		for (int kind = 0; kind < CONTENTS; kind++) {
			codec_fill(from, 65536, (enum content)kind);
			size_t stored = codec_pack(c, &scratch, 65536);
			bool fits = fits_small_window(packed, stored, 65536);
			if (c->small_window)
				MUST(fits, c);
			else if (kind == DISTANT && stored < 40000)
				/* or this test would show nothing */
				MUST(!fits, c);
		}
	}
}

int
main(void)
{
	codec_seed = support_seed();
	return run_all_tests(NULL, NULL);
}
