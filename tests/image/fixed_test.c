/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images in a store of a fixed size, such as a device or an export of a server:
 * what the store had before never shows.
 */
#include "fakes.h"
#include "support.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define STALE 0xa5

static struct fake fake;
static struct test_store store;
static struct image_error err;
static int fd = -1;

/* A store with other bytes than zeros. */
static void
begin_store(uint64_t size)
{
	static unsigned char stale[64 * KIB];

	if (fd >= 0)
		close(fd);
	fd = test_store_scratch();
	memset(stale, STALE, sizeof(stale));
	for (uint64_t at = 0; at < size; at += sizeof(stale))
		assert_int_equal(pwrite(fd, stale, sizeof(stale), (off_t)at),
			sizeof(stale));
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	test_store_init(&store, fd);
	store.store.size = size;
	store.store.fixed = true;
	store.store.zeros = false;
	store.store.parallel_writes = true;
}

/* Copy the fake disk. Closes the sink. */
static int
copy(const struct image_format *format, unsigned threads,
	const struct image_create *more)
{
	struct image_create create = *more;
	struct image_run run = {.block = 4096, .threads = threads};
	struct image_copied copied;
	struct image_sink *sink;

	if (!create.size)
		create.size = fake.source.size;
	int rc = image_create_on(&store.store, format, &create, &sink, &err);
	if (rc < 0)
		return rc;
	rc = image_copy(&fake.source, sink, &run, &copied, &err);
	if (rc == 0)
		rc = image_finish(sink, &err);
	image_sink_close(sink);
	return rc;
}

static int
copy_raw(unsigned threads)
{
	const struct image_create none = {0};
	return copy(&image_format_raw, threads, &none);
}

static void
check_raw(void)
{
	uint64_t size = store.store.size;
	unsigned char *bytes = malloc(size);
	unsigned char *expected = calloc(1, size);
	struct stat st;

	assert_true(bytes && expected);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, size);
	assert_int_equal(pread(fd, bytes, size, 0), size);
	fake_bytes(&fake, 0, expected, (size_t)fake.source.size);
	uint64_t at = 0;
	if (memcmp(bytes, expected, size) != 0) {
		while (bytes[at] == expected[at])
			at++;
		fail_msg("%s: byte %u is %u, not %u", fake.map, (unsigned)at,
			bytes[at], expected[at]);
	}
	free(bytes);
	free(expected);
}

TEST(a_raw_image_covers_what_was_there)
{
	static const size_t cuts[] = {0, 1, 511, 4095};
	static const uint64_t behind[] = {0, 1, 4096, 3 * MIB + 5};
	uint64_t random = support_seed();
	char map[401];

	for (unsigned i = 0; i < 16; i++) {
		/* some disks have holes of whole chunks */
		uint64_t grain = i % 4 ? 4096 : MIB / 2;
		size_t n = 1 + support_below(&random, i % 4 ? 400 : 10);
		for (size_t k = 0; k < n; k++)
			map[k] = k && support_below(&random, 4)
					 ? map[k - 1]
					 : "-0zxycr"[support_below(&random, 7)];
		map[n] = '\0';
		fake_init(&fake, map, grain,
			n * grain - cuts[support_below(&random, 4)]);
		fake.look = i % 3 ? 0 : 20480;
		begin_store(fake.source.size + behind[i / 4 % 4]);
		/* the disk of the source, or a larger one */
		const struct image_create create = {
			.size = i % 2 ? store.store.size : 0};
		assert_int_equal(
			copy(&image_format_raw, 1 + i % 3, &create), 0);
		check_raw();
		assert_true(store.closed);
		fake_destroy(&fake);
	}
}

/* Each byte is written or zeroed once. */
TEST(zeros_are_not_written)
{
	fake_init(&fake, "x--z-x0zzz", MIB, 10 * MIB);
	begin_store(12 * MIB);
	assert_int_equal(copy_raw(2), 0);
	check_raw();
	assert_int_equal(store.bytes, 2 * MIB);
	assert_int_equal(store.zeroed, 10 * MIB);
	/* short zeros cost less as data than as a request */
	fake_destroy(&fake);
	fake_init(&fake, "xzxzxzxzxzxzxzxz", 4 * KIB, 64 * KIB);
	begin_store(64 * KIB);
	assert_int_equal(copy_raw(1), 0);
	assert_int_equal(store.bytes, 64 * KIB);
	/* nor is there a request for the nothing behind the disk */
	assert_int_equal(store.calls, 1);
	fake_destroy(&fake);
}

/* The caller knows that it reads as zeros, or it is empty. Neither is what a
 * larger disk adds. */
TEST(a_store_of_zeros_is_not_zeroed)
{
	const struct image_create larger = {.size = 8 * MIB};

	fake_init(&fake, "x--z", MIB, 4 * MIB);
	begin_store(8 * MIB);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(ftruncate(fd, 8 * MIB), 0);
	store.store.zeros = true;
	assert_int_equal(copy(&image_format_raw, 1, &larger), 0);
	check_raw();
	assert_int_equal(store.zeroed, 0);
	fake_destroy(&fake);
}

TEST(a_longer_image_is_refused_before_a_write)
{
	fake_init(&fake, "xx", MIB, 2 * MIB);
	begin_store(2 * MIB - 1);
	assert_int_equal(copy_raw(1), -ENOSPC);
	assert_string_equal(
		err.text, "has 2097151 bytes, and the image has 2097152");
	assert_int_equal(store.calls, 0);
	assert_true(store.closed);
	fake_destroy(&fake);
}

TEST(a_failure_to_zero_is_reported)
{
	/* of a hole of the disk, of zeros beside data, of what lies behind */
	static const char *const maps[] = {"--x", "zzx", "x"};

	for (size_t i = 0; i < 3; i++) {
		fake_init(&fake, maps[i], MIB, strlen(maps[i]) * MIB);
		begin_store(4 * MIB);
		store.fail_at = i == 2 ? 2 : 1;
		assert_int_equal(copy_raw(1), -EIO);
		assert_string_equal(err.text, "cannot be zeroed");
		fake_destroy(&fake);
	}
}

/* The file is the one that an empty store gets, followed by zeros. */
static void
check_qcow2(const struct image_create *create)
{
	uint64_t size = store.store.size;
	unsigned char *bytes = malloc(size);
	unsigned char *fresh = calloc(1, size);

	assert_int_equal(copy(&image_format_qcow2, 1, create), 0);
	assert_int_equal(pread(fd, bytes, size, 0), size);
	close(fd);
	fd = test_store_scratch();
	test_store_init(&store, fd);
	assert_int_equal(copy(&image_format_qcow2, 1, create), 0);
	assert_true(pread(fd, fresh, size, 0) > 0);
	assert_memory_equal(bytes, fresh, size);
	free(bytes);
	free(fresh);
}

TEST(a_qcow2_image_covers_what_was_there)
{
	for (unsigned i = 0; i < 8; i++) {
		struct image_create create;

		image_create_init(&create);
		create.compress = i & 1;
		create.extended_l2 = i & 2;
		create.preallocate = i >= 4 && !create.compress;
		fake_init(&fake, "x-zr---xx0r-------x", 20480, 19 * 20480);
		begin_store(2 * MIB);
		check_qcow2(&create);
		fake_destroy(&fake);
	}
}

int
main(void)
{
	return run_all_tests(NULL, NULL);
}
