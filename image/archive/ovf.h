/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_OVF_H
#define HONE_IMAGE_OVF_H
/*
 * The description of an OVA, of which two elements count: <File> names a file,
 * and <Disk> refers to the file of a disk. By DSP0243 2.1, clause 7.1, a file
 * with a chunkSize is in parts: NAME.000000000, NAME.000000001 and so on.
 * References of XML, such as &amp;, are not replaced.
 */
#include "archive/archive.h"

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
