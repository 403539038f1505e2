/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_FORMAT_H
#define HONE_IMAGE_FORMAT_H
/*
 * The middle layer: a format on a store, as a source to read or as a sink to
 * write. A format defines one struct image_format and has one row in
 * formats.def, which tells how a format is added.
 *
 *	open.c		a source or a sink: chooses the format of a store
 *	formats.c	the list of formats, and their names
 *	refuse.c	refuses packed files, archives and web pages
 *	qcow2/, vmdk/, vhd/, raw.c, gce.c	the formats
 *	packed/		a raw disk that is packed
 *	source.c	what they share, and files that an image names
 *	slices.c	a cache of tables
 *	bytes.h		numbers
 *	signatures.c	tests for a second format in the file
 */
#include "codec/codec.h"
#include "error.h"
#include "store/store.h"

struct image_ends;
struct image_packed;
struct image_patches;
struct image_verdict;

/* The arguments of image_info(). */
struct image_reporter {
	void (*report)(void *opaque, const struct image_field *field);
	void *opaque;
};

struct image_source_ops {
	/*
	 * Describe the image from offset to offset + length, which lies in it:
	 * *extent begins at offset. Its length is 1 to length, as far as one
	 * lookup of the metadata reaches. The kind is IMAGE_DATA or IMAGE_HOLE.
	 * The time may grow with length. Any thread.
	 */
	int (*extent)(struct image_source *source, uint64_t offset,
		uint64_t length, struct image_extent *extent,
		struct image_error *err);

	/*
	 * Read exactly length bytes, or fail. The range may cross extents of
	 * any kind. `scratch` belongs to the calling thread. Any thread.
	 */
	int (*read)(struct image_source *source, struct image_scratch *scratch,
		uint64_t offset, void *buf, size_t length,
		struct image_error *err);

	/*
	 * After a visit of the whole image: fail if what only the end of a
	 * stream tells contradicts the disk that was read. NULL: nothing does.
	 */
	int (*ended)(struct image_source *source, struct image_error *err);

	/* As image_info(); NULL if there is nothing to report. */
	void (*info)(const struct image_source *source,
		const struct image_reporter *reporter);

	/* Returns whether the test is true of a store of the image: its own,
	 * its data file's, or one of its backing chain. Stops there. NULL: the
	 * image has its own store alone. */
	bool (*any)(const struct image_source *source, image_store_test *test,
		void *opaque);

	/* Free everything but the store. NULL: free() does. */
	void (*close)(struct image_source *source);
};

/* source.c: image_source_ops.any. */
bool image_source_any(const struct image_source *source, image_store_test *test,
	void *opaque);
/* source.c: returns -EIO if a change of a file of the image was detected. */
int image_source_unchanged(
	struct image_source *source, struct image_error *err);

/* open.c: image_close() without the store. */
void image_source_free(struct image_source *source);

/* A range of the guest's disk, and its place in the file. */
struct image_place {
	/* bytes of the guest's disk */
	uint64_t guest;
	uint64_t length;
	/* bytes that are stored: length, or less for one compressed unit */
	uint64_t stored;
	bool compressed;
	/* set by reserve */
	uint64_t host;
};

struct image_sink_ops {
	/*
	 * Lay out the file by the extents of the source, and write what comes
	 * before its data. Every later range of reserve lies in data of the
	 * source. Called once, before the first reserve. memory: most bytes for
	 * the layout. NULL: no layout is needed in advance.
	 */
	int (*plan)(struct image_sink *sink, struct image_source *source,
		size_t memory, struct image_error *err);

	/*
	 * Reserve the place of a range in the file; a range without one reads
	 * as zeros. Called in ascending order of guest offsets, by one thread
	 * at a time. A compressed place is exactly one unit (the last one of
	 * the disk may be shorter). An uncompressed place may be any range: its
	 * first unit may already have a place from the previous call.
	 * place->length may be reduced: the caller then reserves the rest in
	 * another call. With sink->fill, the calls cover the disk.
	 *
	 * The caller writes the bytes to place->host by image_sink_write(), in
	 * any order, from any thread, before finish; in the order of their
	 * places if the store is forward.
	 */
	int (*reserve)(struct image_sink *sink, struct image_place *place,
		struct image_error *err);

	/*
	 * Compress a whole unit of the disk into sink->most bytes at `to`.
	 * Returns the bytes that are stored, or -ENOMEM. NULL:
	 * image_compress(), and a unit that does not shrink is stored as it
	 * is. Any thread.
	 */
	int64_t (*encode)(const struct image_sink *sink,
		struct image_scratch *scratch, uint64_t guest, const void *unit,
		void *to);

	/* Write bytes to a place that was reserved. NULL: image_store_write()
	 * of sink->store. */
	int (*write)(struct image_sink *sink, uint64_t host, const void *buf,
		size_t length, struct image_error *err);

	/*
	 * The disk has this size. Called once before finish, after the last
	 * reserve, with image_create.unsized.
	 */
	int (*resize)(struct image_sink *sink, uint64_t size,
		struct image_error *err);

	/*
	 * For a file that is a stream of the data alone, made of compressed
	 * parts: set packed->host to the place of the next part. Called in the
	 * order of the disk, by one thread at a time. The parts have the
	 * sectors that image_region() finds, or with sink->part the disk but
	 * for zeros between them. image_copy() calls no reserve then. NULL:
	 * ranges of the disk have places.
	 */
	int (*append)(struct image_sink *sink, struct image_packed *packed,
		struct image_error *err);

	/*
	 * Write what stands for the packed->zeros in front of a part, which
	 * append has set. Any thread; in the order of the parts if the store is
	 * forward. NULL without sink->part.
	 */
	int (*gap)(struct image_sink *sink, const struct image_packed *packed,
		struct image_error *err);

	/* Write the remaining metadata, the header last unless plan wrote it.
	 * NULL if there is none. */
	int (*finish)(struct image_sink *sink, struct image_error *err);

	/* Free everything but the store; writes nothing. NULL: free() does. */
	void (*close)(struct image_sink *sink);
};

/* Embedded as first member by each format. */
struct image_sink {
	const struct image_sink_ops *ops;
	const struct image_format *format;
	struct image_store *store;
	uint64_t size;
	/* least length of zeros that saves space, a power of two; 0: any. With
	 * compress: bytes of a unit that is compressed */
	uint64_t unit;
	/* ranges without data get a place too, and the copy zeroes it: the
	 * store has other bytes there. Not with compress */
	bool fill;
	/* compress each unit */
	bool compress;
	/* with ops->encode: most bytes of an encoded unit */
	size_t most;
	/* with ops->append: parts begin and end within pieces of the disk of
	 * this length, a power of two; 0: see ops->append */
	size_t part;
	/* of the disk, if the store has other bytes; or NULL */
	const struct image_ends *ends;
	struct image_codec codec;
};

static inline int
image_sink_write(struct image_sink *sink, uint64_t host, const void *buf,
	size_t length, struct image_error *err)
{
	if (sink->ops->write)
		return sink->ops->write(sink, host, buf, length, err);
	return image_store_write(sink->store, host, buf, length, err);
}

#define IMAGE_FORMAT(name) extern const struct image_format image_format_##name;
#include "format/formats.def"
#undef IMAGE_FORMAT

/*
 * The part of image_open() that follows the opening of the store. Closes the
 * store on failure.
 */
int image_open_store(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err);

/* The reports of the tests of image_check(). */

struct image_verdict {
	void (*report)(void *opaque, const struct image_finding *finding);
	void *opaque;
	struct image_checked *checked;
	/* of image_open */
	enum image_vhd_size vhd_size;
};

/*
 * Report a test. faults: the number of faults, 0 if the test passed. The text
 * describes the first fault.
 */
__attribute__((format(printf, 4, 5))) void image_verdict_add(
	struct image_verdict *verdict, const char *name, uint64_t faults,
	const char *format, ...);

/*
 * signatures.c: report "polyglot", the test for signatures of other formats in
 * the same file, and for raw images "mbr".
 */
int image_check_signatures(struct image_store *store,
	const struct image_format *format, struct image_verdict *verdict,
	struct image_error *err);

/* As image_check(), on a store that the caller keeps. */
int image_check_store(struct image_store *store, const struct image_open *how,
	struct image_verdict *verdict, struct image_error *err);

/*
 * Fail with the first fault and err->refused if the image in the store is not
 * safe. Whoever reads the image checks at the end whether it has changed.
 */
int image_check_refuse(struct image_store *store, const struct image_open *how,
	struct image_error *err);

/*
 * The same for a store that is forward, after a visit of the whole image: the
 * tables were not released. Reads the rest of the stream. how->format may be
 * NULL.
 */
int image_check_last(struct image_store *store, const struct image_open *how,
	struct image_error *err);

#endif
