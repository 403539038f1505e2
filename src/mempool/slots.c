/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispatch of the copies between pointers and short slots to a variant. */
#include <hone/cpu.h>
#include <hone/mempool.h>
#include "mempool/slots.h"

const struct hone_mempool_variant hone_mempool_variants[] = {
#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family,                                                 \
		{{#name, features}, hone_mempool_from_short_##name,            \
			hone_mempool_to_short_##name}, )
#include "variants.def"
#undef HONE_VARIANT
};

#define N_VARIANTS                                                             \
	(sizeof(hone_mempool_variants) / sizeof(hone_mempool_variants[0]))

const size_t hone_mempool_n_variants = N_VARIANTS;

static hone_from_short_fn choose_from_short;
static hone_to_short_fn choose_to_short;

/* Read by inline code of C99 and C++ callers, hence no _Atomic. */
void (*hone_detail_mempool_from_short)(void **objs, const uint32_t *slots,
	size_t n, uintptr_t upper) = choose_from_short;
void (*hone_detail_mempool_to_short)(
	uint32_t *slots, void *const *objs, size_t n) = choose_to_short;

/* What is installed until a variant is chosen. */
static const struct hone_mempool_variant chooser = {
	{"choose", 0}, choose_from_short, choose_to_short};

static void
install(const struct hone_variant *variant)
{
	const struct hone_mempool_variant *v =
		variant ? (const void *)variant : &chooser;

	__atomic_store_n(&hone_detail_mempool_from_short, v->from_short,
		__ATOMIC_SEQ_CST);
	__atomic_store_n(
		&hone_detail_mempool_to_short, v->to_short, __ATOMIC_SEQ_CST);
}

const struct hone_part hone_part_mempool = {"mempool", hone_mempool_variants,
	N_VARIANTS, sizeof(hone_mempool_variants[0]), install};

static const struct hone_mempool_variant *
choose(void)
{
	return (const void *)hone_part_choose(&hone_part_mempool);
}

static void
choose_from_short(void **objs, const uint32_t *slots, size_t n, uintptr_t upper)
{
	choose()->from_short(objs, slots, n, upper);
}

static void
choose_to_short(uint32_t *slots, void *const *objs, size_t n)
{
	choose()->to_short(slots, objs, n);
}
