/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new image on a store that takes its bytes in order, such as a pipe. The
 * tables come first: header, refcount table, refcount blocks, L1 table and L2
 * tables. Then the clusters with data follow in the order of the disk. The
 * extents of the source determine the layout before a byte is written; zeros
 * that are found in data later are stored as zeros.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "format/formats.h"
#include "format/qcow2/sink.h"

/* Bytes of the tables that are written together. */
#define WINDOW ((size_t)64 << 10)

/* Adjacent guest clusters that have data. */
struct run {
	uint64_t first;
	uint64_t end;
};

struct sink {
	struct image_sink base;
	struct qcow2_geometry geometry;
	struct image_create create;
	struct run *runs;
	size_t n_runs;
	uint64_t room;
	/* the run of the next range, and the clusters in those before it */
	size_t next;
	uint64_t before;
	/* names the source in messages */
	const char *source;
	/* places in the file, in clusters, in this order; a cluster before
	 * `refcount_table` is the header or is not used */
	uint64_t refcount_table;
	uint64_t refcount_blocks;
	uint64_t l1;
	uint64_t l2;
	uint64_t data;
	uint64_t end;
};

/* The bytes of tables, which are set at ascending offsets. */
struct window {
	struct image_store *store;
	unsigned char *bytes;
	uint64_t offset;
	size_t used;
	int rc;
	struct image_error *err;
};

static void
flush_window(struct window *w)
{
	if (w->rc == 0)
		w->rc = image_store_write(
			w->store, w->offset, w->bytes, w->used, w->err);
	memset(w->bytes, 0, w->used);
	w->used = 0;
}

/* Returns the `length` bytes at the offset, zeros at first. `length` divides
 * the offset. */
static unsigned char *
bytes_at(struct window *w, uint64_t offset, size_t length)
{
	if (offset - w->offset >= WINDOW) {
		flush_window(w);
		w->offset = offset - offset % WINDOW;
	}
	size_t at = (size_t)(offset - w->offset);
	w->used = at + length;
	return w->bytes + at;
}

static void
put64(struct window *w, uint64_t offset, uint64_t value)
{
	image_put_be64(bytes_at(w, offset, sizeof(value)), value);
}

static int
add_run(struct sink *s, uint64_t first, uint64_t end, size_t most,
	struct image_error *err)
{
	struct run *last = s->runs ? &s->runs[s->n_runs - 1] : NULL;

	if (last && first <= last->end) {
		last->end = end > last->end ? end : last->end;
		return 0;
	}
	if (s->n_runs == most)
		return image_fail(err, s->source, -E2BIG,
			"has data in more than %zu places, and the memory for "
			"the tables of an image on stdout is bounded: add "
			"--memory, or write to a file",
			most);
	int rc = image_grow(
		&s->runs, &s->room, s->n_runs + 1, sizeof(*s->runs), err);
	if (rc == 0)
		s->runs[s->n_runs++] = (struct run){first, end};
	return rc;
}

static int
list_runs(struct sink *s, struct image_source *source, size_t memory,
	struct image_error *err)
{
	unsigned bits = s->geometry.cluster_bits;
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	size_t most = memory / sizeof(struct run);
	struct image_extent extent;
	int rc = 0;

	if (s->create.preallocate && source->size)
		return add_run(
			s, 0, ((source->size - 1) >> bits) + 1, most, err);
	for (uint64_t at = 0; rc == 0 && at < source->size;
		at += extent.length) {
		rc = source->ops->extent(
			source, at, source->size - at, &extent, err);
		if (rc == 0 && extent.kind == IMAGE_DATA)
			rc = add_run(s, at >> bits,
				(at + extent.length + mask) >> bits, most, err);
	}
	return rc;
}

/* Returns how many L2 tables have an entry, and sets *clusters to the clusters
 * with data. */
static uint64_t
count_tables(const struct sink *s, uint64_t *clusters)
{
	uint64_t tables = 0, next = 0;

	*clusters = 0;
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct run *r = &s->runs[i];
		uint64_t from = r->first >> s->geometry.l2_bits;
		uint64_t to = ((r->end - 1) >> s->geometry.l2_bits) + 1;
		*clusters += r->end - r->first;
		tables += to - (from > next ? from : next);
		next = to;
	}
	return tables;
}

static int
lay_out(struct sink *s, struct image_error *err)
{
	const struct qcow2_geometry *g = &s->geometry;
	uint64_t words = UINT64_C(1) << (g->cluster_bits - 3);
	uint64_t l1 = qcow2_divide_up(g->l1_entries, words);
	uint64_t begin = IMAGE_SIGNATURES_END >> g->cluster_bits;
	uint64_t clusters, blocks, table;
	uint64_t tables = count_tables(s, &clusters);

	s->refcount_table = begin ? begin : 1;
	qcow2_count_refcounts(g, s->refcount_table + l1 + tables + clusters, 0,
		&blocks, &table);
	s->refcount_blocks = s->refcount_table + table;
	s->l1 = s->refcount_blocks + blocks;
	s->l2 = s->l1 + l1;
	s->data = s->l2 + tables;
	s->end = s->data + clusters;
	if (s->end > UINT64_C(1) << (QCOW2_OFFSET_BITS - g->cluster_bits))
		return image_fail(err, s->base.store->name, -EFBIG,
			"its file would be larger than qcow2 allows");
	if (!qcow2_refcount_table_fits(table * words))
		return qcow2_refcount_table_too_large(
			g, s->base.store->name, err);
	return 0;
}

static void
put_count(const struct sink *s, struct window *w, uint64_t cluster)
{
	unsigned char bit;
	uint64_t at =
		qcow2_first_bit(s->geometry.refcount_order, cluster, &bit);

	at += s->refcount_blocks << s->geometry.cluster_bits;
	*bytes_at(w, at, 1) |= bit;
}

static void
put_refcounts(const struct sink *s, struct window *w)
{
	unsigned bits = s->geometry.cluster_bits;

	for (uint64_t i = s->refcount_blocks; i < s->l1; i++)
		put64(w,
			(s->refcount_table << bits) +
				(i - s->refcount_blocks) * 8,
			i << bits);
	put_count(s, w, 0);
	for (uint64_t i = s->refcount_table; w->rc == 0 && i < s->end; i++)
		put_count(s, w, i);
}

static void
put_l1(const struct sink *s, struct window *w)
{
	unsigned bits = s->geometry.cluster_bits;
	uint64_t next = 0, cluster = s->l2;

	for (size_t i = 0; w->rc == 0 && i < s->n_runs; i++) {
		const struct run *r = &s->runs[i];
		uint64_t from = r->first >> s->geometry.l2_bits;
		uint64_t to = ((r->end - 1) >> s->geometry.l2_bits) + 1;
		for (next = from > next ? from : next; next < to; next++)
			put64(w, (s->l1 << bits) + next * 8,
				cluster++ << bits | QCOW2_ENTRY_COPIED);
	}
}

static void
put_l2(const struct sink *s, struct window *w)
{
	const struct qcow2_geometry *g = &s->geometry;
	unsigned bits = g->cluster_bits;
	uint64_t mask = (UINT64_C(1) << g->l2_bits) - 1;
	uint64_t table = s->l2 - 1, index = UINT64_MAX, host = s->data;

	for (size_t i = 0; w->rc == 0 && i < s->n_runs; i++)
		for (uint64_t c = s->runs[i].first; c < s->runs[i].end; c++) {
			table += c >> g->l2_bits != index;
			index = c >> g->l2_bits;
			uint64_t at = (table << bits) +
				      (c & mask) * (g->extended_l2 ? 16 : 8);
			put64(w, at, host++ << bits | QCOW2_ENTRY_COPIED);
			/* every subcluster is allocated */
			if (g->extended_l2)
				put64(w, at + 8, UINT32_MAX);
		}
	assert(w->rc < 0 || host == s->end);
}

static int
write_tables(struct sink *s, struct image_error *err)
{
	const struct qcow2_header_out header = {.geometry = &s->geometry,
		.version = s->create.version,
		.zstd = s->create.codec == IMAGE_CODEC_ZSTD,
		.l1_cluster = s->l1,
		.refcount_cluster = s->refcount_table,
		.refcount_clusters = s->refcount_blocks - s->refcount_table};
	struct window w = {.store = s->base.store, .err = err};

	w.bytes = calloc(1, WINDOW);
	if (!w.bytes)
		return image_no_memory(err);
	w.rc = qcow2_header_write(s->base.store, &header, err);
	w.offset = IMAGE_SIGNATURES_END;
	if (w.rc == 0)
		put_refcounts(s, &w);
	put_l1(s, &w);
	put_l2(s, &w);
	flush_window(&w);
	free(w.bytes);
	return w.rc;
}

static int
forward_sink_plan(struct image_sink *base, struct image_source *source,
	size_t memory, struct image_error *err)
{
	struct sink *s = (struct sink *)base;

	s->source = source->store->name;
	int rc = list_runs(s, source, memory, err);
	if (rc == 0)
		rc = lay_out(s, err);
	return rc == 0 ? write_tables(s, err) : rc;
}

static int
forward_sink_reserve(struct image_sink *base, struct image_place *place,
	struct image_error *err)
{
	struct sink *s = (struct sink *)base;
	unsigned bits = s->geometry.cluster_bits;
	uint64_t cluster = place->guest >> bits;
	const struct run *r = s->runs + s->next;

	assert(place->length > 0 && !place->compressed);
	for (; s->next < s->n_runs && r->end <= cluster; r++, s->next++)
		s->before += r->end - r->first;
	if (s->next == s->n_runs || cluster < r->first)
		return image_fail(err, s->source, -EIO,
			"has changed since it was opened: it has data at "
			"offset %" PRIu64 ", where it had none",
			place->guest);
	uint64_t left = (r->end << bits) - place->guest;
	if (place->length > left)
		place->length = left;
	place->stored = place->length;
	cluster += s->data + s->before - r->first;
	place->host = (cluster << bits) + (place->guest & (base->unit - 1));
	return 0;
}

static int
forward_sink_finish(struct image_sink *base, struct image_error *err)
{
	struct sink *s = (struct sink *)base;

	return base->store->ops->resize(
		base->store, s->end << s->geometry.cluster_bits, err);
}

static void
forward_sink_close(struct image_sink *base)
{
	free(((struct sink *)base)->runs);
	free(base);
}

static const struct image_sink_ops forward_sink_ops = {
	.plan = forward_sink_plan,
	.reserve = forward_sink_reserve,
	.finish = forward_sink_finish,
	.close = forward_sink_close,
};

int
qcow2_create_forward(struct image_store *store,
	const struct image_create *create, struct image_sink **out,
	struct image_error *err)
{
	struct qcow2_geometry geometry;

	assert(!create->compress && store->zeros && !store->fixed);
	if (create->unsized)
		return image_fail(err, store->name, -EINVAL,
			"begins with the tables of the image, and the size of "
			"the source is not known before its end; use -O raw, "
			"or write to a file");
	int rc = qcow2_geometry(&geometry, create, store->name, err);
	if (rc < 0)
		return rc;
	struct sink *s = calloc(1, sizeof(*s));
	if (!s)
		return image_no_memory(err);
	s->geometry = geometry;
	s->create = *create;
	s->base = (struct image_sink){
		.ops = &forward_sink_ops,
		.format = &image_format_qcow2,
		.store = store,
		.size = geometry.size,
		.unit = UINT64_C(1) << geometry.cluster_bits,
	};
	*out = &s->base;
	return 0;
}
