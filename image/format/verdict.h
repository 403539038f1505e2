/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_VERDICT_H
#define HONE_IMAGE_VERDICT_H
/* The reports of the tests of image_check(). */
#include "format/format.h"

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
