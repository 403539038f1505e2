/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_COPY_X86_H
#define HONE_COPY_X86_H
/* Shared by the x86-64 variants of every width. */
#include <immintrin.h>
#include <stdbool.h>
#include <hone/cpu.h>
#include "copy.h"

/* Shorter copies do not look at the range: see copy_by_rep_movsb(). */
#define REP_MOVSB_LEAST ((size_t)4096)

/*
 * Copies by rep movsb and returns true, if the traits choose it for n bytes.
 * The smallest size comes first: where there is a range, one load is enough
 * for a copy below it. Each such load costs a copy from a misaligned source 0.3
 * ns at 513 bytes and 2 ns at 4 KiB on Zen 5 (docs/design/copy.md). No value is
 * stored before the first call of a public function. Until then the largest
 * size is as good as 0.
 *
 * Always inline: GCC 12 makes it a call, for which the caller needs a stack
 * frame and saves its registers. That took 1 to 2 ns of every copy of more than
 * 256 bytes.
 */
static inline __attribute__((always_inline)) bool
copy_by_rep_movsb(void *d, const void *s, size_t n)
{
	const size_t *values = hone_cpu_trait_values;

	if (__builtin_expect(n < REP_MOVSB_LEAST, 1) ||
		n + 1 < __atomic_load_n(&values[HONE_CPU_TRAIT_REP_MOVSB_MIN],
				__ATOMIC_RELAXED) ||
		n >= __atomic_load_n(&values[HONE_CPU_TRAIT_REP_MOVSB_MAX],
			     __ATOMIC_RELAXED))
		return false;
	/* The ABI promises that the direction flag is clear. */
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	return true;
}

#define COPY_STRING(d, s, n) copy_by_rep_movsb(d, s, n)
/* MemorySanitizer does not see what assembly writes: it would report each read
 * of the copy. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#undef COPY_STRING
#endif
#endif

/*
 * STREAM and STREAM_PROTECT use the same prefetch. On Zen 4 a copy of a cold 1
 * MiB takes 65 us with a prefetch into L2 one page ahead, 57 us without a
 * prefetch, and 48 us with a non-temporal prefetch (bench/copy, prefetch-1M).
 */
#define PREFETCH(p, protect)                                                   \
	((void)(protect), _mm_prefetch((const char *)(p), _MM_HINT_NTA))
#define FENCE() _mm_sfence()

#endif
