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
	/* all members were looked at for it */
	bool noted;
	/* how often the description was searched */
	unsigned searches;
	/* names of members, for a message */
	char seen[256];
	/* no more of them fit */
	bool seen_all;

	/* the image is in parts, of which `file` is the first; parts.c */
	bool joined;
	char *disk;
	struct archive_part *parts;
	size_t n_parts;
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

/* Returns whether the name is that of a part of the image. */
bool parts_belong(const struct member *m, const char *name);
/* Add the next part of the image. */
int parts_add(struct member *m, const struct tar_member *file,
	struct image_error *err);
/* An image that is not in parts is the only one. */
int parts_alone(struct member *m, struct image_error *err);
/* Make one image of all parts. */
int parts_join(struct member *m, struct image_error *err);
void parts_free(struct member *m);

/*
 * Read the headers behind the member. Fails if one of them is another image, or
 * has the same name.
 */
int member_walk(struct member *m, struct image_error *err);

#endif
