/* SPDX-License-Identifier: BSD-3-Clause */
/* What the qcow2 sink refuses, and with which words. */
#include <errno.h>
#include <string.h>
#include "format/qcow2/sink.h"
#include "support.h"
#include "fake_store.h"

#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)
#define EIB (UINT64_C(1) << 60)

static const struct image_create defaults = {.version = 3, .refcount_bits = 16};

static void
expect_text(const struct image_error *err, const char *part)
{
	if (part && !strstr(err->text, part))
		fail_msg("'%s' is not in '%s'", part, err->text);
}

/* part: NULL if the image can be made. */
static void
expect_create(struct image_create create, int code, const char *part)
{
	struct image_error err = {0};
	struct test_store store;
	struct image_sink *sink;

	test_store_init(&store, -1);
	int rc = qcow2_create(&store.store, &create, &sink, &err);
	if (rc != code)
		fail_msg("%d, not %d: %s", rc, code, err.text);
	assert_int_equal(store.calls, 0);
	if (rc == 0) {
		sink->ops->close(sink);
		return;
	}
	assert_null(sink);
	assert_non_null(part);
	expect_text(&err, part);
}

TEST(a_disk_is_as_long_as_its_l1_table_allows)
{
	struct image_create create = defaults;

	create.cluster_size = 512;
	create.size = 128 * GIB;
	expect_create(create, 0, NULL);
	create.size++;
	expect_create(create, -EFBIG, "use cluster_size=1024");
	create.cluster_size = 65536;
	create.size = 2048 * TIB;
	expect_create(create, 0, NULL);
	create.extended_l2 = true;
	expect_create(create, -EFBIG, "use cluster_size=131072");
	create.size = 4 * EIB;
	expect_create(create, -EFBIG, "L1 table of more than 32 MiB");
	create.size = INT64_MAX;
	expect_create(create, -EFBIG, "more than qcow2 can hold");
}

TEST(the_size_is_rounded_up_to_a_sector)
{
	static const uint64_t sizes[][2] = {
		{0, 0}, {1, 512}, {512, 512}, {513, 1024}, {65535, 65536}};

	for (size_t i = 0; i < 5; i++) {
		struct image_create create = defaults;
		struct image_error err;
		struct test_store store;
		struct image_sink *sink;
		create.size = sizes[i][0];
		test_store_init(&store, -1);
		assert_int_equal(
			qcow2_create(&store.store, &create, &sink, &err), 0);
		assert_int_equal(sink->size, sizes[i][1]);
		sink->ops->close(sink);
	}
}

/* 64 GiB of data in clusters of 512 bytes would take a refcount table of
 * 16 MiB with counts of 64 bits. */
TEST(a_refcount_table_of_more_than_8_mib_is_refused_before_a_write)
{
	struct image_create create = defaults;

	create.size = 64 * GIB;
	create.cluster_size = 512;
	create.refcount_bits = 64;
	create.preallocate = true;
	expect_create(create, -EFBIG, "use cluster_size=1024");
}

/* Without preallocation it depends on the data. */
TEST(a_refcount_table_that_grows_above_8_mib_is_refused)
{
	struct image_create create = defaults;
	struct image_error err = {0};
	struct test_store store;
	struct image_sink *sink;
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
	test_store_init(&store, -1);
	assert_int_equal(qcow2_create(&store.store, &create, &sink, &err), 0);
	while (rc == 0 && at < create.size) {
		struct image_place place = {.guest = at,
			.length = create.size - at,
			.stored = create.size - at};
		rc = sink->ops->reserve(sink, &place, &err);
		at += rc == 0 ? place.length : 0;
	}
	assert_int_equal(rc, -EFBIG);
	expect_text(&err, "refcount table of more than 8 MiB");
	expect_text(&err, "use cluster_size=1024");
	/* 32 GiB less the metadata */
	assert_true(at > 30 * GIB && at < 32 * GIB);
	sink->ops->close(sink);
}

TEST(options_that_exclude_each_other_are_refused)
{
	struct image_create create = defaults;

	create.version = 2;
	expect_create(create, 0, NULL);
	create.codec = IMAGE_CODEC_ZSTD;
	expect_create(create, -EINVAL, "compression_type=zstd");
	create.codec = IMAGE_CODEC_ZLIB;
	create.extended_l2 = true;
	expect_create(create, -EINVAL, "extended_l2=on");
	create.extended_l2 = false;
	create.refcount_bits = 8;
	expect_create(create, -EINVAL, "refcount_bits");

	create = defaults;
	create.extended_l2 = true;
	create.cluster_size = 8192;
	expect_create(create, -EINVAL, "16k or more");
	create.cluster_size = 16384;
	expect_create(create, 0, NULL);

	create = defaults;
	create.compress = create.preallocate = true;
	expect_create(create, -EINVAL, "preallocation=metadata");
	create.preallocate = false;
	create.level = 13;
	expect_create(create, -EINVAL, "from 1 to 12");
}

static int
set(struct image_create *create, const char *name, uint64_t value)
{
	struct image_error err = {0};

	for (const struct image_option *o = qcow2_options; o->name; o++) {
		if (strcmp(o->name, name) == 0) {
			int rc = qcow2_set(create, o, value, &err);
			assert_true(rc == 0 || strstr(err.text, name));
			return rc;
		}
	}
	fail_msg("there is no option %s", name);
	return -1;
}

TEST(every_option_sets_what_it_says)
{
	struct image_create create = defaults;

	for (uint64_t bits = 0; bits < 64; bits++) {
		uint64_t value = UINT64_C(1) << bits;
		bool good = bits >= 9 && bits <= 21;
		assert_int_equal(set(&create, "cluster_size", value),
			good ? 0 : -EINVAL);
		assert_true(!good || create.cluster_size == value);
		good = bits <= 6;
		assert_int_equal(set(&create, "refcount_bits", value),
			good ? 0 : -EINVAL);
		assert_true(!good || create.refcount_bits == value);
	}
	assert_int_equal(set(&create, "cluster_size", 0), -EINVAL);
	assert_int_equal(set(&create, "cluster_size", 65537), -EINVAL);
	assert_int_equal(set(&create, "refcount_bits", 0), -EINVAL);
	assert_int_equal(set(&create, "refcount_bits", 3), -EINVAL);
	for (uint64_t word = 0; word < 4; word++) {
		assert_int_equal(set(&create, "compat", word), 0);
		assert_int_equal(create.version, word % 2 ? 3 : 2);
	}
	assert_int_equal(set(&create, "compression_type", 1), 0);
	assert_int_equal(create.codec, IMAGE_CODEC_ZSTD);
	assert_int_equal(set(&create, "compression_type", 0), 0);
	assert_int_equal(create.codec, IMAGE_CODEC_ZLIB);
	assert_int_equal(set(&create, "extended_l2", 1), 0);
	assert_true(create.extended_l2);
	assert_int_equal(set(&create, "preallocation", 1), 0);
	assert_true(create.preallocate);
	assert_int_equal(set(&create, "lazy_refcounts", 0), 0);
	assert_int_equal(set(&create, "lazy_refcounts", 1), -EINVAL);
}
