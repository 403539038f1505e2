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
SIZE(mempool_magazine, 4096);
SIZE(read_attr, 80);
SIZE(file_data, 16);
SIZE(read_result, 16);
SIZE(batch_attr, 64);
SIZE(batch_used, 32);
SIZE(stream_attr, 56);
SIZE(stream_ops, 56);
SIZE(copy_fd_result, 32);
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
