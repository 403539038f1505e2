/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying between descriptors of every kind, as this kernel does it. */
#include <signal.h>
#include <sys/resource.h>
#include "copy_fd_support.h"

/* The methods that may move bytes from one kind to the other. */
static unsigned
possible(enum source_kind from, enum sink_kind to)
{
	unsigned bits = HONE_COPY_FD_READ_WRITE;

	if (from <= FROM_PROC)
		bits |= HONE_COPY_FD_SENDFILE;
	if (from <= FROM_PROC && to <= TO_MEMORY)
		bits |= HONE_COPY_FD_RANGE;
	if (from == FROM_PIPE || to == TO_PIPE)
		bits |= HONE_COPY_FD_SPLICE;
	return to == TO_APPENDED ? HONE_COPY_FD_READ_WRITE : bits;
}

static void
copies(enum source_kind from, enum sink_kind to, size_t size, uint64_t n)
{
	struct hone_copy_fd_result result;
	struct source source;
	struct sink sink;
	uint64_t want;

	source_open(&source, from, size);
	sink_open(&sink, to);
	want = n < source.size ? n : source.size;
	memset(&result, 0xff, sizeof(result));
	assert_int_equal(hone_copy_fd(source.fd, sink.fd, n, &result), want);
	assert_int_equal(result.copied, want);
	assert_int_equal(result.lost, 0);
	assert_int_equal(result.methods & ~possible(from, to), 0);
	assert_int_equal(result.methods != 0, want != 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(result.reserved[i], 0);
	if (n == LARGEST)
		printf("# from %s to %s: methods %u\n", source_names[from],
			sink_names[to], result.methods);
	sink_close(&sink, source.data, want);
	source_close(&source, want);
}

TEST(every_pair_gets_every_byte_in_order)
{
	static const size_t sizes[] = {0, 1, 4097, LARGEST};

	for (int from = 0; from < SOURCE_KINDS; from++)
		for (int to = 0; to < SINK_KINDS; to++)
			for (size_t i = 0; i < 4; i++)
				copies(from, to, sizes[i], sizes[i]);
}

TEST(less_leaves_the_rest_and_more_stops_at_the_end)
{
	for (int from = 0; from < SOURCE_KINDS; from++)
		for (int to = 0; to < SINK_KINDS; to++) {
			copies(from, to, 200000, 0);
			copies(from, to, 200000, 5);
			copies(from, to, 200000, 150000);
			copies(from, to, 200000, 200001);
			copies(from, to, 200000, UINT64_MAX);
		}
}

/* The kernel reports 4096 bytes for such a file. */
TEST(a_file_of_sys_has_fewer_bytes_than_it_says)
{
	int in = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	char text[4096];
	struct sink sink;
	size_t size;

	if (in < 0) {
		print_message("no /sys here\n");
		skip();
	}
	size = read_all(in, text, sizeof(text));
	for (int to = 0; to < SINK_KINDS; to++) {
		assert_int_equal(lseek(in, 0, SEEK_SET), 0);
		sink_open(&sink, to);
		assert_int_equal(
			hone_copy_fd(in, sink.fd, UINT64_MAX, NULL), size);
		sink_close(&sink, (unsigned char *)text, size);
	}
	close(in);
}

TEST(a_device_without_end_gives_n)
{
	static const unsigned char zeros[LARGEST];
	int in = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct sink sink;

	assert_true(in >= 0);
	for (int to = 0; to < SINK_KINDS; to++) {
		sink_open(&sink, to);
		assert_int_equal(
			hone_copy_fd(in, sink.fd, LARGEST, NULL), LARGEST);
		sink_close(&sink, zeros, LARGEST);
	}
	close(in);
}

/* Into the middle of a file, from the middle of another. */
TEST(positions_are_where_they_were_put)
{
	int in = file_on_disk(), out = file_on_disk();
	unsigned char got[3000];

	write_exactly(in, content, 10000);
	write_exactly(out, content + 20000, 3000);
	assert_int_equal(lseek(in, 5000, SEEK_SET), 5000);
	assert_int_equal(lseek(out, 1000, SEEK_SET), 1000);
	assert_int_equal(hone_copy_fd(in, out, 500, NULL), 500);
	assert_int_equal(lseek(in, 0, SEEK_CUR), 5500);
	assert_int_equal(lseek(out, 0, SEEK_CUR), 1500);
	assert_int_equal(lseek(out, 0, SEEK_SET), 0);
	assert_int_equal(read_all(out, got, sizeof(got)), sizeof(got));
	assert_memory_equal(got, content + 20000, 1000);
	assert_memory_equal(got + 1000, content + 5000, 500);
	assert_memory_equal(got + 1500, content + 21500, 1500);
	close(in);
	close(out);
}

/* Positions to copy n = 100 bytes between in one file of 1000. */
static int64_t
within_one_file(off_t from, off_t to, int out_flags, int in_flags)
{
	int in = file_on_disk(), out;
	char path[64];
	unsigned char got[1200];
	struct hone_copy_fd_result result;
	int64_t answer;

	write_exactly(in, content, 1000);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", in);
	out = open(path, O_RDWR | O_CLOEXEC | out_flags);
	assert_true(out >= 0);
	assert_int_equal(fcntl(in, F_SETFL, in_flags), 0);
	assert_int_equal(lseek(in, from, SEEK_SET), from);
	assert_int_equal(lseek(out, to, SEEK_SET), to);
	answer = hone_copy_fd(in, out, 100, &result);
	if (answer < 0) {
		assert_int_equal(lseek(in, 0, SEEK_CUR), from);
		assert_int_equal(result.copied, 0);
		assert_int_equal(lseek(in, 0, SEEK_SET), 0);
		assert_int_equal(read_all(in, got, sizeof(got)), 1000);
		assert_memory_equal(got, content, 1000);
	} else {
		if (out_flags & O_APPEND)
			to = 1000;
		assert_int_equal(pread(in, got, 100, to), answer);
		assert_memory_equal(got, content + from, (size_t)answer);
	}
	close(in);
	close(out);
	return answer;
}

TEST(one_file_may_be_both_unless_the_bytes_overlap)
{
	assert_int_equal(within_one_file(0, 100, 0, 0), 100);
	assert_int_equal(within_one_file(0, 1000, 0, 0), 100);
	assert_int_equal(within_one_file(500, 400, 0, 0), 100);
	assert_int_equal(within_one_file(0, 99, 0, 0), -EINVAL);
	assert_int_equal(within_one_file(99, 0, 0, 0), -EINVAL);
	assert_int_equal(within_one_file(7, 7, 0, 0), -EINVAL);
	/* it would never end if n were large */
	assert_int_equal(within_one_file(950, 1000, 0, 0), -EINVAL);
	assert_int_equal(within_one_file(0, 0, O_APPEND, 0), 100);
	assert_int_equal(within_one_file(901, 0, O_APPEND, 0), -EINVAL);
	assert_int_equal(within_one_file(0, 0, O_APPEND, O_APPEND), -EINVAL);
}

TEST(a_file_onto_itself_and_a_pipe_into_itself_are_refused)
{
	int fd = file_on_disk(), fds[2];
	unsigned char got[1000];

	write_exactly(fd, content, 1000);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(hone_copy_fd(fd, fd, 10, NULL), -EINVAL);
	assert_int_equal(hone_copy_fd(fd, fd, UINT64_MAX, NULL), -EINVAL);
	assert_int_equal(hone_copy_fd(fd, fd, 0, NULL), 0);
	close(fd);
	make_pair(false, fds);
	write_exactly(fds[1], content, 1000);
	assert_int_equal(hone_copy_fd(fds[0], fds[1], 10, NULL), -EINVAL);
	assert_int_equal(read_all(fds[0], got, sizeof(got)), 1000);
	close(fds[0]);
	close(fds[1]);
}

/* An echo is not a copy of a thing onto itself. */
TEST(one_socket_may_be_both)
{
	unsigned char got[1000];
	int fds[2];

	make_pair(true, fds);
	write_exactly(fds[1], content, 1000);
	assert_int_equal(hone_copy_fd(fds[0], fds[0], 1000, NULL), 1000);
	assert_int_equal(read_all(fds[1], got, 1000), 1000);
	assert_memory_equal(got, content, 1000);
	close(fds[0]);
	close(fds[1]);
}

#define MIB ((off_t)1 << 20)

/* 1 MiB of data between holes; the test prints what happens to the holes. */
TEST(holes_are_zeros)
{
	int in = file_on_disk(), out = file_on_disk();
	unsigned char *a = malloc(4 * MIB), *b = malloc(4 * MIB);
	struct hone_copy_fd_result result;
	struct stat from, to;

	assert_int_equal(ftruncate(in, 4 * MIB), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pwrite(in, content, 1 << 18, MIB + i * (1 << 18)),
			1 << 18);
	assert_int_equal(hone_copy_fd(in, out, UINT64_MAX, &result), 4 * MIB);
	assert_int_equal(pread(in, a, 4 * MIB, 0), 4 * MIB);
	assert_int_equal(pread(out, b, 4 * MIB, 0), 4 * MIB);
	assert_memory_equal(a, b, 4 * MIB);
	assert_int_equal(fstat(in, &from), 0);
	assert_int_equal(fstat(out, &to), 0);
	printf("# methods %u: %ld blocks became %ld\n", result.methods,
		(long)from.st_blocks, (long)to.st_blocks);
	free(a);
	free(b);
	close(in);
	close(out);
}

TEST(a_full_device_takes_nothing_and_nothing_is_lost_of_a_file)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct hone_copy_fd_result result;
	struct source source;

	assert_true(full >= 0);
	for (int from = 0; from < SOURCE_KINDS; from++) {
		source_open(&source, from, 10000);
		assert_int_equal(
			hone_copy_fd(source.fd, full, 10000, &result), -ENOSPC);
		assert_int_equal(result.copied, 0);
		assert_int_equal(result.methods, 0);
		if (from <= FROM_PROC)
			assert_int_equal(result.lost, 0);
		source_close(&source, result.lost);
	}
	close(full);
}

TEST(a_limit_on_the_size_of_files_is_met_with_a_count)
{
	struct rlimit old, limit;
	struct hone_copy_fd_result result;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	for (int from = 0; from < SOURCE_KINDS; from++)
		for (int to = 0; to <= TO_APPENDED; to++) {
			struct source source;
			struct sink sink;

			if (from == FROM_PROC)
				continue;
			source_open(&source, from, 200000);
			sink_open(&sink, to);
			limit = old;
			limit.rlim_cur = 100000;
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
			assert_int_equal(hone_copy_fd(source.fd, sink.fd,
						 200000, &result),
				-EFBIG);
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
			assert_true(result.copied <= 100000);
			sink_close(&sink, content, result.copied);
			source_close(&source, result.copied + result.lost);
		}
	signal(SIGXFSZ, SIG_DFL);
}

int
main(void)
{
	return run_all_tests(fill_content, NULL);
}
