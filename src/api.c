/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/api.h>

const char *
hone_version(void)
{
	return HONE_VERSION_STRING;
}
