/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_RIVALS_RING_H
#define HONE_BENCH_RIVALS_RING_H
/*
 * Bounded queues of pointers that are timed alike: Hone's and others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Places in each; DPDK's rings have one less. */
#define RING_CAPACITY 1024

/* The work of one thread. */
struct ring_work {
	unsigned n;      /* elements in a group: 1, 8, 32 or 256 */
	unsigned groups; /* how many to move */
	bool yield;      /* give way when there is nothing to do */
	uintptr_t sum;   /* of the elements that were taken */
};

/* Elements are the numbers from 1 to n, in every group. */
typedef void ring_loop(void *ring, struct ring_work *work);

struct ring_subject {
	const char *name;
	bool many; /* any number of threads at both ends */
	unsigned flags;
	void *(*open)(const struct ring_subject *);
	ring_loop *turn; /* add a group, take a group */
	ring_loop *add;
	ring_loop *take;
};

/* Each ends with a row without a name. */
extern const struct ring_subject ring_hone[];
extern const struct ring_subject ring_mutex[];
extern const struct ring_subject ring_ck[];
extern const struct ring_subject ring_dpdk[];

#ifdef __cplusplus
}
#endif
#endif
