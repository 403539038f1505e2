/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches that have fewer descriptors than threads. The linker puts the
 * functions below in place of the library's calls: see meson.build.
 */
#include <stdatomic.h>
#include <sched.h>
#include "read_files_support.h"

static const char *const path = "file";
#define FILES 700

static struct {
	int most; /* descriptors that may be open at the same time */
	int error;
	atomic_int open;
	atomic_int refused;
	/* a read waits until this many opens were refused */
	int wait_for;
} world;

STANDS_FOR(int, openat64, int dirfd, const char *name, int flags, ...)
{
	if (atomic_fetch_add(&world.open, 1) >= world.most) {
		atomic_fetch_sub(&world.open, 1);
		atomic_fetch_add(&world.refused, 1);
		errno = world.error;
		return -1;
	}
	return __real_openat64(dirfd, name, flags);
}

STANDS_FOR(ssize_t, read, int fd, void *buf, size_t n)
{
	while (atomic_load(&world.refused) < world.wait_for)
		sched_yield();
	return __real_read(fd, buf, n);
}

STANDS_FOR(int, close, int fd)
{
	atomic_fetch_sub(&world.open, 1);
	return __real_close(fd);
}

struct seen {
	int times[FILES];
	int errors;
	size_t results, stop_after;
};

static int
see(size_t index, int error, struct hone_file_data *file, void *arg)
{
	struct seen *seen = arg;

	seen->times[index]++;
	seen->errors += error == -world.error;
	free(file->data);
	return ++seen->results == seen->stop_after;
}

static int
read_with(unsigned threads, unsigned flags, struct seen *seen)
{
	const char *paths[FILES];
	struct hone_batch_attr batch;

	make_file(path, 12);
	for (size_t i = 0; i < FILES; i++)
		paths[i] = path;
	hone_batch_attr_init(&batch);
	batch.threads = threads;
	batch.flags = flags;
	atomic_store(&world.open, 0);
	atomic_store(&world.refused, 0);
	return hone_read_files(paths, FILES, NULL, see, seen, &batch);
}

static void
assert_each_seen_once(const struct seen *seen)
{
	for (size_t i = 0; i < FILES; i++)
		assert_int_equal(seen->times[i], 1);
}

/* The first file is open until every other thread was refused. */
static void
read_with_one_descriptor(int error)
{
	for (unsigned threads = 2; threads <= 5; threads++) {
		struct seen seen = {.errors = 0};

		world.most = 1;
		world.error = error;
		world.wait_for = (int)threads - 1;
		assert_int_equal(
			read_with(threads, HONE_BATCH_PLAIN, &seen), 0);
		assert_each_seen_once(&seen);
		assert_int_equal(seen.errors, 0);
	}
}

DIRECTORY_TEST(descriptors_of_other_threads_are_waited_for)
{
	read_with_one_descriptor(EMFILE);
	read_with_one_descriptor(ENFILE);
}

DIRECTORY_TEST(a_batch_without_any_descriptor_reports_it)
{
	for (unsigned flags = 0; flags <= HONE_BATCH_PLAIN; flags++)
		for (unsigned threads = 1; threads <= 5; threads += 2) {
			struct seen seen = {.errors = 0};

			world.most = 0;
			world.error = EMFILE;
			world.wait_for = 0;
			assert_int_equal(read_with(threads, flags, &seen), 0);
			assert_each_seen_once(&seen);
			assert_int_equal(seen.errors, FILES);
		}
}

DIRECTORY_TEST(a_stop_ends_the_wait_for_descriptors)
{
	struct seen seen = {.stop_after = 20};

	world.most = 1;
	world.error = EMFILE;
	world.wait_for = 2;
	assert_int_equal(read_with(3, HONE_BATCH_PLAIN, &seen), 1);
	assert_int_equal(seen.results, 20);
	assert_int_equal(seen.errors, 0);
}
