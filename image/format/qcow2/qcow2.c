/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens a qcow2 image and the files that it names, and describes it. The table
 * of functions is at the end.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/source.h"
#include "format/qcow2/check.h"
#include "format/qcow2/sink.h"
#include "format/qcow2/qcow2.h"
#include "memory.h"

/*
 * The other files of an image: its backing file and its external data file. An
 * attacker may have chosen their names, so each file must lie in a directory
 * that the user allowed.
 */

/* Files of a chain; each costs a descriptor and an L1 table. */
#define MAX_DEPTH 64
#define MAX_CHAIN_L1 ((uint64_t)96 << 20)

/* The images of a chain that are being opened, from the last to the first. */
struct qcow2_chain {
	const struct qcow2_source *source;
	const struct qcow2_chain *above;
	/* files above this one */
	unsigned depth;
	/* bytes of L1 tables, of this one and those above */
	uint64_t l1_bytes;
};

static int
check_loop(const struct qcow2_source *q, const struct image_store *store,
	const struct qcow2_chain *chain, struct image_error *err)
{
	for (; chain; chain = chain->above)
		if (image_store_same(chain->source->base.store, store))
			return image_fail(err, q->base.store->name, -EPERM,
				"its backing_file '%s' is already in the "
				"backing chain: the chain is a loop",
				IMAGE_NAME(q->header.backing_file));
	return 0;
}

static int
qcow2_open_data_file(struct qcow2_source *q, const struct image_open *how,
	struct image_error *err)
{
	const char *name = q->header.data_file;

	if (!name)
		return image_fail(err, q->base.store->name, -ENOTSUP,
			"has an external data file, but does not name it");
	if (!how->allow_data_file)
		return image_fail(err, q->base.store->name, -EPERM,
			"its data_file '%s' is not opened without "
			"--allow-data-file DIR",
			IMAGE_NAME(name));
	struct image_store *store;
	int rc = image_named_open(q->base.store, "data_file", name,
		how->allow_data_file, how, &store, err);
	if (rc == 0)
		q->base.data = store;
	return rc;
}

static bool
qcow2_probe(const unsigned char *head, size_t length)
{
	return length >= 4 && image_be32(head) == QCOW2_MAGIC;
}

/*
 * Set *out to the backing_format. A missing one is never guessed to be raw;
 * QEMU does not guess either.
 */
static int
find_format(const struct qcow2_source *q, struct image_store *store,
	const struct image_format **out, struct image_error *err)
{
	const char *format = q->header.backing_format;

	if (format) {
		*out = image_format_by_name(format);
		if (*out && (*out)->open)
			return 0;
		return image_fail(err, q->base.store->name, -ENOTSUP,
			"its backing_format '%s' is not qcow2, vmdk, vpc or "
			"raw",
			format);
	}
	*out = q->base.format;
	int rc = image_store_head(store, err);
	if (rc < 0 || qcow2_probe(store->head, store->head_length))
		return rc;
	return image_fail(err, q->base.store->name, -EPERM,
		"its backing_file '%s' has no qcow2 header, and the image has "
		"no backing_format",
		IMAGE_NAME(q->header.backing_file));
}

static void
put(const struct image_reporter *r, enum image_field_type type,
	const char *name, uint64_t number, const char *text)
{
	struct image_field field = {type, name, number, text};
	r->report(r->opaque, &field);
}

static void
put_flag(const struct image_reporter *r, const char *name, bool flag)
{
	put(r, IMAGE_FIELD_FLAG, name, flag, NULL);
}

static void
put_files(const struct image_reporter *r, const struct qcow2_header *h)
{
	image_put_text(r, "backing_file", h->backing_file);
	image_put_text(r, "backing_format", h->backing_format);
	if (!(h->incompatible & QCOW2_DATA_FILE))
		return;
	image_put_text(r, "data_file", h->data_file ? h->data_file : "");
	put_flag(r, "data_file_raw", h->autoclear & QCOW2_DATA_FILE_RAW);
}

static void
put_unknown_features(
	const struct image_reporter *r, const struct qcow2_header *h)
{
	uint64_t unknown = h->incompatible & ~QCOW2_KNOWN_INCOMPATIBLE;
	char text[QCOW2_FEATURE_NAME + 32];

	if (!unknown)
		return;
	put(r, IMAGE_FIELD_LIST, "unknown_features", 0, NULL);
	for (; unknown; unknown &= unknown - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(unknown);
		qcow2_feature_name(h, bit, text, sizeof(text));
		put(r, IMAGE_FIELD_ITEM, NULL, 0, NULL);
		image_put_number(r, "bit", bit);
		image_put_text(r, "name", text);
		put(r, IMAGE_FIELD_END, NULL, 0, NULL);
	}
	put(r, IMAGE_FIELD_END, NULL, 0, NULL);
}

static void
put_snapshots(const struct image_reporter *r, const struct qcow2_source *q)
{
	if (q->n_snapshots == 0)
		return;
	put(r, IMAGE_FIELD_LIST, "snapshots", 0, NULL);
	for (uint32_t i = 0; i < q->n_snapshots; i++) {
		const struct qcow2_snapshot *s = &q->snapshots[i];
		/* The file ends inside this entry. */
		if (!s->id || !s->name)
			continue;
		put(r, IMAGE_FIELD_ITEM, NULL, 0, NULL);
		image_put_text(r, "id", s->id);
		image_put_text(r, "name", s->name);
		image_put_number(r, "virtual_size", s->disk_size);
		image_put_number(r, "date", s->date);
		image_put_number(r, "vm_state_size", s->vm_state_size);
		put(r, IMAGE_FIELD_END, NULL, 0, NULL);
	}
	put(r, IMAGE_FIELD_END, NULL, 0, NULL);
}

static void
qcow2_info(const struct image_source *source, const struct image_reporter *r)
{
	static const char *const methods[] = {NULL, "aes", "luks"};
	const struct qcow2_source *q = (const struct qcow2_source *)source;
	const struct qcow2_header *h = &q->header;

	image_put_number(r, "version", h->version);
	image_put_number(r, "cluster_size", source->unit);
	image_put_number(r, "refcount_bits", UINT64_C(1) << h->refcount_order);
	image_put_text(r, "compression_type",
		h->codec == IMAGE_CODEC_ZSTD ? "zstd" : "zlib");
	put_flag(r, "extended_l2", q->extended);
	put_flag(r, "lazy_refcounts", h->compatible & QCOW2_LAZY_REFCOUNTS);
	put_flag(r, "dirty", h->incompatible & QCOW2_DIRTY);
	put_flag(r, "corrupt", h->incompatible & QCOW2_CORRUPT);
	image_put_text(r, "encryption", methods[h->crypt_method]);
	put_files(r, h);
	put_unknown_features(r, h);
	/* By the specification, bitmaps without the bit are inconsistent. The
	 * count is 0 if the extension is missing or damaged: check reports the
	 * fault. */
	if ((h->autoclear & QCOW2_BITMAPS) && h->bitmaps.count > 0)
		image_put_number(r, "bitmaps", h->bitmaps.count);
	put_snapshots(r, q);
}

static bool
qcow2_any(
	const struct image_source *source, image_store_test *test, void *opaque)
{
	const struct qcow2_source *q = (const struct qcow2_source *)source;

	return test(source->store, opaque) ||
	       (q->base.data != source->store && test(q->base.data, opaque)) ||
	       (q->backing && image_source_any(q->backing, test, opaque));
}

static void
qcow2_close(struct image_source *source)
{
	struct qcow2_source *q = qcow2_source(source);

	image_close(q->backing);
	if (q->base.data != q->base.store)
		image_store_close(q->base.data);
	qcow2_free_snapshots(q);
	qcow2_header_destroy(&q->header);
	if (q->owns_cache)
		image_slices_destroy(q->cache);
	free(q->l1);
	free(q);
}

static const struct image_source_ops source_ops = {
	.extent = qcow2_extent,
	.read = qcow2_read,
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
	q->l2_bits = qcow2_l2_bits(h->cluster_bits, q->extended);
	/* 32 subclusters */
	q->subcluster_bits = h->cluster_bits - (q->extended ? 5 : 0);
	q->base.size = h->size;
	q->base.unit = UINT64_C(1) << h->cluster_bits;
}

/* Load the snapshots, and the active L1 table or that of the wanted snapshot.
 */
static int
load_tables(struct qcow2_source *q, const char *wanted, struct image_error *err)
{
	const struct qcow2_header *h = &q->header;
	const struct qcow2_snapshot *s;

	int rc = qcow2_load_snapshots(q, err);
	if (rc < 0)
		return rc;
	if (!wanted)
		return qcow2_load_l1(
			q, "L1 table", h->l1_offset, h->l1_entries, err);
	rc = qcow2_find_snapshot(q, wanted, &s, err);
	if (rc < 0)
		return rc;
	q->base.size = s->disk_size;
	return qcow2_load_l1(q, "L1 table of the snapshot", s->l1_offset,
		s->l1_entries, err);
}

static int qcow2_open_source(struct image_store *store,
	const struct image_open *how, const struct qcow2_chain *above,
	struct image_source **out, struct image_error *err);

/* The size that was chosen for a VHD in the chain changes the disk. */
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
	const char *name = q->header.backing_file, *ours = q->base.store->name;
	struct image_store *store;
	/* Only the first image of a chain has a wanted snapshot or is
	 * inspected. */
	struct image_open below = *how;
	below.snapshot = NULL;
	below.inspect = false;

	if (!how->allow_backing)
		return image_fail(err, ours, -EPERM,
			"its backing_file '%s' is not opened without "
			"--allow-backing DIR",
			IMAGE_NAME(name));
	if (chain->depth == MAX_DEPTH - 1)
		return image_fail(err, ours, -EPERM,
			"its backing_file '%s' is file %d of the chain; "
			"64 are allowed",
			IMAGE_NAME(name), MAX_DEPTH + 1);
	if (chain->l1_bytes > MAX_CHAIN_L1)
		return image_fail(err, ours, -ENOTSUP,
			"the L1 tables of its chain have %" PRIu64 " bytes, "
			"which is more than 96 MiB",
			chain->l1_bytes);
	int rc = image_named_open(q->base.store, "backing_file", name,
		how->allow_backing, how, &store, err);
	if (rc < 0)
		return rc;
	rc = check_loop(q, store, chain, err);
	if (rc == 0)
		rc = find_format(q, store, &below.format, err);
	if (rc == 0 && below.format == q->base.format)
		rc = qcow2_open_source(store, &below, chain, &q->backing, err);
	else if (rc == 0)
		rc = below.format->open(store, &below, &q->backing, err);
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
qcow2_load(struct qcow2_source *q, const struct image_open *how,
	const struct qcow2_chain *above, struct image_error *err)
{
	struct image_store *store = q->base.store;
	size_t tables = image_memory(how->memory).tables;

	q->cache = above ? above->source->cache : image_slices_create(tables);
	q->owns_cache = !above;
	if (!q->cache)
		return image_no_memory(err);
	int rc = qcow2_header_read(store, &q->header, err);
	if (rc < 0)
		return rc;
	qcow2_set_geometry(q);
	rc = qcow2_refuse_tables_outside(store, &q->header, err);
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

/* As image_format.open; above is NULL for the first image of a chain. */
static int
qcow2_open_source(struct image_store *store, const struct image_open *how,
	const struct qcow2_chain *above, struct image_source **out,
	struct image_error *err)
{
	struct qcow2_source *q = calloc(1, sizeof(*q));
	if (!q)
		return image_no_memory(err);
	q->base.ops = &source_ops;
	q->base.format = &image_format_qcow2;
	q->base.store = store;
	q->base.data = store;
	int rc = qcow2_load(q, how, above, err);
	if (rc < 0) {
		qcow2_close(&q->base);
		return rc;
	}
	*out = &q->base;
	return 0;
}

static int
qcow2_open(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	return qcow2_open_source(store, how, NULL, out, err);
}

const struct image_format image_format_qcow2 = {
	.name = "qcow2",
	.suffixes = ".qcow2",
	.snapshots = true,
	.probe = qcow2_probe,
	.open = qcow2_open,
	.check = qcow2_check,
	.options = qcow2_options,
	.set = qcow2_set,
	.compresses = true,
	.streams = true,
	.create = qcow2_create,
};
