/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines, returned where they lie in the buffer.
 *
 * One search finds the ends of several lines and stores them; the inline path
 * takes one stored end after the other. With one search for each line, a search
 * could not begin before the last one had ended: 5 ns for 80 bytes, with any
 * instructions (docs/design/stream.md).
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "stream/stream.h"

/*
 * Finds a byte in a block of 64 bytes, one bit for each byte. The code uses
 * what every CPU of the family has and has no variants: AVX2 and AVX-512 do not
 * find a line of 80 bytes faster (docs/design/stream.md).
 */
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#include <arm_neon.h>
#endif

#define SCAN_BLOCK 64

#if defined(__SSE2__)

static inline __m128i
scan_16(const unsigned char *p, __m128i bytes)
{
	return _mm_cmpeq_epi8(
		_mm_loadu_si128((const __m128i *)(const void *)p), bytes);
}

static inline uint64_t
scan_bits(__m128i equal)
{
	return (uint32_t)_mm_movemask_epi8(equal);
}

/* Bit i is set if p[i] is byte, for each i below SCAN_BLOCK. */
static inline uint64_t
scan_block(const unsigned char *p, unsigned char byte)
{
	__m128i bytes = _mm_set1_epi8((char)byte);
	__m128i a = scan_16(p, bytes), b = scan_16(p + 16, bytes);
	__m128i c = scan_16(p + 32, bytes), d = scan_16(p + 48, bytes);

	if (!scan_bits(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))))
		return 0;
	return scan_bits(a) | scan_bits(b) << 16 | scan_bits(c) << 32 |
	       scan_bits(d) << 48;
}

#elif defined(__aarch64__) && !defined(__AARCH64EB__)

static inline uint64_t
scan_block(const unsigned char *p, unsigned char byte)
{
	/* Bit i % 8 for byte i; sums of neighbours then collect eight bits in
	 * one byte. */
	const uint8x16_t bit =
		vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
	uint8x16_t bytes = vdupq_n_u8(byte);
	uint8x16_t a = vandq_u8(vceqq_u8(vld1q_u8(p), bytes), bit);
	uint8x16_t b = vandq_u8(vceqq_u8(vld1q_u8(p + 16), bytes), bit);
	uint8x16_t c = vandq_u8(vceqq_u8(vld1q_u8(p + 32), bytes), bit);
	uint8x16_t d = vandq_u8(vceqq_u8(vld1q_u8(p + 48), bytes), bit);

	a = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(a, a)), 0);
}

#else

/* Eight bytes in a word: bit i of the result for p[i]. */
static inline uint64_t
scan_8(const unsigned char *p, uint64_t bytes)
{
	const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
	uint64_t word;

	memcpy(&word, p, sizeof(word));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	word ^= bytes;
	/* the top bit of each byte that is zero, and no other bit */
	word = ~(((word & low7) + low7) | word | low7);
	/* bit 8i goes to 56 + i; no two of the products meet */
	return (word >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t
scan_block(const unsigned char *p, unsigned char byte)
{
	uint64_t bytes = UINT64_C(0x0101010101010101) * byte, found = 0;

	for (int i = 0; i < SCAN_BLOCK / 8; i++)
		found |= scan_8(p + 8 * i, bytes) << (8 * i);
	return found;
}

#endif

/*
 * Bytes that one search covers. For lines of 80 bytes a longer search is not
 * faster. If something other than lines follows, as a body follows headers, the
 * search wastes 20 ns.
 */
#define LOOK_AHEAD 1024

/* If lines are longer than this on average, memchr() is faster. */
#define LONG 256

/* Stores the line ends in a block, without those in its first n bytes. */
static const unsigned char **
note_block(const unsigned char **note, const unsigned char *block,
	unsigned char delimiter, size_t n)
{
	uint64_t found = scan_block(block, delimiter) >> n << n;

	for (; found; found &= found - 1)
		*note++ = block + __builtin_ctzll(found) + 1;
	return note;
}

/*
 * Stores the line ends in n bytes from pos on; n is at least SCAN_BLOCK. Stops
 * before a block whose line ends may not fit.
 */
static void
note_lines(struct hone_reader *r, int delimiter, size_t n)
{
	const unsigned char *p = r->view.pos, *end = p + n;
	const unsigned char **note = r->lines;
	const unsigned char **full =
		r->lines + HONE_STREAM_LINES + 1 - SCAN_BLOCK;

	*note++ = p;
	for (; end - p >= SCAN_BLOCK && note <= full; p += SCAN_BLOCK)
		note = note_block(note, p, (unsigned char)delimiter, 0);
	if (p < end && end - p < SCAN_BLOCK && note <= full)
		note = note_block(note, end - SCAN_BLOCK,
			(unsigned char)delimiter,
			(size_t)(SCAN_BLOCK - (end - p)));
	r->view.delimiter = delimiter;
	r->view.line = (const unsigned char *const *)r->lines;
	r->view.last_line = (const unsigned char *const *)note - 1;
	r->long_lines = (size_t)(note - 1 - r->lines) < n / LONG;
}

static ptrdiff_t
take_line(struct hone_reader *r, const char **line, size_t n)
{
	*line = (const char *)r->view.pos;
	r->view.pos += n;
	r->search.searched = 0;
	return (ptrdiff_t)n;
}

/* Number of buffered bytes that an earlier call has searched. */
static size_t
searched_before(const struct hone_reader *r, int delimiter)
{
	const struct hone_stream_search *search = &r->search;
	size_t buffered = hone_reader_buffered(r);

	if (search->searched > buffered || search->delimiter != delimiter ||
		search->at != r->offset - (int64_t)buffered)
		return 0;
	return search->searched;
}

/* Stores the state of an unfinished search; returns why. */
static ptrdiff_t
not_found(struct hone_reader *r, int delimiter, size_t searched, ptrdiff_t why)
{
	r->search = (struct hone_stream_search){
		.at = r->offset - (int64_t)hone_reader_buffered(r),
		.searched = searched,
		.delimiter = delimiter};
	return why;
}

/* Number of bytes to have in the buffer next: twice as many, so that a long
 * line takes few reads, but no more than are needed to see that it is too long.
 */
static size_t
wanted(size_t buffered, size_t max)
{
	/* max + 1 cannot wrap: no buffer has more than SIZE_MAX / 2 bytes. */
	return buffered > max / 2 ? max + 1 : 2 * buffered;
}

/* Takes one line; its first `from` bytes have been searched. */
static ptrdiff_t
long_line(struct hone_reader *r, const char **line, int delimiter, size_t max,
	size_t from)
{
	size_t buffered = hone_reader_buffered(r), to;
	const unsigned char *found;
	ptrdiff_t got;

	for (;;) {
		to = buffered < max ? buffered : max;
		if (from < to) {
			found = memchr(
				r->view.pos + from, delimiter, to - from);
			if (found) {
				to = (size_t)(found - r->view.pos) + 1;
				r->long_lines = to > LONG;
				return take_line(r, line, to);
			}
			from = to;
		}
		if (buffered > max)
			return not_found(r, delimiter, from, -EMSGSIZE);
		got = hone_reader_fill(r, wanted(buffered, max));
		if (got < 0)
			return not_found(r, delimiter, from, got);
		if (got == 0 && (r->flags & HONE_STREAM_WHOLE_LINES))
			return not_found(r, delimiter, from, 0);
		if (got == 0)
			return take_line(r, line, buffered);
		buffered = hone_reader_buffered(r);
	}
}

ptrdiff_t
hone_detail_stream_read_line(struct hone_stream *stream, const char **line,
	int delimiter, size_t max)
{
	struct hone_reader *r = hone_reader(stream);
	size_t n = hone_reader_buffered(r), from = 0;

	assert(delimiter >= 0 && delimiter <= 255);
	assert(max > 0);
	if (r->search.searched > 0)
		from = searched_before(r, delimiter);
	if (from == 0 && n >= SCAN_BLOCK && !r->long_lines) {
		if (n > LOOK_AHEAD)
			n = LOOK_AHEAD;
		note_lines(r, delimiter, n);
		if (stream->line < stream->last_line) {
			size_t length = (size_t)(stream->line[1] - stream->pos);

			if (length <= max) {
				stream->line++;
				return take_line(r, line, length);
			}
		} else {
			from = n < max ? n : max;
		}
	}
	return long_line(r, line, delimiter, max, from);
}
