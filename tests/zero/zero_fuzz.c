/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every variant against the generic one. The first bytes of the input choose
 * the alignment and which end of the buffer lies at an unreadable page. The
 * rest is the content, mostly zeros, because the answers differ there.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <hone/cpu.h>
#include <hone/zero.h>
#include "zero.h"

#define HEADER 4
#define AREA ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* AREA readable bytes between two pages that are not. */
static unsigned char *
area(void)
{
	static unsigned char *start;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!start) {
		unsigned char *map = mmap(NULL, AREA + 2 * page, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (map == MAP_FAILED ||
			mprotect(map + page, AREA, PROT_READ | PROT_WRITE) != 0)
			abort();
		start = map + page;
	}
	return start;
}

/*
 * Runs of zeros, so that short inputs give long runs: a byte below 128 stands
 * for itself, any other byte for a run of zeros of that length.
 */
static size_t
expand(const uint8_t *data, size_t size, unsigned char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < size && n < room; i++) {
		size_t zeros = data[i] < 128 ? 0 : (data[i] - 127u) * 16u;

		if (zeros == 0) {
			out[n++] = data[i];
			continue;
		}
		if (zeros > room - n)
			zeros = room - n;
		memset(out + n, 0, zeros);
		n += zeros;
	}
	return n;
}

static void
check(bool good)
{
	if (!good)
		abort();
}

static void
check_public(const unsigned char *buf, size_t len, size_t first, size_t last)
{
	check(hone_buffer_is_zero(buf, len) == (first == len));
	check(hone_buffer_is_zero_long(buf, len) == (first == len));
	check(hone_find_nonzero(buf, len) == first);
	check(hone_rfind_nonzero(buf, len) == last);
}

/* The walk covers the buffer, alternates, and reports the right kind. */
static void
check_walk(const unsigned char *buf, size_t len, size_t block)
{
	struct hone_zero_walk walk;
	struct hone_zero_extent e, before = {0, 0, false};

	hone_zero_walk_init(&walk, buf, len, block);
	while (hone_zero_walk_next(&walk, &e)) {
		size_t nonzero =
			hone_zero_find_generic(buf + e.offset, e.length);

		check(e.offset == before.offset + before.length);
		check(e.length > 0 && e.length <= len - e.offset);
		check(before.length == 0 || e.zero != before.zero);
		check(e.zero == (nonzero == e.length));
		check(e.zero || nonzero < block);
		before = e;
	}
	check(before.offset + before.length == len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char content[AREA];
	unsigned char *buf = area();
	size_t shift, block, len, first, last;

	if (size < HEADER)
		return 0;
	shift = data[0] % 64;
	block = 1 + (size_t)data[2] * (data[3] + 1u);
	len = expand(data + HEADER, size - HEADER, content, AREA - shift);
	/* An odd length: the end lies at the fence with any alignment. */
	buf += data[1] % 2 ? AREA - len : shift;
	memset(area(), 0xff, AREA);
	memcpy(buf, content, len);

	first = hone_zero_find_generic(buf, len);
	last = hone_zero_rfind_generic(buf, len);
	for (size_t i = 0; i < hone_zero_n_variants; i++) {
		const struct hone_zero_variant *v = &hone_zero_variants[i];

		hone_cpu_limit(HONE_CPU_ALL);
		if (!hone_cpu_has(v->row.needs))
			continue;
		check(v->is_zero(buf, len) == (first == len));
		check(v->find(buf, len) == first);
		check(v->rfind(buf, len) == last);
		hone_cpu_limit(v->row.needs);
		check_public(buf, len, first, last);
		check_walk(buf, len, block);
	}
	return 0;
}
