/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of image_info() for a VHD. */
#include <stdio.h>
#include "format/source.h"
#include "format/vhd/vhd.h"

/* Seconds from 1970-01-01 to 2000-01-01. */
#define EPOCH UINT64_C(946684800)

/* As in the specification, with the bytes in their order. */
static void
put_uuid(const struct image_reporter *r, const unsigned char *uuid)
{
	char text[37];
	size_t n = 0;

	for (int i = 0; i < 16; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			uuid[i]);
	image_put_text(r, "uuid", text);
}

void
vhd_info(const struct image_source *source, const struct image_reporter *r)
{
	static const char *const types[] = {[VHD_FIXED] = "fixed",
		[VHD_DYNAMIC] = "dynamic",
		[VHD_DIFFERENCING] = "differencing"};
	const struct vhd_source *v = (const struct vhd_source *)source;
	const struct vhd_footer *f = &v->footer;
	char text[32];

	image_put_text(r, "subformat", types[f->type]);
	snprintf(text, sizeof(text), "%.4s", (const char *)f->creator);
	image_put_text(r, "creator_app", text);
	snprintf(text, sizeof(text), "%u/%u/%u", f->cylinders, f->heads,
		f->sectors);
	image_put_text(r, "geometry", text);
	image_put_text(r, "size_from",
		f->by_current_size ? "current_size" : "geometry");
	if (v->header.block_size) {
		image_put_number(r, "cluster_size", v->header.block_size);
		image_put_number(r, "blocks", v->n_used);
	}
	put_uuid(r, f->uuid);
	image_put_number(r, "date", EPOCH + f->timestamp);
}
