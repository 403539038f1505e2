/* SPDX-License-Identifier: BSD-3-Clause */
/* image_compare() of disks that are made up. */
#include <inttypes.h>
#include "fakes.h"
#include "support.h"

#define CHUNK ((uint64_t)1 << 20)
/* Bytes of a read. */
#define STEP (CHUNK / 8)

/* Two disks, and what comparing them returned. */
static struct {
	struct fake a;
	struct fake b;
	struct image_compared compared;
	struct image_error err;
	uint64_t progress;
} pair;

static void
begin(const char *a, const char *b, uint64_t grain)
{
	fake_init(&pair.a, a, grain, strlen(a) * grain);
	fake_init(&pair.b, b, grain, strlen(b) * grain);
	pair.progress = 0;
}

static void
note(void *opaque, uint64_t done)
{
	(void)opaque;
	pair.progress = done;
}

static int
compare(unsigned threads)
{
	struct image_run run = {
		.block = 4096, .threads = threads, .progress = note};

	return image_compare(&pair.a.source, &pair.b.source, &run,
		&pair.compared, &pair.err);
}

/* Both disks read as zeros past their ends. */
static void
check_against_bytes(void)
{
	uint64_t size = pair.a.source.size;
	uint64_t at = 0;

	if (size < pair.b.source.size)
		size = pair.b.source.size;
	while (at < size && fake_byte(&pair.a, at) == fake_byte(&pair.b, at)) {
		/* a block, or up to the end of either disk */
		uint64_t next = (at / 512 + 1) * 512;
		if (pair.a.source.size > at && pair.a.source.size < next)
			next = pair.a.source.size;
		if (pair.b.source.size > at && pair.b.source.size < next)
			next = pair.b.source.size;
		at = next;
	}
	if (pair.compared.equal != (at == size) ||
		(at < size && pair.compared.first_difference != at))
		fail_msg("%s %" PRIu64 " and %s %" PRIu64 ": %" PRIu64
			 ", not %" PRIu64,
			pair.a.map, pair.a.source.size, pair.b.map,
			pair.b.source.size, pair.compared.first_difference, at);
	assert_int_equal(pair.compared.same_size,
		pair.a.source.size == pair.b.source.size);
}

TEST(random_disks_are_compared_as_their_bytes)
{
	static const uint64_t looks[] = {0, 512, 70000, 1 << 20, 3 << 20};
	uint64_t random = support_seed();
	char a[41], b[41];

	for (unsigned i = 0; i < 60; i++) {
		fake_random_map(a, 40, i % 2 ? "-z0-" : "-zxx", 1, &random);
		memcpy(b, a, sizeof(b));
		/* holes and zeros in place of each other, then a difference */
		for (int k = 0; k < 40; k++)
			if (strchr("-0z", b[k]))
				b[k] = "-0z"[support_below(&random, 3)];
		if (i % 3)
			b[support_below(&random, 40)] = 'y';
		begin(a, b, 65536);
		pair.a.look = looks[support_below(&random, 5)];
		pair.b.look = looks[support_below(&random, 5)];
		pair.a.source.size -= support_below(&random, 5) * 32767;
		pair.b.source.size -= support_below(&random, 5) * 32769;
		assert_ok(compare(1 + i % 3));
		check_against_bytes();
	}
}

/* The byte before a border, and the one after it, of chunks and of steps. */
TEST(a_difference_of_one_byte_is_found_anywhere)
{
	static const uint64_t places[] = {0, 1, 4095, 4096, 4097, 8191, 8192,
		STEP - 1, STEP, STEP + 1, CHUNK - 1, CHUNK, CHUNK + 1,
		2 * CHUNK - 1};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		begin("xx", "xx", CHUNK);
		pair.a.flip = places[i];
		assert_ok(compare(2));
		assert_false(pair.compared.equal);
		assert_int_equal(pair.compared.first_difference, places[i]);
		/* of a zero and of the end of a disk */
		pair.a.map = "zz";
		pair.b.map = "--";
		assert_ok(compare(2));
		assert_int_equal(pair.compared.first_difference, places[i]);
		pair.b.source.size = places[i];
		assert_ok(compare(2));
		assert_false(pair.compared.equal || pair.compared.same_size);
		assert_int_equal(pair.compared.first_difference, places[i]);
	}
}

TEST(holes_of_both_are_not_read)
{
	begin("-0--", "--0-", UINT64_C(1) << 40);
	assert_ok(compare(2));
	assert_true(pair.compared.equal);
	assert_int_equal(pair.a.n_reads + pair.b.n_reads, 0);
	assert_int_equal(pair.progress, UINT64_C(4) << 40);

	/* within a chunk as well */
	begin("-x-x", "zx-x", STEP);
	assert_ok(compare(1));
	assert_true(pair.compared.equal);
	assert_int_equal(pair.a.n_reads, 2);
	assert_int_equal(pair.b.n_reads, 3);
	assert_int_equal(pair.b.reads[0].length, STEP);
	assert_int_equal(pair.b.reads[1].offset, STEP);
}

/* However many extents a side has: the reads are large. */
TEST(neighbours_are_read_in_one_call)
{
	begin("xxx", "xxx", STEP);
	pair.a.look = 4096;
	pair.b.look = 12288;
	assert_ok(compare(1));
	assert_true(pair.compared.equal);
	assert_int_equal(pair.a.n_reads, 3);
	assert_int_equal(pair.b.n_reads, 3);
	assert_int_equal(pair.a.reads[2].offset, 2 * STEP);
	assert_int_equal(pair.a.reads[2].length, STEP);
}

TEST(a_server_is_asked_for_whole_chunks)
{
	struct image_store server = {.served = true};

	for (int side = 0; side < 2; side++) {
		begin("xx", "xx", CHUNK);
		(side ? &pair.b : &pair.a)->source.data = &server;
		assert_ok(compare(1));
		assert_int_equal(pair.a.n_reads, 2);
		assert_int_equal(pair.b.reads[1].length, CHUNK);
	}
}

/* The tables of the side with long extents are not walked for each extent of
 * the other. */
TEST(a_known_extent_is_not_described_again)
{
	char map[257];

	for (size_t i = 0; i < 256; i++)
		map[i] = i % 2 ? '-' : 'z';
	map[256] = '\0';
	begin(map, "-", 8192);
	pair.b.grain = pair.b.source.size = pair.a.source.size;
	assert_ok(compare(1));
	assert_true(pair.compared.equal);
	/* one for the whole disk, one for each of two chunks */
	assert_int_equal(pair.b.extents, 3);
	/* the work stage, and the beginning of each chunk */
	assert_true(pair.a.extents <= 256 + 4);
}

/* The hole of a began before that of b did. */
TEST(a_hole_that_is_known_ends_where_it_ends)
{
	begin("---xx-", "zz----", CHUNK);
	assert_ok(compare(1));
	assert_false(pair.compared.equal);
	assert_int_equal(pair.compared.first_difference, 3 * CHUNK);
}

static struct fake_gate later_was_read = FAKE_GATE;

static void
hold_the_first_chunk(void *opaque, uint64_t offset, size_t length)
{
	(void)opaque;
	(void)length;
	if (offset >= CHUNK) {
		fake_open(&later_was_read);
	} else {
		fake_wait(&later_was_read);
		fake_pause();
	}
}

TEST(a_later_difference_that_is_found_first_is_not_reported)
{
	begin("xaxa", "xyxz", CHUNK / 2);
	pair.a.on_read = hold_the_first_chunk;
	assert_ok(compare(2));
	assert_false(pair.compared.equal);
	assert_int_equal(pair.compared.first_difference, CHUNK / 2);
	/* not even the chunk with the difference counts as visited */
	assert_int_equal(pair.progress, 0);
}

/* A difference before the failure is the answer. */
TEST(a_failure_is_reported_unless_a_difference_comes_first)
{
	for (unsigned threads = 1; threads <= 3; threads++) {
		for (int side = 0; side < 2; side++) {
			begin("xxxx", "xxxx", CHUNK);
			struct fake *fake = side ? &pair.b : &pair.a;
			fake->fail_read = 2 * CHUNK;
			assert_int_equal(compare(threads), -EIO);
			assert_string_equal(pair.err.text, "read failed");
			fake->look = 4096;
			fake->fail_read = 0;
			fake->fail_extent = 3 * CHUNK - 4096;
			assert_int_equal(compare(threads), -EINVAL);
			fake->fail_extent = 0;
			fake->changed = true;
			assert_int_equal(compare(threads), -EIO);
			assert_string_equal(pair.err.text, "changed");
			fake->changed = false;
			fake->fail_read = 2 * CHUNK;
			pair.b.map = "xyxx";
			assert_ok(compare(threads));
			assert_int_equal(pair.compared.first_difference, CHUNK);
			fake->changed = true;
			assert_int_equal(compare(threads), -EIO);
		}
	}
}

/* A compressed cluster of 2 MiB would else be decompressed for each half. */
TEST(a_unit_of_either_side_is_read_in_one_call)
{
	for (int side = 0; side < 2; side++) {
		begin("xx", "xx", 2 * CHUNK);
		(side ? &pair.b : &pair.a)->source.unit = 2 * CHUNK;
		assert_ok(compare(1));
		assert_int_equal(pair.a.n_reads, 2);
		assert_int_equal(pair.a.reads[0].length, 2 * CHUNK);
		assert_int_equal(pair.b.reads[1].offset, 2 * CHUNK);
		assert_int_equal(pair.b.reads[1].length, 2 * CHUNK);
	}
}
