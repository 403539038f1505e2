/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that a producer fills in any order, and the tap that sees them in
 * order. */
#include <endian.h>
#include "blocks/cache.h"
#include "support.h"

#define SIZE ((size_t)40 * 1024 * 1024 + 777)
#define REQUESTS 1024

/* Answers the requests that wait in a random order. */
struct fake {
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
	unsigned seed;
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
	struct fake *fake = (struct fake *)blocks;

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
static void
fake_wake(struct image_blocks *blocks)
{
	pthread_mutex_lock(&blocks->lock);
	pthread_cond_broadcast(&blocks->changed);
	pthread_mutex_unlock(&blocks->lock);
}

/* With the lock. */
static void
fill(struct fake *fake, uint64_t at, uint64_t end)
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
	struct fake *fake = opaque;

	pthread_mutex_lock(&fake->blocks.lock);
	while (!fake->stop) {
		if (fake->n_waiting == 0) {
			pthread_cond_wait(
				&fake->blocks.changed, &fake->blocks.lock);
			continue;
		}
		size_t i = (size_t)rand_r(&fake->seed) % fake->n_waiting;
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
	struct fake *fake = (struct fake *)blocks;

	pthread_mutex_lock(&blocks->lock);
	fake->stop = true;
	pthread_cond_broadcast(&blocks->changed);
	pthread_mutex_unlock(&blocks->lock);
	pthread_join(fake->thread, NULL);
}

static const struct block_producer producer = {
	fake_request, fake_wake, fake_close};

static struct image_store *
open_store(uint64_t memory)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	const char *seed = getenv("HONE_SEED");

	all_bytes();
	assert_ok(blocks_create(&fake->blocks, memory));
	fake->blocks.producer = &producer;
	fake->blocks.store.name = strdup("fake");
	fake->blocks.store.size = fake->blocks.end = SIZE;
	fake->bad = UINT64_MAX;
	fake->seed = seed ? (unsigned)atoi(seed) : (unsigned)getpid();
	printf("# HONE_SEED=%u\n", fake->seed);
	assert_ok(pthread_create(&fake->thread, NULL, fake_run, fake));
	return &fake->blocks.store;
}

/* A tap that compares what it sees with all bytes. */
struct witness {
	struct image_tap tap;
	struct image_store *store;
	size_t seen;
	bool ended;
	bool closed;
};

static int
witness_see(struct image_tap *tap, const void *bytes, size_t length,
	struct image_error *err)
{
	struct witness *w = (struct witness *)tap;
	unsigned char byte;

	/* Nobody has the lock while the tap sees bytes. */
	if (w->seen &&
		image_store_read(w->store, w->seen - 1, &byte, 1, err) < 0)
		return -EDEADLK;
	if (w->ended || length > SIZE - w->seen ||
		(length && memcmp(bytes, all_bytes() + w->seen, length) != 0))
		return image_fail(err, "fake", -EILSEQ, "is out of order");
	w->seen += length;
	w->ended = length == 0;
	return 0;
}

static void
witness_close(struct image_tap *tap)
{
	((struct witness *)tap)->closed = true;
}

static struct image_store *
open_sequence(uint64_t memory, struct witness *w)
{
	struct image_store *store = open_store(memory), *before = store;
	struct image_error err;

	*w = (struct witness){
		.tap = {witness_see, witness_close}, .store = store};
	assert_ok(image_blocks_once(&store, 0, &w->tap, &err));
	assert_ptr_equal(store, before);
	assert_true(store->forward);
	return store;
}

/* What several threads do with one store. */
struct reader {
	struct image_store *store;
	/* NULL: read anywhere, and release nothing */
	size_t *next;
	unsigned seed;
	int rc;
};

static void *
reader_run(void *opaque)
{
	struct reader *r = opaque;
	static _Thread_local unsigned char buf[300000];
	struct image_error err;

	for (int i = 0; r->next || i < 100; i++) {
		size_t at = r->next ? __atomic_fetch_add(r->next, sizeof(buf),
					      __ATOMIC_RELAXED)
				    : (size_t)rand_r(&r->seed) % SIZE;
		if (at >= SIZE)
			break;
		size_t n = SIZE - at < sizeof(buf) ? SIZE - at : sizeof(buf);
		if (image_store_read(r->store, at, buf, n, &err) < 0 ||
			memcmp(buf, all_bytes() + at, n) != 0)
			return NULL;
		if (r->next)
			image_store_release(r->store, at & ~511u, n + at % 512);
	}
	r->rc = 0;
	return NULL;
}

static void
read_by_threads(struct image_store *store, bool in_order)
{
	struct reader readers[4];
	size_t next = 0;

	for (unsigned i = 0; i < 4; i++) {
		readers[i] = (struct reader){.store = store,
			.next = in_order ? &next : NULL,
			.seed = ((struct fake *)store)->seed + i,
			.rc = -1};
	}
	support_threads(reader_run, readers, 4, sizeof(*readers));
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(readers[i].rc, 0);
}

TEST(threads_read_ranges_anywhere_in_little_memory)
{
	struct image_store *store = open_store(BLOCK);

	read_by_threads(store, false);
	assert_int_equal(((struct fake *)store)->blocks.n_blocks, 8);
	image_store_close(store);
}

TEST(each_byte_is_requested_once_and_passes_the_tap_once)
{
	struct witness w;
	struct image_store *store = open_sequence(48 << 20, &w);
	struct image_error err;

	read_by_threads(store, true);
	assert_ok(image_store_unchanged(store, &err));
	assert_true(w.ended && w.seen == SIZE);
	assert_int_equal(((struct fake *)store)->requested, SIZE);
	image_store_close(store);
	assert_true(w.closed);
}

TEST(what_is_released_needs_the_memory_of_what_is_ahead)
{
	struct witness w;
	struct image_store *store = open_sequence(48 << 20, &w);
	static unsigned char buf[300000];
	struct image_error err;

	for (size_t at = 0; at + sizeof(buf) < SIZE; at += sizeof(buf)) {
		assert_ok(image_store_read(store, at, buf, sizeof(buf), &err));
		image_store_release(store, 0, at + sizeof(buf));
	}
	assert_true(((struct fake *)store)->blocks.n_blocks * BLOCK <=
		    BLOCKS_AHEAD + (4 << 20));
	image_store_close(store);
}

/* Also of reads that are no whole sectors. */
TEST(a_stream_needs_the_memory_of_what_is_ahead)
{
	struct image_store *store = open_store(48 << 20);
	struct image_stream *stream;
	struct image_error err;
	unsigned char buf[50001];
	size_t got = 1, at = 0;

	assert_ok(image_stream_of_store(store, &stream, &err));
	while (got) {
		assert_ok(image_stream_read(
			stream, buf, sizeof(buf), &got, &err));
		assert_memory_equal(buf, all_bytes() + at, got);
		at += got;
	}
	assert_int_equal(at, SIZE);
	assert_int_equal(((struct fake *)store)->requested, SIZE);
	assert_true(((struct fake *)store)->blocks.n_blocks * BLOCK <=
		    BLOCKS_AHEAD + (1 << 20));
	image_stream_close(stream);
}

TEST(a_read_at_the_end_moves_what_is_needed_to_a_file)
{
	static const struct image_spill spill = {"/tmp", NULL, NULL};
	struct witness w;
	struct image_store *store = open_sequence(20 << 20, &w);
	struct image_error err;
	unsigned char byte;

	image_blocks_spill(store, &spill);
	assert_ok(image_store_read(store, SIZE - 1, &byte, 1, &err));
	assert_int_equal(byte, all_bytes()[SIZE - 1]);
	read_by_threads(store, true);
	assert_int_equal(((struct fake *)store)->requested, SIZE);
	assert_true(((struct fake *)store)->blocks.fd >= 0);
	image_store_close(store);
}

TEST(what_is_requested_ahead_moves_nothing_to_a_file)
{
	static const struct image_spill spill = {"/tmp", NULL, NULL};
	struct witness w;
	struct image_store *store = open_sequence(20 << 20, &w);
	struct image_blocks *b = &((struct fake *)store)->blocks;
	struct image_error err;
	unsigned char byte;

	image_blocks_spill(store, &spill);
	for (size_t at = 0; at < 19 << 20; at += BLOCK)
		assert_ok(image_store_read(store, at, &byte, 1, &err));
	assert_int_equal(b->fd, -1);
	assert_ok(image_store_read(store, SIZE - 1, &byte, 1, &err));
	assert_true(b->fd >= 0 && b->n_blocks <= b->max_blocks);
	image_store_close(store);
}

TEST(an_inspected_sequence_takes_few_requests_and_nothing_ahead)
{
	struct witness w;
	struct image_store *store = open_sequence(48 << 20, &w);
	struct fake *fake = (struct fake *)store;
	struct image_error err;
	unsigned char byte;

	fake->blocks.inspect = true;
	assert_ok(image_store_read(store, 7 * BLOCK - 1, &byte, 1, &err));
	/* of 1, 2 and 4 blocks */
	assert_int_equal(fake->n_requests, 3);
	assert_int_equal(fake->requested, 7 * BLOCK);
	image_store_close(store);
}

TEST(what_was_read_before_the_order_passes_the_tap)
{
	struct image_store *store = open_store(48 << 20);
	struct witness w = {
		.tap = {witness_see, witness_close}, .store = store};
	struct image_error err;
	unsigned char byte;

	for (size_t at = 0; at < SIZE; at += SIZE / 7)
		assert_ok(image_store_read(store, at, &byte, 1, &err));
	assert_ok(image_blocks_once(&store, 0, &w.tap, &err));
	read_by_threads(store, true);
	assert_ok(image_blocks_drain(store, &err));
	assert_true(w.ended && w.seen == SIZE);
	assert_int_equal(((struct fake *)store)->requested, SIZE);
	image_store_close(store);
}

TEST(drained_bytes_pass_the_tap_and_take_no_memory)
{
	struct witness w;
	struct image_store *store = open_sequence(20 << 20, &w);
	struct image_error err;
	unsigned char byte;

	assert_ok(image_store_read(store, 5, &byte, 1, &err));
	assert_ok(image_blocks_drain(store, &err));
	assert_true(w.ended && w.seen == SIZE);
	assert_ok(image_store_read(store, 5, &byte, 1, &err));
	assert_int_equal(
		image_store_read(store, SIZE / 2, &byte, 1, &err), -ESPIPE);
	image_store_close(store);
}

TEST(bytes_before_a_failure_pass_and_later_ones_fail)
{
	struct witness w;
	struct image_store *store = open_sequence(48 << 20, &w);
	struct image_error err;
	unsigned char byte;

	((struct fake *)store)->bad = 3 * BLOCK;
	((struct fake *)store)->requested = 0;
	assert_ok(image_store_read(store, 0, &byte, 1, &err));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			image_store_read(store, 3 * BLOCK, &byte, 1, &err),
			-EBADMSG);
		assert_string_equal(err.text, "is lost");
	}
	assert_ok(image_store_read(store, w.seen - 1, &byte, 1, &err));
	assert_true(w.seen <= 3 * BLOCK && !w.ended);
	assert_int_equal(image_store_unchanged(store, &err), -EBADMSG);
	image_store_close(store);
}

TEST(a_tap_that_refuses_ends_the_store)
{
	struct witness w;
	struct image_store *store = open_sequence(48 << 20, &w);
	struct image_error err;
	unsigned char byte;

	w.ended = true;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			image_store_read(store, SIZE / 2, &byte, 1, &err),
			-EILSEQ);
	assert_int_equal(image_store_unchanged(store, &err), -EILSEQ);
	image_store_close(store);
}
