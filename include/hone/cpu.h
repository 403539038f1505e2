/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CPU_H
#define HONE_CPU_H
/**
 * Features and traits of this CPU, and the variant that each part of libhone
 * uses.
 *
 * Any thread may call any of these functions at any time, with any argument:
 * the only contract is that a name has length bytes.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/**
 * CPU features, one bit each. A bit is set only if the operating system saves
 * the registers that the feature needs. A bit keeps its meaning as long as the
 * SONAME stays the same.
 */
#define HONE_CPU_SSE2 (UINT64_C(1) << 0)
#define HONE_CPU_AVX2 (UINT64_C(1) << 1)
#define HONE_CPU_BMI2 (UINT64_C(1) << 2)
#define HONE_CPU_AVX512F (UINT64_C(1) << 3)
#define HONE_CPU_AVX512BW (UINT64_C(1) << 4)
#define HONE_CPU_NEON (UINT64_C(1) << 16)
#define HONE_CPU_SVE (UINT64_C(1) << 17)
/** For hone_cpu_limit(): allow all features of the CPU. */
#define HONE_CPU_ALL UINT64_MAX

/**
 * Get the features of this CPU that libhone may use now.
 *
 * :return: HONE_CPU_* bits: the detected features that hone_cpu_limit() allows;
 *          0 on an unknown CPU.
 */
HONE_API uint64_t hone_cpu_features(void);

/**
 * Allow only some features, so that every variant of the installed binary can
 * run, be tested and be timed on one machine.
 *
 * :param allowed: HONE_CPU_* bits; HONE_CPU_ALL removes the limit. Bits that
 *                 the CPU lacks have no effect: a limit never adds features.
 *
 * Applies to the whole process, from the next call of each function on. Calls
 * that are running in other threads finish with their variant. While another
 * thread selects a variant, in its first call of a part, any call of that part
 * may still use the previous variant. All variants return the same results.
 */
HONE_API void hone_cpu_limit(uint64_t allowed);

/**
 * Get the name of a feature.
 *
 * :param feature: exactly one HONE_CPU_* bit.
 * :return: a lower-case name such as "avx512bw";
 *          NULL for an unknown bit, for no bit and for several bits.
 *
 * The string is constant and never freed.
 */
HONE_API const char *hone_cpu_feature_name(uint64_t feature);

/**
 * Get the feature of a name, for lists of features that a user writes.
 *
 * :param name:   as hone_cpu_feature_name() returns it, in lower case; may be
 *                NULL if length is 0. No zero byte has to follow it.
 * :param length: bytes of the name.
 * :return: the HONE_CPU_* bit, also of a feature that this CPU lacks;
 *          0 if no feature has this name.
 */
HONE_API uint64_t hone_cpu_feature_by_name(const char *name, size_t length);

/**
 * Get the size of a data or unified CPU cache of the first CPU.
 *
 * :param level: 1, 2 or 3.
 * :return: bytes;
 *          0 if the level does not exist or is unknown.
 *
 * The first call for a level reads Linux's sysfs, below /sys; if it cannot, the
 * result is 0 from then on. In a virtual machine the host decides what sysfs
 * has.
 */
HONE_API size_t hone_cpu_cache_size(unsigned level);

/**
 * Traits of the CPU, for hone_cpu_trait(). The traits of copies depend on the
 * C library, too. A feature decides which code may run; a trait decides which
 * code is faster. docs/design/cpu.md of the sources explains each trait. A
 * number keeps its meaning as long as the SONAME stays the same.
 */
enum hone_cpu_traits {
	/** bytes: the smallest copy above 64 bytes with HONE_COPY_KEEP that
	 * libhone makes itself, since the C library is slower; the C library
	 * makes smaller ones. 0 to 65: libhone makes all above 64 bytes */
	HONE_CPU_TRAIT_COPY_MIN = 0,
	/** bytes: the largest such copy; 0 to 64, or below the smallest: the C
	 * library makes all; a value below 4096 counts as 4096; SIZE_MAX: no
	 * limit */
	HONE_CPU_TRAIT_COPY_MAX = 1,
	/** bytes: the size from which HONE_COPY_AUTO streams by default;
	 * 0: unknown; SIZE_MAX: never */
	HONE_CPU_TRAIT_STREAM_MIN = 2,
	/** not 0: HONE_COPY_STREAM fetches its source into the L2 cache ahead
	 * of its loads; 0: past it, as HONE_COPY_STREAM_PROTECT does */
	HONE_CPU_TRAIT_STREAM_L2 = 3
};

/**
 * Get the value of a trait.
 *
 * :param trait: one of enum hone_cpu_traits.
 * :return: the value for this CPU, or the one that hone_cpu_set_trait() set;
 *          0 if the trait or this CPU is unknown.
 *
 * hone_cpu_limit() does not change traits.
 */
HONE_API size_t hone_cpu_trait(unsigned trait);

/**
 * Set the value of a trait, so that the choices of every CPU can be tested and
 * timed on one machine. Experimental: 0.1 does not promise this function.
 *
 * :param trait: one of enum hone_cpu_traits; another number has no effect.
 * :param value: any value.
 *
 * Applies to the whole process, from the next call of each function on. Calls
 * that are running in other threads finish with either value. The old value may
 * stay in use while another thread makes its first call of a part, or its first
 * call after this function or hone_cpu_limit(). All
 * values give the same results. To undo a call, set the value that
 * hone_cpu_trait() returned before it.
 */
HONE_API void hone_cpu_set_trait(unsigned trait, size_t value);

/**
 * Get the name of a trait.
 *
 * :param trait: 0, 1, 2 and so on.
 * :return: a name such as "copy_min";
 *          NULL if trait is too large.
 *
 * The string is constant and never freed.
 */
HONE_API const char *hone_cpu_trait_name(unsigned trait);

/**
 * Get the name of a part of the library that has CPU variants.
 *
 * :param index: 0, 1, 2 and so on.
 * :return: a name such as "zero";
 *          NULL if index is too large.
 */
HONE_API const char *hone_cpu_part(size_t index);

/**
 * Get the name of the variant that a part uses now.
 *
 * :param part: a name from hone_cpu_part().
 * :return: a name such as "avx512";
 *          NULL for an unknown part, and for NULL.
 *
 * The string is constant and never freed.
 */
HONE_API const char *hone_cpu_variant(const char *part);

HONE_END_DECLS
#endif
