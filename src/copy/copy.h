/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_COPY_H
#define HONE_SRC_COPY_H
/*
 * The table of variants. Each row of variants.def is one entry. The file NAME.c
 * defines the functions of the row NAME. They accept every size and alignment,
 * read and write no byte outside the two buffers, and leave the fence to the
 * caller. A kept copy may call memcpy(): hone_copy_is_of_libc().
 *
 *   copy.c      the public functions, and the choice of a variant
 *   generic.c   the reference, which the others are compared with
 *   sse2.c      and avx2.c, avx512.c, neon.c, sve.c: the variants
 *   vector.h    the loops of a variant, for any width; ymm.h and x86.h: what
 *               some of them share; short.h: copies of a few bytes
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/copy.h>
#include <hone/cpu.h>
#include "../part.h"

typedef void hone_copy_fn(void *dst, const void *src, size_t n);
typedef void hone_clear_fn(void *dst, size_t n);

struct hone_copy_variant {
	struct hone_variant row;
	hone_copy_fn *keep;
	hone_copy_fn *up_to_64; /* as keep, for up to 64 bytes */
	hone_copy_fn *stream;
	hone_copy_fn *protect;
	hone_clear_fn *clear;
	hone_clear_fn *clear_stream;
	/* Orders non-temporal stores before later stores. */
	void (*fence)(void);
};

/* The others compare n in any case: only avx512 has a function for this. */
#define hone_copy_short_generic hone_copy_keep_generic
#define hone_copy_short_sse2 hone_copy_keep_sse2
#define hone_copy_short_avx2 hone_copy_keep_avx2
#define hone_copy_short_neon hone_copy_keep_neon
#define hone_copy_short_sve hone_copy_keep_sve

#define HONE_COPY_DECLARE(name)                                                \
	hone_copy_fn hone_copy_keep_##name;                                    \
	hone_copy_fn hone_copy_short_##name;                                   \
	hone_copy_fn hone_copy_stream_##name;                                  \
	hone_copy_fn hone_copy_protect_##name;                                 \
	hone_clear_fn hone_copy_clear_##name;                                  \
	hone_clear_fn hone_copy_clear_stream_##name;                           \
	void hone_copy_fence_##name(void);

#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family, HONE_COPY_DECLARE(name))
#include "variants.def"
#undef HONE_VARIANT

/* In the order of variants.def, only those of this CPU family. */
extern const struct hone_copy_variant hone_copy_variants[];
extern const size_t hone_copy_n_variants;

/*
 * Whether a variant has memcpy() make a kept copy: those above the trait
 * copy_max. Copies up to 4 KiB do not read the trait, so it ends no earlier.
 * With 0, no long copy gets here but those of tests and benchmarks, which want
 * the variant's.
 */
static inline bool
hone_copy_is_of_libc(size_t n)
{
	size_t stored;

	if (__builtin_expect(n <= 4096, 1))
		return false;
	stored =
		__atomic_load_n(&hone_cpu_trait_values[HONE_CPU_TRAIT_COPY_MAX],
			__ATOMIC_RELAXED);
	return stored > 1 && n >= stored;
}

/* Whether STREAM fetches its source into L2. PROTECT never does. */
static inline bool
hone_copy_fetches_into_l2(void)
{
	return __atomic_load_n(&hone_cpu_trait_values[HONE_CPU_TRAIT_STREAM_L2],
		       __ATOMIC_RELAXED) > 1;
}

/*
 * Below this size STREAM uses normal stores: the fence alone costs more than
 * streaming saves (bench/copy, cold).
 */
#define HONE_COPY_STREAM_MIN 4096

#endif
