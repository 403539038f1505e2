/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions: dispatch to a variant.
 */
#include <hone/cpu.h>
#include "zero.h"

const struct hone_zero_variant hone_zero_variants[] = {
#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family,                                                 \
		{{#name, features}, hone_zero_is_##name,                       \
			hone_zero_find_##name, hone_zero_rfind_##name}, )
#include "variants.def"
#undef HONE_VARIANT
};

#define N_VARIANTS (sizeof(hone_zero_variants) / sizeof(hone_zero_variants[0]))

const size_t hone_zero_n_variants = N_VARIANTS;

static hone_zero_is_fn choose_is_zero;
static hone_zero_find_fn choose_find;
static hone_zero_find_fn choose_rfind;

/*
 * Relaxed loads on the hot path: all variants give the same result, so a racing
 * thread may see an older one. Inline code of C99 and C++ callers reads the
 * first pointer, hence no _Atomic.
 */
bool (*hone_detail_is_zero)(const void *buf, size_t len) = choose_is_zero;
static hone_zero_find_fn *find_fn = choose_find;
static hone_zero_find_fn *rfind_fn = choose_rfind;

/* What is installed until a variant is chosen. */
static const struct hone_zero_variant chooser = {
	{"choose", 0}, choose_is_zero, choose_find, choose_rfind};

static void
zero_install(const struct hone_variant *variant)
{
	const struct hone_zero_variant *v =
		variant ? (const void *)variant : &chooser;

	__atomic_store_n(&hone_detail_is_zero, v->is_zero, __ATOMIC_SEQ_CST);
	__atomic_store_n(&find_fn, v->find, __ATOMIC_SEQ_CST);
	__atomic_store_n(&rfind_fn, v->rfind, __ATOMIC_SEQ_CST);
}

const struct hone_part hone_part_zero = {"zero", hone_zero_variants, N_VARIANTS,
	sizeof(hone_zero_variants[0]), zero_install};

static const struct hone_zero_variant *
zero_choose(void)
{
	return (const void *)hone_part_choose(&hone_part_zero);
}

static bool
choose_is_zero(const void *buf, size_t len)
{
	return zero_choose()->is_zero(buf, len);
}

static size_t
choose_find(const void *buf, size_t len)
{
	return zero_choose()->find(buf, len);
}

static size_t
choose_rfind(const void *buf, size_t len)
{
	return zero_choose()->rfind(buf, len);
}

bool
hone_buffer_is_zero_long(const void *buf, size_t len)
{
	return HONE_DETAIL_IS_ZERO(buf, len);
}

size_t
hone_find_nonzero(const void *buf, size_t len)
{
	return __atomic_load_n(&find_fn, __ATOMIC_RELAXED)(buf, len);
}

size_t
hone_rfind_nonzero(const void *buf, size_t len)
{
	return __atomic_load_n(&rfind_fn, __ATOMIC_RELAXED)(buf, len);
}
