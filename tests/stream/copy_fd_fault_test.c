/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying while system calls fail, are cut short, are missing, or report block
 * devices. The linker puts the functions below in place of the library's calls.
 */
#include <poll.h>
#include <sys/sendfile.h>
#include "copy_fd_support.h"

enum call { RANGE, SENDFILE, SPLICE, READ, WRITE, POLL, LSEEK, FSTAT, CALLS };
#define BIT(call) (1u << (call))

static struct plan {
	/* BIT()s of calls that fail with ENOSYS each time */
	unsigned refused;
	/* most bytes that one call moves, write() two thirds of them; 0: any */
	size_t cap;
	/* BIT()s of calls that are interrupted the first time */
	unsigned interrupted;
	/* call number fails_at of these calls, from 1, fails with error; if
	 * error is 0, it returns 0 */
	enum call fails;
	int fails_at;
	int error;
	/* nothing is moved, and the full count is returned */
	bool pretends;
	/* the largest request */
	size_t largest;
	/* no memory */
	bool no_malloc;
	/* fstat() reports files as block devices, with their inodes as device
	 * numbers */
	bool blocks;
	/* how often each call was made */
	int count[CALLS];
} plan;

/* Counts only what this thread calls from within hone_copy_fd(). */
static _Thread_local bool armed;

/* 0: continue; 1: return the full count; 2: return 0; -1: fail, errno is
 * set. */
static int
meddle(enum call call, size_t *n)
{
	size_t cap;

	if (!armed)
		return 0;
	plan.count[call]++;
	if (plan.refused & BIT(call)) {
		errno = ENOSYS;
		return -1;
	}
	if ((plan.interrupted & BIT(call)) && plan.count[call] == 1) {
		errno = EINTR;
		return -1;
	}
	if (plan.fails_at && plan.fails == call &&
		plan.count[call] == plan.fails_at) {
		errno = plan.error;
		return plan.error ? -1 : 2;
	}
	if (n && *n > plan.largest)
		plan.largest = *n;
	cap = call == WRITE ? plan.cap / 3 * 2 : plan.cap;
	if (n && cap && *n > cap)
		*n = cap;
	return plan.pretends;
}

/* Where off_t has 64 bits by choice, some have another name. */
#define STANDS_FOR_MOVING(call, name, n, arguments, ...)                       \
	STANDS_FOR(ssize_t, name, __VA_ARGS__)                                 \
	{                                                                      \
		int verdict = meddle(call, &n);                                \
                                                                               \
		if (verdict)                                                   \
			return verdict < 0    ? -1                             \
			       : verdict == 1 ? (ssize_t)n                     \
					      : 0;                             \
		return __real_##name arguments;                                \
	}

STANDS_FOR_MOVING(RANGE, copy_file_range, n, (in, at, out, to, n, flags),
	int in, off_t *at, int out, off_t *to, size_t n, unsigned flags)
STANDS_FOR_MOVING(SENDFILE, sendfile, n, (out, in, at, n), int out, int in,
	off_t *at, size_t n)
STANDS_FOR_MOVING(SENDFILE, sendfile64, n, (out, in, at, n), int out, int in,
	off_t *at, size_t n)
STANDS_FOR_MOVING(SPLICE, splice, n, (in, at, out, to, n, flags), int in,
	off_t *at, int out, off_t *to, size_t n, unsigned flags)
STANDS_FOR_MOVING(READ, read, n, (fd, buf, n), int fd, void *buf, size_t n)
STANDS_FOR_MOVING(
	WRITE, write, n, (fd, buf, n), int fd, const void *buf, size_t n)

#define STANDS_FOR_OTHER(type, name, call, arguments, ...)                     \
	STANDS_FOR(type, name, __VA_ARGS__)                                    \
	{                                                                      \
		return meddle(call, NULL) < 0 ? -1 : __real_##name arguments;  \
	}

STANDS_FOR_OTHER(int, poll, POLL, (fds, n, timeout), struct pollfd *fds,
	nfds_t n, int timeout)
STANDS_FOR_OTHER(
	off_t, lseek, LSEEK, (fd, at, whence), int fd, off_t at, int whence)
STANDS_FOR_OTHER(
	off_t, lseek64, LSEEK, (fd, at, whence), int fd, off_t at, int whence)

static int
told(int (*real)(int, struct stat *), int fd, struct stat *status)
{
	int error = meddle(FSTAT, NULL) < 0 ? -1 : real(fd, status);

	if (!error && armed && plan.blocks && S_ISREG(status->st_mode)) {
		status->st_mode = S_IFBLK | 0600;
		status->st_rdev = status->st_ino;
	}
	return error;
}

STANDS_FOR(int, fstat, int fd, struct stat *status)
{
	return told(__real_fstat, fd, status);
}

STANDS_FOR(int, fstat64, int fd, struct stat *status)
{
	return told(__real_fstat64, fd, status);
}

STANDS_FOR(void *, malloc, size_t n)
{
	return armed && plan.no_malloc ? NULL : __real_malloc(n);
}

static int64_t
copy(const struct source *source, const struct sink *sink, uint64_t n,
	struct hone_copy_fd_result *result)
{
	int64_t answer;

	memset(plan.count, 0, sizeof(plan.count));
	armed = true;
	answer = hone_copy_fd(source->fd, sink->fd, n, result);
	armed = false;
	return answer;
}

/* Pairs of descriptors, and the system calls for them, some of which a kernel
 * may lack. */
static const struct way {
	enum source_kind from;
	enum sink_kind to;
	unsigned refused;
} ways[] = {
	{FROM_DISK, TO_DISK, 0},
	{FROM_DISK, TO_DISK, BIT(RANGE)},
	{FROM_DISK, TO_DISK, BIT(RANGE) | BIT(SENDFILE)},
	{FROM_DISK, TO_APPENDED, 0},
	{FROM_DISK, TO_PIPE, 0},
	{FROM_DISK, TO_PIPE, BIT(SENDFILE)},
	{FROM_DISK, TO_PIPE, BIT(SENDFILE) | BIT(SPLICE)},
	{FROM_DISK, TO_SOCKET, 0},
	{FROM_MEMORY, TO_DISK, 0},
	{FROM_MEMORY, TO_SOCKET, BIT(SENDFILE)},
	{FROM_PROC, TO_DISK, 0},
	{FROM_PIPE, TO_DISK, 0},
	{FROM_PIPE, TO_DISK, BIT(SPLICE)},
	{FROM_PIPE, TO_APPENDED, 0},
	{FROM_PIPE, TO_PIPE, 0},
	{FROM_PIPE, TO_SOCKET, BIT(SPLICE)},
	{FROM_SOCKET, TO_DISK, 0},
	{FROM_SOCKET, TO_PIPE, 0},
	{FROM_SOCKET, TO_SOCKET, 0},
	{FROM_TCP, TO_PIPE, 0},
	{FROM_DISK, TO_TCP, 0},
	{FROM_PIPE, TO_TCP, 0},
};
#define N_WAYS (sizeof(ways) / sizeof(ways[0]))
#define SIZE ((size_t)10000)
#define CAP ((size_t)3000)
#define WRITE_CAP ((size_t)2000)

static const int errors[] = {EINTR, EIO, EAGAIN, ENOSPC, EPIPE, EINVAL, EXDEV,
	ENOSYS, EOPNOTSUPP, EPERM, EACCES, EBADF, ETXTBSY, EOVERFLOW, ENOMEM,
	EFBIG, EDQUOT, ECONNRESET};
#define N_ERRORS (sizeof(errors) / sizeof(errors[0]))

static bool
is_among(int error, const int *list)
{
	while (*list && *list != error)
		list++;
	return *list != 0;
}

/* Returns whether a copy continues, by any method, after this call failed with
 * this error. */
static bool
goes_on(const struct way *way, enum call call, int error)
{
	static const int all[] = {EINTR, EINVAL, EXDEV, ENOSYS, EOPNOTSUPP,
		EPERM, EACCES, ETXTBSY, EOVERFLOW, ENOMEM, 0};
	static const int range[] = {EBADF, EIO, 0};

	switch (call) {
	case RANGE:
		return is_among(error, all) || is_among(error, range);
	case SENDFILE:
	case SPLICE:
		return is_among(error, all);
	case WRITE: /* it waits if it cannot put the bytes back */
		return error == EINTR ||
		       (error == EAGAIN && way->from > FROM_PROC);
	default:
		return error == EINTR;
	}
}

/* One copy with one fault. Returns whether the fault happened. */
static bool
one_fault(const struct way *way, enum call call, int error, int at, uint64_t n)
{
	struct hone_copy_fd_result result, rest = {0};
	struct source source;
	struct sink sink;
	int64_t answer;
	bool happened;

	source_open(&source, way->from, SIZE);
	sink_open(&sink, way->to);
	plan = (struct plan){.refused = way->refused, .cap = CAP};
	plan.fails = call;
	plan.fails_at = at;
	plan.error = error;
	answer = copy(&source, &sink, n, &result);
	happened = plan.count[call] >= at && !(way->refused & BIT(call));
	if (!happened || goes_on(way, call, error)) {
		assert_int_equal(answer, source.size);
		assert_int_equal(result.copied, source.size);
		assert_int_equal(result.lost, 0);
	} else {
		assert_int_equal(answer, -error);
		if (call != WRITE || way->from <= FROM_PROC)
			assert_int_equal(result.lost, 0);
		else
			assert_in_range(result.lost, 1, CAP);
	}
	if (result.lost == 0) {
		/* another call copies the rest */
		plan.fails_at = 0;
		assert_int_equal(copy(&source, &sink, n, &rest),
			source.size - result.copied);
		assert_int_equal(rest.lost, 0);
	}
	sink_close(&sink, source.data, result.copied + rest.copied);
	source_close(&source, result.copied + result.lost + rest.copied);
	return happened;
}

TEST(every_error_at_every_call_is_told_or_overcome)
{
	int faults = 0;

	for (size_t w = 0; w < N_WAYS; w++)
		for (int call = RANGE; call <= WRITE; call++)
			for (size_t e = 0; e < N_ERRORS; e++) {
				int at = 1;

				while (one_fault(&ways[w], call, errors[e], at,
					UINT64_MAX))
					at++;
				faults += at - 1;
			}
	print_message("# %d faults\n", faults);
	assert_true(faults > 1000);
}

/* Without a fault; returns the methods that moved bytes. plan.count has the
 * calls. */
static unsigned
without_fault(enum source_kind from, enum sink_kind to, uint64_t n)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	source_open(&source, from, SIZE);
	sink_open(&sink, to);
	if (n > source.size && n != UINT64_MAX)
		n = source.size;
	copy(&source, &sink, n, &result);
	assert_int_equal(result.copied, n < source.size ? n : source.size);
	assert_int_equal(result.lost, 0);
	sink_close(&sink, source.data, result.copied);
	source_close(&source, result.copied);
	return result.methods;
}

static void
assert_calls(const int *expected)
{
	for (int call = 0; call < CALLS; call++)
		if (plan.count[call] != expected[call])
			fail_msg("call %d: %d times, not %d", call,
				plan.count[call], expected[call]);
}

TEST(the_calls_are_those_that_are_told)
{
	static const struct {
		enum source_kind from;
		enum sink_kind to;
		unsigned refused;
		size_t cap;
		uint64_t n;
		unsigned methods;
		/* RANGE, SENDFILE, SPLICE, READ, WRITE, POLL, LSEEK, FSTAT */
		int calls[CALLS];
	} rows[] = {
		{0, 0, 0, 0, SIZE, 1, {1, 0, 0, 0, 0, 0, 0, 2}},
		{0, 0, 0, 0, UINT64_MAX, 1, {2, 1, 0, 0, 0, 0, 0, 2}},
		{0, 0, 0, CAP, SIZE, 1, {4, 0, 0, 0, 0, 0, 0, 2}},
		/* a method that was refused once is not tried again */
		{0, 0, BIT(RANGE), CAP, SIZE, 2, {1, 4, 0, 0, 0, 0, 0, 2}},
		{0, 0, BIT(RANGE) | BIT(SENDFILE), CAP, SIZE, 8,
			{1, 1, 0, 4, 7, 0, 0, 2}},
		/* but the next copy tries it again */
		{0, 0, 0, CAP, SIZE, 1, {4, 0, 0, 0, 0, 0, 0, 2}},
		{0, TO_SOCKET, 0, 0, SIZE, 2, {0, 1, 0, 0, 0, 0, 0, 2}},
		{0, TO_SOCKET, 0, CAP, UINT64_MAX, 2, {0, 5, 0, 0, 0, 0, 0, 2}},
		{0, TO_PIPE, BIT(SENDFILE), CAP, SIZE, 4,
			{0, 1, 4, 0, 0, 0, 0, 2}},
		{0, TO_PIPE, BIT(SENDFILE) | BIT(SPLICE), CAP, SIZE, 8,
			{0, 1, 1, 4, 7, 0, 0, 2}},
		{FROM_PIPE, TO_SOCKET, BIT(SPLICE), CAP, SIZE, 8,
			{0, 0, 1, 4, 7, 0, 0, 2}},
		{FROM_PIPE, TO_DISK, BIT(SPLICE), 0, 100, 8,
			{0, 0, 1, 1, 1, 0, 0, 2}},
		{FROM_SOCKET, TO_SOCKET, 0, 0, 100, 8,
			{0, 0, 0, 1, 1, 0, 0, 2}},
		{FROM_PROC, TO_NULL, 0, 0, 10, 8, {0, 0, 0, 1, 1, 0, 0, 2}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		plan = (struct plan){
			.refused = rows[i].refused, .cap = rows[i].cap};
		assert_int_equal(
			without_fault(rows[i].from, rows[i].to, rows[i].n),
			rows[i].methods);
		assert_calls(rows[i].calls);
	}
}

/* Methods that share blocks cut between blocks, so calls have to end there. */
TEST(large_copies_go_on_at_whole_gigabytes)
{
	static const uint64_t gib = (uint64_t)1 << 30;
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	for (int refused = 0; refused < 2; refused++) {
		source_open(&source, FROM_DISK, SIZE);
		sink_open(&sink, TO_DISK);
		plan = (struct plan){.pretends = true};
		plan.refused = refused ? BIT(RANGE) : 0;
		assert_int_equal(copy(&source, &sink, 9 * gib + 5, &result),
			9 * gib + 5);
		assert_int_equal(result.copied, 9 * gib + 5);
		assert_int_equal(plan.count[refused ? SENDFILE : RANGE], 10);
		assert_int_equal(plan.largest, gib);
		sink_close(&sink, content, 0);
		source_close(&source, 0);
	}
}

TEST(without_memory_it_takes_more_calls)
{
	static const int calls[CALLS] = {0, 0, 0, 3, 3, 0, 0, 2};

	plan = (struct plan){.no_malloc = true};
	/* the file is written by one call, so that each read is full */
	assert_int_equal(without_fault(FROM_DISK, TO_APPENDED, SIZE), 8);
	assert_int_equal(plan.count[RANGE] + plan.count[SENDFILE], 2);
	plan.count[RANGE] = plan.count[SENDFILE] = 0;
	assert_calls(calls);
}

/* Neither a failure nor progress: the copy must not go on for ever. */
TEST(a_write_of_nothing_is_an_error)
{
	struct way way = {FROM_DISK, TO_DISK, BIT(RANGE) | BIT(SENDFILE)};
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	for (int i = 0; i < 2; i++) {
		way.from = i ? FROM_SOCKET : FROM_DISK;
		source_open(&source, way.from, SIZE);
		sink_open(&sink, way.to);
		plan = (struct plan){.refused = way.refused,
			.cap = CAP,
			.fails = WRITE,
			.fails_at = 2};
		assert_int_equal(copy(&source, &sink, SIZE, &result), -EIO);
		assert_int_equal(result.copied, WRITE_CAP);
		assert_int_equal(result.lost, i ? CAP - WRITE_CAP : 0);
		sink_close(&sink, content, WRITE_CAP);
		source_close(&source, WRITE_CAP + result.lost);
	}
}

/* Also if the wait for the write fails, not the write, or if the bytes cannot
 * be put back although in looks as if they could. */
TEST(what_is_lost_is_counted)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	for (int i = 0; i < 2; i++) {
		source_open(&source, i ? FROM_SOCKET : FROM_DISK, SIZE);
		sink_open(&sink, TO_DISK);
		plan = (struct plan){.cap = CAP, .fails = WRITE, .fails_at = 2};
		plan.error = i ? EAGAIN : ENOSPC;
		plan.refused =
			BIT(RANGE) | BIT(SENDFILE) | BIT(POLL) | BIT(LSEEK);
		assert_int_equal(copy(&source, &sink, SIZE, &result),
			i ? -ENOSYS : -ENOSPC);
		assert_int_equal(plan.count[i ? POLL : LSEEK], 1);
		assert_int_equal(result.copied, WRITE_CAP);
		assert_int_equal(result.lost, CAP - WRITE_CAP);
		sink_close(&sink, content, WRITE_CAP);
		source_close(&source, CAP);
	}
}

TEST(a_wait_that_is_interrupted_goes_on)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	source_open(&source, FROM_SOCKET, SIZE);
	sink_open(&sink, TO_SOCKET);
	plan = (struct plan){.cap = CAP, .fails = WRITE, .fails_at = 2};
	plan.error = EAGAIN;
	plan.interrupted = BIT(POLL);
	assert_int_equal(copy(&source, &sink, SIZE, &result), SIZE);
	assert_int_equal(plan.count[POLL], 1);
	assert_int_equal(result.lost, 0);
	sink_close(&sink, content, SIZE);
	source_close(&source, SIZE);
}

TEST(a_descriptor_that_cannot_be_looked_at_is_an_error)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	for (int at = 1; at <= 2; at++) {
		source_open(&source, FROM_DISK, SIZE);
		sink_open(&sink, TO_DISK);
		plan = (struct plan){.fails = FSTAT, .fails_at = at};
		plan.error = EOVERFLOW;
		assert_int_equal(
			copy(&source, &sink, SIZE, &result), -EOVERFLOW);
		assert_int_equal(result.copied, 0);
		sink_close(&sink, content, 0);
		source_close(&source, 0);
	}
}

/* A test may not write to a real block device: fstat() reports files as such.
 */
#define DISK_SIZE ((size_t)100000)

TEST(a_block_device_is_copied_without_copy_file_range)
{
	static const enum sink_kind to[] = {TO_DISK, TO_PIPE};

	for (size_t i = 0; i < 2; i++) {
		struct source source;
		struct sink sink;

		plan = (struct plan){.blocks = true};
		source_open(&source, FROM_DISK, DISK_SIZE);
		sink_open(&sink, to[i]);
		assert_int_equal(
			copy(&source, &sink, DISK_SIZE, NULL), DISK_SIZE);
		assert_int_equal(plan.count[RANGE], 0);
		assert_true(plan.count[SENDFILE] > 0);
		sink_close(&sink, content, DISK_SIZE);
		source_close(&source, DISK_SIZE);
	}
}

TEST(a_block_device_is_not_copied_over_itself)
{
	struct source source;
	struct sink sink;
	char path[64];

	plan = (struct plan){.blocks = true};
	source_open(&source, FROM_DISK, DISK_SIZE);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", source.fd);
	sink.fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(sink.fd >= 0);
	assert_int_equal(copy(&source, &sink, DISK_SIZE, NULL), -EINVAL);
	assert_int_equal(lseek(sink.fd, (off_t)DISK_SIZE, SEEK_SET), DISK_SIZE);
	assert_int_equal(copy(&source, &sink, DISK_SIZE, NULL), DISK_SIZE);
	close(sink.fd);
	assert_int_equal(lseek(source.fd, 0, SEEK_SET), 0);
	source.size = 0;
	assert_int_equal(lseek(source.fd, 0, SEEK_END), 2 * DISK_SIZE);
	source_close(&source, 0);
}

TEST(what_was_read_from_a_block_device_is_put_back)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;

	plan = (struct plan){.blocks = true,
		.refused = BIT(SENDFILE) | BIT(SPLICE),
		.fails = WRITE,
		.fails_at = 1,
		.error = ENOSPC};
	source_open(&source, FROM_DISK, DISK_SIZE);
	sink_open(&sink, TO_DISK);
	assert_int_equal(copy(&source, &sink, DISK_SIZE, &result), -ENOSPC);
	assert_int_equal(result.copied, 0);
	assert_int_equal(result.lost, 0);
	sink_close(&sink, content, 0);
	source_close(&source, 0);
}

int
main(void)
{
	return run_all_tests(fill_content, NULL);
}
