/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_ZERO_H
#define HONE_SRC_ZERO_H
/*
 * The table of variants. Each row of variants.def is one entry. The file NAME.c
 * defines the three functions of the row NAME. They accept every length and
 * alignment and read no byte outside the buffer.
 *
 *   zero.c      the public functions, and the choice of a variant
 *   map.c       maps and walks of zero blocks
 *   generic.c   the reference, which the others are compared with
 *   sse2.c      and avx2.c, avx512.c, neon.c, sve.c: the variants
 *   vector.h    the loops of a variant, for any width; masked.h: what avx2 and
 *               avx512 share; short.h: buffers of a few bytes
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/zero.h>
#include "../part.h"

typedef bool hone_zero_is_fn(const void *buf, size_t len);
typedef size_t hone_zero_find_fn(const void *buf, size_t len);

struct hone_zero_variant {
	struct hone_variant row;
	hone_zero_is_fn *is_zero;
	hone_zero_find_fn *find;
	hone_zero_find_fn *rfind;
};

#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family, hone_zero_is_fn hone_zero_is_##name;            \
		       hone_zero_find_fn hone_zero_find_##name;                \
		       hone_zero_find_fn hone_zero_rfind_##name;)
#include "variants.def"
#undef HONE_VARIANT

/* In the order of variants.def, only those of this CPU family. */
extern const struct hone_zero_variant hone_zero_variants[];
extern const size_t hone_zero_n_variants;

#endif
