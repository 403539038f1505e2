/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_NBD_LIBNBD_H
#define HONE_IMAGE_NBD_LIBNBD_H
/*
 * libnbd, which is loaded by the first address: see loaded.h in image/.
 * libnbd.get_size(h) calls nbd_get_size(h).
 */
#include <libnbd.h>

struct image_libnbd {
#define IMAGE_LOADED(prefix, name) __typeof__(prefix##name) *name;
#include "store/nbd/libnbd.def"
#undef IMAGE_LOADED
};
/* Set when an address is opened; constant after that. */
extern struct image_libnbd libnbd;

#endif
