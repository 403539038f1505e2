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

/*
 * The description of an OVA, of which two elements count: <File> names a file,
 * and <Disk> refers to the file of a disk. By DSP0243 2.1, clause 7.1, a file
 * with a chunkSize is in parts: NAME.000000000, NAME.000000001 and so on.
 * References of XML, such as &amp;, are not replaced.
 */
struct ovf_file {
	/* a disk refers to it */
	bool disk;
	/* bytes of the file; IMAGE_SIZE_UNKNOWN: not stated */
	uint64_t size;
	/* bytes of a part but the last; 0: it is not in parts */
	uint64_t chunk;
};

/* Returns whether the description names the member of that name. Sets *file. */
bool ovf_find(const struct manifest_file *ovf, const char *name,
	struct ovf_file *file);

/* Bytes of ".000000000". */
#define OVF_PART 10

/*
 * Returns the number that a name of a part ends with, or -1. There are less
 * than 100,000 parts: other digits are a name's own.
 */
int ovf_part(const char *name);

#endif
