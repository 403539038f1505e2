/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bare ring that all threads share, used as a pool. Concurrency Kit's ring
 * moves one pointer a call.
 */
#include <ck_ring.h>
#include <stdlib.h>
#include "pools.h"

struct ring {
	struct ck_ring ring;
	struct ck_ring_buffer slots[];
};

static inline void
put_bulk(struct ring *r, void **objects, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		while (!ck_ring_enqueue_mpmc(&r->ring, r->slots, objects[i]))
			continue;
}

static inline int
get_bulk(struct ring *r, void **objects, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!ck_ring_dequeue_mpmc(&r->ring, r->slots, &objects[i])) {
			put_bulk(r, objects, i);
			return -1;
		}
	}
	return 0;
}

#define POOL ck
#define POOL_BEGIN(t) struct ring *ring = (t)
#define POOL_END() (void)0
#define POOL_GET(p, n) get_bulk(ring, p, n)
#define POOL_PUT(p, n) put_bulk(ring, p, n)
#include "loop.h"

static const char *
missing(const struct pool_subject *s)
{
	(void)s;
	return NULL;
}

static void *
open_ring(const struct pool_subject *s, const struct pool_shape *shape)
{
	struct ring *r;
	unsigned size = 1;
	char *object = shape->memory;

	(void)s;
	/* One slot of the ring stays empty. */
	while (size <= shape->capacity)
		size *= 2;
	r = aligned_alloc(64, sizeof(*r) + size * sizeof(r->slots[0]));
	if (!r)
		return NULL;
	ck_ring_init(&r->ring, size);
	for (unsigned i = 0; i < shape->capacity; i++) {
		ck_ring_enqueue_mpmc(&r->ring, r->slots, object);
		object += shape->object_size;
	}
	return r;
}

static void *
enter(void *pool)
{
	return pool;
}

const struct pool_subject pool_ck[] = {
	{"ck-ring", NULL, missing, open_ring, enter, ck_cycle, ck_touch,
		ck_produce, ck_consume, ck_take, ck_give},
	{0},
};
