/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of a small file without PHP: open, fstat, read, close, and memory of
 * the file's size. Reads and writes lines as worker.php does. It has one case,
 * and ignores the name.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *
contents(const char *path, size_t *size)
{
	struct stat st;
	char *data = NULL;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && (data = malloc((size_t)st.st_size + 1)))
		*size = (size_t)read(fd, data, (size_t)st.st_size + 1);
	close(fd);
	return data;
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int
main(int argc, char **argv)
{
	char line[256], path[4096];

	if (argc != 2)
		return 2;
	snprintf(path, sizeof path, "%s/12", argv[1]);
	while (fgets(line, sizeof line, stdin)) {
		const char *tab = strchr(line, '\t');
		int times = tab ? atoi(tab + 1) : 1;
		double began = now();

		for (int i = 0; i < times; i++) {
			size_t size = 0;
			char *data = contents(path, &size);

			if (!data || size != 12)
				return 1;
			free(data);
		}
		printf("%f\n", (now() - began) / times);
		fflush(stdout);
	}
	return 0;
}
