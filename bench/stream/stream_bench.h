// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_STREAM_BENCH_H
#define HONE_BENCH_STREAM_BENCH_H
// Shared by the files of the stream benchmark.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// What a turn does. rival.php and rival.py have the same names.
enum class Kind {
	whole,  // open, read and close each file
	pieces, // one open file: seek to its start, read all of it
	lines,  // the same, line by line
	ready,  // send a message, then read it
	ping    // send a message to an echo on another CPU, read the answer
};

struct Case {
	std::string name;
	Kind kind;
	size_t files, size; // of each file; of a message
	size_t piece;       // bytes of a read; of a line with its delimiter
	bool fresh;         // free() returns large memory to the kernel
};

// The input of a case, made once.
struct Input {
	std::vector<std::string> names;
	std::vector<const char *> paths;
	std::string list;         // a file with these, one a line, or ...
	std::vector<char> buffer; // ... this message
	std::string socket;       // path of the echo: list + ".echo"
};

// The output of a subject. Only a check takes its digest.
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

// Prints what failed and why, and exits.
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

// Starts an echo of messages of this size. It ends with the process.
void start_echo(const std::string &path, size_t size);

// The result of a run: its time and its involuntary context switches.
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
	bool works(); // returns false if the program does not exist
	Run run(const Case &c, const Input &in, uint64_t turns, Tally *tally);
};

// Pins this thread, and processes that it starts, to one of the usable CPUs.
class OnCpu
{
	std::vector<unsigned char> before_;

      public:
	explicit OnCpu(unsigned index);
	~OnCpu();
	OnCpu(const OnCpu &) = delete;
	OnCpu &operator=(const OnCpu &) = delete;
};

// input.cc: makes the files of a case. Valid until the call for another case.
const Input &prepare(const Case &c);

// Returns the output of one turn of the case that was prepared last.
Tally expected(const Case &c);

#endif
