/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of the traits: found once, then read and set by any thread. */
#include <hone/cpu.h>
#include "../part.h"
#include "detect.h"

static const char *const names[] = {
#define HONE_TRAIT(id, name) [HONE_CPU_TRAIT_##id] = (name),
#include "traits.def"
#undef HONE_TRAIT
};

#define N_TRAITS (sizeof(names) / sizeof(names[0]))

size_t hone_cpu_trait_values[N_TRAITS];

static size_t
stored(size_t value)
{
	return value < SIZE_MAX ? value + 1 : value;
}

/*
 * Replaces 0 only. hone_cpu_set_trait() never stores 0, so a thread that is
 * late does not undo that call.
 */
static void
detect(void)
{
	size_t values[N_TRAITS] = {0};

#ifndef __GLIBC__ /* not measured; musl for x86-64 has a string instruction */
	values[HONE_CPU_TRAIT_COPY_MAX] = SIZE_MAX;
#endif
	hone_cpu_detect_traits(values);
	for (size_t i = 0; i < N_TRAITS; i++) {
		size_t unknown = 0;

		__atomic_compare_exchange_n(&hone_cpu_trait_values[i], &unknown,
			stored(values[i]), false, __ATOMIC_RELAXED,
			__ATOMIC_RELAXED);
	}
}

size_t
hone_cpu_trait(unsigned trait)
{
	size_t *at, value;

	if (trait >= N_TRAITS)
		return 0;
	at = &hone_cpu_trait_values[trait];
	value = __atomic_load_n(at, __ATOMIC_RELAXED);
	if (value == 0) {
		detect();
		value = __atomic_load_n(at, __ATOMIC_RELAXED);
	}
	return value < SIZE_MAX ? value - 1 : value;
}

void
hone_cpu_set_trait(unsigned trait, size_t value)
{
	if (trait >= N_TRAITS)
		return;
	/* All traits are known before one is set. */
	hone_cpu_trait(trait);
	/* Pairs with copy_install() of src/copy/copy.c. */
	__atomic_store_n(
		&hone_cpu_trait_values[trait], stored(value), __ATOMIC_SEQ_CST);
	hone_part_reset();
}

const char *
hone_cpu_trait_name(unsigned trait)
{
	return trait < N_TRAITS ? names[trait] : NULL;
}
