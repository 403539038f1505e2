/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces http/ in a build without libcurl, and nbd/ in one without libnbd. */
#include <errno.h>
#include <stdlib.h>
#include "store/address.h"

#ifdef IMAGE_NO_CURL
int
image_http_open(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	char *shown = image_address_name(address);

	*out = NULL;
	int rc = image_fail(err, how->request ? how->request->name : shown,
		-ENOTSUP,
		"needs libcurl, which this hone was built without: install "
		"libcurl4-openssl-dev, then build with -Dlibcurl=enabled");
	free(shown);
	return rc;
}

bool
image_s3_is_plain(void)
{
	return false;
}

const char *
image_http_library(void)
{
	return NULL;
}
#endif

#ifdef IMAGE_NO_NBD
const char *
image_nbd_library(void)
{
	return NULL;
}

int
image_nbd_open(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	(void)how;
	*out = NULL;
	return image_fail(err, address, -ENOTSUP,
		"needs libnbd, which this hone was built without: install "
		"libnbd-dev, then build with -Dlibnbd=enabled");
}
#endif
