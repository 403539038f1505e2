// SPDX-License-Identifier: BSD-3-Clause
// Memory, subjects and registration for the copy benchmark.
#include "copy_bench.h"
#include "ceiling.h"

namespace
{

// All words differ, so every misplaced byte is found.
void
fill(unsigned char *p, size_t from, size_t to)
{
	for (size_t at = from; at < to; at += sizeof(uint64_t)) {
		uint64_t word = (at + 1) * UINT64_C(0x9e3779b97f4a7c15);

		std::memcpy(p + at, &word, sizeof(word));
	}
}

void
glibc(void *dst, const void *src, size_t n)
{
	std::memcpy(dst, src, n);
}

// The same again: how far two rows of one function differ in this run.
void
glibc_again(void *dst, const void *src, size_t n)
{
	std::memcpy(dst, src, n);
}

template <int policy>
void
hone(void *dst, const void *src, size_t n)
{
	hone_memcpy(dst, src, n, policy);
}

template <void load(const void *, size_t)>
void
ceiling(void *, const void *src, size_t n)
{
	load(src, n);
}

template <int policy>
void
add_variants(std::vector<Subject> *list, const std::string &name)
{
	list->push_back(subject<hone<policy>>(name));
#define HONE_VARIANT(variant, family, needs)                                   \
	HONE_IF_FAMILY(family, if ((hone_cpu_features() & (needs)) == (needs)) \
				       list->push_back(subject<hone<policy>>(  \
					       name + "-" #variant, needs));)
#include "copy/variants.def"
#undef HONE_VARIANT
}

void
add_dpdk(std::vector<Subject> *list)
{
#ifdef HAVE_DPDK
	list->push_back(subject<rival_dpdk_sse>("dpdk-sse"));
	if (ceiling_supported(256))
		list->push_back(subject<rival_dpdk_avx2>("dpdk-avx2"));
	if (ceiling_supported(512))
		list->push_back(subject<rival_dpdk_avx512>("dpdk-avx512"));
#else
	(void)list;
#endif
}

std::vector<Subject>
make_storing()
{
	std::vector<Subject> list;

	add_variants<HONE_COPY_KEEP>(&list, "keep");
	list.push_back(subject<glibc>("glibc"));
	list.push_back(subject<glibc_again>("glibc-again"));
	if (rival_copies())
		list.push_back(subject<rival_rep_movsb>("rep-movsb"));
	add_dpdk(&list);
	return list;
}

std::vector<Subject>
make_streaming()
{
	std::vector<Subject> list;

	list.push_back(subject<hone<HONE_COPY_AUTO>>("auto"));
	add_variants<HONE_COPY_STREAM>(&list, "stream");
	add_variants<HONE_COPY_STREAM_PROTECT>(&list, "protect");
	if (rival_copies())
		list.push_back(subject<rival_nt_loop>("nt-loop"));
	return list;
}

std::vector<Subject>
make_ceilings()
{
	std::vector<Subject> list;

	if (ceiling_supported(128))
		list.push_back(subject<ceiling<ceiling_load_128>>("load-128"));
	if (ceiling_supported(256))
		list.push_back(subject<ceiling<ceiling_load_256>>("load-256"));
	if (ceiling_supported(512))
		list.push_back(subject<ceiling<ceiling_load_512>>("load-512"));
	for (Subject &s : list)
		s.copies = false;
	return list;
}

} // namespace

Arenas
arenas(size_t bytes)
{
	static Arenas both = {map_huge(arena_bytes), map_huge(arena_bytes)};
	static size_t touched;

	if (bytes > touched) {
		std::memset(both.dst + touched, 0, bytes - touched);
		fill(both.src, touched, bytes);
		touched = bytes;
	}
	return both;
}

Walk::Walk(size_t n) : n_(n)
{
	Random random;

	for (size_t at = 0; at + n <= arena_bytes; at += n)
		src_.push_back(uint32_t(at));
	random.shuffle(&src_);
	dst_ = src_;
	random.shuffle(&dst_);
}

Walk::Place
Walk::next()
{
	Arenas a = arenas(arena_bytes);
	Place place = {a.dst + dst_[at_], a.src + src_[at_]};

	at_ = at_ + 1 < src_.size() ? at_ + 1 : 0;
	return place;
}

const std::vector<Subject> &
storing()
{
	static const std::vector<Subject> list = make_storing();

	return list;
}

const std::vector<Subject> &
streaming()
{
	static const std::vector<Subject> list = make_streaming();

	return list;
}

const std::vector<Subject> &
policies()
{
	static const std::vector<Subject> list = {
		subject<hone<HONE_COPY_KEEP>>("keep"),
		subject<hone<HONE_COPY_STREAM>>("stream"),
		subject<hone<HONE_COPY_STREAM_PROTECT>>("protect"),
		subject<hone<HONE_COPY_AUTO>>("auto"), subject<glibc>("glibc")};

	return list;
}

const std::vector<Subject> &
ceilings()
{
	static const std::vector<Subject> list = make_ceilings();

	return list;
}

void
add(const std::string &name, uint64_t limit, bool manual_time, Run run)
{
	auto limited = [=](State &state) {
		hone_cpu_limit(limit);
		run(state);
		hone_cpu_limit(HONE_CPU_ALL);
	};
	auto *added =
		benchmark::RegisterBenchmark(("copy/" + name).c_str(), limited);

	if (manual_time)
		added->UseManualTime();
	else
		added->UseRealTime();
}

void
report_switches(State &state, const Switches &switches)
{
	state.counters["switches"] = double(switches.count());
}

void
check_copy(State &state, copy_fn *copy, void *dst, const void *src, size_t n)
{
	std::memset(dst, 0xa5, n);
	copy(dst, src, n);
	if (std::memcmp(dst, src, n) != 0)
		state.SkipWithError("wrong answer");
}

std::string
size_name(size_t n)
{
	if (n >= 1u << 20 && n % (1u << 20) == 0)
		return std::to_string(n >> 20) + "M";
	if (n >= 1024 && n % 1024 == 0)
		return std::to_string(n >> 10) + "K";
	return std::to_string(n);
}
