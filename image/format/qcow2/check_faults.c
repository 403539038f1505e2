/* SPDX-License-Identifier: BSD-3-Clause */
/* The faults that the tests of a qcow2 image have found so far. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "format/qcow2/check.h"

void
qcow2_fault(
	struct qcow2_check *k, enum qcow2_test test, const char *format, ...)
{
	struct qcow2_finding *finding = &k->findings[test];
	va_list args;

	if (finding->faults++)
		return;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

int
qcow2_note(struct qcow2_check *k, enum qcow2_test test, int rc,
	const struct image_error *err)
{
	if (rc != -EINVAL)
		return rc;
	qcow2_fault(k, test, "%s", err->text);
	return 0;
}
