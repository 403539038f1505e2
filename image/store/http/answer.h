/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HTTP_ANSWER_H
#define HONE_IMAGE_HTTP_ANSWER_H
/* Parses the header of a server's answer. Uses no libcurl. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image.h"

#define HTTP_ETAG 256
#define HTTP_WORD 64
#define HTTP_CHALLENGES 2048

/* The fields of one answer; a field that is too long counts as missing. */
struct http_answer {
	unsigned status;
	/* all fields are there: an empty line came */
	bool complete;
	bool location;
	/* a strong ETag with its quotes, or "" */
	char etag[HTTP_ETAG];
	char modified[HTTP_WORD];
	/* all WWW-Authenticate, with commas between them, or "" */
	char challenges[HTTP_CHALLENGES];
	/* Content-Encoding other than identity, or "" */
	char encoding[HTTP_WORD];
	char region[HTTP_WORD];
	/* the first Transfer-Encoding other than chunked, or "" */
	char transfer[HTTP_WORD];
	/* each chunk has its length, and the last one is marked */
	bool chunked;
	/* Content-Length; IMAGE_SIZE_UNKNOWN if there is none, if it is too
	 * large for a file, or with Transfer-Encoding */
	uint64_t length;
	bool has_length;
	/* Content-Length is no number, or there are two that differ */
	bool bad_length;
	/* Content-Range: bytes first-last/total. Without a range, as in
	 * "bytes * /total", first is above last. */
	bool has_range;
	bool bad_range;
	uint64_t first;
	uint64_t last;
	/* IMAGE_SIZE_UNKNOWN for "*" */
	uint64_t total;
};

/*
 * Take one line of the header, which may end with CR and LF. A status line
 * begins a new answer. A folded line, which begins with a space, is no field,
 * nor is a trailer, which follows the empty line.
 */
void http_answer_line(
	struct http_answer *answer, const char *line, size_t length);

/*
 * Returns NULL if both answers are about the same file, as far as strong ETags,
 * dates and lengths show. Otherwise returns what differs, for a message.
 */
const char *http_answer_differs(
	const struct http_answer *first, const struct http_answer *answer);

#endif
