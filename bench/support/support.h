// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_SUPPORT_H
#define HONE_BENCH_SUPPORT_H
// Code that all benchmarks share.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>
#include <sys/resource.h>

// The numbers are the same in every run, so all subjects get the same calls.
class Random
{
	std::mt19937_64 engine_{20261121};

      public:
	size_t
	below(size_t n)
	{
		return size_t(engine_() % n);
	}
	template <typename T>
	void
	shuffle(std::vector<T> *v)
	{
		std::shuffle(v->begin(), v->end(), engine_);
	}
};

// Counts the involuntary context switches of this thread. report.py throws away
// the samples that have one.
class Switches
{
	long before_ = now();

	static long
	now()
	{
		struct rusage usage;

		getrusage(RUSAGE_THREAD, &usage);
		return usage.ru_nivcsw;
	}

      public:
	long
	count() const
	{
		return now() - before_;
	}
};

// Maps memory that begins at the border of a huge page. The memory consists of
// huge pages if the system has them.
unsigned char *map_huge(size_t bytes);

// Returns page-aligned zeros, valid until the next call. Every page is touched,
// so no page is shared or absent. All benchmarks of a process share one arena.
unsigned char *arena_zeroed(size_t bytes);

// Runs the registered benchmarks as the arguments say. Returns the exit status.
int run_benchmarks(int argc, char **argv);

#endif
