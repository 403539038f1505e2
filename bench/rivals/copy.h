/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_RIVALS_COPY_H
#define HONE_BENCH_RIVALS_COPY_H
/*
 * What the copy part is measured beside. All are x86-64 only, but for the
 * reads; elsewhere the names exist and rival_copies() says 0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Widest vectors, in bits, that the rivals below may use; 0: none can run. */
unsigned rival_copies(void);

/* The string instruction, which glibc uses for some sizes on some CPUs. */
void rival_rep_movsb(void *dst, const void *src, size_t n);

/*
 * The plain loop that one writes first: aligned 16-byte non-temporal stores
 * between memcpy()ed ends, no prefetch, one fence. What opcache did before it
 * stored.
 */
void rival_nt_loop(void *dst, const void *src, size_t n);

/*
 * Whole 64-byte lines with ordinary 16-byte stores and a non-temporal
 * prefetch four lines ahead: our own reading of what opcache does since.
 */
void rival_store_loop(void *dst, const void *src, size_t n);

/* rte_memcpy() by the width that DPDK was configured for. */
void rival_dpdk_sse(void *dst, const void *src, size_t n);
void rival_dpdk_avx2(void *dst, const void *src, size_t n);
void rival_dpdk_avx512(void *dst, const void *src, size_t n);

/*
 * The kernels of the prefetch experiment: whole lines between aligned
 * addresses; the source is prefetched distance bytes ahead, not at all if 0.
 * temporal prefetches go to L2. Vectors as wide as rival_copies() says.
 */
typedef void rival_prefetch_fn(
	void *dst, const void *src, size_t n, size_t distance);
rival_prefetch_fn rival_stream_temporal, rival_stream_nt;
rival_prefetch_fn rival_keep_temporal, rival_keep_nt;

/* Read every whole 64-byte line once, in order. */
void rival_read(const void *buf, size_t n);

/*
 * Follow indexes of lines, each in the first word of its line, from line 0
 * for n / 64 steps. The line that was reached.
 */
uint64_t rival_chase(const void *buf, size_t n);

#ifdef __cplusplus
}
#endif
#endif
