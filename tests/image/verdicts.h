/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_VERDICTS_H
#define HONE_TESTS_IMAGE_VERDICTS_H
/*
 * The ways on which the bytes of an image come: a file, a pipe that is stdin,
 * and a web server in a thread of this process. One image at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include "image.h"

enum way {
	WAY_FILE,
	WAY_PIPE,
	/* a server with ranges */
	WAY_RANGES,
	/* a server that answers with the whole file, and has its length */
	WAY_WHOLE,
	/* the same in chunks, without a length */
	WAY_CHUNKED,
	WAYS
};

/* "a pipe" */
const char *way_name(enum way way);
/* Returns whether images come from a server. */
bool way_is_served(enum way way);

/* Called once, before and after all images. */
void ways_begin(void);
void ways_end(void);

/*
 * Let an image come that way. The bytes stay the caller's until way_end().
 * Returns the address for image_open(), which is valid until then; its last
 * part is name, except in a pipe.
 */
const char *way_begin(
	enum way way, const char *name, const void *bytes, size_t length);
void way_end(enum way way);

/* What the command says of an image that comes on one way. */

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
