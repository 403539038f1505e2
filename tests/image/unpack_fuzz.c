/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a packed file, as a stream by one thread, and as a file by
 * several. Both have the same bytes, or both are refused, as zlib alone has or
 * refuses a member of gzip. Neither takes more memory than the limit allows.
 * The first byte of the input chooses the limit, the length of reads, and
 * whether the checksums of gzip, of the headers of xz and the packed lengths in
 * the table of zstd are made right first, since few inputs would pass them.
 */
#include <errno.h>
#include <lzma.h>
#include <sanitizer/allocator_interface.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "fake_memory.h"
#include "blocks/blocks.h"
#include "format/bytes.h"
#include "unpack/unpack.h"

#define STATED "its stated size is "

/* As much of the content is read. */
#define MOST ((size_t)1 << 20)
/* Buffers and states of decoders that the limit does not count: bzip2 needs
 * 3.7 MB, and the fewest blocks of a forward store 2 MiB. */
#define BESIDE ((size_t)8 << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Atomic size_t allocated, most_allocated;

static void
count_malloc(const volatile void *p, size_t size)
{
	size_t now = atomic_fetch_add(&allocated, size) + size;
	size_t most = most_allocated;

	(void)p;
	while (now > most &&
		!atomic_compare_exchange_weak(&most_allocated, &most, now))
		;
}

static void
count_free(const volatile void *p)
{
	if (p)
		atomic_fetch_sub(&allocated,
			__sanitizer_get_allocated_size((const void *)p));
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (!__sanitizer_install_malloc_and_free_hooks(
		    count_malloc, count_free))
		abort();
	return 0;
}

/* Set the CRC and the length of one member. Returns its length, or 0. */
static size_t
repair_member(unsigned char *bytes, size_t size)
{
	unsigned char content[4096];
	z_stream stream = {.next_in = bytes, .avail_in = (uInt)size};
	uLong crc = crc32(0, NULL, 0), total = 0;
	int rc = Z_OK;

	if (inflateInit2(&stream, 15 + 16) != Z_OK)
		abort();
	inflateValidate(&stream, 0);
	while (rc == Z_OK && total < MOST) {
		stream.next_out = content;
		stream.avail_out = sizeof(content);
		rc = inflate(&stream, Z_NO_FLUSH);
		uInt n = (uInt)sizeof(content) - stream.avail_out;
		crc = crc32(crc, content, n);
		total += n;
	}
	size_t used = size - stream.avail_in;
	inflateEnd(&stream);
	if (rc != Z_STREAM_END || used < 8)
		return 0;
	image_put_le32(bytes + used - 8, (uint32_t)crc);
	image_put_le32(bytes + used - 4, (uint32_t)total);
	return used;
}

static void
repair_gzip(unsigned char *bytes, size_t size)
{
	for (size_t at = 0, n = 1; n && at < size; at += n)
		n = repair_member(bytes + at, size - at);
}

static void
repair_crc(unsigned char *from, size_t length, unsigned char *to)
{
	image_put_le32(to, lzma_crc32(from, length, 0));
}

/* Set the CRCs of the headers of blocks that the index lists. */
static void
repair_blocks(const lzma_index *index, unsigned char *bytes, size_t size)
{
	lzma_index_iter iter;

	lzma_index_iter_init(&iter, index);
	while (!lzma_index_iter_next(&iter, LZMA_INDEX_ITER_BLOCK)) {
		uint64_t at = iter.block.compressed_file_offset;
		if (at >= size || !bytes[at])
			continue;
		size_t n = lzma_block_header_size_decode(bytes[at]);
		if (n <= size - at)
			repair_crc(bytes + at, n - 4, bytes + at + n - 4);
	}
}

/* Set the CRCs of the last stream. Returns the bytes in front of it. */
static size_t
repair_stream(unsigned char *bytes, size_t size)
{
	lzma_index *index;
	uint64_t memory = MOST;
	size_t at = 0;

	if (size < 32)
		return 0;
	unsigned char *footer = bytes + size - 12;
	footer[10] = 'Y';
	footer[11] = 'Z';
	repair_crc(footer + 4, 6, footer);
	uint64_t length =
		((uint64_t)footer[4] | (uint64_t)footer[5] << 8 |
			(uint64_t)footer[6] << 16 | (uint64_t)footer[7] << 24) *
			4 +
		4;
	if (length < 8 || length > size - 24)
		return 0;
	unsigned char *start = footer - length;
	repair_crc(start, length - 4, start + length - 4);
	if (lzma_index_buffer_decode(
		    &index, &memory, NULL, start, &at, length) != LZMA_OK)
		return 0;
	uint64_t whole = lzma_index_stream_size(index);
	if (whole <= size) {
		unsigned char *head = bytes + size - whole;
		repair_crc(head + 6, 2, head + 8);
		repair_blocks(index, head, (size_t)whole);
	}
	lzma_index_end(index, NULL);
	return whole <= size ? size - (size_t)whole : 0;
}

static void
repair_xz(unsigned char *bytes, size_t size)
{
	while (size) {
		while (size >= 4 && memcmp(bytes + size - 4, "\0\0\0", 4) == 0)
			size -= 4;
		size = repair_stream(bytes, size);
	}
}

/* Let the packed lengths of rows of 8 bytes add up to what is in front of the
 * table, by those of the first row. */
static void
repair_table(unsigned char *bytes, size_t size)
{
	size_t count = size < 17 ? 0 : image_le32(bytes + size - 9);

	if (count == 0 || count > (size - 17) / 8)
		return;
	size_t first = size - 9 - 8 * count, sum = 0;
	for (size_t at = first + 8; at < size - 9; at += 8)
		sum += image_le32(bytes + at);
	image_put_le32(bytes + first, (uint32_t)(first - 8 - sum));
}

static void
repair(unsigned char *bytes, size_t size)
{
	enum image_packing packing = image_unpack_by_magic(bytes, size);

	if (packing == IMAGE_PACKING_GZIP)
		repair_gzip(bytes, size);
	if (packing == IMAGE_PACKING_XZ)
		repair_xz(bytes, size);
	if (packing == IMAGE_PACKING_ZSTD)
		repair_table(bytes, size);
}

struct content {
	unsigned char *bytes;
	size_t length;
	/* the content is longer */
	bool cut;
	int rc;
	struct image_error err;
};

/* A hole of what was read is zero. */
static void
check_hole(struct image_store *store, const unsigned char *bytes,
	uint64_t offset, size_t length)
{
	struct image_error err;
	uint64_t found;
	bool hole;

	if (image_store_extent(store, offset, length, &found, &hole, &err) <
			0 ||
		found == 0 || found > length)
		abort();
	for (size_t i = 0; hole && i < found; i++)
		if (bytes[i])
			abort();
}

/* Read up to the end or to MOST, and release what was read. */
static int
visit(struct image_store *store, size_t each, struct content *to)
{
	uint64_t reached = 1;
	int rc = 0;

	while (to->length < MOST) {
		size_t n = MOST - to->length < each ? MOST - to->length : each;
		rc = image_store_reach(
			store, to->length, n, &reached, &to->err);
		if (rc < 0 || !reached)
			break;
		if (reached > n)
			abort();
		rc = image_store_read(store, to->length, to->bytes + to->length,
			(size_t)reached, &to->err);
		if (rc < 0)
			break;
		check_hole(store, to->bytes + to->length, to->length,
			(size_t)reached);
		image_store_release(store, to->length, reached);
		to->length += (size_t)reached;
	}
	to->cut = rc == 0 && reached;
	return rc < 0 || to->cut ? rc : image_store_unchanged(store, &to->err);
}

static void
play(const unsigned char *bytes, size_t size, const struct image_open *how,
	size_t each, struct content *to)
{
	struct image_stream *from;
	struct image_store *store;
	size_t before = allocated;

	most_allocated = before;
	int rc = memory_store_open(bytes, size, "a", &store, &to->err);
	if (rc == 0 && how->threads == 1) {
		rc = image_stream_of_store(store, &from, &to->err);
		if (rc == 0)
			rc = image_blocks_open(from, 0, &store, &to->err);
	}
	if (rc < 0)
		abort();
	rc = image_unpack_store(&store, how, &to->err);
	if (rc == 0)
		rc = visit(store, each, to);
	to->rc = rc;
	image_store_close(store);
	if (most_allocated - before > how->memory + BESIDE) {
		fprintf(stderr, "%zu bytes of memory, and the limit is %zu\n",
			most_allocated - before, (size_t)how->memory);
		abort();
	}
}

static void
compare(const struct content *serial, const struct content *threads)
{
	/* What is refused for its memory can be read with less. */
	bool limited = serial->rc == -E2BIG || threads->rc == -E2BIG;
	/* A part beyond MOST can be damaged. */
	bool beyond = serial->cut && threads->rc < 0;

	if (limited || beyond || (serial->rc < 0 && threads->rc < 0))
		return;
	/* A table of zstd at the end of a file states a size; a stream has
	 * none. */
	const char *stated = strstr(threads->err.text, STATED);
	if (threads->rc == -EIO && stated &&
		strtoull(stated + strlen(STATED), NULL, 10) != serial->length)
		return;
	if (serial->rc == threads->rc && serial->length == threads->length &&
		memcmp(serial->bytes, threads->bytes, serial->length) == 0)
		return;
	fprintf(stderr, "one thread: %zu bytes, %s\nseveral: %zu bytes, %s\n",
		serial->length, serial->rc < 0 ? serial->err.text : "the end",
		threads->length,
		threads->rc < 0 ? threads->err.text : "the end");
	abort();
}

/* The first member of gzip, by zlib alone. */
static void
beside_zlib(unsigned char *bytes, size_t size, const struct content *got)
{
	static unsigned char out[MOST];
	z_stream stream = {.next_in = bytes, .avail_in = (uInt)size};

	if (image_unpack_by_magic(bytes, size) != IMAGE_PACKING_GZIP)
		return;
	if (inflateInit2(&stream, 15 + 16) != Z_OK)
		abort();
	stream.next_out = out;
	stream.avail_out = sizeof(out);
	bool whole = inflate(&stream, Z_NO_FLUSH) == Z_STREAM_END;
	size_t length = sizeof(out) - stream.avail_out;
	inflateEnd(&stream);
	size_t common = length < got->length ? length : got->length;
	/* Another member may follow, and content beyond MOST is not looked
	 * at. */
	bool alike = got->rc < 0
			     ? !whole || stream.avail_in
			     : common == length && (whole || length == MOST);
	if (alike && memcmp(out, got->bytes, common) == 0)
		return;
	fprintf(stderr, "zlib: %zu bytes, %s\nhone: %zu bytes, %s\n", length,
		whole ? "the end" : "refused", got->length,
		got->rc < 0 ? got->err.text : "the end");
	abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t each[] = {512, 4096, 65536, MOST};
	static unsigned char bytes_of[2][MOST];
	struct content serial = {.bytes = bytes_of[0]};
	struct content threads = {.bytes = bytes_of[1]};

	if (!size)
		return 0;
	unsigned way = data[0];
	struct image_open how = {
		.packing = IMAGE_PACKING_AUTO,
		.memory = (uint64_t)1 << (20 + 2 * (way & 3)),
		.threads = 1,
	};
	unsigned char *bytes = malloc(size);
	if (!bytes)
		abort();
	memcpy(bytes, data + 1, size - 1);
	if (!(way & 16))
		repair(bytes, size - 1);
	play(bytes, size - 1, &how, each[way >> 2 & 3], &serial);
	how.threads = 3;
	play(bytes, size - 1, &how, each[way >> 2 & 3], &threads);
	compare(&serial, &threads);
	beside_zlib(bytes, size - 1, &serial);
	free(bytes);
	return 0;
}
