/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of stdout. What is left out between two writes is zero. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "format/formats.h"
#include "store/address.h"
#include "store/store.h"

#define ZEROS 65536
/* What an unprivileged process may ask for: a reader takes more at once. */
#define CAPACITY (1 << 20)
#define PIECES (CAPACITY / ZEROS)

struct pipe_store {
	struct image_store store;
	int fd;
	bool allow_disguised;
	/* the pipe takes pages of zeros without a copy */
	bool takes_pages;
	uint64_t position;
	/* what the end of the disk will be, for zeros before it */
	uint64_t end;
	struct image_ends ends;
};

static struct pipe_store *
of(struct image_store *store)
{
	return (struct pipe_store *)store;
}

static int
write_failed(const struct pipe_store *p, int code, struct image_error *err)
{
	return image_fail(err, p->store.name, -code,
		"cannot be written at offset %" PRIu64 ": %s", p->position,
		strerror(code));
}

static bool
can_go_on(const struct pipe_store *p)
{
	struct pollfd fd = {.fd = p->fd, .events = POLLOUT};

	if (errno == EAGAIN)
		return poll(&fd, 1, -1) > 0 || errno == EINTR;
	return errno == EINTR;
}

static int
send_bytes(struct pipe_store *p, const unsigned char *bytes, size_t length,
	struct image_error *err)
{
	image_ends_pass(&p->ends, bytes, length);
	while (length) {
		ssize_t n = write(p->fd, bytes, length);
		if (n < 0 && can_go_on(p))
			continue;
		if (n <= 0)
			return write_failed(p, n < 0 ? errno : ENOSPC, err);
		p->position += (uint64_t)n;
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

/* Static, since a reader may have the pages after this process ends. */
static const unsigned char zeros[ZEROS] __attribute__((aligned(ZEROS)));

/* Send the same pages again and again. vmsplice() copies nothing. */
static void
send_pages(struct pipe_store *p, uint64_t end)
{
	struct iovec pages[PIECES];

	for (int i = 0; i < PIECES; i++)
		pages[i] = (struct iovec){(void *)(uintptr_t)zeros, ZEROS};
	while (p->takes_pages && end - p->position >= CAPACITY) {
		ssize_t n = vmsplice(p->fd, pages, PIECES, 0);
		if (n < 0 && can_go_on(p))
			continue;
		/* Not a pipe, or not allowed: write() reports the error. */
		p->takes_pages = n > 0;
		for (; n > 0; n -= ZEROS) {
			size_t length = n < ZEROS ? (size_t)n : ZEROS;
			image_ends_pass(&p->ends, zeros, length);
			p->position += length;
		}
	}
}

static int
send_zeros(struct pipe_store *p, uint64_t end, struct image_error *err)
{
	int rc = 0;

	if (p->position < end)
		send_pages(p, end);
	while (rc == 0 && p->position < end) {
		uint64_t left = end - p->position;
		rc = send_bytes(
			p, zeros, left < ZEROS ? (size_t)left : ZEROS, err);
	}
	return rc;
}

/*
 * The first write has the bytes that programs look at: its chunk begins the
 * disk, and the bytes before it are zero.
 */
static int
pipe_write(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	struct pipe_store *p = of(store);
	int rc = 0;

	assert(offset >= p->position);
	if (p->position == 0 && offset < IMAGE_ENDS) {
		unsigned char head[IMAGE_ENDS] = {0};
		size_t n = IMAGE_ENDS - (size_t)offset;
		n = n < length ? n : length;
		memcpy(head + offset, buf, n);
		n += (size_t)offset;
		/* A guest chose them: no program may detect another format. */
		const struct image_foreign *foreign =
			image_foreign_by_magic(head, n);
		const struct image_format *format =
			image_format_by_magic(head, n);
		if (!p->allow_disguised &&
			(foreign ? !foreign->in_disk : format != NULL))
			rc = image_fail(err, store->name, -EINVAL,
				"would be a raw image with the signature of %s "
				"at offset 0; add --allow-disguised",
				foreign ? foreign->name : format->name);
	}
	if (rc == 0)
		rc = send_zeros(p, offset, err);
	return rc == 0 ? send_bytes(p, buf, length, err) : rc;
}

/* The first and last bytes. Those that were not sent yet are zero. */
static int
pipe_read(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	(void)err;
	image_ends_read(&of(store)->ends, offset, buf, length);
	return 0;
}

static int
pipe_zero(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	(void)store;
	(void)offset;
	(void)length;
	(void)err;
	return 0;
}

/* The zeros at the end of the disk leave at the end. */
static int
pipe_resize(struct image_store *store, uint64_t size, struct image_error *err)
{
	struct pipe_store *p = of(store);

	(void)err;
	p->end = size;
	return 0;
}

static int
pipe_flush(struct image_store *store, struct image_error *err)
{
	struct pipe_store *p = of(store);

	int rc = send_zeros(p, p->end, err);
	if (rc == 0 && fsync(p->fd) < 0 && errno != EINVAL &&
		errno != ENOTSUP && errno != EROFS)
		rc = write_failed(p, errno, err);
	return rc;
}

static int
pipe_usage(const struct image_store *store, struct image_usage *usage,
	struct image_error *err)
{
	(void)err;
	usage->file_size = usage->disk_usage =
		((const struct pipe_store *)store)->position;
	return 0;
}

static void
pipe_close(struct image_store *store)
{
	close(of(store)->fd);
	free(store->name);
	free(store);
}

static const struct image_store_ops pipe_ops = {
	.read = pipe_read,
	.write = pipe_write,
	.zero = pipe_zero,
	.resize = pipe_resize,
	.flush = pipe_flush,
	.usage = pipe_usage,
	.close = pipe_close,
};

int
image_store_open_stdout(const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	*out = NULL;
	if (isatty(STDOUT_FILENO))
		return image_fail(err, "stdout", -EINVAL,
			"is a terminal; an image goes to a pipe or a file");
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return image_fail(err, "stdout", -errno,
			"cannot be written: %s", strerror(errno));
	struct pipe_store *p = calloc(1, sizeof(*p));
	if (p)
		p->store.name = strdup("stdout");
	if (!p || !p->store.name) {
		free(p);
		close(fd);
		return image_no_memory(err);
	}
	p->store.ops = &pipe_ops;
	p->store.forward = true;
	p->store.zeros = true;
	p->store.size = IMAGE_SIZE_UNKNOWN;
	p->fd = fd;
	/* A pipe that is larger already stays so. */
	p->takes_pages = fcntl(fd, F_GETPIPE_SZ) >= CAPACITY ||
			 fcntl(fd, F_SETPIPE_SZ, CAPACITY) > 0;
	p->allow_disguised = how->allow_disguised;
	*out = &p->store;
	return 0;
}
