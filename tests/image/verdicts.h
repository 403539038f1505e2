/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_VERDICTS_H
#define HONE_TESTS_IMAGE_VERDICTS_H
/* What the command says of an image that comes on one way. */
#include "image.h"
#include "ways.h"

/* The exit statuses of the command. */
enum status { READS = 0, FAILS = 1, REFUSES = 3, LOSES = 4 };
enum check { SAFE, UNSAFE, NO_CHECK };

/* The tries. */
enum { PLAIN, UNTRUSTED, EXPECTED, VERDICT_TRIES };

/* What became of one try. */
struct outcome {
	enum status status;
	/* of the disk, if it was read and is not huge */
	unsigned char digest[IMAGE_DIGEST_MAX];
	char text[512];
};

struct verdicts {
	/* as of hone digest: alone, with --untrusted, and with the digest of
	 * the file besides */
	struct outcome read[VERDICT_TRIES];
	/* of hone check */
	enum check check;
	char text[512];
};

/* "with --untrusted" */
const char *verdict_try(int which);

/* Let the bytes come that way, once for each verdict. format NULL: none is
 * forced. name: see way_begin(). */
void verdicts_of(struct verdicts *found, enum way way, const char *name,
	const char *format, const void *bytes, size_t length);

#endif
