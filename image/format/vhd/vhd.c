/* SPDX-License-Identifier: BSD-3-Clause */
/* VHD: the format as the other layers see it. */
#include "format/vhd/vhd.h"

static bool
vhd_probe(const unsigned char *head, size_t length)
{
	return vhd_has_cookie(head, length);
}

static int
vhd_open(struct image_store *store, const struct image_open *how,
	struct image_source **out, struct image_error *err)
{
	return vhd_open_source(store, how, false, out, err);
}

const struct image_format image_format_vhd = {
	.name = "vhd",
	.alias = "vpc",
	.suffixes = ".vhd .vpc",
	.footer = true,
	.streams = true,
	.probe = vhd_probe,
	.open = vhd_open,
	.check = vhd_check,
	.options = vhd_options,
	.set = vhd_set,
	.create = vhd_create,
};
