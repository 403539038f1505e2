/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the caller that do not return, and threads that are cancelled:
 * nothing stays open. pthread_exit() unwinds the stack as an exception of C++
 * does; tests/consume throws one.
 */
#include <dirent.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <time.h>
#include "read_files_support.h"

static struct batch batch;
static struct record record;

static int
threads_of_this_process(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;

	assert_non_null(tasks);
	while (readdir(tasks))
		n++;
	closedir(tasks);
	return n - 2;
}

/* A thread that was joined may be listed for a moment. */
static void
threads_become(int n)
{
	struct timespec ms = {0, 1000000};

	while (threads_of_this_process() > n)
		nanosleep(&ms, NULL);
	assert_int_equal(threads_of_this_process(), n);
}

/* Leaves at result stop_after, in the thread that called. */
DONE(leave_or_free)
{
	if (file->data) /* this function owns it, however it ends */
		batch.read.release(file->data, batch.read.arg);
	if (++batch.results >= batch.stop_after &&
		pthread_equal(pthread_self(), *(pthread_t *)arg))
		pthread_exit(&batch);
	return 0;
}

static void *
read_batch_until_done_leaves(void *arg)
{
	pthread_t self = pthread_self();

	(void)arg;
	if (hone_read_files(batch.paths, PATHS, &batch.read, leave_or_free,
		    &self, &batch.attr) != 0)
		abort();
	return NULL;
}

/* In a thread; returns true if it left. */
static bool
leaves(void *(*run)(void *), const char *path)
{
	void *end;
	pthread_t thread;

	assert_ok(pthread_create(&thread, NULL, run, (void *)path));
	assert_ok(pthread_join(thread, &end));
	return end != NULL;
}

DIRECTORY_TEST(a_batch_that_done_leaves_holds_nothing)
{

	make_batch(&batch);
	batch.attr.used = NULL;
	for (unsigned flags = 0; flags <= HONE_BATCH_PLAIN; flags++)
		for (size_t at = 1; at <= PATHS; at += 13) {
			batch.read = recorded(&record);
			batch.attr.flags = flags;
			batch.results = 0;
			batch.stop_after = at;
			assert_true(leaves(read_batch_until_done_leaves, NULL));
			assert_int_equal(batch.results, at);
			assert_int_equal(record.live, 0);
		}
}

/* The threads of the library read files to the end. */
DIRECTORY_TEST(helpers_end_before_the_stack_is_gone)
{
	int before = threads_of_this_process();

	make_batch(&batch);
	batch.attr.used = NULL;
	batch.attr.threads = 2;
	for (size_t at = 1; at <= PATHS; at += 29) {
		batch.results = 0;
		batch.stop_after = at;
		(void)leaves(read_batch_until_done_leaves, NULL);
		threads_become(before);
	}
}

/*
 * The caller's thread leaves in the allocator while done() of the helper is
 * under way. The result of this done() must not undo the stop.
 */
static struct {
	sem_t inside, joined;
	size_t of_helper; /* calls of done() */
} race;

static _Thread_local bool is_caller;

STANDS_FOR(int, pthread_join, pthread_t thread, void **result)
{
	if (is_caller)
		sem_post(&race.joined);
	return __real_pthread_join(thread, result);
}

static void *
leave_beside_done(size_t size, void *arg)
{
	(void)arg;
	if (is_caller) {
		sem_wait(&race.inside);
		pthread_exit(&batch);
	}
	return malloc(size);
}

DONE(free_beside_a_leave)
{
	free(file->data);
	if (race.of_helper++ == 0) {
		sem_post(&race.inside);
		sem_wait(&race.joined);
	}
	return 0;
}

static void *
read_batch_until_the_allocator_leaves(void *arg)
{
	is_caller = true;
	return (void *)(intptr_t)hone_read_files(batch.paths, PATHS,
		&batch.read, free_beside_a_leave, arg, &batch.attr);
}

DIRECTORY_TEST(a_result_after_the_caller_left_does_not_continue)
{
	make_batch(&batch);
	for (size_t i = 0; i < PATHS; i++)
		batch.paths[i] = "f1";
	batch.read.allocate = leave_beside_done;
	batch.attr.used = NULL;
	batch.attr.threads = 2;
	batch.attr.flags = HONE_BATCH_PLAIN;
	sem_init(&race.inside, 0, 0);
	sem_init(&race.joined, 0, 0);
	race.of_helper = 0;
	assert_true(leaves(read_batch_until_the_allocator_leaves, NULL));
	assert_int_equal(race.of_helper, 1);
	sem_destroy(&race.inside);
	sem_destroy(&race.joined);
}

static int left_at;

static void *
allocate_or_leave(size_t size, void *arg)
{
	if (++record.calls == left_at)
		pthread_exit(&batch);
	record.live++;
	(void)arg;
	return malloc(size);
}

static void *
resize_or_leave(void *memory, size_t size, void *arg)
{
	if (++record.calls == left_at)
		pthread_exit(&batch);
	(void)arg;
	return realloc(memory, size);
}

static void *
read_one_file(void *path)
{
	struct hone_file_data file;

	if (hone_read_file(&file, path, &batch.read) == 0)
		batch.read.release(file.data, batch.read.arg);
	return NULL;
}

/* Every call of the allocator leaves once, in turn. */
DIRECTORY_TEST(an_allocator_that_leaves_leaves_nothing_open)
{
	void *(*const runs[])(void *) = {
		read_one_file, read_batch_until_done_leaves};

	make_batch(&batch);
	batch.attr.used = NULL;
	for (int r = 0; r < 2; r++)
		for (left_at = 1;; left_at += 1 + r * 10) {
			bool left;

			batch.read = recorded(&record);
			batch.read.allocate = allocate_or_leave;
			batch.read.resize = resize_or_leave;
			batch.results = 0;
			batch.stop_after = SIZE_MAX;
			left = leaves(runs[r], "/proc/self/maps");
			assert_int_equal(record.live, 0);
			if (!left)
				break;
		}
	assert_true(left_at > 100);
}

/* Until the reader has taken all bytes of a FIFO. */
static void
await_empty(int writer)
{
	int left;

	do
		assert_ok(ioctl(writer, FIONREAD, &left));
	while (left > 0 && sched_yield() == 0);
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

DIRECTORY_TEST(a_cancelled_read_leaves_nothing_open)
{
	int writer;
	pthread_t thread;
	void *end;

	skip_with_sanitizer();
	batch.read = recorded(&record);
	assert_ok(mkfifo("fifo", 0600));
	assert_ok(pthread_create(&thread, NULL, read_one_file, (void *)"fifo"));
	writer = open("fifo", O_WRONLY | O_CLOEXEC);
	assert_true(writer >= 0);
	/* A cancelled open() may lose its descriptor in the C library. The
	 * reader has opened the FIFO once it has read from it. */
	assert_int_equal(write(writer, "x", 1), 1);
	await_empty(writer);
	assert_ok(pthread_cancel(thread));
	assert_ok(pthread_join(thread, &end));
	assert_ptr_equal(end, PTHREAD_CANCELED);
	close(writer);
	assert_int_equal(record.live, 0);
}

/*
 * Threads that are cancelled while they read files. The linker puts the
 * function below in place of the library's call.
 */

static bool cancelled_in_open; /* the caller, after the real open() */

STANDS_FOR(int, openat64, int dirfd, const char *path, int flags, ...)
{
	int fd = __real_openat64(dirfd, path, flags);

	if (cancelled_in_open) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	return fd;
}

/* Cancels the caller after batch.stop_after results; 0: never. */
DONE(take)
{
	if (file->data)
		batch.read.release(file->data, batch.read.arg);
	if (__atomic_add_fetch(&batch.results, 1, __ATOMIC_RELAXED) ==
		batch.stop_after)
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
	struct hone_batch_attr attr = batch_with(run->flags);

	for (size_t i = 0; i < FILES; i++)
		paths[i] = i < FILES - 1 ? "file" : run->last;
	if (hone_read_files(paths, FILES, &batch.read, take, NULL, &attr) != 0)
		abort();
	return NULL;
}

static void
begin(void)
{
	cancelled_in_open = false;
	batch.stop_after = 0;
	batch.results = 0;
	batch.read = recorded(&record);
	make_file("file", 12);
	assert_ok(mkfifo("fifo", 0600));
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
	assert_int_equal(record.live, 0);
}

DIRECTORY_TEST(a_wait_in_a_ring_is_cancelled)
{
	struct run run = {.last = "fifo", .flags = HONE_BATCH_URING};
	pthread_t thread;

	skip_with_sanitizer();
	skip_without_uring();
	begin();
	assert_ok(pthread_create(&thread, NULL, read_files, &run));
	/* Then it waits for the FIFO or is about to: it is cancelled in both
	 * cases. The sleep makes the first one likely. */
	while (__atomic_load_n(&batch.results, __ATOMIC_RELAXED) < FILES - 1)
		sched_yield();
	usleep(100000);
	assert_ok(pthread_cancel(thread));
	assert_ends_cancelled(thread);
}

/* The next submission is a cancellation point, although nothing is waited for.
 */
DIRECTORY_TEST(a_ring_that_does_not_wait_is_cancelled)
{
	struct run run = {.last = "file", .flags = HONE_BATCH_URING};
	pthread_t thread;

	skip_with_sanitizer();
	skip_without_uring();
	begin();
	batch.stop_after = 1;
	assert_ok(pthread_create(&thread, NULL, read_files, &run));
	assert_ends_cancelled(thread);
	assert_in_range(batch.results, 1, FILES / 2);
}

DIRECTORY_TEST(an_open_that_does_not_wait_keeps_its_descriptor)
{
	struct run run = {.last = "file", .flags = HONE_BATCH_PLAIN};
	pthread_t thread;

	skip_with_sanitizer();
	begin();
	cancelled_in_open = true;
	batch.read.flags = HONE_READ_NONBLOCK;
	assert_ok(pthread_create(&thread, NULL, read_files, &run));
	assert_ends_cancelled(thread);
	cancelled_in_open = false; /* this thread opens, too */
	assert_int_equal(batch.results, 0);
}
