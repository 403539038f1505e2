/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "format/source.h"

int
image_flat_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	struct image_store *store = source->store;
	bool hole;

	int rc = image_store_extent(store, offset, length, &length, &hole, err);
	if (rc == 0)
		*extent = (struct image_extent){
			.offset = offset,
			.length = length,
			.kind = hole ? IMAGE_HOLE : IMAGE_DATA,
			.host = hole ? IMAGE_NO_HOST : offset,
		};
	return rc;
}

int
image_flat_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err)
{
	(void)scratch;
	int rc = image_store_read(source->store, offset, buf, length, err);
	if (rc == 0)
		image_store_release(source->store, offset, length);
	return rc;
}

int
image_flat_reserve(struct image_sink *sink, struct image_place *place,
	struct image_error *err)
{
	(void)sink;
	(void)err;
	assert(!place->compressed);
	place->host = place->guest;
	return 0;
}

bool
image_source_any(
	const struct image_source *source, image_store_test *test, void *opaque)
{
	return source->ops->any ? source->ops->any(source, test, opaque)
				: test(source->store, opaque);
}

struct change {
	int rc;
	struct image_error *err;
};

static bool
has_changed(const struct image_store *store, void *opaque)
{
	struct change *change = opaque;

	/* Whoever has a source may change its stores. */
	change->rc = image_store_unchanged(
		(struct image_store *)(uintptr_t)store, change->err);
	return change->rc < 0;
}

int
image_source_unchanged(struct image_source *source, struct image_error *err)
{
	struct change change = {.err = err};

	image_source_any(source, has_changed, &change);
	return change.rc;
}

int
image_source_inspected(struct image_source *source,
	const struct image_open *how, int rc, const struct image_error *err)
{
	if (rc == 0 || rc == -ENOMEM || !how->inspect)
		return rc;
	if (!source->refused) {
		source->refused = rc;
		source->refusal = *err;
	}
	return 0;
}

int
image_source_refused(const struct image_source *source, struct image_error *err)
{
	if (source->refused)
		*err = source->refusal;
	return source->refused;
}

void
image_put_number(
	const struct image_reporter *r, const char *name, uint64_t number)
{
	struct image_field field = {IMAGE_FIELD_NUMBER, name, number, NULL};
	r->report(r->opaque, &field);
}

void
image_put_text(
	const struct image_reporter *r, const char *name, const char *text)
{
	char *shown = text ? image_hide_secrets(text) : NULL;
	struct image_field field = {IMAGE_FIELD_TEXT, name, 0, shown};

	if (shown)
		r->report(r->opaque, &field);
	free(shown);
}

/* Move *at over holes, or with `data` over data, at most to `to`. */
static int
skip(struct image_source *source, bool data, uint64_t *at, uint64_t to,
	struct image_error *err)
{
	uint64_t stop = to < source->size ? to : source->size;
	struct image_extent e;

	while (*at < stop) {
		int rc = source->ops->extent(source, *at, stop - *at, &e, err);
		if (rc < 0 || (e.kind == IMAGE_DATA) != data)
			return rc;
		*at += e.length;
	}
	/* The bytes behind the disk are a hole. */
	if (!data)
		*at = to;
	return 0;
}

int
image_region(struct image_source *source, uint64_t from, uint64_t to,
	uint64_t *begin, uint64_t *end, struct image_error *err)
{
	const uint64_t mask = IMAGE_SECTOR - 1;
	uint64_t at = from;

	int rc = skip(source, false, &at, to, err);
	*begin = *end = at == to ? to : at & ~mask;
	while (rc == 0 && at < to) {
		rc = skip(source, true, &at, to, err);
		*end = (at + mask) & ~mask;
		if (rc == 0)
			rc = skip(source, false, &at, to, err);
		/* a hole without a whole sector belongs to the range */
		if ((at & ~mask) > *end || at == to)
			break;
	}
	return rc;
}

/* Bytes of a step of a search. */
#define SEARCH ((size_t)1 << 20)

int
image_source_find_data(struct image_source *source, uint64_t from, uint64_t to,
	uint64_t *data, struct image_error *err)
{
	struct image_scratch scratch = {0};
	void *buffer = malloc(SEARCH);
	struct image_extent extent;
	int rc = buffer ? 0 : image_no_memory(err);

	for (*data = from; rc == 0 && *data < to;) {
		rc = source->ops->extent(
			source, *data, to - *data, &extent, err);
		if (rc < 0)
			break;
		if (extent.kind == IMAGE_HOLE) {
			*data += extent.length;
			continue;
		}
		size_t length =
			extent.length < SEARCH ? (size_t)extent.length : SEARCH;
		rc = source->ops->read(
			source, &scratch, *data, buffer, length, err);
		if (rc < 0)
			break;
		size_t found = hone_find_nonzero(buffer, length);
		*data += found;
		if (found < length)
			break;
	}
	free(buffer);
	image_scratch_destroy(&scratch);
	return rc;
}

/* Most bytes of a read of several units: 2 MiB up to the last one, and
 * 128 KiB for it, since a compressed grain of vmdk may have more than 64 KiB.
 */
#define BATCH_BYTES (((uint64_t)2 << 20) + ((uint64_t)128 << 10))

/* A read of this many unneeded bytes is faster than another system call. */
#define BATCH_GAP ((uint64_t)16 << 10)

int
image_batch_read(struct image_batch *batch, struct image_error *err)
{
	unsigned n = batch->n;
	uint64_t reached;

	batch->n = 0;
	if (n == 0)
		return 0;
	/* Aligned for direct I/O. A stream has released what is around. */
	const uint64_t mask = batch->store->forward ? 0 : IMAGE_ALIGN - 1;
	uint64_t from = batch->from & ~mask;
	size_t room = (size_t)(((batch->end + mask) & ~mask) - from);
	unsigned char *buffer =
		image_scratch_buffer(batch->scratch, room + batch->unit);
	if (!buffer)
		return image_no_memory(err);
	int rc = image_store_reach(batch->store, from, room, &reached, err);
	if (rc == 0)
		rc = image_store_read(
			batch->store, from, buffer, (size_t)reached, err);
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		const struct image_unit *unit = &batch->units[i];
		bool whole = unit->length == batch->unit;
		unsigned char *to = whole ? unit->to : buffer + room;
		rc = batch->unpack(batch, unit, buffer + (unit->host - from),
			from + reached, to, err);
		if (rc == 0 && !whole)
			memcpy(unit->to, to + unit->skip, unit->length);
	}
	return rc;
}

/* Returns whether the unit lies near those of the batch. */
static bool
fits(const struct image_batch *batch, const void *owner,
	const struct image_unit *unit)
{
	uint64_t host = unit->host, host_end = host + unit->stored;
	uint64_t from = host < batch->from ? host : batch->from;
	uint64_t end = host_end > batch->end ? host_end : batch->end;
	uint64_t gap = batch->store->forward ? 0 : BATCH_GAP;

	return batch->owner == owner && batch->n < IMAGE_BATCH &&
	       host <= batch->end + gap && batch->from <= host_end + gap &&
	       end - from <= BATCH_BYTES;
}

int
image_batch_add(struct image_batch *batch, const void *owner,
	struct image_store *store, size_t size, const struct image_unit *unit,
	struct image_error *err)
{
	uint64_t end = unit->host + unit->stored;
	int rc = 0;

	if (batch->n && !fits(batch, owner, unit))
		rc = image_batch_read(batch, err);
	batch->owner = owner;
	batch->store = store;
	batch->unit = size;
	if (batch->n == 0 || unit->host < batch->from)
		batch->from = unit->host;
	if (batch->n == 0 || end > batch->end)
		batch->end = end;
	batch->units[batch->n++] = *unit;
	return rc;
}

const char *
image_named_show(char shown[IMAGE_NAME_SHOWN + 1], const char *name)
{
	char *whole = image_hide_secrets(name);

	snprintf(shown, IMAGE_NAME_SHOWN + 1, "%s",
		whole ? whole : "out of memory");
	free(whole);
	return shown;
}

/*
 * Fail if the name is not that of a file of this machine. A name may begin with
 * a protocol, such as "json:{...}" or "nbd:...". The rule is QEMU's: a colon
 * before the first slash.
 */
static int
parse_path(const struct image_store *image, const char *field, const char *name,
	struct image_error *err)
{
	size_t n = strcspn(name, ":/");

	if (name[n] == ':')
		return image_fail(err, image->name, -EPERM,
			"its %s '%s' begins with a protocol; only file names "
			"are allowed",
			field, IMAGE_NAME(name));
	/* Its directory is one of a server. */
	if (name[0] != '/' && image_store_origin(image)->served)
		return image_fail(err, image->name, -EPERM,
			"its %s '%s' lies on the server, and an image names "
			"files of this machine only: copy both files, then "
			"read the copy",
			field, IMAGE_NAME(name));
	return 0;
}

int
image_named_open(const struct image_store *image, const char *field,
	const char *name, const char *below, const struct image_open *how,
	struct image_store **out, struct image_error *err)
{
	struct image_store_how store_how = {
		.force_share = how->force_share,
		.direct = how->direct,
		.drop_cache = how->drop_cache,
	};

	const char *slash = strrchr(image->name, '/');
	char *path;

	int rc = parse_path(image, field, name, err);
	if (rc < 0)
		return rc;
	/* A name is relative to the directory of the image that has it. */
	int above =
		name[0] != '/' && slash ? (int)(slash - image->name + 1) : 0;
	if (asprintf(&path, "%.*s%s", above, image->name, name) < 0)
		return image_no_memory(err);
	rc = image_store_open(path, below, &store_how, out, err);
	free(path);
	return rc;
}
