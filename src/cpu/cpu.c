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

#if !(HONE_IF_x86_64(1) + 0) && !(HONE_IF_aarch64(1) + 0)
uint64_t
hone_cpu_detect(void)
{
	return 0;
}
#endif

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
