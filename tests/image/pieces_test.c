/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of a chunk. */
#include "fakes.h"
#include "pipeline/pieces.h"
#include "format/slices.h"
#include "source_support.h"
#include "support.h"

#define CHUNK ((uint64_t)1 << 20)
#define ROOM 300

static struct image_extent
data(uint64_t offset, uint64_t length, uint64_t host)
{
	return (struct image_extent){.offset = offset,
		.length = length,
		.kind = IMAGE_DATA,
		.host = host};
}

TEST(only_what_is_alike_continues)
{
	struct image_extent a = data(4096, 4096, 65536);
	struct image_extent b = data(8192, 512, 69632);

	assert_true(image_extent_continues(&a, &b));
	assert_false(image_extent_continues(&b, &a));
	b.host++;
	assert_false(image_extent_continues(&a, &b));
	b.host = IMAGE_NO_HOST;
	assert_false(image_extent_continues(&a, &b));
	a.host = IMAGE_NO_HOST;
	assert_true(image_extent_continues(&a, &b));
	b.depth = 1;
	assert_false(image_extent_continues(&a, &b));
	a.depth = 1;
	b.zero_cluster = true;
	assert_false(image_extent_continues(&a, &b));
	b.zero_cluster = false;
	b.kind = IMAGE_ZERO;
	assert_false(image_extent_continues(&a, &b));
	b.kind = IMAGE_DATA;
	b.offset++;
	assert_false(image_extent_continues(&a, &b));
	b.offset--;
	a.compressed = true;
	assert_false(image_extent_continues(&a, &b));
	b.compressed = true;
	assert_true(image_extent_continues(&a, &b));
}

TEST(a_part_has_its_own_place)
{
	struct image_extent all = data(4096, 8192, 65536);

	struct image_extent part = image_extent_part(&all, 5000, 6000);
	assert_int_equal(part.offset, 5000);
	assert_int_equal(part.length, 1000);
	assert_int_equal(part.host, 65536 + 904);
	part = image_extent_part(&all, 0, 12288);
	assert_int_equal(part.offset, 4096);
	assert_int_equal(part.length, 8192);
	all.host = IMAGE_NO_HOST;
	part = image_extent_part(&all, 5000, 20000);
	assert_int_equal(part.length, 7288);
	assert_true(part.host == IMAGE_NO_HOST);
}

TEST(pieces_of_several_places_name_none)
{
	struct image_extent list[1];
	struct image_pieces pieces = {.room = 1, .list = list};
	struct image_extent first = {
		.length = 4096, .kind = IMAGE_DATA, .host = 65536};
	struct image_extent second = {.offset = 4096,
		.length = 4096,
		.kind = IMAGE_DATA,
		.host = 131072};

	image_pieces_add(&pieces, &first);
	image_pieces_add(&pieces, &second);
	assert_int_equal(pieces.count, 1);
	assert_int_equal(list[0].length, 8192);
	assert_true(list[0].host == IMAGE_NO_HOST);
}

/* The pieces of a chunk of a fake disk, and its bytes. */
struct taken {
	struct fake fake;
	struct image_extent lists[2][ROOM];
	struct image_pieces listed;
	struct image_pieces found;
	unsigned char bytes[CHUNK];
	struct image_chunk chunk;
};

static void
take(struct taken *t, const char *letters, uint64_t grain, uint64_t offset)
{
	struct image_error err;

	fake_init(&t->fake, letters, grain, strlen(letters) * grain);
	t->listed = (struct image_pieces){0, ROOM, t->lists[0]};
	t->found = (struct image_pieces){0, ROOM, t->lists[1]};
	t->chunk = (struct image_chunk){.offset = offset,
		.length = t->fake.source.size - offset,
		.data = t->bytes};
	memset(t->bytes, 'H', sizeof(t->bytes));
	assert_ok(t->fake.source.ops->extent(&t->fake.source, offset,
		t->chunk.length, &t->chunk.first, &err));
	assert_int_equal(image_pieces_list(&t->listed, &t->fake.source,
				 &t->chunk, true, &err),
		0);
	assert_ok(image_pieces_read(
		&t->listed, &t->fake.source, NULL, &t->chunk, &err));
	for (uint64_t i = 0; i < t->chunk.length; i++) {
		char kind = letters[(offset + i) / grain];
		/* What is a hole is left as it is. */
		assert_int_equal(
			t->bytes[i], kind == '-' || kind == '0'
					     ? 'H'
					     : fake_byte(&t->fake, offset + i));
	}
}

static struct taken taken;

TEST(plain_neighbours_are_read_in_one_call)
{
	take(&taken, "yyxcbz-0xx-x", 4096, 8192);
	assert_int_equal(taken.listed.count, 5);
	assert_int_equal(taken.fake.n_reads, 3);
	assert_int_equal(taken.fake.reads[0].offset, 8192);
	assert_int_equal(taken.fake.reads[0].length, 16384);
	assert_int_equal(taken.fake.reads[1].offset, 32768);
	assert_int_equal(taken.fake.reads[1].length, 8192);
	assert_int_equal(taken.fake.reads[2].length, 4096);
}

/* Pieces of 512 bytes, and zeros looked for in blocks of 4096. */
TEST(zeros_are_found_in_blocks_of_the_disk)
{
	static const struct {
		uint64_t offset;
		uint64_t length;
		enum image_kind kind;
	} expected[] = {
		/* what is left of the block before is one of its own */
		{512, 3584, IMAGE_ZERO},
		{4096, 4096, IMAGE_DATA},
		{8192, 4096, IMAGE_ZERO},
		{12288, 512, IMAGE_DATA},
		{12800, 512, IMAGE_HOLE},
		{13312, 3072, IMAGE_ZERO},
		{16384, 512, IMAGE_DATA},
	};

	take(&taken,
		"xzzzzzzz"
		"zzzzzxzz"
		"zzzzzzzz"
		"x-zzzzzz"
		"x",
		512, 512);
	image_pieces_scan(&taken.found, &taken.listed, &taken.chunk, 4096);
	assert_int_equal(taken.found.count, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(taken.lists[1][i].offset, expected[i].offset);
		assert_int_equal(taken.lists[1][i].length, expected[i].length);
		assert_int_equal(taken.lists[1][i].kind, expected[i].kind);
	}
}

/* More pieces than there is room for are data, which is always true. */
TEST(pieces_without_room_are_data)
{
	struct image_error err;

	take(&taken, "x-x-x-", 4096, 0);
	taken.listed.room = 2;
	taken.fake.n_reads = 0;
	assert_int_equal(image_pieces_list(&taken.listed, &taken.fake.source,
				 &taken.chunk, false, &err),
		0);
	assert_int_equal(taken.listed.count, 2);
	assert_int_equal(taken.lists[0][1].kind, IMAGE_DATA);
	assert_int_equal(taken.lists[0][1].length, 5 * 4096);
	/* Holes among them are read, as zeros. */
	assert_ok(image_pieces_read(
		&taken.listed, &taken.fake.source, NULL, &taken.chunk, &err));
	assert_int_equal(taken.fake.n_reads, 1);
	assert_int_equal(taken.bytes[4096], 0);
	assert_int_equal(taken.bytes[6 * 4096 - 1], 0);
}

/* The cache of tables: bounded, and the same for every thread. */

#define SLICE ((size_t)512)
#define SLICES 200
#define KEPT 50
#define THREADS 4

static struct built built;

/* Any image's bytes will do as tables. */
FIXTURE(begin)
{
	build(&built, &(struct shape){16, false, 0, "s", 3, 0}, 1);
	return 0;
}

FIXTURE(end)
{
	unbuild(&built);
	return 0;
}

/* Take a slice; returns whether it had to be read. */
static bool
slices_take(
	struct image_slices *cache, size_t index, struct image_slice **slice)
{
	struct image_error err;
	unsigned before = built.counted.reads;
	uint64_t word;

	int rc = image_slices_get(cache, &built.counted.memory.store,
		index * SLICE, SLICE, slice, &err);
	assert_int_equal(rc, 0);
	for (size_t i = 0; i < SLICE / 8; i++) {
		memcpy(&word, built.bytes + index * SLICE + 8 * i, 8);
		assert_int_equal((*slice)->words[i], word);
	}
	return built.counted.reads > before;
}

static bool
touch(struct image_slices *cache, size_t index)
{
	struct image_slice *slice;
	bool loaded = slices_take(cache, index, &slice);
	image_slices_put(cache, slice);
	return loaded;
}

TEST(the_least_recently_used_slice_goes_first)
{
	struct image_slices *cache = image_slices_create(KEPT * SLICE);

	for (size_t i = 0; i < KEPT; i++)
		assert_true(touch(cache, i));
	for (size_t i = 0; i < KEPT; i++)
		assert_false(touch(cache, i));
	/* now the first one is not the oldest any more */
	assert_false(touch(cache, 0));
	assert_true(touch(cache, KEPT));
	assert_false(touch(cache, 0));
	assert_true(touch(cache, 1));
	image_slices_destroy(cache);
}

TEST(a_slice_in_use_stays)
{
	struct image_slices *cache = image_slices_create(KEPT * SLICE);
	struct image_slice *held;

	assert_true(slices_take(cache, 3, &held));
	for (size_t i = 10; i < SLICES; i++)
		assert_true(touch(cache, i));
	assert_false(touch(cache, 3));
	image_slices_put(cache, held);
	image_slices_destroy(cache);
}

/* A cache too small for one slice still serves those in use. */
TEST(the_bound_may_be_zero)
{
	struct image_slices *cache = image_slices_create(0);
	struct image_slice *a, *b;

	assert_true(slices_take(cache, 1, &a));
	assert_true(slices_take(cache, 2, &b));
	assert_int_equal(a->offset, SLICE);
	image_slices_put(cache, a);
	image_slices_put(cache, b);
	assert_true(touch(cache, 3));
	assert_true(touch(cache, 1));
	image_slices_destroy(cache);
}

struct run {
	struct image_slices *cache;
	uint64_t seed;
	_Atomic unsigned errors;
};

static void *
take_at_random(void *opaque)
{
	struct run *run = opaque;
	struct image_error err;
	uint64_t seed = run->seed;

	for (unsigned i = 0; i < 5000; i++) {
		size_t index = support_below(&seed, SLICES);
		struct image_slice *slice;
		uint64_t word;
		int rc = image_slices_get(run->cache,
			&built.counted.memory.store, index * SLICE, SLICE,
			&slice, &err);
		EXPECT(rc == 0, run);
		memcpy(&word, built.bytes + index * SLICE, 8);
		EXPECT(slice->words[0] == word, run);
		memcpy(&word, built.bytes + (index + 1) * SLICE - 8, 8);
		EXPECT(slice->words[SLICE / 8 - 1] == word, run);
		image_slices_put(run->cache, slice);
	}
	return NULL;
}

TEST(threads_share_a_small_cache)
{
	uint64_t seed = support_seed();
	struct image_slices *cache = image_slices_create(KEPT * SLICE);
	struct run runs[THREADS];

	for (unsigned t = 0; t < THREADS; t++)
		runs[t] = (struct run){
			.cache = cache, .seed = support_random(&seed)};
	support_threads(take_at_random, runs, THREADS, sizeof(*runs));
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(runs[t].errors, 0);
	image_slices_destroy(cache);
}

int
main(void)
{
	return run_all_tests(begin, end);
}
