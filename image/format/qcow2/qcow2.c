/* SPDX-License-Identifier: BSD-3-Clause */
/* The struct image_format of qcow2. */
#include "format/qcow2/check.h"
#include "format/qcow2/sink.h"
#include "format/qcow2/source.h"

static bool
qcow2_probe(const unsigned char *head, size_t length)
{
	return length >= 4 && image_be32(head) == QCOW2_MAGIC;
}

static int
qcow2_open(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	return qcow2_open_source(
		&image_format_qcow2, store, how, NULL, out, err);
}

const struct image_format image_format_qcow2 = {
	.name = "qcow2",
	.suffixes = ".qcow2",
	.snapshots = true,
	.probe = qcow2_probe,
	.open = qcow2_open,
	.check = qcow2_check,
	.options = qcow2_options,
	.set = qcow2_set,
	.compresses = true,
	.streams = true,
	.create = qcow2_create,
};
