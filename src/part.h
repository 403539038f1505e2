/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_PART_H
#define HONE_PART_H
/*
 * What the parts with CPU variants share: the rows of variants.def, and the
 * selection of the variant that the next calls use.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address and MemorySanitizer do not see what assembly does, and that of GCC
 * does not see masked moves. */
#if defined(__SANITIZE_ADDRESS__)
#define HONE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define HONE_SANITIZED 1
#endif
#endif
#ifndef HONE_SANITIZED
#define HONE_SANITIZED 0
#endif

/* A row of variants.def. First member of each part's struct of a variant. */
struct hone_variant {
	const char *name;
	uint64_t needs; /* HONE_CPU_* */
};

/* A part NAME with a row in parts.def defines this as hone_part_NAME. */
struct hone_part {
	const char *name;
	/* Table of the variants of this CPU family, in variants.def's order. */
	const void *variants;
	size_t n_variants;
	size_t variant_size; /* bytes of one entry */
	/*
	 * Stores the function pointers of a variant, so that the next calls use
	 * it. NULL: stores pointers to functions that choose a variant first.
	 * All stores are sequentially consistent.
	 */
	void (*install)(const struct hone_variant *variant);
};

#define HONE_PART(name) extern const struct hone_part hone_part_##name;
#include "parts.def"
#undef HONE_PART

/* Returns the last variant of the table whose features may be used now. */
const struct hone_variant *hone_part_best(const struct hone_part *part);

/* Installs that variant and returns it. */
const struct hone_variant *hone_part_choose(const struct hone_part *part);

/* Has every part choose again, since a limit or a trait has changed. */
void hone_part_reset(void);

/*
 * A row of variants.def is HONE_VARIANT(name, family, features). Expand it
 * through HONE_IF_FAMILY(family, tokens): the tokens remain only on CPUs of
 * that family. Little-endian aarch64 only: the kernels number bytes that way.
 */
#define HONE_IF_FAMILY(family, ...) HONE_IF_##family(__VA_ARGS__)
#define HONE_IF_any(...) __VA_ARGS__
#if defined(__x86_64__)
#define HONE_IF_x86_64(...) __VA_ARGS__
#else
#define HONE_IF_x86_64(...)
#endif
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HONE_IF_aarch64(...) __VA_ARGS__
#else
#define HONE_IF_aarch64(...)
#endif

/* For static names of a template: hone.c has the template once a variant. */
#define HONE_JOIN(name, variant) HONE_JOIN_EXPANDED(name, variant)
#define HONE_JOIN_EXPANDED(name, variant) name##variant

/* Returns true if every feature in needs may be used now. */
bool hone_cpu_has(uint64_t needs);

/*
 * The traits, for code that has no time for hone_cpu_trait(): value + 1, at
 * most SIZE_MAX; 0 until the first call of hone_cpu_trait(). Loads are relaxed:
 * all values give the same result. Not _Atomic, since C++ benchmarks include
 * this file.
 */
extern size_t hone_cpu_trait_values[];

#endif
