/* SPDX-License-Identifier: BSD-3-Clause */
/* The message of a failed call. Elsewhere, clang-tidy does not see that va_list
 * is set. */
#include <stdarg.h>
#include "output/output.h"

int
output_refuse(struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(output->text, sizeof(output->text), format, args);
	va_end(args);
	return -1;
}
