/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <hone/stream.h>

/* Half a second from now, in the unit of hone_stream_set_deadline(). */
static int64_t
deadline(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + 500000000;
}

/* Skip the header of a response, up to its empty line. */
static int
skip_header(struct hone_stream *stream)
{
	const char *line;
	ptrdiff_t n;

	while ((n = hone_stream_read_line(stream, &line, '\n', 8192)) > 0)
		if (n <= 2)
			return 0;
	return n < 0 ? (int)n : -ENODATA;
}

/* Copy the body from the buffer of the stream: no copy in between. */
static int64_t
copy_body(struct hone_stream *stream, int to)
{
	const void *data;
	int64_t copied = 0;
	ptrdiff_t n;

	while ((n = hone_stream_peek(stream, &data, 1)) > 0) {
		if (write(to, data, (size_t)n) != n)
			return -EIO;
		hone_stream_take(stream, (size_t)n);
		copied += n;
	}
	return n < 0 ? n : copied;
}

int
main(void)
{
	struct hone_stream *stream;
	int64_t result;

	/* Standard input stands for the socket of a server. */
	result = hone_stream_open_fd(&stream, STDIN_FILENO, NULL);
	if (result == 0) {
		hone_stream_set_deadline(stream, deadline());
		result = skip_header(stream);
		if (result == 0)
			result = copy_body(stream, STDOUT_FILENO);
		hone_stream_close(stream);
	}
	if (result < 0) {
		fprintf(stderr, "response: %s\n", strerror((int)-result));
		return EXIT_FAILURE;
	}
	fprintf(stderr, "%lld bytes\n", (long long)result);
	return EXIT_SUCCESS;
}
