/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template of the fixed-width vector variants. The file that includes it first
 * defines:
 *
 *   KEEP_FN, STREAM_FN, PROTECT_FN, CLEAR_FN, CLEAR_STREAM_FN, FENCE_FN
 *                         the names of the functions, in full, so that git grep
 *                         finds the file that makes them
 *   VARIANT               suffix of all other names here: hone.c has every
 *                         variant
 *   TARGET                attribute for every function, or nothing
 *   VEC                   vector type of VEC_BYTES bytes (16 or 32)
 *   LOAD(p), STORE(p, v)  at any address
 *   ZERO                  a vector of zeros
 *   STREAM_LINE(d, s)     copy 64 bytes with non-temporal stores; d is aligned
 *   ZERO_LINE(d)          clear 64 bytes with non-temporal stores; d is aligned
 *   PREFETCH(p, into_l2)  for a streamed copy; into_l2 is a constant
 *   FENCE()               order the non-temporal stores
 *   SHORT_MAX             optional: longest copy of SHORT, else VEC_BYTES
 *   SHORT(d, s, n)        copy 0 to SHORT_MAX bytes
 *   SHORT_CLEAR(d, n)     clear 0 to SHORT_MAX bytes
 *
 * Kept copies by size: SHORT; two, four or eight vectors, half of them from the
 * start and half up to the end; then a loop of four vectors, and four that end
 * with the copy. The loop is aligned to cache lines of the destination, because
 * a store that crosses a line costs more than a load that does. The last four
 * make up to three unneeded stores, but avoid a loop over the rest, which would
 * be mispredicted.
 */
/*
 * Where the branch for a size begins in the middle of a cache line, a copy
 * takes a cycle more (docs/design/copy.md). Only GCC has the option.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("align-jumps=64")
#endif
#ifndef SHORT_MAX
#define SHORT_MAX VEC_BYTES
#endif
#define copy_group HONE_JOIN(copy_group_, VARIANT)
#define copy_ends HONE_JOIN(copy_ends_, VARIANT)
#define copy_two_groups HONE_JOIN(copy_two_groups_, VARIANT)
#define copy_line HONE_JOIN(copy_line_, VARIANT)
#define copy_long HONE_JOIN(copy_long_, VARIANT)
#define keep_long HONE_JOIN(keep_long_, VARIANT)
#define stream HONE_JOIN(stream_, VARIANT)
#define clear_group HONE_JOIN(clear_group_, VARIANT)

#define GROUP (4 * VEC_BYTES)
#define LINE ((size_t)64)
/* Fewer taken jumps for shorter copies: one costs a tenth of a short copy. */
#define LIKELY(x) __builtin_expect(x, 1)
/* Bytes of one iteration of the streaming loop: see STREAM_AHEAD. */
#define STREAM_TURN (4 * LINE)
/*
 * Distance of the prefetch from the loads: one page. On Zen 4, 1 KiB to one
 * page make no difference, and other distances gain less. On Emerald Rapids the
 * prefetch into L2 gains up to one page, and no more beyond (bench/copy,
 * prefetch-1M). Which of the two is faster is the trait stream_l2.
 */
#define STREAM_AHEAD ((size_t)4096)

TARGET static inline void
copy_group(unsigned char *d, const unsigned char *s)
{
	VEC a = LOAD(s), b = LOAD(s + VEC_BYTES);
	VEC c = LOAD(s + 2 * VEC_BYTES), e = LOAD(s + 3 * VEC_BYTES);

	STORE(d, a);
	STORE(d + VEC_BYTES, b);
	STORE(d + 2 * VEC_BYTES, c);
	STORE(d + 3 * VEC_BYTES, e);
}

/* n is from VEC_BYTES + 1 to GROUP. */
TARGET static inline void
copy_ends(unsigned char *d, const unsigned char *s, size_t n)
{
	VEC a = LOAD(s), b, c, e = LOAD(s + n - VEC_BYTES);

	if (n > 2 * VEC_BYTES) {
		b = LOAD(s + VEC_BYTES);
		c = LOAD(s + n - 2 * VEC_BYTES);
		STORE(d + VEC_BYTES, b);
		STORE(d + n - 2 * VEC_BYTES, c);
	}
	STORE(d, a);
	STORE(d + n - VEC_BYTES, e);
}

#if VEC_BYTES == 32
/* n is from GROUP + 1 to 2 * GROUP. */
TARGET static inline void
copy_two_groups(unsigned char *d, const unsigned char *s, size_t n)
{
	unsigned char *y = d + n - GROUP;
	const unsigned char *z = s + n - GROUP;
	VEC a = LOAD(s), b = LOAD(s + VEC_BYTES);
	VEC c = LOAD(s + 2 * VEC_BYTES), e = LOAD(s + 3 * VEC_BYTES);
	VEC f = LOAD(z), g = LOAD(z + VEC_BYTES);
	VEC h = LOAD(z + 2 * VEC_BYTES), i = LOAD(z + 3 * VEC_BYTES);

	STORE(d, a);
	STORE(d + VEC_BYTES, b);
	STORE(d + 2 * VEC_BYTES, c);
	STORE(d + 3 * VEC_BYTES, e);
	STORE(y, f);
	STORE(y + VEC_BYTES, g);
	STORE(y + 2 * VEC_BYTES, h);
	STORE(y + 3 * VEC_BYTES, i);
}
#endif

TARGET static inline void
copy_line(unsigned char *d, const unsigned char *s)
{
	for (size_t i = 0; i < LINE; i += VEC_BYTES)
		STORE(d + i, LOAD(s + i));
}

/*
 * n is more than GROUP. The end is loaded before the loop. After the loop, the
 * load would wait for the stores of the loop if source and destination have the
 * same offset in a page (448 bytes on Zen 4: 4.6 ns instead of 8.3 ns).
 */
TARGET static inline void
copy_long(unsigned char *d, const unsigned char *s, size_t n)
{
	const unsigned char *z = s + n - GROUP;
	unsigned char *y = d + n - GROUP;
	VEC a = LOAD(z), b = LOAD(z + VEC_BYTES);
	VEC c = LOAD(z + 2 * VEC_BYTES), e = LOAD(z + 3 * VEC_BYTES);
	size_t at = -(uintptr_t)d % LINE;

	if (at > 0)
		copy_line(d, s);
	for (; n - at > GROUP; at += GROUP)
		copy_group(d + at, s + at);
	if (within_page(y, GROUP)) {
		STORE(y, a);
		STORE(y + VEC_BYTES, b);
		STORE(y + 2 * VEC_BYTES, c);
		STORE(y + 3 * VEC_BYTES, e);
		return;
	}
	for (; n - at > SHORT_MAX; at += VEC_BYTES)
		STORE(d + at, LOAD(s + at));
	SHORT(d + at, s + at, n - at);
}

/*
 * Not inline: in the caller, the compiler puts each step of a long copy behind
 * a taken jump. On Zen 5 513 bytes then take 4.0 ns and not 3.5.
 */
TARGET static __attribute__((noinline, aligned(64))) void
keep_long(unsigned char *d, const unsigned char *s, size_t n)
{
	if (hone_copy_is_of_libc(n))
		memcpy(d, s, n);
	else
		copy_long(d, s, n);
}

TARGET __attribute__((aligned(64))) void
KEEP_FN(void *dst, const void *src, size_t n)
{
	if (LIKELY(n <= SHORT_MAX)) {
		SHORT(dst, src, n);
		return;
	}
	if (LIKELY(n <= GROUP)) {
		copy_ends(dst, src, n);
		return;
	}
#if VEC_BYTES == 32
	if (n <= 2 * GROUP) {
		copy_two_groups(dst, src, n);
		return;
	}
#endif
	keep_long(dst, src, n);
}

/* into_l2 is a constant. */
TARGET static inline __attribute__((always_inline)) void
stream(unsigned char *d, const unsigned char *s, size_t n, bool into_l2)
{
	size_t at = -(uintptr_t)d % LINE;

	if (n < 2 * LINE) {
		KEEP_FN(d, s, n);
		return;
	}
	KEEP_FN(d, s, at);
	for (; n - at >= STREAM_AHEAD + STREAM_TURN; at += STREAM_TURN) {
		for (size_t i = at; i < at + STREAM_TURN; i += LINE) {
			PREFETCH(s + i + STREAM_AHEAD, into_l2);
			STREAM_LINE(d + i, s + i);
		}
	}
	for (; n - at >= LINE; at += LINE)
		STREAM_LINE(d + at, s + at);
	KEEP_FN(d + at, s + at, n - at);
}

TARGET void
STREAM_FN(void *dst, const void *src, size_t n)
{
	if (hone_copy_fetches_into_l2())
		stream(dst, src, n, true);
	else
		stream(dst, src, n, false);
}

TARGET void
PROTECT_FN(void *dst, const void *src, size_t n)
{
	stream(dst, src, n, false);
}

TARGET static inline void
clear_group(unsigned char *d)
{
	STORE(d, ZERO);
	STORE(d + VEC_BYTES, ZERO);
	STORE(d + 2 * VEC_BYTES, ZERO);
	STORE(d + 3 * VEC_BYTES, ZERO);
}

TARGET void
CLEAR_FN(void *dst, size_t n)
{
	unsigned char *d = dst;

	if (n <= SHORT_MAX) {
		SHORT_CLEAR(d, n);
		return;
	}
	if (n <= GROUP) {
		STORE(d, ZERO);
		STORE(d + n - VEC_BYTES, ZERO);
		if (n > 2 * VEC_BYTES) {
			STORE(d + VEC_BYTES, ZERO);
			STORE(d + n - 2 * VEC_BYTES, ZERO);
		}
		return;
	}
	clear_group(d);
	for (size_t at = GROUP - (uintptr_t)d % VEC_BYTES; n - at > GROUP;
		at += GROUP)
		clear_group(d + at);
	clear_group(d + n - GROUP);
}

TARGET void
CLEAR_STREAM_FN(void *dst, size_t n)
{
	unsigned char *d = dst;
	size_t at = -(uintptr_t)d % LINE;

	if (n < 2 * LINE) {
		CLEAR_FN(d, n);
		return;
	}
	CLEAR_FN(d, at);
	for (; n - at >= LINE; at += LINE)
		ZERO_LINE(d + at);
	CLEAR_FN(d + at, n - at);
}

void
FENCE_FN(void)
{
	FENCE();
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
