/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that are cancelled while they read files. The linker puts the
 * function below in place of the library's call: see meson.build.
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include "read_files_support.h"

static struct {
	bool cancelled_in_open; /* the caller, after the real open() */
	size_t cancelled_after; /* results; the caller, by done(); 0: never */
	size_t results;
	struct hone_read_attr read;
	struct record record;
} world;

STANDS_FOR(int, openat64, int dirfd, const char *path, int flags, ...)
{
	int fd = __real_openat64(dirfd, path, flags);

	if (world.cancelled_in_open) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	return fd;
}

static int
take(size_t index, int error, struct hone_file_data *file, void *arg)
{
	(void)index;
	(void)error;
	(void)arg;
	if (file->data)
		world.read.release(file->data, world.read.arg);
	if (__atomic_add_fetch(&world.results, 1, __ATOMIC_RELAXED) ==
		world.cancelled_after)
		pthread_cancel(pthread_self());
	return 0;
}

#define FILES 400

/* 399 files and the last path; flags of the batch. */
struct run {
	const char *last;
	unsigned flags;
};

static void *
read_files(void *arg)
{
	const struct run *run = arg;
	const char *paths[FILES];
	struct hone_batch_attr batch;

	for (size_t i = 0; i < FILES; i++)
		paths[i] = i < FILES - 1 ? "file" : run->last;
	hone_batch_attr_init(&batch);
	batch.flags = run->flags;
	if (hone_read_files(paths, FILES, &world.read, take, NULL, &batch) != 0)
		abort();
	return NULL;
}

static void
begin(void)
{
	world.cancelled_in_open = false;
	world.cancelled_after = 0;
	world.results = 0;
	world.read = recorded(&world.record);
	make_file("file", 12);
	assert_int_equal(mkfifo("fifo", 0600), 0);
}

/* If the thread does not end, opens the FIFO that it waits for. */
static void
assert_ends_cancelled(pthread_t thread)
{
	struct timespec limit;
	void *end;
	int error;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 60;
	error = pthread_timedjoin_np(thread, &end, &limit);
	if (error) {
		int writer = open("fifo", O_WRONLY | O_CLOEXEC);

		close(writer);
		pthread_join(thread, &end);
	}
	assert_int_equal(error, 0);
	assert_ptr_equal(end, PTHREAD_CANCELED);
}

static void
skip_with_sanitizer(void)
{
	if (!ASAN)
		return;
	print_message("# AddressSanitizer does not expect that a cancelled "
		      "thread leaves its stack\n");
	skip();
}

DIRECTORY_TEST(a_wait_in_a_ring_is_cancelled)
{
	struct run run = {.last = "fifo", .flags = HONE_BATCH_URING};
	int before = open_descriptors();
	pthread_t thread;

	skip_with_sanitizer();
	skip_without_uring();
	begin();
	assert_int_equal(pthread_create(&thread, NULL, read_files, &run), 0);
	/* Then it waits for the FIFO or is about to: it is cancelled in both
	 * cases. The sleep makes the first one likely. */
	while (__atomic_load_n(&world.results, __ATOMIC_RELAXED) < FILES - 1)
		sched_yield();
	usleep(100000);
	assert_int_equal(pthread_cancel(thread), 0);
	assert_ends_cancelled(thread);
	assert_int_equal(world.record.live, 0);
	assert_int_equal(open_descriptors(), before);
}

/* The next submission is a cancellation point, although nothing is waited for.
 */
DIRECTORY_TEST(a_ring_that_does_not_wait_is_cancelled)
{
	struct run run = {.last = "file", .flags = HONE_BATCH_URING};
	int before = open_descriptors();
	pthread_t thread;

	skip_with_sanitizer();
	skip_without_uring();
	begin();
	world.cancelled_after = 1;
	assert_int_equal(pthread_create(&thread, NULL, read_files, &run), 0);
	assert_ends_cancelled(thread);
	assert_in_range(world.results, 1, FILES / 2);
	assert_int_equal(world.record.live, 0);
	assert_int_equal(open_descriptors(), before);
}

DIRECTORY_TEST(an_open_that_does_not_wait_keeps_its_descriptor)
{
	struct run run = {.last = "file", .flags = HONE_BATCH_PLAIN};
	int before = open_descriptors();
	pthread_t thread;

	skip_with_sanitizer();
	begin();
	world.cancelled_in_open = true;
	world.read.flags = HONE_READ_NONBLOCK;
	assert_int_equal(pthread_create(&thread, NULL, read_files, &run), 0);
	assert_ends_cancelled(thread);
	assert_int_equal(world.results, 0);
	assert_int_equal(world.record.live, 0);
	assert_int_equal(open_descriptors(), before);
}
