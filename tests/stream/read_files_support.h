/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_READ_FILES_SUPPORT_H
#define HONE_TESTS_READ_FILES_SUPPORT_H
/*
 * What the tests of batches share: a batch with files of every kind, and a
 * receiver that compares each result with that of hone_read_file().
 */
#include "read_file_support.h"

#define PATHS 300

struct batch {
	const char *paths[PATHS];
	int seen[PATHS];
	size_t results;
	size_t stop_after; /* this many results; 0: never */
	int stop_value;
	struct hone_read_attr read;
	struct hone_batch_attr attr;
	struct hone_batch_used used;
};

/* Sizes around those where the library changes its method. Few files have the
 * last one. */
static const size_t batch_sizes[] = {
	0, 1, 12, 4096, 16383, 16384, 16385, 65535, 65536, 65537, 300000};
#define BATCH_SIZES (sizeof(batch_sizes) / sizeof(batch_sizes[0]))

DONE(compare)
{
	struct batch *batch = arg;
	struct hone_file_data expected = {NULL, 0};

	assert_true(index < PATHS);
	assert_int_equal(batch->seen[index]++, 0);
	assert_int_equal(error,
		hone_read_file(&expected, batch->paths[index], &batch->read));
	assert_int_equal(file->size, expected.size);
	if (error) {
		assert_null(file->data);
	} else {
		assert_memory_equal(file->data, expected.data, file->size + 1);
		batch->read.release(expected.data, batch->read.arg);
		batch->read.release(file->data, batch->read.arg);
	}
	batch->results++;
	return batch->results == batch->stop_after ? batch->stop_value : 0;
}

/* In the current directory: files, other kinds and missing ones, some of them
 * twice. A batch there has made them for those after it. */
static inline void
make_batch(struct batch *batch)
{
	static char names[PATHS][24];
	bool made = access("directory", F_OK) == 0;

	memset(batch, 0, sizeof(*batch));
	hone_read_attr_init(&batch->read);
	hone_batch_attr_init(&batch->attr);
	batch->attr.used = &batch->used;
	if (!made) {
		assert_ok(mkdir("directory", 0700));
		assert_ok(symlink("f0", "link"));
		assert_ok(symlink("loop", "loop"));
	}
	for (size_t i = 0; i < PATHS; i++) {
		static const char *const odd[] = {"missing", "directory",
			"/proc/version", "link", "loop", "f0/x",
			"/proc/filesystems", "f0", "", "/dev/null"};
		size_t kind = i % 30;

		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		batch->paths[i] = names[i];
		if (kind >= 20 && i >= 30)
			batch->paths[i] = odd[kind - 20];
		else if (!made)
			make_file(names[i],
				batch_sizes[i % (BATCH_SIZES - (i > 100))]);
	}
}

static inline int
read_all(struct batch *batch)
{
	return hone_read_files(batch->paths, PATHS, &batch->read, compare,
		batch, &batch->attr);
}

static inline void
assert_all_seen_once(const struct batch *batch)
{
	for (size_t i = 0; i < PATHS; i++)
		assert_int_equal(batch->seen[i], 1);
	assert_int_equal(batch->used.uring + batch->used.plain, PATHS);
}

DONE(ignore)
{
	free(file->data);
	return 0;
}

static inline struct hone_batch_attr
batch_with(unsigned flags)
{
	struct hone_batch_attr attr;

	hone_batch_attr_init(&attr);
	attr.flags = flags;
	return attr;
}

/* Returns 0 if io_uring can be used here. */
static inline int
try_uring(void)
{
	static const char *const path = "/";
	struct hone_batch_attr attr = batch_with(HONE_BATCH_URING);

	return hone_read_files(&path, 1, NULL, ignore, NULL, &attr);
}

/* Flags of a batch, as numbers: each one below this. The last is
 * HONE_BATCH_URING, unless there is no io_uring. */
static inline unsigned
ways_to_read(void)
{
	static bool told;
	int error = try_uring();

	if (error && !told) {
		print_message("# no io_uring here: %s\n", strerror(-error));
		told = true;
	}
	return error ? HONE_BATCH_URING : HONE_BATCH_URING + 1;
}

static inline void
skip_without_uring(void)
{
	int error = try_uring();

	if (error) {
		print_message("# no io_uring here: %s\n", strerror(-error));
		skip();
	}
}

#endif
