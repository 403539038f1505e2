/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a qcow2 image as a source. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/named.h"
#include "format/qcow2/source.h"
#include "format/source.h"

/* Most bytes of cached slices of L2 tables. */
#define CACHE_BYTES ((size_t)16 << 20)

static int
qcow2_unchanged(struct image_source *source, struct image_error *err)
{
	struct qcow2_source *q = qcow2_source(source);
	struct image_store *store = source->store;

	int rc = image_store_unchanged(store, err);
	if (rc == 0 && q->base.data != store)
		rc = image_store_unchanged(q->base.data, err);
	if (rc == 0 && q->backing)
		rc = q->backing->ops->unchanged(q->backing, err);
	return rc;
}

static bool
qcow2_any(
	const struct image_source *source, image_store_test *test, void *opaque)
{
	const struct qcow2_source *q = (const struct qcow2_source *)source;

	return test(source->store, opaque) ||
	       (q->base.data != source->store && test(q->base.data, opaque)) ||
	       (q->backing && q->backing->ops->any(q->backing, test, opaque));
}

/* Free everything but the image's own store. */
static void
destroy(struct qcow2_source *q)
{
	if (q->backing)
		q->backing->ops->close(q->backing);
	if (q->base.data != q->base.store)
		image_store_close(q->base.data);
	qcow2_free_snapshots(q);
	qcow2_header_destroy(&q->header);
	if (q->owns_cache)
		image_slices_destroy(q->cache);
	free(q->l1);
	free(q);
}

static void
qcow2_close(struct image_source *source)
{
	struct image_store *store = source->store;

	destroy(qcow2_source(source));
	image_store_close(store);
}

static const struct image_source_ops source_ops = {
	.extent = qcow2_extent,
	.read = qcow2_read,
	.unchanged = qcow2_unchanged,
	.info = qcow2_info,
	.any = qcow2_any,
	.close = qcow2_close,
};

/* The failure of a damaged table replaces an earlier one. */
static int
inspected_table(struct qcow2_source *q, const struct image_open *how, int rc,
	struct image_error *err)
{
	if (rc == 0 || rc == -ENOMEM || !how->inspect)
		return rc;
	q->base.refused = 0;
	q->base.fault = &q->base.refusal;
	return image_source_inspected(&q->base, how, rc, err);
}

void
qcow2_set_geometry(struct qcow2_source *q)
{
	const struct qcow2_header *h = &q->header;

	q->extended = h->incompatible & QCOW2_EXTENDED_L2;
	q->l2_bits = h->cluster_bits - (q->extended ? 4 : 3);
	/* 32 subclusters */
	q->subcluster_bits = h->cluster_bits - (q->extended ? 5 : 0);
	q->base.size = h->size;
	q->base.unit = UINT64_C(1) << h->cluster_bits;
}

/* Load the active L1 table, or that of the wanted snapshot. */
static int
load_state(struct qcow2_source *q, const char *wanted, struct image_error *err)
{
	const struct qcow2_header *h = &q->header;
	const struct qcow2_snapshot *s;

	if (!wanted)
		return qcow2_load_l1(
			q, "L1 table", h->l1_offset, h->l1_entries, err);
	int rc = qcow2_find_snapshot(q, wanted, &s, err);
	if (rc < 0)
		return rc;
	q->base.size = s->disk_size;
	return qcow2_load_l1(q, "L1 table of the snapshot", s->l1_offset,
		s->l1_entries, err);
}

static int
load_tables(struct qcow2_source *q, const char *wanted, struct image_error *err)
{
	int rc = qcow2_load_snapshots(q, err);

	return rc == 0 ? load_state(q, wanted, err) : rc;
}

/* What was chosen for a backing file that is a VHD, changes the disk. */
static void
repeat_doubt(struct qcow2_source *q)
{
	const struct image_source *backing = q->backing;

	q->base.doubt = backing->doubt;
	if (!backing->doubt || backing->format == q->base.format)
		return;
	snprintf(q->doubt, sizeof(q->doubt), "its backing file '%s' %s",
		IMAGE_NAME(q->header.backing_file), backing->doubt);
	q->base.doubt = q->doubt;
}

static int
open_backing(struct qcow2_source *q, const struct image_open *how,
	const struct qcow2_chain *chain, struct image_error *err)
{
	const struct image_format *format;
	struct image_store *store;
	/* Only the first image of a chain has a wanted snapshot or is
	 * inspected. */
	struct image_open below = *how;
	below.snapshot = NULL;
	below.inspect = false;

	int rc = qcow2_open_backing_store(q, how, chain, &store, &format, err);
	if (rc < 0)
		return rc;
	below.format = format;
	if (format == q->base.format)
		rc = qcow2_open_source(
			format, store, &below, chain, &q->backing, err);
	else
		rc = format->open(store, &below, &q->backing, err);
	if (rc < 0)
		image_store_close(store);
	else
		repeat_doubt(q);
	return rc;
}

/*
 * After -EINVAL, the caller suggests -f raw, which is only for the first file.
 */
static int
not_first(int rc)
{
	return rc == -EINVAL ? -ENOTSUP : rc;
}

static int
load_others(struct qcow2_source *q, const struct image_open *how,
	const struct qcow2_chain *above, struct image_error *err)
{
	struct qcow2_chain chain = {.source = q,
		.above = above,
		.depth = above ? above->depth + 1 : 0,
		.l1_bytes = q->l1_entries * 8 + (above ? above->l1_bytes : 0)};
	int rc = 0;

	if (q->header.incompatible & QCOW2_DATA_FILE)
		rc = image_source_inspected(&q->base, how,
			not_first(qcow2_open_data_file(q, how, err)), err);
	if (rc == 0 && q->header.backing_file)
		rc = image_source_inspected(&q->base, how,
			not_first(open_backing(q, how, &chain, err)), err);
	return rc;
}

static int
load(struct qcow2_source *q, const struct image_open *how,
	const struct qcow2_chain *above, struct image_error *err)
{
	struct image_store *store = q->base.store;

	q->cache =
		above ? above->source->cache : image_slices_create(CACHE_BYTES);
	q->owns_cache = !above;
	if (!q->cache)
		return image_no_memory(err);
	int rc = qcow2_header_read(store, &q->header, err);
	if (rc < 0)
		return rc;
	qcow2_set_geometry(q);
	rc = qcow2_check_header_tables(store, &q->header, err);
	bool placed = rc == 0;
	rc = inspected_table(q, how, rc, err);
	if (rc == 0 && placed)
		rc = image_source_inspected(&q->base, how,
			qcow2_header_supported(&q->header, store->name, err),
			err);
	/* Unknown features may change the meaning of the table fields. */
	if (rc < 0 || !placed ||
		(q->header.incompatible & ~QCOW2_KNOWN_INCOMPATIBLE))
		return rc;
	rc = inspected_table(q, how, load_tables(q, how->snapshot, err), err);
	if (rc == 0)
		rc = load_others(q, how, above, err);
	return rc;
}

int
qcow2_open_source(const struct image_format *format, struct image_store *store,
	const struct image_open *how, const struct qcow2_chain *above,
	struct image_source **out, struct image_error *err)
{
	struct qcow2_source *q = calloc(1, sizeof(*q));
	if (!q)
		return image_no_memory(err);
	q->base.ops = &source_ops;
	q->base.format = format;
	q->base.store = store;
	q->base.data = store;
	int rc = load(q, how, above, err);
	if (rc < 0) {
		destroy(q);
		return rc;
	}
	*out = &q->base;
	return 0;
}
