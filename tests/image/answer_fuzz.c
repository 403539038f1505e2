/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the lines of an answer's header. What is a valid range lies in
 * its file, and texts end.
 */
#include <stdlib.h>
#include <string.h>
#include "store/http/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct http_answer *answer)
{
	if (strnlen(answer->etag, HTTP_ETAG) == HTTP_ETAG ||
		strnlen(answer->modified, HTTP_WORD) == HTTP_WORD ||
		strnlen(answer->encoding, HTTP_WORD) == HTTP_WORD ||
		strnlen(answer->region, HTTP_WORD) == HTTP_WORD ||
		strnlen(answer->transfer, HTTP_WORD) == HTTP_WORD ||
		strnlen(answer->challenges, HTTP_CHALLENGES) ==
			HTTP_CHALLENGES ||
		answer->status > 999 || answer->length > IMAGE_SIZE_UNKNOWN)
		abort();
	if (answer->has_range && !answer->bad_range &&
		answer->first <= answer->last && answer->last >= answer->total)
		abort();
	if (http_answer_differs(answer, answer))
		abort();
	if (answer->complete && answer->chunked &&
		answer->length != IMAGE_SIZE_UNKNOWN)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_answer answer = {.length = IMAGE_SIZE_UNKNOWN};
	const char *at = (const char *)data;
	const char *end = at + size;

	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const char *next = line ? line + 1 : end;
		/* a buffer of its own, so that a read past it is found */
		char *copy = malloc((size_t)(next - at));
		if (!copy)
			abort();
		memcpy(copy, at, (size_t)(next - at));
		http_answer_line(&answer, copy, (size_t)(next - at));
		free(copy);
		check(&answer);
		at = next;
	}
	return 0;
}
