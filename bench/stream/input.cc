// SPDX-License-Identifier: BSD-3-Clause
//
// The files are text, in lines of random length: 0.5 to 1.5 times the length of
// the case. They are below TMPDIR or /tmp, and removed at exit.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>
#include "stream_bench.h"
#include "support.h"

namespace
{

// A digest is of the last 16 MiB at most. Larger files repeat their content.
const size_t digested = size_t(16) << 20;

class Folder
{
	std::string path_;

      public:
	Folder()
	{
		const char *below = std::getenv("TMPDIR");

		path_ = std::string(below ? below : "/tmp") +
			"/hone-stream-XXXXXX";
		if (!mkdtemp(&path_[0]))
			give_up(path_, errno);
	}
	~Folder()
	{
		rmdir(path_.c_str());
	}
	Folder(const Folder &) = delete;
	Folder &operator=(const Folder &) = delete;
	std::string
	name(const std::string &file) const
	{
		return path_ + "/" + file;
	}
};

void
write_file(const std::string &path, const std::string &content, size_t size)
{
	int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);

	for (size_t done = 0; fd >= 0 && done < size;) {
		size_t n = std::min(size - done, content.size());

		if (write(fd, content.data(), n) != ssize_t(n))
			break;
		done += n;
	}
	if (fd < 0 || close(fd))
		give_up(path, errno);
}

std::string
text(size_t size, size_t line)
{
	std::string made;
	Random random;

	made.reserve(size + 2 * line);
	while (made.size() < size) {
		size_t n = line / 2 + random.below(line + 1);

		for (; n > 1; n--)
			made += char('a' + made.size() * 7 % 26);
		made += '\n';
	}
	made.resize(size);
	return made;
}

struct Made {
	std::string of; // the case
	std::string content;
	Input input;
	Folder folder;

	void
	clear()
	{
		for (const std::string &name : input.names)
			unlink(name.c_str());
		unlink(input.list.c_str());
		unlink(input.socket.c_str());
		input = Input();
	}
	~Made()
	{
		clear();
	}
};

Made &
made()
{
	static Made only;

	return only;
}

void
make_files(const Case &c, Made *m)
{
	std::string list;

	for (size_t i = 0; i < c.files; i++) {
		m->input.names.push_back(
			m->folder.name(c.name + "-" + std::to_string(i)));
		write_file(m->input.names.back(), m->content, c.size);
		list += m->input.names.back() + "\n";
	}
	for (const std::string &name : m->input.names)
		m->input.paths.push_back(name.c_str());
	write_file(m->input.list, list, list.size());
	// Dirty pages would disturb the timing.
	int fd = open(m->input.list.c_str(), O_RDONLY);
	if (fd < 0 || syncfs(fd) || close(fd))
		give_up(m->input.list, errno);
}

// glibc raises these thresholds when a program frees large memory. Fixed values
// make the figures independent of earlier cases.
void
set_malloc(bool fresh)
{
	mallopt(M_MMAP_THRESHOLD, (fresh ? 128 : 32 * 1024) * 1024);
	mallopt(M_TRIM_THRESHOLD, (fresh ? 128 : 64 * 1024) * 1024);
}

uint32_t
crc32(const unsigned char *p, size_t n)
{
	static uint32_t table[256];
	uint32_t crc = ~uint32_t(0);

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t row = i;

			for (int bit = 0; bit < 8; bit++)
				row = row >> 1 ^ (row & 1 ? 0xedb88320 : 0);
			table[i] = row;
		}
	for (; n > 0; n--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 255];
	return ~crc;
}

} // namespace

void
Tally::add_digest(const void *data, size_t n)
{
	const unsigned char *p = static_cast<const unsigned char *>(data);

	if (n > digested) {
		p += n - digested;
		n = digested;
	}
	digest += crc32(p, n);
}

void
give_up(const std::string &what, int error)
{
	std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(error));
	std::exit(1);
}

const Input &
prepare(const Case &c)
{
	Made &m = made();

	set_malloc(c.fresh);
	if (m.of == c.name)
		return m.input;
	m.clear();
	m.of = c.name;
	m.content = text(std::min(c.size, digested), c.piece);
	m.input.list = m.folder.name(c.name);
	if (c.files > 0) {
		make_files(c, &m);
		return m.input;
	}
	write_file(m.input.list, m.content, c.size);
	m.input.buffer.assign(m.content.begin(), m.content.end());
	if (c.kind == Kind::ping) {
		m.input.socket = m.input.list + ".echo";
		start_echo(m.input.socket, c.size);
	}
	return m.input;
}

Tally
expected(const Case &c)
{
	const std::string &content = made().content;
	Tally tally = {true, 0, 0};

	if (c.kind == Kind::lines || c.kind == Kind::pieces) {
		for (size_t at = 0, to; at < content.size(); at = to) {
			to = c.kind == Kind::pieces
				     ? at + c.piece
				     : content.find('\n', at) + 1;
			if (to > content.size() || to == 0)
				to = content.size();
			tally.see(&content[at], to - at);
		}
		return tally;
	}
	for (size_t i = 0; i < std::max<size_t>(c.files, 1); i++)
		tally.see(content.data(), content.size());
	tally.bytes = std::max<size_t>(c.files, 1) * c.size;
	return tally;
}
