/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_LOADED_H
#define HONE_IMAGE_LOADED_H
/*
 * Shared libraries that are loaded by their first use. The libraries that
 * servers and digests need have 29 libraries of their own: with all of them, a
 * start of the command took 14 million instructions instead of 4 million.
 *
 * A file libNAME.def has a row IMAGE_LOADED(function) for each function that is
 * used. A struct made of these rows has a pointer to each.
 */
#include "error.h"

struct image_loaded {
	/* "libcurl.so.4" */
	const char *file;
	/* of Debian, for the message */
	const char *package;
	/* names of functions; ends with NULL */
	const char *const *names;
};

/*
 * Load the library, and set functions[i] to the address of names[i]. The
 * library stays loaded. Call this once for each library.
 */
int image_load(const struct image_loaded *library, void *functions,
	struct image_error *err);

#endif
