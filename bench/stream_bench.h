// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_STREAM_BENCH_H
#define HONE_BENCH_STREAM_BENCH_H
// What the files of the stream benchmark share.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// What a turn does. The names are those that rivals/stream.php is told.
enum class Kind {
	whole,  // each of the files, from open to close
	pieces, // one file that is open: back to its start, then all of it
	lines,  // the same, line by line
	ready,  // a message is sent, and read where it is waiting
	ping    // a message is sent to an echo on another CPU, and read
};

struct Case {
	std::string name;
	Kind kind;
	size_t files, size; // of each file; of a message
	size_t piece;       // bytes asked for; of a line, its delimiter too
	bool fresh;         // large memory from malloc() is never used again
};

// Made once for a case.
struct Input {
	std::vector<std::string> names;
	std::vector<const char *> paths;
	std::string list;         // a file that has these, one a line, or ...
	std::vector<char> buffer; // ... this message
	std::string socket;       // where the echo listens: list + ".echo"
};

// What a subject gave. Its digest is taken when it is checked only.
struct Tally {
	bool with_digest;
	uint64_t bytes, digest;

	void
	see(const void *data, size_t n)
	{
		bytes += n;
		if (with_digest)
			add_digest(data, n);
	}
	void add_digest(const void *data, size_t n);
};

// Whoever cannot go on: what failed, and why.
[[noreturn]] void give_up(const std::string &what, int error);

// Do this many turns.
using Work = std::function<void(
	const Case &, const Input &, uint64_t turns, Tally *)>;

struct Subject {
	std::string name;
	Work work;
};

std::vector<Subject> whole_subjects(const Case &c);
std::vector<Subject> pieces_subjects(const Case &c);
std::vector<Subject> lines_subjects(const Case &c);
std::vector<Subject> socket_subjects(const Case &c);

// Start an echo of messages of this size, which lasts as long as the process.
void start_echo(const std::string &path, size_t size);

// What a run took: the thread's own time, and its switches.
struct Run {
	double seconds;
	long switches;
};

// A program in another language, which times its own turns.
class Driven
{
	int to_ = -1, from_ = -1;

      public:
	explicit Driven(const std::vector<std::string> &command);
	bool works(); // false if there is no such program
	Run run(const Case &c, const Input &in, uint64_t turns, Tally *tally);
};

// Keeps this thread, and processes it starts, on one of the usable CPUs.
class OnCpu
{
	std::vector<unsigned char> before_;

      public:
	explicit OnCpu(unsigned index);
	~OnCpu();
	OnCpu(const OnCpu &) = delete;
	OnCpu &operator=(const OnCpu &) = delete;
};

#endif
