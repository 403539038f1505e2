/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <signal.h>
#include <time.h>
#include "thread.h"

int
image_thread_create(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t every, old;

	/* The new thread inherits the mask. */
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old);
	int rc = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

unsigned
image_cpus(void)
{
	cpu_set_t set;
	int n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned)n;
}

uint64_t
image_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
