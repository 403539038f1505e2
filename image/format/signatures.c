/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds signatures of other formats in the file of an image, or in a disk that
 * becomes a raw file. A file of two formats is a risk: one program checks the
 * first format, and another program reads the second.
 */
#include <inttypes.h>
#include <string.h>
#include "format/bytes.h"
#include "format/formats.h"

static const struct signature {
	const char *name;
	bool from_end;
	uint64_t offset;
	const char *magic;
	size_t length;
	bool in_raw;
} signatures[] = {
#define IMAGE_SIGNATURE(name, from_end, offset, magic, in_raw)                 \
	{name, from_end, offset, magic, sizeof(magic) - 1, in_raw},
#include "format/signatures.def"
#undef IMAGE_SIGNATURE
};

#define IMAGE_SIGNATURE(name, from_end, offset, magic, in_raw)                 \
	_Static_assert((from_end) || (offset) + sizeof(magic) - 1 <=           \
					     IMAGE_SIGNATURES_END,             \
		"data of a disk may lie at the offset of the signature "       \
		"of " name);
#include "format/signatures.def"
#undef IMAGE_SIGNATURE

#define COUNT (sizeof(signatures) / sizeof(signatures[0]))
#define MAX_MAGIC 16

struct search {
	/* the searched bytes: the disk of the source, or the file of the
	 * store */
	struct image_source *source;
	struct image_scratch scratch;
	struct image_store *store;
	/* NULL: the store has the bytes */
	const struct image_ends *ends;
	uint64_t size;
	const struct image_format *format;
	/* the searched bytes begin as a disk begins */
	bool disk;
	/* ignore signatures that a disk may begin with */
	bool leave_disks;
	uint64_t faults;
	/* the first signature found */
	const char *name;
	uint64_t offset;
};

static void
note(struct search *search, const char *name, uint64_t offset)
{
	if (search->faults++ == 0) {
		search->name = name;
		search->offset = offset;
	}
}

static int
read_bytes(struct search *search, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	struct image_source *source = search->source;

	if (source)
		return source->ops->read(
			source, &search->scratch, offset, buf, length, err);
	if (!search->ends)
		return image_store_read(
			search->store, offset, buf, length, err);
	image_ends_read(search->ends, offset, buf, length);
	return 0;
}

/* Set *offset to the place of the signature; *found to whether it is there. */
static int
look_for(struct search *search, const struct signature *s, uint64_t *offset,
	bool *found, struct image_error *err)
{
	uint64_t size = search->size;
	unsigned char bytes[MAX_MAGIC];

	*found = false;
	/* a subtraction, because a sum may overflow */
	if (size < s->offset || (!s->from_end && size - s->offset < s->length))
		return 0;
	*offset = s->from_end ? size - s->offset : s->offset;
	int rc = read_bytes(search, *offset, bytes, s->length, err);
	*found = rc == 0 && memcmp(bytes, s->magic, s->length) == 0;
	return rc;
}

#define ZIP_END "PK\5\6"   /* APPNOTE.TXT 4.3.16: end of central directory */
#define ZIP_ENTRY "PK\1\2" /* 4.3.12: an entry of the central directory */
#define ZIP_END_SIZE 22
#define ZIP_COMMENT_MAX 65535

/*
 * Set *closes if the record at `end` closes an archive whose directory precedes
 * the record.
 */
static int
closes_zip(struct search *search, const unsigned char *record, uint64_t end,
	bool *closes, struct image_error *err)
{
	uint64_t directory = image_le32(record + 12);
	unsigned char entry[4];

	*closes = false;
	if (directory < sizeof(entry) || directory > end)
		return 0;
	int rc = read_bytes(search, end - directory, entry, sizeof(entry), err);
	if (rc == 0)
		*closes = memcmp(entry, ZIP_ENTRY, sizeof(entry)) == 0;
	return rc;
}

/*
 * A zip archive is read from the end of the file, and any bytes may precede the
 * archive. Its comment must reach the end of the file: otherwise every zip that
 * a guest stored in the last 64 KiB of an image would be found.
 */
static int
look_for_zip(struct search *search, struct image_error *err)
{
	unsigned char tail[ZIP_END_SIZE + ZIP_COMMENT_MAX];
	size_t length = search->size < sizeof(tail) ? (size_t)search->size
						    : sizeof(tail);
	uint64_t begin = search->size - length;
	bool closes = false;

	int rc = read_bytes(search, begin, tail, length, err);
	for (size_t i = 0; rc == 0 && !closes && i + ZIP_END_SIZE <= length;
		i++) {
		if (memcmp(tail + i, ZIP_END, 4) != 0 ||
			i + ZIP_END_SIZE + image_le16(tail + i + 20) != length)
			continue;
		rc = closes_zip(search, tail + i, begin + i, &closes, err);
		if (closes)
			note(search, "zip", begin + i);
	}
	return rc;
}

static int
look(struct search *search, const unsigned char *head, size_t length,
	struct image_error *err)
{
	const struct image_format *other = image_format_by_magic(head, length);
	const struct image_foreign *foreign =
		image_foreign_by_magic(head, length);

	/* Before the formats: QCOW version 1 has the magic of qcow2. */
	if (foreign && !(foreign->in_disk && search->leave_disks))
		note(search, foreign->name, 0);
	else if (other && other != search->format)
		note(search, other->name, 0);
	for (size_t i = 0; i < COUNT; i++) {
		const struct signature *s = &signatures[i];
		/* The last bytes of a format with a footer are the footer. */
		if ((search->disk && !s->in_raw) ||
			(search->format->footer && s->from_end))
			continue;
		uint64_t offset;
		bool found;
		int rc = look_for(search, s, &offset, &found, err);
		if (rc < 0)
			return rc;
		if (found)
			note(search, s->name, offset);
	}
	return search->disk ? 0 : look_for_zip(search, err);
}

#define MBR_SIZE 512
#define MBR_ENTRIES 446
#define MBR_ENTRY_SIZE 16
#define MBR_PROTECTIVE 0xee
#define MBR_BOOTABLE 0x80

/*
 * The protective MBR of a GPT has one partition, in its first entry, from
 * sector 1 on. With other partitions, the disk has two partition tables, and
 * each program chooses one of them. A sector without the protective partition
 * is not checked: the boot sector of a file system ends with the same two bytes
 * and has code in place of the entries.
 */
static void
check_mbr(const unsigned char *head, struct image_verdict *verdict)
{
	/* entries with a partition; whose boot flag is not valid */
	unsigned used = 0, bad_flags = 0;
	/* number of the last protective entry, from 1 on */
	unsigned number = 0;
	uint32_t first_sector = 0;

	for (unsigned i = 0; i < 4; i++) {
		const unsigned char *entry =
			head + MBR_ENTRIES + i * (size_t)MBR_ENTRY_SIZE;
		bad_flags += entry[0] != 0 && entry[0] != MBR_BOOTABLE;
		used += entry[4] != 0;
		if (entry[4] == MBR_PROTECTIVE) {
			number = i + 1;
			first_sector = image_le32(entry + 8);
		}
	}
	if (!number)
		return;
	if (used > 1)
		image_verdict_add(verdict, "mbr", 1,
			"protective MBR of a GPT has %s besides the protective "
			"one",
			IMAGE_COUNT(used - 1, "partition"));
	else if (number != 1)
		image_verdict_add(verdict, "mbr", 1,
			"protective MBR of a GPT has its partition in entry "
			"%u, not in the first",
			number);
	else if (first_sector != 1)
		image_verdict_add(verdict, "mbr", 1,
			"protective MBR of a GPT begins at sector %u, not 1",
			first_sector);
	else if (bad_flags)
		image_verdict_add(verdict, "mbr", 1,
			"protective MBR of a GPT has %s whose boot flag is "
			"neither 0x00 nor 0x80",
			IMAGE_COUNT(bad_flags, "entry"));
	else
		image_verdict_add(verdict, "mbr", 0, "%s",
			"the MBR has the protective partition only");
}

/*
 * Set *is_iso if the disk has a volume descriptor of ISO 9660. The MBR of an
 * image for discs and sticks often has the protective partition besides others,
 * or not in the first entry; OpenStack's inspector takes such a file for an ISO
 * image, and has no test of its MBR.
 */
static int
find_iso(struct search *search, bool *is_iso, struct image_error *err)
{
	uint64_t offset;
	size_t i = 0;

	while (strcmp(signatures[i].name, "ISO 9660") != 0)
		i++;
	return look_for(search, &signatures[i], &offset, is_iso, err);
}

/* Returns whether the file has the bytes of the disk at their own offsets. */
static bool
begins_as_disk(const struct image_format *format, const unsigned char *head,
	size_t length)
{
	return !format->probe ||
	       (format->footer && !format->probe(head, length));
}

int
image_check_signatures(struct image_store *store,
	const struct image_format *format, struct image_verdict *verdict,
	struct image_error *err)
{
	struct search search = {
		.store = store, .size = store->size, .format = format};
	const unsigned char *head = store->head;

	int rc = image_store_head(store, err);
	size_t length = store->head_length;
	search.disk = begins_as_disk(format, head, length);
	if (rc == 0)
		rc = look(&search, head, length, err);
	if (rc < 0)
		return rc;
	if (search.faults)
		image_verdict_add(verdict, "polyglot", search.faults,
			"has the signature of %s at offset %" PRIu64
			", but is a %s image",
			search.name, search.offset, format->name);
	else
		image_verdict_add(verdict, "polyglot", 0, "%s",
			"no signature of another format");
	if (!search.disk || length != MBR_SIZE || head[510] != 0x55 ||
		head[511] != 0xaa)
		return 0;
	bool is_iso;
	rc = find_iso(&search, &is_iso, err);
	if (rc == 0 && !is_iso)
		check_mbr(head, verdict);
	return rc;
}

/* Look at the disk that search has, which is written in search->format. */
static int
find_disguise(struct search *search, struct image_disguise *disguise,
	struct image_error *err)
{
	unsigned char head[IMAGE_HEAD_SIZE];
	size_t length = search->size < sizeof(head) ? (size_t)search->size
						    : sizeof(head);
	int rc = 0;

	*disguise = (struct image_disguise){0};
	if (!image_format_begins_as_disk(search->format))
		return 0;
	search->disk = search->leave_disks = true;
	if (length)
		rc = read_bytes(search, 0, head, length, err);
	if (rc == 0)
		rc = look(search, head, length, err);
	if (rc == 0 && search->faults)
		*disguise =
			(struct image_disguise){search->name, search->offset};
	return rc;
}

int
image_disguise(struct image_source *source, const struct image_format *format,
	struct image_disguise *disguise, struct image_error *err)
{
	struct search search = {
		.source = source, .size = source->size, .format = format};

	int rc = find_disguise(&search, disguise, err);
	image_scratch_destroy(&search.scratch);
	return rc;
}

int
image_disguise_written(struct image_sink *sink, struct image_disguise *disguise,
	struct image_error *err)
{
	struct search search = {.store = sink->store,
		.ends = sink->ends,
		.size = sink->size,
		.format = sink->format};

	return find_disguise(&search, disguise, err);
}
