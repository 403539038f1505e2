/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks in memory, and the reads that wait for them. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "store/http/http.h"

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
