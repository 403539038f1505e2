/* SPDX-License-Identifier: BSD-3-Clause */
/* What the server reports of holes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "store/nbd/nbd.h"

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
		/* The window ends here. Another request asks for what
		 * follows. */
		window->room = 0;
	}
}

/* Returns the window that has the offset, or NULL. */
static struct image_nbd_window *
find_window(struct image_nbd_store *nbd, uint64_t offset)
{
	for (int i = 0; i < NBD_WINDOWS; i++) {
		struct image_nbd_window *window = &nbd->windows[i];
		if (offset >= window->from && offset < window_end(window))
			return window;
	}
	return NULL;
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

static int
refuse_short(struct image_nbd_store *nbd, const struct image_nbd_window *window,
	uint64_t end, struct image_error *err)
{
	uint64_t described = window_end(window) - window->from;

	if (window_end(window) >= end ||
		described >= window->count * UINT64_C(1) * RANGE_LEAST ||
		++nbd->short_answers <= SHORT_ANSWERS)
		return 0;
	return image_fail(err, nbd->store.name, -EPROTO,
		"the server describes ranges of less than %d bytes, such as "
		"that at offset %" PRIu64 ", more than %d times",
		RANGE_LEAST, window->from, SHORT_ANSWERS);
}

/* Ask for what follows the offset. Replaces the window that was not used for
 * the longest time. */
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
	if (rc == 0)
		rc = refuse_short(nbd, window, call.end, err);
	if (rc < 0)
		window->count = 0;
	*out = window;
	return rc;
}

int
image_nbd_extent(struct image_store *store, uint64_t offset, uint64_t limit,
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
		struct image_nbd_window *window = find_window(nbd, offset);
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
