/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches where io_uring is refused by a seccomp filter, from the beginning or
 * midway, fails, stops or is slow. The linker puts the functions below in place
 * of the library's calls.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include "read_files_support.h"

struct io_uring;
struct hone_uring;

static struct {
	int calls;
	int fail_at; /* this submit and those after it fail; 0: none */
	int error;
	bool submit_first; /* the failing submit has passed on its requests */
	bool interrupted;  /* every second answer is */
	int answers;
	int lie_at; /* this answer is */
	int lie;    /* this error */
	bool answering;
	/* us of a simulated clock: of a submission, of a plain result */
	long slow_ring, slow_plain;
	long clock_us;
	int allocations, fail_allocation;
} world;

#if defined(HONE_TEST_URING)
STANDS_FOR(int, io_uring_submit, struct io_uring *ring)
{
	world.calls++;
	world.clock_us += world.slow_ring;
	if (world.interrupted && world.calls % 2)
		return -EINTR;
	if (world.fail_at == 0 || world.calls < world.fail_at)
		return __real_io_uring_submit(ring);
	if (world.submit_first)
		__real_io_uring_submit(ring);
	return world.error;
}

STANDS_FOR(void, hone_uring_answer, struct hone_uring *u, unsigned number,
	int result)
{
	if (++world.answers == world.lie_at)
		result = world.lie;
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
	assert_int_equal(waitpid(child, &status, 0), child);
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

static int
check(size_t index, int error, struct hone_file_data *file, void *arg)
{
	struct hone_file_data expected = {NULL, 0};
	int truth = hone_read_file(&expected, batch.paths[index], NULL);

	(void)arg;
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
	int before = open_descriptors();

	memset(batch.seen, 0, sizeof(batch.seen));
	batch.results = 0;
	refuse_after = 0;
	assert_int_equal(check_all(), 0);
	assert_int_equal(open_descriptors(), before);
}

#if defined(HONE_TEST_URING)
DIRECTORY_TEST(a_ring_that_gives_up_is_done_without)
{
	skip_without_uring();
	make_batch(&batch);
	batch.attr.flags = HONE_BATCH_URING;
	for (int at = 1; at <= 40; at += 3) {
		for (int first = 0; first < 2; first++) {
			memset(&world, 0, sizeof(world));
			world.fail_at = at;
			world.error = -EAGAIN;
			world.submit_first = first;
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

DIRECTORY_TEST(no_memory_for_a_ring_is_done_without)
{
	skip_without_uring();
	make_batch(&batch);
	for (int at = 1; at <= 3; at++) {
		memset(&world, 0, sizeof(world));
		world.fail_allocation = at;
		read_well();
		assert_int_equal(batch.used.plain, PATHS);
	}
	memset(&world, 0, sizeof(world));
	world.fail_allocation = 2;
	batch.attr.flags = HONE_BATCH_URING;
	batch.results = 0;
	assert_int_equal(check_all(), -ENOMEM);
	assert_int_equal(batch.results, 0);
	memset(&world, 0, sizeof(world));
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
