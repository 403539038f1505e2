/* SPDX-License-Identifier: BSD-3-Clause */
/* The producer of blocks: requests and their bytes. */
#include <assert.h>
#include <string.h>
#include "store/http/http.h"

/* What is read before the first reader needs it. */
#define FIRST_BLOCKS 2

bool
http_request(
	struct image_blocks *blocks, uint64_t begin, uint64_t end, bool urgent)
{
	struct http *http = (struct http *)blocks;
	struct http_transfer **place = &http->queue, *last = NULL;

	if (http->streams) {
		/* There is room for what the request holds back. */
		http->resume |= http->paused;
		http->paused = false;
		blocks->wakes |= http->resume;
		return true;
	}
	while (!urgent && *place) {
		last = *place;
		place = &last->next;
	}
	if (last && last->end == begin && !last->tries &&
		end - last->at <= BLOCKS_LONG) {
		last->end = end;
	} else {
		struct http_transfer *transfer =
			http_transfer_new(http, begin, end);
		if (!transfer)
			return false;
		transfer->next = *place;
		*place = transfer;
	}
	blocks->wakes = true;
	return true;
}

bool
http_fill_begin(struct http *http, uint64_t end)
{
	struct image_blocks *b = &http->blocks;
	uint64_t count = (end + BLOCK - 1) / BLOCK;

	if (http->streams) {
		blocks_order(b);
		count = FIRST_BLOCKS;
	} else {
		b->end = b->store.size;
	}
	for (uint64_t i = 0; i < count; i++)
		if (!blocks_take(b, i, false))
			return false;
	return true;
}

/* Copy bytes into a block that waits for them. Returns their number. */
static size_t
copy(struct http *http, uint64_t at, const char *data, size_t length,
	struct block **block)
{
	size_t skip = at % BLOCK;

	pthread_mutex_lock(&http->blocks.lock);
	*block = blocks_find(&http->blocks, at / BLOCK);
	pthread_mutex_unlock(&http->blocks.lock);
	/* A coming block stays. */
	assert(*block);
	if (length > BLOCK - skip)
		length = BLOCK - skip;
	memcpy((*block)->bytes + skip, data, length);
	return length;
}

static void
came(struct http *http, struct block *block, size_t filled)
{
	pthread_mutex_lock(&http->blocks.lock);
	blocks_came(&http->blocks, block, filled);
	pthread_mutex_unlock(&http->blocks.lock);
}

size_t
http_fill(struct http_transfer *t, const char *data, size_t length)
{
	struct block *block;

	if (length > t->end - t->at)
		length = (size_t)(t->end - t->at);
	length = copy(t->http, t->at, data, length, &block);
	t->at += length;
	if (t->at == t->end)
		/* Ready at the end of the answer, which may be too long. */
		t->last = block;
	else if (t->at % BLOCK == 0)
		came(t->http, block, BLOCK);
	return length;
}

void
http_fill_end(struct http_transfer *t)
{
	struct image_blocks *b = &t->http->blocks;

	if (t->last)
		came(t->http, t->last, (size_t)((t->end - 1) % BLOCK) + 1);
	if (!t->http->streams)
		return;
	pthread_mutex_lock(&b->lock);
	b->end = t->at;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

bool
http_put(struct http *http, uint64_t at, const char *data, size_t length)
{
	struct image_blocks *b = &http->blocks;
	uint64_t end = at - at % BLOCK;

	pthread_mutex_lock(&b->lock);
	while (end < at + length && blocks_find(b, end / BLOCK))
		end += BLOCK;
	http->paused = end < at + length;
	pthread_mutex_unlock(&b->lock);
	if (end < at + length)
		return false;
	for (size_t done = 0, n; done < length; done += n) {
		struct block *block;
		n = copy(http, at + done, data + done, length - done, &block);
		came(http, block, (at + done) % BLOCK + n);
	}
	return true;
}
