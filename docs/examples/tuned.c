/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/hone.h>

int
main(void)
{
	struct hone_file_data line;
	int error = hone_read_file(&line, "copy.conf", NULL);

	if (error == 0) {
		error = hone_copy_apply(line.data, line.size);
		free(line.data);
	}
	if (error == 0)
		puts("applied");
	else
		fprintf(stderr, "copy.conf: %s\n", strerror(-error));
	/* Without the line, the library chooses by the CPU. */
	return EXIT_SUCCESS;
}
