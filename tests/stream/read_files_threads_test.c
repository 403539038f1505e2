/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches that several threads read. */
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

	for (unsigned flags = 0; flags <= 2; flags++) {
		if (flags == HONE_BATCH_URING && try_uring() != 0) {
			print_message("# no io_uring here\n");
			continue;
		}
		for (size_t i = 0; i < 5; i++) {
			struct batch batch;
			int before;

			threads_to_start = -1;
			make_batch(&batch);
			batch.attr.flags = flags;
			batch.attr.threads = threads[i];
			batch.attr.depth = 8;
			before = open_descriptors();
			assert_int_equal(read_all(&batch), 0);
			assert_all_seen_once(&batch);
			assert_int_equal(open_descriptors(), before);
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
		assert_int_equal(read_all(&batch), 0);
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

static int
raise_one(size_t index, int error, struct hone_file_data *file, void *arg)
{
	(void)index;
	(void)error;
	(void)arg;
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
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	make_batch(&batch);
	batch.attr.threads = 3;
	assert_int_equal(hone_read_files(batch.paths, PATHS, NULL, raise_one,
				 NULL, &batch.attr),
		0);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	assert_int_equal(sigismember(&set, SIGUSR1), 0);
	assert_true(caught > 0);
}
