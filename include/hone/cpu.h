/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CPU_H
#define HONE_CPU_H
/**
 * What this CPU can do, and which variant each part of libhone chose.
 *
 * Every function here may be called by any thread at any time.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/**
 * CPU features, one bit each. A bit is set only where the operating system
 * saves the registers that the feature needs. A bit keeps its meaning for
 * the life of the SONAME.
 */
#define HONE_CPU_SSE2 (UINT64_C(1) << 0)
#define HONE_CPU_AVX2 (UINT64_C(1) << 1)
#define HONE_CPU_BMI2 (UINT64_C(1) << 2)
#define HONE_CPU_AVX512F (UINT64_C(1) << 3)
#define HONE_CPU_AVX512BW (UINT64_C(1) << 4)
#define HONE_CPU_NEON (UINT64_C(1) << 16)
#define HONE_CPU_SVE (UINT64_C(1) << 17)
/** For hone_cpu_limit(): allow whatever the CPU has. */
#define HONE_CPU_ALL UINT64_MAX

/**
 * Features of this CPU that libhone may use now.
 *
 * :return: HONE_CPU_* bits: what was detected, less what hone_cpu_limit()
 *          took away. 0 on a CPU that libhone knows nothing about.
 *
 * Since 0.1.
 */
HONE_API uint64_t hone_cpu_features(void);

/**
 * Allow only some features, so that every variant of the installed binary
 * can be run, tested and timed on one machine.
 *
 * :param allowed: HONE_CPU_* bits; HONE_CPU_ALL lifts the limit again. Bits
 *                 that the CPU lacks are ignored: a limit never adds.
 *
 * Holds for the whole process from the next call of each function on. Calls
 * already running in other threads finish with the variant they have. While
 * another thread is choosing a variant, in its first call of a part, any call
 * of that part may still use the one chosen before. Every variant gives the
 * same answers. Since 0.1.
 */
HONE_API void hone_cpu_limit(uint64_t allowed);

/**
 * Name of one feature.
 *
 * :param feature: exactly one HONE_CPU_* bit.
 * :return: a lower-case name such as "avx512bw"; NULL for an unknown bit, for
 *          none and for several.
 *
 * The string is constant and never freed. Since 0.1.
 */
HONE_API const char *hone_cpu_feature_name(uint64_t feature);

/**
 * Size of a data or unified cache that serves the first CPU.
 *
 * :param level: 1, 2 or 3.
 * :return: bytes; 0 where the level is absent or unknown.
 *
 * Taken from CPUID on x86-64 and from Linux's sysfs elsewhere, once. Inside a
 * virtual machine it is what the host chose to show. Since 0.1.
 */
HONE_API size_t hone_cpu_cache_size(unsigned level);

/**
 * Name of a part of the library that has CPU variants.
 *
 * :param index: 0, 1, 2 and so on.
 * :return: a name such as "zero"; NULL past the last one.
 *
 * Since 0.1.
 */
HONE_API const char *hone_cpu_part(size_t index);

/**
 * Name of the variant that a part uses at present.
 *
 * :param part: a name that hone_cpu_part() returned.
 * :return: a name such as "avx512"; NULL for an unknown part.
 *
 * The string is constant and never freed. Since 0.1.
 */
HONE_API const char *hone_cpu_variant(const char *part);

HONE_END_DECLS
#endif
