// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <sched.h>
#include <thread>
#include "workers.h"
#include "support.h"

struct Worker::Shared {
	std::mutex mutex;
	std::condition_variable changed;
	std::function<void()> job;
};

Worker::Worker(int cpu) : shared_(std::make_shared<Shared>())
{
	std::shared_ptr<Shared> s = shared_;

	std::thread([s, cpu] {
		cpu_set_t only;

		CPU_ZERO(&only);
		CPU_SET(cpu, &only);
		if (sched_setaffinity(0, sizeof(only), &only) != 0) {
			std::perror("pinning a thread");
			std::exit(1);
		}
		std::unique_lock<std::mutex> lock(s->mutex);
		for (;;) {
			s->changed.wait(lock, [s] { return bool(s->job); });
			lock.unlock();
			s->job();
			lock.lock();
			s->job = nullptr;
			s->changed.notify_all();
		}
	}).detach();
}

void
Worker::start(std::function<void()> job)
{
	std::lock_guard<std::mutex> lock(shared_->mutex);

	shared_->job = std::move(job);
	shared_->changed.notify_all();
}

void
Worker::wait()
{
	std::unique_lock<std::mutex> lock(shared_->mutex);

	shared_->changed.wait(lock, [this] { return !shared_->job; });
}

static cpu_set_t
usable()
{
	// The first call comes before the calling thread is pinned.
	static const cpu_set_t set = [] {
		cpu_set_t s;

		CPU_ZERO(&s);
		sched_getaffinity(0, sizeof(s), &s);
		return s;
	}();
	return set;
}

unsigned
usable_cpus()
{
	cpu_set_t set = usable();

	return unsigned(CPU_COUNT(&set));
}

int
usable_cpu(unsigned index)
{
	cpu_set_t set = usable();

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && index-- == 0)
			return cpu;
	return 0;
}

double
now_seconds()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

struct Start::Gate {
	std::atomic<unsigned> missing;
	std::atomic<double> began;
};

Start::Start(unsigned threads) : gate_(std::make_shared<Gate>())
{
	gate_->missing = threads;
	gate_->began = 0;
}

double
Start::wait() const
{
	Gate &gate = *gate_;

	if (gate.missing.fetch_sub(1) == 1)
		gate.began = now_seconds();
	for (unsigned spins = 1; gate.began.load() <= 0; spins++)
		if (spins % 1024 == 0)
			sched_yield();
	return gate.began;
}

Lap
repeat_until(
	double start, double seconds, const std::function<void(unsigned)> &work)
{
	Switches switches;
	double turns = 0, end = start, before = start;
	unsigned chunk = 1;

	do {
		work(chunk);
		turns += chunk;
		end = now_seconds();
		// A look at the clock takes as long as hundreds of objects.
		// The chunks grow until one takes 1/32 of the time.
		if (end - before < seconds / 32)
			chunk *= 2;
		before = end;
	} while (end < start + seconds);
	return {turns, end - start, switches.count()};
}

Worker &
worker(unsigned i)
{
	// Workers 1 and 2 share a CPU.
	static Worker workers[] = {Worker(usable_cpu(0)),
		Worker(usable_cpu(usable_cpus() > 1)),
		Worker(usable_cpu(usable_cpus() > 1))};

	return workers[i];
}
