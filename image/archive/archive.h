/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_ARCHIVE_H
#define HONE_IMAGE_ARCHIVE_H
/*
 * Images inside tar archives:
 *
 *   member.c    is it an archive, and which member is the image? The store of
 *               the member: a map from it to the archive
 *   ovf.c       the disks that the description of an OVA names
 *   manifest.c  the digests that an OVA has for its members
 *   tar.c       headers
 */
#include "archive/tar.h"
#include "blocks/blocks.h"

/*
 * Replace a store by what is packed in it, by an image that is a member of
 * that, as how->member says, and by what is packed in the member. No change if
 * it is neither packed nor an archive. Closes the store on failure.
 *
 * With verify, the bytes are those that the manifest of an OVA names, or the
 * last read fails with err->refused.
 */
int image_unwrap_store(struct image_store **store, const struct image_open *how,
	bool verify, struct image_error *err);

/* Returns whether the name is that of an archive, packed or not. */
bool image_archive_by_suffix(const char *name);

/* The description and the manifest of an OVA. */
struct manifest {
	/* name is NULL if there is none */
	struct manifest_file {
		char *name;
		char *text;
		size_t length;
	} ovf, mf;
	/* what is wrong with them, if the archive has both */
	int rc;
	struct image_error why;
};

/* A member of an archive that is a disk, or a part of one. */
struct archive_part {
	char *name;
	uint64_t size;
	/* where the archive has its bytes */
	uint64_t from;
};

/* Keep a member that is a description or a manifest. */
int manifest_note(struct manifest *manifest, struct tar *tar,
	const struct tar_member *member, struct image_error *err);
void manifest_free(struct manifest *manifest);

/* For an archive whose image was read without manifest_tap(): fail if it has a
 * manifest. */
int manifest_unread(const struct manifest *manifest, const char *archive,
	struct image_error *err);

/*
 * A tap for the bytes of the disk in the member of that name. The arguments
 * stay the caller's. At the end, the manifest has to have a line for the disk,
 * and every line for the disk and for the description has to hold. With strict,
 * one of them has to be by another algorithm than SHA-1. An archive without a
 * description, or without a manifest, is no error.
 */
int manifest_tap(const char *name, const struct manifest *manifest,
	const struct archive_part *parts, size_t count, bool strict,
	struct image_tap **out, struct image_error *err);

/* In the layer of a container: returns whether the member is the one that is
 * wanted, or, with NULL, a file in disk/. */
bool archive_is_disk(const struct tar_member *file, const char *wanted);
/* Returns whether the member removes such a file of the layers below, or has
 * its place: a link, or no folder. */
bool archive_hides_disk(const struct tar_member *file);

/* Returns the name without a leading "./". */
const char *archive_name(const char *name);

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

/* Returns whether the description names the member. Sets *file. */
bool ovf_find(const struct manifest_file *ovf, const char *name,
	struct ovf_file *file);

/* Bytes of ".000000000". */
#define OVF_PART 10

/* Returns the number that a name of a part ends with, or -1. There are less
 * than 100,000 parts: other digits are a name's own. */
int ovf_part(const char *name);

#endif
