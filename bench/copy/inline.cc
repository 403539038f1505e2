// SPDX-License-Identifier: BSD-3-Clause
//
// The inline functions: constant sizes, whole lines, groups of pointers. And
// clearing.
#include "copy_bench.h"

namespace
{

const size_t unpredictable = size_t(1) << 20; // zero_bench.cc: why
const size_t hot_bytes = 16 * 1024;

// n is in bytes, as everywhere, and a multiple of the unit.
void
blocks(void *dst, const void *src, size_t n)
{
	hone_copy_blocks(dst, src, n / 64);
}

void
pointers(void *dst, const void *src, size_t n)
{
	hone_copy_pointers(static_cast<void **>(dst),
		static_cast<void *const *>(src), n / sizeof(void *));
}

void
whole(void *dst, const void *src, size_t n)
{
	std::memcpy(dst, src, n / 8 * 8);
}

void
add_fixed(const std::string &name, const Subject &s, size_t n)
{
	add(name + "/" + s.name, s.limit, false, [=](State &state) {
		Arenas a = arenas(n + 4096);
		// At the page offset that the sources of other cases have.
		const unsigned char *src = a.src + 2112;

		check_copy(state, s.copy, a.dst, src, n);
		Switches switches;
		s.fixed(state, a.dst, src, n);
		report_switches(state, switches);
	});
}

void
add_blocks_cases()
{
	for (size_t count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 33,
		     48, 64, 96, 128, 256, 512, 1024, 2048, 4096}) {
		const std::string name = "blocks-" + std::to_string(count);

		add_fixed(name, subject<blocks>("hone"), count * 64);
		add_fixed(name, subject<whole>("glibc"), count * 64);
		if (rival_copies())
			add_fixed(name, subject<rival_store_loop>("store-loop"),
				count * 64);
	}
}

void
add_pointers_cases()
{
	for (size_t count :
		{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32, 48, 64}) {
		const std::string name = "pointers-" + std::to_string(count);

		add_fixed(name, subject<pointers>("hone"), count * 8);
		add_fixed(name, subject<whole>("glibc"), count * 8);
	}
}

// Unpredictable counts, and places in L1.
const Calls &
groups(size_t unit, size_t most)
{
	static Calls calls;
	static size_t made_for;

	if (made_for != unit * most) {
		Random random;
		const size_t places = hot_bytes / unit;

		calls = Calls();
		for (size_t i = 0; i < unpredictable; i++) {
			Call call;

			call.dst = uint32_t(unit * random.below(places));
			call.src = uint32_t(unit * random.below(places));
			call.len = uint32_t(unit * (1 + random.below(most)));
			calls.push_back(call);
		}
		made_for = unit * most;
	}
	return calls;
}

void
add_groups(const std::string &stem, const Subject &s, size_t unit, size_t most)
{
	add(stem + "-1.." + std::to_string(most) + "/" + s.name, s.limit, false,
		[=](State &state) {
			Arenas a = arenas(2 * hot_bytes);
			const Calls &calls = groups(unit, most);

			for (size_t i = 0; i < 100; i++)
				check_copy(state, s.copy, a.dst + calls[i].dst,
					a.src + calls[i].src, calls[i].len);
			Switches switches;
			s.calls(state, a, calls);
			report_switches(state, switches);
		});
}

void
hone_kept(void *dst, const void *src, size_t n)
{
	hone_memcpy(dst, src, n, HONE_COPY_KEEP);
}

void
glibc(void *dst, const void *src, size_t n)
{
	std::memcpy(dst, src, n);
}

std::vector<Subject>
inlined()
{
	std::vector<Subject> list = {
		subject<hone_kept>("hone"), subject<glibc>("glibc")};

#ifdef HAVE_DPDK
	list.push_back(dpdk_inline());
#endif
	return list;
}

// 8 to 64 bytes, for which rte_memcpy() makes no call.
void
add_short_cases()
{
	for (const Subject &s : inlined()) {
		for (size_t n : {8, 12, 16, 24, 32, 48, 64})
			add_fixed("inline-" + std::to_string(n), s, n);
		add("inline-8..64/" + s.name, s.limit, false,
			[=](State &state) {
				Arenas a = arenas(2 * hot_bytes);
				Calls calls = groups(1, 57);

				for (Call &call : calls)
					call.len += 7;
				Switches switches;
				s.calls(state, a, calls);
				report_switches(state, switches);
			});
	}
}

template <size_t n>
void
hone_constant(void *dst, const void *src, size_t)
{
	hone_memcpy(dst, src, n, HONE_COPY_KEEP);
}

template <size_t n>
void
glibc_constant(void *dst, const void *src, size_t)
{
	std::memcpy(dst, src, n);
}

template <size_t n>
void
add_constant_case()
{
	const std::string name = "constant-" + std::to_string(n);

	add_fixed(name, subject<hone_constant<n>>("hone"), n);
	add_fixed(name, subject<glibc_constant<n>>("glibc"), n);
}

template <int policy>
void
clear(void *dst, const void *, size_t n)
{
	hone_memset_zero(dst, n, policy);
}

void
glibc_clear(void *dst, const void *, size_t n)
{
	std::memset(dst, 0, n);
}

void
check_clear(State &state, copy_fn *clear, unsigned char *dst, size_t n)
{
	std::memset(dst, 0xa5, n);
	clear(dst, nullptr, n);
	if (!hone_buffer_is_zero(dst, n))
		state.SkipWithError("wrong answer");
}

void
add_clear_hot(const std::string &name, const Subject &s, size_t n)
{
	add(name + "/" + s.name, s.limit, false, [=](State &state) {
		unsigned char *dst = arenas(n).dst;

		check_clear(state, s.copy, dst, n);
		Switches switches;
		s.fixed(state, dst, nullptr, n);
		report_switches(state, switches);
	});
}

void
add_clear_cold(const std::string &name, const Subject &s,
	std::shared_ptr<Walk> walk, size_t n)
{
	add(name + "/" + s.name, s.limit, false, [=](State &state) {
		check_clear(state, s.copy, walk->next().dst, n);
		for (size_t i = walk->to_settle(state); i > 0; i--)
			s.copy(walk->next().dst, nullptr, n);
		Switches switches;
		for (auto _ : state)
			s.copy(walk->next().dst, nullptr, n);
		report_switches(state, switches);
	});
}

} // namespace

void
add_inline_cases()
{
	add_blocks_cases();
	add_groups("blocks", subject<blocks>("hone"), 64, 16);
	add_groups("blocks", subject<whole>("glibc"), 64, 16);
	add_pointers_cases();
	for (size_t most : {8, 32}) {
		add_groups("pointers", subject<pointers>("hone"), 8, most);
		add_groups("pointers", subject<whole>("glibc"), 8, most);
	}
	add_short_cases();
	add_constant_case<8>();
	add_constant_case<32>();
	add_constant_case<64>();
	add_constant_case<256>();
}

void
add_zero_cases()
{
	const std::vector<Subject> list = {
		subject<clear<HONE_COPY_KEEP>>("keep"),
		subject<clear<HONE_COPY_STREAM>>("stream"),
		subject<clear<HONE_COPY_AUTO>>("auto"),
		subject<glibc_clear>("glibc")};

	for (size_t n : {8, 32, 64, 100, 256, 512, 1 << 10, 2 << 10, 4 << 10,
		     16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20})
		for (const Subject &s : list)
			add_clear_hot("clear-hot-" + size_name(n), s, n);
	for (size_t n : {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
		     4 << 20, 16 << 20}) {
		auto walk = std::make_shared<Walk>(n);

		for (const Subject &s : list)
			add_clear_cold(
				"clear-cold-" + size_name(n), s, walk, n);
	}
}
