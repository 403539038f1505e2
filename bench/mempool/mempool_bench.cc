// SPDX-License-Identifier: BSD-3-Clause
//
// Pools of objects beside their rivals. The pattern is that of DPDK's test
// mempool_perf: each thread takes `keep` objects in bursts of n and gives them
// back in bursts of n. The reported time is that of 1000 pairs of get and put,
// all threads together.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <unistd.h>
#include <benchmark/benchmark.h>
#include "mempool_bench.h"
#include "pools.h"
#include "support.h"
#include "workers.h"

namespace
{

const size_t big = 2048; // the object size of mempool_perf

// Returns the subjects that this machine has. Prints each that it lacks, once.
std::vector<pool_subject>
present(const pool_subject *list)
{
	std::vector<pool_subject> found;

	for (const pool_subject *s = list; s->name; s++) {
		const char *why = s->missing(s);

		if (why)
			std::fprintf(
				stderr, "not run: %s (%s)\n", s->name, why);
		else
			found.push_back(*s);
	}
	found.push_back({});
	return found;
}

unsigned
loop_of(unsigned n)
{
	switch (n) {
	case 1:
		return 0;
	case 4:
		return 1;
	case 8:
		return 2;
	case 32:
		return 3;
	case 64:
		return 4;
	case 256:
		return 5;
	default:
		return POOL_SIZES - 1;
	}
}

std::string
sizes(unsigned keep, unsigned n)
{
	return "keep" + std::to_string(keep) + "-n" + std::to_string(n);
}

const unsigned bursts[] = {1, 4, 8, 32, 64, 256};

void
add_everywhere(const Case &c)
{
	add(c, pool_hone);
	if (c.n == 1 || c.n == 8 || c.n == 32)
		add(c, pool_hone_cursor);
	if (c.n == 256 && c.threads != producer_and_consumer)
		add(c, pool_hone_magazine);
#ifdef HAVE_DPDK_MEMPOOL
	static const auto dpdk = present(pool_dpdk);
	add(c, dpdk.data());
#endif
#ifdef HAVE_CK
	// On one CPU, a thread of CK waits for another for whole time slices.
	// It has 0.002 M pairs a second, and a figure takes minutes.
	if (c.threads != two_on_one_cpu)
		add(c, pool_ck);
#endif
}

void
add_mallocs(const Case &c)
{
	static const auto mallocs = present(pool_mallocs);

	add(c, pool_hone);
	add(c, mallocs.data());
}

void
add_each_burst()
{
	static const auto ceilings = present(pool_ceilings);
#ifdef HAVE_DPDK_MEMPOOL
	static const auto dpdk_ceiling = present(pool_dpdk_ceiling);
#endif

	for (unsigned keep : {32, 128, 512, 8192})
		for (unsigned n : bursts) {
			if (n > keep)
				continue;
			Case c{"1t-" + sizes(keep, n), one, keep, n, loop_of(n),
				false, big, false};
			add_everywhere(c);
			if (n == 32 && keep < most_kept)
				add(c, ceilings.data());
#ifdef HAVE_DPDK_MEMPOOL
			if (keep == most_kept)
				add(c, dpdk_ceiling.data());
#endif
			if (keep < 512 && n != 32)
				continue;
			c.threads = two;
			c.name = "2t-" + sizes(keep, n);
			add_everywhere(c);
			if (n == 32 && keep < most_kept)
				add(c, ceilings.data());
		}
}

// A variable n, written objects, two threads on one CPU, and a queue.
void
add_other_ways()
{
	for (unsigned keep : {512, 8192})
		for (unsigned n : {8, 32}) {
			Case c{"1t-any-" + sizes(keep, n), one, keep, n,
				POOL_SIZES - 1, false, big, false};
			add_everywhere(c);
			c = {"1t-touched-" + sizes(keep, n), one, keep, n,
				loop_of(n), true, big, false};
			add_everywhere(c);
			c = {"2t-touched-" + sizes(keep, n), two, keep, n,
				loop_of(n), true, big, false};
			add_everywhere(c);
			c = {"one-cpu-" + sizes(keep, n), two_on_one_cpu, keep,
				n, loop_of(n), false, big, false};
			if (n == 32)
				add_everywhere(c);
		}
	for (unsigned n : {1, 8, 32, 256})
		add_everywhere(
			{"cross-n" + std::to_string(n), producer_and_consumer,
				n, n, loop_of(n), false, big, false});
}

// Each get and put calls the driver of DPDK's pool.
void
add_uncached()
{
#ifdef HAVE_DPDK_MEMPOOL
	static const auto dpdk = present(pool_dpdk);

	for (unsigned n : {1, 4, 8, 32}) {
		Case c{"1t-uncached-" + sizes(512, n), one, 512, n, loop_of(n),
			false, big, true};
		add(c, dpdk.data());
	}
#endif
}

// With objects of 64 bytes, which suit malloc best, and of 2048.
void
add_against_malloc()
{
	for (size_t object_size : {size_t(64), big}) {
		std::string of = std::to_string(object_size) + "B-";

		for (unsigned keep : {512, 8192}) {
			Case c{of + "1t-" + sizes(keep, 32), one, keep, 32,
				loop_of(32), false, object_size, false};
			add_mallocs(c);
			c.threads = two;
			c.name = of + "2t-" + sizes(keep, 32);
			add_mallocs(c);
		}
		add_mallocs({of + "cross-n32", producer_and_consumer, 32, 32,
			loop_of(32), false, object_size, false});
	}
}

// n is constant, and both sides are compiled for this machine: all of a get and
// a put may be vectors in the caller.
void
add_native()
{
#ifdef HAVE_NATIVE
	for (unsigned keep : {32, 128, 256, 512}) {
		Case c{"native-1t-" + sizes(keep, 32), one, keep, 32,
			loop_of(32), false, big, false};
		add(c, pool_hone_native);
#ifdef HAVE_DPDK_MEMPOOL
		static const auto dpdk = present(pool_dpdk_native);
		add(c, dpdk.data());
#endif
	}
#else
	std::fprintf(stderr, "not run: native (no -march=native)\n");
#endif
}

// jemalloc needs more static thread storage than glibc reserves for a library
// that dlopen() loads. GLIBC_TUNABLES reserves more at the start.
void
leave_room_for_jemalloc(char **argv)
{
	if (!std::getenv("GLIBC_TUNABLES")) {
		setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=16384",
			1);
		execv("/proc/self/exe", argv);
	}
}

// A job takes as long as a repetition of Google's in other parts.
void
take_min_time(int argc, char **argv)
{
	const char *option = "--benchmark_min_time=";

	for (int i = 1; i < argc; i++)
		if (std::strncmp(argv[i], option, std::strlen(option)) == 0)
			job_seconds = std::atof(argv[i] + std::strlen(option));
}

} // namespace

int
main(int argc, char **argv)
{
	leave_room_for_jemalloc(argv);
#ifndef HAVE_DPDK_MEMPOOL
	std::fprintf(stderr, "not run: rte_mempool (DPDK is not installed)\n");
#endif
	take_min_time(argc, argv);
	usable_cpus();
	add_each_burst();
	add_other_ways();
	add_uncached();
	add_against_malloc();
	add_native();
	int status = run_benchmarks(argc, argv);
	std::fflush(nullptr);
	// The workers still run.
	_exit(status);
}
