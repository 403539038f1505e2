/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "error.h"

/* A file system or a device of another machine fails with these, too. */
static bool
is_network(int code)
{
	switch (code) {
	case ETIMEDOUT:
	case ECONNREFUSED:
	case ECONNRESET:
	case ECONNABORTED:
	case ENETDOWN:
	case ENETUNREACH:
	case ENETRESET:
	case EHOSTDOWN:
	case EHOSTUNREACH:
		return true;
	default:
		return false;
	}
}

static void
fail(struct image_error *err, const char *file, int code, const char *format,
	va_list args)
{
	assert(code < 0);
	snprintf(err->file, sizeof(err->file), "%s", file ? file : "");
	vsnprintf(err->text, sizeof(err->text), format, args);
	err->again = is_network(-code);
	err->refused = err->damaged = false;
}

int
image_fail(struct image_error *err, const char *file, int code,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail(err, file, code, format, args);
	va_end(args);
	return code;
}

int
image_damaged(struct image_error *err, const char *file, int code,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail(err, file, code, format, args);
	va_end(args);
	err->damaged = true;
	return code;
}

int
image_too_large(struct image_error *err, const char *file, const char *what,
	uint64_t limit)
{
	int rc = image_fail(err, file, -EFBIG,
		"%s %" PRIu64 " bytes, the limit; --max-size sets the limit",
		what, limit);
	err->refused = true;
	return rc;
}

int
image_no_memory(struct image_error *err)
{
	return image_fail(err, NULL, -ENOMEM, "out of memory");
}

int
image_grow(void *list, uint64_t *room, uint64_t wanted, size_t size,
	struct image_error *err)
{
	uint64_t more = *room ? *room : wanted;
	char *old;

	if (wanted <= *room)
		return 0;
	while (more < wanted)
		more *= 2;
	memcpy(&old, list, sizeof(old));
	char *grown = realloc(old, (size_t)more * size);
	if (!grown)
		return image_no_memory(err);
	memcpy(list, &grown, sizeof(grown));
	*room = more;
	return 0;
}

const char *
image_count(char text[IMAGE_COUNT_TEXT], uint64_t n, const char *noun)
{
	size_t length = strlen(noun);
	bool ends_with_y = noun[length - 1] == 'y';

	if (n == 1)
		snprintf(text, IMAGE_COUNT_TEXT, "1 %s", noun);
	else
		snprintf(text, IMAGE_COUNT_TEXT, "%" PRIu64 " %.*s%s", n,
			(int)length - ends_with_y, noun,
			ends_with_y ? "ies" : "s");
	return text;
}
