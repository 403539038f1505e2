/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_THREAD_H
#define HONE_IMAGE_THREAD_H
#include <pthread.h>
#include <stdint.h>

/*
 * As pthread_create(), but the thread has all signals blocked: the program
 * handles signals in its own threads.
 */
int image_thread_create(pthread_t *thread, void *(*run)(void *), void *arg);

/* CPUs that this process may use. */
unsigned image_cpus(void);

/* Nanoseconds of the monotonic clock. */
uint64_t image_now_ns(void);

#endif
