/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_COPY_RIVALS_H
#define HONE_BENCH_COPY_RIVALS_H
/*
 * The rivals of the part copy. Except the reads they exist on x86-64 only:
 * elsewhere rival_copies() returns 0, and the functions call memcpy().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the widest vectors, in bits, of the rivals; 0 if none can run. */
unsigned rival_copies(void);

/* The string instruction. glibc uses it for some sizes on some CPUs. */
void rival_rep_movsb(void *dst, const void *src, size_t n);

/*
 * A plain loop: aligned 16-byte non-temporal stores, ends by memcpy(), no
 * prefetch, one fence. PHP's opcache had such a loop before it used ordinary
 * stores.
 */
void rival_nt_loop(void *dst, const void *src, size_t n);

/*
 * Whole 64-byte lines with ordinary 16-byte stores and a non-temporal prefetch
 * four lines ahead. The loop that opcache has since, written anew.
 */
void rival_store_loop(void *dst, const void *src, size_t n);

/* rte_memcpy() of each width that DPDK can be configured for. */
void rival_dpdk_sse(void *dst, const void *src, size_t n);
void rival_dpdk_avx2(void *dst, const void *src, size_t n);
void rival_dpdk_avx512(void *dst, const void *src, size_t n);

/*
 * The loops of the prefetch experiment. They copy whole lines between aligned
 * addresses, and prefetch the source `distance` bytes ahead, or not at all if
 * distance is 0. A temporal prefetch goes to L2. rival_copies() returns the
 * width of the vectors.
 */
typedef void rival_prefetch_fn(
	void *dst, const void *src, size_t n, size_t distance);
rival_prefetch_fn rival_stream_temporal, rival_stream_nt;

/* Read every whole 64-byte line once, in order. */
void rival_read(const void *buf, size_t n);

/*
 * Follow a list for n / 64 steps, from line 0. The first word of each line is
 * the index of the next line. Returns the index of the last line.
 */
uint64_t rival_chase(const void *buf, size_t n);

#ifdef __cplusplus
}
#endif
#endif
