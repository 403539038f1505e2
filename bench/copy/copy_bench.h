// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_COPY_BENCH_H
#define HONE_BENCH_COPY_BENCH_H
// Memory, subjects and registration, for all files of the copy benchmark.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include <benchmark/benchmark.h>
#include <hone/hone.h>
#include "part.h"
#include "rivals.h"
#include "support.h"

using benchmark::State;

typedef void copy_fn(void *, const void *, size_t);

// Two arenas far larger than any cache. arenas() touches the first `bytes` of
// both once. The words of the source all differ.
const size_t arena_bytes = size_t(256) << 20;

struct Arenas {
	unsigned char *dst, *src;
};
Arenas arenas(size_t bytes);

// Calls with memory that has long left the caches: all blocks of one size, over
// and over, in another random order in each arena.
class Walk
{
	std::vector<uint32_t> dst_, src_;
	size_t n_, at_ = 0;

      public:
	struct Place {
		unsigned char *dst;
		const unsigned char *src;
	};
	explicit Walk(size_t n);
	size_t
	blocks() const
	{
		return src_.size();
	}
	// Returns how many calls push everything else out of the caches. A turn
	// of one short call is only an estimate or a test: 1 is enough.
	size_t
	to_settle(const State &state) const
	{
		const size_t settled = size_t(64) << 20; // twice a common L3

		if (state.max_iterations == 1 && n_ < settled / 8)
			return 1;
		return (settled + n_ - 1) / n_;
	}
	Place next();
};

// The calls of a case with many: offsets in the arenas, and lengths. In one
// array, so that the loop has all addresses in registers.
struct Call {
	uint32_t dst, src, len;
};
typedef std::vector<Call> Calls;

// A timed function. Each has its own instances of the loops for short copies: a
// call there costs as much as in a program. Other loops call `copy`.
struct Subject {
	std::string name;
	uint64_t limit; // HONE_CPU_*
	bool copies;    // false: a ceiling
	copy_fn *copy;
	void (*fixed)(State &, void *, const void *, size_t);
	void (*calls)(State &, const Arenas &, const Calls &);
	void (*chain)(State &, const Arenas &, const Calls &);
};

template <copy_fn *copy>
void
time_fixed(State &state, void *dst, const void *src, size_t n)
{
	for (auto _ : state) {
		benchmark::DoNotOptimize(dst);
		benchmark::DoNotOptimize(src);
		benchmark::DoNotOptimize(n);
		copy(dst, src, n);
		benchmark::ClobberMemory();
	}
}

template <copy_fn *copy>
void
time_calls(State &state, const Arenas &a, const Calls &c)
{
	const Call *first = c.data(), *end = first + c.size(), *call = first;
	unsigned char *dst = a.dst;
	const unsigned char *src = a.src;

	for (auto _ : state) {
		copy(dst + call->dst, src + call->src, call->len);
		benchmark::ClobberMemory();
		call = call + 1 < end ? call + 1 : first;
	}
}

// The first word of each copy is the offset of the next source.
template <copy_fn *copy>
void
time_chain(State &state, const Arenas &a, const Calls &c)
{
	const Call *first = c.data(), *end = first + c.size(), *call = first;
	unsigned char *dst = a.dst;
	const unsigned char *src = a.src;
	uint64_t at = 0;

	for (auto _ : state) {
		copy(dst + call->dst, src + at, call->len);
		benchmark::ClobberMemory();
		std::memcpy(&at, dst + call->dst, sizeof(at));
		call = call + 1 < end ? call + 1 : first;
	}
	benchmark::DoNotOptimize(at);
}

template <copy_fn *copy>
Subject
subject(const std::string &name, uint64_t limit = HONE_CPU_ALL)
{
	return {name, limit, true, copy, time_fixed<copy>, time_calls<copy>,
		time_chain<copy>};
}

// KEEP, in each variant, and the rivals.
const std::vector<Subject> &storing();
// STREAM and STREAM_PROTECT in each variant, AUTO, and the plain loop.
const std::vector<Subject> &streaming();
// For the experiments: KEEP, STREAM, STREAM_PROTECT, AUTO and glibc.
const std::vector<Subject> &policies();
// Only read the source.
const std::vector<Subject> &ceilings();

// Registers PART/CASE/SUBJECT. `run` times the subject, and reports its context
// switches. It gets only the CPU features of `limit`.
typedef std::function<void(State &)> Run;
void add(const std::string &name, uint64_t limit, bool manual_time, Run run);

void report_switches(State &state, const Switches &switches);

// Reports an error unless one call copies n bytes from src to dst.
void check_copy(
	State &state, copy_fn *copy, void *dst, const void *src, size_t n);

std::string size_name(size_t n);

// rte_memcpy() in the loop, if there is DPDK.
Subject dpdk_inline();

void add_inline_cases();
void add_zero_cases();
void add_experiments();

#endif
