/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pool promises to one thread. */
#include "mempool.h"
#include "mempool_support.h"

/* Sizes around each edge of a magazine, and capacities that are not
 * multiples. */
static const size_t shapes[][2] = {{1, 1}, {1, 512}, {7, 1}, {8, 8}, {9, 8},
	{10, 3}, {100, 56}, {511, 512}, {512, 512}, {513, 512}, {1535, 512},
	{2000, 57}, {4096, 0}};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

TEST(one_by_one_every_object_comes_once)
{
	for (size_t s = 0; s < N_SHAPES; s++) {
		size_t n = shapes[s][0];
		struct hone_mempool *pool = pool_of(n, shapes[s][1], 2);
		struct hone_mempool_cache *c = opened(pool);
		void **objs = calloc(n, sizeof(*objs));

		assert_non_null(objs);
		for (size_t i = 0; i < n; i++) {
			objs[i] = hone_mempool_get(c);
			assert_non_null(objs[i]);
			memset(objs[i], (int)i, 24);
		}
		assert_null(hone_mempool_get(c));
		all_different(objs, n);
		audited(pool, n);
		for (size_t i = 0; i < n; i++)
			hone_mempool_put(c, objs[i]);
		for (size_t i = n; i-- > 0;)
			assert_ptr_equal(hone_mempool_get(c), objs[i]);
		hone_mempool_put_bulk(c, objs, n);
		closed_and_destroyed(pool, c);
		free(objs);
	}
}

/* A magazine holds whole bursts. */
TEST(a_loop_of_the_largest_cache_size_exchanges_nothing)
{
	enum { N = HONE_MEMPOOL_CACHE_MAX, BURST = 256 };
	struct hone_mempool *pool = pool_of(4 * N, N, 1);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_stats first, last;
	void *objs[N];

	_Static_assert(N % BURST == 0, "whole bursts");
	for (int turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < N; i += BURST)
			assert_ok(hone_mempool_get_bulk(c, objs + i, BURST));
		for (size_t i = 0; i < N; i += BURST)
			hone_mempool_put_bulk(c, objs + i, BURST);
		last = stats_of(pool);
		if (turn == 0)
			first = last;
	}
	assert_int_equal(last.refills, first.refills);
	assert_int_equal(last.flushes, first.flushes);
	closed_and_destroyed(pool, c);
}

TEST(caches_are_counted)
{
	struct hone_mempool *pool = pool_of(10, 2, 2);
	struct hone_mempool_cache *a = opened(pool), *b = opened(pool);
	struct hone_mempool_cache *c = NULL;
	void *obj;

	assert_int_equal(hone_mempool_cache_open(pool, &c), -EAGAIN);
	assert_null(c);
	hone_mempool_cache_close(NULL);
	hone_mempool_cache_close(a);
	assert_ok(hone_mempool_cache_open(pool, &c));
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	hone_mempool_cache_close(b);
	obj = hone_mempool_get(c);
	hone_mempool_cache_close(c);
	assert_int_equal(hone_mempool_destroy(pool), -EBUSY);
	c = opened(pool);
	hone_mempool_put(c, obj);
	closed_and_destroyed(pool, c);
}

TEST(each_cache_may_keep_an_empty_magazine)
{
	struct hone_mempool *pool = pool_of(1000, 100, 2);
	struct hone_mempool_cache *c[2] = {opened(pool), opened(pool)};
	struct hone_mempool_magazine *m[2], *full[10];
	void *objs[1000];

	for (int i = 0; i < 2; i++) {
		m[i] = hone_mempool_get_magazine(c[i]);
		hone_mempool_put_bulk(c[i], m[i]->objects, m[i]->count);
		m[i]->count = 0;
		assert_ok(hone_mempool_reserve(c[i], 101));
	}
	for (int round = 0; round < 4; round++) {
		struct hone_mempool_cache *a = c[round % 2], *b = c[round / 2];

		assert_ok(hone_mempool_get_bulk(a, objs, 699));
		hone_mempool_put_bulk(b, objs, 699);
		for (int i = 0; i < 6; i++)
			full[i] = hone_mempool_get_magazine(a);
		for (int i = 0; i < 6; i++)
			hone_mempool_put_magazine(b, full[i]);
		audited(pool, 0);
	}
	for (int i = 0; i < 2; i++) {
		hone_mempool_put_magazine(c[i], m[i]);
		hone_mempool_cache_close(c[i]);
	}
	destroyed(pool);
}

/* Every magazine is kept, and its objects are put: this aborts instead of
 * waiting. */
POOL_TEST(keeping_too_many_magazines_aborts, pool_of(100, 10, 1))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < 1000; i++) {
			struct hone_mempool_magazine *m =
				hone_mempool_get_magazine(c);

			hone_mempool_put_bulk(c, m->objects, m->count);
			m->count = 0;
		}
		_exit(0);
	}
	status = support_end_of(child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/*
 * A thread that moves objects while another counts them is stood for by a count
 * that is too large.
 */
POOL_TEST(no_more_objects_are_counted_than_there_are, pool_of(100, 10, 2))
{
	struct hone_cache *moving = hone_mempool_cache_at(pool, 0);
	struct hone_mempool_stats stats;

	assert_ok(hone_mempool_reserve(c, 20));
	for (size_t extra = 1; extra < 1000; extra *= 3) {
		atomic_fetch_add(&moving->n_reserved, extra);
		assert_int_equal(hone_mempool_available(pool), 100);
		stats = stats_of(pool);
		assert_int_equal(
			stats.shared + stats.loaded + stats.reserved, 100);
		atomic_fetch_sub(&moving->n_reserved, extra);
	}
}

/*
 * Any calls in any order, by up to four caches, beside a model: who has each
 * object and what was written there, and how many objects each cache has in
 * reserve. The model does not know what the other caches have loaded, so a get
 * has two bounds.
 */

#define MOST 200
#define CACHES 4

struct walk {
	struct hone_mempool *pool;
	struct hone_mempool_cache *caches[CACHES];
	size_t reserves[CACHES], n_caches, max_caches;
	size_t capacity, cache_size, kept; /* kept: by each other cache */
	size_t failures;
	unsigned char *out[MOST];
	size_t n_out;
	uint64_t random;
	const unsigned char
		*first; /* the stamps are by the number of an object */
	size_t stride;
	unsigned char stamps[MOST];
	bool is_out[MOST];
};

static void
begin_at_the_first(void *object, size_t index, void *arg)
{
	struct walk *w = arg;

	if (index == 0)
		w->first = object;
	w->stamps[index] = (unsigned char)index;
	memset(object, (int)index, 24);
}

static size_t
number_of(const struct walk *w, const unsigned char *object)
{
	size_t number = (size_t)(object - w->first) / w->stride;

	assert_true(number < w->capacity);
	assert_ptr_equal(object, w->first + number * w->stride);
	return number;
}

/* Objects that were got: they were in the pool, with what was written. */
static void
arrived(struct walk *w, void **objects, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char *object = objects[i];
		size_t number = number_of(w, object);

		assert_false(w->is_out[number]);
		assert_int_equal(object[0], w->stamps[number]);
		assert_int_equal(object[23], w->stamps[number]);
		w->is_out[number] = true;
		w->out[w->n_out++] = object;
	}
}

/* Takes the last n objects that are out, and writes to them. */
static void **
leaving(struct walk *w, size_t n)
{
	w->n_out -= n;
	for (size_t i = 0; i < n; i++) {
		unsigned char *object = w->out[w->n_out + i];
		size_t number = number_of(w, object);

		w->is_out[number] = false;
		w->stamps[number] = (unsigned char)support_random(&w->random);
		memset(object, w->stamps[number], 24);
	}
	return (void **)&w->out[w->n_out];
}

static size_t
reserved(const struct walk *w)
{
	size_t sum = 0;

	for (size_t i = 0; i < w->n_caches; i++)
		sum += w->reserves[i];
	return sum;
}

/* n objects by one of five ways, of which two get all or none. */
static size_t
get_some(struct walk *w, struct hone_mempool_cache *c, void **objects, size_t n,
	size_t fewest)
{
	struct hone_mempool_cursor cursor;
	size_t got = 0;
	int error = 0;

	switch (support_below(&w->random, 5)) {
	case 0:
		while (got < n && (objects[got] = hone_mempool_get(c)))
			got++;
		break;
	case 1:
		error = hone_mempool_get_bulk(c, objects, n);
		got = error ? 0 : n;
		break;
	case 2:
		hone_mempool_cursor_begin(&cursor, c);
		while (got < n &&
			(objects[got] = hone_mempool_cursor_get(&cursor)))
			got++;
		hone_mempool_cursor_end(&cursor);
		break;
	case 3:
		hone_mempool_cursor_begin(&cursor, c);
		error = hone_mempool_cursor_get_bulk(&cursor, objects, n);
		hone_mempool_cursor_end(&cursor);
		got = error ? 0 : n;
		break;
	default:
		got = hone_mempool_get_burst(c, objects, n);
	}
	w->failures += got < n;
	if (error) {
		assert_int_equal(error, -ENOBUFS);
		assert_true(n > fewest);
	} else {
		assert_true(got >= (n < fewest ? n : fewest));
	}
	return got;
}

static void
put_some(struct walk *w, struct hone_mempool_cache *c, size_t n)
{
	struct hone_mempool_cursor cursor;
	void *const last = n ? w->out[w->n_out - 1] : NULL;
	void **objects = leaving(w, n), *back[MOST];
	size_t k = 0;

	switch (support_below(&w->random, 4)) {
	case 0:
		for (size_t i = 0; i < n; i++)
			hone_mempool_put(c, objects[i]);
		break;
	case 1:
		hone_mempool_cursor_begin(&cursor, c);
		hone_mempool_cursor_put_bulk(&cursor, objects, n);
		hone_mempool_cursor_end(&cursor);
		break;
	case 2:
		hone_mempool_cursor_begin(&cursor, c);
		for (size_t i = 0; i < n; i++)
			hone_mempool_cursor_put(&cursor, objects[i]);
		k = support_below(&w->random, n + 1);
		assert_ok(hone_mempool_cursor_get_bulk(&cursor, back, k));
		hone_mempool_cursor_end(&cursor);
		arrived(w, back, k);
		break;
	default:
		hone_mempool_put_bulk(c, objects, n);
	}
	/* The object that was put last comes first. */
	if (n > 0 && k == 0 && support_below(&w->random, 2)) {
		void *again = hone_mempool_get(c);

		assert_ptr_equal(again, last);
		arrived(w, &again, 1);
	}
}

/* A magazine gives some of its objects, gets some, and comes back to any cache.
 */
static void
pass_a_magazine(struct walk *w, struct hone_mempool_cache *c, size_t fewest,
	size_t most)
{
	struct hone_mempool_magazine *m = hone_mempool_get_magazine(c);
	size_t n;

	if (m == NULL) {
		assert_int_equal(fewest, 0);
		w->failures++;
		return;
	}
	assert_in_range(m->count, 1, w->cache_size);
	assert_true(m->count <= most);
	n = support_below(&w->random, m->count + 1);
	m->count -= n;
	arrived(w, m->objects + m->count, n);
	n = w->cache_size - m->count;
	n = support_below(&w->random, (n < w->n_out ? n : w->n_out) + 1);
	if (n > 0)
		memcpy(m->objects + m->count, leaving(w, n),
			n * sizeof(*m->objects));
	m->count += n;
	hone_mempool_put_magazine(
		w->caches[support_below(&w->random, w->n_caches)], m);
}

static void
open_or_close(struct walk *w)
{
	struct hone_mempool_cache *c = NULL;
	size_t i = support_below(&w->random, w->n_caches + 1);

	if (i == w->n_caches || w->n_caches == 1) {
		if (w->n_caches == w->max_caches) {
			assert_int_equal(
				hone_mempool_cache_open(w->pool, &c), -EAGAIN);
			return;
		}
		w->reserves[w->n_caches] = 0;
		w->caches[w->n_caches++] = opened(w->pool);
		return;
	}
	hone_mempool_cache_close(w->caches[i]);
	w->n_caches--;
	w->caches[i] = w->caches[w->n_caches];
	w->reserves[i] = w->reserves[w->n_caches];
}

static void
walk_a_step(struct walk *w)
{
	size_t i = support_below(&w->random, w->n_caches);
	size_t n = support_below(&w->random, w->capacity + 2), got;
	size_t free_ones = w->capacity - w->n_out - reserved(w);
	size_t others = w->kept * (w->n_caches - 1);
	size_t fewest = free_ones > others ? free_ones - others : 0;
	struct hone_mempool_stats stats;
	void *objects[MOST + 2];
	bool may_draw = false;

	switch (support_below(&w->random, 6)) {
	case 0:
	case 1:
		got = get_some(
			w, w->caches[i], objects, n, fewest + w->reserves[i]);
		assert_true(got <= n && got <= free_ones + w->reserves[i]);
		arrived(w, objects, got);
		may_draw = got > 0;
		break;
	case 2:
		put_some(w, w->caches[i], n < w->n_out ? n : w->n_out);
		break;
	case 3:
		if (hone_mempool_reserve(w->caches[i], n) == 0) {
			assert_true(n <= free_ones + w->reserves[i]);
			w->reserves[i] = n;
		} else {
			assert_true(n > fewest + w->reserves[i]);
			w->failures++;
		}
		break;
	case 4:
		pass_a_magazine(w, w->caches[i], fewest, free_ones);
		break;
	default:
		open_or_close(w);
	}
	stats = stats_of(w->pool);
	got = reserved(w) - stats.reserved; /* what was taken out of one */
	if (got > 0) {
		/* Only what the pool lacked. */
		assert_true(may_draw && stats.shared == 0);
		assert_true(stats.loaded <= others);
		assert_true(got <= w->reserves[i]);
		w->reserves[i] -= got;
	}
	assert_int_equal(stats.reserved, reserved(w));
	assert_int_equal(stats.caches, w->n_caches);
	assert_int_equal(stats.failures, w->failures);
	assert_int_equal(stats.shared + stats.loaded + stats.reserved,
		w->capacity - w->n_out);
	assert_true(stats.loaded <= w->n_caches * w->cache_size);
	audited(w->pool, w->n_out);
}

/* 400 pools of each flavour and many sizes, with 60 calls each. */
TEST(any_order_of_calls_leaves_each_object_in_one_place)
{
	static const unsigned flavours[] = {0, HONE_MEMPOOL_NO_COLOUR,
		HONE_MEMPOOL_DEBUG, HONE_MEMPOOL_EXACT,
		HONE_MEMPOOL_EXACT | HONE_MEMPOOL_DEBUG};
	uint64_t random = support_seed();

	for (size_t round = 0; round < 400; round++) {
		struct walk w = {.random = random + round};
		struct hone_mempool_attr attr;

		w.capacity =
			1 + support_below(&w.random, round % 2 ? 12 : MOST);
		w.max_caches = 1 + support_below(&w.random, CACHES);
		attr = attributes(w.capacity, support_below(&w.random, 160),
			(unsigned)w.max_caches);
		attr.flags = flavours[round % 5];
		attr.constructor = begin_at_the_first;
		attr.constructor_arg = &w;
		assert_ok(hone_mempool_create(&w.pool, &attr));
		w.stride = stats_of(w.pool).stride;
		w.cache_size = stats_of(w.pool).cache_size;
		w.kept = attr.flags & HONE_MEMPOOL_EXACT ? 0 : w.cache_size;
		w.caches[w.n_caches++] = opened(w.pool);
		for (int step = 0; step < 60; step++)
			walk_a_step(&w);
		while (w.n_out > 0)
			put_some(&w, w.caches[0], w.n_out);
		while (w.n_caches > 0)
			hone_mempool_cache_close(w.caches[--w.n_caches]);
		destroyed(w.pool);
	}
}
