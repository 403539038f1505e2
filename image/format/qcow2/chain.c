/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks up a range of the disk in a backing chain. A loop follows the chain, so
 * that a long chain needs no stack. One slice is in use at a time.
 */
#include "format/qcow2/source.h"

int
qcow2_find(struct qcow2_source *q, uint64_t guest, uint64_t limit,
	struct qcow2_place *place, struct image_error *err)
{
	*place = (struct qcow2_place){.layer = q};
	for (;;) {
		struct qcow2_source *layer = place->layer;
		int rc = qcow2_lookup(layer, guest, limit, &place->run, err);
		if (rc < 0)
			return rc;
		if (place->run.kind != QCOW2_UNALLOCATED)
			return 0;
		limit = place->run.length;
		/* A backing file reads as zeros past its end. */
		if (!layer->backing || guest >= layer->backing->size) {
			place->depth = 0;
			return 0;
		}
		if (limit > layer->backing->size - guest)
			limit = layer->backing->size - guest;
		place->depth++;
		if (layer->backing->format != layer->base.format) {
			place->run.length = limit;
			place->other = layer->backing;
			return 0;
		}
		place->layer = qcow2_source(layer->backing);
	}
}
