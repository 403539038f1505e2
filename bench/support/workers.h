// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_WORKERS_H
#define HONE_BENCH_WORKERS_H
// The timed threads: each on a CPU of its own, or two on one CPU.
#include <functional>
#include <memory>

// The result of one thread: its turns, and the time that they took.
struct Lap {
	double turns, seconds;
	long switches; // involuntary ones
};

// One pinned thread, which ends with the process.
class Worker
{
	struct Shared;
	std::shared_ptr<Shared> shared_;

      public:
	explicit Worker(int cpu);
	// The thread calls `job`. wait() returns when `job` has returned.
	void start(std::function<void()> job);
	void wait();
	void
	call(const std::function<void()> &job)
	{
		start(job);
		wait();
	}
};

// The CPUs that this process may use, in order.
int usable_cpu(unsigned index);
unsigned usable_cpus();

// i is 0 to 2. The first call starts the threads. Threads 1 and 2 share a CPU.
Worker &worker(unsigned i);

// A barrier before the timing: all threads leave it at once, and wait() returns
// the time of that. A waiting thread yields its CPU to other threads.
class Start
{
	struct Gate;
	std::shared_ptr<Gate> gate_;

      public:
	explicit Start(unsigned threads);
	double wait() const;
};

double now_seconds();

// Calls work(turns), with more turns each time, until `seconds` have passed
// since `start`.
Lap repeat_until(double start, double seconds,
	const std::function<void(unsigned)> &work);

#endif
