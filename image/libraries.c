/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries that hone --version names. */
#include "store/address.h"
#include "unpack/unpack.h"

const char *
image_library(size_t index, const char **version)
{
	const struct {
		const char *name;
		const char *version; /* NULL: this build lacks it */
	} libraries[] = {
		{"OpenSSL", image_digest_library()},
		{"zlib", image_unpack_version(IMAGE_PACKING_GZIP)},
		{"libzstd", image_unpack_version(IMAGE_PACKING_ZSTD)},
		{"liblzma", image_unpack_version(IMAGE_PACKING_XZ)},
		{"libnbd", image_nbd_library()},
		{"libbz2", image_unpack_version(IMAGE_PACKING_BZIP2)},
		{"libcurl", image_http_library()},
	};

	if (index >= sizeof(libraries) / sizeof(libraries[0]))
		return NULL;
	*version = libraries[index].version;
	return libraries[index].name;
}
