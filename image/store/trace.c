/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines about the requests to servers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "store/store.h"

void
image_trace(const struct image_trace *trace, const char *format, ...)
{
	char *text = NULL, *shown = NULL;
	va_list args;

	if (!trace)
		return;
	va_start(args, format);
	/* Without memory, the line is left out. */
	if (vasprintf(&text, format, args) >= 0) {
		shown = image_hide_secrets(text);
		free(text);
	}
	va_end(args);
	if (shown)
		trace->line(trace->opaque, shown);
	free(shown);
}
