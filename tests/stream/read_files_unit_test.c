/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches by either method: results, stopping, and what is refused. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include "read_files_support.h"

static void
everything_is_as_one_by_one(unsigned flags)
{
	static const unsigned depths[] = {1, 2, 7, 32, 1000};

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct batch batch;

		make_batch(&batch);
		batch.attr.flags = flags;
		batch.attr.depth = depths[i];
		assert_ok(read_all(&batch));
		assert_all_seen_once(&batch);
		if (flags & HONE_BATCH_URING)
			assert_true(batch.used.uring >= PATHS / 2);
		else if (flags & HONE_BATCH_PLAIN)
			assert_int_equal(batch.used.plain, PATHS);
	}
}

DIRECTORY_TEST(plain_calls_give_what_single_calls_do)
{
	everything_is_as_one_by_one(HONE_BATCH_PLAIN);
}

DIRECTORY_TEST(io_uring_gives_what_single_calls_do)
{
	skip_without_uring();
	everything_is_as_one_by_one(HONE_BATCH_URING);
}

DIRECTORY_TEST(the_default_gives_what_single_calls_do)
{
	everything_is_as_one_by_one(0);
}

DIRECTORY_TEST(limits_and_flags_hold_for_each)
{
	static const size_t limits[] = {0, 11, 16383, 16384, 65535, 70000};

	for (unsigned flags = 0; flags < ways_to_read(); flags++) {
		for (size_t i = 0; i < 6; i++) {
			struct batch batch;

			make_batch(&batch);
			batch.attr.flags = flags;
			batch.read.limit = limits[i];
			batch.read.flags =
				HONE_READ_NOFOLLOW | HONE_READ_NOATIME;
			assert_ok(read_all(&batch));
			assert_all_seen_once(&batch);
		}
	}
}

DIRECTORY_TEST(nothing_to_read_calls_nobody)
{
	struct hone_batch_used used = {.uring = 5, .plain = 5};
	struct hone_batch_attr attr;

	hone_batch_attr_init(&attr);
	attr.used = &used;
	assert_ok(hone_read_files(NULL, 0, NULL, NULL, NULL, &attr));
	assert_int_equal(used.uring + used.plain, 0);
	assert_ok(hone_read_files(NULL, 0, NULL, NULL, NULL, NULL));
}

DIRECTORY_TEST(attributes_out_of_range_are_refused)
{
	struct batch batch;

	make_batch(&batch);
	batch.attr.depth = 4097;
	assert_int_equal(read_all(&batch), -EINVAL);
	batch.attr.depth = 1;
	batch.attr.threads = 65;
	assert_int_equal(read_all(&batch), -EINVAL);
	batch.attr.threads = 1;
	batch.attr.flags = 4;
	assert_int_equal(read_all(&batch), -EINVAL);
	batch.attr.flags = HONE_BATCH_PLAIN | HONE_BATCH_URING;
	assert_int_equal(read_all(&batch), -EINVAL);
	batch.attr.flags = 0;
	batch.read.flags = 16;
	assert_int_equal(read_all(&batch), -EINVAL);
	assert_int_equal(batch.results, 0);
}

DIRECTORY_TEST(a_stop_is_the_last_call)
{
	for (unsigned flags = 0; flags < ways_to_read(); flags++) {
		for (size_t after = 1; after <= 61; after += 20) {
			struct record record;
			struct batch batch;

			make_batch(&batch);
			batch.read = recorded(&record);
			batch.attr.flags = flags;
			batch.stop_after = after;
			batch.stop_value = -77;
			assert_int_equal(read_all(&batch), -77);
			assert_int_equal(batch.results, after);
			assert_int_equal(
				batch.used.uring + batch.used.plain, after);
			assert_int_equal(record.live, 0);
		}
	}
}

/* The first result stops the batch. */
DONE(stop_at_once)
{
	free(file->data);
	*(size_t *)arg = index;
	return error ? error : 9;
}

/* Reads of a FIFO without a writer are cancelled. */
DIRECTORY_TEST(a_stop_does_not_wait_for_a_fifo)
{
	static const char *const paths[] = {"fifo", "file", "fifo"};
	struct hone_batch_attr attr = batch_with(HONE_BATCH_URING);
	size_t index = 0;

	skip_without_uring();
	assert_ok(mkfifo("fifo", 0600));
	make_file("file", 12);
	assert_int_equal(
		hone_read_files(paths, 3, NULL, stop_at_once, &index, &attr),
		9);
	assert_int_equal(index, 1);
}

DONE(check_content)
{
	size_t *sizes = arg;

	assert_int_equal(error, 0);
	assert_content(file, file->size);
	sizes[index] = file->size;
	free(file->data);
	return 0;
}

DIRECTORY_TEST(a_fifo_is_read_to_its_end)
{
	static const char *const paths[] = {"file", "fifo", "file"};
	size_t sizes[3] = {0, 0, 0};
	struct hone_batch_attr attr = batch_with(ways_to_read() - 1);
	pid_t child;

	assert_ok(mkfifo("fifo", 0600));
	make_file("file", 100000);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(system("cat file file >/dev/null; cat file >fifo"));
	assert_ok(hone_read_files(paths, 3, NULL, check_content, sizes, &attr));
	for (int i = 0; i < 3; i++)
		assert_int_equal(sizes[i], 100000);
	support_exits_with_0(child);
}

/* In a child, since a hard limit cannot be raised again. Returns an exit
 * status. */
static int
read_below_limit(struct batch *batch, rlim_t soft, rlim_t hard)
{
	struct rlimit limit = {soft, hard}, after;

	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 2;
	if (read_all(batch) != 0 || batch->results != PATHS)
		return 3;
	if (getrlimit(RLIMIT_NOFILE, &after) != 0 || after.rlim_cur != soft ||
		after.rlim_max != hard)
		return 4;
	return batch->used.uring < PATHS / 2;
}

DIRECTORY_TEST(the_limit_of_descriptors_stays_and_a_low_one_suffices)
{
	static const rlim_t limits[] = {16, 32, 64, 1024};
	struct batch batch;
	struct rlimit now;

	skip_without_uring();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	make_batch(&batch);
	batch.attr.flags = HONE_BATCH_URING;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (int hard = 0; hard < 2; hard++) {
			pid_t child = fork();

			assert_true(child >= 0);
			batch.attr.depth = i % 2 ? 64 : 2048;
			if (child == 0)
				_exit(read_below_limit(&batch, limits[i],
					hard ? limits[i] : now.rlim_max));
			support_exits_with_0(child);
		}
}

DONE(read_within)
{
	struct batch inner;

	assert_int_equal(error, 0);
	free(file->data);
	if (++*(int *)arg == 2) {
		make_batch(&inner);
		assert_ok(read_all(&inner));
		assert_all_seen_once(&inner);
	}
	return 0;
}

DIRECTORY_TEST(done_may_read_files_itself)
{
	static const char *const paths[] = {
		"/proc/version", "/dev/null", "/proc/filesystems"};
	struct hone_batch_attr attr = batch_with(ways_to_read() - 1);
	int results = 0;

	assert_ok(
		hone_read_files(paths, 3, NULL, read_within, &results, &attr));
	assert_int_equal(results, 3);
}

/* The memory of a batch: its limit, and failures to allocate. */

/* Bytes of large results that are not finished yet. */
struct unfinished {
	size_t now;
	size_t most;
};

static void *
count_allocate(size_t size, void *arg)
{
	struct unfinished *unfinished = arg;
	size_t *memory = malloc(size + 16);

	memory[0] = size;
	unfinished->now += size;
	if (unfinished->now > unfinished->most)
		unfinished->most = unfinished->now;
	return memory + 2;
}

static void *
count_resize(void *memory, size_t size, void *arg)
{
	(void)memory;
	(void)size;
	(void)arg;
	return NULL; /* every reported size is right */
}

static void
count_release(void *memory, void *arg)
{
	struct unfinished *unfinished = arg;

	unfinished->now -= ((size_t *)memory)[-2];
	free((size_t *)memory - 2);
}

DONE(finished)
{
	struct unfinished *unfinished = arg;

	assert_int_equal(error, 0);
	assert_content(file, file->size);
	count_release(file->data, unfinished);
	return 0;
}

DIRECTORY_TEST(unfinished_results_are_bounded)
{
	static const char *const names[] = {"m", "m", "xl", "m", "m", "l", "m"};
	const char *paths[70];

	make_file("m", 1000000);
	make_file("l", 1400000);
	make_file("xl", 5000000);
	for (unsigned flags = 0; flags < ways_to_read(); flags++) {
		struct unfinished unfinished = {0, 0};
		struct hone_batch_used used;
		struct hone_batch_attr attr = batch_with(flags);
		struct hone_read_attr read;

		for (size_t i = 0; i < 70; i++)
			paths[i] = names[i % 7];
		hone_read_attr_init(&read);
		read.allocate = count_allocate;
		read.resize = count_resize;
		read.release = count_release;
		read.arg = &unfinished;
		attr.memory = 3000000;
		attr.used = &used;
		assert_ok(hone_read_files(
			paths, 70, &read, finished, &unfinished, &attr));
		assert_int_equal(unfinished.now, 0);
		/* the ring continued the files that had to wait */
		if (flags == HONE_BATCH_URING)
			assert_int_equal(used.plain, 0);
		/* the file above the limit was alone */
		assert_int_equal(unfinished.most, 5000001);
		paths[2] = "m";
		unfinished.most = 0;
		assert_ok(hone_read_files(
			paths, 7, &read, finished, &unfinished, &attr));
		assert_true(unfinished.most <= 3000000);
		/* and the limit was used */
		if (flags == HONE_BATCH_URING)
			assert_true(unfinished.most >= 2000000);
	}
}

/* Each allocation fails once: one file fails, the others succeed. */
DONE(one_without_memory)
{
	if (error) {
		assert_int_equal(error, -ENOMEM);
		++*(int *)arg;
	}
	free(file->data);
	return 0;
}

DIRECTORY_TEST(no_memory_for_one_is_told_of_that_one)
{
	static const char *const paths[] = {"a", "b", "c", "d", "/dev/zero"};

	make_file("a", 12);
	make_file("b", 20000);
	make_file("c", 300000);
	make_file("d", 0);
	for (unsigned flags = 0; flags < ways_to_read(); flags++) {
		for (int at = 1; at <= 5; at++) {
			struct record record;
			struct hone_read_attr read = recorded(&record);
			struct hone_batch_attr attr = batch_with(flags);
			int failed = 0;

			record.fail_at = at;
			assert_ok(hone_read_files(paths, 4, &read,
				one_without_memory, &failed, &attr));
			/* the last one in plain calls cuts what is empty */
			assert_true(failed == 1 || (failed == 0 && at == 5));
			assert_int_equal(record.live, 4 - failed);
		}
	}
}

/*
 * Batches where io_uring is refused by a seccomp filter, from the beginning or
 * midway, fails, stops or is slow. The linker puts the functions below in place
 * of the library's calls.
 */

struct io_uring;
struct hone_uring;

static struct {
	int calls, polls, opens;
	int fail_at;    /* this submit and those after it fail; 0: none */
	bool fail_once; /* this one alone */
	int error;
	bool submit_first; /* the failing submit has passed on its requests */
	bool interrupted;  /* every second answer is */
	int answers;
	int lie_at; /* this answer is */
	int lie;    /* this error; 0: the path is removed before it */
	bool answering;
	/* us of a simulated clock: of a submission, of a plain result */
	long slow_ring, slow_plain;
	long clock_us;
	atomic_int allocations;
	int fail_allocation;
	size_t fail_size; /* malloc() of this many bytes fails */
} world;

STANDS_FOR(int, poll, struct pollfd *fds, nfds_t n, int timeout)
{
	world.polls++;
	return __real_poll(fds, n, timeout);
}

STANDS_FOR(int, openat64, int dirfd, const char *path, int flags, ...)
{
	world.opens++;
	return __real_openat64(dirfd, path, flags);
}

#if defined(HONE_TEST_URING)
STANDS_FOR(int, io_uring_submit, struct io_uring *ring)
{
	world.calls++;
	world.clock_us += world.slow_ring;
	if (world.interrupted && world.calls % 2)
		return -EINTR;
	if (world.fail_at == 0 || world.calls < world.fail_at ||
		(world.fail_once && world.calls > world.fail_at))
		return __real_io_uring_submit(ring);
	if (world.submit_first)
		__real_io_uring_submit(ring);
	return world.error;
}

STANDS_FOR(void, hone_uring_answer, struct hone_uring *u, unsigned number,
	int result)
{
	if (++world.answers == world.lie_at) {
		if (world.lie)
			result = world.lie;
		else
			unlink("file");
	}
	world.answering = true;
	__real_hone_uring_answer(u, number, result);
	world.answering = false;
}
#endif

STANDS_FOR(int, clock_gettime, clockid_t clock, struct timespec *now)
{
	if (world.slow_ring == 0 && world.slow_plain == 0)
		return __real_clock_gettime(clock, now);
	now->tv_sec = world.clock_us / 1000000;
	now->tv_nsec = world.clock_us % 1000000 * 1000;
	return 0;
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

/* From now on system call `number` fails with `error`. */
static bool
refuse(long number, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Filters cannot be removed: each case is a child of its own, in which
 * assertions of cmocka would not end the test. Returns an exit status. */
static int
in_child(int (*run)(int, int), int number, int error)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(run(number, error));
	status = support_end_of(child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int
try_filter(int number, int error)
{
	return refuse(number, error) ? 0 : 1;
}

static void
skip_unless_refusable(void)
{
	skip_without_uring();
	if (in_child(try_filter, SYS_io_uring_setup, EPERM) != 0) {
		print_message("# no seccomp filters here\n");
		skip();
	}
}

static struct batch batch;
/* in check(): refuse io_uring_enter after that many results */
static size_t refuse_after;

DONE(check)
{
	struct hone_file_data expected = {NULL, 0};
	int truth = hone_read_file(&expected, batch.paths[index], NULL);

	if (!world.answering)
		world.clock_us += world.slow_plain;
	if (batch.seen[index]++ != 0 || error != truth ||
		file->size != expected.size)
		return 100;
	if (!error && memcmp(file->data, expected.data, file->size + 1) != 0)
		return 101;
	free(file->data);
	free(expected.data);
	if (++batch.results == refuse_after &&
		!refuse(SYS_io_uring_enter, EPERM))
		return 102;
	return 0;
}

static int
check_all(void)
{
	int result = hone_read_files(
		batch.paths, PATHS, NULL, check, NULL, &batch.attr);

	if (result == 0 &&
		(batch.results != PATHS ||
			batch.used.uring + batch.used.plain != PATHS))
		return 103;
	return result;
}

/* Refused from the beginning: all files are read, without io_uring. */
static int
without(int number, int error)
{
	int result;

	if (!refuse(number, error))
		return 1;
	batch.attr.flags = HONE_BATCH_URING;
	if (check_all() != -error || batch.results > 0)
		return 2;
	batch.attr.flags = 0;
	result = check_all();
	return result ? result : batch.used.plain != PATHS;
}

DIRECTORY_TEST(a_refused_ring_is_done_without)
{
	skip_unless_refusable();
	make_batch(&batch);
	assert_int_equal(in_child(without, SYS_io_uring_setup, EPERM), 0);
	assert_int_equal(in_child(without, SYS_io_uring_setup, ENOSYS), 0);
	assert_int_equal(in_child(without, SYS_io_uring_setup, ENOMEM), 0);
	assert_int_equal(in_child(without, SYS_io_uring_register, EPERM), 0);
	assert_int_equal(in_child(without, SYS_io_uring_register, EINVAL), 0);
	assert_int_equal(in_child(without, SYS_io_uring_enter, EPERM), 0);
	assert_int_equal(in_child(without, SYS_io_uring_enter, ENOSYS), 0);
	assert_int_equal(in_child(without, SYS_io_uring_enter, ENOMEM), 0);
}

static int
refused_midway(int after, int flags)
{
	refuse_after = (size_t)after;
	batch.attr.flags = (unsigned)flags;
	return check_all();
}

DIRECTORY_TEST(a_ring_refused_midway_is_done_without)
{
	skip_unless_refusable();
	make_batch(&batch);
	for (int after = 1; after <= PATHS; after += 23) {
		assert_int_equal(in_child(refused_midway, after, 0), 0);
		assert_int_equal(
			in_child(refused_midway, after, HONE_BATCH_URING), 0);
	}
}

static void
read_well(void)
{

	memset(batch.seen, 0, sizeof(batch.seen));
	batch.results = 0;
	refuse_after = 0;
	assert_ok(check_all());
}

#if defined(HONE_TEST_URING)
DIRECTORY_TEST(a_ring_that_gives_up_is_done_without)
{
	static const int errors[] = {-EAGAIN, -ENOMEM, -EPERM};

	skip_without_uring();
	make_batch(&batch);
	batch.attr.flags = HONE_BATCH_URING;
	for (int at = 1; at <= 40; at += 3) {
		for (int way = 0; way < 4; way++) {
			memset(&world, 0, sizeof(world));
			world.fail_at = at;
			world.error = errors[at / 3 % 3];
			world.submit_first = way & 1;
			world.fail_once = way & 2;
			read_well();
			assert_true(batch.used.plain > 0);
		}
	}
	memset(&world, 0, sizeof(world));
	world.interrupted = true;
	read_well();
	assert_true(batch.used.plain < PATHS / 2);
	memset(&world, 0, sizeof(world));
}

/* The files are in memory: a kernel that answers later than it returns from a
 * submission, as for a network, takes up to a submission and a poll() each. */
DIRECTORY_TEST(a_ring_takes_far_fewer_calls_than_files)
{
	skip_without_uring();
	make_batch(&batch);
	batch.attr.flags = HONE_BATCH_URING;
	memset(&world, 0, sizeof(world));
	read_well();
	assert_in_range(batch.used.uring, PATHS / 2, PATHS);
	assert_in_range(world.calls + world.polls, 1, PATHS / 4);
	/* check() opens each file; what is plain is opened once more */
	assert_in_range(world.opens, PATHS, PATHS + batch.used.plain);
	memset(&world, 0, sizeof(world));
}

/* As a kernel that lacks a feature would answer. */
DIRECTORY_TEST(an_answer_that_is_an_error_is_tried_again)
{
	static const int lies[] = {
		-EINVAL, -ECANCELED, -ENOMEM, -EAGAIN, -EPERM};

	skip_without_uring();
	make_batch(&batch);
	batch.attr.flags = HONE_BATCH_URING;
	batch.attr.depth = 4;
	for (size_t i = 0; i < 5; i++) {
		/* the opens of the first four, then their first reads */
		for (int at = 1; at <= 8; at++) {
			memset(&world, 0, sizeof(world));
			world.lie_at = at;
			world.lie = lies[i];
			read_well();
		}
	}
	memset(&world, 0, sizeof(world));
}

DIRECTORY_TEST(the_faster_way_is_taken)
{
	skip_without_uring();
	make_batch(&batch);
	memset(&world, 0, sizeof(world));
	world.slow_ring = 50000;
	read_well();
	/* one trial of the ring, and a second one at most */
	assert_in_range(batch.used.uring, 1, 128);
	memset(&world, 0, sizeof(world));
	world.slow_plain = 1000;
	read_well();
	/* Two short trials, and the paths that io_uring leaves to plain calls.
	 */
	assert_in_range(batch.used.plain, 1, 63);
	memset(&world, 0, sizeof(world));
}

static void
fresh_world(void)
{
	memset(&world, 0, sizeof(world));
	batch.results = 0;
	memset(batch.seen, 0, sizeof(batch.seen));
}

/* The allocations of a ring: three by calloc(), and the memory for small files,
 * of 64 slots with 16 KiB and a cache line each. */
static void
fail_allocation_of_a_ring(int number)
{
	fresh_world();
	if (number < 4)
		world.fail_allocation = number;
	else
		world.fail_size = 64 * ((16 << 10) + 64);
}

DIRECTORY_TEST(no_memory_for_a_ring_is_done_without)
{
	skip_without_uring();
	make_batch(&batch);
	for (int number = 1; number <= 4; number++) {
		batch.attr.flags = 0;
		fail_allocation_of_a_ring(number);
		read_well();
		assert_int_equal(batch.used.plain, PATHS);
		batch.attr.flags = HONE_BATCH_URING;
		fail_allocation_of_a_ring(number);
		assert_int_equal(check_all(), -ENOMEM);
		assert_int_equal(batch.results, 0);
	}
	fresh_world();
}

DIRECTORY_TEST(a_thread_without_a_ring_leaves_the_files_to_the_others)
{
	skip_without_uring();
	make_batch(&batch);
	batch.attr.threads = 2;
	/* the ring of this thread is made before the other thread */
	batch.attr.flags = HONE_BATCH_URING;
	fresh_world();
	world.fail_allocation = 4; /* the first three are of this thread */
	read_well();
	assert_int_equal(world.allocations, 4);
	/* only the ring of this thread was used */
	assert_true(batch.used.uring > 0);
	fresh_world();
}

/* Rare answers to the requests of one file. */

#define LARGE 300000

DONE(keep)
{
	*(struct hone_file_data *)arg = *file;
	return error;
}

/* Reads "file" of size bytes through a ring, with a lie in one answer. Answer 1
 * is to the open, 2 to the first read. If it succeeds, all of it is there. */
static int
read_with(size_t size, int lie_at, int lie, const struct hone_read_attr *attr)
{
	static const char *const path = "file";
	struct hone_batch_attr uring = batch_with(HONE_BATCH_URING);
	struct hone_file_data file;
	int error;

	skip_without_uring();
	make_file(path, size);
	fresh_world();
	world.lie_at = lie_at;
	world.lie = lie;
	error = hone_read_files(&path, 1, attr, keep, &file, &uring);
	if (error == 0)
		assert_content(&file, size);
	else
		assert_null(file.data);
	free(file.data);
	return error;
}

DIRECTORY_TEST(a_refused_o_noatime_is_left_out)
{
	struct hone_read_attr attr = with_flags(HONE_READ_NOATIME);

	assert_ok(read_with(LARGE, 1, -EPERM, &attr));
	/* two for the open, and the rest for the reads: no plain call */
	assert_true(world.answers > 3);
}

/* The third answer is to the read at the end, which takes no bytes. */
DIRECTORY_TEST(an_interrupted_read_is_made_again)
{
	assert_ok(read_with(12, 3, -EINTR, NULL));
	assert_int_equal(world.answers, 4);
}

DIRECTORY_TEST(an_error_after_the_first_bytes_is_the_result)
{
	assert_int_equal(read_with(12, 3, -EIO, NULL), -EIO);
	assert_int_equal(world.answers, 3);
}

/* Its size is not known then. */
DIRECTORY_TEST(a_file_that_is_removed_is_read_to_its_end)
{
	assert_ok(read_with(LARGE, 2, 0, NULL));
}

DIRECTORY_TEST(no_memory_for_the_rest_of_a_file_is_an_error)
{
	for (int at = 1; at <= 3; at++) {
		struct record record;
		struct hone_read_attr attr = recorded(&record);

		record.fail_at = at;
		assert_int_equal(read_with(LARGE, 2, 0, &attr), -ENOMEM);
		assert_int_equal(record.live, 0);
	}
}

DONE(stop)
{
	assert_int_equal(error, 0);
	record_release(file->data, arg);
	return 7;
}

DIRECTORY_TEST(files_that_wait_for_memory_are_dropped_by_a_stop)
{
	static const char *const paths[] = {"file", "file", "file", "file"};
	struct record record;
	struct hone_read_attr read = recorded(&record);
	struct hone_batch_attr uring = batch_with(HONE_BATCH_URING);

	skip_without_uring();
	make_file("file", LARGE);
	uring.memory = 1; /* one large file at a time */
	assert_int_equal(
		hone_read_files(paths, 4, &read, stop, &record, &uring), 7);
	assert_int_equal(record.live, 0);
	assert_int_equal(record.calls, 1);
}

/* Leaves when there is a ring, from one file on. */
DONE(leave)
{
	free(file->data);
	if (world.allocations < 3)
		return 0;
	pthread_exit(&world);
}

static void *
read_and_leave(void *arg)
{
	if (hone_read_files(batch.paths, PATHS, &batch.read, leave, NULL,
		    &batch.attr) != 0)
		abort();
	return arg;
}

/* With a ring, and in a batch that chooses. */
DIRECTORY_TEST(done_may_leave_after_the_ring_has_gone)
{
	skip_without_uring();
	make_batch(&batch);
	for (int uring = 0; uring < 2; uring++) {
		pthread_t thread;
		void *end;

		batch.attr.flags = uring ? HONE_BATCH_URING : 0;
		fresh_world();
		world.fail_at = 1;
		world.error = -EPERM;
		assert_ok(pthread_create(&thread, NULL, read_and_leave, NULL));
		assert_ok(pthread_join(thread, &end));
		assert_ptr_equal(end, &world);
	}
	fresh_world();
}
#else
DIRECTORY_TEST(a_library_without_io_uring_says_so)
{
	make_batch(&batch);
	batch.attr.flags = HONE_BATCH_URING;
	assert_int_equal(check_all(), -EOPNOTSUPP);
	assert_int_equal(batch.results, 0);
	batch.attr.flags = 0;
	read_well();
	assert_int_equal(batch.used.plain, PATHS);
}
#endif
