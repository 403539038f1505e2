/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <hone/hone.h>

int
main(int argc, char **argv)
{
	struct hone_file_data file;

	if (argc != 2 || hone_read_file(&file, argv[1], NULL) != 0)
		return EXIT_FAILURE;
	printf("%zu bytes, %zu zero bytes first\n", file.size,
		hone_find_nonzero(file.data, file.size));
	free(file.data);
	return EXIT_SUCCESS;
}
