/* SPDX-License-Identifier: BSD-3-Clause */
/* What the qcow2 sink promises that its files do not show. */
#include <malloc.h>
#include "fakes.h"
#include "format/qcow2/sink.h"
#include "codec/join.h"
#include "format/packed/packed.h"
#include "support.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

static const struct image_create defaults = {.version = 3, .refcount_bits = 16};

/* A qcow2 image of a test: its options, which the test changes, its sink on a
 * store, and the last error. */
static struct image_create create;
static struct test_store store;
static struct image_sink *sink;
static struct image_error err;

FIXTURE(set_defaults)
{
	create = defaults;
	return 0;
}

FIXTURE(end)
{
	if (sink)
		image_sink_close(sink);
	sink = NULL;
	return 0;
}

#define SINK_TEST(name) TEST_WITH(name, set_defaults, end)

/* fd -1: what is written is dropped. */
static void
begin(int fd)
{
	end(NULL);
	test_store_init(&store, fd);
	if (qcow2_create(&store.store, &create, &sink, &err) != 0)
		fail_msg("%s", err.text);
}

/* Reserve the range; what was reserved of it is returned in place. */
static struct image_place
reserve(uint64_t guest, uint64_t length)
{
	struct image_place place = {
		.guest = guest, .length = length, .stored = length};

	if (sink->ops->reserve(sink, &place, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(place.length > 0 && place.length <= length);
	assert_int_equal(place.stored, place.length);
	return place;
}

static struct image_place
reserve_packed(uint64_t guest, uint64_t stored)
{
	struct image_place place = {.guest = guest,
		.length = sink->unit,
		.stored = stored,
		.compressed = true};

	if (sink->ops->reserve(sink, &place, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(place.stored, stored);
	return place;
}

SINK_TEST(the_header_is_written_last_and_by_itself)
{
	int fd = test_store_scratch();

	create.size = 10 * MIB;
	begin(fd);
	reserve(0, MIB);
	assert_ok(sink->ops->finish(sink, &err));
	assert_true(store.last_was_write);
	assert_int_equal(store.last_offset, 0);
	assert_int_equal(store.last_length, 512);
	end(NULL);
	assert_true(store.closed);
	close(fd);
}

SINK_TEST(a_cluster_that_is_partly_a_hole_has_one_place)
{
	create.size = 10 * MIB;
	for (int extended = 0; extended < 2; extended++) {
		create.extended_l2 = extended;
		begin(-1);
		assert_int_equal(sink->unit, extended ? 2048 : 65536);
		struct image_place a = reserve(0, 512);
		struct image_place b = reserve(8192, 512);
		/* from inside this cluster to inside the next but one */
		struct image_place c = reserve(65024, 66560);
		struct image_place d = reserve(131584, 512);
		assert_int_equal(b.host, a.host + 8192);
		assert_int_equal(c.host, a.host + 65024);
		assert_int_equal(c.length, 66560);
		assert_int_equal(d.host, a.host + 131584);
	}
}

SINK_TEST(a_place_ends_where_tables_come_between)
{
	uint64_t at = 0, before = 0;
	unsigned parts = 0;

	/* Small L2 tables lie in groups for 256 KiB of data. */
	create.cluster_size = 512;
	create.size = 200 * MIB;
	begin(-1);
	for (; at < create.size; parts++) {
		struct image_place place = reserve(at, create.size - at);
		assert_true(place.host > before);
		before = place.host + place.length - 1;
		at += place.length;
	}
	assert_true(parts >= 800 && parts < 810);
}

SINK_TEST(compressed_clusters_are_packed_without_gaps)
{
	create.size = 10 * MIB;
	create.compress = true;
	begin(-1);
	assert_int_equal(sink->codec.level, 1);
	struct image_place a = reserve_packed(0, 40000);
	struct image_place b = reserve_packed(65536, 40000);
	struct image_place c = reserve_packed(131072, 100);
	/* behind the L1 table and the L2 table */
	assert_int_equal(a.host, 3 * 65536);
	assert_int_equal(b.host, a.host + 40000);
	assert_int_equal(c.host, b.host + 40000);
	/* one that cannot be compressed is aligned, and what is left of the
	 * cluster before it takes what fits */
	struct image_place d = reserve(196608, 65536);
	assert_int_equal(d.host, 5 * 65536);
	struct image_place e = reserve_packed(262144, 100);
	assert_int_equal(e.host, c.host + 100);
	/* the next cluster is not adjacent */
	struct image_place f = reserve_packed(327680, 60000);
	assert_int_equal(f.host, 6 * 65536);
}

SINK_TEST(packing_begins_a_cluster_if_the_count_of_the_last_one_is_written)
{
	uint64_t at = 512;

	/* 1 MiB of refcount blocks counts 64 MiB */
	create.cluster_size = 512;
	create.refcount_bits = 64;
	create.size = 100 * MIB;
	create.compress = true;
	begin(-1);
	struct image_place a = reserve_packed(0, 100);
	while (at < 80 * MIB)
		at += reserve(at, 80 * MIB - at).length;
	struct image_place b = reserve_packed(at, 100);
	/* behind the L1 table and 8 L2 tables */
	assert_int_equal(a.host, 65536 + 3200 * 8 + 8 * 512);
	assert_true(b.host > 80 * MIB && b.host % 512 == 0);
}

SINK_TEST(tables_lie_in_front_of_the_data_that_they_describe)
{
	create.size = UINT64_C(2) << 30;
	begin(-1);
	/* The L1 table is cluster 1. Each L2 table is for 512 MiB. */
	struct image_place a = reserve(0, 65536);
	struct image_place b = reserve(512 * MIB, 65536);
	struct image_place c = reserve(1536 * MIB, 65536);
	assert_int_equal(a.host, 3 * 65536);
	assert_int_equal(b.host, 5 * 65536);
	assert_int_equal(c.host, 7 * 65536);
}

SINK_TEST(a_disk_of_unknown_size_gets_its_size_at_the_end)
{
	create.unsized = true;
	create.cluster_size = 512;
	begin(-1);
	reserve(0, 512);
	reserve(3 * MIB, 512);
	assert_ok(sink->ops->resize(sink, 4 * MIB + 1, &err));
	assert_int_equal(sink->size, 4 * MIB + 512);
	assert_ok(sink->ops->finish(sink, &err));
}

SINK_TEST(a_disk_of_unknown_size_that_is_too_large_is_refused)
{
	struct image_place place = {
		.guest = UINT64_C(128) << 30, .length = 512, .stored = 512};

	create.unsized = true;
	create.cluster_size = 512;
	begin(-1);
	assert_int_equal(sink->ops->reserve(sink, &place, &err), -EFBIG);
	assert_string_equal(err.text,
		"its disk needs an L1 table of more than 32 MiB with "
		"cluster_size=512");
	assert_int_equal(
		sink->ops->resize(sink, (UINT64_C(128) << 30) + 1, &err),
		-EFBIG);
}

SINK_TEST(zeros_in_tables_are_not_written)
{
	create.size = UINT64_C(8) << 40;
	begin(-1);
	assert_ok(sink->ops->finish(sink, &err));
	/* a block each of the refcount table and of the counts; the header */
	assert_int_equal(store.bytes, 4096 + 4096 + 512);
}

/* What the qcow2 sink refuses, and with which words. */

#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)
#define EIB (UINT64_C(1) << 60)

static void
expect_text(const char *part)
{
	if (!strstr(err.text, part))
		fail_msg("'%s' is not in '%s'", part, err.text);
}

#define QCOW2 .version = 3, .refcount_bits = 16

SINK_TEST(sizes_and_options_that_no_image_can_have_are_refused)
{
	static const struct {
		struct image_create create;
		/* NULL: the image can be made */
		const char *refused;
	} cases[] = {
		/* a disk is as long as its L1 table allows */
		{{QCOW2, .cluster_size = 512, .size = 128 * GIB}, NULL},
		{{QCOW2, .cluster_size = 512, .size = 128 * GIB + 1},
			"use cluster_size=1024"},
		{{QCOW2, .size = 2048 * TIB}, NULL},
		{{QCOW2, .extended_l2 = true, .size = 2048 * TIB},
			"use cluster_size=131072"},
		{{QCOW2, .extended_l2 = true, .size = 4 * EIB},
			"L1 table of more than 32 MiB"},
		{{QCOW2, .size = INT64_MAX}, "more than qcow2 can hold"},
		/* a refcount table of 16 MiB for data of 64 GiB */
		{{.version = 3,
			 .refcount_bits = 64,
			 .cluster_size = 512,
			 .preallocate = true,
			 .size = 64 * GIB},
			"use cluster_size=1024"},
		/* options that exclude each other */
		{{.version = 2, .refcount_bits = 16}, NULL},
		{{.version = 2, .refcount_bits = 16, .codec = IMAGE_CODEC_ZSTD},
			"compression_type=zstd"},
		{{.version = 2, .refcount_bits = 16, .extended_l2 = true},
			"extended_l2=on"},
		{{.version = 2, .refcount_bits = 8}, "refcount_bits"},
		{{QCOW2, .extended_l2 = true, .cluster_size = 8192},
			"16k or more"},
		{{QCOW2, .extended_l2 = true, .cluster_size = 16384}, NULL},
		{{QCOW2, .compress = true, .preallocate = true},
			"preallocation=metadata"},
		{{QCOW2, .compress = true, .level = 13}, "from 1 to 12"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *refused = cases[i].refused;

		end(NULL);
		test_store_init(&store, -1);
		struct image_sink *made = (struct image_sink *)&store;
		err.text[0] = '\0';
		int rc = qcow2_create(
			&store.store, &cases[i].create, &made, &err);
		assert_int_equal(store.calls, 0);
		if (!refused) {
			assert_ok(rc);
			sink = made;
			continue;
		}
		assert_null(made);
		assert_int_equal(rc, cases[i].create.size ? -EFBIG : -EINVAL);
		expect_text(refused);
	}
}

SINK_TEST(the_size_is_rounded_up_to_a_sector)
{
	static const uint64_t sizes[][2] = {
		{0, 0}, {1, 512}, {512, 512}, {513, 1024}, {65535, 65536}};

	for (size_t i = 0; i < 5; i++) {
		create.size = sizes[i][0];
		begin(-1);
		assert_int_equal(sink->size, sizes[i][1]);
	}
}

/* Without preallocation it depends on the data. */
SINK_TEST(a_refcount_table_that_grows_above_8_mib_is_refused)
{
	uint64_t at = 0;
	int rc = 0;

	if (ASAN) {
		print_message("# 32 GiB in clusters of 512 bytes take too long "
			      "in this build\n");
		skip();
	}
	create.size = 64 * GIB;
	create.cluster_size = 512;
	create.refcount_bits = 64;
	begin(-1);
	while (rc == 0 && at < create.size) {
		struct image_place place = {.guest = at,
			.length = create.size - at,
			.stored = create.size - at};
		rc = sink->ops->reserve(sink, &place, &err);
		at += rc == 0 ? place.length : 0;
	}
	assert_int_equal(rc, -EFBIG);
	expect_text("refcount table of more than 8 MiB");
	expect_text("use cluster_size=1024");
	/* 32 GiB less the metadata */
	assert_true(at > 30 * GIB && at < 32 * GIB);
}

static int
set(const char *name, uint64_t value)
{
	for (const struct image_option *o = qcow2_options; o->name; o++) {
		if (strcmp(o->name, name) == 0) {
			err.text[0] = '\0';
			int rc = qcow2_set(&create, o, value, &err);
			assert_true(rc == 0 || strstr(err.text, name));
			return rc;
		}
	}
	fail_msg("there is no option %s", name);
	return -1;
}

SINK_TEST(every_option_sets_what_it_says)
{
	for (uint64_t bits = 0; bits < 64; bits++) {
		uint64_t value = UINT64_C(1) << bits;
		bool good = bits >= 9 && bits <= 21;
		assert_int_equal(
			set("cluster_size", value), good ? 0 : -EINVAL);
		assert_true(!good || create.cluster_size == value);
		good = bits <= 6;
		assert_int_equal(
			set("refcount_bits", value), good ? 0 : -EINVAL);
		assert_true(!good || create.refcount_bits == value);
	}
	assert_int_equal(set("cluster_size", 0), -EINVAL);
	assert_int_equal(set("cluster_size", 65537), -EINVAL);
	assert_int_equal(set("refcount_bits", 0), -EINVAL);
	assert_int_equal(set("refcount_bits", 3), -EINVAL);
	for (uint64_t word = 0; word < 4; word++) {
		assert_ok(set("compat", word));
		assert_int_equal(create.version, word % 2 ? 3 : 2);
	}
	assert_ok(set("compression_type", 1));
	assert_int_equal(create.codec, IMAGE_CODEC_ZSTD);
	assert_ok(set("compression_type", 0));
	assert_int_equal(create.codec, IMAGE_CODEC_ZLIB);
	assert_ok(set("extended_l2", 1));
	assert_true(create.extended_l2);
	assert_ok(set("preallocation", 1));
	assert_true(create.preallocate);
	assert_ok(set("lazy_refcounts", 0));
	assert_int_equal(set("lazy_refcounts", 1), -EINVAL);
}

/* Writes and allocations of the sinks that fail, and the memory of qcow2. */

/* Allocations so far, the one that fails (0: none), bytes in use, and the most
 * that were. */
static unsigned allocations, fail_allocation;
static size_t in_use, most_in_use;

static void *
allocated(void *memory)
{
	in_use += malloc_usable_size(memory);
	if (in_use > most_in_use)
		most_in_use = in_use;
	return memory;
}

STANDS_FOR(void *, malloc, size_t size)
{
	if (++allocations == fail_allocation)
		return NULL;
	return allocated(__real_malloc(size));
}

STANDS_FOR(void *, calloc, size_t count, size_t size)
{
	if (++allocations == fail_allocation)
		return NULL;
	return allocated(__real_calloc(count, size));
}

STANDS_FOR(void *, aligned_alloc, size_t alignment, size_t size)
{
	if (++allocations == fail_allocation)
		return NULL;
	return allocated(__real_aligned_alloc(alignment, size));
}

STANDS_FOR(void *, realloc, void *memory, size_t size)
{
	if (++allocations == fail_allocation)
		return NULL;
	in_use -= malloc_usable_size(memory);
	return allocated(__real_realloc(memory, size));
}

STANDS_FOR(void, free, void *memory)
{
	in_use -= malloc_usable_size(memory);
	__real_free(memory);
}

/* What a sweep makes. */
struct shape {
	const struct image_format *format;
	struct image_create create;
	/* the store is a pipe */
	bool forward;
};

/* 30 ranges of data, which take two blocks of the list of gce. */
#define MAP "a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-"
#define PARTS 30

static const unsigned char bytes[150 * KIB];

/* The parts of a sink that is one stream. */
static int
append(void)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < PARTS; i++) {
		struct image_packed packed = {.guest = 2 * i * KIB,
			.bytes = bytes,
			.length = KIB,
			.stored = 100};
		rc = sink->ops->append(sink, &packed, &err);
		if (rc == 0 && sink->part)
			rc = sink->ops->gap(sink, &packed, &err);
		if (rc == 0)
			rc = image_sink_write(
				sink, packed.host, bytes, 100, &err);
	}
	return rc;
}

/* qcow2: many places, of which nothing is written; else one of 16 units. */
static int
reserve_shape(const struct shape *shape)
{
	bool writes = shape->format != &image_format_qcow2;
	uint64_t size = shape->create.size, guest = 0;
	int rc = 0;

	while (rc == 0 && guest < size) {
		uint64_t n = sink->compress ? sink->unit : 150 * KIB;
		struct image_place place = {.guest = guest,
			.length = n < size - guest ? n : size - guest,
			.compressed = sink->compress};
		place.stored = !sink->compress ? place.length
			       : writes        ? IMAGE_SECTOR
					       : sink->unit / 3;
		rc = sink->ops->reserve(sink, &place, &err);
		if (rc == 0 && writes)
			rc = image_sink_write(sink, place.host, bytes,
				(size_t)place.stored, &err);
		guest += writes ? 16 * n : place.length;
	}
	return rc;
}

/* Calls of every kind. Returns the first error. */
static int
use_sink(const struct shape *shape)
{
	struct image_store empty = {.name = store.store.name};
	struct fake fake;

	err.text[0] = '\0';
	store.store.forward = shape->forward;
	fake_init(&fake, MAP, KIB, 2 * PARTS * KIB);
	fake.source.store = &empty;
	int rc = shape->create.packing ? image_packed_create(&store.store,
						 &shape->create, &sink, &err)
				       : shape->format->create(&store.store,
						 &shape->create, &sink, &err);
	if (rc < 0) {
		assert_null(sink);
		assert_false(store.closed);
	}
	if (rc == 0 && sink->ops->plan)
		rc = sink->ops->plan(sink, &fake.source, 4096, &err);
	if (rc == 0)
		rc = sink->ops->append ? append() : reserve_shape(shape);
	if (rc == 0 && shape->create.unsized)
		rc = sink->ops->resize(sink, shape->create.size, &err);
	if (rc == 0)
		rc = sink->ops->finish(sink, &err);
	if (sink) {
		end(NULL);
		assert_true(store.closed);
	}
	assert_true(rc == 0 || err.text[0]);
	return rc;
}

/* qcow2 images with many tables. */
#define SMALL_CLUSTERS                                                         \
	.version = 3, .refcount_bits = 64, .cluster_size = 512, .size = 40 * MIB

/* One shape for each way through the code. */
static const struct shape shapes[] = {
	{&image_format_qcow2, {SMALL_CLUSTERS}, false},
	{&image_format_qcow2, {SMALL_CLUSTERS, .compress = true}, false},
	{&image_format_qcow2, {SMALL_CLUSTERS, .preallocate = true}, false},
	{&image_format_vmdk, {.size = 100 * MIB}, false},
	{&image_format_vmdk, {.size = 100 * MIB, .unsized = true}, false},
	{&image_format_vmdk, {.size = 100 * MIB}, true},
	{&image_format_vhd, {.size = 40 * MIB}, false},
	{&image_format_vhd, {.size = 40 * MIB, .unsized = true}, false},
	{&image_format_gce, {.size = 2 * PARTS * KIB}, false},
	{&image_format_raw, {.size = 2 * GIB, .packing = IMAGE_PACKING_GZIP},
		false},
	{&image_format_raw, {.size = 2 * GIB, .packing = IMAGE_PACKING_ZSTD},
		false},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

SINK_TEST(every_failing_write_is_reported)
{
	/* every fifth write, and of each shape others */
	unsigned step = 5;

	for (unsigned i = 0; i < SHAPES; i++) {
		int rc = -ENOSPC;
		for (unsigned at = 1 + i % step; rc < 0; at += step) {
			int fd = test_store_scratch();
			test_store_init(&store, fd);
			store.fail_at = at;
			rc = use_sink(&shapes[i]);
			close(fd);
			assert_true(rc == 0 || rc == -ENOSPC || rc == -EFBIG);
			/* the last run has fewer calls */
			assert_true(
				rc < 0 ? store.calls == at : store.calls < at);
		}
		assert_true(store.calls >= 5);
	}
}

SINK_TEST(every_failing_allocation_is_reported_and_leaks_nothing)
{
	int fd = test_store_scratch();

	for (size_t i = 0; i < SHAPES; i++) {
		unsigned failed = 0;
		int rc;
		do {
			size_t before = in_use;
			test_store_init(&store, fd);
			allocations = 0;
			fail_allocation = ++failed;
			rc = use_sink(&shapes[i]);
			fail_allocation = 0;
			assert_true(rc == 0 || rc == -ENOMEM);
			assert_int_equal(in_use, before);
		} while (rc < 0);
		assert_true(failed == allocations + 1 && failed > 1);
	}
	close(fd);
}

/* Bytes that a disk with so many runs of data needs at most. */
static size_t
memory_for(uint64_t runs)
{
	size_t before = in_use;

	create.size = 256 * GIB;
	most_in_use = in_use;
	begin(-1);
	for (uint64_t i = 0; i < runs; i++) {
		struct image_place place = {
			.guest = i * 2 * 65536, .length = 512, .stored = 512};
		assert_ok(sink->ops->reserve(sink, &place, &err));
	}
	assert_ok(sink->ops->finish(sink, &err));
	end(NULL);
	return most_in_use - before;
}

SINK_TEST(many_runs_take_no_more_memory_than_ten)
{
	size_t few = memory_for(10);
	size_t many = memory_for(MIB / 4);
	assert_true(few < 4 * MIB);
	/* but for 8 bytes for each block of 32768 reference counts */
	assert_true(many <= few + 4096);
}
