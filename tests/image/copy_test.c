/* SPDX-License-Identifier: BSD-3-Clause */
/* image_copy() of disks that are made up, into a sink that records its calls.
 */
#include "fakes.h"
#include "support.h"

#define CHUNK ((uint64_t)1 << 20)

static unsigned char file[FAKE_FILE_BYTES];
static struct fake_sink sink = {.file = file};
static struct fake fake;

/* A disk of `grain` bytes for each letter, but for `cut` bytes. */
static void
begin(const char *map, uint64_t grain, uint64_t cut)
{
	fake_init(&fake, map, grain, strlen(map) * grain - cut);
	fake_sink_init(&sink, &fake);
}

static int
copy(unsigned threads)
{
	struct image_run run = {.block = 4096, .threads = threads};

	return image_copy(
		&fake.source, &sink.sink, &run, &sink.copied, &sink.err);
}

/* Compare a place of the file, or what was never reserved, with the disk. */
static void
check_range(const unsigned char *bytes, uint64_t from, uint64_t to)
{
	static const unsigned char zeros[65536];
	static unsigned char expected[sizeof(zeros)];

	for (uint64_t at = from, n; at < to; at += n) {
		n = to - at < sizeof(zeros) ? to - at : sizeof(zeros);
		fake_bytes(&fake, at, expected, (size_t)n);
		if (memcmp(bytes ? bytes + (at - from) : zeros, expected,
			    (size_t)n) != 0)
			fail_msg("%s differs after %u", fake.map, (unsigned)at);
	}
}

static void
check_disk(void)
{
	static unsigned char unit[2 << 20];
	struct image_scratch scratch = {0};
	uint64_t at = 0;

	for (size_t i = 0; i < sink.n_places; i++) {
		const struct image_place *place = &sink.places[i];
		const unsigned char *bytes = sink.file + place->host;
		check_range(NULL, at, place->guest);
		if (place->compressed) {
			/* Readers expect a whole unit. */
			assert_ok(image_decompress(IMAGE_CODEC_ZLIB, &scratch,
				bytes, place->stored, unit,
				(size_t)sink.sink.unit));
			for (uint64_t k = place->length; k < sink.sink.unit;)
				assert_int_equal(unit[k++], 0);
			bytes = unit;
		}
		at = place->guest + place->length;
		check_range(bytes, place->guest, at);
	}
	check_range(NULL, at, fake.source.size);
	assert_int_equal(sink.copied.data + sink.copied.zero + sink.copied.hole,
		fake.source.size);
	image_scratch_destroy(&scratch);
}

/* Bytes of the disk that these letters describe. */
static uint64_t
bytes_of(const char *letters)
{
	uint64_t bytes = 0;

	for (uint64_t at = 0; at < fake.source.size; at += 512) {
		uint64_t left = fake.source.size - at;
		if (strchr(letters, fake.map[at / fake.grain]))
			bytes += left < 512 ? left : 512;
	}
	return bytes;
}

static void
compress(uint64_t unit)
{
	sink.sink.compress = true;
	sink.sink.unit = unit;
	sink.sink.codec.id = IMAGE_CODEC_ZLIB;
	assert_ok(image_codec_init(&sink.sink.codec, &sink.err));
}

/* The file has other bytes than zeros before. */
static void
fill(void)
{
	sink.sink.fill = true;
	memset(sink.file, 0xa5, FAKE_FILE_BYTES);
}

/* The chunks of the pipeline are shorter else. */
TEST(a_unit_may_be_longer_than_a_chunk)
{
	for (unsigned threads = 1; threads <= 2; threads++) {
		begin("rrx-x", CHUNK, 512);
		compress(2 * CHUNK);
		assert_ok(copy(threads));
		check_disk();
		assert_int_equal(sink.n_places, 3);
		assert_int_equal(sink.places[0].length, 2 * CHUNK);
		assert_false(sink.places[0].compressed);
	}
}

/* Zeros and holes are not written. */
TEST(data_past_the_limit_is_refused)
{
	for (unsigned i = 0; i < 8; i++) {
		uint64_t limit = i % 2 ? 3 * CHUNK : 3 * CHUNK - 512;
		begin("x-z0rzx", CHUNK, 0);
		if (i & 2)
			compress(CHUNK / 2);
		struct image_run run = {.block = 4096,
			.threads = 1 + i / 4,
			.max_written = limit};
		int rc = image_copy(&fake.source, &sink.sink, &run,
			&sink.copied, &sink.err);
		assert_int_equal(rc, i % 2 ? 0 : -EFBIG);
		if (rc == 0) {
			check_disk();
		} else {
			assert_true(sink.err.refused);
			assert_non_null(strstr(sink.err.text,
				"more data than 3145216 bytes, the limit"));
			assert_int_equal(sink.n_places, i & 2 ? 4 : 2);
		}
	}
}

/* Zeros are found in blocks of 4 KiB or, when compressed, in units. */
TEST(random_disks_are_copied_whole)
{
	static const size_t cuts[] = {0, 1, 511, 512, 4095};
	uint64_t random = support_seed();
	char map[601];

	for (unsigned i = 0; i < 30; i++) {
		/* some disks have holes of whole chunks */
		uint64_t grain = i % 6 ? 4096 : CHUNK / 2;
		size_t n = 1 + support_below(&random, i % 6 ? 600 : 12);
		/* with runs of one letter, so that whole units are alike */
		fake_random_map(map, n, "-0zxycr", 8, &random);
		begin(map, grain, cuts[support_below(&random, 5)]);
		sink.most = i % 3 ? 0 : 12288;
		sink.gap = i % 2 ? 512 : 0;
		fake.look = i % 4 ? 0 : 20480;
		if (i % 5 >= 3)
			compress(1 << 16);
		else if (i % 4 >= 2)
			fill();
		assert_ok(copy(1 + i % 3));
		check_disk();
		assert_int_equal(sink.copied.hole, bytes_of("-0"));
		if (!sink.sink.compress)
			assert_int_equal(sink.copied.zero, bytes_of("z"));
	}
}

/* A chunk without data has no list of extents. */
TEST(a_hole_of_whole_chunks_covers_what_was_there)
{
	for (unsigned threads = 1; threads <= 2; threads++) {
		begin("x---x", CHUNK, 0);
		fill();
		assert_ok(copy(threads));
		check_disk();
	}
}

TEST(a_compressed_unit_is_counted)
{
	/* 16 grains are a unit; the last one has three */
	begin("xxxxzzzzzzzzzzz-"
	      "zzzzzzzzzzzzzzz-"
	      "----------------"
	      "xxx",
		4096, 0);
	compress(1 << 16);
	assert_ok(copy(1));
	check_disk();
	assert_int_equal(sink.n_places, 2);
	assert_true(sink.places[0].compressed && sink.places[1].compressed);
	assert_int_equal(sink.places[1].length, 3 * 4096);
	/* A unit that is zero but for a hole has no place. */
	assert_int_equal(sink.copied.data, (15 + 3) * 4096);
	assert_int_equal(sink.copied.zero, 15 * 4096);
	assert_int_equal(sink.copied.hole, 18 * 4096);
	assert_int_equal(sink.copied.compressed_from, 65536 + 3 * 4096);
	assert_int_equal(sink.copied.compressed_to,
		sink.places[0].stored + sink.places[1].stored);
	/* what follows the places of the sink is written with them */
	assert_int_equal(sink.n_writes, 1);
}

TEST(neighbours_are_written_in_one_call)
{
	static const struct {
		/* of a place, and between places */
		uint64_t most, gap;
		size_t places;
		unsigned writes;
	} cases[] = {{0, 0, 3, 3},
		/* what the sink splits goes out together if it lies together */
		{4096, 0, 6, 3}, {4096, 4096, 6, 6}};

	for (size_t i = 0; i < 3; i++) {
		begin("xxyxzx-x", 4096, 0);
		sink.most = cases[i].most;
		sink.gap = cases[i].gap;
		assert_ok(copy(1));
		assert_int_equal(sink.n_places, cases[i].places);
		assert_int_equal(sink.n_writes, cases[i].writes);
		check_disk();
	}
}

static void
begin_to_fail(bool packed)
{
	begin("xx-xx", CHUNK, 0);
	if (packed)
		compress(1 << 16);
}

TEST(failures_of_a_copy_are_reported)
{
	for (unsigned i = 0; i < 6; i++) {
		unsigned threads = 1 + i / 2;
		begin_to_fail(i % 2);
		fake.fail_read = 3 * CHUNK + 1;
		assert_int_equal(copy(threads), -EIO);
		assert_string_equal(sink.err.text, "read failed");
		begin_to_fail(i % 2);
		sink.fail_reserve = 4 * CHUNK;
		assert_int_equal(copy(threads), -EFBIG);
		begin_to_fail(i % 2);
		sink.gap = 512;
		sink.fail_write = 4;
		assert_int_equal(copy(threads), -ENOSPC);
		assert_string_equal(sink.err.text, "write failed");
		begin_to_fail(i % 2);
		fake.changed = true;
		assert_int_equal(copy(threads), -EIO);
		assert_string_equal(sink.err.text, "changed");
	}
}

/* Chunk by chunk: all that lies right is shared, or nothing is. */
TEST(what_lies_right_is_shared)
{
	static const struct {
		const char *map;
		uint64_t grain, cut;
		/* of a place, and between places */
		uint64_t most, gap;
		unsigned shares;
		uint64_t shared;
	} cases[] = {{"xx-zy0", CHUNK / 4, 0, 0, 0, 3, CHUNK},
		{"xxcx", CHUNK / 4, 0, 0, 0, 0, 0},
		{"bx-x", CHUNK / 4, 0, 0, 0, 0, 0},
		{"xb", CHUNK / 4, 0, 0, 0, 0, 0},
		/* a length, and a beginning, that no file system shares */
		{"xx", CHUNK / 4, 512, 0, 0, 0, 0},
		{"-xx", 2048, 0, 0, 0, 0, 0},
		/* the sink splits it */
		{"xxxx", 8192, 0, 8192, 4096, 4, 4 * 8192}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (int fills = 0; fills < 2; fills++) {
			begin(cases[i].map, cases[i].grain, cases[i].cut);
			sink.may_share = true;
			sink.most = cases[i].most;
			sink.gap = cases[i].gap;
			if (fills)
				fill();
			assert_ok(copy(1));
			check_disk();
			assert_int_equal(sink.n_shares, cases[i].shares);
			assert_int_equal(sink.shared, cases[i].shared);
			assert_int_equal(sink.copied.shared, cases[i].shared);
		}
	}
	/* zeros in the source are shared, not looked for */
	begin(cases[0].map, cases[0].grain, 0);
	sink.may_share = true;
	assert_ok(copy(1));
	assert_int_equal(sink.copied.data, CHUNK);
	assert_int_equal(sink.copied.hole, CHUNK / 2);
	assert_int_equal(sink.n_writes + fake.n_reads, 0);
}

TEST(what_the_file_system_refused_does_not_count_as_shared)
{
	begin("-xx", CHUNK, 0);
	sink.may_share = sink.refuses = true;
	assert_ok(copy(1));
	check_disk();
	assert_int_equal(sink.copied.shared, 0);
	assert_int_equal(sink.copied.data, 2 * CHUNK);
}

TEST(the_block_that_was_tried_reads_as_zeros)
{
	static const unsigned char zeros[4096];
	static const int fails[] = {0, -EOPNOTSUPP};

	for (size_t i = 0; i < 2; i++) {
		begin("-xx", CHUNK, 0);
		sink.may_share = true;
		sink.zero_fails = fails[i];
		assert_ok(copy(1));
		check_disk();
		assert_memory_equal(sink.file, zeros, sizeof(zeros));
		/* what cannot be removed is not shared */
		assert_int_equal(sink.copied.shared, i ? 0 : 2 * CHUNK);
	}
}

TEST(a_raw_file_is_shared_whole)
{
	for (unsigned i = 0; i < 3; i++) {
		begin("--xy", CHUNK / 2, 0);
		sink.sink.format = fake.source.format = &image_format_raw;
		sink.may_share = true;
		sink.refuses = i == 1;
		fake.changed = i == 2;
		assert_int_equal(copy(1), i == 2 ? -EIO : 0);
		if (i == 0) {
			check_range(sink.file, 0, 2 * CHUNK);
			assert_int_equal(sink.n_shares, 1);
			assert_int_equal(fake.n_reads, 0);
			assert_int_equal(sink.copied.hole, CHUNK);
		}
		if (i == 1)
			check_disk();
		assert_int_equal(sink.copied.shared, i == 1 ? 0 : CHUNK);
	}
}

/*
 * Images in a store of a fixed size, such as a device or an export of a server:
 * what the store had before never shows.
 */

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define STALE 0xa5

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
	assert_ok(ftruncate(fd, (off_t)size));
	test_store_init(&store, fd);
	store.store.size = size;
	store.store.fixed = true;
	store.store.zeros = false;
	store.store.parallel_writes = true;
}

/* Copy the disk. */
static int
copy_over(const struct image_format *format, unsigned threads,
	const struct image_create *more)
{
	struct image_create create = *more;
	struct image_run run = {.block = 4096, .threads = threads};
	struct image_copied copied;
	struct image_sink *target;

	if (!create.size)
		create.size = fake.source.size;
	int rc = image_create_on(&store.store, format, &create, &target, &err);
	if (rc < 0)
		return rc;
	rc = image_copy(&fake.source, target, &run, &copied, &err);
	if (rc == 0)
		rc = image_finish(target, &err);
	image_sink_close(target);
	return rc;
}

static int
copy_raw(unsigned threads)
{
	const struct image_create none = {0};
	return copy_over(&image_format_raw, threads, &none);
}

static void
check_raw(void)
{
	uint64_t size = store.store.size;
	unsigned char *bytes = malloc(size);
	unsigned char *expected = calloc(1, size);
	struct stat st;

	assert_true(bytes && expected);
	assert_ok(fstat(fd, &st));
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
		fake_random_map(map, n, "-0zxycr", 4, &random);
		fake_init(&fake, map, grain,
			n * grain - cuts[support_below(&random, 4)]);
		fake.look = i % 3 ? 0 : 20480;
		begin_store(fake.source.size + behind[i / 4 % 4]);
		/* the disk of the source, or a larger one */
		const struct image_create create = {
			.size = i % 2 ? store.store.size : 0};
		assert_ok(copy_over(&image_format_raw, 1 + i % 3, &create));
		check_raw();
		assert_true(store.closed);
	}
}

/* Each byte is written or zeroed once. */
TEST(zeros_are_not_written)
{
	fake_init(&fake, "x--z-x0zzz", MIB, 10 * MIB);
	begin_store(12 * MIB);
	assert_ok(copy_raw(2));
	check_raw();
	assert_int_equal(store.bytes, 2 * MIB);
	assert_int_equal(store.zeroed, 10 * MIB);
	/* short zeros cost less as data than as a request */
	fake_init(&fake, "xzxzxzxzxzxzxzxz", 4 * KIB, 64 * KIB);
	begin_store(64 * KIB);
	assert_ok(copy_raw(1));
	assert_int_equal(store.bytes, 64 * KIB);
	/* nor is there a request for the nothing behind the disk */
	assert_int_equal(store.calls, 1);
}

/* The caller knows that it reads as zeros, or it is empty. Neither is what a
 * larger disk adds. */
TEST(a_store_of_zeros_is_not_zeroed)
{
	const struct image_create larger = {.size = 8 * MIB};

	fake_init(&fake, "x--z", MIB, 4 * MIB);
	begin_store(8 * MIB);
	assert_ok(ftruncate(fd, 0));
	assert_ok(ftruncate(fd, 8 * MIB));
	store.store.zeros = true;
	assert_ok(copy_over(&image_format_raw, 1, &larger));
	check_raw();
	assert_int_equal(store.zeroed, 0);
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
	}
}

/* The file is the one that an empty store gets, followed by zeros. */
static void
check_qcow2(const struct image_create *create)
{
	uint64_t size = store.store.size;
	unsigned char *bytes = malloc(size);
	unsigned char *fresh = calloc(1, size);

	assert_ok(copy_over(&image_format_qcow2, 1, create));
	assert_int_equal(pread(fd, bytes, size, 0), size);
	close(fd);
	fd = test_store_scratch();
	test_store_init(&store, fd);
	assert_ok(copy_over(&image_format_qcow2, 1, create));
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
	}
}
