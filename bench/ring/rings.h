/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_RING_RINGS_H
#define HONE_BENCH_RING_RINGS_H
/* Hone's ring and its rivals behind the same functions. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The capacity of each ring. DPDK's rings hold one element less. */
#define RING_CAPACITY 1024

/* The work of one thread. */
struct ring_work {
	unsigned n;      /* elements in a group: 1, 8, 32 or 256 */
	unsigned groups; /* groups to move */
	bool yield;      /* yield the CPU if there is nothing to do */
	uintptr_t sum;   /* sum of the taken elements */
};

/* Elements are the numbers from 1 to n, in every group. */
typedef void ring_loop(void *ring, struct ring_work *work);

struct ring_subject {
	const char *name;
	bool many; /* allows any number of threads at both ends */
	unsigned flags;
	void *(*open)(const struct ring_subject *);
	ring_loop *turn; /* add a group, take a group */
	ring_loop *add;
	ring_loop *take;
};

/* Each list ends with a row without a name. */
extern const struct ring_subject ring_hone[];
extern const struct ring_subject ring_mutex[];
extern const struct ring_subject ring_queue[];
extern const struct ring_subject ring_moodycamel[];
extern const struct ring_subject ring_ck[];
extern const struct ring_subject ring_dpdk[];

#ifdef __cplusplus
}
#endif
#endif
