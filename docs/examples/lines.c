/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hone/stream.h>

int
main(int argc, char **argv)
{
	struct hone_stream_attr attr;
	struct hone_stream *stream;
	const char *line;
	size_t lines = 0, longest = 0;
	ptrdiff_t n;
	int fd, error;

	fd = argc == 2 ? open(argv[1], O_RDONLY) : STDIN_FILENO;
	if (fd < 0) {
		perror(argv[1]);
		return EXIT_FAILURE;
	}
	hone_stream_attr_init(&attr);
	attr.flags = HONE_STREAM_CLOSE_FD;
	error = hone_stream_open_fd(&stream, fd, &attr);
	if (error < 0) {
		fprintf(stderr, "lines: %s\n", strerror(-error));
		return EXIT_FAILURE;
	}
	/* The line stays in the stream's buffer until the next call. */
	while ((n = hone_stream_read_line(stream, &line, '\n', SIZE_MAX)) > 0) {
		lines++;
		longest = (size_t)n > longest ? (size_t)n : longest;
	}
	hone_stream_close(stream);
	if (n < 0) {
		fprintf(stderr, "lines: %s\n", strerror((int)-n));
		return EXIT_FAILURE;
	}
	printf("%zu lines, the longest has %zu bytes\n", lines, longest);
	return EXIT_SUCCESS;
}
