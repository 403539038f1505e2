/* SPDX-License-Identifier: BSD-3-Clause */
/* List the extents of an image. */
#include "pipeline/pieces.h"

struct map {
	/* first: image_pieces_cut() */
	struct image_source *source;
	size_t chunk;
	const struct image_run *run;
	bool plain;
	int (*report)(void *opaque, const struct image_extent *extent);
	void *opaque;
	/* not reported yet: the next extent may continue this one */
	struct image_extent merged;
};

struct own {
	struct image_pieces found;
	struct image_pieces listed;
};

static int
map_work(void *opaque, struct image_scratch *scratch, struct image_chunk *chunk,
	struct image_error *err)
{
	struct map *map = opaque;
	struct own *own = chunk->own;

	size_t room = image_pieces_room(map->chunk);

	own->found.list = (struct image_extent *)(own + 1);
	own->listed.list = own->found.list + room;
	own->found.room = own->listed.room = room;
	int rc =
		image_pieces_list(&own->listed, map->source, chunk, false, err);
	if (rc == 0)
		rc = image_pieces_read(
			&own->listed, map->source, scratch, chunk, err);
	if (rc == 0)
		image_pieces_scan(
			&own->found, &own->listed, chunk, map->run->block);
	return rc;
}

static int
pass(struct map *map, struct image_extent *extent)
{
	int rc = 0;

	if (map->plain)
		image_extent_plain(extent);
	if (map->merged.length &&
		image_extent_continues(&map->merged, extent)) {
		map->merged.length += extent->length;
		return 0;
	}
	if (map->merged.length)
		rc = map->report(map->opaque, &map->merged);
	map->merged = *extent;
	return rc;
}

static int
map_order(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	struct map *map = opaque;
	struct own *own = chunk->own;
	int rc = 0;

	(void)err;
	if (chunk->hole) {
		struct image_extent hole = image_extent_part(&chunk->first,
			chunk->offset, chunk->offset + chunk->length);
		return pass(map, &hole);
	}
	for (size_t i = 0; rc == 0 && i < own->found.count; i++)
		rc = pass(map, &own->found.list[i]);
	return rc;
}

int
image_map(struct image_source *source, const struct image_run *run, bool plain,
	int (*report)(void *opaque, const struct image_extent *extent),
	void *opaque, struct image_error *err)
{
	struct map map = {.source = source,
		.chunk = image_chunk_size(source),
		.run = run,
		.plain = plain,
		.report = report,
		.opaque = opaque};
	size_t room = image_pieces_room(map.chunk);
	struct image_plan plan = {
		.size = source->size,
		.stores = {source->data},
		.chunk = map.chunk,
		.buffer = map.chunk,
		.own = sizeof(struct own) +
		       2 * room * sizeof(struct image_extent),
		.cut = image_pieces_cut,
		.reach = image_pieces_reach(source),
		.work = map_work,
		.order = map_order,
		.opaque = &map,
	};

	int rc = image_pipeline_run(&plan, run, NULL, err);
	if (rc == 0)
		rc = image_pieces_end(source, true, err);
	if (rc == 0 && map.merged.length)
		rc = report(opaque, &map.merged);
	return rc;
}
