/* SPDX-License-Identifier: BSD-3-Clause */
/* --cache and --direct: the use of the page cache. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "convert/convert.h"

/* The page cache is faster for less data, whose writeback is short. */
#define DIRECT_LEAST ((off_t)64 << 20)

/* Places of a source at which the page cache is checked. */
#define SAMPLES 16

/* Most bytes that the source can have in the page cache. */
static uint64_t
cached_bytes(const char *source)
{
	struct stat st;

	/* "-" is stdin, even if a file has that name. */
	if (strcmp(source, "-") == 0 || stat(source, &st) < 0)
		return 0;
	if (S_ISBLK(st.st_mode))
		return UINT64_MAX / 2;
	return (uint64_t)st.st_blocks * 512;
}

/*
 * Returns whether fewer than a quarter of several places of the file are in the
 * page cache. RWF_NOWAIT reads one byte at each place without waiting for the
 * disk. But the kernel begins to read the place, and a page that arrives before
 * the call returns counts as present.
 */
static bool
is_cold(int fd, off_t size)
{
	int absent = 0, present = 0;

	for (int i = 0; i < SAMPLES; i++) {
		char byte;
		struct iovec iov = {&byte, 1};
		/* not the first bytes, which every program that checks a header
		 * reads */
		off_t place = size / SAMPLES * i + size / SAMPLES / 2;
		off_t data = lseek(fd, place, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			continue; /* a hole up to the end */
		/* A block device has no holes. */
		if (data < 0)
			data = place;
		if (preadv2(fd, &iov, 1, data, RWF_NOWAIT) < 0) {
			if (errno != EAGAIN)
				return false;
			absent++;
		} else if (++present == SAMPLES / 4) {
			return false;
		}
	}
	return absent > 3 * present;
}

/*
 * With O_DIRECT, the copy of a cold source takes about a third of the CPU time,
 * and less time (docs/design/image.md). A codec keeps the CPUs busy, so that
 * readahead is better with compression.
 */
static bool
direct_is_better(const struct job *job)
{
	const char *path = job->cli->operands[0];
	struct stat st;

	if (job->create.compress || job_packs(job) || strcmp(path, "-") == 0 ||
		stat(path, &st) < 0)
		return false;
	bool device = S_ISBLK(st.st_mode);
	if (!device && (!S_ISREG(st.st_mode) ||
			       (off_t)st.st_blocks * 512 < DIRECT_LEAST))
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	off_t size = device ? lseek(fd, 0, SEEK_END) : st.st_size;
	bool cold = size >= DIRECT_LEAST && is_cold(fd, size);
	close(fd);
	return cold;
}

/*
 * Set *drop by --cache. The default for a source that, with its destination,
 * has `sides` times its size in the page cache depends on the memory.
 */
static int
parse_mode(const struct cli *cli, int source, unsigned sides, bool *drop)
{
	const char *text = cli->option[OPTION_CACHE];

	if (!text || strcmp(text, "auto") == 0) {
		uint64_t memory = memory_available("");
		*drop = memory && sides * cached_bytes(cli->operands[source]) >
					  memory / 2;
	} else if (strcmp(text, "drop") == 0) {
		*drop = true;
	} else if (strcmp(text, "keep") == 0) {
		*drop = false;
	} else {
		return cli_usage(
			cli, "--cache: '%s' is not keep, drop or auto", text);
	}
	return 0;
}

int
cli_cache(const struct cli *cli, int operand, struct image_open *how)
{
	/* After -T, which cli_open() has parsed. */
	if (cli->option[OPTION_DIRECT])
		how->direct = true;
	return parse_mode(cli, operand, 1, &how->drop_cache);
}

int
cache_parse(struct job *job)
{
	const char *text = job->cli->option[OPTION_CACHE];
	bool direct = job->cli->option[OPTION_DIRECT];
	bool drop = false;

	int rc = parse_mode(job->cli, 0, 2, &drop);
	if (rc != 0)
		return rc;
	if (!text || strcmp(text, "auto") == 0)
		direct = direct || direct_is_better(job);
	job->open.direct = job->write.direct = direct;
	if (!job->cli->option[OPTION_DIRECT]) {
		rc = cli_cache_mode(
			job->cli, OPTION_SOURCE_CACHE, &job->open.direct);
		if (rc == 0)
			rc = cli_cache_mode(job->cli, OPTION_TARGET_CACHE,
				&job->write.direct);
		if (rc != 0)
			return rc;
	}
	job->open.drop_cache = job->write.drop_cache = drop;
	return 0;
}
