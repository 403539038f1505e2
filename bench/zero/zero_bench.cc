// SPDX-License-Identifier: BSD-3-Clause
//
// The part zero beside its rivals. A benchmark is named PART/CASE/SUBJECT. A
// subject is the public function, the public function with one variant (one for
// each row of variants.def), a rival or a ceiling. report.py runs one case at a
// time and interleaves its subjects at random.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <dlfcn.h>
#include <benchmark/benchmark.h>
#include <hone/hone.h>
#include "part.h"
#include "ceiling.h"
#include "rivals.h"
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
const size_t cold_bytes = size_t(256) << 20; // eight times a common L3

// A million unpredictable calls. A branch predictor learns a sequence of a few
// thousand: on Zen 4, QEMU's algorithm takes 6 ns a call in a sequence of 8192,
// and 14 ns in a sequence of a million.
const size_t unpredictable = size_t(1) << 20;
const size_t marked_bytes = size_t(4) << 20;
const size_t hot_bytes = 16 * 1024; // half of a common L1

// The calls of one case: the offset of each in the arena, and its length.
struct Calls {
	const unsigned char *arena;
	std::vector<uint32_t> at;
	std::vector<uint32_t> len;
};

void
fill_lengths(Calls *calls, size_t longest)
{
	Random random;

	for (size_t i = 0; i < unpredictable; i++) {
		calls->at.push_back(uint32_t(random.below(hot_bytes)));
		calls->len.push_back(uint32_t(1 + random.below(longest)));
	}
}

// Every block of the arena once, in random order.
void
fill_blocks(Calls *calls, size_t bytes)
{
	Random random;

	for (size_t at = 0; at < bytes; at += block) {
		calls->at.push_back(uint32_t(at));
		calls->len.push_back(uint32_t(block));
	}
	random.shuffle(&calls->at);
}

// Sets one byte at a random place of every block.
void
mark_blocks(unsigned char *arena, size_t bytes)
{
	Random random;

	for (size_t at = 0; at < bytes; at += block)
		arena[at + random.below(block)] = 1;
}

void
fill_calls(Calls *calls, const Case &c)
{
	if (c.kind == Kind::lengths) {
		fill_lengths(calls, c.len);
	} else if (c.kind == Kind::cold) {
		fill_blocks(calls, cold_bytes);
	} else if (c.kind == Kind::anywhere) {
		fill_blocks(calls, marked_bytes);
	} else {
		calls->at.push_back(uint32_t(c.offset));
		calls->len.push_back(uint32_t(c.len));
	}
}

// Returns the same calls for every subject of a case. The memory is zero except
// the bytes that the case marks.
const Calls &
prepare(const Case &c)
{
	static Calls calls;
	static std::string made_for;

	if (made_for != c.name) {
		calls = Calls();
		fill_calls(&calls, c);
		made_for = c.name;
	}
	unsigned char *arena = arena_zeroed(
		c.kind == Kind::cold ? cold_bytes : c.len + marked_bytes);

	if (c.kind == Kind::anywhere)
		mark_blocks(arena, marked_bytes);
	if (c.kind == Kind::first)
		arena[c.offset] = 1;
	if (c.kind == Kind::last)
		arena[c.offset + c.len - 1] = 1;
	calls.arena = arena;
	return calls;
}

template <typename Subject>
void
check(benchmark::State &state, const Calls &calls, Subject subject)
{
	for (size_t i = 0; i < calls.at.size(); i += 1 + calls.at.size() / 64) {
		const unsigned char *p = calls.arena + calls.at[i];

		if (subject(p, calls.len[i]) != rival_qemu(p, calls.len[i]) ||
			subject(p, calls.len[i]) !=
				rival_memcmp(p, calls.len[i]))
			state.SkipWithError("wrong answer");
	}
}

template <typename Subject>
void
measure(benchmark::State &state, const Calls &calls, Subject subject)
{
	Switches switches;

	if (calls.at.size() == 1) {
		const unsigned char *p = calls.arena + calls.at[0];
		size_t len = calls.len[0];

		for (auto _ : state) {
			benchmark::DoNotOptimize(p);
			benchmark::DoNotOptimize(len);
			benchmark::DoNotOptimize(subject(p, len));
		}
	} else {
		size_t i = 0, n = calls.at.size();

		for (auto _ : state) {
			benchmark::DoNotOptimize(subject(
				calls.arena + calls.at[i], calls.len[i]));
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
		const Calls &calls = prepare(c);

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

// The function of the shared library: a call through a pointer, to far away.
bool (*find_shared())(const void *, size_t)
{
	void *library = dlopen(HONE_SHARED, RTLD_NOW | RTLD_LOCAL);
	void *found = library ? dlsym(library, "hone_buffer_is_zero") : nullptr;

	if (!found) {
		std::fprintf(stderr, "%s\n", dlerror());
		std::exit(1);
	}
	return reinterpret_cast<bool (*)(const void *, size_t)>(found);
}

void
add_variants(const Case &c)
{
	static bool (*shared_is_zero)(const void *, size_t) = find_shared();
	auto is_zero = [](const unsigned char *p, size_t n) {
		return hone_buffer_is_zero(p, n);
	};

	add(c, "hone", HONE_CPU_ALL, false, is_zero);
	add(c, "hone-shared", HONE_CPU_ALL, false, shared_is_zero);
	// One subject for each row: it gets only the features that it needs.
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
		if (c.offset != 0) // the same length at the start of the page
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
	for (size_t len :
		{1, 3, 8, 16, 24, 32, 64, 100, 200, 256, 300, 512, 700, 1 << 10,
			2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10,
			256 << 10, 1 << 20, 8 << 20, 64 << 20, 512 << 20})
		add_case({"hot-" + size_name(len), Kind::hot, len, 0});
	for (size_t len : {100, 512, 4 << 10, 16 << 10, 32 << 10})
		add_case({"misaligned-" + size_name(len), Kind::hot, len, 23});
	add_case({"lengths-1..16", Kind::lengths, 16, 0});
	add_case({"lengths-1..64", Kind::lengths, 64, 0});
	add_case({"lengths-1..256", Kind::lengths, 256, 0});
	add_case({"nonzero-first-4K", Kind::first, block, 0});
	add_case({"nonzero-last-4K", Kind::last, block, 0});
	add_case({"nonzero-anywhere-4K", Kind::anywhere, block, 0});
	add_case({"cold-4K", Kind::cold, block, 0});
#ifndef HAVE_ISAL
	std::fprintf(stderr, "not run: isa-l (libisal-dev is not installed)\n");
#endif
	return run_benchmarks(argc, argv);
}
