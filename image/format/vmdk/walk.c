/* SPDX-License-Identifier: BSD-3-Clause */
/* The markers of a streamOptimized image: of a file, they are compared with its
 * tables; of a stream, they are followed, since its tables come last. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <hone/zero.h>
#include "format/vmdk/vmdk.h"

/* Read bytes of the file, if it has all of them. */
static int
read_if_there(const struct vmdk_extent *extent, uint64_t at, void *raw,
	size_t length, bool *there, struct image_error *err)
{
	uint64_t reached;

	int rc = image_store_reach(extent->store, at, length, &reached, err);
	*there = rc == 0 && reached == length;
	return *there ? image_store_read(extent->store, at, raw, length, err)
		      : rc;
}

/* Xen Orchestra counts tables in overHead that it does not write, and begins
 * behind the descriptor. */
static int
first_marker(
	const struct vmdk_extent *extent, uint64_t *at, struct image_error *err)
{
	const struct vmdk_header *h = &extent->header;
	uint64_t end = vmdk_begin(h);
	unsigned char raw[VMDK_SECTOR];
	bool there;

	*at = h->overhead;
	if (end >= h->overhead)
		return 0;
	int rc = read_if_there(extent, end, raw, sizeof(raw), &there, err);
	if (rc == 0 && there && !hone_buffer_is_zero(raw, sizeof(raw)))
		*at = end;
	return rc;
}

/*
 * Xen Orchestra has one marker for all tables, others one for each. The entries
 * of a table lie behind the header, so that no table begins as a marker.
 */
static int
count_tables(const struct vmdk_extent *extent, uint64_t at, uint64_t *count,
	struct image_error *err)
{
	const struct vmdk_header *h = &extent->header;
	unsigned char raw[16];
	bool there;

	int rc = read_if_there(extent, at + vmdk_align(vmdk_table_bytes(h)),
		raw, sizeof(raw), &there, err);
	bool marker = rc == 0 && there && image_le32(raw + 8) == 0 &&
		      image_le32(raw + 12) >= VMDK_GRAIN_TABLE &&
		      image_le32(raw + 12) <= VMDK_FOOTER;
	*count = marker || !there ? 1 : h->tables;
	return rc;
}

/* Most entries of a grain directory, and most tables: 4 bytes for each grain of
 * a full file of 2 TiB. */
#define MAX_DIRECTORY ((uint64_t)1 << 20)
#define MAX_TABLES 65536

/* Most tables that are kept until the directory comes, because they are not
 * behind their grains: those of 128 GiB of a disk take 8 MiB. */
#define MAX_KEPT 4096

#define WRITE_FIRST "; write it to a file first"

/* A grain table of the image that came. */
struct passed {
	uint32_t sector;
	/* NULL, or the entries of a table that is not equal to the one of the
	 * last grain */
	uint32_t *entries;
	/* grains before this one were known when the table came */
	uint64_t known;
};

struct vmdk_walk {
	pthread_mutex_t mutex;
	const struct vmdk_extent *extent;
	/* not NULL: the grains are compared with its tables, and the members
	 * about tables and known grains are not used */
	struct vmdk_source *compared;
	/* grains that were compared, and the offset of the footer's marker */
	uint64_t grains;
	uint64_t end;
	/* vmdk_check() reads the tables once more */
	bool keeps_tables;
	/* offset of the next marker */
	uint64_t at;
	/* grains before this one are known */
	uint64_t known;
	/* the footer came and was checked */
	bool ended;
	/* tables made by the markers; NULL: no grains */
	uint32_t **tables;
	uint64_t n_tables;
	struct passed *passed;
	uint64_t n_passed;
	uint64_t passed_room;
	/* those with entries */
	uint64_t n_kept;
	/* the grain directory of the image, and its offset */
	uint32_t *directory;
	uint64_t directory_at;
	/* not 0: the first failure */
	int rc;
	struct image_error err;
};

struct marker {
	uint64_t value;
	uint32_t size;
	uint32_t type;
};

static const char *
name_of(const struct vmdk_walk *w)
{
	return w->extent->store->name;
}

static size_t
table_bytes(const struct vmdk_walk *w)
{
	return (size_t)vmdk_table_bytes(&w->extent->header);
}

int
vmdk_walk_create(const struct vmdk_extent *extent, bool keep_tables,
	struct vmdk_walk **out, struct image_error *err)
{
	const struct vmdk_header *h = &extent->header;

	if (!(h->flags & VMDK_COMPRESSED) || h->tables > MAX_DIRECTORY)
		return image_fail(err, extent->store->name, -ESPIPE,
			"has its grain directory at its end, and comes as a "
			"stream" WRITE_FIRST);
	struct vmdk_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return image_no_memory(err);
	pthread_mutex_init(&w->mutex, NULL);
	w->extent = extent;
	w->keeps_tables = keep_tables;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): a table of pointers */
	w->tables = calloc((size_t)h->tables + 1, sizeof(*w->tables));
	int rc = w->tables ? first_marker(extent, &w->at, err)
			   : image_no_memory(err);
	if (rc < 0)
		vmdk_walk_destroy(w);
	*out = rc < 0 ? NULL : w;
	return rc;
}

void
vmdk_walk_destroy(struct vmdk_walk *w)
{
	if (!w)
		return;
	for (uint64_t i = 0; w->tables && i < w->extent->header.tables; i++)
		free(w->tables[i]);
	for (uint64_t i = 0; i < w->n_passed; i++)
		free(w->passed[i].entries);
	free(w->tables);
	free(w->passed);
	free(w->directory);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}

/* A grain: the table has to have it at the same place. */
static int
compare_grain(struct vmdk_walk *w, const struct marker *m)
{
	const struct vmdk_extent *e = w->extent;
	uint64_t grain = vmdk_grain(e) / VMDK_SECTOR;
	struct vmdk_run run = {.kind = VMDK_HOLE};

	if (m->value % grain == 0 && m->value < e->header.capacity) {
		int rc = vmdk_lookup(
			w->compared, m->value * VMDK_SECTOR, 1, &run, &w->err);
		if (rc < 0)
			return rc;
	}
	if (run.kind != VMDK_PACKED || run.host != w->at)
		return image_damaged(&w->err, name_of(w), -EINVAL,
			"marker at sector %" PRIu64 " has the grain of disk "
			"sector %" PRIu64 ", which the grain tables do not "
			"have there",
			w->at / VMDK_SECTOR, m->value);
	w->at += vmdk_align(VMDK_GRAIN_MARKER + (uint64_t)m->size);
	w->grains++;
	return 0;
}

static int
add_grain(struct vmdk_walk *w, const struct marker *m)
{
	const struct vmdk_header *h = &w->extent->header;
	uint64_t grain = vmdk_grain(w->extent) / VMDK_SECTOR;
	uint64_t index = m->value / grain;

	if (w->compared)
		return compare_grain(w, m);
	if (m->value % grain != 0 || m->value >= h->capacity)
		return image_damaged(&w->err, name_of(w), -EINVAL,
			"marker at sector %" PRIu64 " has disk sector %" PRIu64
			", where no grain begins",
			w->at / VMDK_SECTOR, m->value);
	if (index < w->known)
		return image_fail(&w->err, name_of(w), -ESPIPE,
			"comes as a stream, and its grains are not in the "
			"order of the disk" WRITE_FIRST);
	uint32_t **table = &w->tables[index / h->entries];
	if (!*table) {
		if (w->n_tables++ == MAX_TABLES)
			return image_fail(&w->err, name_of(w), -EFBIG,
				"comes as a stream, and has more than %d grain "
				"tables" WRITE_FIRST,
				MAX_TABLES);
		*table = calloc(h->entries, sizeof(**table));
		if (!*table)
			return image_no_memory(&w->err);
	}
	(*table)[index % h->entries] = htole32((uint32_t)(w->at / VMDK_SECTOR));
	w->known = index + 1;
	w->at += vmdk_align(VMDK_GRAIN_MARKER + (uint64_t)m->size);
	return 0;
}

/* Pass a marker that has `bytes` behind it. Xen Orchestra counts 0 sectors. */
static int
walk_marker(struct vmdk_walk *w, const struct marker *m, const char *what,
	size_t bytes)
{
	uint64_t length = vmdk_align(bytes);

	if (m->value && m->value != length / VMDK_SECTOR)
		return image_damaged(&w->err, name_of(w), -EINVAL,
			"marker at sector %" PRIu64
			" has a %s of %s, not %" PRIu64,
			w->at / VMDK_SECTOR, what,
			IMAGE_COUNT(m->value, "sector"), length / VMDK_SECTOR);
	if (!w->keeps_tables)
		image_store_release(w->extent->store, w->at, VMDK_SECTOR);
	w->at += VMDK_SECTOR;
	return 0;
}

/* Read what a marker has behind it, and pass its sectors. */
static int
read_behind(struct vmdk_walk *w, void *to, size_t bytes)
{
	struct image_store *store = w->extent->store;
	uint64_t length = vmdk_align(bytes);

	int rc = image_store_read(store, w->at, to, bytes, &w->err);
	if (rc == 0 && !w->keeps_tables)
		image_store_release(store, w->at, length);
	w->at += length;
	return rc;
}

/* A grain table of the image: it is expected behind its grains. */
static int
add_table(struct vmdk_walk *w)
{
	uint32_t entries[VMDK_TABLE_ENTRIES];
	uint64_t last =
		w->known ? (w->known - 1) / w->extent->header.entries : 0;
	uint64_t sector = w->at / VMDK_SECTOR;

	if (w->n_passed == 2 * (uint64_t)MAX_TABLES)
		return image_fail(&w->err, name_of(w), -EFBIG,
			"comes as a stream, and has more than %d grain "
			"tables" WRITE_FIRST,
			2 * MAX_TABLES);
	int rc = image_grow(&w->passed, &w->passed_room, w->n_passed + 1,
		sizeof(*w->passed), &w->err);
	if (rc == 0)
		rc = read_behind(w, entries, table_bytes(w));
	if (rc < 0)
		return rc;
	struct passed *p = &w->passed[w->n_passed];
	*p = (struct passed){.sector = (uint32_t)sector, .known = w->known};
	w->n_passed++;
	if (w->tables[last] &&
		memcmp(entries, w->tables[last], table_bytes(w)) == 0)
		return 0;
	/* The entries are kept until the directory comes. */
	if (w->n_kept++ == MAX_KEPT)
		return image_fail(&w->err, name_of(w), -EFBIG,
			"comes as a stream, and has more than %d grain tables "
			"that are not behind their grains" WRITE_FIRST,
			MAX_KEPT);
	p->entries = malloc(table_bytes(w));
	if (!p->entries)
		return image_no_memory(&w->err);
	memcpy(p->entries, entries, table_bytes(w));
	return 0;
}

static int
add_tables(struct vmdk_walk *w, const struct marker *m)
{
	const struct vmdk_extent *e = w->extent;
	uint64_t count = 1;

	int rc = walk_marker(w, m, "grain table", table_bytes(w));
	if (rc == 0 && m->value == 0)
		rc = count_tables(e, w->at, &count, &w->err);
	if (w->compared)
		w->at += count * vmdk_align(table_bytes(w));
	for (; rc == 0 && count && !w->compared; count--)
		rc = add_table(w);
	return rc;
}

static int
add_directory(struct vmdk_walk *w, const struct marker *m)
{
	size_t bytes = (size_t)w->extent->header.tables * sizeof(*w->directory);
	uint64_t sector = w->at / VMDK_SECTOR;

	int rc = walk_marker(w, m, "grain directory", bytes);
	if (rc < 0)
		return rc;
	if (w->compared) {
		w->at += vmdk_align(bytes);
		return 0;
	}
	if (w->directory)
		return image_damaged(&w->err, name_of(w), -EINVAL,
			"marker at sector %" PRIu64
			" has a second grain directory",
			sector);
	w->directory = malloc(bytes + 1);
	if (!w->directory)
		return image_no_memory(&w->err);
	w->directory_at = w->at;
	return read_behind(w, w->directory, bytes);
}

static int
compare_passed(const void *sector, const void *passed)
{
	uint32_t a = *(const uint32_t *)sector;
	uint32_t b = ((const struct passed *)passed)->sector;
	return (a > b) - (a < b);
}

/* Returns whether the table is complete: no grain of it came afterwards. */
static bool
is_complete(const struct vmdk_walk *w, const struct passed *p, uint64_t index)
{
	uint32_t entries = w->extent->header.entries;
	const uint32_t *made = w->tables[index];

	if (!made || p->known == 0 || (p->known - 1) / entries != index)
		return false;
	for (uint64_t i = p->known; i / entries == index; i++)
		if (made[i % entries])
			return false;
	return true;
}

static bool
agrees(const struct vmdk_walk *w, uint64_t index)
{
	static const uint32_t zeros[VMDK_TABLE_ENTRIES];
	const uint32_t *made = w->tables[index] ? w->tables[index] : zeros;
	uint32_t sector = le32toh(w->directory[index]);

	if (!sector)
		return !w->tables[index];
	const struct passed *p =
		!w->n_passed ? NULL
			     : bsearch(&sector, w->passed, w->n_passed,
				       sizeof(*w->passed), compare_passed);
	if (!p || !p->entries)
		return p && is_complete(w, p, index);
	return memcmp(p->entries, made, table_bytes(w)) == 0;
}

static int
walk_end(struct vmdk_walk *w)
{
	unsigned char raw[3 * VMDK_SECTOR];
	struct image_store *store = w->extent->store;
	struct vmdk_header header = w->extent->header;
	uint64_t reached;

	int rc = image_store_read(store, w->at, raw, sizeof(raw), &w->err);
	if (rc == 0)
		rc = vmdk_parse_footer(raw, name_of(w), &header, &w->err);
	if (rc < 0)
		return rc;
	/* A disk without bytes has no directory. */
	if (header.tables &&
		(!w->directory || header.directory != w->directory_at))
		return image_damaged(&w->err, name_of(w), -EINVAL,
			"gdOffset %" PRIu64
			" of its footer is not that of the grain directory",
			header.directory / VMDK_SECTOR);
	for (uint64_t i = 0; i < header.tables; i++)
		if (!agrees(w, i))
			return image_damaged(&w->err, name_of(w), -EINVAL,
				"grain table %" PRIu64
				" differs from the markers of the grains",
				i);
	rc = image_store_reach(
		store, w->at + sizeof(raw), VMDK_SECTOR, &reached, &w->err);
	if (rc == 0 && reached == VMDK_SECTOR)
		rc = image_damaged(&w->err, name_of(w), -EINVAL,
			"has data behind the end of the stream at sector "
			"%" PRIu64,
			w->at / VMDK_SECTOR + 3);
	if (rc == 0) {
		w->ended = true;
		w->known = UINT64_MAX;
	}
	return rc;
}

/* Read the next marker, which the stream has to have. */
static int
read_marker(struct vmdk_walk *w, unsigned char *raw, size_t length)
{
	struct image_store *store = w->extent->store;
	uint64_t reached;

	int rc = image_store_reach(
		store, 0, (size_t)w->at + length, &reached, &w->err);
	if (rc < 0)
		return rc;
	if (reached == w->at + length)
		return image_store_read(store, w->at, raw, length, &w->err);
	if (w->known == 0)
		return image_damaged(&w->err, name_of(w), -EIO,
			"ends at offset %" PRIu64
			", in front of its first grain: the file is not "
			"complete",
			reached);
	return image_damaged(&w->err, name_of(w), -EIO,
		"ends at offset %" PRIu64 ", %s the grain of disk offset "
		"0x%" PRIx64 ": the file is not complete",
		reached, reached < w->at && !w->directory ? "inside" : "behind",
		(w->known - 1) << w->extent->header.grain_bits);
}

/* Pass zeros, which the next sector has: some programs write them in front of
 * the tables. */
static int
skip_zeros(struct vmdk_walk *w)
{
	struct image_store *store = w->extent->store;
	unsigned char bytes[8 * VMDK_SECTOR];
	uint64_t length = VMDK_SECTOR, left = w->end - w->at;
	bool hole = false;
	int rc = 0;

	/* A stream has no known size. */
	if (w->compared) {
		length = left < sizeof(bytes) ? left : sizeof(bytes);
		rc = image_store_extent(
			store, w->at, left, &left, &hole, &w->err);
	}
	if (rc == 0 && hole && left >= sizeof(bytes)) {
		w->at += left - left % VMDK_SECTOR;
		return 0;
	}
	if (rc == 0)
		rc = read_marker(w, bytes, (size_t)length);
	if (rc < 0)
		return rc;
	size_t zeros = hone_find_nonzero(bytes, (size_t)length);
	zeros -= zeros % VMDK_SECTOR;
	if (zeros == 0)
		return image_damaged(&w->err, store->name, -EINVAL,
			"marker at sector %" PRIu64 " has no length and no "
			"type, and bytes that are not zero",
			w->at / VMDK_SECTOR);
	if (!w->compared)
		image_store_release(store, w->at, zeros);
	w->at += zeros;
	return 0;
}

static int
walk_step(struct vmdk_walk *w)
{
	unsigned char raw[16];
	struct marker m;

	int rc = read_marker(w, raw, sizeof(raw));
	if (rc < 0)
		return rc;
	/* Entries of the tables have 32 bits. */
	if (w->at / VMDK_SECTOR >= UINT32_MAX)
		return image_damaged(&w->err, name_of(w), -EINVAL,
			"has a grain or a table past 2 TiB of the file");
	m = (struct marker){
		image_le64(raw), image_le32(raw + 8), image_le32(raw + 12)};
	if (m.size)
		return add_grain(w, &m);
	switch (m.type) {
	case VMDK_END_OF_STREAM:
		return skip_zeros(w);
	case VMDK_GRAIN_TABLE:
		return add_tables(w, &m);
	case VMDK_GRAIN_DIRECTORY:
		return add_directory(w, &m);
	case VMDK_FOOTER:
		if (!w->compared)
			return walk_end(w);
		break;
	default:
		break;
	}
	return image_damaged(&w->err, name_of(w), -EINVAL,
		"marker at sector %" PRIu64 " has type %" PRIu32 " and no data",
		w->at / VMDK_SECTOR, m.type);
}

/* Follow the markers until the grain is known. Called with the mutex. */
static int
walk_advance(struct vmdk_walk *w, uint64_t grain, struct image_error *err)
{
	while (w->rc == 0 && w->known <= grain && !w->ended)
		w->rc = walk_step(w);
	/* Grains that came before a failure are valid. */
	if (w->rc == 0 || w->known > grain)
		return 0;
	*err = w->err;
	return w->rc;
}

static uint32_t
entry_of(const struct vmdk_walk *w, uint64_t grain)
{
	uint32_t entries = w->extent->header.entries;
	const uint32_t *table = w->tables[grain / entries];

	return table ? le32toh(table[grain % entries]) : 0;
}

int
vmdk_walk_lookup(struct vmdk_walk *w, uint64_t at, uint64_t limit,
	struct vmdk_run *run, struct image_error *err)
{
	const struct vmdk_header *h = &w->extent->header;
	uint64_t grain = at >> h->grain_bits;
	uint64_t end_at = at + limit, next = grain;

	pthread_mutex_lock(&w->mutex);
	int rc = walk_advance(w, grain, err);
	uint32_t entry = rc == 0 ? entry_of(w, grain) : 0;
	run->kind = entry ? VMDK_PACKED : VMDK_HOLE;
	run->host = (uint64_t)entry * VMDK_SECTOR;
	/* A hole ends with the next grain that is known. */
	do
		next += !entry && !w->tables[next / h->entries]
				? h->entries - next % h->entries
				: 1;
	while (rc == 0 && !entry && next < w->known &&
		next << h->grain_bits < end_at && !entry_of(w, next));
	pthread_mutex_unlock(&w->mutex);
	if (next << h->grain_bits < end_at)
		end_at = next << h->grain_bits;
	run->length = end_at - at;
	return rc;
}

int
vmdk_walk_finish(struct vmdk_walk *w, struct image_error *err)
{
	pthread_mutex_lock(&w->mutex);
	int rc = walk_advance(w, UINT64_MAX - 1, err);
	pthread_mutex_unlock(&w->mutex);
	return rc;
}

int
vmdk_check_markers(
	struct vmdk_source *v, uint64_t grains, struct image_error *err)
{
	const struct vmdk_extent *e = v->extents;
	struct vmdk_walk w = {.extent = e,
		.compared = v,
		.keeps_tables = true,
		.end = (e->store->size / VMDK_SECTOR - 3) * VMDK_SECTOR};

	if (!e->header.has_footer)
		return 0;
	int rc = first_marker(e, &w.at, &w.err);
	while (rc == 0 && w.at < w.end)
		rc = walk_step(&w);
	if (rc == 0 && w.at != w.end)
		rc = image_damaged(&w.err, e->store->name, -EINVAL,
			"its markers end at sector %" PRIu64
			", and its footer is at sector %" PRIu64,
			w.at / VMDK_SECTOR, w.end / VMDK_SECTOR);
	/* Each marker has a grain of its own in the tables. */
	if (rc == 0 && w.grains != grains)
		rc = image_damaged(&w.err, e->store->name, -EINVAL,
			"its grain tables have %s, and its markers %" PRIu64,
			IMAGE_COUNT(grains, "grain"), w.grains);
	if (rc < 0)
		*err = w.err;
	/* The visit of a stream compared the grains that it released. */
	return rc == -ESPIPE && e->store->forward ? 0 : rc;
}
