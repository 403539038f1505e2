// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_MEMPOOL_BENCH_H
#define HONE_BENCH_MEMPOOL_BENCH_H
// Shared by the files of the mempool benchmark.
#include <string>
#include "pools.h"

const unsigned most_kept = 8192;

enum Threads { one, two, two_on_one_cpu, producer_and_consumer };

struct Case {
	std::string name;
	Threads threads;
	unsigned keep, n;
	unsigned loop; // index into pool_subject.cycle and .touch
	bool touch;
	size_t object_size;
	bool uncached; // DPDK's pools without their cache
};

// The least time of a repetition.
extern double job_seconds;

// Registers PART/CASE/SUBJECT for each subject of a list. The benchmarks keep
// pointers into the list.
void add(const Case &c, const pool_subject *list);

#endif
