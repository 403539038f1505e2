/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a batch: its limit, and failures to allocate. */
#include "read_files_support.h"

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

static int
finished(size_t index, int error, struct hone_file_data *file, void *arg)
{
	struct unfinished *unfinished = arg;

	(void)index;
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
	for (unsigned flags = 0; flags <= 2; flags++) {
		struct unfinished unfinished = {0, 0};
		struct hone_batch_used used;
		struct hone_batch_attr attr;
		struct hone_read_attr read;

		if (flags == HONE_BATCH_URING && try_uring() != 0)
			continue; /* another test reports this */
		for (size_t i = 0; i < 70; i++)
			paths[i] = names[i % 7];
		hone_read_attr_init(&read);
		read.allocate = count_allocate;
		read.resize = count_resize;
		read.release = count_release;
		read.arg = &unfinished;
		hone_batch_attr_init(&attr);
		attr.flags = flags;
		attr.memory = 3000000;
		attr.used = &used;
		assert_int_equal(hone_read_files(paths, 70, &read, finished,
					 &unfinished, &attr),
			0);
		assert_int_equal(unfinished.now, 0);
		/* the ring continued the files that had to wait */
		if (flags == HONE_BATCH_URING)
			assert_int_equal(used.plain, 0);
		/* the file above the limit was alone */
		assert_int_equal(unfinished.most, 5000001);
		paths[2] = "m";
		unfinished.most = 0;
		assert_int_equal(hone_read_files(paths, 7, &read, finished,
					 &unfinished, &attr),
			0);
		assert_true(unfinished.most <= 3000000);
		/* and the limit was used */
		if (flags == HONE_BATCH_URING)
			assert_true(unfinished.most >= 2000000);
	}
}

/* Each allocation fails once: one file fails, the others succeed. */
static int
one_without_memory(
	size_t index, int error, struct hone_file_data *file, void *arg)
{
	(void)index;
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
	for (unsigned flags = 0; flags <= 2; flags++) {
		if (flags == HONE_BATCH_URING && try_uring() != 0)
			continue; /* another test reports this */
		for (int at = 1; at <= 5; at++) {
			struct record record;
			struct hone_read_attr read = recorded(&record);
			struct hone_batch_attr attr;
			int failed = 0;

			hone_batch_attr_init(&attr);
			attr.flags = flags;
			record.fail_at = at;
			assert_int_equal(
				hone_read_files(paths, 4, &read,
					one_without_memory, &failed, &attr),
				0);
			/* the last one in plain calls cuts what is empty */
			assert_true(failed == 1 || (failed == 0 && at == 5));
			assert_int_equal(record.live, 4 - failed);
		}
	}
}
