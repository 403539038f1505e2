/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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

int
image_fail(struct image_error *err, const char *file, int code,
	const char *format, ...)
{
	va_list args;

	assert(code < 0);
	snprintf(err->file, sizeof(err->file), "%s", file ? file : "");
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	err->again = is_network(-code);
	err->refused = false;
	return code;
}

int
image_no_memory(struct image_error *err)
{
	return image_fail(err, NULL, -ENOMEM, "out of memory");
}
