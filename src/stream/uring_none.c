/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of uring.c where there is no liburing. */
#include <errno.h>
#include <stdlib.h>
#include "stream/batch.h"

int
hone_uring_open(struct hone_uring **ring, struct hone_batch *b)
{
	(void)ring;
	(void)b;
	return -EOPNOTSUPP;
}

void
hone_uring_run(struct hone_uring *ring)
{
	(void)ring;
	abort(); /* there is none to be run */
}
