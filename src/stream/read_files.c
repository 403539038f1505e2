/* SPDX-License-Identifier: BSD-3-Clause */
/* Many files: threads, and the choice between io_uring and plain calls. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include "stream/batch.h"

/* A thread costs as much as it saves for 128 cached files. */
#define THREAD_MIN 128
#define THREADS_MAX 64
#define DEPTH 64
#define DEPTH_MAX 4096
#define MEMORY ((size_t)64 << 20)
#define KNOWN_FLAGS ((unsigned)(HONE_BATCH_PLAIN | HONE_BATCH_URING))

static const struct hone_batch_attr read_files_defaults = {
	.depth = DEPTH,
	.threads = 1,
	.memory = MEMORY,
};

void
hone_batch_attr_init(struct hone_batch_attr *attr)
{
	*attr = read_files_defaults;
}

bool
hone_batch_stopped(const struct hone_batch *b)
{
	return __atomic_load_n(&b->stop, __ATOMIC_RELAXED) != 0;
}

bool
hone_batch_next(struct hone_batch *b, size_t *index)
{
	/* The load keeps next from growing without limit. */
	if (hone_batch_stopped(b) ||
		__atomic_load_n(&b->next, __ATOMIC_RELAXED) >= b->n)
		return false;
	*index = __atomic_fetch_add(&b->next, 1, __ATOMIC_RELAXED);
	return *index < b->n;
}

void
hone_batch_abandon(struct hone_batch *b)
{
	__atomic_store_n(&b->stop, 1, __ATOMIC_RELAXED);
}

static void
read_files_unlock(struct hone_batch **b)
{
	if ((*b)->shared)
		pthread_mutex_unlock(&(*b)->lock);
}

/* Returns false if a done() of another thread has stopped the batch. */
static bool
call_done(struct hone_batch *b, size_t *way, size_t index, int error,
	struct hone_file_data *file)
{
	struct hone_batch *locked HONE_CLEANUP(read_files_unlock) = b;
	int result;

	if (b->shared)
		pthread_mutex_lock(&b->lock);
	if (hone_batch_stopped(locked))
		return false;
	++*way;
	result = b->done(index, error, file, b->arg);
	/* A store of 0 would undo hone_batch_abandon(), which takes no lock. */
	if (result)
		__atomic_store_n(&b->stop, result, __ATOMIC_RELAXED);
	return true;
}

void
hone_batch_deliver(struct hone_batch *b, size_t *way, size_t index, int error,
	struct hone_file_data *file)
{
	struct hone_file_data nothing = {NULL, 0};

	if (!call_done(b, way, index, error, file ? file : &nothing) && file)
		b->read->release(file->data, b->read->arg);
}

struct hone_batch_refused {
	struct hone_batch_refused *next;
	size_t index;
};

static bool
put_off(struct hone_batch *b, size_t index)
{
	struct hone_batch_refused *refused = malloc(sizeof(*refused));

	if (!refused)
		return false;
	refused->index = index;
	if (b->shared)
		pthread_mutex_lock(&b->lock);
	refused->next = b->refused;
	b->refused = refused;
	if (b->shared)
		pthread_mutex_unlock(&b->lock);
	return true;
}

bool
hone_batch_read_plain(struct hone_batch *b, size_t index)
{
	struct hone_file_data file;
	int error = hone_read_file(&file, b->paths[index], b->read);

	if ((error == -EMFILE || error == -ENFILE) && !b->alone &&
		put_off(b, index))
		return false;
	hone_batch_deliver(
		b, &b->used.plain, index, error, error ? NULL : &file);
	return true;
}

bool
hone_batch_read_some(struct hone_batch *b, size_t n)
{
	size_t index;

	for (; n > 0; n--)
		if (!hone_batch_next(b, &index) ||
			!hone_batch_read_plain(b, index))
			return false;
	return true;
}

static bool
take_refused(struct hone_batch *b, size_t *index)
{
	struct hone_batch_refused *refused = b->refused;

	if (!refused)
		return false;
	*index = refused->index;
	b->refused = refused->next;
	free(refused);
	return true;
}

/* Reads what the other threads and the rings have left. */
static void
read_alone(struct hone_batch *b)
{
	size_t index;

	b->alone = true;
	b->shared = false;
	while (!hone_batch_stopped(b) && take_refused(b, &index))
		(void)hone_batch_read_plain(b, index);
	(void)hone_batch_read_some(b, SIZE_MAX);
}

static void
read_by_uring(struct hone_batch *b, struct hone_uring *opened)
{
	struct hone_uring *ring HONE_CLEANUP(hone_uring_drop) = opened;

	(void)hone_uring_read(ring, SIZE_MAX);
	hone_uring_close(&ring);
	(void)hone_batch_read_some(b, SIZE_MAX);
}

/* ring: of this thread, with HONE_BATCH_URING. */
static void
work(struct hone_batch *b, struct hone_uring *ring)
{
	if (ring)
		read_by_uring(b, ring);
	else if (b->flags & HONE_BATCH_PLAIN)
		(void)hone_batch_read_some(b, SIZE_MAX);
	else
		hone_batch_read_faster(b);
}

static void *
help(void *batch)
{
	struct hone_batch *b = batch;
	struct hone_uring *ring = NULL;

	/* If only this thread has no io_uring, the others read faster. */
	if (!(b->flags & HONE_BATCH_URING) || hone_uring_open(&ring, b) == 0)
		work(b, ring);
	return NULL;
}

struct helpers {
	struct hone_batch *b;
	pthread_t ids[THREADS_MAX];
	unsigned n;
};

static void
start_helpers(struct helpers *helpers, unsigned n)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (helpers->n < n && pthread_create(&helpers->ids[helpers->n], NULL,
					 help, helpers->b) == 0)
		helpers->n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Waits for the helpers, which use the caller's stack. */
static void
join_helpers(struct helpers *helpers)
{
	while (helpers->n > 0) {
		pthread_join(helpers->ids[helpers->n - 1], NULL);
		helpers->n--; /* after a join that was not cancelled */
	}
}

/* For HONE_CLEANUP: the caller's thread leaves. */
static void
drop_helpers(struct helpers *helpers)
{
	if (helpers->n > 0)
		hone_batch_abandon(helpers->b);
	join_helpers(helpers);
}

static int
read_batch(struct hone_batch *b, const struct hone_batch_attr *attr)
{
	struct helpers helpers HONE_CLEANUP(drop_helpers) = {.b = b};
	struct hone_uring *ring = NULL;
	unsigned n_helpers = attr->threads - 1;

	if (n_helpers > b->n / THREAD_MIN)
		n_helpers = (unsigned)(b->n / THREAD_MIN);
	b->memory = attr->memory / (n_helpers + 1);
	b->shared = n_helpers > 0;
	if (attr->flags & HONE_BATCH_URING) {
		int error = hone_uring_open(&ring, b);

		if (error)
			return error;
	}
	if (n_helpers > 0)
		start_helpers(&helpers, n_helpers);
	work(b, ring);
	join_helpers(&helpers);
	read_alone(b);
	return b->stop;
}

/* Returns attributes in which each member has its value. */
static struct hone_batch_attr
read_files_complete(const struct hone_batch_attr *attr)
{
	struct hone_batch_attr all = attr ? *attr : read_files_defaults;

	if (all.depth == 0)
		all.depth = DEPTH;
	if (all.threads == 0)
		all.threads = 1;
	if (all.memory == 0)
		all.memory = MEMORY;
	return all;
}

static bool
read_files_is_valid(const struct hone_batch_attr *attr)
{
	return attr->depth >= 1 && attr->depth <= DEPTH_MAX &&
	       attr->threads >= 1 && attr->threads <= THREADS_MAX &&
	       !(attr->flags & ~KNOWN_FLAGS) && attr->flags != KNOWN_FLAGS &&
	       hone_reserved_are_zero(attr->reserved);
}

static void
end_batch(struct hone_batch *b)
{
	size_t index;

	while (take_refused(b, &index))
		;
	pthread_mutex_destroy(&b->lock);
}

int
hone_read_files(const char *const *paths, size_t n,
	const struct hone_read_attr *attr, hone_read_done_fn done, void *arg,
	const struct hone_batch_attr *batch)
{
	struct hone_read_attr all;
	const struct hone_batch_attr complete = read_files_complete(batch);
	struct hone_batch b HONE_CLEANUP(end_batch) = {
		.paths = paths,
		.n = n,
		.read = hone_read_complete(attr, &all),
		.done = done,
		.arg = arg,
		.depth = complete.depth,
		.flags = complete.flags,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int result;

	assert(n == 0 || (paths && done));
	if (hone_read_open_flags(b.read) < 0 || !read_files_is_valid(&complete))
		return -EINVAL;
	result = n > 0 ? read_batch(&b, &complete) : 0;
	if (complete.used)
		*complete.used = b.used;
	return result;
}
