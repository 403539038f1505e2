/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
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
