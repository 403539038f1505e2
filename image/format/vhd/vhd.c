/* SPDX-License-Identifier: BSD-3-Clause */
/* VHD: the format as the other layers see it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "format/verdict.h"
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

/*
 * A VHD names no other file except as the parent of a differencing disk, which
 * is refused. So an image is safe if it can be opened.
 */
static int
vhd_check(struct image_store *store, struct image_verdict *verdict,
	struct image_error *err)
{
	const struct image_open how = {.format = &image_format_vhd};
	struct image_source *source;

	int rc = vhd_open_source(store, &how, true, &source, err);
	if (rc == -ENOTSUP || rc == -EINVAL) {
		image_verdict_add(verdict,
			rc == -ENOTSUP ? "parent" : "well_formed", 1, "%s",
			err->text);
		return 0;
	}
	if (rc < 0)
		return rc;
	const struct vhd_source *v = vhd_source(source);
	if (v->table)
		image_verdict_add(verdict, "well_formed", 0, "%" PRIu64 " %s",
			v->n_used, image_plural(v->n_used, "block", "blocks"));
	else
		image_verdict_add(verdict, "well_formed", 0, "%s", "fixed");
	image_verdict_add(verdict, "parent", 0, "%s", "none");
	vhd_free(source);
	return 0;
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
