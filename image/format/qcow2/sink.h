/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_SINK_H
#define HONE_IMAGE_QCOW2_SINK_H
/* A new qcow2 image. */
#include "format/format.h"

/* image_format.options, .set and .create */
extern const struct image_option qcow2_options[];
int qcow2_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err);
int qcow2_create(struct image_store *store, const struct image_create *create,
	struct image_sink **out, struct image_error *err);

/* forward_sink.c: the same for a store that is forward, without -c. */
int qcow2_create_forward(struct image_store *store,
	const struct image_create *create, struct image_sink **out,
	struct image_error *err);

/* options.c: fails if options exclude each other. */
int qcow2_check_create(const struct image_create *create, const char *name,
	struct image_error *err);

#endif
