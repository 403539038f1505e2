/* SPDX-License-Identifier: BSD-3-Clause */
/* The struct image_format of VMDK. */
#include "format/vmdk/source.h"

static bool
vmdk_probe(const unsigned char *head, size_t length)
{
	return (length >= 4 && memcmp(head, VMDK_MAGIC, 4) == 0) ||
	       vmdk_other_kind(head, length) ||
	       vmdk_is_descriptor(head, length);
}

static int
vmdk_open(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	return vmdk_open_source(store, how, false, out, err);
}

const struct image_format image_format_vmdk = {
	.name = "vmdk",
	.suffixes = ".vmdk",
	.probe = vmdk_probe,
	.open = vmdk_open,
	.check = vmdk_check,
	.options = vmdk_options,
	.set = vmdk_set,
	.compresses = true,
	.always_compresses = true,
	.streams = true,
	.create = vmdk_create,
};
