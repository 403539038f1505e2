/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes streamOptimized images, the kind that vSphere and OVA files have:
 *
 *   header | descriptor | grains, each table behind its grains | directory |
 *   footer | end of stream
 *
 * Each grain and each table has a marker, for writers and readers of a pipe.
 * The content ID is fixed, since it only ties a child to its parent.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include "format/vmdk/vmdk.h"

enum { ADAPTER_TYPE, HWVERSION, SUBFORMAT, OPTIONS };

const struct image_option vmdk_options[] = {
	[ADAPTER_TYPE] = {"adapter_type", IMAGE_OPTION_WORD,
		"ide lsilogic buslogic legacyESX pvscsi",
		"adapter of the virtual machine (ide)"},
	[HWVERSION] = {"hwversion", IMAGE_OPTION_NUMBER, NULL,
		"version of the virtual hardware, 3 to 99 (4)"},
	[SUBFORMAT] = {"subformat", IMAGE_OPTION_WORD, "streamOptimized",
		"always streamOptimized"},
	[OPTIONS] = {0},
};

static const char *const adapters[] = {
	"ide", "lsilogic", "buslogic", "legacyESX", "pvscsi"};

int
vmdk_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err)
{
	if (option == &vmdk_options[ADAPTER_TYPE])
		create->adapter_type = (unsigned)value;
	if (option != &vmdk_options[HWVERSION])
		return 0;
	create->hw_version = (unsigned)value;
	return value >= 3 && value <= 99
		       ? 0
		       : image_fail(err, NULL, -EINVAL,
				 "hwversion %" PRIu64 " is not from 3 to 99",
				 value);
}

/* Sectors: those that VMware and QEMU use. */
#define GRAIN 128
#define DESCRIPTOR_AT 1
#define DESCRIPTOR_SIZE 20
#define OVERHEAD 128

#define GRAIN_BYTES ((uint64_t)GRAIN * VMDK_SECTOR)
/* bytes of the disk that a grain table describes */
#define COVERED (VMDK_TABLE_ENTRIES * GRAIN_BYTES)

/* A grain that deflate cannot shrink takes a sector more. */
#define MOST ((GRAIN + 1) * (size_t)VMDK_SECTOR)

/* Files are as small as those of QEMU: ./dev bench convert. */
#define LEVEL 5

/* VMDK_MAGIC, and the line ends by which a transfer as text is found. */
#define MAGIC 0x564d444bu
#define LINES 0x0a0d200au

/* Version 3 is that of streamOptimized files of VMware and QEMU. */
#define VERSION 3

/* Bytes that wait until the grains before them are written. */
struct later {
	STAILQ_ENTRY(later) next;
	uint64_t offset;
	size_t length;
	unsigned char bytes[];
};

struct sink {
	struct image_sink base;
	struct image_create create;
	/* the sector of each grain table, little-endian */
	uint32_t *directory;
	uint64_t tables;
	/* the table of the grain that was placed last, if `open` */
	uint64_t table;
	bool open;
	uint32_t entries[VMDK_TABLE_ENTRIES];
	/* the end of the file so far */
	uint64_t end;
	/* of a forward store: tables that were placed, in their order, and what
	 * was written */
	pthread_mutex_t mutex;
	STAILQ_HEAD(laters, later) laters;
	uint64_t written;
};

static struct sink *
vmdk_sink(struct image_sink *sink)
{
	return (struct sink *)sink;
}

static int64_t
vmdk_sink_encode(const struct image_sink *sink, struct image_scratch *scratch,
	uint64_t guest, const void *unit, void *to)
{
	unsigned char *out = to;

	int64_t n = image_compress_zlib(&sink->codec, scratch, unit,
		(size_t)GRAIN_BYTES, out + VMDK_GRAIN_MARKER,
		MOST - VMDK_GRAIN_MARKER);
	if (n < 0)
		return n;
	image_put_le64(out, guest / VMDK_SECTOR);
	image_put_le32(out + 8, (uint32_t)n);
	size_t used = VMDK_GRAIN_MARKER + (size_t)n;
	size_t padded = (size_t)vmdk_align(used);
	memset(out + used, 0, padded - used);
	return (int64_t)padded;
}

/* Write what follows the bytes that were written. One thread at a time. */
static int
write_laters(struct sink *s, struct image_error *err)
{
	int rc = 0;

	while (rc == 0) {
		pthread_mutex_lock(&s->mutex);
		struct later *later = STAILQ_FIRST(&s->laters);
		if (later && later->offset == s->written)
			STAILQ_REMOVE_HEAD(&s->laters, next);
		else
			later = NULL;
		pthread_mutex_unlock(&s->mutex);
		if (!later)
			return 0;
		rc = image_store_write(s->base.store, later->offset,
			later->bytes, later->length, err);
		s->written += later->length;
		free(later);
	}
	return rc;
}

static int
vmdk_sink_write(struct image_sink *sink, uint64_t host, const void *buf,
	size_t length, struct image_error *err)
{
	struct sink *s = vmdk_sink(sink);

	if (!sink->store->forward)
		return image_store_write(sink->store, host, buf, length, err);
	int rc = write_laters(s, err);
	assert(rc < 0 || host == s->written);
	if (rc == 0)
		rc = image_store_write(sink->store, host, buf, length, err);
	s->written += length;
	return rc == 0 ? write_laters(s, err) : rc;
}

/* Append a marker and what follows it; to a forward store when all before it
 * was written. */
static int
append(struct sink *s, uint32_t type, const void *bytes, size_t length,
	struct image_error *err)
{
	size_t padded = (size_t)vmdk_align(length);
	struct later *later = calloc(1, sizeof(*later) + VMDK_SECTOR + padded);

	if (!later)
		return image_no_memory(err);
	later->offset = s->end;
	later->length = VMDK_SECTOR + padded;
	image_put_le64(later->bytes, padded / VMDK_SECTOR);
	image_put_le32(later->bytes + 12, type);
	if (length)
		memcpy(later->bytes + VMDK_SECTOR, bytes, length);
	s->end += later->length;
	if (s->base.store->forward) {
		pthread_mutex_lock(&s->mutex);
		STAILQ_INSERT_TAIL(&s->laters, later, next);
		pthread_mutex_unlock(&s->mutex);
		return 0;
	}
	int rc = image_store_write(
		s->base.store, later->offset, later->bytes, later->length, err);
	free(later);
	return rc;
}

/* Give the directory this many entries, or leave it longer. */
static int
grow(struct sink *s, uint64_t tables, struct image_error *err)
{
	if (tables <= s->tables)
		return 0;
	uint32_t *directory =
		realloc(s->directory, (size_t)tables * sizeof(*directory));
	if (!directory)
		return image_no_memory(err);
	memset(directory + s->tables, 0,
		(size_t)(tables - s->tables) * sizeof(*directory));
	s->directory = directory;
	s->tables = tables;
	return 0;
}

static int
finish_table(struct sink *s, struct image_error *err)
{
	if (!s->open)
		return 0;
	s->open = false;
	/* The size of a disk that comes through a pipe is not known yet. */
	if (s->base.size == IMAGE_SIZE_UNKNOWN &&
		grow(s, s->table + s->table / 2 + 1, err) < 0)
		return -ENOMEM;
	s->directory[s->table] = htole32((uint32_t)(s->end / VMDK_SECTOR + 1));
	return append(s, VMDK_GRAIN_TABLE, s->entries, sizeof(s->entries), err);
}

static int
vmdk_sink_reserve(struct image_sink *sink, struct image_place *place,
	struct image_error *err)
{
	struct sink *s = vmdk_sink(sink);
	uint64_t table = place->guest / COVERED;

	assert(place->compressed && place->guest % GRAIN_BYTES == 0);
	assert(place->stored % VMDK_SECTOR == 0);
	int rc = table != s->table ? finish_table(s, err) : 0;
	if (rc < 0)
		return rc;
	/* Also the place of the table has to be 32 bits. */
	if ((s->end + MOST) / VMDK_SECTOR + 1 > UINT32_MAX)
		return image_fail(err, sink->store->name, -EFBIG,
			"would be larger than 2 TiB, which a VMDK file cannot "
			"be");
	if (!s->open)
		memset(s->entries, 0, sizeof(s->entries));
	s->open = true;
	s->table = table;
	s->entries[place->guest / GRAIN_BYTES % VMDK_TABLE_ENTRIES] =
		htole32((uint32_t)(s->end / VMDK_SECTOR));
	place->host = s->end;
	s->end += place->stored;
	return 0;
}

/* Set the size and the directory that follows from it. */
static int
vmdk_sink_resize(
	struct image_sink *sink, uint64_t size, struct image_error *err)
{
	if (size > VMDK_MAX_DIRECTORY * COVERED)
		return image_fail(err, sink->store->name, -EFBIG,
			"a disk of %" PRIu64 " bytes is larger than VMDK "
			"allows",
			size);
	size = vmdk_align(size);
	sink->size = size;
	return grow(
		vmdk_sink(sink), size / COVERED + (size % COVERED != 0), err);
}

/* directory: the sector, or VMDK_AT_END. */
static void
put_header(const struct sink *s, unsigned char *to, uint64_t directory)
{
	memset(to, 0, VMDK_SECTOR);
	image_put_le32(to, MAGIC);
	image_put_le32(to + 4, VERSION);
	image_put_le32(to + 8, VMDK_NEWLINES | VMDK_COMPRESSED | VMDK_MARKERS);
	image_put_le64(to + 12, s->base.size / VMDK_SECTOR);
	image_put_le64(to + 20, GRAIN);
	image_put_le64(to + 28, DESCRIPTOR_AT);
	image_put_le64(to + 36, DESCRIPTOR_SIZE);
	image_put_le32(to + 44, VMDK_TABLE_ENTRIES);
	image_put_le64(to + 56, directory);
	image_put_le64(to + 64, OVERHEAD);
	image_put_le32(to + 73, LINES);
	image_put_le16(to + 77, VMDK_DEFLATE);
}

/* Those that BIOSes of virtual machines show, with 63 sectors: 16 heads for
 * IDE, and 255 for SCSI. */
static uint64_t
cylinders(uint64_t size, unsigned heads)
{
	uint64_t most = heads == 16 ? 16383 : 65535;
	uint64_t n = size / ((uint64_t)heads * 63 * VMDK_SECTOR);

	return n < 1 ? 1 : n > most ? most : n;
}

/* The file name is that which VMware gives each disk that it exports. */
static void
put_descriptor(const struct sink *s, char *to, size_t room)
{
	const char *adapter = adapters[s->create.adapter_type];
	unsigned heads = s->create.adapter_type == 0 ? 16 : 255;

	memset(to, 0, room);
	int n = snprintf(to, room,
		"# Disk DescriptorFile\n"
		"version=1\n"
		"CID=7b6f6e65\n"
		"parentCID=ffffffff\n"
		"createType=\"streamOptimized\"\n"
		"\n"
		"# Extent description\n"
		"RW %" PRIu64 " SPARSE \"call-me-stream.vmdk\"\n"
		"\n"
		"# The Disk Data Base\n"
		"#DDB\n"
		"\n"
		"ddb.virtualHWVersion = \"%u\"\n"
		"ddb.geometry.cylinders = \"%" PRIu64 "\"\n"
		"ddb.geometry.heads = \"%u\"\n"
		"ddb.geometry.sectors = \"63\"\n"
		"ddb.adapterType = \"%s\"\n",
		s->base.size / VMDK_SECTOR,
		s->create.hw_version ? s->create.hw_version : 4,
		cylinders(s->base.size, heads), heads, adapter);
	assert((size_t)n < room);
	(void)n;
}

static int
write_head(struct sink *s, struct image_error *err)
{
	unsigned char head[(DESCRIPTOR_AT + DESCRIPTOR_SIZE) * VMDK_SECTOR];

	put_header(s, head, VMDK_AT_END);
	put_descriptor(
		s, (char *)head + VMDK_SECTOR, sizeof(head) - VMDK_SECTOR);
	return image_store_write(s->base.store, 0, head, sizeof(head), err);
}

static int
vmdk_sink_finish(struct image_sink *sink, struct image_error *err)
{
	struct sink *s = vmdk_sink(sink);
	unsigned char footer[VMDK_SECTOR];

	int rc = finish_table(s, err);
	uint64_t directory = s->end / VMDK_SECTOR + 1;
	uint64_t tables = (sink->size + COVERED - 1) / COVERED;
	if (rc == 0)
		rc = append(s, VMDK_GRAIN_DIRECTORY, s->directory,
			(size_t)tables * sizeof(*s->directory), err);
	put_header(s, footer, directory);
	if (rc == 0)
		rc = append(s, VMDK_FOOTER, footer, sizeof(footer), err);
	if (rc == 0)
		rc = append(s, VMDK_END_OF_STREAM, NULL, 0, err);
	if (rc == 0 && sink->store->forward)
		rc = write_laters(s, err);
	/* Last: a file without a header is not an image. */
	else if (rc == 0)
		rc = write_head(s, err);
	return rc;
}

static void
vmdk_sink_close(struct image_sink *sink)
{
	struct sink *s = vmdk_sink(sink);
	struct later *later;

	while ((later = STAILQ_FIRST(&s->laters))) {
		STAILQ_REMOVE_HEAD(&s->laters, next);
		free(later);
	}
	pthread_mutex_destroy(&s->mutex);
	free(s->directory);
	free(s);
}

static const struct image_sink_ops vmdk_sink_ops = {
	.reserve = vmdk_sink_reserve,
	.encode = vmdk_sink_encode,
	.write = vmdk_sink_write,
	.resize = vmdk_sink_resize,
	.finish = vmdk_sink_finish,
	.close = vmdk_sink_close,
};

static int
check_store(const struct image_store *store, const struct image_create *create,
	struct image_error *err)
{
	if (store->fixed)
		return image_fail(err, store->name, -EINVAL,
			"keeps its size, and a VMDK image ends with a footer "
			"at the end of the file");
	if (store->forward && create->unsized)
		return image_fail(err, store->name, -EINVAL,
			"a VMDK image begins with the size of the disk, which "
			"only the end of the source tells; write to a file");
	return 0;
}

static int
vmdk_sink_begin(struct sink *s, struct image_error *err)
{
	struct image_codec *codec = &s->base.codec;

	if (codec->level == 0 && !codec->fast)
		codec->level = LEVEL;
	int rc = image_codec_init(codec, err);
	if (rc == 0 && s->create.unsized)
		s->base.size = IMAGE_SIZE_UNKNOWN;
	else if (rc == 0)
		rc = vmdk_sink_resize(&s->base, s->create.size, err);
	return rc == 0 && s->base.store->forward ? write_head(s, err) : rc;
}

int
vmdk_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err)
{
	*out = NULL;
	int rc = check_store(store, create, err);
	if (rc < 0)
		return rc;
	struct sink *s = calloc(1, sizeof(*s));
	if (!s)
		return image_no_memory(err);
	s->base = (struct image_sink){
		.ops = &vmdk_sink_ops,
		.format = &image_format_vmdk,
		.store = store,
		.unit = GRAIN_BYTES,
		.compress = true,
		.most = MOST,
		.codec = {.id = IMAGE_CODEC_ZLIB,
			.level = create->level,
			.small_window = create->small_window,
			.fast = create->fast},
	};
	s->create = *create;
	s->end = s->written = (uint64_t)OVERHEAD * VMDK_SECTOR;
	pthread_mutex_init(&s->mutex, NULL);
	STAILQ_INIT(&s->laters);
	rc = vmdk_sink_begin(s, err);
	if (rc < 0) {
		vmdk_sink_close(&s->base);
		return rc;
	}
	*out = &s->base;
	return 0;
}
