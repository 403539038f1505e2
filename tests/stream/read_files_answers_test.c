/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers of io_uring that are rare: the kernel refuses O_NOATIME, a read is
 * interrupted or fails, a file is gone, a thread gets no ring. The linker puts
 * the functions below in place of the library's calls.
 */
#include <stdatomic.h>
#include "read_files_support.h"

#define LARGE 300000

struct hone_uring;

static struct {
	int answers;
	int lie_at; /* this answer, from 1, */
	int lie;    /* is this error; 0: the path is removed before it */
	atomic_int allocations;
	int fail_allocation;
	size_t fail_size; /* malloc() of this many bytes fails */
	/* submissions fail from the first on */
	bool refuses;
} world;

STANDS_FOR(void, hone_uring_answer, struct hone_uring *u, unsigned number,
	int result)
{
	if (++world.answers == world.lie_at) {
		if (world.lie)
			result = world.lie;
		else
			unlink("file");
	}
	__real_hone_uring_answer(u, number, result);
}

STANDS_FOR(void *, calloc, size_t n, size_t size)
{
	if (++world.allocations == world.fail_allocation)
		return NULL;
	return __real_calloc(n, size);
}

STANDS_FOR(void *, malloc, size_t size)
{
	return size && size == world.fail_size ? NULL : __real_malloc(size);
}

struct io_uring;

STANDS_FOR(int, io_uring_submit, struct io_uring *ring)
{
	return world.refuses ? -EPERM : __real_io_uring_submit(ring);
}

static int
keep(size_t index, int error, struct hone_file_data *file, void *arg)
{
	(void)index;
	*(struct hone_file_data *)arg = *file;
	return error;
}

/* Reads "file" of size bytes through a ring, with a lie in one answer. Answer 1
 * is to the open, 2 to the first read. */
static int
read_with(size_t size, int lie_at, int lie, const struct hone_read_attr *attr,
	struct hone_file_data *file)
{
	static const char *const path = "file";
	struct hone_batch_attr batch;

	make_file(path, size);
	hone_batch_attr_init(&batch);
	batch.flags = HONE_BATCH_URING;
	memset(&world, 0, sizeof(world));
	world.lie_at = lie_at;
	world.lie = lie;
	return hone_read_files(&path, 1, attr, keep, file, &batch);
}

DIRECTORY_TEST(a_refused_o_noatime_is_left_out)
{
	struct hone_read_attr attr;
	struct hone_file_data file;

	skip_without_uring();
	hone_read_attr_init(&attr);
	attr.flags = HONE_READ_NOATIME;
	assert_ok(read_with(LARGE, 1, -EPERM, &attr, &file));
	/* two for the open, and the rest for the reads: no plain call */
	assert_true(world.answers > 3);
	assert_content(&file, LARGE);
	free(file.data);
}

DIRECTORY_TEST(an_interrupted_read_is_made_again)
{
	struct hone_file_data file;

	skip_without_uring();
	/* the read at the end, which takes no bytes */
	assert_ok(read_with(12, 3, -EINTR, NULL, &file));
	assert_int_equal(world.answers, 4);
	assert_content(&file, 12);
	free(file.data);
}

DIRECTORY_TEST(an_error_after_the_first_bytes_is_the_result)
{
	struct hone_file_data file;

	skip_without_uring();
	assert_int_equal(read_with(12, 3, -EIO, NULL, &file), -EIO);
	assert_null(file.data);
	assert_int_equal(world.answers, 3);
}

/* Its size is not known then. */
DIRECTORY_TEST(a_file_that_is_removed_is_read_to_its_end)
{
	struct hone_file_data file;

	skip_without_uring();
	assert_ok(read_with(LARGE, 2, 0, NULL, &file));
	assert_content(&file, LARGE);
	free(file.data);
}

DIRECTORY_TEST(no_memory_for_the_rest_of_a_file_is_an_error)
{
	struct hone_file_data file;

	skip_without_uring();
	for (int at = 1; at <= 3; at++) {
		struct record record;
		struct hone_read_attr attr = recorded(&record);

		record.fail_at = at;
		assert_int_equal(read_with(LARGE, 2, 0, &attr, &file), -ENOMEM);
		assert_null(file.data);
		assert_int_equal(record.live, 0);
	}
}

DIRECTORY_TEST(a_thread_without_a_ring_leaves_the_files_to_the_others)
{
	static struct batch batch;

	skip_without_uring();
	make_batch(&batch);
	batch.attr.threads = 2;
	/* the ring of this thread is made before the other thread */
	batch.attr.flags = HONE_BATCH_URING;
	memset(&world, 0, sizeof(world));
	world.fail_allocation = 4; /* the first three are of this thread */
	assert_ok(read_all(&batch));
	assert_int_equal(world.allocations, 4);
	assert_all_seen_once(&batch);
	/* only the ring of this thread was used */
	assert_true(batch.used.uring > 0);
}

DIRECTORY_TEST(a_batch_without_a_ring_chooses_plain_calls)
{
	static struct batch batch;

	skip_without_uring();
	make_batch(&batch);
	memset(&world, 0, sizeof(world));
	world.fail_allocation = 1;
	assert_ok(read_all(&batch));
	assert_int_equal(world.allocations, 1);
	assert_all_seen_once(&batch);
	assert_int_equal(batch.used.uring, 0);
}

DIRECTORY_TEST(without_memory_for_small_files_there_is_no_ring)
{
	static struct batch batch;

	skip_without_uring();
	make_batch(&batch);
	memset(&world, 0, sizeof(world));
	/* of each of 64 slots: 16 KiB and a cache line */
	world.fail_size = 64 * ((16 << 10) + 64);
	assert_ok(read_all(&batch));
	assert_int_equal(batch.used.uring, 0);
	assert_all_seen_once(&batch);
	batch.attr.flags = HONE_BATCH_URING;
	assert_int_equal(read_all(&batch), -ENOMEM);
	world.fail_size = 0;
}

static int
stop(size_t index, int error, struct hone_file_data *file, void *arg)
{
	struct record *record = arg;

	(void)index;
	assert_int_equal(error, 0);
	record_release(file->data, record);
	return 7;
}

DIRECTORY_TEST(files_that_wait_for_memory_are_dropped_by_a_stop)
{
	static const char *const paths[] = {"file", "file", "file", "file"};
	struct record record;
	struct hone_read_attr read = recorded(&record);
	struct hone_batch_attr batch;

	skip_without_uring();
	make_file("file", LARGE);
	memset(&world, 0, sizeof(world));
	hone_batch_attr_init(&batch);
	batch.flags = HONE_BATCH_URING;
	batch.memory = 1; /* one large file at a time */
	assert_int_equal(
		hone_read_files(paths, 4, &read, stop, &record, &batch), 7);
	assert_int_equal(record.live, 0);
	assert_int_equal(record.calls, 1);
}

/* Leaves when there is a ring, from one file on. */
static int
leave(size_t index, int error, struct hone_file_data *file, void *arg)
{
	(void)index;
	(void)error;
	(void)arg;
	free(file->data);
	if (world.allocations < 3)
		return 0;
	pthread_exit(&world);
}

static void *
read_and_leave(void *batch)
{
	struct batch *b = batch;

	if (hone_read_files(b->paths, PATHS, &b->read, leave, NULL, &b->attr) !=
		0)
		abort();
	return NULL;
}

static void
refuse_and_leave(unsigned flags)
{
	static struct batch batch;
	int before;
	pthread_t thread;
	void *end;

	skip_without_uring();
	make_batch(&batch);
	batch.attr.flags = flags;
	memset(&world, 0, sizeof(world));
	world.refuses = true;
	before = open_descriptors();
	assert_ok(pthread_create(&thread, NULL, read_and_leave, &batch));
	assert_ok(pthread_join(thread, &end));
	assert_ptr_equal(end, &world);
	assert_int_equal(open_descriptors(), before);
}

DIRECTORY_TEST(done_may_leave_after_the_ring_has_gone)
{
	refuse_and_leave(HONE_BATCH_URING);
}

DIRECTORY_TEST(done_may_leave_a_batch_that_chooses)
{
	refuse_and_leave(0);
}
