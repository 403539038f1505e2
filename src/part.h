/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_PART_H
#define HONE_PART_H
/*
 * What src/cpu.c knows of a part, and what a part's variants.def needs.
 */
#include <stdbool.h>
#include <stdint.h>

/* A part NAME defines one of these as hone_part_NAME. */
struct hone_part {
	const char *name;
	/* Name of the variant that the next call will use. */
	const char *(*variant)(void);
	/* Choose again at the next call: hone_cpu_limit() has changed. */
	void (*reset)(void);
};

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

/* True if every feature in needs may be used now. */
bool hone_cpu_has(uint64_t needs);

#endif
