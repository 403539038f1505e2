/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces uring.c if there is no liburing. */
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

size_t
hone_uring_read(struct hone_uring *ring, size_t n)
{
	(void)ring;
	(void)n;
	abort(); /* hone_uring_open() never succeeds */
}

void
hone_uring_close(struct hone_uring **ring)
{
	(void)ring;
	abort();
}

void
hone_uring_drop(struct hone_uring **ring)
{
	(void)ring;
}
