/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answer of a server without ranges, or without a length: one request,
 * whose bytes wait in a ring buffer. While the buffer is full, the request is
 * paused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "store/http/http.h"

/* The buffer, and how full it gets before the first bytes are read: a command
 * that looks at the header alone reads little. */
#define RING ((size_t)4 << 20)
#define FIRST ((size_t)256 << 10)

struct http_stream {
	struct image_stream stream;
	struct http *http;
};

bool
http_ring_create(struct http *http, uint64_t size)
{
	http->ring.data = malloc(RING);
	http->ring.size = size;
	return http->ring.data;
}

/* Bytes that may be put into the ring now. */
static size_t
space(const struct http_ring *ring)
{
	size_t most = ring->taken < RING ? FIRST : RING;

	return ring->length < most ? most - ring->length : 0;
}

bool
http_ring_put(struct http *http, const char *data, size_t length)
{
	struct http_ring *ring = &http->ring;
	bool fits;

	pthread_mutex_lock(&http->lock);
	/* libcurl offers the same bytes again after a pause. */
	fits = length <= space(ring) || ring->length == 0;
	ring->paused = !fits;
	if (fits) {
		size_t end = (ring->begin + ring->length) % RING;
		size_t first = RING - end < length ? RING - end : length;
		memcpy(ring->data + end, data, first);
		memcpy(ring->data, data + first, length - first);
		ring->length += length;
		pthread_cond_broadcast(&http->changed);
	}
	pthread_mutex_unlock(&http->lock);
	return fits;
}

void
http_ring_end(struct http *http)
{
	pthread_mutex_lock(&http->lock);
	http->ring.ended = true;
	pthread_cond_broadcast(&http->changed);
	pthread_mutex_unlock(&http->lock);
}

/* Take bytes from the ring, up to its end in memory. With the lock. */
static size_t
take(struct http_ring *ring, char *buf, size_t length)
{
	if (length > ring->length)
		length = ring->length;
	if (length > RING - ring->begin)
		length = RING - ring->begin;
	memcpy(buf, ring->data + ring->begin, length);
	ring->begin = (ring->begin + length) % RING;
	ring->length -= length;
	ring->taken += length;
	return length;
}

static int
stream_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct http *http = ((struct http_stream *)stream)->http;
	struct http_ring *ring = &http->ring;
	bool resume = false;

	pthread_mutex_lock(&http->lock);
	while (ring->length == 0 && !ring->ended && !http->failed)
		pthread_cond_wait(&http->changed, &http->lock);
	/* What came before a failure is given out first. */
	int rc = ring->length == 0 ? http->failed : 0;
	if (rc < 0)
		*err = http->err;
	else
		*got = take(ring, buf, length);
	/* A pause of a few bytes would cost more than it saves. */
	if (ring->paused && ring->length <= RING / 2) {
		ring->paused = false;
		ring->resume = resume = true;
	}
	pthread_mutex_unlock(&http->lock);
	if (resume)
		http_wake(http);
	return rc;
}

static void
stream_close(struct image_stream *stream)
{
	struct http *http = ((struct http_stream *)stream)->http;

	http->store.ops->close(&http->store);
	free(stream->name);
	free(stream);
}

static const struct image_stream_ops stream_ops = {stream_read, stream_close};

int
http_stream_open(
	struct http *http, struct image_stream **out, struct image_error *err)
{
	struct http_stream *s = calloc(1, sizeof(*s));

	if (s)
		s->stream.name = strdup(http->store.name);
	if (!s || !s->stream.name) {
		free(s);
		http->store.ops->close(&http->store);
		return image_no_memory(err);
	}
	s->stream.ops = &stream_ops;
	s->stream.size = http->ring.size;
	s->http = http;
	*out = &s->stream;
	return 0;
}
