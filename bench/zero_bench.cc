// SPDX-License-Identifier: BSD-3-Clause
//
// The zero part beside its rivals. Names are PART/CASE/SUBJECT; a subject is
// the public function, the same limited to one variant (a row of variants.def
// each), a rival or a ceiling. report.py runs one case at a time with random
// interleaving of its subjects.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>
#include <benchmark/benchmark.h>
#include <hone/hone.h>
#include "part.h"
#include "rivals/rivals.h"
#include "support.h"
#ifdef HAVE_ISAL
#include <isa-l/mem_routines.h>
#endif

namespace
{

enum class Kind { hot, first, last, anywhere, cold, lengths };

struct Case {
	std::string name;
	Kind kind;
	size_t len;    // of each buffer; the longest for Kind::lengths
	size_t offset; // from a 4 KiB border
};

const size_t block = 4096;
const size_t cold_bytes = size_t(256) << 20; // eight times a usual L3

// The calls of one case: where each begins, how long it is, the answer.
struct Calls {
	std::vector<const unsigned char *> at;
	std::vector<size_t> len;
	size_t first_nonzero; // in the one buffer of Kind::first and last
};

void
fill_lengths(Calls *calls, unsigned char *arena, size_t longest)
{
	Random random;

	for (int i = 0; i < 8192; i++) {
		calls->at.push_back(arena + random.below(64 * 1024));
		calls->len.push_back(1 + random.below(longest));
	}
}

void
fill_blocks(Calls *calls, unsigned char *arena, size_t bytes, bool mark)
{
	Random random;

	for (size_t at = 0; at < bytes; at += block) {
		calls->at.push_back(arena + at);
		calls->len.push_back(block);
		if (mark)
			arena[at + random.below(block)] = 1;
	}
	random.shuffle(&calls->at);
}

Calls
prepare(const Case &c)
{
	Calls calls = {{}, {}, c.len};
	unsigned char *arena = arena_zeroed(
		c.kind == Kind::cold ? cold_bytes : c.len + (4u << 20));

	if (c.kind == Kind::lengths) {
		fill_lengths(&calls, arena, c.len);
	} else if (c.kind == Kind::cold) {
		fill_blocks(&calls, arena, cold_bytes, false);
	} else if (c.kind == Kind::anywhere) {
		fill_blocks(&calls, arena, 4u << 20, true);
	} else {
		if (c.kind != Kind::hot)
			calls.first_nonzero =
				c.kind == Kind::first ? 0 : c.len - 1;
		if (calls.first_nonzero < c.len)
			arena[c.offset + calls.first_nonzero] = 1;
		calls.at.push_back(arena + c.offset);
		calls.len.push_back(c.len);
	}
	return calls;
}

// A subject answers whether all is zero; find answers by offset instead.
template <typename Subject>
void
check(benchmark::State &state, const Calls &calls, Subject subject)
{
	for (size_t i = 0; i < calls.at.size(); i += 1 + calls.at.size() / 64)
		if (subject(calls.at[i], calls.len[i]) !=
			rival_naive(calls.at[i], calls.len[i]))
			state.SkipWithError("wrong answer");
}

template <typename Subject>
void
measure(benchmark::State &state, const Calls &calls, Subject subject)
{
	Switches switches;

	if (calls.at.size() == 1) {
		const unsigned char *at = calls.at[0];
		size_t len = calls.len[0];

		for (auto _ : state) {
			benchmark::DoNotOptimize(at);
			benchmark::DoNotOptimize(len);
			benchmark::DoNotOptimize(subject(at, len));
		}
	} else {
		size_t i = 0, n = calls.at.size();

		for (auto _ : state) {
			benchmark::DoNotOptimize(
				subject(calls.at[i], calls.len[i]));
			i = i + 1 < n ? i + 1 : 0;
		}
	}
	state.counters["switches"] = double(switches.count());
}

template <typename Subject>
void
add(const Case &c, const std::string &name, uint64_t limit, bool is_ceiling,
	Subject subject)
{
	auto run = [=](benchmark::State &state) {
		Calls calls = prepare(c);

		hone_cpu_limit(limit);
		if (!is_ceiling)
			check(state, calls, subject);
		measure(state, calls, subject);
		hone_cpu_limit(HONE_CPU_ALL);
	};

	benchmark::RegisterBenchmark(
		("zero/" + c.name + "/" + name).c_str(), run)
		->UseRealTime();
}

void
add_variants(const Case &c)
{
	auto is_zero = [](const unsigned char *p, size_t n) {
		return hone_buffer_is_zero(p, n);
	};

	add(c, "hone", HONE_CPU_ALL, false, is_zero);
	// Every row of the table: the features it needs are all it gets.
#define HONE_VARIANT(name, family, needs)                                      \
	HONE_IF_FAMILY(family,                                                 \
		       if ((hone_cpu_features() & (needs)) == (needs))         \
			       add(c, "hone-" #name, needs, false, is_zero);)
#include "zero/variants.def"
#undef HONE_VARIANT
}

void
add_rivals(const Case &c)
{
	add(c, "naive", HONE_CPU_ALL, false, rival_naive);
	add(c, "memcmp", HONE_CPU_ALL, false, rival_memcmp);
	add(c, "qemu-algorithm", HONE_CPU_ALL, false, rival_qemu);
#ifdef HAVE_ISAL
	add(c, "isa-l", HONE_CPU_ALL, false,
		[](const unsigned char *p, size_t n) {
			return isal_zero_detect(
				       const_cast<unsigned char *>(p), n) == 0;
		});
#endif
}

template <void load(const void *, size_t)>
void
add_ceiling(const Case &c, unsigned bits)
{
	if (ceiling_supported(bits))
		add(c, "load-" + std::to_string(bits), HONE_CPU_ALL, true,
			[](const unsigned char *p, size_t n) {
				load(p, n);
				return true;
			});
}

void
add_case(const Case &c)
{
	add_variants(c);
	add_rivals(c);
	if (c.kind == Kind::hot || c.kind == Kind::cold) {
		if (c.len >= block) {
			add_ceiling<ceiling_load_128>(c, 128);
			add_ceiling<ceiling_load_256>(c, 256);
			add_ceiling<ceiling_load_512>(c, 512);
		}
		if (c.offset != 0) // beside the same at the page's start
			add(c, "hone-aligned", HONE_CPU_ALL, false,
				[=](const unsigned char *p, size_t n) {
					return hone_buffer_is_zero(
						p - c.offset, n);
				});
		add(c, "find_nonzero", HONE_CPU_ALL, false,
			[](const unsigned char *p, size_t n) {
				return hone_find_nonzero(p, n) == n;
			});
	}
}

std::string
size_name(size_t n)
{
	if (n >= 1u << 20)
		return std::to_string(n >> 20) + "M";
	return n >= 1024 ? std::to_string(n >> 10) + "K" : std::to_string(n);
}

} // namespace

int
main(int argc, char **argv)
{
	for (size_t len : {size_t(1), size_t(8), size_t(16), size_t(32),
		     size_t(64), size_t(100), size_t(256), size_t(512),
		     size_t(1) << 10, size_t(2) << 10, size_t(4) << 10,
		     size_t(8) << 10, size_t(16) << 10, size_t(32) << 10,
		     size_t(256) << 10, size_t(1) << 20, size_t(8) << 20,
		     size_t(64) << 20, size_t(512) << 20})
		add_case({"hot-" + size_name(len), Kind::hot, len, 0});
	for (size_t len : {size_t(100), size_t(512), size_t(4) << 10,
		     size_t(16) << 10, size_t(32) << 10})
		add_case({"misaligned-" + size_name(len), Kind::hot, len, 23});
	add_case({"lengths-1..64", Kind::lengths, 64, 0});
	add_case({"lengths-1..256", Kind::lengths, 256, 0});
	add_case({"nonzero-first-4K", Kind::first, block, 0});
	add_case({"nonzero-last-4K", Kind::last, block, 0});
	add_case({"nonzero-anywhere-4K", Kind::anywhere, block, 0});
	add_case({"cold-4K", Kind::cold, block, 0});
#ifndef HAVE_ISAL
	std::fprintf(stderr, "not run: isa-l (libisal-dev is missing)\n");
#endif
	benchmark::Initialize(&argc, argv);
	if (benchmark::ReportUnrecognizedArguments(argc, argv))
		return 2;
	benchmark::RunSpecifiedBenchmarks();
	return 0;
}
