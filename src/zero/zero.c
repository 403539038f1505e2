/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions: dispatch to a variant, and what is built upon it.
 */
#include <stdatomic.h>
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
 * does not matter which one a racing thread still sees.
 */
static hone_zero_is_fn *_Atomic is_zero_fn = choose_is_zero;
static hone_zero_find_fn *_Atomic find_fn = choose_find;
static hone_zero_find_fn *_Atomic rfind_fn = choose_rfind;

static const struct hone_zero_variant *
best(void)
{
	const struct hone_zero_variant *v =
		&hone_zero_variants[hone_zero_n_variants - 1];

	while (!hone_cpu_has(v->needs)) /* the first row needs nothing */
		v--;
	return v;
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
		atomic_store(&is_zero_fn, v->is_zero);
		atomic_store(&find_fn, v->find);
		atomic_store(&rfind_fn, v->rfind);
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
	atomic_store(&is_zero_fn, choose_is_zero);
	atomic_store(&find_fn, choose_find);
	atomic_store(&rfind_fn, choose_rfind);
}

const struct hone_part hone_part_zero = {"zero", variant_name, reset};

bool
hone_buffer_is_zero_long(const void *buf, size_t len)
{
	return atomic_load_explicit(&is_zero_fn, memory_order_relaxed)(
		buf, len);
}

size_t
hone_find_nonzero(const void *buf, size_t len)
{
	return atomic_load_explicit(&find_fn, memory_order_relaxed)(buf, len);
}

size_t
hone_rfind_nonzero(const void *buf, size_t len)
{
	return atomic_load_explicit(&rfind_fn, memory_order_relaxed)(buf, len);
}
