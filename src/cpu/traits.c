/* SPDX-License-Identifier: BSD-3-Clause */
/* What decides which code is faster: the sizes of caches, and traits. */
#include <hone/cpu.h>
#include <stdatomic.h>
#include "../part.h"
#include "detect.h"

size_t
hone_cpu_cache_size(unsigned level)
{
	/* Size + 1; 0: not yet known. Relaxed: no other data depend on it. */
	static _Atomic size_t known[HONE_CACHE_LEVELS];
	size_t size;

	if (level < 1 || level > HONE_CACHE_LEVELS)
		return 0;
	size = atomic_load_explicit(&known[level - 1], memory_order_relaxed);
	if (size == 0) {
		size = hone_cpu_detect_cache(level) + 1;
		atomic_store_explicit(
			&known[level - 1], size, memory_order_relaxed);
	}
	return size - 1;
}

/* The values of the traits: found once, then read and set by any thread. */

static const char *const names[] = {
	[HONE_CPU_TRAIT_COPY_MIN] = "copy_min",
	[HONE_CPU_TRAIT_COPY_MAX] = "copy_max",
	[HONE_CPU_TRAIT_STREAM_MIN] = "stream_min",
	[HONE_CPU_TRAIT_STREAM_L2] = "stream_l2",
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
