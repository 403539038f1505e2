/* SPDX-License-Identifier: BSD-3-Clause */
/* image_map() of disks that are made up. */
#include "fakes.h"
#include "pipeline/pieces.h"
#include "support.h"

#define CHUNK ((uint64_t)1 << 20)
#define GRAIN ((uint64_t)4096)

/* A map as text: kind, offset, length in grains; host, depth where known. */
struct listing {
	char text[4096];
	size_t used;
	bool plain;
	/* report() returns rc at the nth call */
	unsigned calls;
	unsigned stop_at;
	int rc;
	uint64_t at;
};

static struct fake fake;
static struct listing listing;
static struct image_error err;

static void
begin(const char *letters, uint64_t grain, uint64_t size)
{
	fake_init(&fake, letters, grain, size);
	listing = (struct listing){.plain = false};
}

static int
report(void *opaque, const struct image_extent *e)
{
	struct listing *to = opaque;
	char host[32] = "";

	/* They cover the disk. */
	assert_int_equal(e->offset, to->at);
	assert_true(e->length > 0);
	to->at = e->offset + e->length;
	if (e->host != IMAGE_NO_HOST)
		snprintf(host, sizeof(host), "@%u",
			(unsigned)((e->host - FAKE_HOST) / GRAIN));
	to->used += (size_t)snprintf(to->text + to->used,
		sizeof(to->text) - to->used, "%s%c%u%s%s%s",
		to->used ? " " : "", "dzh"[e->kind],
		(unsigned)(e->length / GRAIN), e -> compressed ? "c" : "",
		e->zero_cluster ? "0" : "", host);
	if (e->depth)
		to->used += (size_t)snprintf(to->text + to->used,
			sizeof(to->text) - to->used, "/%u", e->depth);
	return ++to->calls == to->stop_at ? to->rc : 0;
}

static int
map(unsigned threads)
{
	struct image_run run = {.block = GRAIN, .threads = threads};

	listing = (struct listing){.plain = listing.plain,
		.stop_at = listing.stop_at,
		.rc = listing.rc};
	return image_map(
		&fake.source, &run, listing.plain, report, &listing, &err);
}

static void
check_map(const char *letters, const char *expected)
{
	static const uint64_t looks[] = {0, 512, 8192, 3 * 4096};

	for (size_t i = 0; i < 4; i++) {
		for (unsigned threads = 1; threads <= 3; threads += 2) {
			begin(letters, GRAIN, strlen(letters) * GRAIN);
			fake.look = looks[i];
			assert_ok(map(threads));
			assert_string_equal(listing.text, expected);
			assert_int_equal(listing.at, fake.source.size);
		}
	}
}

TEST(neighbours_that_are_alike_are_one)
{
	check_map("xxyy--00zz", "d4@0 h2 h20 z2@8");
	/* what lies apart in the file is read all the same */
	check_map("ccxcbb-b", "d2c d1@2 d1c d2@4/1 h1 d1@7/1");
	check_map("xzxzz-z", "d1@0 z1@1 d1@2 z2@3 h1 z1@6");
}

/* For a reader to whom the place of the bytes does not matter. */
TEST(plain_neighbours_differ_in_kind)
{
	char letters[1025];

	begin("ccxcbb-0bzx", GRAIN, 11 * GRAIN);
	listing.plain = true;
	assert_ok(map(2));
	assert_string_equal(listing.text, "d6 h2 d1 z1 d1");
	/* a hole of whole chunks passes the stages by itself */
	memset(letters, '-', 512);
	memset(letters + 512, '0', 512);
	letters[1024] = '\0';
	begin(letters, GRAIN, 1024 * GRAIN);
	listing.plain = true;
	assert_ok(map(2));
	assert_string_equal(listing.text, "h1024");
}

/* Extents that pass the ends of chunks, and what begins or ends there. */
TEST(extents_pass_the_ends_of_chunks)
{
	char letters[1025];

	/* 256 grains are a chunk */
	memset(letters, 'x', 1024);
	letters[1024] = '\0';
	check_map(letters, "d1024@0");
	memset(letters, 'c', 1024);
	check_map(letters, "d1024c");
	memset(letters, 'x', 1024);
	memset(letters + 255, '-', 2);
	check_map(letters, "d255@0 h2 d767@257");
	memset(letters + 512, '-', 256);
	check_map(letters, "d255@0 h2 d255@257 h256 d256@768");
	memset(letters + 700, 'c', 100);
	check_map(letters, "d255@0 h2 d255@257 h188 d100c d224@800");
	memset(letters + 512, '-', 512);
	check_map(letters, "d255@0 h2 d255@257 h512");
	memset(letters, '-', 255);
	check_map(letters, "h257 d255@257 h512");
}

/* A compressed cluster of 2 MiB would else be decompressed for each half. */
TEST(a_unit_is_read_in_one_call)
{
	char letters[1025] = "";

	memset(letters, 'x', 1024);
	begin(letters, GRAIN, 1024 * GRAIN);
	fake.source.unit = 512 * GRAIN;
	assert_ok(map(1));
	assert_string_equal(listing.text, "d1024@0");
	assert_int_equal(fake.n_reads, 2);
	assert_int_equal(fake.reads[1].offset, 512 * GRAIN);
	assert_int_equal(fake.reads[1].length, 512 * GRAIN);
}

TEST(the_last_piece_may_be_short)
{
	begin("xz-", GRAIN, 2 * GRAIN + 1);
	assert_ok(map(2));
	assert_string_equal(listing.text, "d1@0 z1@1 h0");
	assert_int_equal(listing.at, 2 * GRAIN + 1);
	fake.source.size = GRAIN + 513;
	assert_ok(map(2));
	assert_string_equal(listing.text, "d1@0 z0@1");
	assert_int_equal(listing.at, GRAIN + 513);
	/* the metadata of a long extent is looked at once */
	begin("xxxx", CHUNK, 4 * CHUNK);
	assert_ok(map(2));
	assert_int_equal(fake.extents, 1);
}

TEST(failures_of_a_map_are_reported)
{
	for (unsigned threads = 1; threads <= 3; threads++) {
		begin("x-xx", CHUNK, 4 * CHUNK);
		fake.look = GRAIN;
		fake.fail_extent = 3 * CHUNK + 4096;
		assert_int_equal(map(threads), -EINVAL);
		fake.fail_extent = 0;
		fake.fail_read = 2 * CHUNK + 4096;
		assert_int_equal(map(threads), -EIO);
		assert_string_equal(err.text, "read failed");
		fake.fail_read = 0;
		fake.changed = true;
		assert_int_equal(map(threads), -EIO);
		assert_string_equal(err.text, "changed");
		fake.changed = false;
		/* three extents: the last one is reported at the end */
		for (unsigned at = 1; at <= 3; at++) {
			listing.stop_at = at;
			listing.rc = at == 2 ? -EPIPE : 1;
			assert_int_equal(map(threads), listing.rc);
			assert_int_equal(listing.calls, at);
		}
		listing.stop_at = 0;
	}
}
