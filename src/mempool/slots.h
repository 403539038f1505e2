/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_MEMPOOL_SLOTS_H
#define HONE_MEMPOOL_SLOTS_H
/*
 * Short slots: of each pointer the lower 32 bits, all pointers of a pool having
 * the same upper ones. The table of variants; each row of variants.def is one
 * entry, and each file NAME.c defines the functions of its row.
 */
#include <stddef.h>
#include <stdint.h>
#include "../part.h"

/* n slots to pointers; their order may change. */
typedef void hone_widen_fn(
	void **objs, const uint32_t *slots, size_t n, uintptr_t upper);
/* n pointers to slots; their order may change. */
typedef void hone_narrow_fn(uint32_t *slots, void *const *objs, size_t n);

struct hone_mempool_variant {
	const char *name;
	uint64_t needs; /* HONE_CPU_* */
	hone_widen_fn *widen;
	hone_narrow_fn *narrow;
};

#define HONE_MEMPOOL_DECLARE(name)                                             \
	hone_widen_fn hone_mempool_widen_##name;                               \
	hone_narrow_fn hone_mempool_narrow_##name;

#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family, HONE_MEMPOOL_DECLARE(name))
#include "variants.def"
#undef HONE_VARIANT

/* In the order of variants.def, those of this CPU family only. */
extern const struct hone_mempool_variant hone_mempool_variants[];
extern const size_t hone_mempool_n_variants;

#endif
