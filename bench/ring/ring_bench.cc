// SPDX-License-Identifier: BSD-3-Clause
//
// Rings beside their rivals: one thread alone, a producer and a consumer, two
// threads at both ends, and all of these on one CPU. The cases wait-* are those
// of queues that wait. The reported time is that of 1000 elements that went in
// and out.
#include <cstdio>
#include <map>
#include <string>
#include <vector>
#include <benchmark/benchmark.h>
#include "workers.h"
#include "rings.h"
#include "support.h"

using benchmark::State;

namespace
{

const double job_seconds = 0.004;

enum Threads { alone, pipe, both, ping };

struct Case {
	std::string name;
	Threads threads;
	bool one_cpu;
	unsigned n;
};

// Makes the ring at the first call. Returns null if that fails. A second one is
// for replies.
void *
ring_of(const ring_subject *subject, bool second = false)
{
	static std::map<std::pair<const ring_subject *, bool>, void *> rings;
	auto key = std::make_pair(subject, second);
	auto found = rings.find(key);

	if (found == rings.end())
		found = rings.emplace(key, subject->open(subject)).first;
	return found->second;
}

ring_work
work_of(const Case &c, unsigned groups)
{
	return {c.n, groups, c.one_cpu, 0};
}

// Returns the sum of the taken elements if none is missing.
uintptr_t
sum_of(const Case &c, double groups)
{
	return uintptr_t(groups * c.n * (c.n + 1) / 2);
}

// Threads that share a CPU get more time: both have to run on it.
double
seconds_of(const Case &c)
{
	return c.one_cpu ? 8 * job_seconds : job_seconds;
}

// A producer and a consumer, with as many groups as take long enough.
Lap
time_pipe(const ring_subject *s, void *ring, const Case &c, bool *right)
{
	static std::map<std::pair<const ring_subject *, std::string>, unsigned>
		known;
	unsigned &groups = known[std::make_pair(s, c.name)];
	unsigned first = c.one_cpu ? 1 : 0;

	for (groups = std::max(groups, 64u);; groups *= 2) {
		Start start(2);
		ring_work in = work_of(c, groups), out = in;
		Lap lap{double(groups), 0, 0};

		worker(first).start([&, start] {
			start.wait();
			s->add(ring, &in);
		});
		worker(first + 1).start([&, start] {
			double began = start.wait();
			Switches switches;

			s->take(ring, &out);
			lap.seconds = now_seconds() - began;
			lap.switches = switches.count();
		});
		worker(first).wait();
		worker(first + 1).wait();
		*right = out.sum == sum_of(c, groups);
		if (!*right || lap.seconds >= seconds_of(c) / 2)
			return lap;
	}
}

// Two threads that add and take, as many groups as they can.
Lap
time_both(const ring_subject *s, void *ring, const Case &c, bool *right)
{
	unsigned first = c.one_cpu ? 1 : 0;
	// Few, since each may cost a time slice: see add_all().
	const unsigned chunk = 64;
	uintptr_t sums[2];
	Start start(2);
	Lap laps[2];

	for (unsigned i = 0; i < 2; i++)
		worker(first + i).start([&, i, start] {
			ring_work work = work_of(c, chunk);
			double began = start.wait(), now, turns = 0;
			Switches switches;

			do {
				s->turn(ring, &work);
				turns += chunk;
				now = now_seconds();
			} while (now < began + seconds_of(c));
			sums[i] = work.sum;
			laps[i] = {turns, now - began, switches.count()};
		});
	worker(first).wait();
	worker(first + 1).wait();
	*right = sums[0] + sums[1] == sum_of(c, laps[0].turns + laps[1].turns);
	return {laps[0].turns / laps[0].seconds +
			laps[1].turns / laps[1].seconds,
		1, laps[0].switches + laps[1].switches};
}

// Two threads that answer each other: each waits for each element.
Lap
time_ping(const ring_subject *s, void *ring, const Case &c, bool *right)
{
	static std::map<const ring_subject *, unsigned> known;
	void *replies = ring_of(s, true);
	unsigned first = c.one_cpu ? 1 : 0;

	for (unsigned &turns = known[s];; turns *= 2) {
		Start start(2);
		Lap lap{0, 0, 0};

		turns = std::max(turns, 64u);
		worker(first).start([&, start] {
			ring_work one = work_of(c, 1);

			start.wait();
			for (unsigned i = 0; i < turns; i++) {
				s->add(ring, &one);
				s->take(replies, &one);
			}
			*right = one.sum == sum_of(c, turns);
		});
		worker(first + 1).start([&, start] {
			ring_work one = work_of(c, 1);
			double began = start.wait();
			Switches switches;

			for (unsigned i = 0; i < turns; i++) {
				s->take(ring, &one);
				s->add(replies, &one);
			}
			lap = {double(turns), now_seconds() - began,
				switches.count()};
		});
		worker(first).wait();
		worker(first + 1).wait();
		if (!*right || lap.seconds >= seconds_of(c) / 2)
			return lap;
	}
}

Lap
time_one(const ring_subject *s, void *ring, const Case &c, bool *right)
{
	uintptr_t sum = 0;
	Lap lap;

	worker(0).call([&] {
		lap = repeat_until(
			now_seconds(), job_seconds, [&](unsigned turns) {
				ring_work work = work_of(c, turns);

				s->turn(ring, &work);
				sum += work.sum;
			});
	});
	*right = sum == sum_of(c, lap.turns);
	return lap;
}

void
run(State &state, const ring_subject *subject, const Case &c)
{
	void *ring = ring_of(subject);

	if (!ring)
		state.SkipWithError("the ring could not be made");
	for (auto _ : state) {
		bool right = false;
		Lap lap{};

		if (ring)
			lap = c.threads == alone
				      ? time_one(subject, ring, c, &right)
			      : c.threads == pipe
				      ? time_pipe(subject, ring, c, &right)
			      : c.threads == ping
				      ? time_ping(subject, ring, c, &right)
				      : time_both(subject, ring, c, &right);
		if (!right) {
			state.SkipWithError("elements were lost or doubled");
			break;
		}
		state.SetIterationTime(lap.seconds / lap.turns / c.n * 1000);
		// Threads that share a CPU always switch.
		state.counters["switches"] =
			c.one_cpu ? 0 : double(lap.switches);
	}
}

void
add(const Case &c, const ring_subject *list)
{
	for (const ring_subject *s = list; s->name; s++)
		if (s->many || c.threads != both)
			benchmark::RegisterBenchmark(
				("ring/" + c.name + "/" + s->name).c_str(),
				[s, c](State &state) { run(state, s, c); })
				->UseManualTime()
				->Iterations(1);
}

void
add_everywhere(const Case &c)
{
	add(c, ring_hone);
	add(c, ring_mutex);
#ifdef HAVE_CK
	// CK moves one element a call, and each may cost a time slice.
	if (c.n == 1 || !c.one_cpu || c.threads != both)
		add(c, ring_ck);
#endif
#ifdef HAVE_DPDK_MEMPOOL
	add(c, ring_dpdk);
#endif
}

void
add_waiting(const Case &c)
{
	add(c, ring_queue);
	add(c, ring_mutex);
#ifdef HAVE_MOODYCAMEL
	add(c, ring_moodycamel);
#endif
}

// Two producers that share a CPU: if one is preempted before it has published
// its slots, the other waits for its whole time slice, and then the reverse.
// CK's ring and DPDK's default ring then move one group a time slice.
void
add_all()
{
	for (unsigned n : {1, 8, 32, 256}) {
		std::string size = "-n" + std::to_string(n);

		add_everywhere({"alone" + size, alone, false, n});
		add_everywhere({"pipe" + size, pipe, false, n});
		add_everywhere({"both" + size, both, false, n});
		add_everywhere({"one-cpu-pipe" + size, pipe, true, n});
		add_everywhere({"one-cpu-both" + size, both, true, n});
	}
	for (unsigned n : {1, 32}) {
		std::string size = "-n" + std::to_string(n);

		add_waiting({"wait-alone" + size, alone, false, n});
		add_waiting({"wait-pipe" + size, pipe, false, n});
		add_waiting({"wait-both" + size, both, false, n});
		add_waiting({"wait-one-cpu-pipe" + size, pipe, true, n});
	}
	add_waiting({"wait-ping-n1", ping, false, 1});
	add_waiting({"wait-one-cpu-ping-n1", ping, true, 1});
}

} // namespace

int
main(int argc, char **argv)
{
#ifndef HAVE_CK
	std::fprintf(stderr, "not run: ck_ring (libck-dev is not installed)\n");
#endif
#ifndef HAVE_MOODYCAMEL
	std::fprintf(stderr, "not run: moodycamel (libconcurrentqueue-dev is "
			     "not installed)\n");
#endif
#ifndef HAVE_DPDK_MEMPOOL
	std::fprintf(
		stderr, "not run: rte_ring (libdpdk-dev is not installed)\n");
#endif
	add_all();
	return run_benchmarks(argc, argv);
}
