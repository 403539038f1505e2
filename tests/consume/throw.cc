/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A C++ program whose functions throw through the library: where the headers
 * allow it, nothing stays open and the stream can be used again.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <fcntl.h>
#include <hone/hone.h>

static int
descriptors()
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int results;

static int
third_throws(size_t, int, struct hone_file_data *file, void *)
{
	std::free(file->data);
	if (++results == 3)
		throw std::runtime_error("the third");
	return 0;
}

static bool
batch_throws(unsigned flags)
{
	static const char *paths[100];
	struct hone_batch_attr attr;
	int before = descriptors();

	for (const char *&path : paths)
		path = "/proc/self/exe";
	hone_batch_attr_init(&attr);
	attr.flags = flags;
	results = 0;
	try {
		if (hone_read_files(paths, 100, nullptr, third_throws, nullptr,
			    &attr) != 0)
			return false;
	} catch (const std::runtime_error &) {
		return results == 3 && descriptors() == before;
	}
	return false;
}

static void *
no_memory(size_t, void *)
{
	throw std::bad_alloc();
}

static bool
allocator_throws()
{
	struct hone_file_data file;
	struct hone_read_attr attr;
	int before = descriptors();

	hone_read_attr_init(&attr);
	attr.allocate = no_memory;
	try {
		if (hone_read_file(&file, "/proc/self/exe", &attr) != 0)
			return false;
	} catch (const std::bad_alloc &) {
		return descriptors() == before;
	}
	return false;
}

static int turn;

static ptrdiff_t
second_throws(void *, void *buf, size_t)
{
	if (++turn == 2)
		throw std::runtime_error("the second");
	std::memcpy(buf, "abc\n", 4);
	return turn < 4 ? 3 : 4;
}

/* The bytes in the buffer stay there, and the line is found later. */
static bool
source_throws()
{
	struct hone_stream_ops ops = {};
	struct hone_stream *stream;
	const char *line;

	ops.read = second_throws;
	if (hone_stream_open_ops(&stream, &ops, nullptr, nullptr) != 0)
		return false;
	try {
		return hone_stream_read_line(stream, &line, '\n', 100) < -4095;
	} catch (const std::runtime_error &) {
	}
	bool whole = hone_stream_read_line(stream, &line, '\n', 100) == 10 &&
		     std::memcmp(line, "abcabcabc\n", 10) == 0;

	return hone_stream_close(stream) == 0 && whole;
}

int
main()
{
	if (!batch_throws(HONE_BATCH_PLAIN) || !batch_throws(0))
		return 1;
	if (!allocator_throws())
		return 2;
	return source_throws() ? 0 : 3;
}
