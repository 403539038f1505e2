// SPDX-License-Identifier: BSD-3-Clause
//
// The part copy beside its rivals: hot, cold, fixed and unpredictable sizes. A
// benchmark is named PART/CASE/SUBJECT. report.py runs one case at a time and
// interleaves its subjects at random. experiments.cc has the experiments behind
// the choice of a policy, inline.cc has the inline copies.
#include <cstdio>
#include <dlfcn.h>
#include "copy_bench.h"

namespace
{

// A million unpredictable calls: zero_bench.cc has the reason.
const size_t unpredictable = size_t(1) << 20;
const size_t hot_bytes = 16 * 1024; // half of a common L1, in each arena

// The distance between source and destination of a hot copy. No load has the
// same low twelve address bits as a store shortly before it.
const size_t unlike = 2112;

// The function of the shared library: a call through a pointer, to far away.
void
shared(void *dst, const void *src, size_t n)
{
	typedef void memcpy_fn(void *, const void *, size_t, int);
	static memcpy_fn *const found = reinterpret_cast<memcpy_fn *>(dlsym(
		dlopen(HONE_SHARED, RTLD_NOW | RTLD_LOCAL), "hone_memcpy"));

	found(dst, src, n, HONE_COPY_KEEP);
}

void
add_hot(const std::string &name, const Subject &s, size_t n, size_t dst_off,
	size_t src_off)
{
	add(name + "/" + s.name, s.limit, false, [=](State &state) {
		Arenas a = arenas(n + 2 * unlike);
		unsigned char *dst = a.dst + dst_off;
		const unsigned char *src = a.src + unlike + src_off;

		check_copy(state, s.copy, dst, src, n);
		Switches switches;
		s.fixed(state, dst, src, n);
		report_switches(state, switches);
	});
}

void
add_hot_case(const std::string &name, size_t n, size_t dst_off, size_t src_off)
{
	static const Subject far = subject<shared>("keep-shared");

	for (const Subject &s : storing())
		add_hot(name, s, n, dst_off, src_off);
	add_hot(name, far, n, dst_off, src_off);
	if (n < 4096) // STREAM and AUTO store ordinarily too
		return;
	for (const Subject &s : policies())
		if (s.name == "stream" || s.name == "auto")
			add_hot(name, s, n, dst_off, src_off);
}

const Calls &
lengths(size_t longest)
{
	static Calls calls;
	static size_t made_for;

	if (made_for != longest) {
		Random random;

		calls = Calls();
		for (size_t i = 0; i < unpredictable; i++) {
			Call call;

			call.dst = uint32_t(random.below(hot_bytes));
			call.src = uint32_t(random.below(hot_bytes));
			call.len = uint32_t(1 + random.below(longest));
			calls.push_back(call);
		}
		made_for = longest;
	}
	return calls;
}

void
add_lengths_case(size_t longest)
{
	const std::string name = "lengths-1.." + size_name(longest);

	for (const Subject &s : storing())
		add(name + "/" + s.name, s.limit, false, [=](State &state) {
			Arenas a = arenas(hot_bytes + longest);
			const Calls &calls = lengths(longest);

			for (size_t n = 1; n <= longest; n += 1 + n / 256)
				check_copy(state, s.copy, a.dst + calls[n].dst,
					a.src + calls[n].src, n);
			Switches switches;
			s.calls(state, a, calls);
			report_switches(state, switches);
		});
}

// All subjects and repetitions of a case continue the same walk.
void
add_cold(const std::string &name, const Subject &s, std::shared_ptr<Walk> walk,
	size_t n, bool dst_cold, size_t dst_off)
{
	add(name + "/" + s.name, s.limit, false, [=](State &state) {
		unsigned char *fixed = arenas(arena_bytes).dst;
		Walk::Place at = walk->next();

		if (s.copies)
			check_copy(state, s.copy, dst_cold ? at.dst : fixed,
				at.src, n);
		// Bring the caches into the state that this subject causes. It
		// does not have to write back the dirty lines of another one.
		for (size_t i = walk->to_settle(state); i > 0; i--) {
			at = walk->next();
			s.copy((dst_cold ? at.dst : fixed) + dst_off, at.src,
				n);
		}
		Switches switches;
		for (auto _ : state) {
			at = walk->next();
			s.copy((dst_cold ? at.dst : fixed) + dst_off, at.src,
				n);
		}
		report_switches(state, switches);
	});
}

void
add_cold_case(
	const std::string &stem, size_t n, bool dst_cold, size_t dst_off = 0)
{
	auto walk = std::make_shared<Walk>(n);

	for (auto *list : {&storing(), &streaming(), &ceilings()})
		for (const Subject &s : *list)
			add_cold(stem + "-" + size_name(n), s, walk, n,
				dst_cold, dst_off);
}

void
add_all()
{
	for (size_t n : {1, 2, 3, 4, 7, 8, 12, 15, 16, 17, 24, 32, 33, 48, 64,
		     65, 80, 96, 100, 128, 129, 160, 200, 256, 257, 300, 384,
		     512, 513, 700, 1 << 10, 1500, 2 << 10, 3 << 10, 4 << 10,
		     6 << 10, 8 << 10, 12 << 10, 16 << 10, 32 << 10, 64 << 10,
		     256 << 10, 1 << 20, 4 << 20, 16 << 20})
		add_hot_case("hot-" + size_name(n), n, 0, 0);
	for (size_t n :
		{16, 64, 100, 200, 300, 512, 700, 1 << 10, 2 << 10, 4 << 10,
			8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10}) {
		add_hot_case("dst17-" + size_name(n), n, 17, 0);
		add_hot_case("src17-" + size_name(n), n, 0, 17);
		add_hot_case("both17-" + size_name(n), n, 17, 17);
	}
	add_hot_case("dst1-src18-8K", 8 << 10, 1, 18);
	// Both at the same offset in a page: to the CPU, a load seems to depend
	// on a store before it.
	for (size_t n : {64, 200, 448, 576, 1 << 10, 4 << 10, 16 << 10})
		add_hot_case("alike-" + size_name(n), n, 0, 4096 - unlike);
	for (size_t n : {16, 64, 256, 4 << 10, 64 << 10})
		add_lengths_case(n);
	for (size_t n : {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
		     4 << 20, 16 << 20, 64 << 20})
		add_cold_case("cold-src", n, false);
	for (size_t n : {4 << 10, 64 << 10, 1 << 20, 16 << 20})
		add_cold_case("cold-dst17", n, true, 17);
	for (size_t n : {1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10,
		     64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20,
		     2 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20})
		add_cold_case("cold", n, true);
	add_inline_cases();
	add_zero_cases();
	add_experiments();
}

} // namespace

int
main(int argc, char **argv)
{
#ifndef HAVE_DPDK
	std::fprintf(
		stderr, "not run: rte_memcpy (libdpdk-dev is not installed)\n");
#endif
	add_all();
	return run_benchmarks(argc, argv);
}
