/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that a producer fills in any order, and the tap that sees them in
 * order. */
#include <endian.h>
#include "blocks/cache.h"
#include "fakes.h"
#include "support.h"

#define SIZE ((size_t)40 * 1024 * 1024 + 777)
#define REQUESTS 1024

/* Answers the requests that wait in a random order. */
struct server {
	struct image_blocks blocks;
	pthread_t thread;
	/* Under the lock of the blocks. */
	bool stop;
	struct {
		uint64_t begin;
		uint64_t end;
	} waiting[REQUESTS];
	size_t n_waiting;
	unsigned n_requests;
	uint64_t requested;
	/* bytes from here on fail */
	uint64_t bad;
	uint64_t seed;
};

/* No two sectors are equal. By words, for a build with a sanitizer. */
static unsigned char *
all_bytes(void)
{
	static uint64_t words[SIZE / 8 + 1];

	if (!words[1])
		for (size_t i = 0; i < SIZE / 8 + 1; i++)
			words[i] = htole64(i * UINT64_C(0x9e3779b97f4a7c15));
	return (unsigned char *)words;
}

static bool
fake_request(
	struct image_blocks *blocks, uint64_t begin, uint64_t end, bool urgent)
{
	struct server *fake = (struct server *)blocks;

	(void)urgent;
	assert_true(fake->n_waiting < REQUESTS);
	fake->waiting[fake->n_waiting].begin = begin;
	fake->waiting[fake->n_waiting++].end = end;
	fake->requested += end - begin;
	fake->n_requests++;
	blocks->wakes = true;
	return true;
}

/* Nobody has the lock while a thread is woken. */
static bool
fake_wake(struct image_blocks *blocks)
{
	pthread_mutex_lock(&blocks->lock);
	pthread_cond_broadcast(&blocks->changed);
	pthread_mutex_unlock(&blocks->lock);
	return true;
}

/* With the lock. */
static void
fill(struct server *fake, uint64_t at, uint64_t end)
{
	struct image_blocks *b = &fake->blocks;
	struct image_error err;

	for (; at < end && b->rc == 0; at += BLOCK) {
		struct block *block = blocks_find(b, at / BLOCK);
		size_t n = end - at < BLOCK ? (size_t)(end - at) : BLOCK;
		assert_non_null(block);
		assert_int_equal(block->state, BLOCK_COMING);
		if (at >= fake->bad) {
			blocks_fail(b,
				image_fail(&err, "fake", -EBADMSG, "is lost"),
				&err);
			return;
		}
		pthread_mutex_unlock(&b->lock);
		memcpy(block->bytes, all_bytes() + at, n);
		pthread_mutex_lock(&b->lock);
		blocks_came(b, block, n);
	}
}

static void *
fake_run(void *opaque)
{
	struct server *fake = opaque;

	pthread_mutex_lock(&fake->blocks.lock);
	while (!fake->stop) {
		if (fake->n_waiting == 0) {
			pthread_cond_wait(
				&fake->blocks.changed, &fake->blocks.lock);
			continue;
		}
		size_t i = support_below(&fake->seed, fake->n_waiting);
		uint64_t begin = fake->waiting[i].begin;
		uint64_t end = fake->waiting[i].end;
		fake->waiting[i] = fake->waiting[--fake->n_waiting];
		fill(fake, begin, end);
	}
	pthread_mutex_unlock(&fake->blocks.lock);
	return NULL;
}

static void
fake_close(struct image_blocks *blocks)
{
	struct server *fake = (struct server *)blocks;

	pthread_mutex_lock(&blocks->lock);
	fake->stop = true;
	pthread_cond_broadcast(&blocks->changed);
	pthread_mutex_unlock(&blocks->lock);
	pthread_join(fake->thread, NULL);
}

static const struct block_producer producer = {
	fake_request, fake_wake, fake_close};

/* The store of a test, its producer, and the last error. */
static struct image_store *store;
static struct server *fake;
static struct image_error failure;

FIXTURE(end)
{
	image_store_close(store);
	store = NULL;
	return 0;
}

#define RANGES_TEST(name) TEST_WITH(name, NULL, end)

static void
begin(uint64_t memory)
{
	fake = calloc(1, sizeof(*fake));
	assert_non_null(fake);
	all_bytes();
	assert_ok(blocks_create(&fake->blocks, memory));
	fake->blocks.producer = &producer;
	fake->blocks.store.name = strdup("fake");
	fake->blocks.store.size = fake->blocks.end = SIZE;
	fake->bad = UINT64_MAX;
	fake->seed = support_seed();
	assert_ok(pthread_create(&fake->thread, NULL, fake_run, fake));
	store = &fake->blocks.store;
}

static int
read_byte(uint64_t offset)
{
	unsigned char byte;

	return image_store_read(store, offset, &byte, 1, &failure);
}

/* A tap that compares what it sees with all bytes. */
static struct witness {
	struct image_tap tap;
	size_t seen;
	bool ended;
	bool closed;
} witness;

static int
witness_see(struct image_tap *tap, const void *bytes, size_t length,
	struct image_error *err)
{
	unsigned char byte;

	(void)tap;
	/* Nobody has the lock while the tap sees bytes. */
	if (witness.seen &&
		image_store_read(store, witness.seen - 1, &byte, 1, err) < 0)
		return -EDEADLK;
	if (witness.ended || length > SIZE - witness.seen ||
		(length &&
			memcmp(bytes, all_bytes() + witness.seen, length) != 0))
		return image_fail(err, "fake", -EILSEQ, "is out of order");
	witness.seen += length;
	witness.ended = length == 0;
	return 0;
}

static void
witness_close(struct image_tap *tap)
{
	(void)tap;
	witness.closed = true;
}

/* From now on the tap sees the bytes in their order. */
static void
begin_order(void)
{
	struct image_store *before = store;

	witness = (struct witness){.tap = {witness_see, witness_close}};
	assert_ok(image_blocks_once(&store, 0, &witness.tap, &failure));
	assert_ptr_equal(store, before);
	assert_true(store->forward);
}

static void
begin_sequence(uint64_t memory)
{
	begin(memory);
	begin_order();
}

RANGES_TEST(threads_read_ranges_anywhere_in_little_memory)
{
	begin(BLOCK);
	fake_read_by_threads(store, all_bytes(), SIZE, 0);
	assert_int_equal(fake->blocks.n_blocks, 8);
}

RANGES_TEST(each_byte_is_requested_once_and_passes_the_tap_once)
{
	begin_sequence(48 << 20);
	fake_read_by_threads(store, all_bytes(), SIZE, 300000);
	assert_ok(image_store_unchanged(store, &failure));
	assert_true(witness.ended && witness.seen == SIZE);
	assert_int_equal(fake->requested, SIZE);
	end(NULL);
	assert_true(witness.closed);
}

RANGES_TEST(what_is_released_needs_the_memory_of_what_is_ahead)
{
	static unsigned char buf[300000];

	begin_sequence(48 << 20);
	for (size_t at = 0; at + sizeof(buf) < SIZE; at += sizeof(buf)) {
		assert_ok(image_store_read(
			store, at, buf, sizeof(buf), &failure));
		image_store_release(store, 0, at + sizeof(buf));
	}
	assert_true(fake->blocks.n_blocks * BLOCK <= BLOCKS_AHEAD + (4 << 20));
}

/* Also of reads that are no whole sectors. */
RANGES_TEST(a_stream_needs_the_memory_of_what_is_ahead)
{
	struct image_stream *stream;
	unsigned char buf[50001];
	size_t got = 1, at = 0;

	begin(48 << 20);
	assert_ok(image_stream_of_store(store, &stream, &failure));
	while (got) {
		assert_ok(image_stream_read(
			stream, buf, sizeof(buf), &got, &failure));
		assert_memory_equal(buf, all_bytes() + at, got);
		at += got;
	}
	assert_int_equal(at, SIZE);
	assert_int_equal(fake->requested, SIZE);
	assert_true(fake->blocks.n_blocks * BLOCK <= BLOCKS_AHEAD + (1 << 20));
	image_stream_close(stream);
	store = NULL;
}

RANGES_TEST(a_read_at_the_end_moves_what_is_needed_to_a_file)
{
	static const struct image_spill spill = {"/tmp", NULL, NULL};
	unsigned char byte;

	begin_sequence(20 << 20);
	image_blocks_spill(store, &spill);
	assert_ok(image_store_read(store, SIZE - 1, &byte, 1, &failure));
	assert_int_equal(byte, all_bytes()[SIZE - 1]);
	fake_read_by_threads(store, all_bytes(), SIZE, 300000);
	assert_int_equal(fake->requested, SIZE);
	assert_true(fake->blocks.fd >= 0);
}

RANGES_TEST(what_is_requested_ahead_moves_nothing_to_a_file)
{
	static const struct image_spill spill = {"/tmp", NULL, NULL};

	begin_sequence(20 << 20);
	struct image_blocks *b = &fake->blocks;
	image_blocks_spill(store, &spill);
	for (size_t at = 0; at < 19 << 20; at += BLOCK)
		assert_ok(read_byte(at));
	assert_int_equal(b->fd, -1);
	assert_ok(read_byte(SIZE - 1));
	assert_true(b->fd >= 0 && b->n_blocks <= b->max_blocks);
}

RANGES_TEST(an_inspected_sequence_takes_few_requests_and_nothing_ahead)
{
	begin_sequence(48 << 20);
	fake->blocks.inspect = true;
	assert_ok(read_byte(7 * BLOCK - 1));
	/* of 1, 2 and 4 blocks */
	assert_int_equal(fake->n_requests, 3);
	assert_int_equal(fake->requested, 7 * BLOCK);
}

RANGES_TEST(what_was_read_before_the_order_passes_the_tap)
{
	begin(48 << 20);
	for (size_t at = 0; at < SIZE; at += SIZE / 7)
		assert_ok(read_byte(at));
	begin_order();
	fake_read_by_threads(store, all_bytes(), SIZE, 300000);
	assert_ok(image_blocks_drain(store, &failure));
	assert_true(witness.ended && witness.seen == SIZE);
	assert_int_equal(fake->requested, SIZE);
}

RANGES_TEST(drained_bytes_pass_the_tap_and_take_no_memory)
{
	begin_sequence(20 << 20);
	assert_ok(read_byte(5));
	assert_ok(image_blocks_drain(store, &failure));
	assert_true(witness.ended && witness.seen == SIZE);
	assert_ok(read_byte(5));
	assert_int_equal(read_byte(SIZE / 2), -ESPIPE);
}

RANGES_TEST(bytes_before_a_failure_pass_and_later_ones_fail)
{
	begin_sequence(48 << 20);
	fake->bad = 3 * BLOCK;
	fake->requested = 0;
	assert_ok(read_byte(0));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(read_byte(3 * BLOCK), -EBADMSG);
		assert_string_equal(failure.text, "is lost");
	}
	assert_ok(read_byte(witness.seen - 1));
	assert_true(witness.seen <= 3 * BLOCK && !witness.ended);
	assert_int_equal(image_store_unchanged(store, &failure), -EBADMSG);
}

RANGES_TEST(a_tap_that_refuses_ends_the_store)
{
	begin_sequence(48 << 20);
	witness.ended = true;
	for (int i = 0; i < 2; i++)
		assert_int_equal(read_byte(SIZE / 2), -EILSEQ);
	assert_int_equal(image_store_unchanged(store, &failure), -EILSEQ);
}
