/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ceiling of a pool: a pair of get and put stores a pointer twice, once for
 * the caller and once for the cache. This code does only these stores.
 */
#include <stdlib.h>
#include "pools.h"

#if defined(__x86_64__)
#define STORE(insn, reg, p, size)                                              \
	__asm__ volatile(insn " %%" reg ", %0" : "=m"(*(char(*)[size])(p)))

/* Stores as many bytes as the turns of a pool, to the same two arrays. */
#define CEILING(bits, insn, reg, attribute)                                    \
	attribute static void store_##bits(void *t, const struct pool_work *w) \
	{                                                                      \
		const size_t size = w->keep * sizeof(void *);                  \
		char *arrays[2] = {(char *)w->objects, t};                     \
                                                                               \
		for (unsigned turn = 0; turn < 2 * w->rounds; turn++) {        \
			char *p = arrays[turn % 2];                            \
                                                                               \
			for (char *end = p + size; p < end; p += 256) {        \
				STORE_256_BYTES(bits, insn, reg)               \
			}                                                      \
		}                                                              \
	}
#define STORE_256_BYTES(bits, insn, reg)                                       \
	_Pragma("GCC unroll 16") for (size_t i = 0; i < 256; i += bits / 8)    \
		STORE(insn, reg, p + i, bits / 8);

CEILING(64, "movq", "rax", )
CEILING(128, "movaps", "xmm0", )
CEILING(256, "vmovdqa", "ymm0", __attribute__((target("avx2"))))
CEILING(512, "vmovdqa64", "zmm0", __attribute__((target("avx512f"))))

static const char *
missing(const struct pool_subject *s)
{
	bool fits = s->kind[0] == '2'   ? __builtin_cpu_supports("avx2")
		    : s->kind[0] == '5' ? __builtin_cpu_supports("avx512f")
					: true;

	return fits ? NULL : "this CPU has no such vectors";
}
#else
static const char *
missing(const struct pool_subject *s)
{
	(void)s;
	return "written for x86-64 only";
}
#endif

static void *
open_array(const struct pool_subject *s, const struct pool_shape *shape)
{
	(void)s;
	return shape->memory;
}

/* Each thread stores to an array of its own. */
static void *
enter(void *pool)
{
	(void)pool;
	return aligned_alloc(64, 8192 * sizeof(void *));
}

#if defined(__x86_64__)
#define ROW(bits)                                                              \
	{                                                                      \
		"store-" #bits, #bits, missing, open_array, enter,             \
			cycle_##bits, NULL, NULL, NULL, NULL, NULL             \
	}
#define CYCLE(bits)                                                            \
	static pool_loop *const cycle_##bits[POOL_SIZES] = {store_##bits,      \
		store_##bits, store_##bits, store_##bits, store_##bits,        \
		store_##bits, store_##bits};
CYCLE(64)
CYCLE(128)
CYCLE(256)
CYCLE(512)

const struct pool_subject pool_ceilings[] = {
	ROW(64), ROW(128), ROW(256), ROW(512), {0}};
#else
const struct pool_subject pool_ceilings[] = {
	{"store", "", missing, open_array, enter, 0, 0, 0, 0, 0, 0}, {0}};
#endif
