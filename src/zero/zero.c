/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions: dispatch to a variant, and what is built upon it.
 */
#include <hone/cpu.h>
#include "zero.h"

const struct hone_zero_variant hone_zero_variants[] = {
#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family,                                                 \
		{#name, features, hone_zero_is_##name, hone_zero_find_##name,  \
			hone_zero_rfind_##name}, )
#include "variants.def"
#undef HONE_VARIANT
};

const size_t hone_zero_n_variants =
	sizeof(hone_zero_variants) / sizeof(hone_zero_variants[0]);

static hone_zero_is_fn choose_is_zero;
static hone_zero_find_fn choose_find;
static hone_zero_find_fn choose_rfind;

/*
 * Relaxed loads on the hot path: every variant gives the same answer, so it
 * does not matter which one a racing thread still sees. The first is read by
 * inline code in C99 and C++ callers, hence no _Atomic.
 */
bool (*hone_detail_is_zero)(const void *buf, size_t len) = choose_is_zero;
static hone_zero_find_fn *find_fn = choose_find;
static hone_zero_find_fn *rfind_fn = choose_rfind;

static const struct hone_zero_variant *
best(void)
{
	const struct hone_zero_variant *v =
		&hone_zero_variants[hone_zero_n_variants - 1];

	while (!hone_cpu_has(v->needs)) /* the first row needs nothing */
		v--;
	return v;
}

static void
set(hone_zero_is_fn *is_zero, hone_zero_find_fn *find, hone_zero_find_fn *rfind)
{
	__atomic_store_n(&hone_detail_is_zero, is_zero, __ATOMIC_SEQ_CST);
	__atomic_store_n(&find_fn, find, __ATOMIC_SEQ_CST);
	__atomic_store_n(&rfind_fn, rfind, __ATOMIC_SEQ_CST);
}

/*
 * Sequentially consistent, together with the store of the limit and reset():
 * if best() still sees the old limit after our stores, the reset that follows
 * the new one comes after them and wins.
 */
static const struct hone_zero_variant *
choose(void)
{
	const struct hone_zero_variant *v;

	do {
		v = best();
		set(v->is_zero, v->find, v->rfind);
	} while (v != best());
	return v;
}

static bool
choose_is_zero(const void *buf, size_t len)
{
	return choose()->is_zero(buf, len);
}

static size_t
choose_find(const void *buf, size_t len)
{
	return choose()->find(buf, len);
}

static size_t
choose_rfind(const void *buf, size_t len)
{
	return choose()->rfind(buf, len);
}

static const char *
variant_name(void)
{
	return best()->name;
}

static void
reset(void)
{
	set(choose_is_zero, choose_find, choose_rfind);
}

const struct hone_part hone_part_zero = {"zero", variant_name, reset};

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
