/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of image_info() for a qcow2 image. */
#include "format/qcow2/source.h"
#include "format/source.h"

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

void
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
