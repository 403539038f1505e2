/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream that several threads unpack: frames of zstd, blocks of bgzip. Frames
 * that have zeros alone are not unpacked.
 *
 *   members_read()
 *     refill()   the input, cut into jobs of whole members
 *     threads    take jobs in their order, and unpack each into its buffer
 *     first_job()  has the next content
 *
 * From the first job that failed, or the first bytes that are not a whole
 * member in the input, the rest of the file goes to unpack.c, which reads one
 * member after the other. So all messages are those of unpack.c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "thread.h"
#include "unpack/decoder.h"

/* Jobs at a time, and threads. More would need more memory. */
#define JOBS 4
/* The least length of a job of short members: bgzip's have up to 64 KiB. */
#define LEAST ((size_t)256 << 10)
/* Bytes that are read at a time, and by which buffers grow at first. */
#define PIECE ((size_t)128 << 10)

/* The memory in units: an input, for each job as much and 1.5 units of content,
 * and one for the states of the decoders. */
#define UNITS 12

enum job_state { WAITING, BUSY, READY, FAILED };

struct job {
	enum job_state state;
	unsigned char *in;
	size_t in_length;
	/* bytes of the input that are unpacked; the rest stands for zeros */
	size_t coded;
	uint64_t zeros;
	/* what the members say, at most */
	size_t content;
	unsigned char *out;
	size_t out_length;
	size_t out_room;
};

struct members {
	struct image_stream stream;
	struct image_stream *packed;
	enum image_packing packing;
	const struct image_decoder *decoder;
	uint64_t memory;
	size_t unit;
	/* the rest of the file, read by one thread; NULL: not yet */
	struct image_stream *rest;
	/* its packed bytes */
	struct raw {
		struct image_stream stream;
		struct members *members;
	} raw;

	/* bytes of the first job's content that were given; for `raw` of the
	 * input of a job, or of that behind all jobs */
	size_t given;
	/* offset of the first job in the packed stream */
	uint64_t offset;
	/* The input from `begin` on, of which `whole` bytes are whole members
	 * with so much content at most. The next one is looked at when there
	 * are `enough` bytes. */
	unsigned char *input;
	size_t begin;
	size_t length;
	size_t whole;
	/* the first `coded` of them are unpacked; the rest stands for zeros */
	size_t coded;
	uint64_t zeros;
	size_t content;
	size_t enough;
	bool ended;
	/* the whole members are a job */
	bool full;
	/* the next bytes are not a whole member */
	bool other;
	/* not 0: the failure that ended the input */
	int rc;
	struct image_error err;

	pthread_t threads[JOBS];
	unsigned n_threads;
	pthread_mutex_t lock;
	/* a job waits, or is ready, or the threads have to stop */
	pthread_cond_t changed;
	/* Under the lock, except the buffers of jobs: they belong to a thread
	 * while the job is BUSY, and then to the reader. */
	bool stop;
	/* of jobs: a ring */
	size_t first;
	size_t count;
	struct job jobs[JOBS];
};

/* Make room for more content. Returns false at the limit. */
static bool
grow(struct job *job, size_t most)
{
	size_t room = job->out_room ? 2 * job->out_room : 4 * PIECE;

	if (job->out_room >= most)
		return false;
	if (room < job->content)
		room = job->content;
	if (room > most)
		room = most;
	unsigned char *out = realloc(job->out, room);
	if (!out)
		return false;
	job->out = out;
	job->out_room = room;
	return true;
}

static bool
unpack_member(const struct members *m, void *state, struct job *job,
	const unsigned char *in, size_t left, size_t *used)
{
	const struct image_decoder *decoder = m->decoder;
	struct image_decode io = {.in = in, .in_left = left};

	if (!decoder->begins(in, left) || decoder->begin(state, in, left) < 0)
		return false;
	while (!io.end) {
		/* libzstd needs no window if there is room for a whole
		 * frame. */
		if ((job->out_length == job->out_room ||
			    job->out_room < job->content) &&
			!grow(job, m->unit + m->unit / 2))
			return false;
		io.out = job->out + job->out_length;
		io.out_left = job->out_room - job->out_length;
		size_t room = io.out_left, before = io.in_left;
		if (decoder->decode(state, &io) < 0)
			return false;
		job->out_length += room - io.out_left;
		if (!io.end && io.in_left == before && io.out_left == room)
			return false;
	}
	*used = left - io.in_left;
	return true;
}

static bool
unpack_job(const struct members *m, void *state, struct job *job)
{
	for (size_t at = 0, used; at < job->coded; at += used)
		if (!unpack_member(m, state, job, job->in + at, job->coded - at,
			    &used))
			return false;
	return true;
}

/* Returns the first job that waits, or NULL. With the lock. */
static struct job *
next_job(struct members *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct job *job = &m->jobs[(m->first + i) % JOBS];
		if (job->state == WAITING)
			return job;
	}
	return NULL;
}

static void *
members_run(void *opaque)
{
	struct members *m = opaque;
	void *state = m->decoder->open(m->unit / JOBS, 1);

	pthread_mutex_lock(&m->lock);
	while (!m->stop) {
		struct job *job = next_job(m);
		if (!job) {
			pthread_cond_wait(&m->changed, &m->lock);
			continue;
		}
		job->state = BUSY;
		pthread_mutex_unlock(&m->lock);
		bool done = state && unpack_job(m, state, job);
		pthread_mutex_lock(&m->lock);
		job->state = done ? READY : FAILED;
		pthread_cond_broadcast(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
	if (state)
		m->decoder->close(state);
	return NULL;
}

static void
stop_threads(struct members *m)
{
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	for (unsigned i = 0; i < m->n_threads; i++)
		pthread_join(m->threads[i], NULL);
	m->n_threads = 0;
}

/* Extend the job by a member that has zeros alone: they end a job. Returns
 * false if the next member is another one. */
static bool
look_for_zeros(struct members *m)
{
	size_t left = m->length - m->whole;
	uint64_t zeros = 0;
	size_t n = m->decoder->zeros
			   ? m->decoder->zeros(m->input + m->begin + m->whole,
				     left, &zeros)
			   : 0;

	if (n == 0) {
		m->full = m->zeros;
		return m->full;
	}
	/* An incomplete one may become as long as the input. */
	if (n > m->unit)
		return false;
	if (n > left) {
		m->enough = m->whole + n;
		return true;
	}
	m->enough = m->whole += n;
	m->zeros += zeros;
	m->full = m->whole >= LEAST;
	return true;
}

/* Extend the job by whole members, up to LEAST bytes of input or one unit of
 * output. A member of zeros has little input and much output. */
static void
look(struct members *m)
{
	while (!m->other && !m->full && m->length >= m->enough) {
		size_t left = m->length - m->whole;
		size_t content = m->unit;
		if (left == 0)
			break;
		if (look_for_zeros(m))
			continue;
		size_t n = m->decoder->whole(
			m->input + m->begin + m->whole, left, &content);
		if (n == 0) {
			m->other = true;
		} else if (n > left) {
			m->enough = m->length + left;
		} else if (m->whole && content > m->unit - m->content) {
			m->full = true;
		} else {
			m->enough = m->whole += n;
			m->coded = m->whole;
			m->content += content;
			m->full = m->whole >= LEAST || m->content >= m->unit;
		}
	}
}

static size_t
make_room(struct members *m)
{
	if (m->begin > 0 && m->unit - m->begin - m->length < PIECE) {
		memmove(m->input, m->input + m->begin, m->length);
		m->begin = 0;
	}
	return m->unit - m->begin - m->length;
}

/* Read until there is a job, or bytes that are not a whole member. */
static void
read_input(struct members *m)
{
	look(m);
	while (!m->full && !m->other && !m->ended && m->length < m->unit) {
		size_t got = 0, room = make_room(m);
		m->rc = image_stream_read(m->packed,
			m->input + m->begin + m->length,
			room < PIECE ? room : PIECE, &got, &m->err);
		m->ended = m->rc < 0 || got == 0;
		m->length += m->ended ? 0 : got;
		look(m);
	}
	if (m->whole == 0) {
		m->enough = 0;
		look(m);
	}
	m->other = m->whole == 0;
}

/* Make a job of the whole members. The reader owns the job before and after. */
static bool
make_job(struct members *m)
{
	struct job *job = &m->jobs[(m->first + m->count) % JOBS];
	unsigned char *buffer = job->in ? job->in : malloc(m->unit);

	if (!buffer)
		return false;
	/* A former buffer is used again: a new one for each job takes a page
	 * fault for each page. */
	memcpy(buffer, m->input + m->begin, m->whole);
	m->length -= m->whole;
	m->begin += m->whole;
	/* The input returns to its begin soon, so that it needs few pages. A
	 * long rest is not moved for each of many short jobs. */
	if (m->length <= m->whole) {
		memmove(m->input, m->input + m->begin, m->length);
		m->begin = 0;
	}
	job->in = buffer;
	job->in_length = m->whole;
	job->coded = m->coded;
	job->zeros = m->zeros;
	job->content = m->content;
	job->out_length = 0;
	job->state = WAITING;
	m->enough = m->enough > m->whole ? m->enough - m->whole : 0;
	m->whole = m->coded = 0;
	m->zeros = 0;
	m->content = 0;
	m->full = false;
	pthread_mutex_lock(&m->lock);
	m->count++;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	return true;
}

static int
refill(struct members *m, struct image_error *err)
{
	while (m->count < JOBS && !m->other) {
		read_input(m);
		if (!m->other && !make_job(m))
			return image_no_memory(err);
	}
	return 0;
}

/* The first job has no more content. */
static void
drop(struct members *m)
{
	m->offset += m->jobs[m->first].in_length;
	m->given = 0;
	pthread_mutex_lock(&m->lock);
	m->first = (m->first + 1) % JOBS;
	m->count--;
	pthread_mutex_unlock(&m->lock);
}

/* Copy what fits from `from`, of which *at bytes were given. */
static int
give(const unsigned char *from, size_t *at, size_t end, void *buf,
	size_t length, size_t *got)
{
	*got = end - *at < length ? end - *at : length;
	memcpy(buf, from + *at, *got);
	*at += *got;
	return 0;
}

/* The input of the jobs that are left, then what follows it. */
static int
raw_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct members *m = ((struct raw *)stream)->members;

	while (m->count) {
		struct job *job = &m->jobs[m->first];
		if (m->given < job->in_length)
			return give(job->in, &m->given, job->in_length, buf,
				length, got);
		free(job->in);
		job->in = NULL;
		drop(m);
	}
	if (m->given < m->length)
		return give(m->input + m->begin, &m->given, m->length, buf,
			length, got);
	free(m->input);
	m->input = NULL;
	if (m->rc < 0)
		*err = m->err;
	return m->rc < 0 ? m->rc
			 : image_stream_read(m->packed, buf, length, got, err);
}

static void
raw_close(struct image_stream *stream)
{
	(void)stream;
}

static const struct image_stream_ops raw_ops = {
	.read = raw_read, .close = raw_close};

static void
free_contents(struct members *m)
{
	for (size_t i = 0; i < JOBS; i++) {
		free(m->jobs[i].out);
		m->jobs[i].out = NULL;
	}
}

static int
begin_rest(struct members *m, struct image_error *err)
{
	stop_threads(m);
	free_contents(m);
	/* The decoder of the rest may need the whole memory. */
	for (size_t i = m->count; i < JOBS; i++) {
		struct job *job = &m->jobs[(m->first + i) % JOBS];
		free(job->in);
		job->in = NULL;
	}
	m->raw = (struct raw){.members = m,
		.stream = {.ops = &raw_ops,
			.name = m->packed->name,
			.size = IMAGE_SIZE_UNKNOWN,
			.store = m->packed->store,
			.trailing = m->packed->trailing}};
	return image_unpack_resume(m->packing, &m->raw.stream, m->memory, 1,
		m->offset, &m->rest, err);
}

/* Wait for the first job. Returns NULL if it failed or there is none. */
static struct job *
wait_first(struct members *m)
{
	struct job *job = &m->jobs[m->first];

	pthread_mutex_lock(&m->lock);
	bool any = m->count;
	while (any && job->state != READY && job->state != FAILED)
		pthread_cond_wait(&m->changed, &m->lock);
	bool ready = any && job->state == READY;
	pthread_mutex_unlock(&m->lock);
	return ready ? job : NULL;
}

/* Set *out to the first job that has content left; NULL: the rest is read. */
static int
first_job(struct members *m, struct job **out, struct image_error *err)
{
	*out = NULL;
	while (!m->rest) {
		int rc = refill(m, err);
		if (rc < 0)
			return rc;
		struct job *job = wait_first(m);
		if (!job)
			return begin_rest(m, err);
		if (job->out_length > m->given || job->zeros) {
			*out = job;
			break;
		}
		drop(m);
	}
	return 0;
}

static int
members_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct members *m = (struct members *)stream;
	struct job *job;

	int rc = first_job(m, &job, err);
	if (rc < 0)
		return rc;
	if (!job)
		return image_stream_read(m->rest, buf, length, got, err);
	if (m->given < job->out_length)
		return give(
			job->out, &m->given, job->out_length, buf, length, got);
	*got = job->zeros < length ? (size_t)job->zeros : length;
	memset(buf, 0, *got);
	job->zeros -= *got;
	return 0;
}

static int
members_skip(struct image_stream *stream, uint64_t unit, uint64_t *length,
	struct image_error *err)
{
	struct members *m = (struct members *)stream;
	struct job *job;

	int rc = first_job(m, &job, err);
	if (rc < 0 || !job || job->out_length > m->given)
		return rc;
	*length = job->zeros - job->zeros % unit;
	job->zeros -= *length;
	return 0;
}

static void
members_close(struct image_stream *stream)
{
	struct members *m = (struct members *)stream;

	stop_threads(m);
	free_contents(m);
	for (size_t i = 0; i < JOBS; i++)
		free(m->jobs[i].in);
	free(m->input);
	image_stream_close(m->rest);
	image_stream_close(m->packed);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m->stream.name);
	free(m);
}

static const struct image_stream_ops members_ops = {
	.read = members_read, .skip = members_skip, .close = members_close};

/* If no thread starts, the rest begins at the first member. */
static void
start_threads(struct members *m, unsigned threads)
{
	unsigned n = threads < JOBS ? threads : JOBS;

	for (m->n_threads = 0; m->n_threads < n; m->n_threads++)
		if (image_thread_create(
			    &m->threads[m->n_threads], members_run, m) != 0)
			break;
	m->other = m->n_threads == 0;
}

int
image_unpack_open(enum image_packing packing, struct image_stream *packed,
	uint64_t memory, unsigned threads, struct image_stream **out,
	struct image_error *err)
{
	const struct image_decoder *decoder = image_unpack_decoder(packing);

	if (threads < 2 || !decoder->whole)
		return image_unpack_resume(
			packing, packed, memory, threads, 0, out, err);
	*out = NULL;
	struct members *m = calloc(1, sizeof(*m));
	if (!m) {
		image_stream_close(packed);
		return image_no_memory(err);
	}
	m->stream.ops = &members_ops;
	m->stream.size = IMAGE_SIZE_UNKNOWN;
	m->stream.store = packed->store;
	m->packed = packed;
	m->packing = packing;
	m->decoder = decoder;
	m->memory = memory;
	m->unit = (size_t)(m->memory / UNITS);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	m->stream.name = strdup(packed->name);
	m->input = malloc(m->unit);
	if (!m->stream.name || !m->input) {
		members_close(&m->stream);
		return image_no_memory(err);
	}
	start_threads(m, threads);
	*out = &m->stream;
	return 0;
}
