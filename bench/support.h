// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_SUPPORT_H
#define HONE_BENCH_SUPPORT_H
// What the benchmarks share.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>
#include <sys/resource.h>

// The same numbers in every run, so that subjects meet the same calls.
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

// Context switches of this thread that it did not ask for: report.py throws
// away the samples that have any.
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

// Memory of its own that begins at a huge page, and consists of such where the
// system gives them.
unsigned char *map_huge(size_t bytes);

// Page-aligned zeros, touched, so that no page is shared or absent; valid
// until the next call. One arena serves all benchmarks of a process.
unsigned char *arena_zeroed(size_t bytes);

// Runs the benchmarks that were registered, as the arguments say, and gives the
// exit status.
int run_benchmarks(int argc, char **argv);

#endif
