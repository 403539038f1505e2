/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_GUARD_H
#define HONE_IMAGE_GUARD_H
/*
 * Touching mapped bytes of a file that others may truncate.
 *
 * Linux raises SIGBUS for a page past the end of the file, for one that its
 * disk cannot deliver, and for one whose memory is broken. Between
 * image_guard_start() and image_guard_stop() such a signal inside
 * image_guard_call() becomes a return value.
 */
#include <stdbool.h>

/*
 * Install the handler, and put back what was there. They nest; one thread
 * starts and stops, any thread calls. A SIGBUS of somebody else goes on to
 * the handler found at the start.
 */
void image_guard_start(void);
void image_guard_stop(void);

/*
 * Call fn(arg). Returns false if it touched a page that is not there; fn was
 * then left where it stood, so it must hold no resource and take no lock.
 */
bool image_guard_call(void (*fn)(void *), void *arg);

#endif
