/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of several blocks of xz, which several threads read anywhere. */
#include <errno.h>
#include <lzma.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memory_store.h"
#include "support.h"
#include "unpack/parts.h"

#define KIB ((size_t)1024)
#define BLOCK (100 * KIB)
#define BLOCKS 12
#define CONTENT (BLOCK * BLOCKS)
#define ROOM (2 * CONTENT)
#define THREADS 4

/* Allocations of a block's size that are in use, and their highest number. */
static atomic_uint blocks_now, blocks_most;
/* The allocation that fails, counted down; 0: none. One thread alone sets it.
 */
static atomic_uint fail_allocation;

static bool
fails(void)
{
	return atomic_load(&fail_allocation) &&
	       atomic_fetch_sub(&fail_allocation, 1) == 1;
}

STANDS_FOR(void *, malloc, size_t size)
{
	if (fails())
		return NULL;
	if (size == BLOCK) {
		unsigned now = atomic_fetch_add(&blocks_now, 1) + 1;
		if (now > atomic_load(&blocks_most))
			atomic_store(&blocks_most, now);
	}
	return __real_malloc(size);
}

STANDS_FOR(void *, calloc, size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

STANDS_FOR(void *, realloc, void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

static unsigned char content[CONTENT];
static unsigned char packed[ROOM];
static size_t packed_length;

static void
fill_content(void)
{
	uint64_t random = 88172645463325252;

	for (size_t i = 0; i < CONTENT; i++)
		content[i] = (unsigned char)('a' + support_random(&random) % 7);
}

/* Add a stream of blocks to what is packed. */
static void
pack(const unsigned char *from, size_t length, unsigned level)
{
	lzma_stream stream = LZMA_STREAM_INIT;

	assert_int_equal(
		lzma_easy_encoder(&stream, level, LZMA_CHECK_CRC32), LZMA_OK);
	stream.next_out = packed + packed_length;
	stream.avail_out = ROOM - packed_length;
	while (length) {
		size_t n = length < BLOCK ? length : BLOCK;
		stream.next_in = from;
		stream.avail_in = n;
		assert_int_equal(
			lzma_code(&stream, LZMA_FULL_FLUSH), LZMA_STREAM_END);
		from += n;
		length -= n;
	}
	assert_int_equal(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
	packed_length = ROOM - stream.avail_out;
	lzma_end(&stream);
}

/*
 * Add a stream of one block, whose size in the index is longer by so much.
 * Returns the offset of the block's last byte.
 */
static size_t
pack_block(const void *from, size_t length, unsigned longer)
{
	lzma_options_lzma options;
	lzma_filter filters[] = {
		{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
	lzma_stream_flags flags = {.check = LZMA_CHECK_CRC32};
	lzma_block block = {.check = LZMA_CHECK_CRC32, .filters = filters};
	lzma_index *index = lzma_index_init(NULL);

	assert_non_null(index);
	assert_false(lzma_lzma_preset(&options, 0));
	assert_int_equal(
		lzma_stream_header_encode(&flags, packed + packed_length),
		LZMA_OK);
	packed_length += LZMA_STREAM_HEADER_SIZE;
	assert_int_equal(lzma_block_buffer_encode(&block, NULL, from, length,
				 packed, &packed_length, ROOM),
		LZMA_OK);
	size_t last = packed_length - 1;
	assert_int_equal(
		lzma_index_append(index, NULL,
			lzma_block_unpadded_size(&block) + longer, length),
		LZMA_OK);
	flags.backward_size = lzma_index_size(index);
	assert_int_equal(
		lzma_index_buffer_encode(index, packed, &packed_length, ROOM),
		LZMA_OK);
	assert_int_equal(
		lzma_stream_footer_encode(&flags, packed + packed_length),
		LZMA_OK);
	packed_length += LZMA_STREAM_HEADER_SIZE;
	lzma_index_end(index, NULL);
	return last;
}

/* Packed once: a test may change what is packed. */
FIXTURE(pack_all)
{
	static unsigned char first[ROOM];
	static size_t first_length;

	if (first_length == 0) {
		fill_content();
		packed_length = 0;
		pack(content, CONTENT, 0);
		first_length = packed_length;
		memcpy(first, packed, first_length);
	}
	memcpy(packed, first, first_length);
	packed_length = first_length;
	atomic_store(&blocks_now, 0);
	atomic_store(&blocks_most, 0);
	return 0;
}

/* A store that counts how often the packed bytes were read. */
struct counting {
	struct memory_store base;
	struct image_store_ops ops;
	atomic_size_t read;
	bool closed;
	size_t broken;
};

static int
counting_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	struct counting *c = (struct counting *)store;

	if (c->broken && offset + length > c->broken) {
		snprintf(err->text, sizeof(err->text), "is broken");
		return -ENETDOWN;
	}
	atomic_fetch_add(&c->read, length);
	return memory_store_ops.read(store, offset, buf, length, err);
}

static void
counting_close(struct image_store *store)
{
	((struct counting *)store)->closed = true;
}

static void
count_reads(struct counting *c)
{
	static char name[] = "disk.xz";

	*c = (struct counting){.ops = memory_store_ops};
	c->ops.read = counting_read;
	c->ops.close = counting_close;
	c->base.store.ops = &c->ops;
	c->base.store.name = name;
	c->base.store.size = packed_length;
	c->base.bytes = packed;
}

/* Returns NULL after a failure, or if the parts cannot be used. */
static struct image_store *
open_parts(struct counting *c, uint64_t slots, struct image_error *err)
{
	struct image_parts parts;
	struct image_store *store = NULL;

	if (image_parts_of_xz(&c->base.store, &parts, err) < 0 ||
		!parts.count) {
		free(parts.list);
		return NULL;
	}
	uint64_t memory = slots * (BLOCK + parts.decoder);
	if (!image_parts_fit(&parts, memory)) {
		free(parts.list);
		return NULL;
	}
	image_parts_open(&c->base.store, &parts, memory, &store, err);
	return store;
}

TEST_WITH(every_range_is_read, pack_all, NULL)
{
	struct counting c;
	struct image_error err;
	static unsigned char buf[CONTENT];
	uint64_t random = support_seed();

	count_reads(&c);
	struct image_store *store = open_parts(&c, 2, &err);
	assert_non_null(store);
	assert_int_equal(store->size, CONTENT);
	assert_string_equal(store->name, "disk.xz");
	for (int i = 0; i < 100; i++) {
		size_t from = support_below(&random, CONTENT);
		size_t length = support_below(&random, CONTENT - from) + 1;
		if (i % 2 && length > 5000)
			length = 5000;
		assert_int_equal(
			image_store_read(store, from, buf, length, &err), 0);
		assert_memory_equal(buf, content + from, length);
	}
	assert_true(store->ops->read(store, CONTENT, buf, 1, &err) < 0);
	assert_true(store->ops->read(store, 1, buf, CONTENT, &err) < 0);
	assert_int_equal(store->ops->unchanged(store, &err), 0);
	image_store_close(store);
	assert_true(c.closed);
	assert_true(atomic_load(&blocks_most) <= 2);
}

struct readers {
	struct image_store *store;
	atomic_size_t next;
	_Atomic unsigned errors;
};

#define PIECE (10 * KIB)

static void *
read_pieces(void *arg)
{
	struct readers *run = arg;
	unsigned char buf[PIECE];
	struct image_error err;

	for (;;) {
		size_t at = atomic_fetch_add(&run->next, 1) * PIECE;
		if (at >= CONTENT)
			return NULL;
		EXPECT(image_store_read(run->store, at, buf, PIECE, &err) == 0,
			run);
		EXPECT(memcmp(buf, content + at, PIECE) == 0, run);
	}
}

static void
read_by_threads(struct image_store *store)
{
	struct readers run = {.store = store};
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, read_pieces, &run),
			0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(run.errors, 0);
}

TEST_WITH(threads_read_in_order_within_any_memory, pack_all, NULL)
{
	for (uint64_t slots = 2; slots < 7; slots++) {
		struct counting c;
		struct image_error err;
		count_reads(&c);
		atomic_store(&blocks_now, 0);
		atomic_store(&blocks_most, 0);
		struct image_store *store = open_parts(&c, slots, &err);
		assert_non_null(store);
		read_by_threads(store);
		assert_int_equal(store->ops->unchanged(store, &err), 0);
		image_store_close(store);
		assert_true(atomic_load(&blocks_most) <= slots);
	}
}

/* With memory for all, each part is unpacked once, whoever reads. */
TEST_WITH(parts_are_unpacked_once, pack_all, NULL)
{
	struct counting c;
	struct image_error err;

	count_reads(&c);
	struct image_store *store = open_parts(&c, BLOCKS, &err);
	assert_non_null(store);
	size_t before = atomic_load(&c.read);
	read_by_threads(store);
	assert_int_equal(store->ops->unchanged(store, &err), 0);
	/* A header is read once more. */
	assert_true(atomic_load(&c.read) - before <
		    packed_length + BLOCKS * LZMA_BLOCK_HEADER_SIZE_MAX);
	image_store_close(store);
}

/* Returns the packed bytes that the read of one byte of a part takes. */
static size_t
cost_of(struct counting *c, struct image_store *store, size_t part)
{
	size_t before = atomic_load(&c->read);
	unsigned char byte;
	struct image_error err;

	assert_int_equal(
		image_store_read(store, part * BLOCK, &byte, 1, &err), 0);
	assert_int_equal(byte, content[part * BLOCK]);
	return atomic_load(&c->read) - before;
}

TEST_WITH(the_last_of_the_later_parts_is_given_up, pack_all, NULL)
{
	struct counting c;
	struct image_error err;

	count_reads(&c);
	struct image_store *store = open_parts(&c, 3, &err);
	assert_non_null(store);
	for (size_t part = 3; part < 6; part++)
		assert_true(cost_of(&c, store, part) > 0);
	assert_true(cost_of(&c, store, 2) > 0);
	assert_int_equal(cost_of(&c, store, 3), 0);
	assert_int_equal(cost_of(&c, store, 4), 0);
	/* Below, it is the part that was used longest ago. */
	assert_true(cost_of(&c, store, 5) > 0);
	assert_int_equal(cost_of(&c, store, 3), 0);
	assert_int_equal(cost_of(&c, store, 4), 0);
	assert_true(cost_of(&c, store, 2) > 0);
	image_store_close(store);
}

/* Two threads, and a gate in front of the packed bytes of the first two parts.
 */
struct gated {
	struct counting counting;
	struct image_store *store;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t second; /* the offset of the second part */
	int arrived;   /* parts whose unpacking has begun */
	int open;      /* parts that may be unpacked */
	bool read;     /* one thread has read the first part */
	_Atomic unsigned errors;
};

static int
gated_read(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	struct gated *g = (struct gated *)store;
	int part = offset < g->second ? 1 : 2;

	pthread_mutex_lock(&g->lock);
	if (g->arrived < part)
		g->arrived = part;
	pthread_cond_broadcast(&g->changed);
	while (g->open < part)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
	return counting_read(store, offset, buf, length, err);
}

static void
read_part(struct gated *g, size_t part)
{
	static const size_t length = 100;
	unsigned char buf[100];
	struct image_error err;

	EXPECT(image_store_read(g->store, part * BLOCK, buf, length, &err) == 0,
		g);
	EXPECT(memcmp(buf, content + part * BLOCK, length) == 0, g);
}

static void *
read_three(void *arg)
{
	struct gated *g = arg;

	read_part(g, 0);
	pthread_mutex_lock(&g->lock);
	g->read = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	read_part(g, 2);
	return NULL;
}

static void *
read_one(void *arg)
{
	read_part(arg, 0);
	return NULL;
}

static void
wait_until_arrived(struct gated *g, int part)
{
	pthread_mutex_lock(&g->lock);
	while (g->arrived < part)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void
open_gate(struct gated *g, int parts)
{
	pthread_mutex_lock(&g->lock);
	g->open = parts;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

/*
 * One thread unpacks part 0. The other one waits for it, and unpacks part 1
 * meanwhile. Then the first one needs a slot: it must not be that of part 0.
 */
TEST_WITH(a_part_that_a_thread_waits_for_is_kept, pack_all, NULL)
{
	struct gated g = {.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.open = 3};
	struct image_error err;
	pthread_t threads[2];
	struct image_parts parts;

	count_reads(&g.counting);
	g.counting.ops.read = gated_read;
	g.second = SIZE_MAX;
	assert_int_equal(
		image_parts_of_xz(&g.counting.base.store, &parts, &err), 0);
	g.second = (size_t)parts.list[1].from;
	free(parts.list);
	g.store = open_parts(&g.counting, 2, &err);
	assert_non_null(g.store);
	size_t before = atomic_load(&g.counting.read);
	g.arrived = g.open = 0;
	assert_int_equal(pthread_create(&threads[0], NULL, read_three, &g), 0);
	wait_until_arrived(&g, 1);
	assert_int_equal(pthread_create(&threads[1], NULL, read_one, &g), 0);
	wait_until_arrived(&g, 2);
	open_gate(&g, 1);
	pthread_mutex_lock(&g.lock);
	while (!g.read)
		pthread_cond_wait(&g.changed, &g.lock);
	pthread_mutex_unlock(&g.lock);
	/* The first thread now asks for a slot. */
	for (int i = 0; i < 1000; i++)
		sched_yield();
	open_gate(&g, 2);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(g.errors, 0);
	/* Three parts of twelve were unpacked, each of them once. */
	assert_true(atomic_load(&g.counting.read) - before <
		    packed_length * 7 / 24);
	image_store_close(g.store);
}

TEST_WITH(a_look_at_a_few_bytes_unpacks_one_part, pack_all, NULL)
{
	struct counting c;
	struct image_error err;
	unsigned char buf[10];

	count_reads(&c);
	struct image_store *store = open_parts(&c, BLOCKS, &err);
	assert_non_null(store);
	size_t before = atomic_load(&c.read);
	assert_int_equal(
		image_store_read(store, 5 * BLOCK + 7, buf, 10, &err), 0);
	assert_memory_equal(buf, content + 5 * BLOCK + 7, 10);
	assert_true(atomic_load(&c.read) - before < packed_length / 6);
	/* The rest is read at the end, for its checksums. */
	assert_int_equal(store->ops->unchanged(store, &err), 0);
	assert_true(atomic_load(&c.read) - before >= packed_length * 9 / 10);
	image_store_close(store);
}

TEST_WITH(streams_and_padding_are_one_content, pack_all, NULL)
{
	struct counting c;
	struct image_error err;
	unsigned char buf[1000];

	packed_length = 0;
	pack(content, 3 * BLOCK, 0);
	memset(packed + packed_length, 0, 8);
	packed_length += 8;
	pack(content, 0, 0);
	pack(content + 3 * BLOCK, BLOCK + 10, 0);
	count_reads(&c);
	struct image_store *store = open_parts(&c, 2, &err);
	assert_non_null(store);
	assert_int_equal(store->size, 4 * BLOCK + 10);
	assert_int_equal(
		image_store_read(store, 3 * BLOCK - 500, buf, 1000, &err), 0);
	assert_memory_equal(buf, content + 3 * BLOCK - 500, 1000);
	assert_int_equal(store->ops->unchanged(store, &err), 0);
	image_store_close(store);
}

/* The decoder of streams reads these. */
TEST_WITH(parts_that_do_not_fit_are_not_used, pack_all, NULL)
{
	struct counting c;
	struct image_error err;

	count_reads(&c);
	assert_null(open_parts(&c, 1, &err));
	packed_length = 0;
	pack(content, BLOCK, 0);
	count_reads(&c);
	assert_null(open_parts(&c, 5, &err));
	packed_length -= 2;
	count_reads(&c);
	assert_null(open_parts(&c, 5, &err));
	packed_length = 0;
	count_reads(&c);
	assert_null(open_parts(&c, 5, &err));
	assert_false(c.closed);
}

TEST_WITH(a_block_that_needs_more_than_the_first_is_refused, pack_all, NULL)
{
	struct counting c;
	struct image_error err;
	unsigned char byte;

	packed_length = 0;
	pack(content, BLOCK, 0);
	pack(content, BLOCK, 9);
	count_reads(&c);
	struct image_store *store = open_parts(&c, 4, &err);
	assert_non_null(store);
	assert_int_equal(
		image_store_read(store, BLOCK, &byte, 1, &err), -E2BIG);
	assert_non_null(strstr(err.text, "bytes of memory, more than the"));
	image_store_close(store);
}

TEST_WITH(a_changed_byte_never_gives_other_content, pack_all, NULL)
{
	static unsigned char buf[2 * BLOCK];
	unsigned harmless = 0;

	packed_length = 0;
	/* Short, so that every byte is tried. */
	pack((const unsigned char *)"some text", 9, 0);
	pack((const unsigned char *)"and more of it", 14, 0);
	for (size_t i = 0; i < packed_length; i++) {
		struct counting c;
		struct image_error err;
		packed[i] ^= 0x11;
		count_reads(&c);
		struct image_store *store = open_parts(&c, 8, &err);
		if (store) {
			bool good = image_store_read(store, 0, buf, 23, &err) ==
					    0 &&
				    store->ops->unchanged(store, &err) == 0;
			if (good)
				assert_memory_equal(
					buf, "some textand more of it", 23);
			harmless += good;
			image_store_close(store);
		}
		packed[i] ^= 0x11;
	}
	assert_true(harmless <= 2);
}

/* Returns what a read of all blocks returns, or 1 if the parts cannot be used.
 */
static int
read_all(void)
{
	struct counting c;
	struct image_error err;

	count_reads(&c);
	struct image_store *store = open_parts(&c, 8, &err);
	if (!store)
		return 1;
	int rc = image_store_unchanged(store, &err);
	image_store_close(store);
	return rc;
}

/* liblzma's decoder of streams refuses such a file, too. */
TEST_WITH(a_size_of_the_index_without_padding_is_exact, pack_all, NULL)
{
	static const char text[] = "12345678";
	unsigned refused = 0;

	for (size_t length = 1; length <= 4; length++) {
		packed_length = 0;
		pack_block(text, length, 0);
		size_t second = packed_length;
		pack_block(text, length, 0);
		assert_int_equal(read_all(), 0);
		packed_length = second;
		pack_block(text, length, 1);
		int rc = read_all();
		/* One has no padding: the block would not fit into the file. */
		assert_true(rc == 1 || rc == -EIO);
		refused += rc == -EIO;
	}
	assert_int_equal(refused, 3);
}

TEST_WITH(a_damaged_block_without_content_is_an_error, pack_all, NULL)
{
	packed_length = 0;
	pack_block("a", 1, 0);
	size_t last = pack_block("", 0, 0);
	pack_block("b", 1, 0);
	assert_int_equal(read_all(), 0);
	packed[last] ^= 1;
	assert_int_equal(read_all(), -EIO);
}

TEST_WITH(damage_names_its_block, pack_all, NULL)
{
	struct counting c;
	struct image_error err;
	unsigned char byte;
	char offset[40];

	packed[packed_length / 2] ^= 1;
	count_reads(&c);
	struct image_store *store = open_parts(&c, 4, &err);
	assert_non_null(store);
	assert_int_equal(image_store_read(store, 0, &byte, 1, &err), 0);
	assert_int_equal(store->ops->unchanged(store, &err), -EIO);
	assert_non_null(strstr(err.text, "has damaged xz data in the block"));
	assert_string_equal(err.file, "disk.xz");
	snprintf(offset, sizeof(offset), "at offset ");
	size_t at =
		strtoul(strstr(err.text, offset) + strlen(offset), NULL, 10);
	assert_true(at <= packed_length / 2 &&
		    at > packed_length / 2 - 2 * packed_length / BLOCKS);
	/* Another part can be read. */
	assert_int_equal(
		image_store_read(store, CONTENT - 1, &byte, 1, &err), 0);
	image_store_close(store);
}

TEST_WITH(an_error_of_the_file_is_passed_on, pack_all, NULL)
{
	struct counting c;
	struct image_error err;
	unsigned char byte;

	count_reads(&c);
	struct image_store *store = open_parts(&c, 4, &err);
	assert_non_null(store);
	c.broken = packed_length / 2;
	assert_int_equal(image_store_read(store, CONTENT - 1, &byte, 1, &err),
		-ENETDOWN);
	assert_int_equal(store->ops->unchanged(store, &err), -ENETDOWN);
	image_store_close(store);
}

TEST_WITH(every_allocation_that_fails_is_an_error, pack_all, NULL)
{
	unsigned n = 0;
	bool reached;

	do {
		struct counting c;
		struct image_error err;
		struct image_parts parts;
		unsigned char byte;
		struct image_store *store = NULL;
		count_reads(&c);
		atomic_store(&fail_allocation, ++n);
		int rc = image_parts_of_xz(&c.base.store, &parts, &err);
		if (rc == 0 && parts.count)
			rc = image_parts_open(&c.base.store, &parts,
				4 * (BLOCK + parts.decoder), &store, &err);
		else
			free(parts.list);
		if (store)
			rc = image_store_read(store, BLOCK, &byte, 1, &err);
		reached = atomic_load(&fail_allocation) == 0;
		atomic_store(&fail_allocation, 0);
		image_store_close(store);
		assert_int_equal(rc, reached ? -ENOMEM : 0);
	} while (reached && n < 1000);
	assert_true(n > 5);
}
