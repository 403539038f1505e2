/* SPDX-License-Identifier: BSD-3-Clause */
/* Which variant of the short slots' functions is used. */
#include <hone/cpu.h>
#include <hone/mempool.h>
#include "mempool/slots.h"

const struct hone_mempool_variant hone_mempool_variants[] = {
#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family,                                                 \
		{#name, features, hone_mempool_widen_##name,                   \
			hone_mempool_narrow_##name}, )
#include "variants.def"
#undef HONE_VARIANT
};

const size_t hone_mempool_n_variants =
	sizeof(hone_mempool_variants) / sizeof(hone_mempool_variants[0]);

static const struct hone_mempool_variant *
best(void)
{
	const struct hone_mempool_variant *v =
		&hone_mempool_variants[hone_mempool_n_variants - 1];

	while (!hone_cpu_has(v->needs)) /* the first row needs nothing */
		v--;
	return v;
}

/* Sequentially consistent against reset(): as choose() in zero/zero.c. */
static const struct hone_mempool_variant *
choose(void)
{
	const struct hone_mempool_variant *v;

	do {
		v = best();
		__atomic_store_n(
			&hone_detail_mempool_widen, v->widen, __ATOMIC_SEQ_CST);
		__atomic_store_n(&hone_detail_mempool_narrow, v->narrow,
			__ATOMIC_SEQ_CST);
	} while (v != best());
	return v;
}

static void
choose_widen(void **objs, const uint32_t *slots, size_t n, uintptr_t upper)
{
	choose()->widen(objs, slots, n, upper);
}

static void
choose_narrow(uint32_t *slots, void *const *objs, size_t n)
{
	choose()->narrow(slots, objs, n);
}

/* Read by inline code of C99 and C++ callers, hence no _Atomic. */
void (*hone_detail_mempool_widen)(void **objs, const uint32_t *slots, size_t n,
	uintptr_t upper) = choose_widen;
void (*hone_detail_mempool_narrow)(
	uint32_t *slots, void *const *objs, size_t n) = choose_narrow;

static const char *
variant_name(void)
{
	return best()->name;
}

static void
reset(void)
{
	__atomic_store_n(
		&hone_detail_mempool_widen, choose_widen, __ATOMIC_SEQ_CST);
	__atomic_store_n(
		&hone_detail_mempool_narrow, choose_narrow, __ATOMIC_SEQ_CST);
}

const struct hone_part hone_part_mempool = {"mempool", variant_name, reset};
