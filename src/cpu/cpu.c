/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/cpu.h>
#include <stdatomic.h>
#include <string.h>
#include "../part.h"
#include "detect.h"

static const struct hone_part *const parts[] = {
#define HONE_PART(name) &hone_part_##name,
#include "../parts.def"
#undef HONE_PART
};

/* One row for each HONE_CPU_* bit of hone/cpu.h. */
static const struct {
	uint64_t bit;
	const char *name;
} features[] = {
	{HONE_CPU_SSE2, "sse2"},
	{HONE_CPU_AVX2, "avx2"},
	{HONE_CPU_BMI2, "bmi2"},
	{HONE_CPU_AVX512F, "avx512f"},
	{HONE_CPU_AVX512BW, "avx512bw"},
	{HONE_CPU_NEON, "neon"},
	{HONE_CPU_SVE, "sve"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Bit of `detected` that is set after the detection. Never a feature. */
#define DETECTED (UINT64_C(1) << 63)

/* Relaxed: no other data depend on it, and every thread stores the same value.
 */
static _Atomic uint64_t detected;
/* Sequentially consistent: pairs with hone_part_choose(), see there. */
static _Atomic uint64_t allowed = HONE_CPU_ALL;

uint64_t
hone_cpu_features(void)
{
	uint64_t bits = atomic_load_explicit(&detected, memory_order_relaxed);

	if (bits == 0) {
		bits = hone_cpu_detect() | DETECTED;
		atomic_store_explicit(&detected, bits, memory_order_relaxed);
	}
	return bits & ~DETECTED & atomic_load(&allowed);
}

bool
hone_cpu_has(uint64_t needs)
{
	return (hone_cpu_features() & needs) == needs;
}

void
hone_part_reset(void)
{
	for (size_t i = 0; i < COUNT(parts); i++)
		parts[i]->install(NULL);
}

void
hone_cpu_limit(uint64_t bits)
{
	atomic_store(&allowed, bits);
	hone_part_reset();
}

const char *
hone_cpu_feature_name(uint64_t feature)
{
	for (size_t i = 0; i < COUNT(features); i++)
		if (features[i].bit == feature)
			return features[i].name;
	return NULL;
}

uint64_t
hone_cpu_feature_by_name(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT(features); i++)
		if (strlen(features[i].name) == length &&
			memcmp(features[i].name, name, length) == 0)
			return features[i].bit;
	return 0;
}

size_t
hone_cpu_cache_size(unsigned level)
{
	/* Size + 1; 0 means not yet known. Relaxed: as for `detected`. */
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

const char *
hone_cpu_part(size_t index)
{
	return index < COUNT(parts) ? parts[index]->name : NULL;
}

const char *
hone_cpu_variant(const char *part)
{
	for (size_t i = 0; part && i < COUNT(parts); i++)
		if (strcmp(parts[i]->name, part) == 0)
			return hone_part_best(parts[i])->name;
	return NULL;
}

/* The values of the traits: found once, then read and set by any thread. */

static const char *const names[] = {
	[HONE_CPU_TRAIT_COPY_MIN] = "copy_min",
	[HONE_CPU_TRAIT_COPY_MAX] = "copy_max",
	[HONE_CPU_TRAIT_STREAM_MIN] = "stream_min",
	[HONE_CPU_TRAIT_STREAM_L2] = "stream_l2",
};

#define N_TRAITS COUNT(names)

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
