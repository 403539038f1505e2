/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Google Compute Engine imports: a file disk.raw in a tar archive of the
 * old GNU format, packed by gzip. The disk has whole GiB.
 *
 *	gzip header
 *	deflate:  tar header of a sparse file, with the list of its data;
 *	          more of the list; the data; zeros
 *	CRC-32 and length
 *
 * The list comes first, so the extents of the source are walked twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "archive/tar.h"
#include "codec/join.h"
#include "format/bytes.h"
#include "format/source.h"

#define BLOCK TAR_BLOCK
/* tar reads and writes records of 20 blocks */
#define RECORD ((size_t)20 * BLOCK)
#define UNIT ((uint64_t)1 << 30)
/* bytes of the list that are compressed together */
#define COLLECTED ((size_t)1 << 20)
#define GZIP_HEADER 10
/* 6 is the first level whose archives are smaller than those of gzip -6 */
#define LEVEL 6

/* Offsets of the header. */
#define ENTRIES 386
#define MORE 482
#define REAL_SIZE 483
/* Entries of the header, and of each block of the list that follows. */
#define IN_HEADER 4
#define IN_BLOCK 21
#define IN_BLOCK_MORE 504
#define ENTRY ((size_t)2 * TAR_NUMBER)

struct sink {
	struct image_sink base;
	/* bytes of the list's regions, and those that came */
	uint64_t planned;
	uint64_t appended;
	/* entries of the list */
	uint64_t entries;
	/* of the next compressed byte */
	uint64_t position;
	/* of what was compressed */
	uint32_t crc;
	uint64_t length;
	/* while the list is written */
	struct image_scratch scratch;
	unsigned char *in;
	unsigned char *out;
	unsigned char *block;
	size_t used;
};

static int
gce_append(struct image_sink *sink, struct image_packed *packed,
	struct image_error *err)
{
	struct sink *s = (struct sink *)sink;

	(void)err;
	packed->host = s->position;
	s->position += packed->stored;
	s->crc = image_crc32_join(s->crc, packed->crc, packed->length);
	s->length += packed->length;
	s->appended += packed->length;
	return 0;
}

static int
drain(struct sink *s, struct image_error *err)
{
	struct image_packed packed = {.length = s->used};

	if (s->used == 0)
		return 0;
	s->used = 0;
	int rc = image_pack(&s->base.codec, &s->scratch, s->in, s->out,
		IMAGE_PACK_ROOM(COLLECTED), &packed, err);
	if (rc == 0)
		rc = gce_append(&s->base, &packed, err);
	if (rc == 0)
		rc = image_store_write(s->base.store, packed.host, s->out,
			(size_t)packed.stored, err);
	return rc;
}

/* Returns the next block of the list, of zeros; NULL after a failure. */
static unsigned char *
next_block(struct sink *s, int *rc, struct image_error *err)
{
	if (s->used == COLLECTED)
		*rc = drain(s, err);
	if (*rc < 0)
		return NULL;
	s->used += BLOCK;
	return memset(s->in + s->used - BLOCK, 0, BLOCK);
}

/* Put an entry of the list into the header, or into a block after it. */
static int
put_entry(struct sink *s, unsigned char *header, uint64_t index,
	uint64_t offset, uint64_t length, struct image_error *err)
{
	unsigned char *to = header + ENTRIES + index % IN_HEADER * ENTRY;
	int rc = 0;

	if (index >= IN_HEADER) {
		uint64_t in_block = (index - IN_HEADER) % IN_BLOCK;
		if (in_block == 0)
			s->block = next_block(s, &rc, err);
		if (rc < 0)
			return rc;
		to = s->block + in_block * ENTRY;
		s->block[IN_BLOCK_MORE] =
			s->entries - index > IN_BLOCK - in_block;
	}
	tar_put_number(to, offset);
	tar_put_number(to + TAR_NUMBER, length);
	return 0;
}

/*
 * Walk over the list: first to count it and to fill the header, then, with
 * `rest`, to write the entries that do not fit into the header.
 */
static int
walk_data(struct sink *s, struct image_source *source, unsigned char *header,
	bool rest, struct image_error *err)
{
	uint64_t at = 0, end = s->base.size, bytes = 0, entries = 0;
	int rc = 0;

	while (rc == 0 && at < end) {
		uint64_t begin;
		rc = image_region(source, at, end, &begin, &at, err);
		/* the last entry has the end of the file, without data */
		uint64_t length = begin < at ? at - begin : 0;
		if (rc == 0 && rest == (entries >= IN_HEADER) &&
			(!rest || entries < s->entries))
			rc = put_entry(s, header, entries, begin, length, err);
		bytes += length;
		entries++;
	}
	if (rc == 0 && rest && (bytes != s->planned || entries != s->entries))
		return image_fail(err, source->store->name, -EIO,
			"has changed while it was read");
	s->planned = bytes;
	s->entries = entries;
	return rc;
}

static int
write_list(struct sink *s, struct image_source *source, struct image_error *err)
{
	static const unsigned char gzip[GZIP_HEADER] = {
		0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
	unsigned char header[BLOCK] = {0};

	int rc = walk_data(s, source, header, false, err);
	if (rc == 0)
		rc = image_store_write(
			s->base.store, 0, gzip, GZIP_HEADER, err);
	if (rc < 0)
		return rc;
	s->position = GZIP_HEADER;
	const struct tar_entry entry = {
		"disk.raw", 'S', .mode = 0644, .size = s->planned};

	tar_put(header, &entry);
	header[MORE] = s->entries > IN_HEADER;
	tar_put_number(header + REAL_SIZE, s->base.size);
	tar_put_sum(header);
	memcpy(s->in, header, BLOCK);
	s->used = BLOCK;
	rc = walk_data(s, source, header, true, err);
	return rc < 0 ? rc : drain(s, err);
}

static int
gce_plan(struct image_sink *sink, struct image_source *source, size_t memory,
	struct image_error *err)
{
	struct sink *s = (struct sink *)sink;
	int rc = -ENOMEM;

	(void)memory;
	if (source->store->forward)
		return image_fail(err, source->store->name, -ENOTSUP,
			"is read as a stream, and an archive of -O gce begins "
			"with the list of the data of the whole disk; convert "
			"it to a raw file first, and that file to gce");
	s->in = malloc(COLLECTED);
	s->out = malloc(IMAGE_PACK_ROOM(COLLECTED));
	if (s->in && s->out)
		rc = write_list(s, source, err);
	else
		image_no_memory(err);
	image_scratch_destroy(&s->scratch);
	free(s->in);
	free(s->out);
	/* what was appended counts from here on */
	s->appended = 0;
	return rc;
}

/* The zeros that end an archive are the last part of the stream. */
static int
gce_finish(struct image_sink *sink, struct image_error *err)
{
	static const unsigned char zeros[2 * RECORD];
	struct sink *s = (struct sink *)sink;
	struct image_scratch scratch = {0};
	unsigned char out[BLOCK];
	size_t tail = RECORD - (size_t)(s->length % RECORD);

	if (s->appended != s->planned)
		return image_fail(err, sink->store->name, -EIO,
			"lacks data: the source has changed while it was read");
	tail += tail < (size_t)2 * BLOCK ? RECORD : 0;
	int64_t n = image_compress(
		&sink->codec, &scratch, zeros, tail, out, sizeof(out) - 8);
	image_scratch_destroy(&scratch);
	if (n <= 0)
		return image_no_memory(err);
	uint32_t crc = image_crc32_join(s->crc, image_crc32(zeros, tail), tail);
	uint64_t end = (uint64_t)crc | (s->length + tail) << 32;
	image_put_le64(out + n, end);
	return image_store_write(
		sink->store, s->position, out, (size_t)n + 8, err);
}

static const struct image_sink_ops gce_ops = {
	.plan = gce_plan,
	.append = gce_append,
	.finish = gce_finish,
};

static int
gce_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err)
{
	uint64_t size = create->size ? create->size : 1;

	if (store->fixed)
		return image_fail(err, store->name, -ENOTSUP,
			"has a fixed size; a packed archive is written to a "
			"file");
	if (!create->unsized && size > INT64_MAX - UNIT)
		return image_fail(err, store->name, -EFBIG,
			"would have a disk that is larger than any file");
	struct sink *s = calloc(1, sizeof(*s));
	if (!s)
		return image_no_memory(err);
	s->base = (struct image_sink){.ops = &gce_ops,
		.format = &image_format_gce,
		.store = store,
		.size = (size + UNIT - 1) / UNIT * UNIT,
		.codec = {.id = IMAGE_CODEC_ZLIB,
			.level = create->level ? create->level : LEVEL}};
	*out = &s->base;
	return 0;
}

/* The archive is not read as an image: image/archive/ has its members. */
const struct image_format image_format_gce = {
	.name = "gce",
	.suffixes = "",
	.streams = true,
	.create = gce_create,
};
