/* SPDX-License-Identifier: BSD-3-Clause */
/* Many files: threads, the choice between io_uring and plain calls, and the
 * latter. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include "stream/batch.h"

/* To set up a ring costs as much as it saves on half as many cached files, and
 * a thread with its ring as much as on this many. */
#define URING_MIN 32
#define THREAD_MIN 128
#define THREADS_MAX 64
#define DEPTH 64
#define DEPTH_MAX 4096
#define MEMORY ((size_t)64 << 20)
#define KNOWN_FLAGS ((unsigned)(HONE_BATCH_PLAIN | HONE_BATCH_URING))

static const struct hone_batch_attr defaults = {
	.depth = DEPTH,
	.threads = 1,
	.memory = MEMORY,
};

void
hone_batch_attr_init(struct hone_batch_attr *attr)
{
	*attr = defaults;
}

bool
hone_batch_stopped(const struct hone_batch *b)
{
	return __atomic_load_n(&b->stop, __ATOMIC_RELAXED) != 0;
}

bool
hone_batch_next(struct hone_batch *b, size_t *index)
{
	/* Looked at first, so that it does not count up for ever. */
	if (hone_batch_stopped(b) ||
		__atomic_load_n(&b->next, __ATOMIC_RELAXED) >= b->n)
		return false;
	*index = __atomic_fetch_add(&b->next, 1, __ATOMIC_RELAXED);
	return *index < b->n;
}

void
hone_batch_deliver(struct hone_batch *b, size_t *way, size_t index, int error,
	struct hone_file_data *file)
{
	struct hone_file_data nothing = {NULL, 0};

	if (b->shared)
		pthread_mutex_lock(&b->lock);
	if (!hone_batch_stopped(b)) {
		++*way;
		__atomic_store_n(&b->stop,
			b->done(index, error, file ? file : &nothing, b->arg),
			__ATOMIC_RELAXED);
		file = NULL;
	}
	if (b->shared)
		pthread_mutex_unlock(&b->lock);
	if (file) /* another thread's result stopped it meanwhile */
		b->read->release(file->data, b->read->arg);
}

void
hone_batch_read_plain(struct hone_batch *b, size_t index)
{
	struct hone_file_data file;
	int error = hone_read_file(&file, b->paths[index], b->read);

	hone_batch_deliver(
		b, &b->used.plain, index, error, error ? NULL : &file);
}

static void
work(struct hone_batch *b, struct hone_uring *ring)
{
	size_t index;

	if (ring)
		hone_uring_run(ring);
	while (hone_batch_next(b, &index))
		hone_batch_read_plain(b, index);
}

static void *
help(void *batch)
{
	struct hone_batch *b = batch;
	struct hone_uring *ring = NULL;

	/* Without a ring where the first has one: better leave it to that. */
	if (!b->with_uring || hone_uring_open(&ring, b) == 0)
		work(b, ring);
	return NULL;
}

/* Start up to `wish` threads; returns how many there are. The caller's signals
 * are none of theirs. */
static unsigned
start_helpers(struct hone_batch *b, pthread_t *helpers, unsigned wish)
{
	sigset_t all, before;
	unsigned n = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n < wish && pthread_create(&helpers[n], NULL, help, b) == 0)
		n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

static int
read_batch(struct hone_batch *b, const struct hone_batch_attr *attr)
{
	pthread_t helpers[THREADS_MAX];
	struct hone_uring *ring = NULL;
	unsigned wish = attr->threads - 1, n = 0;

	if (wish > b->n / THREAD_MIN)
		wish = (unsigned)(b->n / THREAD_MIN);
	b->memory = attr->memory / (wish + 1);
	b->shared = wish > 0;
	if (attr->flags & HONE_BATCH_URING ||
		(b->n >= URING_MIN && !(attr->flags & HONE_BATCH_PLAIN))) {
		int error = hone_uring_open(&ring, b);

		if (error && (attr->flags & HONE_BATCH_URING))
			return error;
	}
	b->with_uring = ring != NULL;
	if (wish > 0)
		n = start_helpers(b, helpers, wish);
	work(b, ring);
	while (n > 0)
		pthread_join(helpers[--n], NULL);
	return b->stop;
}

static bool
is_valid(const struct hone_batch_attr *attr)
{
	return attr->depth >= 1 && attr->depth <= DEPTH_MAX &&
	       attr->threads >= 1 && attr->threads <= THREADS_MAX &&
	       !(attr->flags & ~KNOWN_FLAGS) && attr->flags != KNOWN_FLAGS;
}

int
hone_read_files(const char *const *paths, size_t n,
	const struct hone_read_attr *attr, hone_read_done_fn done, void *arg,
	const struct hone_batch_attr *batch)
{
	struct hone_batch b = {
		.paths = paths,
		.n = n,
		.read = attr ? attr : &hone_read_defaults,
		.done = done,
		.arg = arg,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int result;

	if (!batch)
		batch = &defaults;
	assert(n == 0 || (paths && done));
	if (hone_read_open_flags(b.read) < 0 || !is_valid(batch))
		return -EINVAL;
	b.depth = batch->depth;
	result = n > 0 ? read_batch(&b, batch) : 0;
	pthread_mutex_destroy(&b.lock);
	if (batch->used)
		*batch->used = b.used;
	return result;
}
