// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_WORKERS_H
#define HONE_BENCH_WORKERS_H
// The threads that are timed, each on a CPU of its own or both on one.
#include <functional>
#include <memory>

// What one thread did: turns of its work, in how long.
struct Lap {
	double turns, seconds;
	long switches; // that it did not ask for
};

// One thread, pinned. It ends with the process.
class Worker
{
	struct Shared;
	std::shared_ptr<Shared> shared_;

      public:
	explicit Worker(int cpu);
	// Have it call `job`; wait() returns when it has.
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

// 0 to 2: made when first asked for. The last two share a CPU.
Worker &worker(unsigned i);

// Where threads meet before they are timed: all leave at once, and learn when
// that was. A thread that waits gives way to others on its CPU.
class Start
{
	struct Gate;
	std::shared_ptr<Gate> gate_;

      public:
	explicit Start(unsigned threads);
	double wait() const;
};

double now_seconds();

// Call work(turns) with ever more turns until `seconds` have passed since
// `start`.
Lap repeat_until(double start, double seconds,
	const std::function<void(unsigned)> &work);

#endif
