/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "format/verdict.h"

void
image_verdict_add(struct image_verdict *verdict, const char *name,
	uint64_t faults, const char *format, ...)
{
	struct image_finding finding = {.name = name, .faults = faults};
	va_list args;

	va_start(args, format);
	vsnprintf(finding.text, sizeof(finding.text), format, args);
	va_end(args);
	/* A name in the image may be an address. */
	char *shown = image_hide_secrets(finding.text);
	snprintf(finding.text, sizeof(finding.text), "%s",
		shown ? shown : "out of memory");
	free(shown);
	if (faults)
		verdict->checked->safe = false;
	verdict->report(verdict->opaque, &finding);
}
