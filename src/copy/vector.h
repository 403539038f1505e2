/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template of the fixed-width vector variants. The file that includes it
 * first defines:
 *
 *   NAME                  the variant's name, as in variants.def
 *   TARGET                attribute for every function, or nothing
 *   VEC                   vector type of VEC_BYTES bytes (16, 32 or 64)
 *   LOAD(p), STORE(p, v)  at any address
 *   ZERO                  a vector of zeros
 *   STREAM_LINE(d, s)     copy 64 bytes with non-temporal stores; d is aligned
 *   ZERO_LINE(d)          clear 64 bytes with non-temporal stores; d is aligned
 *   PREFETCH(p, protect)  for a streamed copy; protect is a constant
 *   FENCE()               order the non-temporal stores
 *   SHORT(d, s, n)        copy 0 to VEC_BYTES bytes
 *   COPY_TAIL(d, s, n)    copy 1 to VEC_BYTES bytes; d is aligned and the
 *                         VEC_BYTES before it have been copied
 *   SHORT_CLEAR(d, n)     clear 0 to VEC_BYTES bytes
 *
 * Kept copies by size: SHORT; two or four vectors, half of them from the start
 * and half up to the end; then a loop that is aligned to the destination, since
 * a store that crosses a line costs more than a load that does: over one
 * vector at first, which mispredicts once, from LOOP_MIN on over four.
 */
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define FN(stem) JOIN(stem, NAME)

#define GROUP (4 * VEC_BYTES)
#define LOOP_MIN (16 * VEC_BYTES)
#define LINE ((size_t)64)
/* Lines that one turn of the streaming loop copies: see STREAM_AHEAD. */
#define STREAM_TURN (4 * LINE)
/*
 * How far ahead of the loads the source is prefetched: one page. Nearer comes
 * too late for a cold source, farther gains nothing (bench/copy_bench,
 * prefetch-distance).
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

TARGET void
FN(hone_copy_keep_)(void *dst, const void *src, size_t n)
{
	unsigned char *d = dst;
	const unsigned char *s = src;
	size_t at = VEC_BYTES - (uintptr_t)d % VEC_BYTES;

	if (n <= VEC_BYTES) {
		SHORT(d, s, n);
		return;
	}
	if (n <= GROUP) {
		copy_ends(d, s, n);
		return;
	}
	STORE(d, LOAD(s));
	if (n > LOOP_MIN)
		for (; n - at > GROUP; at += GROUP)
			copy_group(d + at, s + at);
	for (; n - at > VEC_BYTES; at += VEC_BYTES)
		STORE(d + at, LOAD(s + at));
	COPY_TAIL(d + at, s + at, n - at);
}

/* protect is a constant. */
TARGET static inline __attribute__((always_inline)) void
stream(unsigned char *d, const unsigned char *s, size_t n, bool protect)
{
	size_t at = -(uintptr_t)d % LINE;

	if (n < 2 * LINE)
		at = n;
	FN(hone_copy_keep_)(d, s, at);
	for (; n - at >= STREAM_AHEAD + STREAM_TURN; at += STREAM_TURN) {
		for (size_t i = at; i < at + STREAM_TURN; i += LINE) {
			PREFETCH(s + i + STREAM_AHEAD, protect);
			STREAM_LINE(d + i, s + i);
		}
	}
	for (; n - at >= LINE; at += LINE)
		STREAM_LINE(d + at, s + at);
	FN(hone_copy_keep_)(d + at, s + at, n - at);
}

TARGET void
FN(hone_copy_stream_)(void *dst, const void *src, size_t n)
{
	stream(dst, src, n, false);
}

TARGET void
FN(hone_copy_protect_)(void *dst, const void *src, size_t n)
{
	stream(dst, src, n, true);
}

TARGET void
FN(hone_copy_clear_)(void *dst, size_t n)
{
	unsigned char *d = dst;
	size_t at = VEC_BYTES - (uintptr_t)d % VEC_BYTES;

	if (n <= VEC_BYTES) {
		SHORT_CLEAR(d, n);
		return;
	}
	STORE(d, ZERO);
	for (; n - at > VEC_BYTES; at += VEC_BYTES)
		STORE(d + at, ZERO);
	STORE(d + n - VEC_BYTES, ZERO);
}

TARGET void
FN(hone_copy_clear_stream_)(void *dst, size_t n)
{
	unsigned char *d = dst;
	size_t at = -(uintptr_t)d % LINE;

	if (n < 2 * LINE) {
		FN(hone_copy_clear_)(d, n);
		return;
	}
	FN(hone_copy_clear_)(d, at);
	for (; n - at >= LINE; at += LINE)
		ZERO_LINE(d + at);
	FN(hone_copy_clear_)(d + at, n - at);
}

void
FN(hone_copy_fence_)(void)
{
	FENCE();
}

#undef NAME
#undef TARGET
#undef VEC
#undef VEC_BYTES
#undef LOAD
#undef STORE
#undef ZERO
#undef STREAM_LINE
#undef ZERO_LINE
#undef PREFETCH
#undef FENCE
#undef SHORT
#undef COPY_TAIL
#undef SHORT_CLEAR
