// SPDX-License-Identifier: BSD-3-Clause
//
// The experiments behind the choice of a policy: docs/design/copy.md.
//
// read-SIZE      copy, then read the destination in order
// chase-SIZE     copy, then read the destination as a linked list
// resident-*     read a resident set again after a cold copy
// prefetch-SIZE  prefetch the source at several distances
// first-word-*   the next copy depends on the first word of this one
#include <chrono>
#include "copy_bench.h"
#include "ceiling.h"

namespace
{

const size_t line = 64;

// The present content of the source. A case that needs special content writes
// it once for all of its subjects.
std::string source_is;

// Makes each block of n bytes in the source a circular list of all its lines,
// in random order.
void
link_lines(const std::string &name, size_t n)
{
	const size_t lines = n / line;
	std::vector<uint32_t> order, next(lines);
	unsigned char *src = arenas(arena_bytes).src;
	Random random;

	if (source_is == name)
		return;
	for (size_t i = 0; i < lines; i++)
		order.push_back(uint32_t(i));
	random.shuffle(&order);
	for (size_t i = 0; i < lines; i++)
		next[order[i]] = order[i + 1 < lines ? i + 1 : 0];
	for (size_t at = 0; at + line <= arena_bytes; at += line) {
		uint64_t to = next[at / line % lines];

		std::memcpy(src + at, &to, sizeof(to));
	}
	source_is = name;
}

void
read_once(const unsigned char *p, size_t n, bool chase)
{
	if (chase)
		benchmark::DoNotOptimize(rival_chase(p, n));
	else
		rival_read(p, n);
}

void
add_read(const std::string &name, const Subject &s, std::shared_ptr<Walk> walk,
	size_t n, bool chase)
{
	add(name + "/" + s.name, s.limit, false, [=](State &state) {
		auto step = [=] {
			Walk::Place at = walk->next();

			s.copy(at.dst, at.src, n);
			read_once(at.dst, n, chase);
		};
		Walk::Place at = walk->next();

		if (chase)
			link_lines(name, n);
		check_copy(state, s.copy, at.dst, at.src, n);
		for (size_t i = walk->to_settle(state); i > 0; i--)
			step();
		Switches switches;
		for (auto _ : state)
			step();
		report_switches(state, switches);
	});
}

void
add_read_cases()
{
	const size_t K = 1024, M = K * K;

	for (size_t n : {4 * K, 8 * K, 16 * K, 32 * K, 64 * K, 128 * K, 256 * K,
		     512 * K, 1 * M, 2 * M, 4 * M, 8 * M, 16 * M, 32 * M,
		     64 * M}) {
		auto walk = std::make_shared<Walk>(n);

		for (const Subject &s : policies())
			add_read("read-" + size_name(n), s, walk, n, false);
	}
	for (size_t n : {4 * K, 16 * K, 64 * K, 256 * K, 1 * M, 2 * M, 4 * M,
		     8 * M, 16 * M, 64 * M}) {
		auto walk = std::make_shared<Walk>(n);

		for (const Subject &s : policies())
			add_read("chase-" + size_name(n), s, walk, n, true);
	}
}

// Reads with the widest loads, which request absent lines early. The time shows
// how far the lines were moved away, not the latency of the reader.
void
read_wide(const unsigned char *p, size_t n)
{
	if (ceiling_supported(512))
		ceiling_load_512(p, n);
	else if (ceiling_supported(256))
		ceiling_load_256(p, n);
	else
		rival_read(p, n);
}

double
seconds_to_read(const unsigned char *p, size_t n)
{
	auto start = std::chrono::steady_clock::now();

	read_wide(p, n);
	return std::chrono::duration<double>(
		std::chrono::steady_clock::now() - start)
		.count();
}

// Times only the reading. The copy before it is the disturbance.
void
add_resident(const std::string &name, const Subject &s,
	std::shared_ptr<Walk> walk, size_t resident, size_t n)
{
	add(name + "/" + s.name, s.limit, true, [=](State &state) {
		static unsigned char *p;

		if (!p) {
			p = map_huge(size_t(4) << 20);
			std::memset(p, 1, size_t(4) << 20);
		}
		Switches switches;

		for (auto _ : state) {
			Walk::Place at = walk->next();

			for (int turn = 0; turn < 3; turn++)
				read_wide(p, resident);
			if (s.copies)
				s.copy(at.dst, at.src, n);
			state.SetIterationTime(seconds_to_read(p, resident));
		}
		report_switches(state, switches);
	});
}

void
add_resident_cases()
{
	const size_t copied = size_t(1) << 20;
	const size_t l2 = hone_cpu_cache_size(2);
	const struct {
		std::string name;
		size_t bytes;
	} sets[] = {{"resident-1M", size_t(1) << 20},
		{"resident-half-L2", l2 ? l2 / 2 : size_t(512) << 10}};
	Subject none = policies()[0];
	auto walk = std::make_shared<Walk>(copied);

	none.name = "undisturbed";
	none.copies = false;
	for (const auto &set : sets) {
		add_resident(set.name, none, walk, set.bytes, copied);
		for (const Subject &s : policies())
			add_resident(set.name, s, walk, set.bytes, copied);
		if (rival_copies())
			add_resident(set.name,
				subject<rival_nt_loop>("nt-loop"), walk,
				set.bytes, copied);
	}
}

void
add_prefetch(const std::string &name, rival_prefetch_fn *copy,
	std::shared_ptr<Walk> walk, size_t n, size_t distance)
{
	add(name, HONE_CPU_ALL, false, [=](State &state) {
		for (size_t i = walk->to_settle(state); i > 0; i--) {
			Walk::Place at = walk->next();

			copy(at.dst, at.src, n, distance);
			if (i == 1 && std::memcmp(at.dst, at.src, n) != 0)
				state.SkipWithError("wrong answer");
		}
		Switches switches;
		for (auto _ : state) {
			Walk::Place at = walk->next();

			copy(at.dst, at.src, n, distance);
		}
		report_switches(state, switches);
	});
}

void
add_prefetch_cases()
{
	const struct {
		std::string name;
		rival_prefetch_fn *copy;
	} kernels[] = {{"stream-temporal", rival_stream_temporal},
		{"stream-nt", rival_stream_nt}};

	for (size_t n : {64 << 10, 1 << 20, 4 << 20}) {
		auto walk = std::make_shared<Walk>(n);

		for (size_t distance : {0, 256, 512, 1 << 10, 2 << 10, 4 << 10,
			     8 << 10, 16 << 10})
			for (const auto &k : kernels)
				add_prefetch("prefetch-" + size_name(n) + "/" +
						     k.name + "-" +
						     std::to_string(distance),
					k.copy, walk, n, distance);
	}
}

// Sources 320 bytes apart. Each starts with the offset of the next one.
// Destinations are as far apart: a copy never overwrites a later source.
struct Chain {
	static const size_t slots = 48, stride = 320;
	size_t shortest, longest;

	static size_t
	bytes()
	{
		return slots * stride + 4096;
	}
	Calls
	calls() const
	{
		const size_t n = shortest < longest ? size_t(1) << 20 : slots;
		Random random;
		Calls made;

		for (size_t i = 0; i < n; i++) {
			Call call = {uint32_t(i % slots * stride), 0, 0};

			call.len =
				uint32_t(shortest +
					 random.below(longest - shortest + 1));
			made.push_back(call);
		}
		return made;
	}
	void
	link(unsigned char *src) const
	{
		Random random;
		std::vector<uint64_t> order;

		for (size_t i = 0; i < slots; i++)
			order.push_back(i * stride);
		random.shuffle(&order);
		for (size_t i = 0; i < slots; i++)
			std::memcpy(src + order[i], &order[(i + 1) % slots],
				sizeof(order[i]));
		source_is = "chain";
	}
};

void
add_first_word_case(size_t shortest, size_t longest)
{
	const Chain chain = {shortest, longest};
	auto calls = std::make_shared<Calls>();
	std::string name = "first-word-" + std::to_string(shortest);

	if (shortest < longest)
		name += ".." + std::to_string(longest);
	for (const Subject &s : storing())
		add(name + "/" + s.name, s.limit, false, [=](State &state) {
			Arenas a = arenas(Chain::bytes());

			a.src += 2112; // other page offsets than dst
			if (calls->empty())
				*calls = chain.calls();
			chain.link(a.src);
			check_copy(state, s.copy, a.dst, a.src, longest);
			Switches switches;
			s.chain(state, a, *calls);
			report_switches(state, switches);
		});
}

} // namespace

void
add_experiments()
{
	add_read_cases();
	add_resident_cases();
	if (rival_copies())
		add_prefetch_cases();
	for (size_t n : {8, 12, 16, 24, 32, 48, 64, 100, 128, 200, 256})
		add_first_word_case(n, n);
	add_first_word_case(8, 64);
	add_first_word_case(8, 256);
}
