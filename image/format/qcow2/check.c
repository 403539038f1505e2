/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tests of a qcow2 image and their report, and the references to its
 * tables.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <hone/zero.h>
#include "format/source.h"
#include "format/qcow2/check.h"

/* The faults that the tests of a qcow2 image have found so far. */

void
qcow2_fault(
	struct qcow2_check *k, enum qcow2_test test, const char *format, ...)
{
	struct qcow2_finding *finding = &k->findings[test];
	va_list args;

	if (finding->faults++)
		return;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

int
qcow2_note(struct qcow2_check *k, enum qcow2_test test, int rc,
	const struct image_error *err)
{
	if (rc != -EINVAL)
		return rc;
	qcow2_fault(k, test, "%s", err->text);
	return 0;
}

/* Reads tables, and notes the use of each cluster of the file. */

/* Set *length to the length of the hole or the data at offset, at least 16. */
static int
find_extent(struct qcow2_check *k, uint64_t offset, uint64_t limit,
	uint64_t *length, bool *hole, struct image_error *err)
{
	struct image_store *store = k->q.base.store;

	/* up to the end of the file, for the next tables */
	int rc = image_store_extent(
		store, offset, store->size - offset, length, hole, err);
	if (rc < 0)
		return rc;
	if (*length >= limit) {
		*length = limit;
		return 0;
	}
	/* An entry that is only partly in a hole is data. */
	*length &= ~(uint64_t)15;
	if (*length == 0) {
		*length = limit < 16 ? limit : 16;
		*hole = false;
	}
	return 0;
}

int
qcow2_check_words(struct qcow2_check *k, uint64_t offset, uint64_t count,
	qcow2_visit_fn visit, void *opaque, struct image_error *err)
{
	uint64_t bytes = count * 8;
	int rc = 0;

	for (uint64_t done = 0, length; rc == 0 && done < bytes;
		done += length) {
		bool hole;
		rc = find_extent(
			k, offset + done, bytes - done, &length, &hole, err);
		if (rc < 0 || hole)
			continue;
		if (length > QCOW2_CHECK_BYTES)
			length = QCOW2_CHECK_BYTES;
		rc = image_store_read(k->q.base.store, offset + done, k->words,
			(size_t)length, err);
		if (rc < 0 || hone_buffer_is_zero(k->words, (size_t)length))
			continue;
		size_t n = (size_t)length / 8;
		for (size_t i = 0; i < n; i++)
			k->words[i] = be64toh(k->words[i]);
		rc = visit(k, opaque, done / 8, k->words, n, err);
	}
	return rc;
}

/* Returns the name of a use for messages about overlaps. */
static const char *
name_of(enum qcow2_use use)
{
	static const char *const names[] = {
		[QCOW2_USE_HEADER] = "header",
		[QCOW2_USE_REFCOUNT_TABLE] = "refcount table",
		[QCOW2_USE_REFCOUNT_BLOCK] = "refcount block",
		[QCOW2_USE_L1] = "L1 table",
		[QCOW2_USE_L2] = "L2 table",
		[QCOW2_USE_SNAPSHOTS] = "snapshot table",
		[QCOW2_USE_ENCRYPTION] = "encryption header",
		[QCOW2_USE_DIRECTORY] = "bitmap directory",
		[QCOW2_USE_BITMAP_TABLE] = "bitmap table",
		[QCOW2_USE_BITMAP] = "cluster of a bitmap",
		[QCOW2_USE_DATA] = "data cluster",
		[QCOW2_USE_COMPRESSED] = "compressed cluster",
	};
	return names[use];
}

/* Clusters that several states of the disk, or several compressed clusters,
 * may share. */
static bool
may_be_shared(enum qcow2_use use)
{
	return use == QCOW2_USE_L2 || use == QCOW2_USE_DATA ||
	       use == QCOW2_USE_COMPRESSED;
}

/*
 * Returns true, and notes a fault, if the new use of the cluster conflicts with
 * its present use.
 */
static bool
overlaps(struct qcow2_check *k, uint32_t entry, enum qcow2_use use,
	uint64_t offset, bool active)
{
	enum qcow2_use other = qcow2_refs_use(entry);

	if (other == QCOW2_USE_NONE)
		return false;
	if (other != use || !may_be_shared(use)) {
		qcow2_fault(k, QCOW2_TEST_OVERLAPS,
			"%s at 0x%" PRIx64 " overlaps %s %s", name_of(use),
			offset, *name_of(other) == 'L' ? "an" : "a",
			name_of(other));
		return true;
	}
	if (active && (entry & QCOW2_REFS_ACTIVE) &&
		use != QCOW2_USE_COMPRESSED) {
		qcow2_fault(k, QCOW2_TEST_OVERLAPS,
			"%s at 0x%" PRIx64 " is used twice by the disk",
			name_of(use), offset);
		return true;
	}
	return false;
}

int
qcow2_check_use(struct qcow2_check *k, enum qcow2_use use, uint64_t offset,
	uint64_t bytes, uint32_t times, bool active, bool *clash,
	struct image_error *err)
{
	unsigned bits = k->q.header.cluster_bits;
	uint64_t end = bytes ? ((offset + bytes - 1) >> bits) + 1 : 0;

	for (uint64_t i = offset >> bits; i < end; i++) {
		uint32_t *entry;
		int rc = qcow2_refs_get(&k->refs, i, &entry, err);
		if (rc < 0)
			return rc;
		uint32_t count = qcow2_refs_count(*entry);
		if (overlaps(k, *entry, use, i << bits, active)) {
			if (clash)
				*clash = true;
		} else {
			*entry |= (uint32_t)use << QCOW2_REFS_USE_SHIFT |
				  (active ? QCOW2_REFS_ACTIVE : 0);
		}
		if (times > QCOW2_REFS_MAX - count)
			return image_fail(err, k->q.base.store->name, -E2BIG,
				"cluster at 0x%" PRIx64 " is used more than "
				"16777215 times",
				i << bits);
		*entry += times;
	}
	return 0;
}

static int
use_encryption_header(struct qcow2_check *k, struct image_error *err)
{
	const struct qcow2_header *h = &k->q.header;

	if (!h->encryption_header)
		return 0;
	int rc = qcow2_refuse_outside(k->q.base.store, h, "encryption header",
		h->encryption_offset, h->encryption_bytes, err);
	if (rc < 0)
		return qcow2_note(k, QCOW2_TEST_WELL_FORMED, rc, err);
	return qcow2_check_use(k, QCOW2_USE_ENCRYPTION, h->encryption_offset,
		h->encryption_bytes, 1, false, NULL, err);
}

static int
use_snapshots(struct qcow2_check *k, struct image_error *err)
{
	const struct qcow2_source *q = &k->q;
	int rc = qcow2_check_use(k, QCOW2_USE_SNAPSHOTS,
		q->header.snapshots_offset, q->snapshots_bytes, 1, false, NULL,
		err);

	for (uint32_t i = 0; rc == 0 && i < q->n_snapshots; i++) {
		const struct qcow2_snapshot *s = &q->snapshots[i];
		if (s->l1_entries < qcow2_l1_entries(&q->header, s->disk_size))
			qcow2_fault(k, QCOW2_TEST_SNAPSHOTS,
				"L1 table of snapshot %" PRIu32
				" has %s, too few for a disk of %s",
				i, IMAGE_COUNT(s->l1_entries, "entry"),
				IMAGE_COUNT(s->disk_size, "byte"));
		rc = qcow2_check_use(k, QCOW2_USE_L1, s->l1_offset,
			(uint64_t)s->l1_entries * 8, 1, false,
			&k->bad_l1[i + 1], err);
	}
	return rc;
}

/* Count the tables that the header and the snapshot table refer to. */
static int
qcow2_check_tables(struct qcow2_check *k, struct image_error *err)
{
	const struct qcow2_header *h = &k->q.header;

	int rc = qcow2_check_use(k, QCOW2_USE_HEADER, 0,
		UINT64_C(1) << h->cluster_bits, 1, false, NULL, err);
	if (rc == 0)
		rc = qcow2_check_use(k, QCOW2_USE_REFCOUNT_TABLE,
			h->refcount_table_offset, h->refcount_table_bytes, 1,
			false, NULL, err);
	if (rc == 0)
		rc = qcow2_check_use(k, QCOW2_USE_L1, h->l1_offset,
			(uint64_t)h->l1_entries * 8, 1, true, &k->bad_l1[0],
			err);
	if (rc == 0)
		rc = use_snapshots(k, err);
	if (rc == 0)
		rc = use_encryption_header(k, err);
	return rc;
}

/* Set the text of a test that passed. */
__attribute__((format(printf, 3, 4))) static void
remark(struct qcow2_check *k, enum qcow2_test test, const char *format, ...)
{
	struct qcow2_finding *finding = &k->findings[test];
	va_list args;

	if (finding->faults)
		return;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

static void
report(struct qcow2_check *k, enum qcow2_test first, enum qcow2_test last)
{
	static const struct {
		const char *name;
		const char *passed;
	} rows[] = {
		[QCOW2_TEST_WELL_FORMED] = {"well_formed", ""},
		[QCOW2_TEST_BACKING_FILE] = {"backing_file", "none"},
		[QCOW2_TEST_DATA_FILE] = {"data_file", "none"},
		[QCOW2_TEST_UNKNOWN_FEATURES] = {"unknown_features", "none"},
		[QCOW2_TEST_ENCRYPTION] = {"encryption", "none"},
		[QCOW2_TEST_CORRUPT] = {"corrupt", "not marked corrupt"},
		[QCOW2_TEST_SNAPSHOTS] = {"snapshots", "none"},
		[QCOW2_TEST_BITMAPS] = {"bitmaps", "none"},
		[QCOW2_TEST_OVERLAPS] = {"overlaps", "none"},
		[QCOW2_TEST_REFCOUNTS] = {"refcounts",
			"no reference count is too low"},
		[QCOW2_TEST_COPIED] = {"copied",
			"bit 63 agrees with the reference counts"},
		[QCOW2_TEST_LEAKS] = {"leaks", "none"},
	};

	for (unsigned i = first; i <= (unsigned)last; i++) {
		const struct qcow2_finding *f = &k->findings[i];
		image_verdict_add(k->verdict, rows[i].name, f->faults, "%s",
			f->text[0] ? f->text : rows[i].passed);
	}
}

/* The tests that need only the header. */
static void
check_header(struct qcow2_check *k)
{
	static const char *const methods[] = {"", "aes", "luks"};
	const struct qcow2_header *h = &k->q.header;
	uint64_t unknown = h->incompatible & ~QCOW2_KNOWN_INCOMPATIBLE;
	char feature[QCOW2_FEATURE_NAME + 32];

	if (h->size % IMAGE_SECTOR)
		qcow2_fault(k, QCOW2_TEST_WELL_FORMED,
			"size %" PRIu64
			" at byte 24 of the header is not a multiple of 512: "
			"QEMU leaves out its last %s",
			h->size, IMAGE_COUNT(h->size % IMAGE_SECTOR, "byte"));
	if (h->backing_file)
		qcow2_fault(k, QCOW2_TEST_BACKING_FILE,
			"names the backing file '%s'",
			IMAGE_NAME(h->backing_file));
	if ((h->incompatible & QCOW2_DATA_FILE) || h->data_file)
		qcow2_fault(k, QCOW2_TEST_DATA_FILE,
			"has the external data file '%s'",
			IMAGE_NAME(h->data_file ? h->data_file : ""));
	for (; unknown; unknown &= unknown - 1) {
		qcow2_feature_name(h, (unsigned)__builtin_ctzll(unknown),
			feature, sizeof(feature));
		qcow2_fault(k, QCOW2_TEST_UNKNOWN_FEATURES,
			"uses the incompatible feature %s", feature);
	}
	if (h->crypt_method)
		qcow2_fault(k, QCOW2_TEST_ENCRYPTION, "is encrypted (%s)",
			methods[h->crypt_method]);
	if (h->incompatible & QCOW2_CORRUPT)
		qcow2_fault(k, QCOW2_TEST_CORRUPT,
			"is marked corrupt (bit 1 of incompatible_features)");
}

static int
walk(struct qcow2_check *k, struct image_error *err)
{
	uint64_t clusters = (k->q.base.store->size >> k->q.header.cluster_bits);
	bool cut = k->q.base.store->size & (k->q.base.unit - 1);

	k->bad_l1 = calloc((size_t)k->q.n_snapshots + 1, sizeof(*k->bad_l1));
	/* one half for a table, one half for a second table that the first
	 * refers to */
	k->words = malloc(2 * QCOW2_CHECK_BYTES);
	int rc = qcow2_refs_init(&k->refs, clusters + cut, err);
	if (rc == 0 && (!k->bad_l1 || !k->words))
		rc = image_no_memory(err);
	if (rc == 0)
		rc = qcow2_check_tables(k, err);
	if (rc == 0)
		rc = qcow2_check_read_counts(k, err);
	if (rc == 0)
		rc = qcow2_check_bitmaps(k, err);
	if (rc == 0)
		rc = qcow2_check_l2_tables(k, err);
	if (rc == 0)
		rc = qcow2_check_clusters(k, err);
	if (rc == 0)
		rc = qcow2_check_compare_counts(k, err);
	qcow2_refs_destroy(&k->refs);
	free(k->words);
	free(k->bad_l1);
	return rc;
}

static void
remark_all(struct qcow2_check *k)
{
	const struct qcow2_header *h = &k->q.header;
	bool dirty = h->incompatible & QCOW2_DIRTY;
	uint64_t bytes = k->leaked << h->cluster_bits;
	struct qcow2_finding *refcounts = &k->findings[QCOW2_TEST_REFCOUNTS];
	size_t used = strlen(refcounts->text);

	remark(k, QCOW2_TEST_WELL_FORMED, "%s, %s, %s",
		IMAGE_COUNT(k->n_l2, "L2 table"),
		IMAGE_COUNT(k->n_data, "data cluster"),
		IMAGE_COUNT(k->n_compressed, "compressed cluster"));
	if (k->q.n_snapshots)
		remark(k, QCOW2_TEST_SNAPSHOTS, "%" PRIu32, k->q.n_snapshots);
	if (h->bitmaps.extensions && !(h->autoclear & QCOW2_BITMAPS))
		remark(k, QCOW2_TEST_BITMAPS, "marked inconsistent, ignored");
	else if (h->bitmaps.extensions)
		remark(k, QCOW2_TEST_BITMAPS, "%" PRIu32, h->bitmaps.count);
	if (refcounts->faults && dirty)
		snprintf(refcounts->text + used, sizeof(refcounts->text) - used,
			"; the image is marked dirty: QEMU recounts references "
			"when it opens the image for writing");
	if (k->leaked)
		remark(k, QCOW2_TEST_LEAKS,
			"leaked clusters: %" PRIu64 " (%" PRIu64 " bytes)",
			k->leaked, bytes);
	k->verdict->checked->leaked_clusters = k->leaked;
	k->verdict->checked->leaked_bytes = bytes;
}

/* The tests that need a well-formed header. */
static int
check_rest(struct qcow2_check *k, struct image_error *err)
{
	check_header(k);
	if (k->findings[QCOW2_TEST_UNKNOWN_FEATURES].faults) {
		report(k, QCOW2_TEST_WELL_FORMED, QCOW2_TEST_CORRUPT);
		return 0;
	}
	qcow2_set_geometry(&k->q);
	int rc = qcow2_load_snapshots(&k->q, err);
	if (rc < 0) {
		rc = qcow2_note(k, QCOW2_TEST_SNAPSHOTS, rc, err);
		/* without the snapshots, most clusters would be reported as
		 * leaked */
		if (rc == 0)
			report(k, QCOW2_TEST_WELL_FORMED, QCOW2_TEST_SNAPSHOTS);
		return rc;
	}
	rc = walk(k, err);
	if (rc == 0) {
		remark_all(k);
		report(k, QCOW2_TEST_WELL_FORMED, QCOW2_TEST_LEAKS);
	}
	return rc;
}

int
qcow2_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err)
{
	struct qcow2_check *k = calloc(1, sizeof(*k));

	if (!k)
		return image_no_memory(err);
	k->q.base.store = store;
	k->q.base.data = store;
	k->verdict = verdict;
	int rc = qcow2_header_read(store, &k->q.header, err);
	if (rc == 0)
		rc = qcow2_refuse_tables_outside(store, &k->q.header, err);
	if (rc == 0) {
		rc = check_rest(k, err);
	} else {
		rc = qcow2_note(k, QCOW2_TEST_WELL_FORMED, rc, err);
		if (rc == 0)
			report(k, QCOW2_TEST_WELL_FORMED,
				QCOW2_TEST_WELL_FORMED);
	}
	qcow2_free_snapshots(&k->q);
	qcow2_header_destroy(&k->q.header);
	free(k);
	return rc;
}
