// SPDX-License-Identifier: BSD-3-Clause
//
// Reads an open file in pieces and in lines. A turn seeks to the start and
// reads the whole file.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <hone/stream.h>
#include "rivals.h"
#include "stream_bench.h"

namespace
{

struct Free {
	void
	operator()(void *p) const
	{
		std::free(p);
	}
};

// Each turn allocates its buffer, as languages with strings do.
std::unique_ptr<char, Free>
allocate(size_t n)
{
	void *p = std::malloc(n);

	if (!p)
		give_up("malloc", ENOMEM);
	return std::unique_ptr<char, Free>(static_cast<char *>(p));
}

class Descriptor
{
      public:
	int fd;
	explicit Descriptor(const char *path) : fd(open(path, O_RDONLY))
	{
		if (fd < 0)
			give_up(path, errno);
	}
	~Descriptor()
	{
		close(fd);
	}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
};

struct CloseStream {
	void
	operator()(struct hone_stream *s) const
	{
		hone_stream_close(s);
	}
};
using Stream = std::unique_ptr<struct hone_stream, CloseStream>;

Stream
open_stream(int fd, unsigned flags)
{
	struct hone_stream_attr attr;
	struct hone_stream *s;

	hone_stream_attr_init(&attr);
	attr.flags = flags;
	int error = hone_stream_open_fd(&s, fd, &attr);
	if (error)
		give_up("hone_stream_open_fd", -error);
	return Stream(s);
}

using File = std::unique_ptr<FILE, int (*)(FILE *)>;

File
open_file(const char *path)
{
	File f(std::fopen(path, "rb"), std::fclose);

	if (!f)
		give_up(path, errno);
	return f;
}

// A turn of pieces, by any reader: read(buf, n).
template <typename Read>
void
pieces(const Case &c, Tally *tally, Read read)
{
	auto buffer = allocate(c.piece);

	for (size_t left = c.size; left >= c.piece; left -= c.piece) {
		if (read(buffer.get(), c.piece) != ptrdiff_t(c.piece))
			give_up("a short read", EIO);
		tally->see(buffer.get(), c.piece);
	}
}

Work
hone_pieces(unsigned flags)
{
	return [=](const Case &c, const Input &in, uint64_t turns,
		       Tally *tally) {
		Descriptor file(in.paths[0]);
		Stream s = open_stream(file.fd, flags);

		for (; turns > 0; turns--) {
			hone_stream_seek(s.get(), 0, SEEK_SET);
			pieces(c, tally, [&](char *p, size_t n) {
				return hone_stream_read(s.get(), p, n);
			});
		}
	};
}

template <size_t read(void *, size_t, size_t, FILE *)>
void
stdio_pieces(const Case &c, const Input &in, uint64_t turns, Tally *tally)
{
	File f = open_file(in.paths[0]);

	for (; turns > 0; turns--) {
		std::rewind(f.get());
		pieces(c, tally, [&](char *p, size_t n) {
			return ptrdiff_t(read(p, 1, n, f.get()));
		});
	}
}

void
bare_pieces(const Case &c, const Input &in, uint64_t turns, Tally *tally)
{
	Descriptor file(in.paths[0]);

	for (; turns > 0; turns--) {
		lseek(file.fd, 0, SEEK_SET);
		pieces(c, tally, [&](char *p, size_t n) {
			return ptrdiff_t(read(file.fd, p, n));
		});
	}
}

void
hone_lines(const Case &, const Input &in, uint64_t turns, Tally *tally)
{
	Descriptor file(in.paths[0]);
	Stream s = open_stream(file.fd, 0);
	const char *line;
	ptrdiff_t n;

	for (; turns > 0; turns--) {
		hone_stream_seek(s.get(), 0, SEEK_SET);
		while ((n = hone_stream_read_line(
				s.get(), &line, '\n', SIZE_MAX)) > 0)
			tally->see(line, size_t(n));
		if (n < 0)
			give_up("hone_stream_read_line", int(-n));
	}
}

void
getline_lines(const Case &, const Input &in, uint64_t turns, Tally *tally)
{
	File f = open_file(in.paths[0]);
	char *line = nullptr;
	size_t room = 0;
	ssize_t n;

	for (; turns > 0; turns--) {
		std::rewind(f.get());
		while ((n = getline(&line, &room, f.get())) > 0)
			tally->see(line, size_t(n));
	}
	std::free(line);
}

// fgets() does not return the length, so strlen() finds it again.
void
fgets_lines(const Case &, const Input &in, uint64_t turns, Tally *tally)
{
	File f = open_file(in.paths[0]);
	char line[2048];

	for (; turns > 0; turns--) {
		std::rewind(f.get());
		while (std::fgets(line, sizeof(line), f.get()))
			tally->see(line, std::strlen(line));
	}
}

void
mmap_lines(const Case &, const Input &in, uint64_t turns, Tally *tally)
{
	for (; turns > 0; turns--) {
		void *data;
		size_t n;

		if (stream_mmap(in.paths[0], &data, &n))
			give_up(in.paths[0], errno);
		const char *p = static_cast<char *>(data), *end = p + n;

		while (p < end) {
			const void *found =
				std::memchr(p, '\n', size_t(end - p));
			const char *next =
				found ? static_cast<const char *>(found) + 1
				      : end;

			tally->see(p, size_t(next - p));
			p = next;
		}
		munmap(data, n);
	}
}

} // namespace

std::vector<Subject>
pieces_subjects(const Case &c)
{
	std::vector<Subject> list = {{"hone", hone_pieces(0)},
		{"hone-exact", hone_pieces(HONE_STREAM_EXACT)},
		{"stdio", stdio_pieces<std::fread>}};

	if (c.piece < 4096)
		list.push_back(
			{"stdio-unlocked", stdio_pieces<fread_unlocked>});
	else
		list.push_back({"bare", bare_pieces});
	return list;
}

std::vector<Subject>
lines_subjects(const Case &)
{
	return {{"hone", hone_lines}, {"getline", getline_lines},
		{"fgets", fgets_lines}, {"mmap-memchr", mmap_lines}};
}
