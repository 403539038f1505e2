/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Move the backup GPT of a disk to another end.
 *
 *	sector	0 MBR | 1 header | array ... | partitions ... | array | header
 *	                         entries     first        last        alternate
 *
 * The primary array stays as it is, and so does its checksum. New are the size
 * in the MBR, the two headers, and the array in front of the backup header.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "codec/join.h"
#include "format/bytes.h"
#include "pipeline/patch.h"

/* From the UEFI specification 2.10, chapter 5. */
#define REVISION 0x00010000u
#define HEADER_MIN 92u
#define ENTRY_MIN 128u
#define MBR_TABLE 446
#define MBR_ENTRY 16
#define MBR_SIGNATURE 0xaa55u
#define MBR_GPT 0xeeu
/* of an array, at least this is reserved on the disk */
#define ARRAY_RESERVED 16384u

/* Most bytes of an array. */
#define ARRAY_MAX ((uint64_t)1 << 20)
/* The primary array lies here. */
#define HEAD ((size_t)2 << 20)

/* The fields of a header. */
struct gpt {
	uint64_t alternate;
	uint64_t first;
	uint64_t last;
	uint64_t entries;
	uint32_t count;
	uint32_t entry_size;
	uint32_t crc;
	uint32_t length;
};

struct move {
	const char *name;
	struct image_patched *disk;
	uint32_t sector;
	/* of the disk as it is, and as it will be */
	uint64_t sectors;
	uint64_t wanted;
	/* sectors of an array, and those that are reserved for one */
	uint64_t array;
	uint64_t reserved;
	/* the entry of the MBR that is the GPT */
	size_t mbr;
	struct gpt primary;
	struct gpt backup;
};

/* A field, and the values that it may have. */
struct range {
	const char *field;
	uint64_t value;
	uint64_t least;
	uint64_t most;
};

static int
check(const struct move *m, uint64_t sector, const struct range *ranges,
	size_t count, struct image_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct range *r = &ranges[i];
		if (r->value >= r->least && r->value <= r->most)
			continue;
		if (r->least >= r->most)
			return image_damaged(err, m->name, -EINVAL,
				"has a GPT header in sector %" PRIu64
				" whose %s is %" PRIu64 ", not %" PRIu64,
				sector, r->field, r->value, r->least);
		return image_damaged(err, m->name, -EINVAL,
			"has a GPT header in sector %" PRIu64
			" whose %s is %" PRIu64 ", not %" PRIu64 " to %" PRIu64,
			sector, r->field, r->value, r->least, r->most);
	}
	return 0;
}

static int
check_crc(const struct move *m, const char *what, uint32_t value,
	uint32_t right, struct image_error *err)
{
	if (value == right)
		return 0;
	return image_damaged(err, m->name, -EINVAL,
		"has a GPT whose CRC of the %s is 0x%08" PRIx32
		", and its bytes have 0x%08" PRIx32,
		what, value, right);
}

/* Set the checksum of a header. */
static void
sign(unsigned char *raw, uint32_t length)
{
	image_put_le32(raw + 16, 0);
	image_put_le32(raw + 16, image_crc32(raw, length));
}

/* Set the fields of a sector that is a header, and check what every header has.
 * A checksum in raw that is wrong becomes right. */
static int
parse_header(const struct move *m, unsigned char *raw, uint64_t sector,
	struct gpt *h, struct image_error *err)
{
	bool backup = sector != 1;
	const struct range length = {
		"HeaderSize", image_le32(raw + 12), HEADER_MIN, m->sector};

	if (memcmp(raw, "EFI PART", 8) != 0)
		return image_damaged(err, m->name, -EINVAL,
			"has no %s GPT header in sector %" PRIu64,
			backup ? "backup" : "primary", sector);
	int rc = check(m, sector, &length, 1, err);
	if (rc < 0)
		return rc;
	uint32_t crc = image_le32(raw + 16);
	sign(raw, (uint32_t)length.value);
	uint32_t right = image_le32(raw + 16);
	image_put_le32(raw + 16, crc);
	rc = check_crc(m, backup ? "backup header" : "primary header", crc,
		right, err);
	const struct range ranges[] = {
		{"Revision", image_le32(raw + 8), REVISION, REVISION},
		{"MyLBA", image_le64(raw + 24), sector, sector},
	};
	*h = (struct gpt){
		.alternate = image_le64(raw + 32),
		.first = image_le64(raw + 40),
		.last = image_le64(raw + 48),
		.entries = image_le64(raw + 72),
		.count = image_le32(raw + 80),
		.entry_size = image_le32(raw + 84),
		.crc = image_le32(raw + 88),
		.length = (uint32_t)length.value,
	};
	return rc < 0 ? rc : check(m, sector, ranges, 2, err);
}

/* Check the size of the array, and set its sectors. */
static int
parse_array_size(struct move *m, struct image_error *err)
{
	const struct gpt *h = &m->primary;
	const struct range sizes[] = {
		{"SizeOfPartitionEntry", h->entry_size, ENTRY_MIN, ARRAY_MAX},
		{"NumberOfPartitionEntries", h->count, 1,
			ARRAY_MAX / (h->entry_size ? h->entry_size : 1)},
	};
	int rc = check(m, 1, sizes, 2, err);
	if (rc == 0 && (h->entry_size & (h->entry_size - 1)) != 0)
		rc = image_damaged(err, m->name, -EINVAL,
			"has a GPT header in sector 1 whose "
			"SizeOfPartitionEntry is %" PRIu32
			", not a power of two",
			h->entry_size);
	if (rc < 0)
		return rc;
	m->array = ((uint64_t)h->count * h->entry_size + m->sector - 1) /
		   m->sector;
	m->reserved = ARRAY_RESERVED / m->sector;
	if (m->reserved < m->array)
		m->reserved = m->array;
	return 0;
}

static int
parse_primary(struct move *m, struct image_error *err)
{
	unsigned char *head = m->disk->head;
	struct gpt *h = &m->primary;
	uint64_t most = m->disk->head_length / m->sector;

	int rc = parse_header(m, head + m->sector, 1, h, err);
	if (rc == 0)
		rc = parse_array_size(m, err);
	if (rc < 0)
		return rc;
	const struct range places[] = {
		{"AlternateLBA", h->alternate, 2, m->sectors - 1},
		{"LastUsableLBA", h->last, 2, h->alternate - 1},
		{"FirstUsableLBA", h->first, 2, h->last},
		{"PartitionEntryLBA", h->entries, 2,
			h->first < most ? h->first : most},
	};
	rc = check(m, 1, places, 4, err);
	if (rc == 0 && h->entries + m->array > places[3].most)
		rc = image_damaged(err, m->name, -EINVAL,
			"has a GPT whose array is in the sectors %" PRIu64
			" to %" PRIu64 ", past sector %" PRIu64,
			h->entries, h->entries + m->array - 1,
			places[3].most - 1);
	return rc < 0 ? rc
		      : check_crc(m, "primary array", h->crc,
				image_crc32(head + h->entries * m->sector,
					(size_t)h->count * h->entry_size),
				err);
}

/* Compare the backup, whose header is raw, with the primary. */
static int
parse_backup(struct move *m, unsigned char *raw, struct image_error *err)
{
	const struct gpt *p = &m->primary;
	struct gpt *h = &m->backup;

	int rc = parse_header(m, raw, p->alternate, h, err);
	if (rc < 0)
		return rc;
	const struct range ranges[] = {
		{"AlternateLBA", h->alternate, 1, 1},
		{"FirstUsableLBA", h->first, p->first, p->first},
		{"LastUsableLBA", h->last, p->last, p->last},
		{"NumberOfPartitionEntries", h->count, p->count, p->count},
		{"SizeOfPartitionEntry", h->entry_size, p->entry_size,
			p->entry_size},
		{"PartitionEntryArrayCRC32", h->crc, p->crc, p->crc},
		{"PartitionEntryLBA", h->entries, p->last + 1,
			p->alternate < m->array ? 0 : p->alternate - m->array},
	};
	rc = check(m, p->alternate, ranges, 7, err);
	if (rc == 0 &&
		memcmp(raw + 56, m->disk->head + m->sector + 56, 16) != 0)
		rc = image_damaged(err, m->name, -EINVAL,
			"has a backup GPT header in sector %" PRIu64
			" whose DiskGUID is not that of the primary one",
			p->alternate);
	return rc;
}

static int
read_backup(struct move *m, struct image_error *err)
{
	struct image_source *inner = m->disk->inner;
	struct image_scratch scratch = {0};
	size_t bytes = (size_t)m->primary.count * m->primary.entry_size;
	unsigned char *buffer = malloc(bytes > m->sector ? bytes : m->sector);

	if (!buffer)
		return image_no_memory(err);
	int rc = inner->ops->read(inner, &scratch,
		m->primary.alternate * m->sector, buffer, m->sector, err);
	if (rc == 0)
		rc = parse_backup(m, buffer, err);
	if (rc == 0)
		rc = inner->ops->read(inner, &scratch,
			m->backup.entries * m->sector, buffer, bytes, err);
	if (rc == 0)
		rc = check_crc(m, "backup array", m->backup.crc,
			image_crc32(buffer, bytes), err);
	image_scratch_destroy(&scratch);
	free(buffer);
	return rc;
}

/* A hybrid MBR has partitions of its own, which other programs use. */
static int
parse_mbr(struct move *m, struct image_error *err)
{
	const unsigned char *head = m->disk->head;
	unsigned found = 0, signature = image_le16(head + 510);

	if (signature != MBR_SIGNATURE)
		return image_damaged(err, m->name, -EINVAL,
			"has a GPT and no MBR: its signature is 0x%04x, not "
			"0x%04x",
			signature, MBR_SIGNATURE);
	for (unsigned i = 0; i < 4; i++) {
		size_t at = MBR_TABLE + i * MBR_ENTRY;
		unsigned type = head[at + 4];
		if (type == 0)
			continue;
		if (type != MBR_GPT || found++)
			return image_fail(err, m->name, -ENOTSUP,
				"has a GPT and a hybrid MBR, whose entry %u has"
				" the type 0x%02x",
				i + 1, type);
		m->mbr = at;
	}
	if (!found || image_le32(head + m->mbr + 8) != 1)
		return image_fail(err, m->name, -ENOTSUP,
			"has a GPT and an MBR without an entry of the type 0xee"
			" that begins at sector 1");
	return 0;
}

/* No image file has the size of its sectors: the header is in the second one.
 */
static int
find_sector(struct move *m, struct image_error *err)
{
	static const uint32_t sizes[] = {512, 4096};

	for (int i = 0; i < 2; i++) {
		uint32_t size = sizes[i];
		if (m->disk->head_length < 2 * (size_t)size ||
			memcmp(m->disk->head + size, "EFI PART", 8) != 0)
			continue;
		if (m->sector)
			return image_fail(err, m->name, -ENOTSUP,
				"has the signature of a GPT at offset 512 and "
				"at offset 4096: its sectors may have either "
				"size");
		m->sector = size;
	}
	if (!m->sector)
		return image_fail(err, m->name, -EINVAL,
			"has no GPT to move: there is no 'EFI PART' at offset "
			"512 or 4096");
	m->sectors = m->disk->inner->size / m->sector;
	return 0;
}

/* Check that every partition lies in the usable sectors, up to `last`. */
static int
check_partitions(const struct move *m, uint64_t last, struct image_error *err)
{
	const struct gpt *h = &m->primary;
	const unsigned char *entry = m->disk->head + h->entries * m->sector;

	for (uint32_t i = 1; i <= h->count; i++, entry += h->entry_size) {
		uint64_t begin = image_le64(entry + 32);
		uint64_t end = image_le64(entry + 40);
		/* the type GUID of an entry without a partition */
		if (hone_buffer_is_zero(entry, 16))
			continue;
		if (begin < h->first || begin > end || end > h->last)
			return image_damaged(err, m->name, -EINVAL,
				"has a GPT whose partition %" PRIu32
				" has the sectors %" PRIu64 " to %" PRIu64
				", which are not in the usable %" PRIu64
				" to %" PRIu64,
				i, begin, end, h->first, h->last);
		if (end > last)
			return image_fail(err, m->name, -ENOSPC,
				"has a GPT whose partition %" PRIu32
				" ends at sector %" PRIu64
				", and LastUsableLBA of the new disk is "
				"%" PRIu64,
				i, end, last);
	}
	return 0;
}

/* Add zeros in place of sectors that the new backup GPT does not take. */
static int
clear(struct move *m, uint64_t begin, uint64_t end, struct image_error *err)
{
	uint64_t new_begin = m->wanted - 1 - m->reserved;
	uint64_t parts[2][2] = {{begin, end < new_begin ? end : new_begin},
		{begin > m->wanted ? begin : m->wanted, end}};
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++)
		if (parts[i][0] < parts[i][1])
			rc = image_patched_add(m->disk, parts[i][0] * m->sector,
				(size_t)(parts[i][1] - parts[i][0]) * m->sector,
				NULL, err);
	return rc;
}

/* A stream has its backup later: its place is that before the header. */
static int
clear_backup(struct move *m, struct image_error *err)
{
	const struct gpt *p = &m->primary;
	uint64_t begin = m->backup.entries;

	if (m->disk->base.store->forward) {
		begin = p->alternate > m->reserved ? p->alternate - m->reserved
						   : 0;
		if (begin <= p->last)
			begin = p->last + 1;
		return clear(m, begin, p->alternate + 1, err);
	}
	int rc = clear(m, begin, begin + m->array, err);
	return rc < 0 ? rc : clear(m, p->alternate, p->alternate + 1, err);
}

/* Write one of the two headers over that of the source. */
static void
set_header(
	const struct move *m, unsigned char *raw, uint64_t my, uint64_t entries)
{
	uint64_t other = my == 1 ? m->wanted - 1 : 1;

	image_put_le64(raw + 24, my);
	image_put_le64(raw + 32, other);
	image_put_le64(raw + 48, m->wanted - m->reserved - 2);
	image_put_le64(raw + 72, entries);
	sign(raw, m->primary.length);
}

static int
add_primary(struct move *m, struct image_error *err)
{
	size_t length = 2 * (size_t)m->sector;
	uint64_t sectors = m->wanted - 1;

	int rc = image_patched_add(m->disk, 0, length, m->disk->head, err);
	if (rc < 0)
		return rc;
	unsigned char *now = m->disk->patches.list[0].now;
	image_put_le32(now + m->mbr + 12,
		sectors < UINT32_MAX ? (uint32_t)sectors : UINT32_MAX);
	set_header(m, now + m->sector, 1, m->primary.entries);
	return 0;
}

static int
add_backup(struct move *m, struct image_error *err)
{
	struct image_patches *patches = &m->disk->patches;
	const unsigned char *head = m->disk->head;
	const struct gpt *p = &m->primary;
	uint64_t begin = m->wanted - 1 - m->reserved;

	int rc = image_patched_add(m->disk, begin * m->sector,
		(size_t)(m->reserved + 1) * m->sector, NULL, err);
	if (rc < 0)
		return rc;
	unsigned char *now = patches->list[patches->count - 1].now;
	memcpy(now, head + p->entries * m->sector,
		(size_t)p->count * p->entry_size);
	unsigned char *raw = now + (size_t)m->reserved * m->sector;
	memcpy(raw, head + m->sector, p->length);
	set_header(m, raw, m->wanted - 1, begin);
	return 0;
}

static int
parse(struct move *m, uint64_t size, struct image_error *err)
{
	int rc = find_sector(m, err);
	if (rc == 0)
		rc = parse_mbr(m, err);
	if (rc == 0)
		rc = parse_primary(m, err);
	if (rc == 0 && !m->disk->base.store->forward)
		rc = read_backup(m, err);
	if (rc < 0)
		return rc;
	m->wanted = size / m->sector;
	if (size % m->sector != 0)
		return image_fail(err, m->name, -EINVAL,
			"has a GPT with sectors of %" PRIu32
			" bytes, and %" PRIu64 " is not a multiple",
			m->sector, size);
	if (m->wanted < m->primary.first + m->reserved + 2)
		return image_fail(err, m->name, -ENOSPC,
			"has a GPT whose FirstUsableLBA is %" PRIu64
			", and the new disk has %" PRIu64
			" sectors, too few for a backup GPT behind it",
			m->primary.first, m->wanted);
	return check_partitions(m, m->wanted - m->reserved - 2, err);
}

int
image_source_move_gpt(
	struct image_source **source, uint64_t size, struct image_error *err)
{
	struct move m = {.name = (*source)->store->name};

	assert(!image_source_is_unsized(*source));
	int rc = image_patched_create(*source, size, HEAD, &m.disk, err);
	if (rc == 0)
		rc = parse(&m, size, err);
	if (rc == 0)
		rc = add_primary(&m, err);
	if (rc == 0)
		rc = clear_backup(&m, err);
	if (rc == 0)
		rc = add_backup(&m, err);
	if (rc < 0)
		image_patched_destroy(m.disk);
	else
		*source = &m.disk->base;
	return rc;
}
