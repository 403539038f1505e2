/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template of the fixed-width vector variants. The file that includes it first
 * defines:
 *
 *   IS_FN        the names of the functions, in full, so that git grep finds
 *   FIND_FN      the file that makes them: hone_zero_is_avx2 and so on
 *   RFIND_FN
 *   VARIANT      suffix of all other names here: hone.c has every variant
 *   TARGET       attribute for every function, or nothing
 *   VEC          vector type of VEC_BYTES bytes (16, 32 or 64)
 *   LOAD(p)      unaligned load from const unsigned char *
 *   OR(a, b)     and OR3(a, b, c): bitwise or
 *   IS_ZERO(v)   true if all bytes of v are zero
 *   FIRST(v)     index of the first byte of v that is not zero, if any is
 *   LAST(v)      index of the last such byte
 *   SHORT        prefix of is(), find() and rfind() for the shortest buffers
 *   SHORT_MAX    longest buffer that SHORT's is() takes; its find() and
 *                rfind() take 0 to VEC_BYTES bytes
 *   ENDS_MAX     longest buffer answered without a loop: CLAMP_MAX or TURN
 *
 * Shapes by length, so that unpredictable lengths cost few mispredicted
 * branches:
 *   up to SHORT_MAX  SHORT
 *   up to CLAMP_MAX  eight loads, each offset clamped to the last place where
 *                    a whole vector fits
 *   up to ENDS_MAX   nine loads from either end
 *   longer           an unaligned head, an aligned loop, and, if bytes remain,
 *                    a tail that ends with the buffer
 *
 * Numbers bytes from the least significant end: for little-endian CPUs only.
 */
#define least HONE_JOIN(least_, VARIANT)
#define or4 HONE_JOIN(or4_, VARIANT)
#define or_group HONE_JOIN(or_group_, VARIANT)
#define or_turn HONE_JOIN(or_turn_, VARIANT)
#define or_clamped HONE_JOIN(or_clamped_, VARIANT)
#define or_ends HONE_JOIN(or_ends_, VARIANT)
#define or_upto_ends_max HONE_JOIN(or_upto_ends_max_, VARIANT)
#define inside HONE_JOIN(inside_, VARIANT)
#define scan HONE_JOIN(scan_, VARIANT)
#define rscan HONE_JOIN(rscan_, VARIANT)

#define GROUP (4 * VEC_BYTES) /* bytes tested by one branch near the ends */
#define CLAMP_MAX (8 * VEC_BYTES)
#define TURN (16 * VEC_BYTES) /* bytes tested by one branch in the loop */

static inline size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

TARGET static inline VEC
or4(const unsigned char *a, const unsigned char *b, const unsigned char *c,
	const unsigned char *d)
{
	return OR(OR3(LOAD(a), LOAD(b), LOAD(c)), LOAD(d));
}

TARGET static inline VEC
or_group(const unsigned char *p)
{
	return or4(p, p + VEC_BYTES, p + 2 * VEC_BYTES, p + 3 * VEC_BYTES);
}

/*
 * Keeps the compiler from moving loads across it. If loads are not in the order
 * of their addresses, Zen 4 takes up to 2.7 times as long from memory.
 */
#define IN_ORDER() __asm__ volatile("" : : : "memory")

TARGET static inline VEC
or_turn(const unsigned char *p)
{
	VEC a, b, c, d;

	a = or_group(p);
	IN_ORDER();
	b = or_group(p + GROUP);
	IN_ORDER();
	c = or_group(p + 2 * GROUP);
	IN_ORDER();
	d = or_group(p + 3 * GROUP);
	return OR(OR3(a, b, c), d);
}

/* len is from VEC_BYTES to CLAMP_MAX. */
TARGET static inline VEC
or_clamped(const unsigned char *p, size_t len)
{
	size_t last = len - VEC_BYTES;

	return OR(or4(p, p + least(VEC_BYTES, last),
			  p + least(2 * VEC_BYTES, last),
			  p + least(3 * VEC_BYTES, last)),
		or4(p + least(4 * VEC_BYTES, last),
			p + least(5 * VEC_BYTES, last),
			p + least(6 * VEC_BYTES, last), p + last));
}

/*
 * len is from CLAMP_MAX to TURN: one unaligned vector at each end, seven
 * aligned vectors after or before it, and two in the middle for the rest.
 */
TARGET static inline VEC
or_ends(const unsigned char *p, size_t len)
{
	const unsigned char *end = p + len, *middle = p + len / 2;
	const unsigned char *q = p + VEC_BYTES - (uintptr_t)p % VEC_BYTES;
	const unsigned char *e = end - (uintptr_t)end % VEC_BYTES;
	VEC a, b, c, d;

	a = or4(p, q, q + VEC_BYTES, q + 2 * VEC_BYTES);
	b = or_group(q + 3 * VEC_BYTES);
	c = or_group(e - 7 * VEC_BYTES);
	d = or4(e - 3 * VEC_BYTES, e - 2 * VEC_BYTES, e - VEC_BYTES,
		end - VEC_BYTES);
	return OR3(OR3(a, LOAD(middle - VEC_BYTES), LOAD(middle)), b, OR(c, d));
}

/* len is from VEC_BYTES to ENDS_MAX. */
TARGET static inline VEC
or_upto_ends_max(const unsigned char *p, size_t len)
{
	return len <= CLAMP_MAX ? or_clamped(p, len) : or_ends(p, len);
}

/* p + at if a whole vector fits there, otherwise the vector before p. */
static inline const unsigned char *
inside(const unsigned char *p, size_t at, size_t rest)
{
	return at + VEC_BYTES <= rest ? p + at : p - VEC_BYTES;
}

/*
 * Returns an offset at most TURN bytes before the first byte that is not zero,
 * with only zeros before the offset; len if all bytes are zero. len is above
 * CLAMP_MAX.
 *
 * One unaligned load at each end, and aligned loads between them: a load that
 * crosses a cache line costs as much as two.
 */
TARGET static inline size_t
scan(const unsigned char *p, size_t len)
{
	const unsigned char *end = p + len;
	const unsigned char *q = p + VEC_BYTES - (uintptr_t)p % VEC_BYTES;
	size_t rest;
	VEC last;

	if (!IS_ZERO(OR(or4(p, q, q + VEC_BYTES, q + 2 * VEC_BYTES),
		    or_group(q + 3 * VEC_BYTES))))
		return 0;
	q += 7 * VEC_BYTES;
	for (; (size_t)(end - q) >= TURN; q += TURN)
		if (!IS_ZERO(or_turn(q)))
			return (size_t)(q - p);
	if ((size_t)(end - q) >= 2 * GROUP) {
		if (!IS_ZERO(OR(or_group(q), or_group(q + GROUP))))
			return (size_t)(q - p);
		q += 2 * GROUP;
	}
	if ((size_t)(end - q) >= GROUP) {
		if (!IS_ZERO(or_group(q)))
			return (size_t)(q - p);
		q += GROUP;
	}
	rest = (size_t)(end - q);
	if (rest == 0)
		return len;
	last = LOAD(end - VEC_BYTES);
	if (rest > VEC_BYTES)
		last = OR(OR3(last, LOAD(q), LOAD(inside(q, VEC_BYTES, rest))),
			LOAD(inside(q, 2 * VEC_BYTES, rest)));
	return IS_ZERO(last) ? len : (size_t)(q - p);
}

/*
 * The same from the end: returns an offset from which on all bytes are zero, at
 * most TURN bytes after the last one that is not zero; 0 if all bytes are zero.
 */
TARGET static inline size_t
rscan(const unsigned char *p, size_t len)
{
	const unsigned char *end = p + len;
	const unsigned char *q = end - VEC_BYTES + -(uintptr_t)end % VEC_BYTES;
	size_t rest;

	if (!IS_ZERO(or4(end - VEC_BYTES, q - VEC_BYTES, q - 2 * VEC_BYTES,
		    q - 3 * VEC_BYTES)))
		return len;
	q -= 3 * VEC_BYTES;
	for (; (size_t)(q - p) >= TURN; q -= TURN)
		if (!IS_ZERO(or_turn(q - TURN)))
			return (size_t)(q - p);
	for (; (size_t)(q - p) >= GROUP; q -= GROUP)
		if (!IS_ZERO(or_group(q - GROUP)))
			return (size_t)(q - p);
	rest = (size_t)(q - p);
	if (rest == 0 || IS_ZERO(or4(q - least(VEC_BYTES, rest),
				 q - least(2 * VEC_BYTES, rest),
				 q - least(3 * VEC_BYTES, rest), p)))
		return 0;
	return rest;
}

TARGET bool
IS_FN(const void *buf, size_t len)
{
	if (len <= SHORT_MAX)
		return HONE_JOIN(SHORT, is)(buf, len);
	if (len <= ENDS_MAX)
		return IS_ZERO(or_upto_ends_max(buf, len));
	return scan(buf, len) == len;
}

TARGET size_t
FIND_FN(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	size_t last = len - VEC_BYTES, at = 0;

	if (len <= VEC_BYTES)
		return HONE_JOIN(SHORT, find)(buf, len);
	if (len <= ENDS_MAX ? IS_ZERO(or_upto_ends_max(p, len))
			    : (at = scan(p, len)) == len)
		return len;
	for (;; at += VEC_BYTES) {
		VEC v = LOAD(p + least(at, last));

		if (!IS_ZERO(v))
			return least(at, last) + FIRST(v);
	}
}

TARGET size_t
RFIND_FN(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	size_t stop = len;

	if (len <= VEC_BYTES)
		return HONE_JOIN(SHORT, rfind)(buf, len);
	if (len <= ENDS_MAX ? IS_ZERO(or_upto_ends_max(p, len))
			    : (stop = rscan(p, len)) == 0)
		return len;
	for (;; stop -= VEC_BYTES) {
		size_t at = stop > VEC_BYTES ? stop - VEC_BYTES : 0;
		VEC v = LOAD(p + at);

		if (!IS_ZERO(v))
			return at + LAST(v);
	}
}
