/* SPDX-License-Identifier: BSD-3-Clause */
/* What the qcow2 sink promises that its files do not show. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "format/qcow2/sink.h"
#include "support.h"
#include "fake_store.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

static const struct image_create defaults = {.version = 3, .refcount_bits = 16};

/* fd -1: what is written is dropped. */
static struct image_sink *
create_sink(struct test_store *store, int fd, const struct image_create *create)
{
	struct image_error err = {0};
	struct image_sink *sink;

	test_store_init(store, fd);
	if (qcow2_create(&store->store, create, &sink, &err) != 0)
		fail_msg("%s", err.text);
	return sink;
}

/* Reserve the range; what was reserved of it is returned in place. */
static struct image_place
reserve(struct image_sink *sink, uint64_t guest, uint64_t length)
{
	struct image_error err = {0};
	struct image_place place = {
		.guest = guest, .length = length, .stored = length};

	if (sink->ops->reserve(sink, &place, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(place.length > 0 && place.length <= length);
	assert_int_equal(place.stored, place.length);
	return place;
}

static struct image_place
reserve_packed(struct image_sink *sink, uint64_t guest, uint64_t stored)
{
	struct image_error err = {0};
	struct image_place place = {.guest = guest,
		.length = sink->unit,
		.stored = stored,
		.compressed = true};

	if (sink->ops->reserve(sink, &place, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(place.stored, stored);
	return place;
}

TEST(the_header_is_written_last_and_by_itself)
{
	struct image_create create = defaults;
	struct image_error err;
	struct test_store store;
	int fd = test_store_scratch();

	create.size = 10 * MIB;
	struct image_sink *sink = create_sink(&store, fd, &create);
	reserve(sink, 0, MIB);
	assert_int_equal(sink->ops->finish(sink, &err), 0);
	assert_true(store.last_was_write);
	assert_int_equal(store.last_offset, 0);
	assert_int_equal(store.last_length, 512);
	sink->ops->close(sink);
	assert_true(store.closed);
	close(fd);
}

TEST(a_cluster_that_is_partly_a_hole_has_one_place)
{
	struct image_create create = defaults;
	struct test_store store;

	create.size = 10 * MIB;
	for (int extended = 0; extended < 2; extended++) {
		create.extended_l2 = extended;
		struct image_sink *sink = create_sink(&store, -1, &create);
		assert_int_equal(sink->unit, extended ? 2048 : 65536);
		struct image_place a = reserve(sink, 0, 512);
		struct image_place b = reserve(sink, 8192, 512);
		/* from inside this cluster to inside the next but one */
		struct image_place c = reserve(sink, 65024, 66560);
		struct image_place d = reserve(sink, 131584, 512);
		assert_int_equal(b.host, a.host + 8192);
		assert_int_equal(c.host, a.host + 65024);
		assert_int_equal(c.length, 66560);
		assert_int_equal(d.host, a.host + 131584);
		sink->ops->close(sink);
	}
}

TEST(a_place_ends_where_tables_come_between)
{
	struct image_create create = defaults;
	struct test_store store;
	uint64_t at = 0, before = 0;
	unsigned parts = 0;

	/* Small L2 tables lie in groups for 256 KiB of data. */
	create.cluster_size = 512;
	create.size = 200 * MIB;
	struct image_sink *sink = create_sink(&store, -1, &create);
	for (; at < create.size; parts++) {
		struct image_place place = reserve(sink, at, create.size - at);
		assert_true(place.host > before);
		before = place.host + place.length - 1;
		at += place.length;
	}
	assert_true(parts >= 800 && parts < 810);
	sink->ops->close(sink);
}

TEST(compressed_clusters_are_packed_without_gaps)
{
	struct image_create create = defaults;
	struct test_store store;

	create.size = 10 * MIB;
	create.compress = true;
	struct image_sink *sink = create_sink(&store, -1, &create);
	assert_int_equal(sink->codec.level, 1);
	struct image_place a = reserve_packed(sink, 0, 40000);
	struct image_place b = reserve_packed(sink, 65536, 40000);
	struct image_place c = reserve_packed(sink, 131072, 100);
	/* behind the L1 table and the L2 table */
	assert_int_equal(a.host, 3 * 65536);
	assert_int_equal(b.host, a.host + 40000);
	assert_int_equal(c.host, b.host + 40000);
	/* one that cannot be compressed is aligned, and what is left of the
	 * cluster before it takes what fits */
	struct image_place d = reserve(sink, 196608, 65536);
	assert_int_equal(d.host, 5 * 65536);
	struct image_place e = reserve_packed(sink, 262144, 100);
	assert_int_equal(e.host, c.host + 100);
	/* the next cluster is not adjacent */
	struct image_place f = reserve_packed(sink, 327680, 60000);
	assert_int_equal(f.host, 6 * 65536);
	sink->ops->close(sink);
}

TEST(packing_begins_a_cluster_if_the_count_of_the_last_one_is_written)
{
	struct image_create create = defaults;
	struct test_store store;
	uint64_t at = 512;

	/* 1 MiB of refcount blocks counts 64 MiB */
	create.cluster_size = 512;
	create.refcount_bits = 64;
	create.size = 100 * MIB;
	create.compress = true;
	struct image_sink *sink = create_sink(&store, -1, &create);
	struct image_place a = reserve_packed(sink, 0, 100);
	while (at < 80 * MIB)
		at += reserve(sink, at, 80 * MIB - at).length;
	struct image_place b = reserve_packed(sink, at, 100);
	/* behind the L1 table and 8 L2 tables */
	assert_int_equal(a.host, 65536 + 3200 * 8 + 8 * 512);
	assert_true(b.host > 80 * MIB && b.host % 512 == 0);
	sink->ops->close(sink);
}

TEST(tables_lie_in_front_of_the_data_that_they_describe)
{
	struct image_create create = defaults;
	struct test_store store;

	create.size = UINT64_C(2) << 30;
	struct image_sink *sink = create_sink(&store, -1, &create);
	/* The L1 table is cluster 1. Each L2 table is for 512 MiB. */
	struct image_place a = reserve(sink, 0, 65536);
	struct image_place b = reserve(sink, 512 * MIB, 65536);
	struct image_place c = reserve(sink, 1536 * MIB, 65536);
	assert_int_equal(a.host, 3 * 65536);
	assert_int_equal(b.host, 5 * 65536);
	assert_int_equal(c.host, 7 * 65536);
	sink->ops->close(sink);
}

TEST(a_disk_of_unknown_size_gets_its_size_at_the_end)
{
	struct image_create create = defaults;
	struct image_error err;
	struct test_store store;

	create.unsized = true;
	create.cluster_size = 512;
	struct image_sink *sink = create_sink(&store, -1, &create);
	reserve(sink, 0, 512);
	reserve(sink, 3 * MIB, 512);
	assert_int_equal(sink->ops->resize(sink, 4 * MIB + 1, &err), 0);
	assert_int_equal(sink->size, 4 * MIB + 512);
	assert_int_equal(sink->ops->finish(sink, &err), 0);
	sink->ops->close(sink);
}

TEST(a_disk_of_unknown_size_that_is_too_large_is_refused)
{
	struct image_create create = defaults;
	struct image_error err;
	struct test_store store;
	struct image_place place = {
		.guest = UINT64_C(128) << 30, .length = 512, .stored = 512};

	create.unsized = true;
	create.cluster_size = 512;
	struct image_sink *sink = create_sink(&store, -1, &create);
	assert_int_equal(sink->ops->reserve(sink, &place, &err), -EFBIG);
	assert_string_equal(err.text,
		"its disk needs an L1 table of more than 32 MiB with "
		"cluster_size=512");
	assert_int_equal(
		sink->ops->resize(sink, (UINT64_C(128) << 30) + 1, &err),
		-EFBIG);
	sink->ops->close(sink);
}

TEST(zeros_in_tables_are_not_written)
{
	struct image_create create = defaults;
	struct image_error err;
	struct test_store store;

	create.size = UINT64_C(8) << 40;
	struct image_sink *sink = create_sink(&store, -1, &create);
	assert_int_equal(sink->ops->finish(sink, &err), 0);
	/* a block each of the refcount table and of the counts; the header */
	assert_int_equal(store.bytes, 4096 + 4096 + 512);
	sink->ops->close(sink);
}
