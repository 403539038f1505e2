/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images made by random calls of the qcow2 sink: image_check() finds nothing,
 * and every byte is that of a raw file. tests/cli/test_qcow2.py and
 * test_convert.py have readers that share no code with the sink.
 */
#include <endian.h>
#include "format/qcow2/sink.h"
#include "fake_memory.h"
#include "fakes.h"
#include "support.h"

/* ---- images by random calls ---- */

struct play_how {
	struct image_create create;
	/* percent of the disk that has data */
	size_t dense;
	/* the same image for the same number */
	uint64_t seed;
};

/* The image that is made, and a raw file of the same bytes. */
static struct {
	struct image_sink *sink;
	struct image_scratch scratch;
	struct image_error err;
	struct test_store store;
	uint64_t random;
	int raw;
	/* percent of the disk */
	size_t dense;
	unsigned char *bytes, *packed;
	/* what was reserved and is not written yet */
	struct late {
		uint64_t host;
		size_t length;
		unsigned char *bytes;
	} late[64];
	size_t n_late;
} made;

static void
write_one(size_t i)
{
	struct late *late = &made.late[i];

	assert_ok(image_store_write(made.sink->store, late->host, late->bytes,
		late->length, &made.err));
	free(late->bytes);
	*late = made.late[--made.n_late];
}

/* Places are written in any order. */
static void
write_later(uint64_t host, const void *bytes, size_t length)
{
	if (made.n_late == sizeof(made.late) / sizeof(made.late[0]))
		write_one(support_below(&made.random, made.n_late));
	unsigned char *copy = malloc(length);
	assert_non_null(copy);
	memcpy(copy, bytes, length);
	made.late[made.n_late++] = (struct late){host, length, copy};
	/* freed by write_one(), which the analyzer does not see */
} /* NOLINT(clang-analyzer-unix.Malloc) */

/* Bytes of which some can be compressed: each of 8 random ones becomes one of
 * `values`. */
static void
make_bytes(size_t length)
{
	const uint64_t even = UINT64_C(0x00ff00ff00ff00ff);
	uint64_t values = 2 + support_below(&made.random, 255);

	for (size_t i = 0; i < length; i += 8) {
		uint64_t random = support_random(&made.random);
		uint64_t word =
			htole64(((random & even) * values >> 8 & even) |
				((random >> 8 & even) * values & ~even));
		memcpy(made.bytes + i, &word, length - i < 8 ? length - i : 8);
	}
}

/* The bytes of the disk at the place, which are in made.bytes, go to the raw
 * file; `stored` to the image. */
static void
put(struct image_place place, const unsigned char *stored)
{
	assert_int_equal(
		pwrite(made.raw, made.bytes, place.length, (off_t)place.guest),
		place.length);
	while (place.length) {
		struct image_place part = place;
		assert_ok(made.sink->ops->reserve(made.sink, &part, &made.err));
		assert_in_range(part.length, 1, place.length);
		write_later(part.host, stored, (size_t)part.stored);
		stored += part.length;
		place.guest += part.length;
		place.length -= part.length;
		place.stored = place.length;
	}
}

/* One unit, as the copy does it. Returns the end of it. */
static uint64_t
put_unit(uint64_t guest)
{
	size_t unit = (size_t)made.sink->unit;
	uint64_t left = made.sink->size - guest;
	size_t length = left < unit ? (size_t)left : unit;
	struct image_place place = {
		.guest = guest, .length = length, .stored = length};

	make_bytes(length);
	memset(made.bytes + length, 0, unit - length);
	int64_t n = image_compress(&made.sink->codec, &made.scratch, made.bytes,
		unit, made.packed, unit - 1);
	assert_true(n >= 0);
	if (n > 0) {
		place.stored = (uint64_t)n;
		place.compressed = true;
	}
	put(place, n > 0 ? made.packed : made.bytes);
	return guest + length;
}

/* A range that begins and ends at any sector. */
static uint64_t
put_range(uint64_t guest, uint64_t length)
{
	make_bytes((size_t)length);
	put(
		(struct image_place){
			.guest = guest, .length = length, .stored = length},
		made.bytes);
	return guest + length;
}

/* 1 to most, small ones as often as large ones. */
static uint64_t
some_length(uint64_t most)
{
	unsigned bits = 63 - (unsigned)__builtin_clzll(most);
	uint64_t upto = UINT64_C(2) << support_below(&made.random, bits + 1);

	return 1 + support_random(&made.random) % (upto < most ? upto : most);
}

#define MOST ((uint64_t)3 << 20)

static void
fill_disk(void)
{
	uint64_t size = made.sink->size;
	uint64_t at = 0;
	/* holes as long as data comes to half of the disk */
	uint64_t hole = MOST;

	while (at < size) {
		uint64_t left = size - at;
		if (support_below(&made.random, 100) >= made.dense) {
			uint64_t n = some_length(left < hole ? left : hole);
			/* far away if the disk is much larger */
			if (left > MOST * 64)
				n = some_length(left);
			at += n < 512 ? n : n - n % 512;
			continue;
		}
		if (made.sink->compress) {
			uint64_t unit = made.sink->unit;
			at = (at + unit - 1) / unit * unit;
			if (at < size)
				at = put_unit(at);
			continue;
		}
		at = put_range(at, some_length(left < MOST ? left : MOST));
	}
}

/* Write an image to one empty file and a raw file of the same bytes to another.
 * Places are written in any order. */
static void
play(int image, int raw, const struct play_how *how)
{
	memset(&made, 0, sizeof(made));
	made.dense = how->dense;
	made.random = how->seed | 1;
	made.raw = raw;
	test_store_init(&made.store, image);
	assert_ok(qcow2_create(
		&made.store.store, &how->create, &made.sink, &made.err));
	made.bytes = malloc(MOST);
	made.packed = malloc(MOST);
	assert_true(made.bytes && made.packed);
	assert_ok(ftruncate(raw, (off_t)made.sink->size));
	fill_disk();
	while (made.n_late)
		write_one(support_below(&made.random, made.n_late));
	assert_ok(made.sink->ops->finish(made.sink, &made.err));
	image_sink_close(made.sink);
	image_scratch_destroy(&made.scratch);
	free(made.bytes);
	free(made.packed);
}

/* ---- what is in them ---- */

static void
must_pass(void *opaque, const struct image_finding *finding)
{
	const struct play_how *how = opaque;

	if (finding->faults)
		fail_msg("%s: %s: seed %#llx", finding->name, finding->text,
			(unsigned long long)how->seed);
}

static const unsigned char *
in_memory(int fd, size_t *size)
{
	struct stat st;

	assert_ok(fstat(fd, &st));
	*size = (size_t)st.st_size;
	if (*size == 0)
		return NULL;
	void *at = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* Each byte is that of the raw file; all of it has a place if preallocated. A
 * subcluster of zeros has none in the extents; check() looks at the length. */
static void
compare(struct image_source *source, const unsigned char *raw, size_t size,
	const struct play_how *how)
{
	struct image_scratch scratch = {0};
	struct image_error err;
	unsigned char *disk = malloc(size + 1);
	struct image_extent e;

	assert_non_null(disk);
	assert_int_equal(source->size, size);
	if (size)
		assert_ok(source->ops->read(
			source, &scratch, 0, disk, size, &err));
	if (size && memcmp(disk, raw, size) != 0)
		fail_msg("other bytes: seed %#llx",
			(unsigned long long)how->seed);
	bool placed = how->create.preallocate && !how->create.extended_l2;
	for (uint64_t at = 0; placed && at < size; at += e.length) {
		assert_ok(source->ops->extent(source, at, size - at, &e, &err));
		assert_int_not_equal(e.host, IMAGE_NO_HOST);
	}
	image_scratch_destroy(&scratch);
	free(disk);
}

/* The header has the options. The file has whole clusters; none is leaked. */
static void
check(const unsigned char *file, size_t size, const struct play_how *how)
{
	struct image_checked checked;
	struct image_verdict verdict = {.report = must_pass,
		.opaque = (void *)(uintptr_t)how,
		.checked = &checked};
	const struct image_open open = {.format = &image_format_qcow2};
	struct image_store *store;
	struct image_error err;

	assert_int_equal(size % how->create.cluster_size, 0);
	assert_true(!how->create.preallocate || size > how->create.size);
	assert_int_equal(file[7], how->create.version);
	if (how->create.version == 3) {
		bool zstd = how->create.codec == IMAGE_CODEC_ZSTD;
		assert_int_equal(1u << file[99], how->create.refcount_bits);
		assert_int_equal(file[79],
			(zstd ? 8 : 0) + (how->create.extended_l2 ? 16 : 0));
	}
	assert_ok(memory_store_open(file, size, "image", &store, &err));
	assert_ok(image_check_store(store, &open, &verdict, &err));
	assert_int_equal(checked.leaked_clusters, 0);
	image_store_close(store);
}

static void
play_and_look(const struct play_how *how)
{
	const struct image_open open = {.format = &image_format_qcow2};
	int image = memfd_create("image", 0), raw = memfd_create("raw", 0);
	struct image_source *source;
	struct image_store *store;
	struct image_error err;
	size_t file_size, raw_size;

	assert_true(image >= 0 && raw >= 0);
	play(image, raw, how);
	const unsigned char *file = in_memory(image, &file_size);
	const unsigned char *disk = in_memory(raw, &raw_size);
	check(file, file_size, how);
	assert_ok(memory_store_open(file, file_size, "image", &store, &err));
	assert_ok(image_open_store(store, &open, &source, &err));
	compare(source, disk, raw_size, how);
	image_close(source);
	munmap((void *)(uintptr_t)file, file_size);
	if (disk)
		munmap((void *)(uintptr_t)disk, raw_size);
	close(image);
	close(raw);
}

static uint64_t seed;

/* Options that go together. */
static struct play_how
random_how(void)
{
	struct play_how how = {.create = {.version = 3}};
	struct image_create *c = &how.create;

	how.seed = support_random(&seed);
	how.dense = support_below(&seed, 99);
	c->cluster_size = 512u << support_below(&seed, 13);
	c->refcount_bits = 1u << support_below(&seed, 7);
	c->compress = support_below(&seed, 2);
	c->preallocate = !c->compress && support_below(&seed, 4) == 0;
	if (support_below(&seed, 4) == 0) {
		c->version = 2;
		c->refcount_bits = 16;
	} else {
		c->codec = support_below(&seed, 2) ? IMAGE_CODEC_ZSTD
						   : IMAGE_CODEC_ZLIB;
		c->extended_l2 = support_below(&seed, 3) == 0;
		if (c->extended_l2 && c->cluster_size < 16384)
			c->cluster_size = 16384;
	}
	uint64_t most = c->cluster_size * 1500;
	if (most > 8 << 20)
		most = 8 << 20;
	c->size = support_random(&seed) % most;
	return how;
}

TEST(random_images_are_sound_and_equal)
{
	for (unsigned i = 0; i < 12; i++) {
		struct play_how how = random_how();
		play_and_look(&how);
	}
}

/* Clusters of 512 bytes before those of the data: 64 KiB, where other formats
 * have their signatures. */
#define BEFORE_DATA 128

/* With every cluster in use, the refcount blocks just fit or just do not. */
TEST(counts_are_right_at_the_borders_of_blocks_and_tables)
{
	static const unsigned all_bits[] = {1, 4, 8, 16, 64};
	struct play_how how = {.create = {.version = 3, .cluster_size = 512}};

	for (size_t i = 0; i < sizeof(all_bits) / sizeof(all_bits[0]); i++) {
		unsigned bits = all_bits[i];
		uint64_t border = 4096 / bits;
		/* the first after that of the data's first cluster */
		while (border < BEFORE_DATA + 64)
			border += 4096 / bits;
		border -= BEFORE_DATA;
		how.create.refcount_bits = bits;
		how.create.preallocate = bits != 16;
		how.dense = bits == 16 ? 100 : 0;
		for (uint64_t n = border - 60; n < border + 5; n++) {
			how.create.size = n * 512;
			play_and_look(&how);
		}
	}
	/* 64 blocks of 64 clusters fill a cluster of the refcount table */
	how.create.refcount_bits = 64;
	for (uint64_t n = 3880; n < 4000; n++) {
		how.create.size = (n - BEFORE_DATA) * 512;
		play_and_look(&how);
	}
}

/* More than 1 MiB of L2 tables, and of refcount blocks, before the end. A table
 * of 16-byte entries for clusters of 16 KiB covers 16 MiB. */
TEST(many_tables_are_right)
{
	static const struct play_how hows[] = {
		{.create = {.version = 3,
			 .cluster_size = 512,
			 .refcount_bits = 64,
			 .size = UINT64_C(90) << 20},
			.dense = 98},
		{.create = {.version = 3,
			 .cluster_size = 16384,
			 .refcount_bits = 16,
			 .extended_l2 = true,
			 .size = UINT64_C(70) << 20},
			.dense = 50}};

	for (unsigned i = 0; i < 4; i++) {
		struct play_how how = hows[i / 2];
		how.create.compress = i % 2;
		how.seed = seed;
		play_and_look(&how);
	}
}

int
main(void)
{
	seed = support_seed();
	return run_all_tests(NULL, NULL);
}
