/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_QUEUE_H
#define HONE_DETAIL_QUEUE_H
/* What ThreadSanitizer has to know of a queue: see hone/detail/tsan.h. */
#include <hone/detail/tsan.h>

#if HONE_DETAIL_TSAN
HONE_BEGIN_DECLS

/* The order of all calls that put or close before all that get, and the
 * reverse, by two addresses in the queue, which is larger. */
#define HONE_DETAIL_PUT(queue) ((void *)(queue))
#define HONE_DETAIL_GOT(queue) ((void *)((char *)(queue) + 8))

static inline int
hone_detail_tsan_queue_put(
	struct hone_queue *queue, void *element, int64_t deadline)
{
	HONE_DETAIL_TSAN_CALL(int, hone_queue_put(queue, element, deadline),
		HONE_DETAIL_PUT(queue), HONE_DETAIL_GOT(queue));
}

static inline ssize_t
hone_detail_tsan_queue_put_burst(struct hone_queue *queue,
	void *const *elements, size_t n, int64_t deadline)
{
	HONE_DETAIL_TSAN_CALL(ssize_t,
		hone_queue_put_burst(queue, elements, n, deadline),
		HONE_DETAIL_PUT(queue), HONE_DETAIL_GOT(queue));
}

static inline int
hone_detail_tsan_queue_get(
	struct hone_queue *queue, void **element, int64_t deadline)
{
	HONE_DETAIL_TSAN_CALL(int, hone_queue_get(queue, element, deadline),
		HONE_DETAIL_GOT(queue), HONE_DETAIL_PUT(queue));
}

static inline ssize_t
hone_detail_tsan_queue_get_burst(
	struct hone_queue *queue, void **elements, size_t n, int64_t deadline)
{
	HONE_DETAIL_TSAN_CALL(ssize_t,
		hone_queue_get_burst(queue, elements, n, deadline),
		HONE_DETAIL_GOT(queue), HONE_DETAIL_PUT(queue));
}

static inline void
hone_detail_tsan_queue_close(struct hone_queue *queue)
{
	HONE_DETAIL_RELEASE(HONE_DETAIL_PUT(queue));
	hone_queue_close(queue);
}

#define hone_queue_put(queue, element, deadline)                               \
	hone_detail_tsan_queue_put(queue, element, deadline)
#define hone_queue_put_burst(queue, elements, n, deadline)                     \
	hone_detail_tsan_queue_put_burst(queue, elements, n, deadline)
#define hone_queue_get(queue, element, deadline)                               \
	hone_detail_tsan_queue_get(queue, element, deadline)
#define hone_queue_get_burst(queue, elements, n, deadline)                     \
	hone_detail_tsan_queue_get_burst(queue, elements, n, deadline)
#define hone_queue_close(queue) hone_detail_tsan_queue_close(queue)

HONE_END_DECLS
#endif
#endif
