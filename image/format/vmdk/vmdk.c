/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a VMDK image, and the files that its descriptor names. */
#include <errno.h>
#include <iconv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <hone/zero.h>
#include "format/formats.h"
#include "format/source.h"
#include "format/vmdk/vmdk.h"
#include "memory.h"

/* Returns the name of a kind of extent that is not supported, or NULL. */
static const char *
other_kind(const unsigned char *head, size_t length)
{
	/* seSparse: constMagic 0xcafebabe, a number of 64 bits */
	if (length >= 8 && memcmp(head, "\xbe\xba\xfe\xca\0\0\0", 8) == 0)
		return "seSparse";
	return length >= 4 && memcmp(head, "COWD", 4) == 0 ? "COWD" : NULL;
}

static int
parse_kind(const unsigned char *raw, const char *name, struct vmdk_header *h,
	struct image_error *err)
{
	uint32_t compression = image_le16(raw + 77);

	if (memcmp(raw, VMDK_MAGIC, 4) != 0)
		return image_fail(err, name, -EINVAL,
			"is not a VMDK image (first bytes %02x %02x %02x %02x)",
			raw[0], raw[1], raw[2], raw[3]);
	h->version = image_le32(raw + 4);
	if (h->version < 1 || h->version > 3)
		return image_fail(err, name, -EINVAL,
			"version %" PRIu32 " of VMDK is not 1, 2 or 3",
			h->version);
	h->flags = image_le32(raw + 8);
	if (h->flags & ~VMDK_KNOWN_FLAGS)
		return image_fail(err, name, -ENOTSUP,
			"flags 0x%08" PRIx32 " of VMDK have unknown bits",
			h->flags);
	if (memcmp(raw + 73, "\n \r\n", 4) != 0)
		return image_damaged(err, name, -EINVAL,
			"its line ends at offset 73 were changed, as by a "
			"transfer as text");
	if (compression > VMDK_DEFLATE)
		return image_fail(err, name, -ENOTSUP,
			"compressAlgorithm %" PRIu32 " is neither 0 nor 1",
			compression);
	bool packed = h->flags & VMDK_COMPRESSED;
	if (packed != (compression == VMDK_DEFLATE) ||
		packed != !!(h->flags & VMDK_MARKERS))
		return image_fail(err, name, -ENOTSUP,
			"flags 0x%08" PRIx32 " and compressAlgorithm %" PRIu32
			" contradict each other: compressed grains have "
			"markers",
			h->flags, compression);
	return 0;
}

static int
parse_geometry(const unsigned char *raw, const char *name,
	struct vmdk_header *h, struct image_error *err)
{
	uint64_t grain = image_le64(raw + 20);

	h->capacity = image_le64(raw + 12);
	if (h->capacity > INT64_MAX / VMDK_SECTOR)
		return image_damaged(err, name, -EINVAL,
			"capacity %" PRIu64 " in sectors is too large",
			h->capacity);
	if (grain < VMDK_MIN_GRAIN || grain > VMDK_MAX_GRAIN ||
		(grain & (grain - 1)) != 0)
		return image_fail(err, name, -ENOTSUP,
			"grainSize %" PRIu64
			" is not a power of two from 8 to 4096",
			grain);
	h->grain_bits = (unsigned)__builtin_ctzll(grain * VMDK_SECTOR);
	h->entries = image_le32(raw + 44);
	if (h->entries < 2 || h->entries > VMDK_TABLE_ENTRIES ||
		(h->entries & (h->entries - 1)) != 0)
		return image_fail(err, name, -ENOTSUP,
			"numGTEsPerGT %" PRIu32
			" is not a power of two from 2 to 512",
			h->entries);
	uint64_t covered = grain * h->entries;
	h->tables = h->capacity / covered + (h->capacity % covered != 0);
	if (h->tables > VMDK_MAX_DIRECTORY)
		return image_fail(err, name, -EFBIG,
			"capacity %" PRIu64 " in sectors needs a grain "
			"directory of %" PRIu64 " entries, more than %" PRIu64,
			h->capacity, h->tables, VMDK_MAX_DIRECTORY);
	return 0;
}

static int
parse_places(const unsigned char *raw, const char *name, struct vmdk_header *h,
	struct image_error *err)
{
	h->at_end = image_le64(raw + 56) == VMDK_AT_END;
	const struct {
		const char *name;
		size_t at;
		uint64_t *bytes;
		bool used;
	} fields[] = {
		{"descriptorOffset", 28, &h->descriptor, true},
		{"descriptorSize", 36, &h->descriptor_bytes, true},
		{"rgdOffset", 48, &h->redundant,
			(h->flags & VMDK_REDUNDANT) && !h->at_end},
		{"gdOffset", 56, &h->directory, !h->at_end},
		{"overHead", 64, &h->overhead, true},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint64_t sectors =
			fields[i].used ? image_le64(raw + fields[i].at) : 0;
		if (sectors > INT64_MAX / VMDK_SECTOR)
			return image_damaged(err, name, -EINVAL,
				"%s %" PRIu64 " in sectors is too large",
				fields[i].name, sectors);
		*fields[i].bytes = sectors * VMDK_SECTOR;
	}
	return 0;
}

static int
parse_header(const unsigned char *raw, const char *name,
	struct vmdk_header *header, struct image_error *err)
{
	*header = (struct vmdk_header){.version = 0};
	int rc = parse_kind(raw, name, header, err);
	if (rc == 0)
		rc = parse_geometry(raw, name, header, err);
	return rc == 0 ? parse_places(raw, name, header, err) : rc;
}

/*
 * A marker without data: the sectors that follow, 0, and the type. The rest of
 * the sector is zero, as OpenStack's inspector requires.
 */
static bool
is_marker(const unsigned char *raw, uint64_t sectors, uint32_t type)
{
	return image_le64(raw) == sectors && image_le32(raw + 8) == 0 &&
	       image_le32(raw + 12) == type &&
	       hone_buffer_is_zero(raw + 16, VMDK_SECTOR - 16);
}

static bool
same_disk(const struct vmdk_header *a, const struct vmdk_header *b)
{
	return a->version == b->version && a->flags == b->flags &&
	       a->capacity == b->capacity && a->grain_bits == b->grain_bits &&
	       a->entries == b->entries && a->descriptor == b->descriptor &&
	       a->descriptor_bytes == b->descriptor_bytes &&
	       a->overhead == b->overhead;
}

int
vmdk_parse_footer(const unsigned char *raw, const char *name,
	struct vmdk_header *header, struct image_error *err)
{
	struct vmdk_header footer;

	/* Xen Orchestra counts no sector. */
	if ((!is_marker(raw, 1, VMDK_FOOTER) &&
		    !is_marker(raw, 0, VMDK_FOOTER)) ||
		!is_marker(
			raw + 2 * (size_t)VMDK_SECTOR, 0, VMDK_END_OF_STREAM) ||
		memcmp(raw + VMDK_SECTOR, VMDK_MAGIC, 4) != 0)
		return image_damaged(err, name, -EINVAL,
			"has no footer, and gdOffset of its header refers to "
			"one: the file may be cut off");
	int rc = parse_header(raw + VMDK_SECTOR, name, &footer, err);
	if (rc < 0) {
		/* The header is one that this release can read. */
		err->damaged = true;
		return rc;
	}
	if (footer.at_end)
		return image_damaged(err, name, -EINVAL,
			"gdOffset of its footer refers to a footer");
	/* A program that does not read the footer would see another disk. */
	if (!same_disk(header, &footer))
		return image_damaged(err, name, -EINVAL,
			"its header and its footer describe different disks");
	header->directory = footer.directory;
	header->redundant = footer.redundant;
	header->at_end = false;
	header->has_footer = true;
	return 0;
}

/* Read the header, and with `whole` the footer if the header refers to one;
 * otherwise header->at_end remains true. The tables may lie past the end of the
 * file. */
static int
read_header(struct image_store *store, bool whole, struct vmdk_header *header,
	struct image_error *err)
{
	unsigned char raw[3 * VMDK_SECTOR] = {0};
	uint64_t reached;

	int rc = image_store_reach(store, 0, VMDK_SECTOR, &reached, err);
	if (rc == 0 && reached < VMDK_SECTOR)
		rc = image_fail(err, store->name, -EINVAL,
			"has %s, too few for a VMDK header",
			IMAGE_COUNT(reached, "byte"));
	if (rc == 0)
		rc = image_store_read(store, 0, raw, VMDK_SECTOR, err);
	if (rc == 0)
		rc = parse_header(raw, store->name, header, err);
	if (rc < 0 || !header->at_end || !whole)
		return rc;
	if (store->size < 4 * (uint64_t)VMDK_SECTOR)
		return image_damaged(err, store->name, -EINVAL,
			"has %" PRIu64 " bytes, too few for a VMDK footer",
			store->size);
	/* The last three sectors; what follows the last sector is ignored, as
	 * QEMU does. */
	uint64_t sectors = store->size / VMDK_SECTOR;
	rc = image_store_read(
		store, (sectors - 3) * VMDK_SECTOR, raw, sizeof(raw), err);
	return rc == 0 ? vmdk_parse_footer(raw, store->name, header, err) : rc;
}

/* A letter has at most 4 bytes in UTF-8, and at least one in the other. */
#define MOST_BYTES 4

/*
 * Returns iconv's name for an encoding of VMware, or NULL. Other names are not
 * passed on: an image chose them, and iconv_open() loads a module by its name.
 */
static const char *
find_encoding(const char *name)
{
	static const struct {
		const char *vmware;
		const char *iconv;
	} rows[] = {
		{"GBK", "GBK"},
		{"GB2312", "GBK"},
		{"GB18030", "GB18030"},
		{"windows-936", "GBK"},
		{"Big5", "BIG5"},
		{"windows-950", "BIG5"},
		{"Shift_JIS", "SHIFT_JIS"},
		{"windows-932", "CP932"},
		{"EUC-JP", "EUC-JP"},
		{"EUC-KR", "EUC-KR"},
		{"windows-949", "CP949"},
		{"windows-1250", "CP1250"},
		{"windows-1251", "CP1251"},
		{"windows-1252", "CP1252"},
		{"ISO-8859-1", "ISO-8859-1"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcasecmp(name, rows[i].vmware) == 0)
			return rows[i].iconv;
	return NULL;
}

/*
 * Returns the name in UTF-8, in which most files of this machine have names.
 * The caller frees it. NULL: the descriptor has no other encoding, or the name
 * cannot be converted.
 */
static char *
utf8_name(const struct vmdk_descriptor *descriptor, const char *name)
{
	const char *from = descriptor->encoding
				   ? find_encoding(descriptor->encoding)
				   : NULL;
	size_t left = strlen(name), room = MOST_BYTES * left;
	iconv_t convert = from ? iconv_open("UTF-8", from) : (iconv_t)-1;

	if (convert == (iconv_t)-1)
		return NULL;
	char *copy = strdup(name), *at = copy;
	char *utf8 = calloc(1, room + 1), *to = utf8;
	bool whole = copy && utf8 &&
		     iconv(convert, &at, &left, &to, &room) != (size_t)-1 &&
		     left == 0;
	iconv_close(convert);
	free(copy);
	if (whole)
		return utf8;
	free(utf8);
	return NULL;
}

static int
set_size(struct vmdk_source *v, struct image_error *err)
{
	const struct vmdk_descriptor *d = &v->descriptor;
	uint64_t sectors = 0;

	if (d->count == 0)
		return image_damaged(err, v->base.store->name, -EINVAL,
			"its descriptor has no extents");
	for (size_t i = 0; i < d->count; i++)
		if (__builtin_add_overflow(
			    sectors, d->lines[i].sectors, &sectors) ||
			sectors > INT64_MAX / VMDK_SECTOR)
			return image_damaged(err, v->base.store->name, -EINVAL,
				"the extents of its descriptor have too many "
				"sectors");
	v->base.size = sectors * VMDK_SECTOR;
	return 0;
}

static bool
is_flat(const char *type)
{
	return strcmp(type, "FLAT") == 0 || strcmp(type, "VMFS") == 0;
}

static int
open_sparse(
	struct vmdk_source *v, struct vmdk_extent *e, struct image_error *err)
{
	uint64_t sectors = (e->end - e->begin) / VMDK_SECTOR;

	int rc = read_header(e->store, true, &e->header, err);
	if (rc == 0 && e->header.capacity != sectors)
		rc = image_damaged(err, e->store->name, -EINVAL,
			"has %" PRIu64 " sectors, and the extent of its "
			"descriptor has %" PRIu64,
			e->header.capacity, sectors);
	/* One file may be named by many lines. */
	v->tables += rc == 0 ? e->header.tables : 0;
	if (rc == 0 && v->tables > VMDK_MAX_DIRECTORY)
		rc = image_fail(err, v->base.store->name, -EFBIG,
			"the grain directories of its extents would have "
			"more than %" PRIu64 " entries",
			VMDK_MAX_DIRECTORY);
	return rc == 0 ? vmdk_load_directory(e, err) : rc;
}

/* Open a file by the bytes of its name, or by its letters in UTF-8. */
static int
open_named(struct vmdk_source *v, const char *name,
	const struct image_open *how, struct image_store **store,
	struct image_error *err)
{
	const char *below = how->allow_data_file;
	struct image_error of_bytes;

	int rc = image_named_open(
		v->base.store, "extent", name, below, how, store, err);
	if (rc != -ENOENT)
		return rc;
	char *utf8 = utf8_name(&v->descriptor, name);
	if (!utf8)
		return rc;
	of_bytes = *err;
	rc = image_named_open(
		v->base.store, "extent", utf8, below, how, store, err);
	free(utf8);
	if (rc == -ENOENT)
		*err = of_bytes;
	return rc;
}

static int
open_extent(struct vmdk_source *v, const struct vmdk_line *line,
	const struct image_open *how, struct vmdk_extent *e,
	struct image_error *err)
{
	if (strcmp(line->type, "ZERO") == 0) {
		e->kind = VMDK_ZERO;
		return 0;
	}
	int rc = open_named(v, line->name, how, &e->store, err);
	if (rc < 0)
		return rc;
	if (!is_flat(line->type))
		return open_sparse(v, e, err);
	e->kind = VMDK_FLAT;
	e->host = line->offset * VMDK_SECTOR;
	uint64_t length = e->end - e->begin;

	if (e->host <= e->store->size && e->store->size - e->host >= length)
		return 0;
	return image_damaged(err, e->store->name, -EINVAL,
		"has %" PRIu64 " bytes, and its descriptor has an extent of "
		"%" PRIu64 " bytes at offset %" PRIu64 " of the file",
		e->store->size, length, e->host);
}

/* What the process has open besides extents, and opens later. */
#define OTHER_FILES 256

/*
 * Check the types of the extents, and allow as many open files as they have:
 * all stay open. The usual soft limit, for programs that use select(), is 1024.
 */
static int
check_extents(const struct vmdk_source *v, const struct image_open *how,
	struct image_error *err)
{
	const struct vmdk_descriptor *d = &v->descriptor;
	const char *own = v->base.store->name, *first = NULL;
	struct rlimit limit;
	rlim_t files = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct vmdk_line *line = &d->lines[i];
		if (!is_flat(line->type) && strcmp(line->type, "SPARSE") != 0 &&
			strcmp(line->type, "ZERO") != 0)
			return image_fail(err, own, -ENOTSUP,
				"its descriptor has an extent of type %s, "
				"which is not supported",
				line->type);
		if (!first)
			first = line->name;
		files += line->name && line->sectors;
	}
	if (!how->allow_data_file && first)
		return image_fail(err, own, -EPERM,
			how->untrusted
				? "is a VMDK descriptor that names the file "
				  "'%s'; a safe image names no other file"
				: "is a VMDK descriptor, and its extent '%s' "
				  "is not opened without --allow-data-file DIR",
			IMAGE_NAME(first));
	rlim_t needed = files + OTHER_FILES;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= needed)
		return 0;
	limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (files < limit.rlim_max)
		return 0;
	return image_fail(err, own, -EMFILE,
		"its descriptor names %" PRIu64
		" files, and the hard limit of open files (ulimit -Hn) is "
		"%" PRIu64,
		(uint64_t)files, (uint64_t)limit.rlim_max);
}

/* Open the files that a descriptor names, below the directory that the user
 * allowed. */
static int
open_extents(struct vmdk_source *v, const struct image_open *how,
	struct image_error *err)
{
	const struct vmdk_descriptor *d = &v->descriptor;
	uint64_t at = 0;

	int rc = check_extents(v, how, err);
	if (rc < 0)
		return rc;
	v->extents = calloc(d->count + 1, sizeof(*v->extents));
	if (!v->extents)
		return image_no_memory(err);
	for (size_t i = 0; rc == 0 && i < d->count; i++) {
		struct vmdk_extent *e = &v->extents[v->count];
		e->begin = at;
		at += d->lines[i].sectors * VMDK_SECTOR;
		e->end = at;
		/* An extent without sectors has no byte of the disk. */
		if (e->end == e->begin)
			continue;
		v->count++;
		rc = open_extent(v, &d->lines[i], how, e, err);
	}
	if (rc == 0 && v->count && v->extents[0].kind == VMDK_SPARSE)
		v->base.unit = vmdk_grain(&v->extents[0]);
	if (rc == 0 && v->count == 1 && v->extents[0].store)
		v->base.data = v->extents[0].store;
	return rc;
}

/* Shortens a text from the image, so that the message fits into its buffer. */
#define TEXT "%.100s"

/* Extend the extent by packed grains, which vmdk_lookup() does not join, at
 * most to the end of the range of the grain table. */
static int
join_packed(struct vmdk_source *v, uint64_t limit, struct image_extent *extent,
	struct vmdk_run *run, struct image_error *err)
{
	const struct vmdk_extent *e = run->extent;
	uint64_t covered = vmdk_grain(e) * e->header.entries;
	uint64_t at = extent->offset + extent->length;
	uint64_t end = extent->offset + limit;
	uint64_t left = covered - (extent->offset - e->begin) % covered;
	int rc = 0;

	if (left > e->end - extent->offset)
		left = e->end - extent->offset;
	if (end > extent->offset + left)
		end = extent->offset + left;
	for (; rc == 0 && run->kind == VMDK_PACKED; at += run->length) {
		extent->length = at - extent->offset;
		if (at >= end)
			break;
		rc = vmdk_lookup(v, at, end - at, run, err);
	}
	return rc;
}

static int
vmdk_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	struct vmdk_source *v = vmdk_source(source);
	struct vmdk_run run = {.kind = VMDK_HOLE};
	bool hole = false;

	int rc = image_source_refused(source, err);
	if (rc == 0)
		rc = vmdk_lookup(v, offset, length, &run, err);
	/* Holes of the file need not be read. */
	if (rc == 0 && run.kind == VMDK_PLAIN)
		rc = image_store_extent(run.extent->store, run.host, run.length,
			&run.length, &hole, err);
	if (rc < 0)
		return rc;
	*extent = (struct image_extent){
		.offset = offset,
		.length = run.length,
		.kind = IMAGE_HOLE,
		.zero_cluster = run.kind == VMDK_ZEROED,
		.host = IMAGE_NO_HOST,
	};
	if (hole || run.kind == VMDK_HOLE || run.kind == VMDK_ZEROED)
		return 0;
	extent->kind = IMAGE_DATA;
	extent->compressed = run.kind == VMDK_PACKED;
	/* Offsets are those of one file. */
	if (run.extent->store == source->data && !extent->compressed)
		extent->host = run.host;
	/* The markers of a stream are followed no farther than needed. */
	return extent->compressed && !v->walk
		       ? join_packed(v, length, extent, &run, err)
		       : 0;
}

static int
vmdk_ended(struct image_source *source, struct image_error *err)
{
	struct vmdk_source *v = vmdk_source(source);

	return v->walk ? vmdk_walk_finish(v->walk, err) : 0;
}

static bool
vmdk_any(
	const struct image_source *source, image_store_test *test, void *opaque)
{
	const struct vmdk_source *v = (const struct vmdk_source *)source;
	bool found = test(source->store, opaque);

	for (size_t i = 0; i < v->count && !found; i++) {
		const struct image_store *store = v->extents[i].store;
		found = store && store != source->store && test(store, opaque);
	}
	return found;
}

static void
vmdk_info(const struct image_source *source, const struct image_reporter *r)
{
	const struct vmdk_source *v = (const struct vmdk_source *)source;
	const struct vmdk_descriptor *d = &v->descriptor;
	bool sparse = v->count && v->extents[0].kind == VMDK_SPARSE;
	char cid[16];

	snprintf(cid, sizeof(cid), "%08" PRIx32, d->cid);
	if (sparse)
		image_put_number(r, "version", v->extents[0].header.version);
	image_put_text(r, "subformat", d->create_type);
	if (source->unit)
		image_put_number(r, "cluster_size", source->unit);
	if (sparse && v->extents[0].header.flags & VMDK_COMPRESSED)
		image_put_text(r, "compression_type", "zlib");
	image_put_text(r, "cid", cid);
	image_put_text(r, "adapter_type", d->adapter_type);
	image_put_text(r, "hwversion", d->hw_version);
	image_put_text(r, "backing_file", d->parent);
}

void
vmdk_close(struct image_source *source)
{
	struct vmdk_source *v = vmdk_source(source);

	vmdk_walk_destroy(v->walk);
	for (size_t i = 0; i < v->count; i++) {
		if (v->extents[i].store != v->base.store)
			image_store_close(v->extents[i].store);
		free(v->extents[i].directory);
	}
	free(v->extents);
	vmdk_descriptor_destroy(&v->descriptor);
	image_slices_destroy(v->cache);
	free(v);
}

static const struct image_source_ops source_ops = {
	.extent = vmdk_extent,
	.read = vmdk_read,
	.ended = vmdk_ended,
	.info = vmdk_info,
	.any = vmdk_any,
	.close = vmdk_close,
};

/*
 * QEMU and OpenStack's inspector take the subformat from the first place of the
 * text with this name, which may be a comment or another value.
 */
static int
check_first_type(
	const struct vmdk_source *v, const char *text, struct image_error *err)
{
	static const char field[] = "createType=\"";
	const char *type = v->descriptor.create_type;
	const char *found = strcasestr(text, field);

	if (!type)
		return 0;
	found = found ? found + strlen(field) : "";
	size_t length = strcspn(found, "\"");
	if (found[length] && length == strlen(type) &&
		memcmp(found, type, length) == 0)
		return 0;
	return image_fail(err, v->base.store->name, -EPERM,
		"createType '" TEXT "' of its descriptor is not the first "
		"createType=\"...\" of the text, which other programs read",
		type);
}

/*
 * QEMU reads the descriptor of a sparse file at sector 1, and up to a NUL: the
 * text there has to be the one that was checked, with its end.
 */
static int
check_place(const struct vmdk_source *v, uint64_t offset, const char *text,
	size_t length, struct image_error *err)
{
	const char *name = v->base.store->name;

	if (offset == 0)
		return 0;
	if (offset != VMDK_SECTOR)
		return image_fail(err, name, -EPERM,
			"descriptorOffset %" PRIu64
			" is not 1, where other programs read the descriptor",
			offset / VMDK_SECTOR);
	if (strnlen(text, length) == length)
		return image_fail(err, name, -EPERM,
			"its descriptor has no end in its %zu bytes: other "
			"programs read on",
			length);
	return 0;
}

static int
read_descriptor(struct vmdk_source *v, uint64_t offset, uint64_t bytes,
	struct image_error *err)
{
	struct image_store *store = v->base.store;
	uint64_t reached;

	if (bytes > VMDK_MAX_DESCRIPTOR)
		bytes = VMDK_MAX_DESCRIPTOR;
	int rc = image_store_reach(store, offset, (size_t)bytes, &reached, err);
	if (rc < 0)
		return rc;
	if (offset && reached == 0)
		return image_damaged(err, store->name, -EINVAL,
			"descriptorOffset %" PRIu64
			" lies past the end of the file",
			offset / VMDK_SECTOR);
	if (offset && reached < bytes)
		return image_damaged(err, store->name, -EINVAL,
			"ends at offset %" PRIu64
			", inside its descriptor: the file is not complete",
			offset + reached);
	char *text = malloc((size_t)reached + 1);
	if (!text)
		return image_no_memory(err);
	text[reached] = '\0';
	rc = image_store_read(store, offset, text, (size_t)reached, err);
	if (rc == 0)
		rc = vmdk_parse_descriptor(text, (size_t)reached, store->name,
			v->strict, &v->descriptor, err);
	if (rc == 0)
		rc = check_place(v, offset, text, (size_t)reached, err);
	if (rc == 0)
		rc = check_first_type(v, text, err);
	free(text);
	return rc;
}

static int
check_parent(const struct vmdk_source *v, struct image_error *err)
{
	const struct vmdk_descriptor *d = &v->descriptor;

	if (d->parent_cid == VMDK_NO_PARENT && !d->parent)
		return 0;
	return image_fail(err, v->base.store->name, -EPERM,
		"its parentCID %08" PRIx32 " refers to a parent '%s', "
		"and VMDK images with a parent are not supported",
		d->parent_cid, IMAGE_NAME(d->parent ? d->parent : ""));
}

int
vmdk_check_subformat(const struct vmdk_source *v, struct image_error *err)
{
	const char *type =
		v->descriptor.create_type ? v->descriptor.create_type : "";

	if (strcmp(type, "monolithicSparse") == 0 ||
		strcmp(type, "streamOptimized") == 0)
		return 0;
	return image_fail(err, v->base.store->name, -EPERM,
		"createType '" TEXT "' of its descriptor is neither "
		"monolithicSparse nor streamOptimized",
		type);
}

/*
 * The descriptor of a sparse file that is a whole disk: its only extent is the
 * file itself, whose name may have changed.
 */
static int
check_embedded(const struct vmdk_source *v, struct image_error *err)
{
	const struct vmdk_descriptor *d = &v->descriptor;
	const char *name = v->base.store->name;

	int rc = vmdk_check_subformat(v, err);
	if (rc < 0)
		return rc;
	if (d->count != 1)
		return image_fail(err, name, -EPERM,
			"its descriptor has %zu extents, not 1", d->count);
	if (strcmp(d->lines[0].type, "SPARSE") != 0)
		return image_fail(err, name, -EPERM,
			"its descriptor has an extent of type %s, not SPARSE",
			d->lines[0].type);
	/* The file itself is the extent: no other program opens the path. */
	if (v->strict && strpbrk(d->lines[0].name, "/\\"))
		return image_fail(err, name, -EPERM,
			"its descriptor has an extent with the path '%s'",
			IMAGE_NAME(d->lines[0].name));
	/* QEMU takes such a file for a descriptor, and opens the extent. */
	if (v->base.size == 0 && d->lines[0].sectors)
		return image_fail(err, name, -EPERM,
			"capacity of its header is 0, and its descriptor has "
			"an extent of %s",
			IMAGE_COUNT(d->lines[0].sectors, "sector"));
	return check_parent(v, err);
}

static int
load_sparse(struct vmdk_source *v, const struct image_open *how, bool whole,
	struct image_error *err)
{
	struct vmdk_extent *e = calloc(1, sizeof(*e));
	struct image_store *store = v->base.store;

	if (!e)
		return image_no_memory(err);
	v->extents = e;
	v->count = 1;
	e->store = store;
	int rc = read_header(store, whole, &e->header, err);
	if (rc < 0)
		return rc;
	const struct vmdk_header *h = &e->header;
	e->end = v->base.size = h->capacity * VMDK_SECTOR;
	v->base.unit = vmdk_grain(e);
	if (h->descriptor == 0 || h->descriptor_bytes == 0)
		return image_fail(err, store->name, -ENOTSUP,
			"has no descriptor: it is one extent of a disk, and "
			"the file of its descriptor names all");
	rc = read_descriptor(v, h->descriptor, h->descriptor_bytes, err);
	v->described = rc == 0;
	if (rc == 0)
		rc = check_embedded(v, err);
	if (rc == 0 && h->at_end)
		return vmdk_walk_create(e, how->untrusted, &v->walk, err);
	return rc == 0 ? vmdk_load_directory(e, err) : rc;
}

static int
load(struct vmdk_source *v, const struct image_open *how, bool whole,
	struct image_error *err)
{
	struct image_store *store = v->base.store;

	/* Grain tables are a quarter of what L2 tables are. */
	v->cache = image_slices_create(image_memory(how->memory).tables / 4);
	if (!v->cache)
		return image_no_memory(err);
	int rc = image_store_head(store, err);
	if (rc < 0)
		return rc;
	const char *kind = other_kind(store->head, store->head_length);
	if (kind)
		return image_fail(err, store->name, -ENOTSUP,
			"is a VMDK extent of the kind %s, which is not "
			"supported",
			kind);
	if (!vmdk_is_descriptor(store->head, store->head_length))
		return load_sparse(v, how, whole || !store->forward, err);
	rc = read_descriptor(v, 0, VMDK_MAX_DESCRIPTOR, err);
	if (rc == 0)
		rc = set_size(v, err);
	v->described = rc == 0;
	if (rc == 0)
		rc = check_parent(v, err);
	return rc == 0 ? open_extents(v, how, err) : rc;
}

int
vmdk_open_source(struct image_store *store, const struct image_open *how,
	bool whole, struct image_source **out, struct image_error *err)
{
	struct vmdk_source *v = calloc(1, sizeof(*v));

	if (!v)
		return image_no_memory(err);
	v->base.ops = &source_ops;
	v->base.format = &image_format_vmdk;
	v->base.store = v->base.data = store;
	v->strict = how->untrusted;
	int rc = load(v, how, whole, err);
	if (rc == -EINVAL)
		v->base.fault = &v->base.refusal;
	if (v->described)
		rc = image_source_inspected(&v->base, how, rc, err);
	if (rc < 0) {
		vmdk_close(&v->base);
		return rc;
	}
	*out = &v->base;
	return 0;
}

static bool
vmdk_probe(const unsigned char *head, size_t length)
{
	return (length >= 4 && memcmp(head, VMDK_MAGIC, 4) == 0) ||
	       other_kind(head, length) || vmdk_is_descriptor(head, length);
}

static int
vmdk_open(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	return vmdk_open_source(store, how, false, out, err);
}

const struct image_format image_format_vmdk = {
	.name = "vmdk",
	.suffixes = ".vmdk",
	.probe = vmdk_probe,
	.open = vmdk_open,
	.check = vmdk_check,
	.options = vmdk_options,
	.set = vmdk_set,
	.compresses = true,
	.always_compresses = true,
	.streams = true,
	.create = vmdk_create,
};
