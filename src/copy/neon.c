/* SPDX-License-Identifier: BSD-3-Clause */
#include <arm_neon.h>
#include "copy.h"
#include "short.h"

/* There are no intrinsics for non-temporal pairs. */
static inline void
neon_stream_line(unsigned char *d, const unsigned char *s)
{
	uint8x16_t a = vld1q_u8(s), b = vld1q_u8(s + 16);
	uint8x16_t c = vld1q_u8(s + 32), e = vld1q_u8(s + 48);

	__asm__ volatile("stnp %q1, %q2, [%0]\n\t"
			 "stnp %q3, %q4, [%0, 32]"
			 :
			 : "r"(d), "w"(a), "w"(b), "w"(c), "w"(e)
			 : "memory");
}

static inline void
neon_zero_line(unsigned char *d)
{
	__asm__ volatile("stnp %q1, %q1, [%0]\n\t"
			 "stnp %q1, %q1, [%0, 32]"
			 :
			 : "r"(d), "w"(vdupq_n_u8(0))
			 : "memory");
}

#define KEEP_FN hone_copy_keep_neon
#define STREAM_FN hone_copy_stream_neon
#define PROTECT_FN hone_copy_protect_neon
#define CLEAR_FN hone_copy_clear_neon
#define CLEAR_STREAM_FN hone_copy_clear_stream_neon
#define FENCE_FN hone_copy_fence_neon
#define VARIANT neon
#define TARGET /* NEON is the baseline of aarch64 */
#define VEC uint8x16_t
#define VEC_BYTES 16
#define LOAD(p) vld1q_u8(p)
#define STORE(p, v) vst1q_u8(p, v)
#define ZERO vdupq_n_u8(0)
#define STREAM_LINE(d, s) neon_stream_line(d, s)
#define ZERO_LINE(d) neon_zero_line(d)
#define PREFETCH(p, into_l2)                                                   \
	((into_l2) ? __builtin_prefetch(p, 0, 2) : __builtin_prefetch(p, 0, 0))
/*
 * STNP is ordered like any store, except for loads that depend on its address
 * (Arm ARM, B2.3). A release store publishes it, so only the compiler must be
 * ordered.
 */
#define FENCE() __asm__ volatile("" : : : "memory")
#define SHORT copy_upto16
#define SHORT_CLEAR clear_upto16
#include "vector.h"
