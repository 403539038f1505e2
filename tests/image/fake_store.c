/* SPDX-License-Identifier: BSD-3-Clause */
#include "support.h"
#include "fake_store.h"

static struct test_store *
of(struct image_store *store)
{
	return (struct test_store *)store;
}

static int
store_read(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	if (pread(of(store)->fd, buf, length, (off_t)offset) == (ssize_t)length)
		return 0;
	return image_fail(err, store->name, -EIO, "cannot be read");
}

/* Threads write at the same time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns whether the call that begins here is the one that fails. */
static bool
fails(struct test_store *t)
{
	return ++t->calls == t->fail_at;
}

static int
store_write(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	struct test_store *t = of(store);

	pthread_mutex_lock(&lock);
	t->last_offset = offset;
	t->last_length = length;
	t->last_was_write = true;
	t->bytes += length;
	bool failed = fails(t);
	pthread_mutex_unlock(&lock);
	if (!failed && (t->fd < 0 || pwrite(t->fd, buf, length,
					     (off_t)offset) == (ssize_t)length))
		return 0;
	return image_fail(err, store->name, -ENOSPC, "cannot be written");
}

static int
store_zero(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	static const unsigned char zeros[4096];
	struct test_store *t = of(store);
	uint64_t end = offset + length;

	pthread_mutex_lock(&lock);
	t->zeroed += length;
	bool failed = fails(t);
	pthread_mutex_unlock(&lock);
	if (failed)
		return image_fail(err, store->name, -EIO, "cannot be zeroed");
	for (uint64_t at = offset; t->fd >= 0 && at < end;) {
		uint64_t left = end - at;
		size_t n = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);
		assert_int_equal(pwrite(t->fd, zeros, n, (off_t)at), n);
		at += n;
	}
	return 0;
}

static int
store_resize(struct image_store *store, uint64_t size, struct image_error *err)
{
	struct test_store *t = of(store);

	t->last_was_write = false;
	if (!fails(t) && (t->fd < 0 || ftruncate(t->fd, (off_t)size) == 0))
		return 0;
	return image_fail(err, store->name, -EFBIG, "cannot be so long");
}

static void
store_close(struct image_store *store)
{
	of(store)->closed = true;
}

static char name[] = "file";

static const struct image_store_ops ops = {
	.read = store_read,
	.write = store_write,
	.zero = store_zero,
	.resize = store_resize,
	.close = store_close,
};

void
test_store_init(struct test_store *store, int fd)
{
	*store = (struct test_store){
		.store = {.ops = &ops, .name = name, .zeros = true}, .fd = fd};
}

int
test_store_scratch(void)
{
	char path[] = "sink_test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

struct image_store *
open_again(int fd)
{
	static const struct image_store_how how;
	struct image_store *store;
	struct image_error err;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(image_store_open(path, NULL, &how, &store, &err), 0);
	return store;
}

struct image_store *
use(int fd)
{
	static const struct image_store_how how;
	struct image_store *store;
	struct image_error err;

	assert_int_equal(image_store_use(fd, "file", &how, &store, &err), 0);
	return store;
}
