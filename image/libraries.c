/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries of this build. */
#include "store/address.h"
#include "unpack/unpack.h"

const char *
image_library(size_t index, const char **version)
{
	const struct {
		const char *name;
		const char *version;
	} libraries[] = {
#define IMAGE_LIBRARY(name, version) {name, version},
#include "libraries.def"
#undef IMAGE_LIBRARY
	};

	if (index >= sizeof(libraries) / sizeof(libraries[0]))
		return NULL;
	*version = libraries[index].version;
	return libraries[index].name;
}
