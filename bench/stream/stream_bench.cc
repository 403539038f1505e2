// SPDX-License-Identifier: BSD-3-Clause
//
// Streams and whole files beside their rivals: the bare system calls, stdio,
// mmap, PHP and Python. PHP and Python time their own turns.
//
//     stream_bench --turns N CASE SUBJECT
//
// makes N turns and prints nothing: for strace.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <benchmark/benchmark.h>
#include "stream_bench.h"
#include "support.h"
#include "workers.h"

using benchmark::State;

namespace
{

// A longer turn has about one context switch, with any subject. Without these
// turns there would be none.
const double undisturbed_seconds = 0.01;
const size_t few_turns_bytes = size_t(256) << 20;

Run
timed(const Case &c, const Input &in, const Subject &s, uint64_t turns,
	Tally *tally)
{
	Switches switches;
	double began = now_seconds();

	s.work(c, in, turns, tally);
	return {now_seconds() - began, switches.count()};
}

// A program in another language. driven() starts it, pinned and not pinned.
struct Program {
	std::string name;
	std::vector<std::string> command;
	std::vector<Kind> kinds;
};

Driven &
driven(const Program &p, bool pinned)
{
	static std::vector<std::pair<std::string, Driven *>> all;
	std::string key = p.name + (pinned ? " pinned" : "");

	for (auto &one : all)
		if (one.first == key)
			return *one.second;
	all.push_back({key, new Driven(p.command)});
	if (!all.back().second->works())
		give_up(p.name, ENOENT);
	return *all.back().second;
}

using Timed = std::function<Run(
	const Case &, const Input &, uint64_t turns, Tally *)>;

Run
run_turns(const Case &c, const Timed &subject, uint64_t turns, Tally *tally)
{
	const Input &in = prepare(c);

	if (c.kind != Kind::ping)
		return subject(c, in, turns, tally);
	OnCpu here(0); // the echo is on another
	return subject(c, in, turns, tally);
}

bool
is_right(const Case &c, const std::string &name, const Timed &subject)
{
	static std::set<std::string> checked;
	Tally tally = {true, 0, 0};

	if (!checked.insert(name).second)
		return true;
	run_turns(c, subject, 1, &tally);
	Tally right = expected(c);
	return tally.bytes == right.bytes && tally.digest == right.digest;
}

void
measure(State &state, const Case &c, const std::string &name,
	const Timed &subject)
{
	Tally tally = {false, 0, 0};
	double turns = double(state.max_iterations);
	Run run = {0, 0};

	if (!is_right(c, name, subject))
		state.SkipWithError("wrong answer");
	while (state.KeepRunningBatch(state.max_iterations)) {
		run = run_turns(
			c, subject, uint64_t(state.max_iterations), &tally);
		state.SetIterationTime(run.seconds);
	}
	state.counters["switches"] = run.seconds / turns > undisturbed_seconds
					     ? 0
					     : double(run.switches);
}

// One benchmark: CASE/SUBJECT.
struct Entry {
	Case c;
	std::string subject;
	Timed timed;
};
std::vector<Entry> entries;

std::vector<Subject>
subjects_of(const Case &c)
{
	switch (c.kind) {
	case Kind::whole:
		return whole_subjects(c);
	case Kind::pieces:
		return pieces_subjects(c);
	case Kind::lines:
		return lines_subjects(c);
	default:
		return socket_subjects(c);
	}
}

const std::vector<Program> &
programs()
{
	static std::vector<Program> found;
	static bool looked;

	if (looked)
		return found;
	looked = true;
	for (const Program &p :
		std::vector<Program>{// -n: no php.ini, and so no extension.
			{"php",
				{"php", "-n", "-d", "memory_limit=-1",
					HONE_RIVALS "/rival.php"},
				{Kind::whole, Kind::pieces, Kind::lines,
					Kind::ready, Kind::ping}},
			{"python", {"python3", HONE_RIVALS "/rival.py"},
				{Kind::whole, Kind::pieces, Kind::lines}}}) {
		if (Driven(p.command).works())
			found.push_back(p);
		else
			std::fprintf(stderr,
				"not run: %s (%s is not installed)\n",
				p.name.c_str(), p.command[0].c_str());
	}
	return found;
}

void
add_case(const Case &c)
{
	for (const Subject &s : subjects_of(c))
		entries.push_back({c, s.name,
			[s](const Case &of, const Input &in, uint64_t turns,
				Tally *tally) {
				return timed(of, in, s, turns, tally);
			}});
	for (const Program &p : programs())
		if (std::count(p.kinds.begin(), p.kinds.end(), c.kind) > 0)
			entries.push_back({c, p.name,
				[p](const Case &of, const Input &in,
					uint64_t turns, Tally *tally) {
					bool pin = of.kind == Kind::ping;

					return driven(p, pin).run(
						of, in, turns, tally);
				}});
}

void
add_all()
{
	const size_t K = 1000, M = K * K, G = size_t(1) << 30;

	add_case({"read-12", Kind::whole, 1, 12, 80, false});
	add_case({"read-4K", Kind::whole, 1, 4096, 80, false});
	add_case({"read-700K", Kind::whole, 1, 700 * K, 80, false});
	add_case({"read-10M", Kind::whole, 1, 10 * M, 80, false});
	add_case({"fresh-700K", Kind::whole, 1, 700 * K, 80, true});
	add_case({"fresh-10M", Kind::whole, 1, 10 * M, 80, true});
	add_case({"fresh-1G", Kind::whole, 1, G, 80, true});
	add_case({"files-10000", Kind::whole, 10000, 1024, 80, false});
	add_case({"fread-700K", Kind::pieces, 1, 700 * K, 700 * K, false});
	add_case({"fread-16", Kind::pieces, 1, 700 * K, 16, false});
	for (size_t line : {10, 80, 1000})
		add_case({"lines-" + std::to_string(line), Kind::lines, 1,
			700 * K, line, false});
	add_case({"lines-80-16M", Kind::lines, 1, 16 * M, 80, false});
	add_case({"socket-8K", Kind::ready, 0, 8192, 80, false});
	if (usable_cpus() > 1)
		add_case({"ping-8K", Kind::ping, 0, 8192, 80, false});
	else
		std::fprintf(stderr, "not run: ping-8K (there is one CPU)\n");
}

int
make_turns(
	const char *turns, const std::string &name, const std::string &subject)
{
	Tally tally = {false, 0, 0};

	for (const Entry &e : entries)
		if (e.c.name == name && e.subject == subject) {
			run_turns(e.c, e.timed,
				std::strtoull(turns, nullptr, 10), &tally);
			return 0;
		}
	std::fprintf(stderr, "stream_bench: %s/%s does not exist\n",
		name.c_str(), subject.c_str());
	return 2;
}

} // namespace

int
main(int argc, char **argv)
{
	add_all();
	if (argc == 5 && !std::strcmp(argv[1], "--turns"))
		return make_turns(argv[2], argv[3], argv[4]);
	for (const Entry &e : entries) {
		std::string name = "stream/" + e.c.name + "/" + e.subject;
		auto *b = benchmark::RegisterBenchmark(
			name.c_str(), [e, name](State &state) {
				measure(state, e.c, name, e.timed);
			});

		b->UseManualTime();
		if (e.c.files * e.c.size >= few_turns_bytes)
			b->Repetitions(7);
	}
	return run_benchmarks(argc, argv);
}
