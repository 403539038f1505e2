/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_SLOTS_H
#define HONE_MEMPOOL_SLOTS_H
/*
 * Short slots hold the lower 32 bits of each pointer; the upper bits are the
 * same for all pointers of a pool. The copies between the two have variants.
 * Each row of variants.def is one entry of the table. The file NAME.c defines
 * the functions of the row NAME.
 */
#include <stddef.h>
#include <stdint.h>
#include "../part.h"

/* Copies n short slots to pointers; their order may change. */
typedef void hone_from_short_fn(
	void **objs, const uint32_t *slots, size_t n, uintptr_t upper);
/* Copies n pointers to short slots; their order may change. */
typedef void hone_to_short_fn(uint32_t *slots, void *const *objs, size_t n);

struct hone_mempool_variant {
	struct hone_variant row;
	hone_from_short_fn *from_short;
	hone_to_short_fn *to_short;
};

#define HONE_MEMPOOL_DECLARE(name)                                             \
	hone_from_short_fn hone_mempool_from_short_##name;                     \
	hone_to_short_fn hone_mempool_to_short_##name;

#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family, HONE_MEMPOOL_DECLARE(name))
#include "variants.def"
#undef HONE_VARIANT

/* In the order of variants.def, only those of this CPU family. */
extern const struct hone_mempool_variant hone_mempool_variants[];
extern const size_t hone_mempool_n_variants;

#endif
