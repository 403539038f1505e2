/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support.h"
#include "fake_server.h"
#include "ways.h"

static char folder[] = "/tmp/hone-ways-XXXXXX";
static char address[256];

/* What is written into the pipe. */
static struct {
	pthread_t thread;
	int fd;
	const char *bytes;
	size_t length;
} writer;

const char *
way_name(enum way way)
{
	static const char *const names[WAYS] = {"a file", "a pipe",
		"a server with ranges", "a server without ranges",
		"a server without a length"};

	return names[way];
}

bool
way_is_served(enum way way)
{
	return way >= WAY_RANGES;
}

void
ways_begin(void)
{
	/* A reader may leave before the end. */
	signal(SIGPIPE, SIG_IGN);
	/* No setting of the user. */
	setenv("no_proxy", "*", 1);
	assert_non_null(mkdtemp(folder));
	tiny_server_begin();
}

void
ways_end(void)
{
	tiny_server_end();
	assert_int_equal(rmdir(folder), 0);
}

static void
write_file(const char *bytes, size_t length)
{
	FILE *file = fopen(address, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static void *
write_pipe(void *opaque)
{
	size_t done = 0;

	(void)opaque;
	while (done < writer.length) {
		ssize_t n = write(
			writer.fd, writer.bytes + done, writer.length - done);
		/* The reader has left. */
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(writer.fd);
	return NULL;
}

static void
begin_pipe(const char *bytes, size_t length)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	writer.fd = ends[1];
	writer.bytes = bytes;
	writer.length = length;
	assert_int_equal(
		pthread_create(&writer.thread, NULL, write_pipe, NULL), 0);
}

static void
end_pipe(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* Closes the pipe: the writer ends if it has not. */
	assert_int_equal(dup2(null, STDIN_FILENO), STDIN_FILENO);
	close(null);
	pthread_join(writer.thread, NULL);
}

const char *
way_begin(enum way way, const char *name, const void *bytes, size_t length)
{
	switch (way) {
	case WAY_FILE:
		snprintf(address, sizeof(address), "%s/%s", folder, name);
		write_file(bytes, length);
		break;
	case WAY_PIPE:
		snprintf(address, sizeof(address), "-");
		begin_pipe(bytes, length);
		break;
	default:
		snprintf(address, sizeof(address), "http://127.0.0.1:%u/%s",
			tiny_server_port(), name);
		tiny_server_serve(bytes, length,
			way == WAY_RANGES  ? TINY_RANGES
			: way == WAY_WHOLE ? TINY_WHOLE
					   : TINY_CHUNKED);
		break;
	}
	return address;
}

void
way_end(enum way way)
{
	if (way == WAY_FILE)
		assert_int_equal(unlink(address), 0);
	else if (way == WAY_PIPE)
		end_pipe();
	else
		/* Waits until the server has left the bytes, which a client
		 * that refused them may not have read. */
		tiny_server_serve("", 0, TINY_WHOLE);
}
