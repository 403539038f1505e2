/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data clusters are appended from cluster 1 on in the order of the guest's
 * disk, so neighbours there are neighbours in the file and go out in one
 * write. Where each cluster went then follows from the list of guest clusters
 * that have data, kept as runs; the tables are made from it at the end, and
 * the header comes last.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/file.h"
#include "qcow2/layout.h"
#include "qcow2/table.h"
#include "qcow2/writer.h"

/* Neighbouring guest clusters that have data. */
struct run {
	uint64_t first;
	uint64_t count;
};

struct writer {
	struct qcow2_geometry geometry;
	struct run *runs;
	size_t n_runs;
	size_t room;
	/* clusters of the file in use: the header and the data */
	uint64_t used;
};

int
qcow2_option(struct image_create *create, const char *key, uint64_t value,
	struct image_error *err)
{
	if (strcmp(key, "cluster_size") != 0)
		return image_fail(err, -EINVAL,
			"qcow2 has no option '%s'; it has cluster_size", key);
	if (value < UINT64_C(1) << QCOW2_MIN_CLUSTER_BITS ||
		value > UINT64_C(1) << QCOW2_MAX_CLUSTER_BITS ||
		(value & (value - 1)) != 0)
		return image_fail(err, -EINVAL,
			"cluster_size %" PRIu64
			" is not a power of two from 512 to 2M",
			value);
	create->cluster_size = value;
	return 0;
}

int
qcow2_create(struct image *img, const struct image_create *create,
	struct image_error *err)
{
	unsigned bits = create->cluster_size ? (unsigned)__builtin_ctzll(
						       create->cluster_size)
					     : QCOW2_DEFAULT_CLUSTER_BITS;
	struct qcow2_geometry geometry;
	int rc = qcow2_geometry(&geometry, create->size, bits, err);
	if (rc < 0)
		return rc;
	struct writer *w = calloc(1, sizeof(*w));
	if (!w)
		return image_fail(err, -ENOMEM, "there is not enough memory");
	w->geometry = geometry;
	w->used = 1;
	img->state = w;
	img->size = geometry.size;
	img->unit = UINT64_C(1) << bits;
	return 0;
}

void
qcow2_writer_free(void *state)
{
	struct writer *w = state;
	if (w)
		free(w->runs);
	free(w);
}

/* The first guest cluster after those that have data. */
static uint64_t
next_guest(const struct writer *w)
{
	if (!w->n_runs)
		return 0;
	const struct run *last = &w->runs[w->n_runs - 1];
	return last->first + last->count;
}

/* Give count guest clusters from first on the next places in the file. */
static int
append(struct writer *w, uint64_t first, uint64_t count,
	struct image_error *err)
{
	assert(first >= next_guest(w));
	if (w->n_runs && first == next_guest(w)) {
		w->runs[w->n_runs - 1].count += count;
		w->used += count;
		return 0;
	}
	if (w->n_runs == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct run *runs = reallocarray(w->runs, room, sizeof(*runs));
		if (!runs)
			return image_fail(
				err, -ENOMEM, "there is not enough memory");
		w->runs = runs;
		w->room = room;
	}
	w->runs[w->n_runs++] = (struct run){first, count};
	w->used += count;
	return 0;
}

int
qcow2_write(struct image *img, uint64_t offset, const void *buf, size_t length,
	struct image_error *err)
{
	struct writer *w = img->state;
	unsigned bits = w->geometry.cluster_bits;
	uint64_t first = offset >> bits;
	uint64_t last = (offset + length - 1) >> bits;

	/*
	 * Clusters from first on may have their places already: the first one
	 * if it got data before, all of them if this is a second attempt.
	 */
	uint64_t placed = next_guest(w);
	uint64_t fresh = first < placed ? placed : first;
	if (fresh <= last) {
		int rc = append(w, fresh, last - fresh + 1, err);
		if (rc < 0)
			return rc;
	}
	assert(first >= w->runs[w->n_runs - 1].first);
	/* No overflow: a file of 2^63 bytes fails in write before that. */
	uint64_t host = (w->used - (next_guest(w) - first)) << bits;
	uint64_t inside = offset & ((UINT64_C(1) << bits) - 1);
	return image_file_write(img, host + inside, buf, length, err);
}

/* What no write reaches is a hole of the new file, or has no cluster. */
int
qcow2_write_zeroes(struct image *img, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	(void)img;
	(void)offset;
	(void)length;
	(void)err;
	return 0;
}

/* Visits in order each L2 table that has entries. */
struct l2_cursor {
	const struct writer *w;
	size_t run;
	uint64_t next;
};

/* Returns false past the last; else sets the table's place in L1. */
static bool
next_l2(struct l2_cursor *c, uint64_t *index)
{
	unsigned l2_bits = c->w->geometry.l2_bits;

	for (; c->run < c->w->n_runs; c->run++) {
		const struct run *r = &c->w->runs[c->run];
		uint64_t from = r->first >> l2_bits;
		uint64_t last = (r->first + r->count - 1) >> l2_bits;
		*index = from > c->next ? from : c->next;
		if (*index <= last) {
			c->next = *index + 1;
			return true;
		}
	}
	return false;
}

static uint64_t
count_l2(const struct writer *w)
{
	struct l2_cursor cursor = {.w = w};
	uint64_t index, count = 0;
	while (next_l2(&cursor, &index))
		count++;
	return count;
}

static void
put_l2_tables(struct qcow2_table *t, const struct writer *w)
{
	unsigned bits = w->geometry.cluster_bits;
	uint64_t cluster_size = UINT64_C(1) << bits;
	uint64_t in_table = (UINT64_C(1) << w->geometry.l2_bits) - 1;
	uint64_t table = UINT64_MAX;
	uint64_t start = t->offset + t->used;
	uint64_t host = 1;

	for (size_t i = 0; i < w->n_runs; i++) {
		const struct run *r = &w->runs[i];
		for (uint64_t n = 0; n < r->count; n++) {
			uint64_t guest = r->first + n;
			if (guest >> w->geometry.l2_bits != table) {
				table = guest >> w->geometry.l2_bits;
				qcow2_table_pad(t, cluster_size);
				start = t->offset + t->used;
			}
			qcow2_table_pad_to(t, start + (guest & in_table) * 8);
			qcow2_table_put64(t, host++ << bits | QCOW2_COPIED);
		}
	}
	qcow2_table_pad(t, cluster_size);
}

static void
put_refcounts(struct qcow2_table *t, const struct writer *w,
	const struct qcow2_layout *layout)
{
	unsigned bits = w->geometry.cluster_bits;

	for (uint64_t i = 0; i < layout->end; i++)
		qcow2_table_put16(t, 1);
	qcow2_table_pad_to(t, layout->refcount_table << bits);
	for (uint64_t i = layout->refcount_blocks; i < layout->refcount_table;
		i++)
		qcow2_table_put64(t, i << bits);
	qcow2_table_pad_to(t, layout->l1 << bits);
}

static void
put_l1(struct qcow2_table *t, const struct writer *w,
	const struct qcow2_layout *layout)
{
	unsigned bits = w->geometry.cluster_bits;
	struct l2_cursor cursor = {.w = w};
	uint64_t start = layout->l1 << bits;
	uint64_t l2 = layout->l2;
	uint64_t index;

	while (next_l2(&cursor, &index)) {
		qcow2_table_pad_to(t, start + index * 8);
		qcow2_table_put64(t, l2++ << bits | QCOW2_COPIED);
	}
	qcow2_table_pad_to(t, layout->end << bits);
}

/* As the format lays it out; every number is big-endian. */
struct header {
	uint32_t magic;
	uint32_t version;
	uint64_t backing_offset;
	uint32_t backing_size;
	uint32_t cluster_bits;
	uint64_t size;
	uint32_t crypt_method;
	uint32_t l1_size;
	uint64_t l1_offset;
	uint64_t refcount_table_offset;
	uint32_t refcount_table_clusters;
	uint32_t nb_snapshots;
	uint64_t snapshots_offset;
	uint64_t incompatible;
	uint64_t compatible;
	uint64_t autoclear;
	uint32_t refcount_order;
	uint32_t header_length;
	/* ends the list of header extensions */
	uint64_t end_of_extensions;
};

#define HEADER_LENGTH 104

static int
write_header(struct image *img, const struct qcow2_layout *layout,
	struct image_error *err)
{
	const struct writer *w = img->state;
	unsigned bits = w->geometry.cluster_bits;
	struct header h = {
		.magic = htobe32(QCOW2_MAGIC),
		.version = htobe32(3),
		.cluster_bits = htobe32(bits),
		.size = htobe64(w->geometry.size),
		.l1_size = htobe32((uint32_t)w->geometry.l1_entries),
		.l1_offset = htobe64(layout->l1 << bits),
		.refcount_table_offset =
			htobe64(layout->refcount_table << bits),
		.refcount_table_clusters = htobe32(
			(uint32_t)(layout->l1 - layout->refcount_table)),
		.refcount_order = htobe32(QCOW2_REFCOUNT_ORDER),
		.header_length = htobe32(HEADER_LENGTH),
	};
	_Static_assert(
		offsetof(struct header, end_of_extensions) == HEADER_LENGTH,
		"header without padding");
	return image_file_write(img, 0, &h, sizeof(h), err);
}

int
qcow2_finish(struct image *img, struct image_error *err)
{
	const struct writer *w = img->state;
	unsigned bits = w->geometry.cluster_bits;
	struct qcow2_layout layout;
	struct qcow2_table table;

	int rc = qcow2_layout(
		&layout, &w->geometry, w->used - 1, count_l2(w), err);
	if (rc == 0)
		rc = qcow2_table_init(&table, img, layout.l2 << bits, err);
	if (rc != 0)
		return rc;
	put_l2_tables(&table, w);
	assert(table.rc < 0 ||
		table.offset + table.used == layout.refcount_blocks << bits);
	put_refcounts(&table, w, &layout);
	put_l1(&table, w, &layout);
	rc = qcow2_table_finish(&table);
	if (rc == 0)
		/* the last table may end with a hole */
		rc = image_file_truncate(img, layout.end << bits, err);
	return rc < 0 ? rc : write_header(img, &layout, err);
}
