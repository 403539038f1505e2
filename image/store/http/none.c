/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the other files in a build without libcurl. */
#include <errno.h>
#include <stdlib.h>
#include "store/address.h"

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
