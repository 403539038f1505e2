/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout that programs are compiled with: docs/abi.md. A failed assertion
 * means that a program linked to an earlier release would break, and that the
 * SONAME must change. For 64 bits.
 */
#include <stddef.h>
#include <hone/hone.h>

#define SIZE(name, bytes)                                                      \
	_Static_assert(sizeof(struct hone_##name) == (bytes), #name)
#define AT(name, member, bytes)                                                \
	_Static_assert(offsetof(struct hone_##name, member) == (bytes), #member)

/* Structs of the caller. */
SIZE(mempool_attr, 136);
SIZE(mempool_stats, 120);
SIZE(mempool_findings, 64);
SIZE(mempool_cursor, 32);
SIZE(mempool_magazine, 4160);
SIZE(read_attr, 80);
SIZE(file_data, 16);
SIZE(read_result, 16);
SIZE(batch_attr, 64);
SIZE(batch_used, 32);
SIZE(stream_attr, 56);
SIZE(stream_ops, 56);
SIZE(zero_extent, 24);
SIZE(zero_walk, 64);
SIZE(ring, 384);

/* What the inline functions access. */
AT(ring, capacity, 0);
AT(ring, mask, 4);
AT(ring, flags, 8);
AT(ring, tail, 128);
AT(ring, head_seen, 136);
AT(ring, head, 256);
AT(ring, tail_seen, 264);
AT(ring, filled, 272);
AT(mempool_cache, view, 0);
AT(mempool_cache, view.len, 0);
AT(mempool_cache, view.size, 8);
AT(mempool_cache, view.slots, 16);
AT(stream, pos, 0);
AT(stream, end, 8);
AT(stream, line, 16);
AT(stream, last_line, 24);
AT(stream, delimiter, 32);
AT(mempool_magazine, count, 0);
AT(mempool_magazine, objects, 64);

/* Numbers of flags, enumerations and features. */
#define KEEPS(name, number) _Static_assert((name) == (number), #name)

KEEPS(HONE_BATCH_PLAIN, 1);
KEEPS(HONE_BATCH_URING, 2);
KEEPS(HONE_COPY_AUTO, 0);
KEEPS(HONE_COPY_KEEP, 1);
KEEPS(HONE_COPY_NO_FENCE, 256);
KEEPS(HONE_COPY_STREAM, 2);
KEEPS(HONE_COPY_STREAM_PROTECT, 3);
KEEPS(HONE_CPU_TRAIT_COPY_MAX, 1);
KEEPS(HONE_CPU_TRAIT_COPY_MIN, 0);
KEEPS(HONE_CPU_TRAIT_STREAM_L2, 3);
KEEPS(HONE_CPU_TRAIT_STREAM_MIN, 2);
KEEPS(HONE_MEMPOOL_DEBUG, 8);
KEEPS(HONE_MEMPOOL_EXACT, 32);
KEEPS(HONE_MEMPOOL_FAULT_DOUBLED, 2);
KEEPS(HONE_MEMPOOL_FAULT_DOUBLE_PUT, 4);
KEEPS(HONE_MEMPOOL_FAULT_FOREIGN, 3);
KEEPS(HONE_MEMPOOL_FAULT_NO_MAGAZINE, 7);
KEEPS(HONE_MEMPOOL_FAULT_OUT, 1);
KEEPS(HONE_MEMPOOL_FAULT_OVERRUN, 6);
KEEPS(HONE_MEMPOOL_FAULT_WRITE_AFTER_PUT, 5);
KEEPS(HONE_MEMPOOL_FOREIGN, 16);
KEEPS(HONE_MEMPOOL_HUGETLB, 1);
KEEPS(HONE_MEMPOOL_HUGE_ADVISE, 2);
KEEPS(HONE_MEMPOOL_NO_COLOUR, 4);
KEEPS(HONE_MEMPOOL_SHARED, 64);
KEEPS(HONE_READ_HUGE_ADVISE, 4);
KEEPS(HONE_READ_LARGER, 1);
KEEPS(HONE_READ_NOATIME, 2);
KEEPS(HONE_READ_NOFOLLOW, 1);
KEEPS(HONE_READ_NONBLOCK, 8);
KEEPS(HONE_READ_NOT_REGULAR, 3);
KEEPS(HONE_READ_PART, 2);
KEEPS(HONE_READ_WHOLE, 0);
KEEPS(HONE_RING_MPMC, 0);
KEEPS(HONE_RING_SINGLE_CONSUMER, 2);
KEEPS(HONE_RING_SINGLE_PRODUCER, 1);
KEEPS(HONE_RING_SPSC, 3);
KEEPS(HONE_STREAM_CLOSE_FD, 2);
KEEPS(HONE_STREAM_EXACT, 1);
KEEPS(HONE_STREAM_NONBLOCK, 4);
KEEPS(HONE_STREAM_WHOLE_LINES, 8);
KEEPS(HONE_CPU_SSE2, UINT64_C(1) << 0);
KEEPS(HONE_CPU_AVX2, UINT64_C(1) << 1);
KEEPS(HONE_CPU_BMI2, UINT64_C(1) << 2);
KEEPS(HONE_CPU_AVX512F, UINT64_C(1) << 3);
KEEPS(HONE_CPU_AVX512BW, UINT64_C(1) << 4);
KEEPS(HONE_CPU_NEON, UINT64_C(1) << 16);
KEEPS(HONE_CPU_SVE, UINT64_C(1) << 17);
