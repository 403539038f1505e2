/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "output/output.h"

uint64_t
output_attributes(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, 0, &st) < 0)
		return 0;
	return st.stx_attributes & st.stx_attributes_mask;
}

bool
attribute_is_absent(int code)
{
	return code == ENODATA || code == EOPNOTSUPP || code == ENOSYS;
}
