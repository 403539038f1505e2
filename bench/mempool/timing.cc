// SPDX-License-Identifier: BSD-3-Clause
//
// Times one case of one pool.
#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>
#include <benchmark/benchmark.h>
#include "mempool_bench.h"
#include "workers.h"
#include "support.h"

double job_seconds = 0.004;

namespace
{

using benchmark::State;

// Enough for two threads that keep 8192 objects each, and for their caches. A
// ring of 32768 slots holds as many.
const unsigned capacity = 24575;
const unsigned cache_size = 512; // DPDK's largest

// An open pool, with the handle of each worker.
struct Pool {
	const pool_subject *subject;
	pool_shape shape;
	void *pool;
	void *handles[3];
	bool checked;
};

void **
objects_of(unsigned worker)
{
	alignas(64) static void *objects[3][most_kept];

	return objects[worker];
}

// Opens the pool at the first call. Returns null if this machine cannot.
Pool *
pool_of(const pool_subject *subject, size_t object_size, bool uncached)
{
	static std::map<std::tuple<const pool_subject *, size_t, bool>, Pool>
		pools;
	auto key = std::make_tuple(subject, object_size, uncached);
	auto found = pools.find(key);

	if (found == pools.end()) {
		Pool p{};

		p.subject = subject;
		p.shape.object_size = object_size;
		p.shape.capacity = capacity;
		p.shape.cache_size = uncached ? 0 : cache_size;
		// In huge pages, with room for headers and padding.
		p.shape.memory_size =
			(size_t(capacity) * (object_size + 256) + (4 << 20)) &
			~((size_t(2) << 20) - 1);
		p.shape.memory = map_huge(p.shape.memory_size);
		p.pool = subject->open(subject, &p.shape);
		found = pools.emplace(key, p).first;
	}
	return found->second.pool ? &found->second : nullptr;
}

std::vector<unsigned>
workers_of(Threads threads)
{
	switch (threads) {
	case one:
		return {0};
	case two_on_one_cpu:
		return {1, 2};
	default:
		return {0, 1};
	}
}

bool
enter(Pool *pool, unsigned i)
{
	if (!pool->handles[i])
		worker(i).call([pool, i] {
			pool->handles[i] = pool->subject->enter(pool->pool);
		});
	return pool->handles[i] != nullptr;
}

pool_work
work_of(const Case &c, unsigned i)
{
	return {objects_of(i), c.keep, c.n, 1, nullptr};
}

// Returns true if no two workers have the same object at the same time.
bool
check(Pool *pool, const Case &c)
{
	const pool_subject *s = pool->subject;
	std::vector<char *> all;
	std::vector<unsigned> workers = workers_of(c.threads);

	if (!s->take)
		return true;
	for (unsigned i : workers) {
		pool_work work = work_of(c, i);

		worker(i).call([&] { s->take(pool->handles[i], &work); });
		for (unsigned k = 0; k < c.keep; k++)
			all.push_back(static_cast<char *>(work.objects[k]));
		for (unsigned k = 0; k < c.keep; k++)
			std::memset(work.objects[k], int(i), c.object_size);
	}
	for (unsigned i : workers) {
		pool_work work = work_of(c, i);

		worker(i).call([&] { s->give(pool->handles[i], &work); });
	}
	std::sort(all.begin(), all.end());
	for (size_t k = 1; k < all.size(); k++)
		if (size_t(all[k] - all[k - 1]) < c.object_size)
			return false;
	return true;
}

Pool *
ready(State &state, const pool_subject *subject, const Case &c)
{
	Pool *pool = pool_of(subject, c.object_size, c.uncached);

	if (!pool) {
		state.SkipWithError("the pool could not be opened");
		return nullptr;
	}
	for (unsigned i : workers_of(c.threads)) {
		if (!enter(pool, i)) {
			state.SkipWithError(
				"a thread could not open its handle");
			return nullptr;
		}
	}
	if (!pool->checked && !check(pool, c)) {
		state.SkipWithError("an object was handed out twice");
		return nullptr;
	}
	pool->checked = true;
	return pool;
}

void
report(State &state, double pairs, double seconds, long switches)
{
	state.SetIterationTime(seconds / pairs * 1000);
	state.counters["switches"] = double(switches);
}

// Each thread takes and gives back.
void
time_turns(State &state, const pool_subject *subject, const Case &c)
{
	Pool *pool = ready(state, subject, c);
	pool_loop *loop = (c.touch ? subject->touch : subject->cycle)[c.loop];
	std::vector<unsigned> workers = workers_of(c.threads);
	// Enough for both to run on the one CPU.
	double seconds =
		c.threads == two_on_one_cpu ? 16 * job_seconds : job_seconds;

	for (auto _ : state) {
		if (!pool)
			break;
		Start start(unsigned(workers.size()));
		Lap laps[3];
		for (unsigned i : workers)
			worker(i).start([&, i, start] {
				pool_work work = work_of(c, i);

				laps[i] = repeat_until(start.wait(), seconds,
					[&](unsigned turns) {
						work.rounds = turns;
						loop(pool->handles[i], &work);
					});
			});
		double speed = 0;
		long switches = 0;
		for (unsigned i : workers) {
			worker(i).wait();
			speed += laps[i].turns * c.keep / laps[i].seconds;
			switches += laps[i].switches;
		}
		// Two threads on one CPU always switch.
		report(state, speed, 1,
			c.threads == two_on_one_cpu ? 0 : switches);
	}
}

// One thread gets, the other puts. The queue between them is no part of a pool.
void
time_cross(State &state, const pool_subject *subject, const Case &c)
{
	alignas(64) static pool_queue queue;
	static std::map<const pool_subject *, unsigned> batches_of;
	Pool *pool = ready(state, subject, c);
	unsigned &batches = batches_of[subject];

	for (auto _ : state) {
		if (!pool)
			break;
		Lap lap{};
		for (batches = std::max(batches, 8u);; batches *= 2) {
			Start start(2);
			pool_work put = work_of(c, 0), get = work_of(c, 1);

			put.rounds = get.rounds = batches;
			put.queue = get.queue = &queue;
			worker(0).start([&, start] {
				start.wait();
				subject->produce[c.loop](
					pool->handles[0], &put);
			});
			worker(1).start([&, start] {
				Switches switches;
				double began = start.wait();

				subject->consume[c.loop](
					pool->handles[1], &get);
				lap.turns = batches;
				lap.seconds = now_seconds() - began;
				lap.switches = switches.count();
			});
			worker(0).wait();
			worker(1).wait();
			if (lap.seconds >= job_seconds / 2)
				break;
		}
		report(state, lap.turns * POOL_QUEUE_BATCH, lap.seconds,
			lap.switches);
	}
}

} // namespace

void
add(const Case &c, const pool_subject *list)
{
	for (const pool_subject *s = list; s->name; s++) {
		auto run = c.threads == producer_and_consumer ? time_cross
							      : time_turns;

		benchmark::RegisterBenchmark(
			("mempool/" + c.name + "/" + s->name).c_str(),
			[run, s, c](State &state) { run(state, s, c); })
			->UseManualTime()
			->Iterations(1);
	}
}
