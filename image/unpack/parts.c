/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unpacked parts are kept in slots. A thread that needs a part which another
 * thread unpacks at the moment unpacks a later one meanwhile, so that all
 * threads of a pipeline, which reads the content in its order, have work.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "unpack/parts.h"

/* More slots are of no use to the threads of a pipeline. */
#define MAX_SLOTS ((uint64_t)2 * IMAGE_MAX_THREADS)

enum slot_state { EMPTY, BUSY, READY };

struct slot {
	enum slot_state state;
	/* of parts.list */
	size_t part;
	/* threads that read the bytes or wait for them */
	unsigned readers;
	/* the time of the last use */
	uint64_t used;
	/* NULL until the first use */
	unsigned char *bytes;
};

/* What is known of a part: it was unpacked without an error; it failed when it
 * was unpacked for no reader. */
#define SOUND 1
#define FAILED 2

struct unpacked {
	struct image_store store;
	struct image_parts parts;
	/* of the longest part */
	size_t longest;

	pthread_mutex_t lock;
	/* a slot has another state, or one reader less */
	pthread_cond_t changed;
	/* Everything below is used under the lock, except the bytes of slots
	 * that are BUSY or have readers. */
	uint64_t time;
	/* for each part */
	unsigned char *known;
	size_t n_slots;
	struct slot slots[];
};

static struct unpacked *
of(struct image_store *store)
{
	return (struct unpacked *)store;
}

int
image_parts_add(struct image_parts *parts, uint64_t from, uint64_t stored,
	uint64_t length, struct image_error *err)
{
	uint64_t offset = parts->count ? image_parts_size(parts) : 0;

	if (!parts->list || parts->count == parts->room) {
		size_t room = parts->room ? 2 * parts->room : 64;
		struct image_packed *list =
			realloc(parts->list, room * sizeof(*list));
		if (!list)
			return image_no_memory(err);
		parts->list = list;
		parts->room = room;
	}
	parts->list[parts->count] = (struct image_packed){.from = from,
		.stored = stored,
		.offset = offset,
		.length = length};
	parts->count++;
	return 0;
}

/* Returns the part that has the byte at offset. */
static size_t
part_at(const struct image_parts *parts, uint64_t offset)
{
	size_t low = 0, high = parts->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (parts->list[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct slot *
find(struct unpacked *u, size_t part)
{
	for (size_t i = 0; i < u->n_slots; i++) {
		struct slot *slot = &u->slots[i];
		if (slot->state != EMPTY && slot->part == part)
			return slot;
	}
	return NULL;
}

/*
 * Returns a slot for another part, or NULL. The first choice is the part below
 * `part` that was used longest ago. `needed`: a later part may be given up.
 * Then the last one is, because it is read last.
 */
static struct slot *
find_free(struct unpacked *u, size_t part, bool needed)
{
	struct slot *below = NULL, *above = NULL;

	for (size_t i = 0; i < u->n_slots; i++) {
		struct slot *slot = &u->slots[i];
		if (slot->state == BUSY || slot->readers)
			continue;
		if (slot->state == EMPTY)
			return slot;
		if (slot->part > part) {
			if (!above || slot->part > above->part)
				above = slot;
		} else if (!below || slot->used < below->used) {
			below = slot;
		}
	}
	return below || !needed ? below : above;
}

/* Called with the lock, which is free while the part is unpacked. */
static int
fill(struct unpacked *u, struct slot *slot, size_t part,
	struct image_error *err)
{
	const struct image_packed *packed = &u->parts.list[part];

	slot->state = BUSY;
	slot->part = part;
	pthread_mutex_unlock(&u->lock);
	int rc = 0;
	if (!slot->bytes)
		slot->bytes = malloc(u->longest);
	if (!slot->bytes)
		rc = image_no_memory(err);
	if (rc == 0)
		rc = u->parts.unpack(
			&u->parts, u->store.below, packed, slot->bytes, err);
	pthread_mutex_lock(&u->lock);
	slot->state = rc == 0 ? READY : EMPTY;
	slot->used = ++u->time;
	u->known[part] = rc == 0 ? SOUND : FAILED;
	pthread_cond_broadcast(&u->changed);
	return rc;
}

/*
 * Unpack one of the next parts for later. Returns false if there is none. The
 * thread that needs the part reports an error.
 */
static bool
help(struct unpacked *u, size_t part)
{
	struct image_error ignored;

	for (size_t i = part + 1; i < u->parts.count && i - part < u->n_slots;
		i++) {
		if (u->known[i] || find(u, i))
			continue;
		struct slot *slot = find_free(u, part, false);
		if (slot)
			fill(u, slot, i, &ignored);
		return slot;
	}
	return false;
}

/* Wait for a part that another thread unpacks. Returns false if that failed. */
static bool
wait_for(struct unpacked *u, struct slot *slot)
{
	size_t part = slot->part;

	slot->readers++;
	while (slot->state == BUSY)
		if (!help(u, part))
			pthread_cond_wait(&u->changed, &u->lock);
	if (slot->state == READY)
		return true;
	slot->readers--;
	return false;
}

/* Returns the slot of a part, with one reader more, or NULL after an error. */
static struct slot *
get(struct unpacked *u, size_t part, int *rc, struct image_error *err)
{
	for (;;) {
		struct slot *slot = find(u, part);
		if (slot && slot->state == READY) {
			slot->readers++;
			slot->used = ++u->time;
			return slot;
		}
		if (slot) {
			if (wait_for(u, slot))
				return slot;
			continue;
		}
		slot = find_free(u, part, true);
		if (!slot) {
			pthread_cond_wait(&u->changed, &u->lock);
			continue;
		}
		*rc = fill(u, slot, part, err);
		if (*rc < 0)
			return NULL;
	}
}

static int
parts_read(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	struct unpacked *u = of(store);
	unsigned char *to = buf;
	int rc = 0;

	if (offset > store->size || length > store->size - offset)
		return image_damaged(err, store->name, -EIO,
			"has no data at offset %" PRIu64
			": it ends at offset %" PRIu64,
			offset, store->size);
	pthread_mutex_lock(&u->lock);
	while (length) {
		size_t part = part_at(&u->parts, offset);
		const struct image_packed *p = &u->parts.list[part];
		struct slot *slot = get(u, part, &rc, err);
		if (!slot)
			break;
		uint64_t at = offset - p->offset;
		size_t n = p->length - at < length ? (size_t)(p->length - at)
						   : length;
		pthread_mutex_unlock(&u->lock);
		memcpy(to, slot->bytes + at, n);
		pthread_mutex_lock(&u->lock);
		if (--slot->readers == 0)
			pthread_cond_broadcast(&u->changed);
		to += n;
		offset += n;
		length -= n;
	}
	pthread_mutex_unlock(&u->lock);
	return rc;
}

/* Unpack what nobody has read, since its checksums may be wrong. */
static int
parts_unchanged(struct image_store *store, struct image_error *err)
{
	struct unpacked *u = of(store);
	int rc = 0;

	pthread_mutex_lock(&u->lock);
	for (size_t i = 0; rc == 0 && i < u->parts.count; i++) {
		if (u->known[i] == SOUND)
			continue;
		struct slot *slot = get(u, i, &rc, err);
		if (slot)
			slot->readers--;
	}
	pthread_mutex_unlock(&u->lock);
	return rc < 0 ? rc : image_store_unchanged(u->store.below, err);
}

static void
parts_close(struct image_store *store)
{
	struct unpacked *u = of(store);

	for (size_t i = 0; i < u->n_slots; i++)
		free(u->slots[i].bytes);
	image_store_close(u->store.below);
	pthread_cond_destroy(&u->changed);
	pthread_mutex_destroy(&u->lock);
	free(u->parts.list);
	free(u->known);
	free(store->name);
	free(u);
}

static const struct image_store_ops parts_ops = {
	.read = parts_read,
	.unchanged = parts_unchanged,
	.close = parts_close,
};

static uint64_t
longest(const struct image_parts *parts)
{
	uint64_t most = 1;

	for (size_t i = 0; i < parts->count; i++)
		if (parts->list[i].length > most)
			most = parts->list[i].length;
	return most;
}

uint64_t
image_parts_size(const struct image_parts *parts)
{
	const struct image_packed *list = parts->list;

	return parts->count ? list[parts->count - 1].offset +
				      list[parts->count - 1].length
			    : IMAGE_SIZE_UNKNOWN;
}

bool
image_parts_fit(const struct image_parts *parts, uint64_t memory)
{
	/* Neither sum can overflow. */
	return parts->count > 1 && longest(parts) <= memory &&
	       parts->decoder <= memory &&
	       2 * (longest(parts) + parts->decoder) <= memory;
}

int
image_parts_open(struct image_store *packed, const struct image_parts *parts,
	uint64_t memory, struct image_store **out, struct image_error *err)
{
	uint64_t n = memory / (longest(parts) + parts->decoder);

	assert(image_parts_fit(parts, memory));
	*out = NULL;
	if (n > MAX_SLOTS)
		n = MAX_SLOTS;
	struct unpacked *u = calloc(1, sizeof(*u) + n * sizeof(*u->slots));
	if (!u) {
		image_store_close(packed);
		free(parts->list);
		return image_no_memory(err);
	}
	u->store.ops = &parts_ops;
	u->store.size = image_parts_size(parts);
	u->store.below = packed;
	u->parts = *parts;
	u->longest = (size_t)longest(parts);
	u->store.part = u->longest;
	u->n_slots = (size_t)n;
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->changed, NULL);
	u->store.name = strdup(packed->name);
	u->known = calloc(parts->count, 1);
	if (!u->store.name || !u->known) {
		parts_close(&u->store);
		return image_no_memory(err);
	}
	*out = &u->store;
	return 0;
}
