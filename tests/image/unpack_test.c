/* SPDX-License-Identifier: BSD-3-Clause */
/* What a packed stream gives, whole, cut, changed, and with what follows it. */
#include <bzlib.h>
#include <lzma.h>
#include <stdatomic.h>
#include <zlib.h>
#include <zstd.h>
#include "blocks/blocks.h"
#include "codec/zero_frame.h"
#include "fake_memory.h"
#include "fakes.h"
#include "memory.h"
#include "support.h"
#include "unpack/unpack.h"

#define MI ((size_t)1 << 20)
#define ROOM (2 * MI)

/* The allocation that fails, counted down; 0: none. */
static _Atomic unsigned fail_allocation;
static _Atomic unsigned allocations;

static bool
fails(void)
{
	unsigned left = atomic_load(&fail_allocation);

	atomic_fetch_add(&allocations, 1);
	while (left && !atomic_compare_exchange_weak(
			       &fail_allocation, &left, left - 1))
		;
	return left == 1;
}

STANDS_FOR(void *, malloc, size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

STANDS_FOR(void *, calloc, size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

/* The longest buffer that grew. */
static _Atomic size_t longest;

STANDS_FOR(void *, realloc, void *old, size_t size)
{
	size_t most = atomic_load(&longest);

	while (size > most &&
		!atomic_compare_exchange_weak(&longest, &most, size))
		;
	return fails() ? NULL : __real_realloc(old, size);
}

STANDS_FOR(char *, strdup, const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

/* Calls of decoders in other threads than that of the tests. */
static _Atomic unsigned elsewhere;
static pthread_t here;

static void
count(void)
{
	if (!pthread_equal(pthread_self(), here))
		atomic_fetch_add(&elsewhere, 1);
}

/* Bytes that zlib unpacked. */
static _Atomic uint64_t by_zlib;

STANDS_FOR(int, inflate, z_streamp stream, int flush)
{
	uLong before = stream->total_out;
	int rc = __real_inflate(stream, flush);

	/* The reader has the header of a member in any case. */
	if (stream->total_out > before)
		count();
	atomic_fetch_add(&by_zlib, stream->total_out - before);
	return rc;
}

STANDS_FOR(size_t, ZSTD_decompressStream, ZSTD_DStream *stream,
	ZSTD_outBuffer *out, ZSTD_inBuffer *in)
{
	count();
	return __real_ZSTD_decompressStream(stream, out, in);
}

/* Bytes that liblzma unpacked. */
static _Atomic uint64_t by_liblzma;

STANDS_FOR(lzma_ret, lzma_code, lzma_stream *stream, lzma_action action)
{
	uint64_t before = stream->total_out;
	lzma_ret rc = __real_lzma_code(stream, action);

	atomic_fetch_add(&by_liblzma, stream->total_out - before);
	return rc;
}

/* Of the last decoder with threads; and its stream until it ends. */
static lzma_mt limits;
static lzma_stream *with_threads;

STANDS_FOR(lzma_ret, lzma_stream_decoder_mt, lzma_stream *stream,
	const lzma_mt *options)
{
	limits = *options;
	with_threads = stream;
	return __real_lzma_stream_decoder_mt(stream, options);
}

STANDS_FOR(void, lzma_end, lzma_stream *stream)
{
	if (stream == with_threads)
		with_threads = NULL;
	__real_lzma_end(stream);
}

/* Headers of blocks that are read before there is no memory; 0: all. */
static unsigned headers;

STANDS_FOR(lzma_ret, lzma_block_header_decode, lzma_block *block,
	const lzma_allocator *allocator, const uint8_t *in)
{
	if (headers && --headers == 0)
		return LZMA_MEM_ERROR;
	return __real_lzma_block_header_decode(block, allocator, in);
}

/* What a test unpacks. */
static struct {
	unsigned char data[ROOM];
	size_t length;
} packed;

static void
add(const void *from, size_t length)
{
	assert_true(packed.length + length <= ROOM);
	memcpy(packed.data + packed.length, from, length);
	packed.length += length;
}

static void
add_zeros(size_t length)
{
	static const unsigned char zeros[64];

	add(zeros, length);
}

static void
pack_gzip(const void *from, size_t length)
{
	z_stream z = {0};
	gz_header header = {.name = (Bytef *)"disk.raw", .hcrc = 1};

	assert_ok(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0));
	assert_ok(deflateSetHeader(&z, &header));
	z.next_in = (z_const Bytef *)from;
	z.avail_in = (uInt)length;
	z.next_out = packed.data + packed.length;
	z.avail_out = (uInt)(ROOM - packed.length);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	packed.length += z.total_out;
	deflateEnd(&z);
}

static void
pack_xz_with(const void *from, size_t length, unsigned level)
{
	assert_ok(lzma_easy_buffer_encode(level, LZMA_CHECK_CRC64, NULL, from,
		length, packed.data, &packed.length, ROOM));
}

static void
pack_xz(const void *from, size_t length)
{
	pack_xz_with(from, length, 0);
}

static void
pack_zstd_with(const void *from, size_t length, int window)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	ZSTD_inBuffer in = {from, length, 0};
	ZSTD_outBuffer out = {packed.data, ROOM, packed.length};

	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, window);
	/* By pieces: a frame that does not know its size has a window. */
	assert_int_equal(ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush), 0);
	assert_int_equal(ZSTD_compressStream2(z, &out, &in, ZSTD_e_end), 0);
	packed.length = out.pos;
	ZSTD_freeCCtx(z);
}

/* With `plain`, a thread refuses a larger window than 128 KiB, and the test's
 * thread unpacks all. */
static void
pack_zstd(const void *from, size_t length)
{
	pack_zstd_with(from, length, 17);
}

static void
pack_bzip2(const void *from, size_t length)
{
	unsigned made = (unsigned)(ROOM - packed.length);

	assert_ok(BZ2_bzBuffToBuffCompress((char *)packed.data + packed.length,
		&made, (char *)(uintptr_t)from, (unsigned)length, 1, 0, 0));
	packed.length += made;
}

static void (*const pack[])(const void *, size_t) = {
	[IMAGE_PACKING_GZIP] = pack_gzip,
	[IMAGE_PACKING_XZ] = pack_xz,
	[IMAGE_PACKING_ZSTD] = pack_zstd,
	[IMAGE_PACKING_BZIP2] = pack_bzip2,
};

/* All packings, from the first to END. */
#define GZIP IMAGE_PACKING_GZIP
#define XZ IMAGE_PACKING_XZ
#define ZSTD IMAGE_PACKING_ZSTD
#define END IMAGE_PACKINGS

/* How the bytes come, and how they are taken. */
struct way {
	size_t piece;
	size_t take;
	/* 0: that of a command without --memory */
	uint64_t memory;
	/* the read at this offset fails; 0: none */
	size_t broken;
};

/* A stream of what is packed. */
static struct fake_stream given;

/* What was unpacked. */
struct result {
	unsigned char data[ROOM];
	size_t length;
	struct image_error err;
};

static struct result result;

/* Little memory: a sanitizer marks each byte of a buffer. */
static const struct way plain = {.piece = ROOM, .take = ROOM, .memory = 6 * MI};
static const struct way by_default = {.piece = ROOM, .take = ROOM};
static const struct way by_pages = {.piece = ROOM, .take = 4096};
static const struct way bytewise = {.piece = 1, .take = 1};
/* in any pieces, and to any */
static const struct way any_way[] = {
	{ROOM, ROOM, 0, 0}, {997, 4096, 0, 0}, {ROOM, 10007, 0, 0}};

#define ANY_WAYS (sizeof(any_way) / sizeof(*any_way))

static int
open_packed(enum image_packing packing, const struct way *way, unsigned threads,
	struct image_stream **out, struct image_error *err)
{
	uint64_t memory = way->memory ? way->memory : image_memory(0).unpack;

	here = pthread_self();
	fake_stream_init(&given, packed.data, packed.length);
	given.stream.size = packed.length;
	given.piece = way->piece;
	if (way->broken) {
		given.fails = -ENETDOWN;
		given.fails_at = way->broken;
	}
	return image_unpack_open(
		packing, &given.stream, memory, threads, out, err);
}

static int
unpack_to(struct result *to, enum image_packing packing, const struct way *way,
	unsigned threads)
{
	struct image_stream *out;
	size_t got = 1;

	to->length = 0;
	to->err = (struct image_error){0};
	int rc = open_packed(packing, way, threads, &out, &to->err);
	while (rc == 0 && got) {
		size_t room = ROOM - to->length;
		rc = out->ops->read(out, to->data + to->length,
			room < way->take ? room : way->take, &got, &to->err);
		if (rc == 0)
			to->length += got;
	}
	if (out)
		out->ops->close(out);
	assert_true(given.closed);
	return rc;
}

static int
unpack_by(enum image_packing packing, const struct way *way, unsigned threads)
{
	return unpack_to(&result, packing, way, threads);
}

/* Damage is found somewhere in what is read at a time. */
static void
without_offset(char *text)
{
	char *at = strstr(text, "before offset ");
	char *end = at ? strchr(at, ':') : NULL;

	if (end)
		memmove(at, end, strlen(end) + 1);
}

/* Threads give the same content, failure and message as none. */
static int
unpack(enum image_packing packing, const struct way *way)
{
	static struct result by_threads;

	int rc = unpack_by(packing, way, 1);
	/* Which allocation is the next one depends on the threads. */
	if (rc == -ENOMEM || fail_allocation)
		return rc;
	assert_int_equal(unpack_to(&by_threads, packing, way, 3), rc);
	struct image_error err = result.err;
	without_offset(err.text);
	without_offset(by_threads.err.text);
	assert_string_equal(by_threads.err.text, err.text);
	assert_string_equal(by_threads.err.file, result.err.file);
	/* The call that fails may have had content. */
	if (rc == 0)
		assert_int_equal(by_threads.length, result.length);
	else if (by_threads.length < result.length)
		result.length = by_threads.length;
	assert_memory_equal(by_threads.data, result.data, result.length);
	return rc;
}

/* The same with other bits in one byte. */
static int
unpack_changed(enum image_packing packing, size_t at, unsigned char bits)
{
	packed.data[at] ^= bits;
	int rc = unpack(packing, &plain);
	packed.data[at] ^= bits;
	return rc;
}

/* Text that becomes shorter, and has no long repetition. */
static const unsigned char *
content(size_t length)
{
	static unsigned char text[MI];
	static size_t made;
	static uint64_t random = 88172645463325252;

	assert_true(length <= sizeof(text));
	for (; made < length; made++)
		text[made] = (unsigned char)('a' + support_random(&random) % 7);
	return text;
}

static void
expect_bytes(const unsigned char *bytes, size_t length)
{
	assert_int_equal(result.length, length);
	assert_memory_equal(result.data, bytes, length);
}

static void
expect_content(size_t length)
{
	expect_bytes(content(length), length);
}

static void
gives(enum image_packing packing, const struct way *way,
	const unsigned char *bytes, size_t length)
{
	assert_ok(unpack(packing, way));
	expect_bytes(bytes, length);
}

static void
gives_by_any_way(
	enum image_packing packing, const unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < ANY_WAYS; i++)
		gives(packing, &any_way[i], bytes, length);
}

static void
expect_text(const char *part)
{
	if (!strstr(result.err.text, part))
		fail_msg("'%s' is not in '%s'", part, result.err.text);
}

static void
expect_damage_before_offset(size_t at)
{
	static const char before[] = "before offset ";
	const char *offset = strstr(result.err.text, before);

	assert_non_null(offset);
	assert_true(strtoull(offset + strlen(before), NULL, 10) > at);
}

static void
refuses(enum image_packing packing, const struct way *way, int rc,
	const char *part)
{
	assert_int_equal(unpack(packing, way), rc);
	expect_text(part);
}

static void
pack_content(enum image_packing packing, size_t length)
{
	packed.length = 0;
	pack[packing](content(length), length);
}

/* A registry that states a long answer made hone look into it. */
TEST(a_text_without_memory_has_no_length)
{
	struct image_store *store;
	struct image_error err;
	size_t length;
	char *text;
	int rc = -ENOMEM;

	/* of the stream, its name and the text */
	for (unsigned victim = 1; rc == -ENOMEM; victim++) {
		assert_ok(memory_store_open("long", 4, "text", &store, &err));
		length = 9;
		atomic_store(&fail_allocation, victim);
		rc = image_stream_read_store(store, 3, &text, &length, &err);
		atomic_store(&fail_allocation, 0);
		assert_int_equal(rc, victim < 4 ? -ENOMEM : -EFBIG);
		assert_int_equal(length, text ? 4 : 0);
		assert_int_equal(!text, rc == -ENOMEM);
		free(text);
	}
}

/* Nothing, and more than every buffer holds, by reads of any size. */
TEST(content_of_any_length_is_unpacked)
{
	static const struct way ways[] = {{1, 100, 0, 0}, {7, 1, 0, 0},
		{4096, 4096, 0, 0}, {ROOM, ROOM, 0, 0}};
	static const size_t lengths[] = {0, 20000, MI};

	for (enum image_packing p = GZIP; p < END; p++)
		for (size_t i = 0; i < 3; i++) {
			pack_content(p, lengths[i]);
			gives(p, &plain, content(MI), lengths[i]);
			for (size_t w = 0; w < 4 && i < 2; w++)
				gives(p, &ways[w], content(MI), lengths[i]);
		}
}

/* A pipe may wait before the next byte. */
TEST(content_is_given_as_it_comes)
{
	static const struct way slow = {
		.piece = 1000, .take = ROOM, .memory = 6 * MI, .broken = 4000};
	static const enum image_packing packings[] = {GZIP, XZ};

	for (size_t i = 0; i < 2; i++) {
		pack_content(packings[i], MI);
		assert_int_equal(unpack_by(packings[i], &slow, 1), -ENETDOWN);
		assert_in_range(result.length, 4000, MI - 1);
		assert_memory_equal(result.data, content(MI), result.length);
	}
}

TEST(members_follow_each_other)
{
	static const struct way slow = {.piece = 1, .take = ROOM};

	for (enum image_packing p = GZIP; p < END; p++) {
		packed.length = 0;
		pack[p](content(3000), 1000);
		pack[p](content(3000), 0);
		pack[p](content(3000) + 1000, 2000);
		gives(p, &plain, content(3000), 3000);
		gives(p, &slow, content(3000), 3000);
	}
}

/* One member, whose header has every field of these flags. */
static void
pack_gzip_header(unsigned char flags)
{
	const unsigned char head[] = {0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 255};
	size_t begin = packed.length;

	add(head, sizeof(head));
	if (flags & 4)
		add("\6\0AB\2\0xy", 8);
	if (flags & 8)
		add("a name", 7);
	if (flags & 16)
		add("", 1);
	if (flags & 2) {
		uLong crc = crc32(
			0, packed.data + begin, (uInt)(packed.length - begin));
		const unsigned char stored[] = {
			(unsigned char)crc, (unsigned char)(crc >> 8)};
		add(stored, sizeof(stored));
	}
}

/* The same content behind another header: that of pack_gzip() has a name and a
 * CRC. */
static void
pack_gzip_flags(size_t length, unsigned char flags)
{
	static unsigned char rest[1024];
	const size_t head = 10 + sizeof("disk.raw") + 2;
	size_t begin = packed.length;

	pack_gzip(content(length), length);
	size_t n = packed.length - begin - head;
	assert_true(n <= sizeof(rest));
	memcpy(rest, packed.data + begin + head, n);
	packed.length = begin;
	pack_gzip_header(flags);
	add(rest, n);
}

TEST(every_header_of_gzip_is_read_or_refused)
{
	static const struct way *const ways[] = {&by_default, &bytewise};

	for (unsigned flags = 0; flags < 256; flags++)
		for (size_t i = 0; i < 2; i++) {
			packed.length = 0;
			pack_gzip_flags(300, (unsigned char)flags);
			pack_gzip_flags(0, (unsigned char)flags);
			int rc = unpack(GZIP, ways[i]);
			if (flags & 0xe0) {
				assert_int_equal(rc, -EIO);
				expect_text(": unknown header flags set");
				continue;
			}
			assert_int_equal(rc, 0);
			expect_content(300);
		}
}

TEST(each_checksum_of_gzip_is_checked)
{
	static const struct way *const ways[] = {&by_default, &bytewise};

	pack_content(GZIP, 300);
	/* From the end: the length, the CRC; then that of the header. */
	const size_t head = packed.length - (10 + sizeof("disk.raw"));
	for (size_t at = 1; at <= 10; at++)
		for (size_t i = 0; i < 2; i++) {
			size_t back = at <= 8 ? at : head - (at - 9);
			packed.data[packed.length - back] ^= 0x40;
			assert_int_equal(unpack(GZIP, ways[i]), -EIO);
			packed.data[packed.length - back] ^= 0x40;
			expect_text(at <= 4   ? ": incorrect length check"
				    : at <= 8 ? ": incorrect data check"
					      : ": header crc mismatch");
		}
}

static void
pack_zero_frame(uint64_t zeros)
{
	image_zero_frame_put(packed.data + packed.length, zeros);
	packed.length += image_zero_frame_size(zeros);
}

/* libzstd, in the one thread, has the same bytes as the threads. */
TEST(frames_of_zeros_have_their_zeros)
{
	static const uint64_t sizes[] = {1, 1000, IMAGE_ZERO_BLOCK - 1,
		IMAGE_ZERO_BLOCK, IMAGE_ZERO_BLOCK + 1, 5 * IMAGE_ZERO_BLOCK};
	static const struct way ways[] = {
		{.piece = ROOM, .take = ROOM, .memory = 6 * MI},
		{.piece = 1, .take = 70000, .memory = 6 * MI}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = (size_t)sizes[i];
		pack_content(ZSTD, 3000);
		pack_zero_frame(n);
		pack_zero_frame(7);
		pack_zstd(content(500), 500);
		pack_zero_frame(n);
		for (size_t k = 0; k < 2; k++) {
			assert_ok(unpack(ZSTD, &ways[k]));
			assert_int_equal(result.length, 3500 + 2 * n + 7);
			for (size_t at = 3000; at < 3007 + n; at++)
				assert_int_equal(result.data[at], 0);
			assert_memory_equal(
				result.data + 3007 + n, content(500), 500);
		}
	}
}

TEST(each_byte_of_a_frame_of_zeros_counts)
{
	pack_content(ZSTD, 100);
	size_t begin = packed.length;
	pack_zero_frame(3 * IMAGE_ZERO_BLOCK + 5);
	size_t length = packed.length;

	for (size_t bit = 8 * begin; bit < 8 * length; bit++)
		unpack_changed(ZSTD, bit / 8, (unsigned char)(1 << bit % 8));
	for (packed.length = begin; packed.length < length; packed.length++)
		unpack(ZSTD, &plain);
}

TEST(zeros_are_skipped_in_multiples)
{
	struct image_stream *out;
	struct image_error err;
	uint64_t length;
	size_t got;

	packed.length = 0;
	for (int i = 0; i < 20; i++)
		pack_zero_frame(IMAGE_ZERO_FRAME);
	pack_zero_frame(1000);
	pack_zstd(content(10), 10);
	assert_ok(open_packed(ZSTD, &plain, 3, &out, &err));
	uint64_t all = 0;
	while (image_stream_skip(out, 4096, &length, &err) == 0 && length) {
		assert_int_equal(length % 4096, 0);
		all += length;
	}
	assert_true(all == 20 * IMAGE_ZERO_FRAME);
	assert_ok(image_stream_read(out, result.data, ROOM, &got, &err));
	assert_int_equal(got, 1000);
	assert_ok(image_stream_skip(out, 1, &length, &err));
	assert_int_equal(length, 0);
	assert_ok(image_stream_read(out, result.data, ROOM, &got, &err));
	assert_int_equal(got, 10);
	image_stream_close(out);
}

TEST(zeros_may_follow_the_last_member)
{
	for (enum image_packing p = GZIP; p < END; p++)
		for (size_t zeros = 1; zeros < 20; zeros++) {
			pack_content(p, 3000);
			add_zeros(zeros);
			gives(p, &plain, content(3000), 3000);
		}
}

TEST(other_data_after_the_last_member_is_an_error)
{
	char offset[40];

	for (enum image_packing p = GZIP; p < END; p++)
		for (size_t zeros = 0; zeros < 20; zeros++) {
			pack_content(p, 3000);
			add_zeros(zeros);
			snprintf(offset, sizeof(offset), "offset %zu",
				packed.length);
			add("x", 1);
			refuses(p, &plain, -EINVAL,
				"has other data after the end");
			expect_text(offset);
			assert_string_equal(result.err.file, "fake");
		}
}

TEST(only_xz_has_zeros_between_members_in_fours)
{
	for (enum image_packing p = GZIP; p < END; p++)
		for (size_t zeros = 1; zeros < 10; zeros++) {
			packed.length = 0;
			pack[p](content(3000), 1000);
			add_zeros(zeros);
			pack[p](content(3000) + 1000, 2000);
			int rc = unpack(p, &plain);
			if (p == XZ && zeros % 4 == 0) {
				assert_int_equal(rc, 0);
				expect_content(3000);
			} else {
				assert_int_equal(rc, -EINVAL);
			}
		}
}

/* Each of many, and one of nine by threads, too. */
static int
unpack_turn(size_t turn, enum image_packing packing)
{
	return turn % 9 == 0 ? unpack(packing, &plain)
			     : unpack_by(packing, &plain, 1);
}

TEST(a_file_cut_at_each_byte_is_an_error)
{
	char offset[40];

	for (enum image_packing p = GZIP; p < END; p++) {
		pack_content(p, 500);
		size_t whole = packed.length;
		for (packed.length = 0; packed.length < whole;
			packed.length++) {
			int rc = unpack_turn(packed.length, p);
			assert_true(rc == -EIO || rc == -EINVAL);
			assert_true(rc == -EIO || packed.length < 6);
			if (rc == -EINVAL) {
				expect_text("header is missing");
				continue;
			}
			snprintf(offset, sizeof(offset),
				"offset %zu: the file is not complete",
				packed.length);
			expect_text("ends inside the");
			expect_text(offset);
		}
		pack[p](content(500), 500);
		size_t both = packed.length;
		for (packed.length = whole + 1; packed.length < both;
			packed.length++)
			assert_true(unpack_turn(packed.length, p) < 0);
	}
}

/* A few bits have no effect on the content, such as those after the last block
 * of gzip, and the size of a window. */
TEST(a_changed_bit_never_gives_other_content)
{
	for (enum image_packing p = GZIP; p < END; p++) {
		unsigned harmless = 0;
		pack_content(p, 120);
		for (size_t bit = 0; bit < 8 * packed.length; bit++) {
			unsigned char one = (unsigned char)(1 << bit % 8);
			packed.data[bit / 8] ^= one;
			int rc = unpack_turn(bit, p);
			packed.data[bit / 8] ^= one;
			assert_true(rc <= 0);
			if (rc < 0)
				continue;
			expect_content(120);
			harmless++;
		}
		assert_true(harmless <= 16);
	}
}

TEST(a_message_names_the_offset_of_damage)
{
	for (enum image_packing p = GZIP; p < END; p++) {
		pack_content(p, 20000);
		packed.data[packed.length / 2] ^= 0x55;
		refuses(p, &plain, -EIO, "has damaged");
		expect_text("before offset");
	}
}

TEST(another_file_is_not_packed)
{
	for (enum image_packing p = GZIP; p < END; p++) {
		packed.length = 0;
		add("this is no packed file at all", 29);
		refuses(p, &plain, -EINVAL, "is not packed by");
		expect_text(image_packing_name(p));
	}
}

TEST(an_error_of_the_stream_below_is_passed_on)
{
	for (enum image_packing p = GZIP; p < END; p++) {
		pack_content(p, 20000);
		for (size_t at = 1; at < packed.length; at += 997) {
			struct way way = {100, ROOM, 0, at};
			refuses(p, &way, -ENETDOWN, "is broken");
		}
	}
}

TEST(a_dictionary_past_the_limit_is_refused)
{
	struct way way = {ROOM, ROOM, 8 * MI, 0};

	packed.length = 0;
	pack_xz_with(content(1000), 1000, 9);
	refuses(XZ, &way, -E2BIG,
		"needs more memory than its share of --memory, "
		"8388608 bytes");
	assert_ok(unpack(XZ, &by_default));

	packed.length = 0;
	pack_zstd_with(content(1000), 1000, 24);
	refuses(ZSTD, &way, -E2BIG,
		"needs a window of 16777216 bytes, and its share "
		"of --memory is 8388608");
	way.memory = 16 * MI;
	assert_ok(unpack(ZSTD, &way));

	packed.length = 0;
	pack_zstd_with(content(1000), 1000, 28);
	refuses(ZSTD, &by_default, -E2BIG,
		"needs a window of 268435456 bytes, and its share "
		"of --memory is 134217728");
}

TEST(zstd_frames_that_are_skipped_have_no_content)
{
	static const unsigned char skipped[] = {
		0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'};

	packed.length = 0;
	add(skipped, sizeof(skipped));
	pack_zstd(content(3000), 1000);
	add(skipped, sizeof(skipped));
	pack_zstd(content(3000) + 1000, 2000);
	add(skipped, sizeof(skipped));
	gives(ZSTD, &plain, content(3000), 3000);
	packed.length--;
	assert_int_equal(unpack(ZSTD, &plain), -EIO);
}

/* A check that liblzma does not know would not be verified. */
TEST(an_unknown_checksum_of_xz_is_refused)
{
	pack_content(XZ, 100);
	/* The flags of the header are followed by their CRC. The footer is not
	 * reached. */
	packed.data[7] = 2;
	uint32_t crc = lzma_crc32(packed.data + 6, 2, 0);
	for (unsigned i = 0; i < 4; i++)
		packed.data[8 + i] = (unsigned char)(crc >> 8 * i);
	refuses(XZ, &plain, -ENOTSUP,
		"has a kind of checksum that is not supported");
}

/* One block of bgzip. */
static void
pack_bgzip(const void *from, size_t length)
{
	static const unsigned char head[16] = {
		0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 'B', 'C', 2, 0};
	unsigned char *begin = packed.data + packed.length;
	z_stream z = {0};
	uLong tail[2] = {crc32(0, from, (uInt)length), length};

	assert_ok(deflateInit2(&z, 1, Z_DEFLATED, -15, 8, 0));
	z.next_in = (z_const Bytef *)from;
	z.avail_in = (uInt)length;
	z.next_out = begin + 18;
	z.avail_out = (uInt)(ROOM - packed.length - 18);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	size_t total = 18 + z.total_out + 8;
	deflateEnd(&z);
	assert_true(total <= 65536);
	memcpy(begin, head, sizeof(head));
	begin[16] = (unsigned char)((total - 1) & 255);
	begin[17] = (unsigned char)((total - 1) >> 8);
	for (size_t i = 0; i < 8; i++)
		begin[total - 8 + i] =
			(unsigned char)(tail[i / 4] >> 8 * (i % 4));
	packed.length += total;
}

/* Bytes that do not become shorter. */
static const unsigned char *
noise(size_t length)
{
	static unsigned char bytes[2 * MI];
	static size_t made;
	static uint64_t random = 88172645463325252;

	assert_true(length <= sizeof(bytes));
	for (; made < length; made++)
		bytes[made] = (unsigned char)support_random(&random);
	return bytes;
}

/* One stream alone, whose blocks have their lengths in their headers. */
static void
pack_xz_blocks(const void *from, size_t length, size_t each)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_mt mt = {
		.threads = 1, .block_size = each, .check = LZMA_CHECK_CRC64};

	assert_ok(lzma_stream_encoder_mt(&z, &mt));
	z.next_in = from;
	z.avail_in = length;
	z.next_out = packed.data;
	z.avail_out = ROOM;
	assert_int_equal(lzma_code(&z, LZMA_FINISH), LZMA_STREAM_END);
	packed.length = z.total_out;
	lzma_end(&z);
}

/* Members, or blocks of xz, of `each` bytes of noise. Returns the length of the
 * content. */
static size_t
pack_members(enum image_packing packing, size_t n, size_t each)
{
	const unsigned char *bytes = noise(n * each);

	packed.length = 0;
	if (packing == XZ) {
		pack_xz_blocks(bytes, n * each, each);
		return n * each;
	}
	for (size_t i = 0; i < n; i++)
		if (packing == GZIP)
			pack_bgzip(bytes + i * each, each);
		else
			pack[packing](bytes + i * each, each);
	return n * each;
}

/* The packings whose members threads unpack, and that of whose blocks those of
 * liblzma do. */
static const enum image_packing threaded[] = {GZIP, ZSTD, XZ};

/* 30 members are 8 jobs, more than there are at a time. liblzma has threads of
 * its own. */
TEST(threads_unpack_frames_of_zstd_and_blocks_of_bgzip_and_of_xz)
{
	for (size_t i = 0; i < 3; i++) {
		size_t length = pack_members(threaded[i], 30, 65000);
		for (size_t w = 0; w < ANY_WAYS; w++) {
			elsewhere = 0;
			gives(threaded[i], &any_way[w], noise(length), length);
			assert_true(elsewhere >= 30 || threaded[i] == XZ);
		}
	}
}

/* The unit is shorter than each member. */
TEST(a_member_that_is_too_long_for_threads_is_unpacked)
{
	static const struct {
		size_t n;
		size_t each;
		uint64_t unit;
	} cases[] = {{10, 65000, 60000}, {4, 400000, 350000}};

	for (size_t i = 0; i < 2; i++) {
		const struct way way = {ROOM, ROOM, 12 * cases[i].unit, 0};
		size_t length =
			pack_members(threaded[i], cases[i].n, cases[i].each);
		elsewhere = 0;
		gives(threaded[i], &way, noise(length), length);
		assert_int_equal(elsewhere, 0);
	}
}

/* Of 200000 bytes of content. */
static const struct way short_jobs = {ROOM, ROOM, 12 * (uint64_t)200000, 0};

/* Zeros: all members together are 10 KB, and have the content of many jobs. */
TEST(threads_unpack_members_with_much_content)
{
	static const unsigned char zeros[65000];

	for (size_t i = 0; i < 2; i++) {
		packed.length = 0;
		for (size_t n = 0; n < 30; n++)
			if (threaded[i] == GZIP)
				pack_bgzip(zeros, sizeof(zeros));
			else
				pack_zstd_with(zeros, sizeof(zeros), 15);
		elsewhere = 0;
		assert_ok(unpack(threaded[i], &short_jobs));
		assert_int_equal(result.length, 30 * sizeof(zeros));
		for (size_t n = 0; n < 30; n++)
			assert_memory_equal(
				result.data + n * 65000, zeros, sizeof(zeros));
		assert_true(elsewhere >= 30);
	}
}

/* A job for each would take far longer than unpacking it. */
TEST(small_frames_of_zstd_share_a_job)
{
	packed.length = 0;
	pack_zstd(noise(10), 10);
	size_t one = packed.length;
	for (size_t n = 1; n < 10000; n++)
		add(packed.data, one);
	elsewhere = allocations = 0;
	assert_ok(unpack(ZSTD, &by_default));
	assert_int_equal(result.length, 100000);
	assert_true(elsewhere >= 10000);
	assert_true(allocations < 1000);
}

/* Five members are a job. New memory for each job would take page faults. */
TEST(the_jobs_of_a_long_file_use_the_buffers_of_the_first_ones)
{
	for (size_t i = 0; i < 2; i++) {
		unsigned needed[2];
		for (size_t k = 0; k < 2; k++) {
			size_t length =
				pack_members(threaded[i], k ? 30 : 20, 65000);
			elsewhere = allocations = 0;
			assert_ok(unpack_by(threaded[i], &by_default, 3));
			needed[k] = allocations;
			assert_true(elsewhere >= length / 65000);
			expect_bytes(noise(length), length);
		}
		assert_int_equal(needed[1], needed[0]);
	}
}

/* Blocks of 128 KiB, and windows of as much and of less. */
TEST(frames_whose_blocks_are_too_long_have_one_verdict)
{
	static const unsigned char windows[] = {7 << 3, 6 << 3 | 7, 6 << 3, 0};

	for (size_t i = 0; i < sizeof(windows); i++) {
		packed.length = 0;
		pack_zero_frame(2 * IMAGE_ZERO_BLOCK);
		pack_zero_frame(2 * IMAGE_ZERO_BLOCK + 1);
		pack_zstd(content(500), 500);
		packed.data[image_zero_frame_size(2 * IMAGE_ZERO_BLOCK) + 5] =
			windows[i];
		assert_int_equal(unpack(ZSTD, &by_pages), i ? -EIO : 0);
	}
}

/* Of the frame before, libzstd keeps a buffer in which the block fits. */
TEST(a_block_that_is_too_long_has_one_message)
{
	/* a window of 128 KiB, 3 bytes, and 2 MiB less one of zeros */
	static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x80,
		7 << 3, 2, 0, 0x20, 0, 3 << 3, 0, 0, 'a', 'b', 'c', 0xfb, 0xff,
		0xff, 0};

	packed.length = 0;
	pack_zstd_with(content(MI), MI, 21);
	add(frame, sizeof(frame));
	refuses(ZSTD, &by_pages, -EIO, "has damaged");
}

/* Its content has no length in the header, and does not fit. */
TEST(content_that_is_too_long_for_threads_is_unpacked)
{
	packed.length = 0;
	pack_zstd(content(1000), 1000);
	pack_zstd(content(400000), 400000);
	pack_zstd(content(1000), 1000);
	elsewhere = 0;
	longest = 0;
	assert_ok(unpack(ZSTD, &short_jobs));
	assert_int_equal(result.length, 402000);
	assert_memory_equal(result.data + 1000, content(400000), 400000);
	assert_true(elsewhere > 0);
	assert_true(longest > 200000 && longest <= 300000);
}

/* The length of each block of a disk. */
#define EACH ((size_t)8 << 10)

static unsigned char disk[MI];

/* Write such a disk: 'z' zeros, '1' zeros and then a one, 'f' ones, 'n' noise.
 */
static size_t
make_disk(const char *kinds)
{
	size_t n = strlen(kinds);

	assert_true(n * EACH <= MI);
	memset(disk, 0, n * EACH);
	for (size_t i = 0; i < n; i++) {
		unsigned char *at = disk + i * EACH;
		if (kinds[i] == 'n')
			memcpy(at, noise(2 * MI) + i * EACH, EACH);
		else if (kinds[i] == 'f')
			memset(at, 255, EACH);
		else
			at[EACH - 1] = kinds[i] == '1';
	}
	return n * EACH;
}

static void
expect_disk(size_t length)
{
	expect_bytes(disk, length);
}

#define ZEROS_10 "zzzzzzzzzz"
#define ZEROS_50 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10

/* A gzip file in blocks of so many bytes, each followed by such a flush. */
static void
pack_gzip_blocks(const unsigned char *from, size_t length, size_t each,
	int level, int flush)
{
	z_stream z = {0};

	packed.length = 0;
	assert_ok(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, 0));
	z.next_out = packed.data;
	z.avail_out = (uInt)ROOM;
	for (size_t at = 0; at < length; at += each) {
		z.next_in = (z_const Bytef *)from + at;
		z.avail_in = (uInt)(length - at < each ? length - at : each);
		assert_ok(deflate(&z, flush));
	}
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	packed.length = z.total_out;
	deflateEnd(&z);
}

TEST(blocks_of_zeros_that_gzip_repeats_are_unpacked_once)
{
	size_t length = make_disk("nn" ZEROS_50 "nzn" ZEROS_50);

	/* The blocks end at each bit of a byte, and at the first one alone. */
	for (int flush = Z_PARTIAL_FLUSH; flush <= Z_SYNC_FLUSH; flush++) {
		pack_gzip_blocks(disk, length, EACH, 6, flush);
		by_zlib = 0;
		assert_ok(unpack_by(GZIP, &plain, 1));
		expect_disk(length);
		/* Four blocks fill the window twice. */
		assert_in_range(by_zlib, 14 * EACH, 20 * EACH);
	}
}

/* The last bytes of such a block are zeros, more than those in front of it. */
TEST(a_block_of_gzip_that_ends_with_zeros_is_not_left_out)
{
	size_t length = make_disk("zzzzzzzzz1zzzzzz1zzzzzzzzzzzzzzzzzzzzz"
				  "zzz1zzzzzz1zzzzzzzzzzzzzzz"
				  "zzzzzzzzz1zzzzzz1zzzzzzzzzzzzzzz");
	static const struct way way = {ROOM, EACH, 6 * MI, 0};

	pack_gzip_blocks(disk, length, 16 * EACH, 6, Z_PARTIAL_FLUSH);
	assert_ok(unpack_by(GZIP, &way, 1));
	expect_disk(length);
}

/* The bits of a stored block of 4096 zeros come again one bit earlier in a
 * byte, where they say 34816 bytes. */
TEST(a_stored_block_of_gzip_is_read_where_it_lies)
{
	static const unsigned char head[] = {
		0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
	static const unsigned char first[] = {0, 0, 0x10, 0xff, 0xef};
	/* A fixed block of 23 bits, three zeros, and the header behind it. */
	static const unsigned char second[] = {
		2, 0x12, 0, 0, 0, 0x88, 255, 0x77};
	static const unsigned char last[] = {1, 0, 0, 255, 255};
	size_t zeros = 5 * EACH + 4096 + 3, length = zeros + 0x8800;

	memset(disk, 0, length);
	memset(disk + zeros + 5000, 1, 0x8800 - 5000);
	pack_gzip_blocks(disk, 5 * EACH, EACH, 6, Z_SYNC_FLUSH);
	/* Leave the last block, which is fixed and empty, and the trailer. */
	packed.length -= 10;
	memcpy(packed.data, head, sizeof(head));
	add(first, sizeof(first));
	add(disk, 4096);
	add(second, sizeof(second));
	add(disk + zeros, 0x8800);
	add(last, sizeof(last));
	uint64_t trailer = crc32(0, disk, (uInt)length) | (uint64_t)length
								  << 32;
	for (unsigned i = 0; i < 64; i += 8) {
		unsigned char byte = (unsigned char)(trailer >> i);
		add(&byte, 1);
	}
	assert_ok(unpack_by(GZIP, &plain, 1));
	expect_disk(length);
}

/* Returns whether zlib completes the file, with content of this length. */
static bool
zlib_completes(unsigned char *to, size_t *length)
{
	z_stream z = {0};

	assert_ok(inflateInit2(&z, 15 + 16));
	z.next_in = (z_const Bytef *)packed.data;
	z.avail_in = (uInt)packed.length;
	z.next_out = to;
	z.avail_out = (uInt)ROOM;
	bool complete =
		__real_inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0;
	*length = z.total_out;
	inflateEnd(&z);
	return complete;
}

TEST(repeated_blocks_of_gzip_have_the_verdict_and_the_bytes_of_zlib)
{
	static const char *const disks[] = {ZEROS_10, "1" ZEROS_50,
		"ff" ZEROS_50 "1111zzzzz1zzzzzz1zzzzzzzfzzzzzzzffff" ZEROS_10};
	static const struct way ways[] = {
		{ROOM, ROOM, 0, 0}, {97, 4096, 0, 0}, {1, 10007, 0, 0}};
	static const int flushes[] = {
		Z_BLOCK, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH};
	static unsigned char right[ROOM];
	uint64_t random = support_seed();

	for (size_t i = 0; i < 3 * 4 * 3; i++) {
		size_t length = make_disk(disks[i % 3]);
		pack_gzip_blocks(disk, length - 100, EACH, i % 2 ? 1 : 6,
			flushes[i / 3 % 4]);
		const struct way *way = &ways[i / 12];
		assert_ok(unpack_by(GZIP, way, 1));
		expect_disk(length - 100);
		/* A second member is decoded by what the first one left. */
		size_t member = packed.length;
		add(packed.data, member);
		assert_ok(unpack_by(GZIP, way, 1));
		assert_int_equal(result.length, 2 * (length - 100));
		assert_memory_equal(
			result.data + length - 100, disk, length - 100);
		packed.length = member;
		for (int n = 0; n < 40; n++) {
			size_t bit = support_random(&random) %
				     (8 * (packed.length - 10));
			unsigned char *at = &packed.data[10 + bit / 8];
			*at ^= (unsigned char)(1 << bit % 8);
			int rc = unpack_by(GZIP, n % 8 ? &ways[0] : way, 1);
			bool good = zlib_completes(right, &length);
			assert_int_equal(rc == 0, good);
			if (good)
				assert_int_equal(result.length, length);
			if (good)
				assert_memory_equal(result.data, right, length);
			*at ^= (unsigned char)(1 << bit % 8);
		}
	}
}

/*
 * Two threads of liblzma have up to four blocks that it has not given. So the
 * second block is known not to be zeros when the sixth is sent, and the seventh
 * is known to be zeros when the eleventh is. Two blocks of noise follow.
 */
TEST(blocks_of_zeros_that_xz_repeats_are_unpacked_once)
{
	size_t length = make_disk("nn" ZEROS_50 "nzn" ZEROS_50);

	pack_xz_blocks(disk, length, EACH);
	by_liblzma = 0;
	assert_ok(unpack_by(XZ, &by_default, 2));
	expect_disk(length);
	assert_in_range(by_liblzma, 5 * EACH, 13 * EACH);
}

TEST(a_header_of_xz_without_memory_is_no_damage)
{
	size_t length = make_disk(ZEROS_50);

	pack_xz_blocks(disk, length, EACH);
	headers = 40;
	assert_int_equal(unpack_by(XZ, &by_default, 2), -ENOMEM);
}

/* Blocks that are repeated, zeros or not, between others. */
TEST(repeated_blocks_of_xz_have_their_content)
{
	static const char *const disks[] = {"z", "zzz" ZEROS_50, "1" ZEROS_50,
		"ffffffffff1111111111" ZEROS_50 "fff" ZEROS_10 "f1",
		ZEROS_10 "nznznznznznznznznznznznznznznznznznznznznznznznz"
			 "nznznznznznznznznznznznznznznznznznznznznznznznz",
		ZEROS_10 "fzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfz"
			 "fzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfzfz"};

	for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		size_t length = make_disk(disks[i]) - 100;
		pack_xz_blocks(disk, length, EACH);
		gives_by_any_way(XZ, disk, length);
	}
}

/* unpack() compares the messages with those of one thread. */
TEST(damage_behind_repeated_blocks_of_xz_is_found)
{
	size_t length = make_disk("n" ZEROS_50 "n");

	pack_xz_blocks(disk, length, EACH);
	/* The last block of zeros, the one of noise, the index, the footer. */
	for (size_t at = packed.length - 1; at > 0;) {
		assert_true(unpack_changed(XZ, at, 0x10) < 0);
		at -= at > packed.length - 220 ? 1 : 7;
		if (at < packed.length - 220 && at > packed.length - EACH - 250)
			at = packed.length - EACH - 250;
		if (at < packed.length - EACH - 500)
			break;
	}
	size_t whole = packed.length;
	for (size_t n = 1; n < 300; n += n < 20 ? 1 : 13) {
		packed.length = whole - n;
		refuses(XZ, &plain, -EIO, "the file is not complete");
	}
}

/* Every other block has a one, and 72 threads have more such blocks than the
 * ring of runs has room for. Each read takes an eighth of a block. */
TEST(more_blocks_of_xz_between_zeros_than_there_are_runs)
{
	static const struct way way = {ROOM, 256, 0, 0};

	memset(disk, 0, MI);
	for (size_t at = 4096; at <= MI; at += 4096)
		disk[at - 1] = 1;
	pack_xz_blocks(disk, MI, 2048);
	by_liblzma = 0;
	assert_ok(unpack_by(XZ, &way, 72));
	expect_disk(MI);
	assert_true(by_liblzma < MI);
}

/* The first block has given its zeros when its checksum is found to be wrong,
 * so the others are left out. */
TEST(a_wrong_checksum_that_xz_repeats_is_found)
{
	size_t length = make_disk(ZEROS_50);
	lzma_stream_flags footer;

	pack_xz_blocks(disk, length, EACH);
	size_t end = packed.length - LZMA_STREAM_HEADER_SIZE;
	assert_ok(lzma_stream_footer_decode(&footer, packed.data + end));
	end -= (size_t)footer.backward_size;
	size_t each = (end - LZMA_STREAM_HEADER_SIZE) / 50;
	for (size_t i = 0; i < 50; i++)
		packed.data[end - 1 - i * each] ^= 1;
	refuses(XZ, &plain, -EIO, "the data or a checksum is wrong");
}

/* One block, whose header has sizes or not. */
static void
pack_xz_block(lzma_index *index, const void *from, size_t length, bool sized)
{
	lzma_options_lzma options;
	lzma_filter filters[] = {
		{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
	lzma_block block = {.check = LZMA_CHECK_CRC32, .filters = filters};
	static unsigned char own[ROOM];
	size_t n = 0;

	lzma_lzma_preset(&options, 0);
	assert_ok(lzma_block_buffer_encode(
		&block, NULL, from, length, own, &n, ROOM));
	lzma_vli unpadded = lzma_block_unpadded_size(&block);
	unsigned header = block.header_size;
	if (!sized) {
		lzma_vli compressed = block.compressed_size;
		block.compressed_size = block.uncompressed_size =
			LZMA_VLI_UNKNOWN;
		assert_ok(lzma_block_header_size(&block));
		assert_ok(lzma_block_header_encode(
			&block, packed.data + packed.length));
		packed.length += block.header_size;
		block.compressed_size = compressed;
		unpadded = lzma_block_unpadded_size(&block);
		add(own + header, n - header);
	} else {
		add(own, n);
	}
	assert_ok(lzma_index_append(index, NULL, unpadded, length));
}

/* A disk of make_disk(). 'N' is noise in a block without sizes. */
static size_t
pack_mixed(const char *kinds)
{
	lzma_stream_flags flags = {.check = LZMA_CHECK_CRC32};
	lzma_index *index = lzma_index_init(NULL);
	char plain_kinds[200];
	size_t n = strlen(kinds);

	for (size_t i = 0; i <= n; i++)
		plain_kinds[i] = kinds[i] == 'N' ? 'n' : kinds[i];
	size_t length = make_disk(plain_kinds);
	packed.length = LZMA_STREAM_HEADER_SIZE;
	assert_ok(lzma_stream_header_encode(&flags, packed.data));
	for (size_t i = 0; i < n; i++)
		pack_xz_block(index, disk + i * EACH, EACH, kinds[i] != 'N');
	flags.backward_size = lzma_index_size(index);
	assert_ok(lzma_index_buffer_encode(
		index, packed.data, &packed.length, ROOM));
	lzma_index_end(index, NULL);
	assert_ok(
		lzma_stream_footer_encode(&flags, packed.data + packed.length));
	packed.length += LZMA_STREAM_HEADER_SIZE;
	return length;
}

/* Nothing but unpacking finds the end of a block without sizes. */
TEST(blocks_of_xz_without_sizes_may_follow_repeated_ones)
{
	size_t length = pack_mixed(
		"N" ZEROS_10 ZEROS_10 "NnN" ZEROS_10 "N" ZEROS_10 "nNNz");

	gives_by_any_way(XZ, disk, length);
	length = pack_mixed(ZEROS_10 ZEROS_10 "NnN" ZEROS_10 "nNNz");
	gives_by_any_way(XZ, disk, length);
	for (size_t at = packed.length - 1; at > 500; at -= at % 97 + 1)
		/* The last bytes of LZMA have bits that change nothing. */
		if (unpack_changed(XZ, at, 1) == 0)
			expect_disk(length);
}

/* The CRC of the footer is right, and what it says is wrong. */
TEST(a_wrong_footer_behind_repeated_blocks_of_xz_is_found)
{
	size_t length = make_disk(ZEROS_50 "n");

	pack_xz_blocks(disk, length, EACH);
	unsigned char *footer =
		packed.data + packed.length - LZMA_STREAM_HEADER_SIZE;
	lzma_stream_flags right, wrong;
	assert_ok(lzma_stream_footer_decode(&right, footer));
	for (unsigned i = 0; i < 3; i++) {
		wrong = right;
		wrong.backward_size += i == 1 ? 4 : 0;
		wrong.check = i == 2 ? LZMA_CHECK_CRC32 : right.check;
		assert_ok(lzma_stream_footer_encode(&wrong, footer));
		assert_int_equal(unpack(XZ, &plain), i ? -EIO : 0);
	}
}

/* liblzma keeps its threads and their memory within what it gets. */
TEST(the_memory_limits_the_threads_of_liblzma)
{
	static const uint64_t memory[] = {0, 400000};

	pack_members(XZ, 3, 200000);
	for (size_t i = 0; i < 2; i++) {
		struct way way = {ROOM, ROOM, memory[i], 0};
		limits = (lzma_mt){.threads = 0};
		assert_ok(unpack_by(XZ, &way, 1));
		assert_int_equal(limits.threads, 0);
		assert_ok(unpack_by(XZ, &way, 2));
		uint64_t most = i ? memory[i] : image_memory(0).unpack;
		assert_int_equal(limits.threads, 2);
		assert_null(with_threads);
		assert_int_equal(limits.memlimit_threading, most);
		assert_int_equal(limits.memlimit_stop, most);
	}
}

/* unpack() compares the messages. */
TEST(damage_in_any_member_is_reported_as_without_threads)
{
	for (size_t i = 0; i < 3; i++) {
		pack_members(threaded[i], 30, 30000);
		for (size_t member = 0; member < 30; member += 7) {
			size_t at = packed.length / 30 * member + 15000;
			int rc = unpack_changed(threaded[i], at, 0x10);
			assert_int_equal(rc, -EIO);
			expect_text("has damaged");
			expect_damage_before_offset(at);
			assert_true(result.length <= 30000 * (member + 1));
		}
	}
}

/* Threads decide which content comes in the call that finds the damage. */
TEST(content_in_front_of_damage_in_xz_is_given)
{
	pack_members(XZ, 4, 3000);
	/* in the third block, whose checksum is then wrong */
	packed.data[packed.length / 4 * 2 + 1500] ^= 0x10;
	for (unsigned threads = 1; threads < 4; threads++) {
		assert_int_equal(unpack_by(XZ, &plain, threads), -EIO);
		assert_int_equal(result.length, 9000);
		assert_memory_equal(result.data, noise(6000), 6000);
	}
}

TEST(a_file_that_ends_in_any_member_is_reported_as_without_threads)
{
	for (size_t i = 0; i < 3; i++) {
		pack_members(threaded[i], 30, 30000);
		size_t whole = packed.length;
		for (size_t n = 1; n < 30; n += 4) {
			packed.length = whole - n * 30001;
			refuses(threaded[i], &plain, -EIO,
				"the file is not complete");
		}
	}
}

TEST(damage_in_front_of_a_missing_end_is_reported)
{
	for (size_t i = 0; i < 3; i++) {
		pack_members(threaded[i], 30, 60000);
		packed.data[packed.length / 30 * 27 + 30000] ^= 0x10;
		packed.length -= 70000;
		refuses(threaded[i], &by_pages, -EIO, "has damaged");
	}
}

TEST(a_block_of_bgzip_with_a_wrong_length_has_its_content)
{
	static const int changes[] = {-65536, -1000, -1, 1, 2, 500, 65536};
	size_t length = pack_members(GZIP, 20, 30000);
	size_t second = 1 + packed.data[16] + 256 * (size_t)packed.data[17];
	int right = packed.data[second + 16] + 256 * packed.data[second + 17];

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		int wrong = right + changes[i];
		wrong = wrong < 0 ? 0 : wrong > 65535 ? 65535 : wrong;
		packed.data[second + 16] = (unsigned char)(wrong & 255);
		packed.data[second + 17] = (unsigned char)(wrong >> 8);
		gives(GZIP, &plain, noise(length), length);
	}
}

TEST(every_allocation_that_fails_with_threads_is_an_error_or_none)
{
	for (size_t i = 0; i < 2; i++) {
		size_t length = pack_members(threaded[i], 12, 65000);
		unsigned failed = 0;
		for (unsigned n = 1; n < 40; n++) {
			fail_allocation = n;
			int rc = unpack_by(threaded[i], &plain, 3);
			fail_allocation = 0;
			if (rc == 0)
				assert_int_equal(result.length, length);
			else
				assert_int_equal(rc, -ENOMEM);
			failed += rc != 0;
		}
		assert_true(failed >= 3);
	}
}

TEST(every_allocation_that_fails_is_an_error)
{
	for (enum image_packing p = GZIP; p < END; p++) {
		unsigned n = 1;
		int rc;
		pack_content(p, 3000);
		do {
			fail_allocation = n++;
			rc = unpack(p, &plain);
			bool reached = fail_allocation == 0;
			fail_allocation = 0;
			if (!reached)
				break;
			assert_int_equal(rc, -ENOMEM);
		} while (n < 100);
		assert_int_equal(rc, 0);
		assert_true(n > 2);
	}
}

TEST(a_packing_is_known_by_its_suffix)
{
	static const struct {
		const char *name;
		enum image_packing packing;
	} cases[] = {{"a.raw.gz", GZIP}, {"a.XZ", XZ}, {"d/a.qcow2.zst", ZSTD},
		{"a.bz2", IMAGE_PACKING_BZIP2}, {"a.raw", IMAGE_PACKING_NONE},
		{"gz", IMAGE_PACKING_NONE}, {"agz", IMAGE_PACKING_NONE},
		{"a.xz.raw", IMAGE_PACKING_NONE}, {"", IMAGE_PACKING_NONE},
		{"d/.gz", IMAGE_PACKING_NONE}, {".xz", IMAGE_PACKING_NONE}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t length = strlen(cases[i].name);
		bool more;
		assert_int_equal(
			image_unpack_suffix(cases[i].name, &length, &more),
			cases[i].packing);
	}
}

TEST(a_packing_is_known_by_its_magic)
{
	for (enum image_packing p = GZIP; p < END; p++) {
		pack_content(p, 10);
		assert_int_equal(image_unpack_by_magic(packed.data, 6), p);
		assert_int_equal(image_unpack_by_magic(packed.data, 2),
			IMAGE_PACKING_NONE);
		packed.data[1] ^= 1;
		assert_int_equal(image_unpack_by_magic(packed.data, 6),
			IMAGE_PACKING_NONE);
	}
	assert_int_equal(
		image_unpack_by_magic((const unsigned char *)"BZh0xx", 6),
		IMAGE_PACKING_NONE);
}

TEST(a_packing_has_a_name)
{
	for (int i = 0; i < IMAGE_PACKINGS; i++) {
		enum image_packing p = (enum image_packing)i;
		assert_int_equal(
			image_packing_by_name(image_packing_name(p)), p);
	}
	assert_int_equal(image_packing_by_name("lzip"), IMAGE_PACKINGS);
	assert_int_equal(image_packing_by_name("zst"), ZSTD);
	assert_int_equal(image_packing_by_name("gz"), GZIP);
	assert_int_equal(image_packing_by_name(".gz"), IMAGE_PACKINGS);
	assert_int_equal(image_packing_by_name(""), IMAGE_PACKINGS);
	assert_string_equal(image_packing_name(XZ), "xz");
}

/* The zeros behind the first member become a second member. */
TEST(a_disk_that_is_unpacked_twice_has_its_size_twice)
{
	static const struct image_open how = {
		.packing = GZIP, .sized = true, .threads = 1};
	struct image_store *store;
	struct image_error err;

	for (int grows = 0; grows < 2; grows++) {
		packed.length = 0;
		pack_gzip(noise(EACH), EACH);
		size_t first = packed.length;
		add_zeros(64);
		assert_ok(memory_store_open(
			packed.data, packed.length, "disk", &store, &err));
		assert_ok(image_unpack_store(&store, &how, &err));
		assert_int_equal(store->size, EACH);
		if (grows) {
			packed.length = first;
			pack_gzip("more", 4);
		}
		assert_int_equal(
			image_blocks_drain(store, &err), grows ? -EIO : 0);
		if (grows)
			assert_non_null(strstr(err.text, "its stated size is"));
		image_store_close(store);
	}
}
