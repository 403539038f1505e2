/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_SOURCE_H
#define HONE_IMAGE_SOURCE_H
/* Parts of sources and sinks that several formats share. */
#include "format/format.h"
#include "store/store.h"

/* As image_source_ops, for a disk whose bytes are in the store at their own
 * offsets. */
int image_flat_extent(struct image_source *source, uint64_t offset,
	uint64_t length, struct image_extent *extent, struct image_error *err);
int image_flat_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err);

/* As image_sink_ops, for such a disk. */
int image_flat_reserve(struct image_sink *sink, struct image_place *place,
	struct image_error *err);

/*
 * After a failure of open: with image_open.inspect, keep the first failure as
 * that of later reads. Returns 0 if the failure was kept, otherwise rc.
 */
int image_source_inspected(struct image_source *source,
	const struct image_open *how, int rc, const struct image_error *err);
/* Returns 0, or the failure that was kept. */
int image_source_refused(
	const struct image_source *source, struct image_error *err);

/*
 * Set [*begin, *end) to the first range of sectors with data in [from, to), two
 * multiples of IMAGE_SECTOR; a sector that is not wholly in a hole has data.
 * *begin is `to` if there is none. The ranges of a part of the disk are those
 * of the whole disk, cut. What lies behind the disk is a hole.
 */
int image_region(struct image_source *source, uint64_t from, uint64_t to,
	uint64_t *begin, uint64_t *end, struct image_error *err);

/* Set *data to the first byte of the disk in [from, to) that is not zero, or to
 * `to`. */
int image_source_find_data(struct image_source *source, uint64_t from,
	uint64_t to, uint64_t *data, struct image_error *err);

/* The wanted part of a unit of the disk that is stored compressed. */
struct image_unit {
	/* offset of the unit in the disk */
	uint64_t guest;
	uint64_t host;
	/* most bytes from host on */
	uint64_t stored;
	/* `length` bytes of the unit, from `skip` on, are copied to `to` */
	size_t skip;
	size_t length;
	unsigned char *to;
};

#define IMAGE_BATCH 128

/* Units of one read, which lie near each other in a store. */
struct image_batch {
	struct image_scratch *scratch;
	/*
	 * Unpack a unit of the owner to `to`, with room for a whole one. `end`:
	 * of what was read, from the bytes of the unit on.
	 */
	int (*unpack)(const struct image_batch *batch,
		const struct image_unit *unit, const unsigned char *bytes,
		uint64_t end, unsigned char *to, struct image_error *err);
	const void *owner;
	struct image_store *store;
	/* bytes of a unit */
	size_t unit;
	/* the range of the store with all units */
	uint64_t from;
	uint64_t end;
	unsigned n;
	struct image_unit units[IMAGE_BATCH];
};

/* Add a unit. Units of another owner, or far from this one, are read first. */
int image_batch_add(struct image_batch *batch, const void *owner,
	struct image_store *store, size_t size, const struct image_unit *unit,
	struct image_error *err);
/* Read what was added. */
int image_batch_read(struct image_batch *batch, struct image_error *err);

/* Report a field of image_info(). */
void image_put_number(
	const struct image_reporter *r, const char *name, uint64_t number);
/* NULL: there is no such field. */
void image_put_text(
	const struct image_reporter *r, const char *name, const char *text);

/* Files that an image names. An attacker may have chosen the names. */

/*
 * Open the file that a field of the image names, a regular file below the
 * directory that the user allowed. The name is relative to the directory of the
 * image. A name with a protocol, such as "nbd:...", is refused.
 */
int image_named_open(const struct image_store *image, const char *field,
	const char *name, const char *below, const struct image_open *how,
	struct image_store **out, struct image_error *err);

/* The bytes of a name for which a message has room. */
#define IMAGE_NAME_SHOWN 180

/* Returns what may be shown of a name, in a buffer of the block. A name may be
 * an address, and the sentence around it does not tell where that ends. */
#define IMAGE_NAME(name)                                                       \
	image_named_show((char[IMAGE_NAME_SHOWN + 1]){""}, name)
const char *image_named_show(
	char shown[IMAGE_NAME_SHOWN + 1], const char *name);

#endif
