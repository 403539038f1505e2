/* SPDX-License-Identifier: BSD-3-Clause */
/* image_digest() of disks that are made up. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "fake.h"
#include "hash/hash.h"
#include "support.h"

#define CHUNK ((uint64_t)1 << 20)

static unsigned threads_made;
static unsigned threads_allowed = UINT32_MAX;

STANDS_FOR(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr,
	void *(*start)(void *), void *arg)
{
	if (threads_made == threads_allowed)
		return EAGAIN;
	threads_made++;
	return __real_pthread_create(thread, attr, start, arg);
}

struct made {
	struct image_digests digests;
	struct image_error err;
	uint64_t progress;
	unsigned calls;
};

static void
note(void *opaque, uint64_t done)
{
	struct made *made = opaque;
	assert_true(done >= made->progress);
	made->progress = done;
	made->calls++;
}

static int
digest(struct fake *fake, unsigned threads, size_t algorithms,
	struct made *made)
{
	struct image_run run = {.block = 4096,
		.threads = threads,
		.progress = note,
		.opaque = made};

	*made = (struct made){.digests = {.count = algorithms}};
	for (size_t i = 0; i < algorithms; i++)
		made->digests.list[i].algorithm = image_algorithm(i);
	threads_made = 0;
	return image_digest(&fake->source, &run, &made->digests, &made->err);
}

/* Hash the bytes of the disk in one call. */
static void
check_against_bytes(const struct fake *fake, const struct made *made)
{
	size_t size = (size_t)fake->source.size;
	unsigned char *bytes = malloc(size + 1);
	unsigned char expected[IMAGE_DIGEST_MAX];
	struct image_error err;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = fake_byte(fake, i);
	for (size_t i = 0; i < made->digests.count; i++) {
		struct image_hash *hash;
		const struct image_algorithm *algorithm =
			made->digests.list[i].algorithm;
		assert_int_equal(image_hash_create(&hash, algorithm, &err), 0);
		assert_int_equal(image_hash_begin(hash, &err), 0);
		assert_int_equal(image_hash_add(hash, bytes, size, &err), 0);
		assert_int_equal(image_hash_end(hash, expected, &err), 0);
		image_hash_destroy(hash);
		assert_memory_equal(made->digests.list[i].bytes, expected,
			image_algorithm_length(algorithm));
	}
	free(bytes);
}

TEST(random_disks_are_hashed_as_their_bytes)
{
	static const uint64_t looks[] = {0, 512, 70000, 1 << 20};
	uint64_t random = support_seed();
	char map[41];

	for (int i = 0; i < 24; i++) {
		struct fake fake;
		struct made made;
		for (int k = 0; k < 40; k++)
			map[k] = "x-y0z-"[support_below(&random, 6)];
		map[40] = '\0';
		fake_init(&fake, map, 65536, 40 * 65536);
		fake.look = looks[support_below(&random, 4)];
		fake.source.size -= support_below(&random, 5) * 32767;
		assert_int_equal(digest(&fake, 1 + (unsigned)i % 4,
					 1 + (size_t)i % 3, &made),
			0);
		check_against_bytes(&fake, &made);
		fake_destroy(&fake);
	}
}

TEST(holes_are_hashed_and_not_read)
{
	struct fake fake;
	struct made made;

	fake_init(&fake, "-0--", 3 * CHUNK + 5, 12 * CHUNK + 20);
	assert_int_equal(digest(&fake, 2, 1, &made), 0);
	check_against_bytes(&fake, &made);
	assert_int_equal(fake.n_reads, 0);
	/* the progress of a long hole is reported on the way */
	assert_int_equal(made.progress >> 20, 12);
	assert_true(made.calls >= 12);
	fake_destroy(&fake);

	fake_init(&fake, "-x-x", CHUNK / 4, CHUNK);
	assert_int_equal(digest(&fake, 1, 2, &made), 0);
	check_against_bytes(&fake, &made);
	assert_int_equal(fake.n_reads, 2);
	assert_int_equal(fake.reads[0].length, CHUNK / 4);
	fake_destroy(&fake);
}

TEST(an_empty_disk_has_the_digest_of_no_bytes)
{
	struct fake fake;
	struct made made;

	fake_init(&fake, "x", 512, 0);
	assert_int_equal(digest(&fake, 1, 3, &made), 0);
	check_against_bytes(&fake, &made);
	fake_destroy(&fake);
}

static struct fake_gate later_was_read = FAKE_GATE;

static void
note_a_later_read(void *opaque, uint64_t offset, size_t length)
{
	(void)opaque;
	(void)length;
	if (offset >= 2 * CHUNK)
		fake_open(&later_was_read);
}

static void
hold_the_first_hash(void *opaque, uint64_t done)
{
	(void)opaque;
	if (done == CHUNK)
		fake_wait(&later_was_read);
}

/* Hangs if a chunk that is hashed stops the others. */
TEST(chunks_are_read_while_another_one_is_hashed)
{
	struct image_run run = {
		.block = 4096, .threads = 2, .progress = hold_the_first_hash};
	struct made made = {.digests = {.count = 1}};
	struct fake fake;

	made.digests.list[0].algorithm = image_algorithm(0);
	fake_init(&fake, "xxxx", CHUNK, 4 * CHUNK);
	fake.on_read = note_a_later_read;
	assert_int_equal(
		image_digest(&fake.source, &run, &made.digests, &made.err), 0);
	check_against_bytes(&fake, &made);
	fake_destroy(&fake);
}

/* The caller's thread hashes by one of them, or by all. */
TEST(each_algorithm_but_one_has_a_thread_if_there_are_threads)
{
	struct fake fake;
	struct made made;

	fake_init(&fake, "x-yy", CHUNK, 4 * CHUNK);
	assert_int_equal(digest(&fake, 1, IMAGE_ALGORITHMS, &made), 0);
	assert_int_equal(threads_made, IMAGE_ALGORITHMS - 1);
	check_against_bytes(&fake, &made);
	for (threads_allowed = 0; threads_allowed < 3; threads_allowed++) {
		assert_int_equal(digest(&fake, 2, 3, &made), 0);
		assert_int_equal(threads_made, threads_allowed);
		check_against_bytes(&fake, &made);
	}
	threads_allowed = UINT32_MAX;
	fake_destroy(&fake);
}

TEST(failures_of_a_digest_are_reported)
{
	struct fake fake;
	struct made made;

	for (unsigned threads = 1; threads <= 3; threads++) {
		fake_init(&fake, "x-xx", CHUNK, 4 * CHUNK);
		fake.look = 4096;
		fake.fail_extent = 3 * CHUNK + 4096;
		assert_int_equal(digest(&fake, threads, 2, &made), -EINVAL);
		fake.fail_extent = 0;
		fake.fail_read = 2 * CHUNK + 4096;
		assert_int_equal(digest(&fake, threads, 2, &made), -EIO);
		assert_string_equal(made.err.text, "read failed");
		fake.fail_read = 0;
		fake.changed = true;
		assert_int_equal(digest(&fake, threads, 2, &made), -EIO);
		assert_string_equal(made.err.text, "changed");
		fake_destroy(&fake);
	}
}

static atomic_uint hashes_allowed = UINT32_MAX;

STANDS_FOR(int, image_hash_add, struct image_hash *hash, const void *bytes,
	size_t length, struct image_error *err)
{
	unsigned left = atomic_load(&hashes_allowed);
	if (left == 0)
		return image_no_memory(err);
	if (left != UINT32_MAX)
		atomic_store(&hashes_allowed, left - 1);
	return __real_image_hash_add(hash, bytes, length, err);
}

TEST(a_hash_that_fails_is_reported)
{
	struct fake fake;
	struct made made;

	fake_init(&fake, "xxx-", CHUNK, 4 * CHUNK);
	for (unsigned failing = 0; failing < 20; failing++) {
		hashes_allowed = failing;
		assert_int_equal(digest(&fake, 1, 1, &made), -ENOMEM);
		assert_string_equal(
			made.err.text, "there is not enough memory");
	}
	hashes_allowed = UINT32_MAX;
	fake_destroy(&fake);
}

/* A compressed cluster of 2 MiB would else be decompressed for each half. */
TEST(a_unit_is_hashed_from_one_read)
{
	struct fake fake;
	struct made made;

	fake_init(&fake, "xx", 2 * CHUNK, 4 * CHUNK);
	fake.source.unit = 2 * CHUNK;
	assert_int_equal(digest(&fake, 1, 1, &made), 0);
	assert_int_equal(fake.n_reads, 2);
	assert_int_equal(fake.reads[1].length, 2 * CHUNK);
	check_against_bytes(&fake, &made);
	fake_destroy(&fake);
}
