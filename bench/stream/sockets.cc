// SPDX-License-Identifier: BSD-3-Clause
//
// A message over a Unix socket: it is ready before the read, or it comes back
// from an echo on another CPU.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <hone/stream.h>
#include "stream_bench.h"

namespace
{

struct sockaddr_un
address(const std::string &path)
{
	struct sockaddr_un to = {};

	to.sun_family = AF_UNIX;
	if (path.size() >= sizeof(to.sun_path))
		give_up(path, ENAMETOOLONG);
	std::memcpy(to.sun_path, path.c_str(), path.size());
	return to;
}

// Both ends of a connection, or one end if the echo has the other.
class Connection
{
	int ends_[2] = {-1, -1};

      public:
	Connection(const Case &c, const Input &in)
	{
		if (c.kind == Kind::ready) {
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends_))
				give_up("socketpair", errno);
			return;
		}
		struct sockaddr_un to = address(in.socket);

		ends_[0] = socket(AF_UNIX, SOCK_STREAM, 0);
		if (ends_[0] < 0 ||
			connect(ends_[0],
				reinterpret_cast<struct sockaddr *>(&to),
				sizeof(to)))
			give_up(in.socket, errno);
	}
	~Connection()
	{
		close(ends_[0]);
		if (ends_[1] >= 0)
			close(ends_[1]);
	}
	Connection(const Connection &) = delete;
	Connection &operator=(const Connection &) = delete;
	int
	reads() const
	{
		return ends_[0];
	}
	int
	writes() const
	{
		return ends_[1] >= 0 ? ends_[1] : ends_[0];
	}
};

void
send_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t put = send(fd, p, n, MSG_NOSIGNAL);

		if (put < 0)
			give_up("send", errno);
		p += put;
		n -= size_t(put);
	}
}

// Calls receive() until it has n bytes. Returns false if it fails before.
template <typename Receive>
bool
receive_all(char *p, size_t n, Receive receive)
{
	while (n > 0) {
		ptrdiff_t got = receive(p, n);

		if (got <= 0)
			return false;
		p += got;
		n -= size_t(got);
	}
	return true;
}

template <typename Receive>
void
exchange(const Connection &over, const Input &in, uint64_t turns, Tally *tally,
	Receive receive)
{
	std::vector<char> answer(in.buffer.size());

	for (; turns > 0; turns--) {
		send_all(over.writes(), in.buffer.data(), in.buffer.size());
		if (!receive_all(answer.data(), answer.size(), receive))
			give_up("the other end of a socket", EIO);
		tally->see(answer.data(), answer.size());
	}
}

int64_t
in_a_minute()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t(now.tv_sec) + 60) * 1000000000 + now.tv_nsec;
}

Work
hone_exchange(bool with_deadline)
{
	return [=](const Case &c, const Input &in, uint64_t turns,
		       Tally *tally) {
		Connection over(c, in);
		struct hone_stream *s;
		int error = hone_stream_open_fd(&s, over.reads(), nullptr);

		if (error)
			give_up("hone_stream_open_fd", -error);
		if (with_deadline)
			hone_stream_set_deadline(s, in_a_minute());
		exchange(over, in, turns, tally, [&](char *p, size_t n) {
			return hone_stream_read(s, p, n);
		});
		hone_stream_close(s);
	};
}

void
bare_exchange(const Case &c, const Input &in, uint64_t turns, Tally *tally)
{
	Connection over(c, in);

	exchange(over, in, turns, tally, [&](char *p, size_t n) {
		return ptrdiff_t(recv(over.reads(), p, n, 0));
	});
}

// A deadline by poll() before each recv().
void
poll_exchange(const Case &c, const Input &in, uint64_t turns, Tally *tally)
{
	Connection over(c, in);

	exchange(over, in, turns, tally, [&](char *p, size_t n) {
		struct pollfd poller = {over.reads(), POLLIN, 0};

		if (poll(&poller, 1, 60 * 1000) <= 0)
			return ptrdiff_t(-1);
		return ptrdiff_t(recv(over.reads(), p, n, 0));
	});
}

void
stdio_exchange(const Case &c, const Input &in, uint64_t turns, Tally *tally)
{
	Connection over(c, in);
	std::unique_ptr<FILE, int (*)(FILE *)> f(
		fdopen(dup(over.reads()), "rb"), std::fclose);

	if (!f)
		give_up("fdopen", errno);
	exchange(over, in, turns, tally, [&](char *p, size_t n) {
		return ptrdiff_t(std::fread(p, 1, n, f.get()));
	});
}

void
answer(int fd, size_t size)
{
	std::vector<char> message(size);

	while (receive_all(message.data(), size, [&](char *p, size_t n) {
		return ptrdiff_t(recv(fd, p, n, 0));
	}))
		send_all(fd, message.data(), size);
	close(fd);
}

} // namespace

void
start_echo(const std::string &path, size_t size)
{
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un at = address(path);

	if (listener < 0 ||
		bind(listener, reinterpret_cast<struct sockaddr *>(&at),
			sizeof(at)) ||
		listen(listener, 1))
		give_up(path, errno);
	std::thread([=] {
		OnCpu here(1);

		for (;;) {
			int fd = accept(listener, nullptr, nullptr);

			if (fd >= 0)
				answer(fd, size);
		}
	}).detach();
}

std::vector<Subject>
socket_subjects(const Case &)
{
	return {{"hone", hone_exchange(false)},
		{"hone-deadline", hone_exchange(true)}, {"bare", bare_exchange},
		{"poll-recv", poll_exchange}, {"stdio", stdio_exchange}};
}
