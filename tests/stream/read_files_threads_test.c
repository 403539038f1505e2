/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches that several threads read. */
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include "read_files_support.h"

static int threads_to_start; /* those after them fail; -1: none does */

/* The linker puts this in place of the calls of the library. */
STANDS_FOR(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr,
	void *(*start)(void *), void *arg)
{
	if (threads_to_start == 0)
		return EAGAIN;
	if (threads_to_start > 0)
		threads_to_start--;
	return __real_pthread_create(thread, attr, start, arg);
}

DIRECTORY_TEST(any_number_of_threads_gives_the_same)
{
	static const unsigned threads[] = {1, 2, 3, 5, 64};

	for (unsigned flags = 0; flags < ways_to_read(); flags++) {
		for (size_t i = 0; i < 5; i++) {
			struct batch batch;

			threads_to_start = -1;
			make_batch(&batch);
			batch.attr.flags = flags;
			batch.attr.threads = threads[i];
			batch.attr.depth = 8;
			assert_ok(read_all(&batch));
			assert_all_seen_once(&batch);
		}
	}
}

DIRECTORY_TEST(threads_that_do_not_start_are_done_without)
{
	for (int n = 0; n < 3; n++) {
		struct batch batch;

		threads_to_start = n;
		make_batch(&batch);
		batch.attr.threads = 5;
		assert_ok(read_all(&batch));
		assert_all_seen_once(&batch);
	}
}

/* The counts of an allocator that threads may call; 0 when all is freed. */
static int pieces;

static void *
counted_allocate(size_t size, void *arg)
{
	(void)arg;
	__atomic_fetch_add(&pieces, 1, __ATOMIC_RELAXED);
	return malloc(size);
}

static void
counted_release(void *memory, void *arg)
{
	(void)arg;
	__atomic_fetch_sub(&pieces, 1, __ATOMIC_RELAXED);
	free(memory);
}

/* Four threads read, and the receiver stops them after some results. */
static void
stop_early(const struct hone_read_attr *read)
{
	threads_to_start = -1;
	for (unsigned flags = 0; flags <= 1; flags++) {
		for (size_t after = 1; after <= 41; after += 10) {
			struct batch batch;

			make_batch(&batch);
			batch.read = *read;
			batch.attr.flags = flags;
			batch.attr.threads = 4;
			batch.stop_after = after;
			batch.stop_value = 5;
			pieces = 0;
			assert_int_equal(read_all(&batch), 5);
			assert_int_equal(batch.results, after);
			assert_int_equal(pieces, 0);
		}
	}
}

DIRECTORY_TEST(a_stop_stops_all_of_them)
{
	struct hone_read_attr read;

	hone_read_attr_init(&read);
	stop_early(&read);
}

DIRECTORY_TEST(what_came_after_the_stop_is_given_back)
{
	struct hone_read_attr read;

	hone_read_attr_init(&read);
	read.allocate = counted_allocate;
	read.release = counted_release;
	stop_early(&read);
}

static pthread_t caller;
static int caught;

static void catch (int number)
{
	(void)number;
	if (pthread_equal(pthread_self(), caller))
		caught++;
	else
		abort();
}

DONE(raise_one)
{
	free(file->data);
	return kill(getpid(), SIGUSR1);
}

/* The handler aborts in any thread but this one. */
DIRECTORY_TEST(signals_are_the_callers)
{
	struct sigaction action = {.sa_handler = catch};
	struct batch batch;
	sigset_t set;

	threads_to_start = -1;
	caller = pthread_self();
	assert_ok(sigaction(SIGUSR1, &action, NULL));
	make_batch(&batch);
	batch.attr.threads = 3;
	assert_ok(hone_read_files(
		batch.paths, PATHS, NULL, raise_one, NULL, &batch.attr));
	assert_ok(pthread_sigmask(SIG_BLOCK, NULL, &set));
	assert_int_equal(sigismember(&set, SIGUSR1), 0);
	assert_true(caught > 0);
}

/*
 * Batches that have fewer descriptors than threads. The linker puts the
 * functions below in place of the library's calls.
 */

static const char *const path = "file";
#define FILES 700

static struct {
	int most; /* descriptors that may be open at the same time */
	int error;
	atomic_int open;
	atomic_int refused;
	/* a read waits until this many opens were refused */
	int wait_for;
} world = {.most = INT_MAX};

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

DONE(see)
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
		assert_ok(read_with(threads, HONE_BATCH_PLAIN, &seen));
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
			assert_ok(read_with(threads, flags, &seen));
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
