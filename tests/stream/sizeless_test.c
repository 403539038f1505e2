/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of /proc and /sys: without a size, with too large a size, and those
 * that return nothing but to their first read. The linker puts the functions
 * below in place of the library's calls, so that a file on disk behaves so.
 */
#include <hone/stream.h>
#include "read_files_support.h"

struct hone_uring;

static struct {
	/* reads return nothing but at the first byte, and whole records */
	size_t record;
	/* fstat reports no size */
	bool sizeless;
	/* /dev/null returns that many records, and loses those that do not fit
	 */
	int records;
	int reads, seeks, answers;
} world;

STANDS_FOR(int, fstat64, int fd, struct stat *st)
{
	int result = __real_fstat64(fd, st);

	if (world.sizeless)
		st->st_size = st->st_blocks = 0;
	return result;
}

STANDS_FOR(
	int, fstatat64, int dirfd, const char *path, struct stat *st, int flags)
{
	int result = __real_fstatat64(dirfd, path, st, flags);

	if (world.sizeless)
		st->st_size = st->st_blocks = 0;
	return result;
}

STANDS_FOR(off_t, lseek64, int fd, off_t offset, int whence)
{
	world.seeks++;
	return __real_lseek64(fd, offset, whence);
}

/* As /dev/kmsg. */
static ssize_t
read_record(void *buf, size_t n)
{
	bool fits = n >= world.record;

	if (world.records == 0) {
		errno = EAGAIN;
		return -1;
	}
	world.records--;
	memset(buf, 'r', fits ? world.record : 0);
	errno = EINVAL;
	return fits ? (ssize_t)world.record : -1;
}

STANDS_FOR(ssize_t, read, int fd, void *buf, size_t n)
{
	world.reads++;
	if (world.records > 0 || (!world.sizeless && world.record > 0))
		return read_record(buf, n);
	if (world.record == 0)
		return __real_read(fd, buf, n);
	if (__real_lseek64(fd, 0, SEEK_CUR) > 0)
		return 0;
	return __real_read(fd, buf, n - n % world.record);
}

#if defined(HONE_TEST_URING)
STANDS_FOR(void, hone_uring_answer, struct hone_uring *u, unsigned number,
	int result)
{
	/* an open, the first read, and the second one */
	if (world.record > 0 && ++world.answers > 2)
		result = 0;
	__real_hone_uring_answer(u, number, result);
}
#endif

static void
become(bool sizeless, size_t record)
{
	memset(&world, 0, sizeof(world));
	world.sizeless = sizeless;
	world.record = record;
}

static const size_t sizes[] = {
	0, 1, 4095, 16384, 32768, 32769, 65535, 65536, 65537, 117445, 1000000};
static const size_t records[] = {1, 1000};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

DIRECTORY_TEST(what_one_read_returns_is_read_again_until_it_is_all)
{
	for (size_t i = 0; i < COUNT(sizes); i++) {
		make_file("file", sizes[i]);
		for (size_t j = 0; j < COUNT(records); j++) {
			struct record record;
			struct hone_read_attr attr = recorded(&record);
			struct hone_file_data file;

			become(true, records[j]);
			assert_ok(hone_read_file(&file, "file", &attr));
			assert_content(&file, sizes[i]);
			assert_int_equal(record.asked, sizes[i] + 1);
			if (sizes[i] <= 32768) /* as before */
				assert_int_equal(
					world.reads, 1 + (sizes[i] > 0));
			free(file.data);
		}
	}
	become(false, 0);
}

DIRECTORY_TEST(a_limit_refuses_what_was_cut_there)
{
	struct record record;
	struct hone_read_attr attr = recorded(&record);
	struct hone_file_data file;

	make_file("file", 117445);
	become(true, 1);
	for (attr.limit = 117444; attr.limit > 7000; attr.limit -= 7000) {
		assert_int_equal(hone_read_file(&file, "file", &attr), -EFBIG);
		assert_int_equal(record.live, 0);
	}
	attr.limit = 117445;
	is_read("file", &attr, 117445);
	become(false, 0);
}

DIRECTORY_TEST(a_pipe_is_not_read_again)
{
	struct hone_file_data file;
	int ends[2];

	assert_ok(pipe(ends));
	assert_int_equal(write(ends[1], contents(40000), 40000), 40000);
	close(ends[1]);
	become(false, 0);
	assert_int_equal(hone_read_fd(&file, ends[0], NULL), 0);
	assert_int_equal(world.reads, 2);
	assert_content(&file, 40000);
	free(file.data);
	close(ends[0]);
}

/* -EAGAIN is the end; -EINVAL would mean that a record is lost. */
DIRECTORY_TEST(no_record_of_a_device_is_lost)
{
	struct hone_read_attr attr = with_flags(HONE_READ_NONBLOCK);
	struct hone_file_data file;

	for (size_t record = 100; record <= 8192; record *= 2) {
		become(false, record);
		world.records = 300;
		assert_int_equal(
			hone_read_file(&file, "/dev/null", &attr), -EAGAIN);
		assert_int_equal(world.records, 0);
	}
	become(false, 0);
}

static void
by_stream(int fd, size_t buffer_size, size_t size)
{
	static unsigned char got[1100000];
	struct hone_stream_attr attr;
	struct hone_stream *stream;

	hone_stream_attr_init(&attr);
	attr.buffer_size = buffer_size;
	assert_ok(hone_stream_open_fd(&stream, fd, &attr));
	for (int pass = 0; pass < 2; pass++) {
		size_t done = 0;
		ptrdiff_t n;

		while ((n = hone_stream_read_some(
				stream, got + done, 10000 + done)) > 0)
			done += (size_t)n;
		assert_int_equal(n, 0);
		assert_int_equal(done, size);
		assert_memory_equal(got, contents(size), size);
		assert_int_equal(hone_stream_tell(stream), size);
		hone_stream_clear_eof(stream);
		assert_int_equal(hone_stream_read_some(stream, got, 1), 0);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), size);
		assert_int_equal(hone_stream_seek(stream, 0, SEEK_SET), 0);
	}
	assert_int_equal(hone_stream_skip(stream, 2000000), size);
	assert_ok(hone_stream_close(stream));
}

DIRECTORY_TEST(a_stream_reads_all_of_it)
{
	static const size_t buffers[] = {1000, 4096, 65536, 300000};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		make_file("file", sizes[i]);
		for (size_t j = 0; j < COUNT(buffers); j++) {
			int fd = open("file", O_RDONLY | O_CLOEXEC);

			become(true, 1);
			by_stream(fd, buffers[j], sizes[i]);
			become(false, 0);
			close(fd);
		}
	}
}

/* A file that continues at its position is read as any other one. */
DIRECTORY_TEST(a_stream_reads_again_only_after_one_read)
{
	static const size_t sized[] = {20000, 65536 + 20000};

	for (size_t i = 0; i < COUNT(sized); i++) {
		struct hone_stream *stream;
		int fd;

		make_file("file", sized[i]);
		fd = open("file", O_RDONLY | O_CLOEXEC);
		become(true, 0);
		assert_ok(hone_stream_open_fd(&stream, fd, NULL));
		while (hone_stream_read_some(stream, &(char){0}, 1) > 0)
			;
		assert_int_equal(world.reads, i + 2);
		assert_int_equal(world.seeks, 0);
		assert_ok(hone_stream_close(stream));
		become(false, 0);
		close(fd);
	}
}

DONE(check_content)
{
	assert_int_equal(error, 0);
	assert_content(file, *(size_t *)arg);
	free(file->data);
	return 0;
}

DIRECTORY_TEST(a_batch_reads_all_of_it)
{
	static const char *const path = "file";
	struct hone_batch_attr attr;
	size_t size = 117445;

	make_file("file", size);
	hone_batch_attr_init(&attr);
	for (attr.flags = 0; attr.flags <= HONE_BATCH_URING; attr.flags++) {
		if (attr.flags == HONE_BATCH_URING && try_uring() != 0)
			continue; /* another test reports this */
		become(true, 1);
		assert_ok(hone_read_files(
			&path, 1, NULL, check_content, &size, &attr));
		become(false, 0);
	}
}

/* The kernel reports 4096 bytes for such a file. */
TEST(a_skip_counts_the_bytes_that_a_file_of_sys_has)
{
	const char *path = "/sys/devices/system/cpu/possible";
	struct hone_file_data file;
	struct hone_stream *stream;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	become(false, 0);
	if (fd < 0) {
		print_message("# no /sys here\n");
		skip();
	}
	assert_ok(hone_read_file(&file, path, NULL));
	assert_ok(hone_stream_open_fd(&stream, fd, NULL));
	assert_int_equal(hone_stream_skip(stream, 1000000), file.size);
	assert_true(hone_stream_eof(stream));
	assert_ok(hone_stream_close(stream));
	free(file.data);
	close(fd);
}
