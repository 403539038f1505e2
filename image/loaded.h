/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_LOADED_H
#define HONE_IMAGE_LOADED_H
/*
 * Shared libraries that are loaded by their first use. The libraries that
 * servers and digests need have 29 libraries of their own: with all of them, a
 * start of the command took 14 million instructions instead of 4 million.
 *
 * A file libNAME.def has a row IMAGE_LOADED(prefix, name) for each function
 * that is used. A struct made of these rows has a pointer to each.
 *
 * A static program cannot load a library. With Meson's option prefer_static,
 * which defines IMAGE_LINKED, the libraries are linked.
 */
#include <pthread.h>
#include "error.h"

struct image_loaded_function {
	const char *name;
	/* NULL: to be loaded */
	void *linked;
};

/* An element of image_loaded.wanted. */
#ifdef IMAGE_LINKED
#define IMAGE_LOADED_FUNCTION(function)                                        \
	{                                                                      \
		.name = #function, .linked = (void *)function                  \
	}
#else
#define IMAGE_LOADED_FUNCTION(function)                                        \
	{                                                                      \
		.name = #function                                              \
	}
#endif

struct image_loaded {
	/* "libcurl.so.4" */
	const char *file;
	/* of Debian, for the message */
	const char *package;
	/* ends with a NULL name; all are linked or all are to be loaded */
	const struct image_loaded_function *wanted;
	/* pointers to the functions, in the same order */
	void *functions;
	/* called after the functions were found; returns 0 or a negative errno.
	 * NULL: nothing */
	int (*begin)(struct image_error *err);

	/* The rest is for image_load(); PTHREAD_MUTEX_INITIALIZER and 0. */
	pthread_mutex_t lock;
	bool tried;
	int rc;
	struct image_error err;
};

/*
 * Load the library if it is not linked, and call begin(), unless that was done
 * before; the library stays loaded. Returns the result of the first call. Any
 * thread.
 */
int image_load(struct image_loaded *library, struct image_error *err);

#endif
