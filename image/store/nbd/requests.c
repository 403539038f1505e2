/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of the store: block status, then reads and writes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "store/nbd/nbd.h"
#include "thread.h"

/* The largest length of a request, in whole blocks of every server. */
#define MOST UINT64_C(0xffff0000)

static uint64_t
window_end(const struct image_nbd_window *window)
{
	return window->count ? window->ranges[window->count - 1].end
			     : window->from;
}

void
image_nbd_window_add(
	struct image_nbd_window *window, uint64_t length, bool hole)
{
	struct image_nbd_range *last =
		window->count ? &window->ranges[window->count - 1] : NULL;
	uint64_t end = window_end(window) + length;

	if (window->room == 0)
		return;
	if (last && last->hole == hole) {
		last->end = end;
	} else if (window->count < window->room) {
		window->ranges[window->count++] =
			(struct image_nbd_range){end, hole};
	} else {
		/* The window ends here. */
		window->room = 0;
	}
}

static void
describe(struct image_nbd_window *window, uint64_t offset, uint64_t limit,
	uint64_t *length, bool *hole)
{
	size_t low = 0, high = window->count - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (window->ranges[middle].end > offset)
			high = middle;
		else
			low = middle + 1;
	}
	*hole = window->ranges[low].hole;
	*length = window->ranges[low].end - offset;
	if (*length > limit)
		*length = limit;
}

/* Ranges of fewer bytes on average are not those of a disk. A disk of a TiB
 * would take as many answers as it has bytes, and each would come in time. */
#define RANGE_LEAST 512
#define SHORT_ANSWERS 1000

/* Replaces the window that was not used for the longest time. */
static int
ask(struct image_nbd_store *nbd, uint64_t offset, struct image_nbd_window **out,
	struct image_error *err)
{
	struct image_nbd_window *window = &nbd->windows[0];
	uint64_t from = offset - offset % nbd->align;
	uint64_t left = nbd->store.size - from;
	struct image_nbd_call call = {.kind = NBD_STATUS,
		.offset = from,
		.end = from + (left < MOST ? left : MOST)};

	for (int i = 1; i < NBD_WINDOWS; i++)
		if (nbd->windows[i].used < window->used)
			window = &nbd->windows[i];
	if (!window->ranges) {
		window->ranges = calloc(NBD_RANGES, sizeof(*window->ranges));
		if (!window->ranges)
			return image_no_memory(err);
	}
	window->from = from;
	window->count = 0;
	window->room = NBD_RANGES;
	call.window = window;
	int rc = image_nbd_run(nbd, &call, err);
	uint64_t described = window_end(window) - from;
	if (rc == 0 && from + described < call.end &&
		described < window->count * UINT64_C(1) * RANGE_LEAST &&
		++nbd->short_answers > SHORT_ANSWERS)
		rc = image_fail(err, nbd->store.name, -EPROTO,
			"the server describes ranges of less than %d bytes, "
			"such as that at offset %" PRIu64
			", more than %d times",
			RANGE_LEAST, from, SHORT_ANSWERS);
	if (rc < 0)
		window->count = 0;
	*out = window;
	return rc;
}

static int
nbd_store_extent(struct image_store *store, uint64_t offset, uint64_t limit,
	uint64_t *length, bool *hole, struct image_error *err)
{
	struct image_nbd_store *nbd = (struct image_nbd_store *)store;
	int rc = 0;

	*length = limit;
	*hole = false;
	if (!nbd->can_status)
		return 0;
	pthread_mutex_lock(&nbd->windows_lock);
	if (!nbd->no_status) {
		struct image_nbd_window *window = NULL;
		for (int i = 0; i < NBD_WINDOWS && !window; i++)
			if (offset >= nbd->windows[i].from &&
				offset < window_end(&nbd->windows[i]))
				window = &nbd->windows[i];
		if (!window)
			rc = ask(nbd, offset, &window, err);
		if (rc == -EOPNOTSUPP) {
			nbd->no_status = true;
			rc = 0;
		} else if (rc == 0 && window && window_end(window) > offset) {
			window->used = ++nbd->uses;
			describe(window, offset, limit, length, hole);
		}
	}
	pthread_mutex_unlock(&nbd->windows_lock);
	return rc;
}

static int
transfer(struct image_nbd_store *nbd, enum image_nbd_kind kind, uint64_t offset,
	const void *bytes, uint64_t length, struct image_error *err)
{
	struct image_nbd_call call = {.kind = kind,
		.offset = offset,
		.end = offset + length,
		.bytes = (unsigned char *)(uintptr_t)bytes};

	return length ? image_nbd_run(nbd, &call, err) : 0;
}

static int
nbd_store_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	struct image_nbd_store *nbd = (struct image_nbd_store *)store;
	uint64_t mask = nbd->align - 1;
	uint64_t from = offset & ~mask;
	uint64_t end = (offset + length + mask) & ~mask;

	if (offset > store->size || length > store->size - offset)
		return image_fail(err, store->name, -EIO,
			"has no data at offset %" PRIu64, store->size);
	if (((offset | length) & mask) == 0)
		return transfer(nbd, NBD_READ, offset, buf, length, err);
	/* Read whole blocks, and copy a part of them. */
	if (end > store->size)
		end = store->size;
	unsigned char *blocks = calloc(1, (size_t)(end - from));
	if (!blocks)
		return image_no_memory(err);
	int rc = transfer(nbd, NBD_READ, from, blocks, end - from, err);
	if (rc == 0)
		memcpy(buf, blocks + (offset - from), length);
	free(blocks);
	return rc;
}

static int
write_part(struct image_nbd_store *nbd, uint64_t offset, const void *bytes,
	uint64_t length, struct image_error *err)
{
	uint64_t from = offset & ~(nbd->align - 1);
	uint64_t size = nbd->align;

	if (size > nbd->store.size - from)
		size = nbd->store.size - from;
	unsigned char *block = malloc((size_t)size);
	if (!block)
		return image_no_memory(err);
	pthread_mutex_lock(&nbd->part_lock);
	int rc = transfer(nbd, NBD_READ, from, block, size, err);
	if (rc == 0) {
		if (bytes)
			memcpy(block + (offset - from), bytes, (size_t)length);
		else
			memset(block + (offset - from), 0, (size_t)length);
		rc = transfer(nbd, NBD_WRITE, from, block, size, err);
	}
	pthread_mutex_unlock(&nbd->part_lock);
	free(block);
	return rc;
}

static int
zero_blocks(struct image_nbd_store *nbd, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	if (nbd->can_zero &&
		!__atomic_load_n(&nbd->no_zero, __ATOMIC_RELAXED)) {
		int rc = transfer(nbd, NBD_ZERO, offset, NULL, length, err);
		if (rc != -EOPNOTSUPP)
			return rc;
		__atomic_store_n(&nbd->no_zero, 1, __ATOMIC_RELAXED);
	}
	return transfer(nbd, NBD_WRITE, offset, NULL, length, err);
}

/* Write the parts of blocks, then whole blocks. bytes NULL: zeros. */
static int
put(struct image_nbd_store *nbd, uint64_t offset, const unsigned char *bytes,
	uint64_t length, struct image_error *err)
{
	uint64_t mask = nbd->align - 1;
	uint64_t end = offset + length;
	uint64_t first = (offset + mask) & ~mask;
	uint64_t last = end & ~mask;
	int rc = 0;

	if (end > nbd->store.size || length > nbd->store.size)
		return image_fail(err, nbd->store.name, -ENOSPC,
			"is full: it has %s",
			IMAGE_COUNT(nbd->store.size, "byte"));
	if (first > last)
		return write_part(nbd, offset, bytes, length, err);
	if (offset < first)
		rc = write_part(nbd, offset, bytes, first - offset, err);
	if (rc == 0 && last < end)
		rc = write_part(nbd, last,
			bytes ? bytes + (last - offset) : NULL, end - last,
			err);
	if (rc < 0 || first == last)
		return rc;
	if (!bytes)
		return zero_blocks(nbd, first, last - first, err);
	return transfer(nbd, NBD_WRITE, first, bytes + (first - offset),
		last - first, err);
}

static int
nbd_store_write(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	return put((struct image_nbd_store *)store, offset, buf, length, err);
}

static int
nbd_store_zero(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	return put((struct image_nbd_store *)store, offset, NULL, length, err);
}

/* A server without flush has nothing that is not durable. */
static int
nbd_store_flush(struct image_store *store, struct image_error *err)
{
	struct image_nbd_store *nbd = (struct image_nbd_store *)store;

	return nbd->can_flush ? transfer(nbd, NBD_FLUSH, 0, NULL, 1, err) : 0;
}

/* What the server reports as data. It may have ranges without an end: what it
 * has not described within the time limit is data. */
static int
nbd_store_usage(const struct image_store *store, struct image_usage *usage,
	struct image_error *err)
{
	struct image_store *self = (struct image_store *)(uintptr_t)store;
	uint64_t until =
		image_now_ns() + ((struct image_nbd_store *)self)->limit_ns;
	uint64_t length;
	bool hole;

	*usage = (struct image_usage){.file_size = store->size};
	for (uint64_t at = 0; at < store->size; at += length) {
		hole = false;
		length = store->size - at;
		int rc = image_now_ns() < until
				 ? nbd_store_extent(self, at, length, &length,
					   &hole, err)
				 : 0;
		if (rc < 0)
			return rc;
		if (!hole)
			usage->disk_usage += length;
	}
	return 0;
}

static void
nbd_store_close(struct image_store *store)
{
	struct image_nbd_store *nbd = (struct image_nbd_store *)store;

	image_nbd_stop(nbd);
	for (int i = 0; i < NBD_WINDOWS; i++)
		free(nbd->windows[i].ranges);
	pthread_mutex_destroy(&nbd->part_lock);
	pthread_mutex_destroy(&nbd->windows_lock);
	pthread_cond_destroy(&nbd->opened);
	pthread_mutex_destroy(&nbd->lock);
	free(nbd->tls_psk);
	free(nbd->tls_certificates);
	free(nbd->address);
	free(store->name);
	free(nbd);
}

const struct image_store_ops image_nbd_ops = {
	.read = nbd_store_read,
	.write = nbd_store_write,
	.zero = nbd_store_zero,
	.extent = nbd_store_extent,
	.flush = nbd_store_flush,
	.usage = nbd_store_usage,
	.close = nbd_store_close,
};
