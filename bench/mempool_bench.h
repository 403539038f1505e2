// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_MEMPOOL_BENCH_H
#define HONE_BENCH_MEMPOOL_BENCH_H
// What the files of the mempool benchmark share.
#include <string>
#include "rivals/mempool.h"

const unsigned most_kept = 8192;

enum Threads { one, two, two_on_one_cpu, producer_and_consumer };

struct Case {
	std::string name;
	Threads threads;
	unsigned keep, n;
	unsigned loop; // index into pool_subject.cycle and .touch
	bool touch;
	size_t object_size;
};

// How long each repetition takes at least.
extern double job_seconds;

// Register PART/CASE/SUBJECT for each of a list, which stays where it is.
void add(const Case &c, const pool_subject *list);

#endif
