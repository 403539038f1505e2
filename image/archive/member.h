/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_MEMBER_H
#define HONE_IMAGE_MEMBER_H
#include <pthread.h>
#include "archive/archive.h"

/* A store of the bytes of a member. Its name is "ARCHIVE: MEMBER". */
struct member {
	/* below it is the archive */
	struct image_store store;
	struct tar_member file;
	/* the user named the member */
	bool named;
	struct manifest manifest;
	/* a manifest that a stream has behind the image is an error */
	bool unread;

	/* Everything below is used under the lock. */
	pthread_mutex_t lock;
	struct tar tar;
	/* the headers behind the member were read, with this result */
	bool walked;
	int rc;
	struct image_error err;
};

/*
 * Find the member how->member, or the first one that is named as an image. *out
 * owns the archive, which is closed after a failure, too.
 */
int member_open(struct image_store *archive, const struct image_open *how,
	struct member **out, struct image_error *err);

/*
 * Read the headers behind the member. Fails if one of them is another image, or
 * has the same name.
 */
int member_walk(struct member *m, struct image_error *err);

#endif
