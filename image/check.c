/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of image_check() that all formats share. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "archive/archive.h"
#include "format/formats.h"
#include "format/format.h"
#include "store/address.h"
#include "blocks/blocks.h"
#include "unpack/unpack.h"

void
image_verdict_add(struct image_verdict *verdict, const char *name,
	uint64_t faults, const char *format, ...)
{
	struct image_finding finding = {.name = name, .faults = faults};
	va_list args;

	va_start(args, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start() */
	vsnprintf(finding.text, sizeof(finding.text), format, args);
	va_end(args);
	/* A name in the image may be an address. */
	char *shown = image_hide_secrets(finding.text);
	snprintf(finding.text, sizeof(finding.text), "%s",
		shown ? shown : "out of memory");
	free(shown);
	if (faults)
		verdict->checked->safe = false;
	verdict->report(verdict->opaque, &finding);
}

/* More than the signatures at the beginning of a file. */
#define STEP ((size_t)1 << 20)

/*
 * The tests, without a look at whether the store has changed since. With keep,
 * the bytes of a stream can be read again.
 */
static int
check_metadata(struct image_store *store, const struct image_open *how,
	bool keep, struct image_verdict *verdict, struct image_error *err)
{
	const struct image_format *format = how->format;

	*verdict->checked = (struct image_checked){.safe = true};
	verdict->vhd_size = how->vhd_size;
	int rc = format ? 0 : image_probe(store, how, &format, err);
	/* The suffix is that of a format, and the first bytes are those of
	 * none. */
	if (rc == -EINVAL)
		image_verdict_add(verdict, "format", 1, "%s", err->text);
	if (rc < 0)
		return rc == -EINVAL ? 0 : rc;
	verdict->checked->format = format;
	/* The tables are read several times, and the size bounds them. */
	if (store->forward && (!keep || store->size == IMAGE_SIZE_UNKNOWN))
		/* The ends are enough for the tests of a raw image. */
		rc = image_store_find_end(store, 0,
			!keep && format == &image_format_raw ? STEP
							     : UINT64_MAX,
			err);
	if (rc == 0)
		rc = image_check_signatures(store, format, verdict, err);
	if (rc == 0 && format->check)
		rc = format->check(store, verdict, err);
	if (rc != -ESPIPE || keep)
		return rc;
	/* The check read a table from bytes that the visit released as data. */
	image_verdict_add(verdict, "overlaps", 1, "%s",
		"the data of the disk overlaps a table");
	return 0;
}

int
image_check_store(struct image_store *store, const struct image_open *how,
	struct image_verdict *verdict, struct image_error *err)
{
	int rc = check_metadata(store, how, false, verdict, err);
	if (rc < 0)
		image_store_settle(store, err);
	return rc ? rc : image_store_unchanged(store, err);
}

static void
keep_first(void *opaque, const struct image_finding *finding)
{
	struct image_finding *first = opaque;

	if (finding->faults && !first->faults)
		*first = *finding;
}

static int
refuse(struct image_store *store, const struct image_open *how, bool keep,
	struct image_error *err)
{
	struct image_finding first = {.faults = 0};
	struct image_checked checked;
	struct image_verdict verdict = {
		.report = keep_first, .opaque = &first, .checked = &checked};

	int rc = check_metadata(store, how, keep, &verdict, err);
	if (rc < 0 || checked.safe)
		return rc;
	/* A file that changes meanwhile may have no fault at all. */
	if (keep && image_store_unchanged(image_store_origin(store), err) < 0)
		return -EIO;
	rc = image_fail(err, store->name, -EPERM, "is not safe: %s: %s",
		first.name, first.text);
	err->refused = true;
	return rc;
}

int
image_check_refuse(struct image_store *store, const struct image_open *how,
	struct image_error *err)
{
	return refuse(store, how, true, err);
}

int
image_check_last(struct image_store *store, const struct image_open *how,
	struct image_error *err)
{
	return refuse(store, how, false, err);
}

static void
read_data(struct image_source *source)
{
	struct image_scratch scratch = {0};
	struct image_extent extent;
	struct image_error err;
	void *buffer = malloc(STEP);
	int rc = buffer ? 0 : -ENOMEM;

	for (uint64_t at = 0; rc == 0 && at < source->size;
		at += extent.length) {
		rc = source->ops->extent(
			source, at, source->size - at, &extent, &err);
		if (rc < 0 || extent.kind != IMAGE_DATA)
			continue;
		if (extent.length > STEP)
			extent.length = STEP;
		rc = source->ops->read(source, &scratch, at, buffer,
			(size_t)extent.length, &err);
	}
	image_scratch_destroy(&scratch);
	free(buffer);
}

/*
 * Read the disk in a stream, so that its data need not be kept until all tables
 * have come. Returns the source, which owns the store, or NULL. A failure has
 * no effect: the tests find its reason.
 */
static struct image_source *
visit(struct image_store *store, const struct image_open *how)
{
	const struct image_open plain = {
		.untrusted = true, .vhd_size = how->vhd_size};
	const struct image_format *format = how->format;
	struct image_source *source;
	struct image_error err;

	if (!store->forward ||
		(!format && image_probe(store, how, &format, &err) < 0) ||
		!format->check)
		return NULL;
	image_blocks_keep_ends(store);
	if (format->open(store, &plain, &source, &err) < 0)
		return NULL;
	read_data(source);
	return source;
}

/*
 * Report "size", the test of image_open.max_size. *source is that of visit(),
 * or becomes one that owns the store. An image that cannot be opened has other
 * faults.
 */
static void
check_size(struct image_store *store, struct image_source **source,
	const struct image_open *how, struct image_verdict *verdict)
{
	const struct image_format *format = verdict->checked->format;
	const struct image_open look = {
		.inspect = true, .vhd_size = how->vhd_size};
	struct image_error err;

	if (!how->max_size || !format)
		return;
	/* A stream cannot be opened again, and its length is not the disk's. */
	if (!*source && store->forward && format->check)
		return;
	if (!*source && !store->forward &&
		format->open(store, &look, source, &err) < 0)
		return;
	uint64_t size = *source ? (*source)->size : store->size;
	image_verdict_add(verdict, "size", size > how->max_size,
		"the disk has %s, and --max-size allows %" PRIu64,
		IMAGE_COUNT(size, "byte"), how->max_size);
}

int
image_check(const char *path, const struct image_open *how,
	void (*report)(void *opaque, const struct image_finding *finding),
	void *opaque, struct image_checked *checked, struct image_error *err)
{
	struct image_store_how store_how = image_store_how(how);
	struct image_verdict verdict = {
		.report = report, .opaque = opaque, .checked = checked};
	struct image_open strict = *how;
	struct image_store *store;

	strict.untrusted = true;
	int rc = image_store_open_address(path, &store_how, &store, err);
	if (rc == 0)
		rc = image_unwrap_store(&store, &strict, true, err);
	if (rc < 0)
		return rc;
	image_blocks_spill(store, how->spill);
	struct image_source *source = visit(store, how);
	struct image_error fault;
	int ended = source && source->ops->ended
			    ? source->ops->ended(source, &fault)
			    : 0;
	rc = image_check_store(store, how, &verdict, err);
	/* The end of a stream contradicts what was read of it, and forgotten.
	 */
	if (rc == 0 && checked->safe && ended < 0 && fault.damaged) {
		image_verdict_add(&verdict, "stream", 1, "%s", fault.text);
	} else if (rc == 0 && checked->safe && ended < 0) {
		*err = fault;
		rc = ended;
	}
	/* Without a digest to expect, only the manifest refuses content, or the
	 * limit of what is unpacked. */
	if (rc < 0 && err->refused) {
		image_verdict_add(&verdict, rc == -EFBIG ? "size" : "manifest",
			1, "%s", err->text);
		rc = 0;
	} else if (rc == 0) {
		check_size(store, &source, how, &verdict);
	}
	if (source)
		image_close(source);
	else
		image_store_close(store);
	return rc;
}
