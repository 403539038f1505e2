/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include "loaded.h"
#include "store/address.h"
#include "unpack/unpack.h"

static int
load(const struct image_loaded *library, struct image_error *err)
{
	const struct image_loaded_function *wanted = library->wanted;
	bool linked = wanted->linked;
	void *handle =
		linked ? NULL : dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

	if (!linked && !handle)
		return image_fail(err, NULL, -ENOTSUP,
			"needs %s, which cannot be loaded (%s); install the "
			"package %s",
			library->file, dlerror(), library->package);
	for (size_t i = 0; wanted[i].name; i++) {
		void *address = linked ? wanted[i].linked
				       : dlsym(handle, wanted[i].name);
		if (!address)
			return image_fail(err, NULL, -ENOTSUP,
				"needs %s with the function %s; install a "
				"newer version of the package %s",
				library->file, wanted[i].name,
				library->package);
		memcpy((char *)library->functions + i * sizeof(address),
			&address, sizeof(address));
	}
	return library->begin ? library->begin(err) : 0;
}

int
image_load(struct image_loaded *library, struct image_error *err)
{
	pthread_mutex_lock(&library->lock);
	if (!library->tried)
		library->rc = load(library, &library->err);
	library->tried = true;
	pthread_mutex_unlock(&library->lock);
	if (library->rc < 0)
		*err = library->err;
	return library->rc;
}

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
