/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_RIVALS_H
#define HONE_BENCH_RIVALS_H
/*
 * What the zero part is measured beside, and the ceilings of the machine.
 */
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One byte after the other. */
bool rival_naive(const void *buf, size_t len);

/* memcmp(p, p + 1, n - 1): the idiom found all over. */
bool rival_memcmp(const void *buf, size_t len);

/*
 * Our own reading of the algorithm published for QEMU in 2024 (util/
 * bufferiszero.c): three byte samples; below 256 bytes a loop over aligned
 * 8-byte words; from there an AVX2 (elsewhere SSE2 or NEON) loop over 256-byte
 * blocks between unaligned ends. Dispatched through a pointer, as there.
 */
bool rival_qemu(const void *buf, size_t len);

/*
 * Load every whole vector of the buffer and do nothing with it: no answer
 * can be had faster with loads of that width. bits is 128, 256 or 512; false
 * if this CPU has no such vectors.
 */
bool ceiling_supported(unsigned bits);
void ceiling_load_128(const void *buf, size_t len);
void ceiling_load_256(const void *buf, size_t len);
void ceiling_load_512(const void *buf, size_t len);

#ifdef __cplusplus
}
#endif
#endif
