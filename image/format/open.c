/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a source and creates a sink: combines a format with a store. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "archive/archive.h"
#include "format/formats.h"
#include "format/packed/packed.h"
#include "format/format.h"
#include "store/address.h"
#include "blocks/blocks.h"
#include "store/stream.h"
#include "unpack/unpack.h"

/* VMware's names for the data of a disk, whose descriptor is a file beside it.
 */
#define FLAT "-flat.vmdk"

/*
 * Choose the format of an image without the first bytes of a format: raw, or
 * what the name says if that format has its header at the end. Fails if the
 * name is that of another format.
 */
static int
choose_by_name(const struct image_store *store,
	const struct image_format **format, struct image_error *err)
{
	const char *slash = strrchr(store->name, '/');
	char name[IMAGE_NAME_MAX];

	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : store->name);
	/* "disk.qcow2.xz" is named .qcow2. */
	if (store->unpacked)
		name[image_unpack_name(name)] = '\0';
	const struct image_format *named = image_format_by_suffix(name);
	*format = named && named->footer ? named : &image_format_raw;
	if (*format == named)
		return 0;
	const char *claimed = image_claimed_by_suffix(name);
	if (!claimed)
		return 0;
	size_t length = strlen(name);
	if (image_name_ends_with(name, length, FLAT)) {
		length -= strlen(FLAT);
		return image_fail(err, store->name, -EINVAL,
			"is the data of a VMDK image: '%.*s.vmdk' is the "
			"descriptor that names it, and is read with "
			"--allow-data-file; " RAW_HINT,
			(int)(length < 200 ? length : 200), name);
	}
	return image_fail(err, store->name, -EINVAL,
		"is named %s but has no %s header; " RAW_HINT,
		strrchr(name, '.'), claimed);
}

/* Users copy the commands: a name that others chose is never in them. */
static int
refuse_foreign(const struct image_store *store,
	const struct image_foreign *foreign, struct image_error *err)
{
	bool secret = strcmp(foreign->driver, "luks") == 0;
	/* QEMU opens neither pipes nor members of archives. */
	bool alone = store->below || store->forward;

	return image_fail(err, store->name, -ENOTSUP,
		"has a %s header, and this release cannot read %s images: %s"
		"\"qemu-nbd --read-only --fork --socket=/tmp/disk.sock "
		"%s%s%s\" serves the disk, and \"hone convert --format=raw "
		"'nbd+unix:///?socket=/tmp/disk.sock' DST\" reads "
		"it; " RAW_HINT,
		foreign->name, foreign->name,
		alone ? "make a file of the image alone; " : "",
		secret ? "--object=secret,id=key,file=KEYFILE --image-opts "
			 "driver="
		       : "--format=",
		foreign->driver,
		secret ? ",key-secret=key,file.filename=FILE" : " FILE");
}

int
image_probe(struct image_store *store, const struct image_open *how,
	const struct image_format **format, struct image_error *err)
{
	const unsigned char *head = store->head;
	*format = &image_format_raw;
	int rc = image_store_head(store, err);
	if (rc < 0)
		return rc;
	size_t length = store->head_length;
	/* Before the formats: QCOW version 1 has the magic of qcow2. */
	const struct image_foreign *foreign =
		image_foreign_by_magic(head, length);
	if (foreign)
		return refuse_foreign(store, foreign, err);
	/* The program that writes into the pipe has failed. */
	if (length == 0 && store->forward)
		return image_fail(
			err, store->name, -ENODATA, "is empty; " RAW_HINT);
	const struct image_format *found = image_format_by_magic(head, length);
	if (found) {
		*format = found;
		return 0;
	}
	rc = image_refuse_container(store, how, head, length, err);
	if (rc == 0)
		rc = image_refuse_text(store, head, length, err);
	return rc < 0 ? rc : choose_by_name(store, format, err);
}

/* Returns whether the message is about the store or the archive that has it. */
static bool
is_about(const struct image_error *err, const struct image_store *store)
{
	size_t length = strlen(err->file);

	return strncmp(err->file, store->name, length) == 0 &&
	       (!store->name[length] ||
		       strncmp(store->name + length, ": ", 2) == 0);
}

/* Replace the error if the file is not safe, or has changed: such a file fails
 * in many ways. */
static void
replace_by_cause(struct image_store *store, const struct image_open *how,
	bool check_last, struct image_error *err)
{
	struct image_error other = {.refused = false};

	if (err->refused || err->again || !is_about(err, store))
		return;
	if (check_last)
		image_check_last(store, how, &other);
	if (!other.refused)
		image_store_unchanged(store, &other);
	if (other.refused)
		*err = other;
}

/* A disk of unknown size has the limit when it is read. */
static int
limit_size(const struct image_source *source, uint64_t max_size,
	struct image_error *err)
{
	if (max_size == 0 || source->size <= max_size)
		return 0;
	if (!image_source_is_unsized(source))
		return image_too_large(err, source->store->name,
			"has a disk of more than", max_size);
	source->store->max_size = max_size;
	return 0;
}

int
image_open_store(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	const struct image_format *format = how->format;
	struct image_open inner = *how;
	/* The tables of a stream lie among its data. Those that the visit used
	 * are checked after the visit, and no data is kept until then. */
	bool check_last = how->untrusted && store->forward;
	bool expects = how->expect || image_store_origin(store)->layer;
	int rc = 0;

	*out = NULL;
	image_blocks_spill(store, how->spill);
	if (check_last) {
		image_blocks_keep_ends(store);
		/* An image that names another file is not safe. */
		inner.allow_backing = inner.allow_data_file = NULL;
	} else if (how->untrusted) {
		rc = image_check_refuse(store, how, err);
	}
	if (rc == 0 && !format)
		rc = image_probe(store, how, &format, err);
	assert(rc < 0 || format);
	/* The end of a stream comes later. */
	if (rc == 0 && !how->format && format == &image_format_raw &&
		!store->forward)
		rc = image_refuse_tail(store, store->size, err);
	if (rc == 0 && how->snapshot && !format->snapshots)
		rc = image_fail(err, store->name, -ENOENT,
			"is a %s image, which has no snapshot '%s'",
			format->name, how->snapshot);
	if (rc == 0)
		rc = format->open(store, &inner, out, err);
	if (rc == 0) {
		const struct image_store *origin = image_store_origin(store);
		assert(*out);
		(*out)->forward = store->forward;
		(*out)->served = origin->served;
		(*out)->member = store->member;
		(*out)->registry = origin->registry;
		(*out)->check_last = check_last;
		(*out)->settles = expects || check_last;
		rc = limit_size(*out, how->max_size, err);
		if (rc < 0) {
			image_close(*out);
			*out = NULL;
		}
		return rc;
	}
	inner.format = format;
	if (expects || check_last)
		replace_by_cause(store, &inner, check_last, err);
	else
		image_store_settle(store, err);
	image_store_close(store);
	*out = NULL;
	return rc;
}

void
image_source_settle(struct image_source *source, struct image_error *err)
{
	const struct image_open how = {
		.format = source->format, .vhd_size = source->vhd_size};
	struct image_store *store = source->store;
	struct image_error other;

	if (source->settles)
		replace_by_cause(store, &how, source->check_last, err);
	else if (store->below)
		image_store_settle(store, err);
	/* The damage may be that of another file of the image. */
	else if (err->damaged && !store->forward &&
		 image_source_unchanged(source, &other) < 0)
		*err = other;
}

/*
 * A server may send other bytes for the check than for the visit: make the
 * store one whose bytes come once. A raw image has no tables, and that in an
 * export has holes, which a stream would not have. Closes the store on failure.
 */
static int
read_once(struct image_store **store, struct image_open *how,
	struct image_error *err)
{
	const struct image_store *origin = image_store_origin(*store);
	const struct image_format *format = how->format;

	if (!how->untrusted || !origin->served || (*store)->forward)
		return 0;
	/* The bytes that come once are probed again, and refused then. */
	if (origin->device && !format &&
		image_probe(*store, how, &format, err) < 0)
		format = NULL;
	if (origin->device && format == &image_format_raw) {
		how->format = format;
		return 0;
	}
	return image_blocks_once(store, how->memory, NULL, err);
}

int
image_open(const char *path, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	struct image_store_how store_how = image_store_how(how);
	struct image_open inner = *how;
	struct image_store *store;

	*out = NULL;
	int rc = image_store_open_address(path, &store_how, &store, err);
	if (rc == 0 && how->expect)
		rc = image_blocks_expect(&store, how->expect, how->memory, err);
	if (rc == 0)
		rc = image_unwrap_store(&store, how, !how->inspect, err);
	if (rc == 0)
		rc = read_once(&store, &inner, err);
	return rc < 0 ? rc : image_open_store(store, &inner, out, err);
}

int
image_open_fd(int fd, const char *name, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	struct image_store_how store_how = image_store_how(how);
	struct image_store *store;

	*out = NULL;
	int rc = image_store_use(fd, name, &store_how, &store, err);
	if (rc == 0)
		rc = image_unwrap_store(&store, how, !how->inspect, err);
	return rc < 0 ? rc : image_open_store(store, how, out, err);
}

void
image_source_free(struct image_source *source)
{
	if (source->ops->close)
		source->ops->close(source);
	else
		free(source);
}

void
image_close(struct image_source *source)
{
	if (!source)
		return;
	struct image_store *store = source->store;
	image_source_free(source);
	image_store_close(store);
}

bool
image_source_is_unsized(const struct image_source *source)
{
	return source->size == IMAGE_SIZE_UNKNOWN && source->store->forward;
}

static bool
is_open_on(const struct image_store *store, void *fd)
{
	return image_store_is(store, *(const int *)fd);
}

bool
image_source_uses(const struct image_source *source, int fd)
{
	return image_source_any(source, is_open_on, &fd);
}

struct visit {
	void (*call)(void *opaque, int fd);
	void *opaque;
};

static bool
visit_file(const struct image_store *store, void *opaque)
{
	const struct visit *visit = opaque;
	int fd = image_store_fd(store);

	if (fd >= 0)
		visit->call(visit->opaque, fd);
	return false;
}

void
image_source_visit(const struct image_source *source,
	void (*call)(void *opaque, int fd), void *opaque)
{
	struct visit visit = {call, opaque};

	image_source_any(source, visit_file, &visit);
}

void
image_info(const struct image_source *source,
	void (*report)(void *opaque, const struct image_field *field),
	void *opaque)
{
	if (source->ops->info)
		source->ops->info(
			source, &(struct image_reporter){report, opaque});
}

int
image_create(int fd, const char *name, const struct image_format *format,
	const struct image_create *create, const struct image_write *how,
	struct image_sink **out, struct image_error *err)
{
	struct image_store_how store_how = {
		.direct = how->direct, .drop_cache = how->drop_cache};
	struct image_store *store;

	*out = NULL;
	int rc = image_store_use(fd, name, &store_how, &store, err);
	return rc < 0 ? rc : image_create_on(store, format, create, out, err);
}

int
image_target_open(const char *address, const struct image_write *how,
	struct image_store **out, struct image_error *err)
{
	struct image_store_how store_how = {.direct = how->direct,
		.drop_cache = how->drop_cache,
		.network = how->network,
		.in_place = how->in_place,
		.allow_disguised = how->allow_disguised};

	int rc = image_store_open_target(address, &store_how, out, err);
	if (rc < 0 || !*out)
		return rc;
	(*out)->zeros |= how->is_zero;
	(*out)->keep_rest = how->keep_rest;
	return 0;
}

int
image_create_on(struct image_store *target, const struct image_format *format,
	const struct image_create *create, struct image_sink **out,
	struct image_error *err)
{
	bool packed = create->packing > IMAGE_PACKING_NONE;

	assert(!packed || format == &image_format_raw);
	int rc = packed ? image_packed_create(target, create, out, err)
			: format->create(target, create, out, err);
	if (rc < 0) {
		image_store_close(target);
		*out = NULL;
	}
	return rc;
}

uint64_t
image_sink_size(const struct image_sink *sink)
{
	return sink->size;
}

int
image_finish(struct image_sink *sink, struct image_error *err)
{
	return sink->ops->finish ? sink->ops->finish(sink, err) : 0;
}

int
image_flush(struct image_sink *sink, struct image_error *err)
{
	return sink->store->ops->flush(sink->store, err);
}

void
image_sink_close(struct image_sink *sink)
{
	if (!sink)
		return;
	struct image_store *store = sink->store;
	if (sink->ops->close)
		sink->ops->close(sink);
	else
		free(sink);
	image_store_close(store);
}
