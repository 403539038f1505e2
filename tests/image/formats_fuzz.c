/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an image of each format: opened, described, read and judged. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <hone/zero.h>
#include "format/format.h"
#include "format/vhd/vhd.h"
#include "fake_memory.h"
#include "blocks/blocks.h"
#include "small_image.h"

/* Disks may be far larger than their files; as much as this is visited. */
#define MOST ((size_t)1 << 20)
#define CHUNK ((size_t)64 << 10)
#define VHD_LONGEST ((size_t)128 << 10)

/* ./dev fuzz links each of them as LLVMFuzzerTestOneInput(). */
#define TARGET(name)                                                           \
	int fuzz_##name(const uint8_t *data, size_t size);                     \
	int fuzz_##name(const uint8_t *data, size_t size)

/* Info reports text that ends, and lists that end. */
struct listing {
	size_t characters;
	int depth;
};

static void
note_field(void *opaque, const struct image_field *field)
{
	struct listing *listing = opaque;

	for (const char *at = field->text; at && *at; at++)
		listing->characters++;
	if (field->type == IMAGE_FIELD_LIST || field->type == IMAGE_FIELD_ITEM)
		listing->depth++;
	if (field->type == IMAGE_FIELD_END)
		listing->depth--;
}

/* A finding has a name and a text that ends. */
static void
note_finding(void *opaque, const struct image_finding *finding)
{
	unsigned *failed = opaque;

	if (!finding->name || strnlen(finding->text, sizeof(finding->text)) ==
				      sizeof(finding->text))
		abort();
	*failed += finding->faults != 0;
}

static struct image_store *
open_bytes(const uint8_t *data, size_t size)
{
	struct image_store *store;
	struct image_error err;

	if (memory_store_open(data, size, "bytes", &store, &err) < 0)
		abort();
	return store;
}

/* The extent at offset, and its first bytes. */
static int
visit(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, uint64_t *next)
{
	static unsigned char buf[CHUNK];
	struct image_extent extent;
	struct image_error err;

	int rc = source->ops->extent(
		source, offset, source->size - offset, &extent, &err);
	if (rc < 0)
		return rc;
	if (extent.offset != offset || extent.length == 0 ||
		extent.length > source->size - offset)
		abort();
	size_t length = extent.length < CHUNK ? (size_t)extent.length : CHUNK;
	*next = offset + length;
	rc = source->ops->read(source, scratch, offset, buf, length, &err);
	if (rc == 0 && extent.kind == IMAGE_HOLE &&
		!hone_buffer_is_zero(buf, length))
		abort();
	return rc;
}

/* inspect: as hone info does, which reads nothing of a VHD. Returns whether all
 * that is visited was read. */
static bool
visit_all(const struct image_format *format, const uint8_t *data, size_t size,
	bool inspect)
{
	bool reads = !inspect || format != &image_format_vhd;
	struct image_open how = {.format = format, .inspect = inspect};
	struct image_scratch scratch = {0};
	struct listing listing = {0};
	struct image_source *source;
	struct image_error err;
	uint64_t at = 0;
	int rc = 0;

	if (image_open_store(open_bytes(data, size), &how, &source, &err) < 0)
		return true;
	image_info(source, note_field, &listing);
	if (listing.depth != 0)
		abort();
	while (reads && rc == 0 && at < source->size && at < MOST)
		rc = visit(source, &scratch, at, &at);
	/* The end, too. */
	if (reads && source->size > MOST &&
		visit(source, &scratch, source->size - 1, &at) < 0)
		rc = -1;
	image_close(source);
	image_scratch_destroy(&scratch);
	return rc == 0;
}

/*
 * Any bytes as a qcow2 image: opened, described and read, with and without
 * image_open.inspect. What is described as a hole reads as zeros.
 */
TARGET(qcow2)
{
	visit_all(&image_format_qcow2, data, size, false);
	visit_all(&image_format_qcow2, data, size, true);
	return 0;
}

static void
set_checksum(unsigned char *raw, size_t length, size_t at)
{
	uint32_t sum = vhd_checksum(raw, length, at);

	for (int i = 3; i >= 0; i--, sum >>= 8)
		raw[at + (size_t)i] = (unsigned char)sum;
}

static void
set_checksums(unsigned char *bytes, size_t size)
{
	if (size < VHD_FOOTER)
		return;
	set_checksum(bytes + size - VHD_FOOTER, VHD_FOOTER, 64);
	if (!vhd_has_cookie(bytes, size))
		return;
	set_checksum(bytes, VHD_FOOTER, 64);
	uint64_t header = image_be64(bytes + 16);
	if (size >= VHD_HEADER && header <= size - VHD_HEADER)
		set_checksum(bytes + header, VHD_HEADER, 36);
}

/*
 * Any bytes as a VHD: opened, described and read. The checksums are set right,
 * so that the fields behind them are reached. What is described as a hole reads
 * as zeros. All was checked when the image was opened: no read fails.
 */
TARGET(vhd)
{
	static unsigned char bytes[VHD_LONGEST];

	if (size > sizeof(bytes))
		return 0;
	memcpy(bytes, data, size);
	set_checksums(bytes, size);
	if (!visit_all(&image_format_vhd, bytes, size, false))
		abort();
	visit_all(&image_format_vhd, bytes, size, true);
	return 0;
}

static struct image_store *
vmdk_open_bytes(const uint8_t *data, size_t size, bool stream)
{
	struct image_store *store = open_bytes(data, size);
	struct image_stream *bytes;
	struct image_error err;

	if (stream && (image_stream_of_store(store, &bytes, &err) < 0 ||
			      image_blocks_open(bytes, 0, &store, &err) < 0))
		abort();
	return store;
}

/* Read the first bytes of the disk. Returns the number that can be read. */
static size_t
vmdk_read_disk(struct image_source *source, unsigned char *disk)
{
	struct image_scratch scratch = {0};
	struct image_error err;
	size_t at = 0;

	while (at < source->size && at < MOST) {
		struct image_extent extent;
		uint64_t left = source->size - at;
		if (source->ops->extent(source, at, left, &extent, &err) < 0)
			break;
		if (extent.offset != at || extent.length == 0 ||
			extent.length > left)
			abort();
		size_t n =
			extent.length < CHUNK ? (size_t)extent.length : CHUNK;
		n = n < MOST - at ? n : MOST - at;
		if (source->ops->read(
			    source, &scratch, at, disk + at, n, &err) < 0)
			break;
		if (extent.kind == IMAGE_HOLE &&
			!hone_buffer_is_zero(disk + at, n))
			abort();
		at += n;
	}
	image_scratch_destroy(&scratch);
	return at;
}

/* Sets *whole if all that is visited was read, and the image is unchanged. */
static size_t
vmdk_visit(const uint8_t *data, size_t size, bool stream, unsigned char *disk,
	bool *whole)
{
	struct image_open how = {.format = &image_format_vmdk};
	struct image_source *source;
	struct image_error err;
	struct listing listing = {0};

	*whole = false;
	if (image_open_store(vmdk_open_bytes(data, size, stream), &how, &source,
		    &err) < 0)
		return 0;
	image_info(source, note_field, &listing);
	size_t length = vmdk_read_disk(source, disk);
	*whole = (length == source->size || length == MOST) &&
		 source->ops->ended(source, &err) == 0 &&
		 image_source_unchanged(source, &err) == 0;
	image_close(source);
	return length;
}

/*
 * Any bytes as a VMDK image: opened, described and read, as a file and as a
 * stream. What is described as a hole reads as zeros, and a stream that was
 * read to its end is the disk that the file is.
 */
TARGET(vmdk)
{
	static unsigned char disks[2][MOST];
	struct image_checked checked;
	unsigned failed = 0;
	struct image_verdict verdict = {
		.report = note_finding, .opaque = &failed, .checked = &checked};
	struct image_error err;
	bool whole[2];

	size_t stream = vmdk_visit(data, size, true, disks[0], &whole[0]);
	size_t file = vmdk_visit(data, size, false, disks[1], &whole[1]);
	if (whole[0] && (stream != file || !whole[1] ||
				memcmp(disks[0], disks[1], file) != 0))
		abort();
	struct image_store *store = open_bytes(data, size);
	(void)image_format_vmdk.check(store, &verdict, &err);
	image_store_close(store);
	return 0;
}

static void
check_read_tables(struct image_source *source)
{
	struct image_extent extent;
	struct image_error err;
	uint64_t at = 0;

	while (at < source->size && at < MOST) {
		if (source->ops->extent(
			    source, at, source->size - at, &extent, &err) < 0)
			abort();
		at += extent.length;
	}
	if (source->size && source->ops->extent(source, source->size - 1, 1,
				    &extent, &err) < 0)
		abort();
}

/*
 * Any bytes, judged by image_check(). What is called safe can be opened, and
 * its tables can be read: the first MiB of its disk, and the end.
 */
TARGET(check)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_checked checked;
	unsigned failed = 0;
	struct image_verdict verdict = {
		.report = note_finding, .opaque = &failed, .checked = &checked};
	struct image_source *source;
	struct image_store *store = open_bytes(data, size);
	struct image_error err;

	int rc = image_check_store(store, &how, &verdict, &err);
	if (rc == 0 && checked.safe != (failed == 0))
		abort();
	if (rc < 0 || !checked.safe) {
		image_store_close(store);
		return 0;
	}
	if (image_open_store(store, &how, &source, &err) < 0)
		abort();
	check_read_tables(source);
	image_close(source);
	return 0;
}

static const struct image_run convert_run = {
	.block = 4096, .threads = 1, .memory = 8 << 20};

static void
convert_check(int fd)
{
	struct image_open how = {0};
	struct image_checked checked;
	unsigned failed = 0;
	struct image_verdict verdict = {
		.report = note_finding, .opaque = &failed, .checked = &checked};
	struct image_store_how store_how = {0};
	struct image_store *store;
	struct image_error err;

	if (image_store_use(fd, "new", &store_how, &store, &err) < 0 ||
		image_check_store(store, &how, &verdict, &err) < 0 ||
		!checked.safe || checked.leaked_clusters ||
		checked.format != &image_format_qcow2)
		abort();
	image_store_close(store);
}

static void
convert_compare(struct image_source *source, int fd)
{
	struct image_open how = {.packing = IMAGE_PACKING_NONE};
	struct image_compared compared;
	struct image_source *copy;
	struct image_error err;

	if (image_open_fd(fd, "new", &how, &copy, &err) < 0)
		abort();
	if (image_compare(source, copy, &convert_run, &compared, &err) < 0 ||
		!compared.equal)
		abort();
	image_close(copy);
}

/* The size chooses the options: any input can meet any of them. */
static void
convert(struct image_source *source, int fd, size_t size)
{
	struct image_create create;
	struct image_write how = {0};
	struct image_copied copied;
	struct image_sink *sink;
	struct image_error err;

	image_create_init(&create);
	create.size = source->size;
	create.cluster_size = size % 2 ? 512 : 65536;
	create.compress = size % 4 < 2;
	create.codec = size % 8 < 4 ? IMAGE_CODEC_ZLIB : IMAGE_CODEC_ZSTD;
	if (image_create(fd, "new", &image_format_qcow2, &create, &how, &sink,
		    &err) < 0)
		abort();
	int rc = image_copy(source, sink, &convert_run, &copied, &err);
	if (rc == 0 &&
		(copied.data + copied.zero + copied.hole != source->size ||
			image_finish(sink, &err) < 0))
		abort();
	image_sink_close(sink);
	if (rc == 0) {
		convert_compare(source, fd);
		convert_check(fd);
	}
}

/*
 * Any bytes as a qcow2 image that is converted to another: what succeeds is
 * equal to its source, and sound.
 */
TARGET(convert)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_source *source;
	struct image_error err;

	if (image_open_store(open_bytes(data, size), &how, &source, &err) < 0)
		return 0;
	int fd = memfd_create("new", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	if (source->size <= MOST)
		convert(source, fd, size);
	close(fd);
	image_close(source);
	return 0;
}

static unsigned char tables_image[SMALL_BYTES];

/* Returns whether the image can be mapped, or its snapshot of that name. */
static bool
tables_map(const char *snapshot)
{
	struct image_open how = {
		.format = &image_format_qcow2, .snapshot = snapshot};
	struct image_source *source;
	struct image_extent e;
	struct image_error err;
	int rc = 0;

	if (image_open_store(open_bytes(tables_image, sizeof(tables_image)),
		    &how, &source, &err) < 0)
		return false;
	for (uint64_t at = 0; rc == 0 && at < source->size; at += e.length) {
		rc = source->ops->extent(
			source, at, source->size - at, &e, &err);
		if (rc == 0 && (e.offset != at || e.length == 0))
			abort();
	}
	image_close(source);
	return rc == 0;
}

static bool
tables_is_safe(void)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_checked checked;
	unsigned failed = 0;
	struct image_verdict verdict = {
		.report = note_finding, .opaque = &failed, .checked = &checked};
	struct image_store *store =
		open_bytes(tables_image, sizeof(tables_image));
	struct image_error err;

	int rc = image_check_store(store, &how, &verdict, &err);
	image_store_close(store);
	return rc == 0 && checked.safe;
}

/*
 * A sound image in memory whose header, snapshot table, bitmaps and
 * tables are changed by the input, so that nearly every input passes the first
 * checks. It is mapped by the pipeline, and judged; if it is called safe,
 * mapping succeeds.
 *
 * The first byte chooses which clusters the others are combined with (XOR).
 */
TARGET(tables)
{
	static const unsigned places[] = {SMALL_HEADER, SMALL_REFCOUNT_TABLE,
		SMALL_L1, SMALL_L2, SMALL_SNAPSHOTS, SMALL_SNAPSHOT_L1,
		SMALL_BITMAPS, SMALL_BITMAP_TABLE};

	small_image(tables_image);
	if (size) {
		size_t at = SMALL_AT(places[data[0] % 8]);
		for (size_t i = 1; i < size && at < sizeof(tables_image); i++)
			tables_image[at++] ^= data[i];
	} else if (!tables_is_safe()) {
		abort();
	}
	bool mapped = tables_map(NULL);
	tables_map("1");
	if (tables_is_safe() && !mapped)
		abort();
	return 0;
}
