// SPDX-License-Identifier: BSD-3-Clause
//
// Subjects that are programs in other languages. They time their own turns: the
// pipes for the commands are not in the figures.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include "stream_bench.h"
#include "workers.h"

namespace
{

const char *
word(Kind kind)
{
	switch (kind) {
	case Kind::whole:
		return "whole";
	case Kind::pieces:
		return "pieces";
	case Kind::lines:
		return "lines";
	case Kind::ready:
		return "ready";
	case Kind::ping:
		break;
	}
	return "ping";
}

// Returns a line without its end, or "" at the end of file. The pipe never has
// more than one line.
std::string
read_line(int fd)
{
	std::string line;
	char part[256];
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) > 0) {
		line.append(part, size_t(n));
		if (line.back() == '\n') {
			line.pop_back();
			break;
		}
	}
	return line;
}

} // namespace

Driven::Driven(const std::vector<std::string> &command)
{
	int to[2], from[2];

	// The read of the answer finds a program that has ended.
	std::signal(SIGPIPE, SIG_IGN);
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		give_up("pipe2", errno);
	pid_t pid = fork();
	if (pid < 0)
		give_up("fork", errno);
	if (pid == 0) {
		std::vector<char *> argv;

		dup2(to[0], 0);
		dup2(from[1], 1);
		for (const std::string &arg : command)
			argv.push_back(const_cast<char *>(arg.c_str()));
		argv.push_back(nullptr);
		execvp(argv[0], argv.data());
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	to_ = to[1];
	from_ = from[0];
}

bool
Driven::works()
{
	return read_line(from_) == "ready";
}

Run
Driven::run(const Case &c, const Input &in, uint64_t turns, Tally *tally)
{
	std::string line =
		std::string(word(c.kind)) + " " + std::to_string(c.size) + " " +
		std::to_string(c.piece) + " " + std::to_string(turns) + " " +
		std::to_string(int(tally->with_digest)) + " " + in.list + "\n";
	unsigned long long bytes, digest;
	double ns;
	long switches;

	if (write(to_, line.data(), line.size()) != ssize_t(line.size()))
		give_up("a program that reads", errno);
	line = read_line(from_);
	if (std::sscanf(line.c_str(), "%lf %ld %llu %llu", &ns, &switches,
		    &bytes, &digest) != 4)
		give_up("unexpected answer: " + line, EIO);
	tally->bytes += bytes;
	tally->digest += digest;
	return {ns / 1e9, switches};
}

OnCpu::OnCpu(unsigned index) : before_(sizeof(cpu_set_t))
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof(cpu_set_t),
		reinterpret_cast<cpu_set_t *>(before_.data()));
	CPU_ZERO(&one);
	CPU_SET(size_t(usable_cpu(index % usable_cpus())), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

OnCpu::~OnCpu()
{
	sched_setaffinity(0, sizeof(cpu_set_t),
		reinterpret_cast<cpu_set_t *>(before_.data()));
}
