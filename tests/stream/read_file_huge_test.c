/* SPDX-License-Identifier: BSD-3-Clause */
/* The advice that hone_read_file() gives the kernel for large results. The
 * linker puts the function below in place of the library's calls: see
 * meson.build. */
#include "read_file_support.h"

#define HUGE ((size_t)2 << 20)

static int advices;
static uintptr_t advised, advised_end;

STANDS_FOR(int, madvise, void *address, size_t size, int advice)
{
	advices++;
	assert_int_equal(advice, MADV_HUGEPAGE);
	advised = (uintptr_t)address;
	advised_end = advised + size;
	errno = EINVAL; /* as kernels without huge pages return */
	return -1;
}

/* How often the kernel gets advice for a file of that size. */
static int
advices_of(size_t size, unsigned flags)
{
	struct hone_read_attr attr;
	struct hone_file_data file;

	make_file("file", size);
	hone_read_attr_init(&attr);
	attr.flags = flags;
	advices = 0;
	assert_int_equal(hone_read_file(&file, "file", &attr), 0);
	assert_content(&file, size);
	if (advices > 0) {
		uintptr_t data = (uintptr_t)file.data;

		/* all whole pages in the memory, and nothing else */
		assert_int_equal(advised % HUGE, 0);
		assert_int_equal(advised_end % HUGE, 0);
		assert_in_range(advised - data, 0, HUGE - 1);
		assert_in_range(data + size + 1 - advised_end, 0, HUGE - 1);
	}
	free(file.data);
	return advices;
}

DIRECTORY_TEST(only_large_results_are_advised_of)
{
	assert_int_equal(advices_of(4096, HONE_READ_HUGE_ADVISE), 0);
	assert_int_equal(advices_of(2 * HUGE - 2, HONE_READ_HUGE_ADVISE), 0);
	assert_int_equal(advices_of(2 * HUGE - 1, HONE_READ_HUGE_ADVISE), 1);
	assert_int_equal(advices_of(5 * HUGE, HONE_READ_HUGE_ADVISE), 1);
}

DIRECTORY_TEST(nothing_is_advised_unasked)
{
	assert_int_equal(advices_of(5 * HUGE, 0), 0);
	assert_int_equal(advices_of(5 * HUGE, HONE_READ_NONBLOCK), 0);
}
