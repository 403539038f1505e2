/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_ZERO_RIVALS_H
#define HONE_BENCH_ZERO_RIVALS_H
/* The rivals of the part zero. */
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One byte after the other. */
bool rival_naive(const void *buf, size_t len);

/* memcmp(p, p + 1, n - 1): a common idiom. */
bool rival_memcmp(const void *buf, size_t len);

/*
 * The algorithm of QEMU's util/bufferiszero.c of 2024, written anew. It takes
 * three byte samples. Below 256 bytes it loops over aligned 8-byte words. From
 * 256 bytes on it loops over 256-byte blocks with AVX2 (elsewhere SSE2 or NEON)
 * and loads both ends unaligned. It is called through a pointer, as in QEMU.
 */
bool rival_qemu(const void *buf, size_t len);

#ifdef __cplusplus
}
#endif
#endif
