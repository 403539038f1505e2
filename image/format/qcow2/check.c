/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of a qcow2 image, and their report. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/named.h"
#include "format/qcow2/check.h"

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
#define QCOW2_TEST(id, name, passed) {name, passed},
#include "format/qcow2/check_tests.def"
#undef QCOW2_TEST
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
			"size %" PRIu64 " at byte 24 of the header is no "
			"multiple of 512, and QEMU leaves its last %" PRIu64
			" %s out",
			h->size, h->size % IMAGE_SECTOR,
			image_plural(h->size % IMAGE_SECTOR, "byte", "bytes"));
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

	remark(k, QCOW2_TEST_WELL_FORMED,
		"%" PRIu64 " L2 %s, %" PRIu64 " data %s, %" PRIu64
		" compressed %s",
		k->n_l2, image_plural(k->n_l2, "table", "tables"), k->n_data,
		image_plural(k->n_data, "cluster", "clusters"), k->n_compressed,
		image_plural(k->n_compressed, "cluster", "clusters"));
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
		rc = qcow2_check_header_tables(store, &k->q.header, err);
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
