/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a pipeline, and their waiting. */
#include <time.h>
#include "pipeline/state.h"
#include "thread.h"

/* Returns the time from which run->rate allows another read. */
static uint64_t
due_ns(const struct pipeline *p)
{
	double seconds = (double)p->read / (double)p->run->rate;
	return p->began_ns + (uint64_t)(seconds * 1e9);
}

bool
pipeline_must_wait(struct pipeline *p)
{
	return p->run->rate && image_now_ns() < due_ns(p);
}

void
pipeline_wait(struct pipeline *p)
{
	bool limited = p->run->rate && p->offset < p->size;

	if (limited && pipeline_must_wait(p)) {
		uint64_t due = due_ns(p);
		struct timespec until = {
			(time_t)(due / 1000000000), (long)(due % 1000000000)};
		pthread_cond_timedwait(&p->changed, &p->lock, &until);
	} else if (!limited || p->under_way) {
		pthread_cond_wait(&p->changed, &p->lock);
	}
	/* Otherwise the time has just come: the caller tries again. */
}

unsigned
pipeline_threads(struct pipeline *p, unsigned wanted, void *(*work)(void *))
{
	pthread_t threads[IMAGE_MAX_THREADS];
	unsigned more = 0;

	p->began_ns = image_now_ns();
	while (more + 1 < wanted &&
		image_thread_create(&threads[more], work, p) == 0)
		more++;
	work(p);
	for (unsigned i = 0; i < more; i++)
		pthread_join(threads[i], NULL);
	return more + 1;
}
