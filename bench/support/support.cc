// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <benchmark/benchmark.h>
#include "support.h"

unsigned char *
map_huge(size_t bytes)
{
	const size_t huge = size_t(2) << 20;
	void *p = mmap(nullptr, bytes + huge, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		std::perror("memory for a benchmark");
		std::exit(1);
	}
	madvise(p, bytes + huge, MADV_HUGEPAGE);
	return static_cast<unsigned char *>(p) + -uintptr_t(p) % huge;
}

unsigned char *
arena_zeroed(size_t bytes)
{
	static unsigned char *arena;
	static size_t size;

	if (bytes > size) {
		if (arena)
			munmap(arena, size);
		void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED) {
			std::perror("benchmark arena");
			std::exit(1);
		}
		madvise(p, bytes, MADV_HUGEPAGE);
		arena = static_cast<unsigned char *>(p);
		size = bytes;
	}
	std::memset(arena, 0, bytes);
	return arena;
}

int
run_benchmarks(int argc, char **argv)
{
	benchmark::Initialize(&argc, argv);
	if (benchmark::ReportUnrecognizedArguments(argc, argv))
		return 2;
	benchmark::RunSpecifiedBenchmarks();
	return 0;
}
