/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A disk whose descriptor is a file of its own. The files that it names are
 * opened below the directory that the user allowed, and nowhere else.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "format/named.h"
#include "format/vmdk/source.h"

int
vmdk_set_size(struct vmdk_source *v, struct image_error *err)
{
	const struct vmdk_descriptor *d = &v->descriptor;
	uint64_t sectors = 0;

	if (d->count == 0)
		return image_damaged(err, v->base.store->name, -EINVAL,
			"its descriptor has no extents");
	for (size_t i = 0; i < d->count; i++)
		if (__builtin_add_overflow(
			    sectors, d->lines[i].sectors, &sectors) ||
			sectors > INT64_MAX / VMDK_SECTOR)
			return image_damaged(err, v->base.store->name, -EINVAL,
				"the extents of its descriptor have too many "
				"sectors");
	v->base.size = sectors * VMDK_SECTOR;
	return 0;
}

static bool
is_flat(const char *type)
{
	return strcmp(type, "FLAT") == 0 || strcmp(type, "VMFS") == 0;
}

/* The kinds of extents that are known, and not supported. */
static int
check_type(const struct vmdk_source *v, const struct vmdk_line *line,
	struct image_error *err)
{
	if (is_flat(line->type) || strcmp(line->type, "SPARSE") == 0 ||
		strcmp(line->type, "ZERO") == 0)
		return 0;
	return image_fail(err, v->base.store->name, -ENOTSUP,
		"its descriptor has an extent of type %s, which is not "
		"supported",
		line->type);
}

static int
check_flat(const struct vmdk_extent *e, struct image_error *err)
{
	uint64_t length = e->end - e->begin;

	if (e->host <= e->store->size && e->store->size - e->host >= length)
		return 0;
	return image_damaged(err, e->store->name, -EINVAL,
		"has %" PRIu64 " bytes, and its descriptor has an extent of "
		"%" PRIu64 " bytes at offset %" PRIu64 " of the file",
		e->store->size, length, e->host);
}

static int
load_sparse(
	struct vmdk_source *v, struct vmdk_extent *e, struct image_error *err)
{
	uint64_t sectors = (e->end - e->begin) / VMDK_SECTOR;

	int rc = vmdk_read_header(e->store, true, &e->header, err);
	if (rc == 0 && e->header.capacity != sectors)
		rc = image_damaged(err, e->store->name, -EINVAL,
			"has %" PRIu64 " sectors, and the extent of its "
			"descriptor has %" PRIu64,
			e->header.capacity, sectors);
	/* One file may be named by many lines. */
	v->tables += rc == 0 ? e->header.tables : 0;
	if (rc == 0 && v->tables > VMDK_MAX_DIRECTORY)
		rc = image_fail(err, v->base.store->name, -EFBIG,
			"the grain directories of its extents would have "
			"more than %" PRIu64 " entries",
			VMDK_MAX_DIRECTORY);
	return rc == 0 ? vmdk_load_directory(e, err) : rc;
}

/* Open a file by the bytes of its name, or by its letters in UTF-8. */
static int
open_named(struct vmdk_source *v, const char *name,
	const struct image_open *how, struct image_store **store,
	struct image_error *err)
{
	const char *below = how->allow_data_file;
	struct image_error of_bytes;

	int rc = image_named_open(
		v->base.store, "extent", name, below, how, store, err);
	if (rc != -ENOENT)
		return rc;
	char *utf8 = vmdk_utf8_name(&v->descriptor, name);
	if (!utf8)
		return rc;
	of_bytes = *err;
	rc = image_named_open(
		v->base.store, "extent", utf8, below, how, store, err);
	free(utf8);
	if (rc == -ENOENT)
		*err = of_bytes;
	return rc;
}

static int
open_extent(struct vmdk_source *v, const struct vmdk_line *line,
	const struct image_open *how, struct vmdk_extent *e,
	struct image_error *err)
{
	if (strcmp(line->type, "ZERO") == 0) {
		e->kind = VMDK_ZERO;
		return 0;
	}
	int rc = open_named(v, line->name, how, &e->store, err);
	if (rc < 0)
		return rc;
	if (!is_flat(line->type))
		return load_sparse(v, e, err);
	e->kind = VMDK_FLAT;
	e->host = line->offset * VMDK_SECTOR;
	return check_flat(e, err);
}

/* Returns the first file that the descriptor names, or NULL. */
static const char *
first_name(const struct vmdk_descriptor *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->lines[i].name)
			return d->lines[i].name;
	return NULL;
}

/* What the process has open besides extents, and opens later. */
#define OTHER_FILES 256

/*
 * All files of the descriptor stay open. The usual soft limit, for programs
 * that use select(), is 1024.
 */
static int
allow_files(const struct vmdk_descriptor *d, const char *name,
	struct image_error *err)
{
	struct rlimit limit;
	rlim_t needed = OTHER_FILES;

	for (size_t i = 0; i < d->count; i++)
		needed += d->lines[i].name && d->lines[i].sectors;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= needed)
		return 0;
	limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (needed - OTHER_FILES < limit.rlim_max)
		return 0;
	return image_fail(err, name, -EMFILE,
		"its descriptor names %" PRIu64
		" files, and the hard limit of open files (ulimit -Hn) is "
		"%" PRIu64,
		(uint64_t)(needed - OTHER_FILES), (uint64_t)limit.rlim_max);
}

int
vmdk_open_extents(struct vmdk_source *v, const struct image_open *how,
	struct image_error *err)
{
	const struct vmdk_descriptor *d = &v->descriptor;
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < d->count; i++)
		rc = check_type(v, &d->lines[i], err);
	if (rc < 0)
		return rc;
	if (!how->allow_data_file && first_name(d))
		return image_fail(err, v->base.store->name, -EPERM,
			how->untrusted
				? "is a VMDK descriptor that names the file "
				  "'%s'; a safe image names no other file"
				: "is a VMDK descriptor, and its extent '%s' "
				  "is not opened without --allow-data-file DIR",
			IMAGE_NAME(first_name(d)));
	rc = allow_files(d, v->base.store->name, err);
	if (rc < 0)
		return rc;
	v->extents = calloc(d->count + 1, sizeof(*v->extents));
	if (!v->extents)
		return image_no_memory(err);
	for (size_t i = 0; rc == 0 && i < d->count; i++) {
		struct vmdk_extent *e = &v->extents[v->count];
		e->begin = at;
		at += d->lines[i].sectors * VMDK_SECTOR;
		e->end = at;
		/* An extent without sectors has no byte of the disk. */
		if (e->end == e->begin)
			continue;
		v->count++;
		rc = open_extent(v, &d->lines[i], how, e, err);
	}
	if (rc == 0 && v->count && v->extents[0].kind == VMDK_SPARSE)
		v->base.unit = vmdk_grain(&v->extents[0]);
	if (rc == 0 && v->count == 1 && v->extents[0].store)
		v->base.data = v->extents[0].store;
	return rc;
}
