/* SPDX-License-Identifier: BSD-3-Clause */
#include <arm_neon.h>
#include "short.h"
#include "zero.h"

/* Four bits for each byte: all set if the byte is not zero. */
static inline uint64_t
nonzero_nibbles(uint8x16_t v)
{
	uint16x8_t wide = vreinterpretq_u16_u8(vtstq_u8(v, v));

	return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(wide, 4)), 0);
}

#define IS_FN hone_zero_is_neon
#define FIND_FN hone_zero_find_neon
#define RFIND_FN hone_zero_rfind_neon
#define VARIANT neon
#define TARGET /* NEON is the baseline of aarch64 */
#define VEC uint8x16_t
#define VEC_BYTES 16
#define LOAD(p) vld1q_u8(p)
#define OR(a, b) vorrq_u8(a, b)
#define OR3(a, b, c) OR(OR(a, b), c)
#define IS_ZERO(v) (vmaxvq_u32(vreinterpretq_u32_u8(v)) == 0)
#define FIRST(v) ((size_t)__builtin_ctzll(nonzero_nibbles(v)) / 4)
#define LAST(v) (15 - (size_t)__builtin_clzll(nonzero_nibbles(v)) / 4)
#define SHORT upto16_
#define SHORT_MAX VEC_BYTES
#define ENDS_MAX TURN
#include "vector.h"
