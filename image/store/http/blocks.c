/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks in memory, the requests ahead of reads, and the reads that wait.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "store/http/http.h"

/* Requests ahead of reads. */

/* Several threads read chunks out of order. */
#define SLACK ((uint64_t)4 << 20)

static bool
continues(const struct http_track *track, uint64_t offset)
{
	return track->used && offset + SLACK >= track->end &&
	       offset <= track->end + SLACK;
}

/* Returns the sequence that a read continues, or a new one. */
static struct http_track *
find_track(struct http *http, uint64_t offset, uint64_t end)
{
	struct http_track *oldest = &http->tracks[0];

	for (size_t i = 0; i < HTTP_TRACKS; i++) {
		struct http_track *track = &http->tracks[i];
		if (continues(track, offset)) {
			track->bytes += end - offset;
			if (track->end < end)
				track->end = end;
			return track;
		}
		if (track->used < oldest->used)
			oldest = track;
	}
	*oldest = (struct http_track){.end = end};
	return oldest;
}

void
http_ahead_begin(struct http *http)
{
	http->tracks[0] =
		(struct http_track){.bytes = HTTP_AHEAD, .used = ++http->tick};
	http_ahead(http, 0, 0);
}

void
http_ahead(struct http *http, uint64_t offset, uint64_t end)
{
	if (http->inspect)
		return;
	struct http_track *track = find_track(http, offset, end);
	/* A short sequence, such as the tables of a header, asks for little. */
	uint64_t window =
		track->bytes < HTTP_AHEAD / 2 ? track->bytes * 2 : HTTP_AHEAD;
	uint64_t least = window / 4 < HTTP_LONG ? window / 4 : HTTP_LONG;

	track->used = ++http->tick;
	if (track->ahead < track->end)
		track->ahead = track->end;
	uint64_t want = track->end + window;
	/* Requests of a few blocks would take a round trip each. */
	if (window < HTTP_BLOCK || want < track->ahead + least)
		return;
	/* No short request follows the long ones, except at the end. */
	if (want < http->store.size)
		want -= (want - track->ahead) % least;
	track->ahead = http_blocks_want(http, track->ahead, want, false);
}

#define FREE UINT64_MAX

struct http_slot *
http_slot_find(struct http *http, uint64_t block)
{
	for (size_t i = 0; i < HTTP_SLOTS; i++)
		if (http->slots[i].block == block)
			return &http->slots[i];
	return NULL;
}

/* Returns a slot for another block, or NULL if all are in use. */
static struct http_slot *
take_slot(struct http *http)
{
	struct http_slot *best = NULL;

	for (size_t i = 0; i < HTTP_SLOTS; i++) {
		struct http_slot *slot = &http->slots[i];
		if (slot->block == FREE) {
			best = slot;
			break;
		}
		if (slot->ready && slot->pins == 0 &&
			(!best || slot->used < best->used))
			best = slot;
	}
	if (best && !best->data) {
		best->data = malloc(HTTP_BLOCK);
		if (!best->data) {
			http_fail_no_memory(http);
			return NULL;
		}
	}
	return best;
}

static void
enqueue(struct http *http, struct http_transfer *transfer, bool urgent)
{
	struct http_transfer **place = &http->queue;

	while (!urgent && *place)
		place = &(*place)->next;
	transfer->next = *place;
	*place = transfer;
}

/* Extend the last request of the queue, if it ends at offset. */
static bool
extend(struct http *http, uint64_t offset, uint64_t end)
{
	struct http_transfer *last = http->queue;

	while (last && last->next)
		last = last->next;
	if (!last || last->end != offset || last->tries ||
		end - last->at > HTTP_LONG)
		return false;
	last->end = end;
	return true;
}

static bool
take_for(struct http *http, uint64_t block)
{
	struct http_slot *slot = take_slot(http);

	if (!slot)
		return false;
	slot->block = block;
	slot->ready = false;
	slot->used = ++http->tick;
	return true;
}

bool
http_blocks_begin(struct http *http, uint64_t end)
{
	for (uint64_t at = 0; at < end; at += HTTP_BLOCK)
		if (!take_for(http, at / HTTP_BLOCK))
			return false;
	return true;
}

/* Request missing blocks from offset on. Returns the end of the request, or
 * offset if there is no slot or no memory. */
static uint64_t
request(struct http *http, uint64_t offset, uint64_t end, bool urgent)
{
	uint64_t at = offset;
	struct http_transfer *transfer = NULL;

	while (at < end && at - offset < HTTP_LONG &&
		!http_slot_find(http, at / HTTP_BLOCK)) {
		if (!transfer) {
			transfer = http_transfer_new(http, offset, offset);
			if (!transfer)
				http_fail_no_memory(http);
		}
		if (!transfer || !take_for(http, at / HTTP_BLOCK))
			break;
		at += HTTP_BLOCK;
	}
	if (at == offset) {
		free(transfer);
		return offset;
	}
	if (at > http->store.size)
		at = http->store.size;
	transfer->end = at;
	if (!urgent && extend(http, offset, at))
		http_transfer_free(transfer);
	else
		enqueue(http, transfer, urgent);
	return at;
}

void
http_block_ready(struct http *http, struct http_slot *slot)
{
	slot->ready = true;
	slot->used = ++http->tick;
	pthread_cond_broadcast(&http->changed);
}

uint64_t
http_blocks_want(struct http *http, uint64_t offset, uint64_t end, bool urgent)
{
	bool any = false;

	offset -= offset % HTTP_BLOCK;
	if (end > http->store.size)
		end = http->store.size;
	while (offset < end) {
		uint64_t next = offset + HTTP_BLOCK;
		if (!http_slot_find(http, offset / HTTP_BLOCK)) {
			next = request(http, offset, end, urgent);
			if (next == offset)
				break;
			any = true;
		}
		offset = next;
	}
	if (any)
		http_wake(http);
	return offset < end ? offset : end;
}

/*
 * Returns the slot of a block that is ready, pinned; or NULL after a failure.
 * `end` is that of the read.
 */
static struct http_slot *
wait_for(struct http *http, uint64_t offset, uint64_t end)
{
	uint64_t block = offset / HTTP_BLOCK;
	struct http_slot *slot = NULL;

	while (!http->failed) {
		slot = http_slot_find(http, block);
		if (slot && slot->ready)
			break;
		if (!slot) {
			/* All slots may be in use by other reads. */
			http_blocks_want(http, offset, end, true);
			slot = http_slot_find(http, block);
		}
		if (http->failed)
			break;
		/* A pinned slot keeps its block. */
		unsigned *waiters = slot ? &slot->pins : &http->starved;
		++*waiters;
		pthread_cond_wait(&http->changed, &http->lock);
		--*waiters;
	}
	if (http->failed)
		return NULL;
	slot->pins++;
	slot->used = ++http->tick;
	return slot;
}

static int
read_locked(struct http *http, uint64_t offset, char *buf, size_t length)
{
	uint64_t end = offset + length;

	http_blocks_want(http, offset, end, true);
	http_ahead(http, offset, end);
	while (length) {
		size_t skip = offset % HTTP_BLOCK;
		size_t n = HTTP_BLOCK - skip < length
				   ? (size_t)HTTP_BLOCK - skip
				   : length;
		struct http_slot *slot = wait_for(http, offset, end);
		if (!slot)
			return http->failed;
		pthread_mutex_unlock(&http->lock);
		memcpy(buf, slot->data + skip, n);
		pthread_mutex_lock(&http->lock);
		if (--slot->pins == 0 && http->starved)
			pthread_cond_broadcast(&http->changed);
		offset += n;
		buf += n;
		length -= n;
	}
	return 0;
}

int
http_blocks_read(struct http *http, uint64_t offset, char *buf, size_t length,
	struct image_error *err)
{
	uint64_t size = http->store.size;

	if (offset > size || length > size - offset)
		return image_fail(err, http->store.name, -EIO,
			"ends at offset %" PRIu64 ", inside the range that is "
			"read",
			size);
	pthread_mutex_lock(&http->lock);
	int rc = read_locked(http, offset, buf, length);
	if (rc < 0)
		*err = http->err;
	pthread_mutex_unlock(&http->lock);
	return rc;
}
