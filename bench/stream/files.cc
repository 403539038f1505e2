// SPDX-License-Identifier: BSD-3-Clause
//
// Whole files, one by one and many together. Each subject opens, allocates,
// reads, closes and frees.
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <sys/mman.h>
#include <hone/stream.h>
#include "rivals.h"
#include "stream_bench.h"
#include "workers.h"

namespace
{

void
give_to_free(void *data, size_t)
{
	std::free(data);
}

void
give_to_munmap(void *data, size_t n)
{
	munmap(data, n);
}

template <int read(const char *, void **, size_t *),
	void give_back(void *, size_t) = give_to_free>
void
one_by_one(const Case &, const Input &in, uint64_t turns, Tally *tally)
{
	for (; turns > 0; turns--)
		for (const char *path : in.paths) {
			void *data;
			size_t n;

			if (read(path, &data, &n))
				give_up(path, errno);
			tally->see(data, n);
			give_back(data, n);
		}
}

Work
hone_with(unsigned flags)
{
	return [=](const Case &, const Input &in, uint64_t turns,
		       Tally *tally) {
		struct hone_read_attr attr;
		struct hone_file_data file;

		hone_read_attr_init(&attr);
		attr.flags = flags;
		for (; turns > 0; turns--)
			for (const char *path : in.paths) {
				int error = hone_read_file(&file, path, &attr);

				if (error)
					give_up(path, -error);
				tally->see(file.data, file.size);
				std::free(file.data);
			}
	};
}

int
take(size_t, int error, struct hone_file_data *file, void *tally)
{
	if (error)
		return error;
	static_cast<Tally *>(tally)->see(file->data, file->size);
	std::free(file->data);
	return 0;
}

Work
batch(unsigned flags, unsigned threads, unsigned depth)
{
	return [=](const Case &, const Input &in, uint64_t turns,
		       Tally *tally) {
		struct hone_batch_attr attr;

		hone_batch_attr_init(&attr);
		attr.flags = flags;
		attr.threads = threads;
		if (depth > 0)
			attr.depth = depth;
		for (; turns > 0; turns--) {
			int error = hone_read_files(in.paths.data(),
				in.paths.size(), nullptr, take, tally, &attr);
			if (error)
				give_up("hone_read_files", -error);
		}
	};
}

// The bare calls by two threads, each with one half of the files. A lock passes
// on one result at a time, as hone_read_files() does.
void
bare_by_two(const Case &, const Input &in, uint64_t turns, Tally *tally)
{
	std::mutex lock;
	auto half = [&](size_t from, size_t to) {
		for (; from < to; from++) {
			void *data;
			size_t n;

			if (stream_bare(in.paths[from], &data, &n))
				give_up(in.paths[from], errno);
			std::lock_guard<std::mutex> locked(lock);
			tally->see(data, n);
			std::free(data);
		}
	};

	for (; turns > 0; turns--) {
		size_t n = in.paths.size();
		std::thread helper(half, 0, n / 2);

		half(n / 2, n);
		helper.join();
	}
}

#ifdef HAVE_URING
void
see(const void *data, size_t n, void *tally)
{
	static_cast<Tally *>(tally)->see(data, n);
}

template <int linked>
void
uring_ceiling(const Case &, const Input &in, uint64_t turns, Tally *tally)
{
	for (; turns > 0; turns--)
		if (stream_uring_ceiling(in.paths.data(), in.paths.size(),
			    linked, see, tally))
			give_up("io_uring", EIO);
}
#endif

int
refuse(size_t, int, struct hone_file_data *file, void *)
{
	std::free(file->data);
	return 0;
}

bool
has_uring()
{
	struct hone_batch_attr attr;
	const char *nothing = "";

	hone_batch_attr_init(&attr);
	attr.flags = HONE_BATCH_URING;
	return hone_read_files(&nothing, 1, nullptr, refuse, nullptr, &attr) ==
	       0;
}

} // namespace

std::vector<Subject>
whole_subjects(const Case &c)
{
	std::vector<Subject> list = {{"hone", hone_with(0)},
		{"bare", one_by_one<stream_bare>},
		{"stdio", one_by_one<stream_stdio>},
		{"mmap", one_by_one<stream_mmap, give_to_munmap>}};

	// Only with fresh memory: the others would reuse the huge pages.
	if (c.fresh && c.size >= size_t(4) << 20)
		list.push_back({"hone-huge", hone_with(HONE_READ_HUGE_ADVISE)});
	if (c.files == 1)
		return list;
	list.push_back({"hone-batch", batch(0, 1, 0)});
	list.push_back({"hone-batch-plain", batch(HONE_BATCH_PLAIN, 1, 0)});
	if (has_uring()) {
		list.push_back({"hone-uring-8", batch(HONE_BATCH_URING, 1, 8)});
		list.push_back(
			{"hone-uring-128", batch(HONE_BATCH_URING, 1, 128)});
#ifdef HAVE_URING
		list.push_back({"uring-ceiling", uring_ceiling<0>});
		list.push_back({"uring-ceiling-linked", uring_ceiling<1>});
#endif
	}
	if (usable_cpus() < 2)
		return list;
	list.push_back({"bare-2t", bare_by_two});
	list.push_back({"hone-batch-2t", batch(0, 2, 0)});
	list.push_back({"hone-batch-plain-2t", batch(HONE_BATCH_PLAIN, 2, 0)});
	return list;
}
