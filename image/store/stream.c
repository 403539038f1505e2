/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of descriptors and of stores. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "blocks/blocks.h"

struct fd_stream {
	struct image_stream stream;
	int fd;
	bool owns_fd;
	uint64_t position;
};

static int
fd_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct fd_stream *s = (struct fd_stream *)stream;

	for (;;) {
		ssize_t n = read(s->fd, buf, length);
		if (n >= 0) {
			*got = (size_t)n;
			s->position += (uint64_t)n;
			return 0;
		}
		if (errno == EAGAIN) {
			/* Another process may have made it non-blocking. */
			struct pollfd poll_fd = {.fd = s->fd, .events = POLLIN};
			poll(&poll_fd, 1, -1);
		} else if (errno != EINTR)
			return image_fail(err, stream->name, -errno,
				"cannot be read at offset %" PRIu64 ": %s",
				s->position, strerror(errno));
	}
}

static void
fd_close(struct image_stream *stream)
{
	struct fd_stream *s = (struct fd_stream *)stream;

	if (s->owns_fd)
		close(s->fd);
	free(stream->name);
	free(s);
}

static const struct image_stream_ops fd_ops = {
	.read = fd_read, .close = fd_close};

int
image_stream_of_fd(int fd, bool owns_fd, const char *name,
	struct image_stream **out, struct image_error *err)
{
	struct fd_stream *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s)
		s->stream.name = strdup(name);
	if (!s || !s->stream.name) {
		free(s);
		if (owns_fd)
			close(fd);
		return image_no_memory(err);
	}
	s->stream.ops = &fd_ops;
	s->stream.size = IMAGE_SIZE_UNKNOWN;
	s->fd = fd;
	s->owns_fd = owns_fd;
	*out = &s->stream;
	return 0;
}

struct store_stream {
	struct image_stream stream;
	struct image_store *store;
	bool owns_store;
	uint64_t position;
};

static int
store_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct store_stream *s = (struct store_stream *)stream;
	uint64_t reached;

	*got = 0;
	int rc =
		image_store_reach(s->store, s->position, length, &reached, err);
	if (rc == 0)
		rc = image_store_read(
			s->store, s->position, buf, (size_t)reached, err);
	if (rc < 0)
		return rc;
	if (reached == 0)
		return image_store_unchanged(s->store, err);
	/* A store releases whole sectors only. */
	uint64_t from = s->position & ~(uint64_t)(IMAGE_SECTOR - 1);
	*got = (size_t)reached;
	s->position += reached;
	image_store_release(s->store, from, s->position - from);
	return 0;
}

static void
store_close(struct image_stream *stream)
{
	struct store_stream *s = (struct store_stream *)stream;

	if (s->owns_store)
		image_store_close(s->store);
	free(stream->name);
	free(s);
}

static const struct image_stream_ops store_ops = {
	.read = store_read, .close = store_close};

static int
make(struct image_store *store, bool owns_store, struct image_stream **out,
	struct image_error *err)
{
	struct store_stream *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s)
		s->stream.name = strdup(store->name);
	if (!s || !s->stream.name) {
		free(s);
		if (owns_store)
			image_store_close(store);
		return image_no_memory(err);
	}
	image_blocks_pass(store);
	s->stream.ops = &store_ops;
	s->stream.size = store->size;
	s->stream.store = store;
	s->store = store;
	s->owns_store = owns_store;
	*out = &s->stream;
	return 0;
}

int
image_stream_of_store(struct image_store *store, struct image_stream **out,
	struct image_error *err)
{
	return make(store, true, out, err);
}

int
image_stream_borrow(struct image_store *store, struct image_stream **out,
	struct image_error *err)
{
	return make(store, false, out, err);
}

int
image_stream_check(const char *name, uint64_t size, uint64_t came, bool ended,
	struct image_error *err)
{
	if (size == IMAGE_SIZE_UNKNOWN || (ended ? came == size : came <= size))
		return 0;
	return image_damaged(err, name, -EIO,
		"has %s%s, and its stated size is %" PRIu64,
		IMAGE_COUNT(came, "byte"), ended ? "" : " or more", size);
}

static int
came(struct image_stream *stream, uint64_t length, bool ended,
	struct image_error *err)
{
	stream->came += length;
	int rc = image_stream_check(
		stream->name, stream->size, stream->came, ended, err);
	if (rc < 0 && stream->size_hint) {
		size_t n = strlen(err->text);
		snprintf(err->text + n, sizeof(err->text) - n, "%s",
			stream->size_hint);
	}
	/* Beside its disk: tables, other parts of an archive. */
	uint64_t beside = stream->max_size / 16 + (UINT64_C(64) << 20);
	if (rc < 0 || stream->max_size == 0 ||
		stream->came <= stream->max_size ||
		stream->came - stream->max_size <= beside)
		return rc;
	return image_too_large(err, stream->name,
		"unpacks to more than a disk of", stream->max_size);
}

int
image_stream_read(struct image_stream *stream, void *buf, size_t length,
	size_t *got, struct image_error *err)
{
	*got = 0;
	if (length == 0)
		return 0;
	int rc = stream->ops->read(stream, buf, length, got, err);
	return rc < 0 ? rc : came(stream, *got, *got == 0, err);
}

int
image_stream_skip(struct image_stream *stream, uint64_t unit, uint64_t *length,
	struct image_error *err)
{
	*length = 0;
	int rc = stream->ops->skip
			 ? stream->ops->skip(stream, unit, length, err)
			 : 0;
	return rc < 0 ? rc : came(stream, *length, false, err);
}

int
image_stream_read_all(struct image_stream *stream, void *buf, size_t size,
	size_t *length, struct image_error *err)
{
	size_t got = 1;
	int rc = 0;

	for (*length = 0; rc == 0 && got && *length < size; *length += got)
		rc = image_stream_read(stream, (char *)buf + *length,
			size - *length, &got, err);
	return rc;
}

/* Closes the stream. */
static int
read_text(struct image_stream *stream, size_t max, char **text, size_t *length,
	struct image_error *err)
{
	bool known = stream->size != IMAGE_SIZE_UNKNOWN;
	int rc = 0;

	*text = calloc(1, max + 2);
	if (!*text)
		rc = image_no_memory(err);
	else if (known && stream->size > max)
		*length = max + 1;
	else
		rc = image_stream_read_all(stream, *text, max + 1, length, err);
	if (rc == 0 && *length > max)
		rc = image_fail(err, stream->name, -EFBIG, "has more than %s",
			IMAGE_COUNT(max, "byte"));
	image_stream_close(stream);
	return rc;
}

int
image_stream_read_fd(int fd, const char *name, size_t max, char **text,
	size_t *length, struct image_error *err)
{
	struct image_stream *stream;
	int rc = image_stream_of_fd(fd, true, name, &stream, err);

	*text = NULL;
	*length = 0;
	return stream ? read_text(stream, max, text, length, err) : rc;
}

int
image_stream_read_store(struct image_store *store, size_t max, char **text,
	size_t *length, struct image_error *err)
{
	struct image_stream *stream;
	int rc = image_stream_of_store(store, &stream, err);

	*text = NULL;
	*length = 0;
	return stream ? read_text(stream, max, text, length, err) : rc;
}

int
image_stream_read_file(const char *file, size_t max, char **text,
	size_t *length, struct image_error *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	*text = NULL;
	*length = 0;
	return fd < 0 ? image_fail(err, file, -errno, "cannot be opened: %s",
				strerror(errno))
		      : image_stream_read_fd(fd, file, max, text, length, err);
}

void
image_stream_close(struct image_stream *stream)
{
	if (stream)
		stream->ops->close(stream);
}
