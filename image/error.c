/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "error.h"

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
	return code;
}

int
image_no_memory(struct image_error *err)
{
	return image_fail(err, NULL, -ENOMEM, "out of memory");
}
