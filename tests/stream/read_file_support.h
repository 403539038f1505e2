/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_READ_FILE_SUPPORT_H
#define HONE_TESTS_READ_FILE_SUPPORT_H
/*
 * What the tests of whole files share: a directory of their own, files with
 * known content, and an allocator that records its calls.
 */
#include <malloc.h>
#include <hone/read_file.h>
#include "support.h"

/* The head of a function that gets the results of a batch. */
#define DONE(name)                                                             \
	static __attribute__((unused)) int name(__attribute__((unused))        \
						size_t index,                  \
		__attribute__((unused)) int error,                             \
		__attribute__((unused)) struct hone_file_data *file,           \
		__attribute__((unused)) void *arg)

/* The calls of the allocator. */
struct record {
	int fail_at; /* the call that fails, counted from 1; 0: none */
	int calls;
	int resizes;
	int live;     /* allocations that are not yet freed */
	size_t asked; /* of the last call that succeeded */
};

static inline void *
record_allocate(size_t size, void *arg)
{
	struct record *record = arg;

	if (++record->calls == record->fail_at)
		return NULL;
	record->live++;
	record->asked = size;
	return malloc(size);
}

/* Always moves, and overwrites the old memory. */
static inline void *
record_resize(void *memory, size_t size, void *arg)
{
	struct record *record = arg;
	size_t had = malloc_usable_size(memory);
	void *moved;

	if (++record->calls == record->fail_at)
		return NULL;
	moved = malloc(size);
	memcpy(moved, memory, size < had ? size : had);
	memset(memory, 0xa5, had);
	free(memory);
	record->resizes++;
	record->asked = size;
	return moved;
}

static inline void
record_release(void *memory, void *arg)
{
	struct record *record = arg;

	assert_non_null(memory);
	record->live--;
	free(memory);
}

static inline struct hone_read_attr
recorded(struct record *record)
{
	struct hone_read_attr attr;

	memset(record, 0, sizeof(*record));
	hone_read_attr_init(&attr);
	attr.allocate = record_allocate;
	attr.resize = record_resize;
	attr.release = record_release;
	attr.arg = record;
	return attr;
}

static inline struct hone_read_attr
with_flags(unsigned flags)
{
	struct hone_read_attr attr;

	hone_read_attr_init(&attr);
	attr.flags = flags;
	return attr;
}

/* Byte i of every file that these tests make. */
static inline unsigned char
content(size_t i)
{
	return (unsigned char)((i * 2654435761u) >> 13);
}

/* The first bytes of every file: made once, since many files are made. */
static inline const unsigned char *
contents(size_t size)
{
	static unsigned char *bytes;
	static size_t made;

	if (!bytes || size > made) {
		bytes = realloc(bytes, size + 1);
		assert_non_null(bytes);
	}
	for (; made < size; made++)
		bytes[made] = content(made);
	return bytes;
}

static inline void
make_file(const char *path, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	const unsigned char *bytes = contents(size);

	assert_true(fd >= 0);
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, bytes + done, size - done);

		assert_true(n > 0);
		done += (size_t)n;
	}
	assert_ok(close(fd));
}

static inline void
assert_content(const struct hone_file_data *file, size_t size)
{
	const unsigned char *bytes = file->data;

	assert_int_equal(file->size, size);
	if (memcmp(bytes, contents(size), size) != 0)
		fail_msg("%zu bytes differ from what the file has", size);
	assert_int_equal(bytes[size], 0);
}

/* The file is read whole. */
static inline void
is_read(const char *path, const struct hone_read_attr *attr, size_t size)
{
	struct hone_file_data file;

	assert_ok(hone_read_file(&file, path, attr));
	assert_content(&file, size);
	free(file.data);
}

/* The rest of the descriptor is read. */
static inline void
rest_is_read(int fd, const struct hone_read_attr *attr, size_t size)
{
	struct hone_file_data file;

	assert_ok(hone_read_fd(&file, fd, attr));
	assert_content(&file, size);
	free(file.data);
}

/* How many descriptors this process has open. */
static inline int
open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static char temporary[] = "/tmp/hone-read-XXXXXX";
static int descriptors; /* when the test began */

FIXTURE(enter_directory)
{
	descriptors = open_descriptors();
	memcpy(temporary + sizeof(temporary) - 7, "XXXXXX", 6);
	return mkdtemp(temporary) && chdir(temporary) == 0 ? 0 : -1;
}

FIXTURE(leave_directory)
{
	char command[64];
	bool left;

	snprintf(command, sizeof(command), "rm -rf %s", temporary);
	left = chdir("/") == 0 && system(command) == 0;
	assert_int_equal(open_descriptors(), descriptors);
	return left ? 0 : -1;
}

/* A test that runs in an empty directory of its own, and ends with as many
 * descriptors open as it began with. */
#define DIRECTORY_TEST(name) TEST_WITH(name, enter_directory, leave_directory)

#endif
