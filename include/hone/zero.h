/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_ZERO_H
#define HONE_ZERO_H
/**
 * Is this buffer all zeros, and where is it not?
 *
 * Every function here takes any length and any alignment, never reads outside
 * the buffer's bytes, and may be called by any thread as long as nobody
 * writes to the buffer meanwhile. With len 0, buf may be NULL.
 *
 * The idea of sampling a few places inline before the vector loop is that of
 * QEMU's buffer_is_zero (util/bufferiszero.c, 2024); the algorithm is told in
 * docs/design/zero.md of the sources.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/**
 * Tell whether every byte is zero.
 *
 * :param buf: the first byte.
 * :param len: bytes, 0 to SIZE_MAX / 2.
 * :return: true if all are zero, and for an empty buffer.
 *
 * Since 0.1.
 */
HONE_INLINE bool hone_buffer_is_zero(const void *buf, size_t len);

/**
 * The same answer without the inline samples: one call, no branch of the
 * caller's own. Use it where buffers are nearly always zero.
 *
 * :param buf: the first byte.
 * :param len: bytes, 0 to SIZE_MAX / 2.
 * :return: true if all are zero, and for an empty buffer.
 *
 * Since 0.1.
 */
HONE_API bool hone_buffer_is_zero_long(const void *buf, size_t len);

/**
 * Find the first byte that is not zero.
 *
 * :param buf: the first byte.
 * :param len: bytes, 0 to SIZE_MAX / 2.
 * :return: its offset from buf; len if there is none.
 *
 * Since 0.1.
 */
HONE_API size_t hone_find_nonzero(const void *buf, size_t len);

/**
 * Find the last byte that is not zero.
 *
 * :param buf: the first byte.
 * :param len: bytes, 0 to SIZE_MAX / 2.
 * :return: its offset from buf; len if there is none.
 *
 * Since 0.1.
 */
HONE_API size_t hone_rfind_nonzero(const void *buf, size_t len);

/**
 * Tell which blocks of a large buffer are zero, in one call.
 *
 * :param buf:    the first byte.
 * :param len:    bytes, 0 to SIZE_MAX / 2; the last block may be shorter.
 * :param block:  bytes in a block, at least 1; 4096 is usual.
 * :param bitmap: set to one bit a block, (blocks + 7) / 8 bytes: block i is
 *                bit i % 8 (1 << i % 8) of byte i / 8, on every byte order; 1
 *                means all zero. Spare bits of the last byte are cleared.
 *                The caller owns it; it must not overlap buf.
 * :return: how many blocks are all zero.
 *
 * Since 0.1.
 */
HONE_API size_t hone_zero_map(
	const void *buf, size_t len, size_t block, void *bitmap);

/** A run of blocks of one kind, as hone_zero_walk_next() reports it. */
struct hone_zero_extent {
	/** bytes from the start of the buffer */
	size_t offset;
	/** bytes, at least 1; a multiple of the block but for the last run */
	size_t length;
	/** true: all zero; false: every block holds a byte that is not */
	bool zero;
};

/**
 * A walk over a buffer. Set up by hone_zero_walk_init(); its members are
 * private. It holds no resource, so it is simply dropped when done.
 */
struct hone_zero_walk {
	const unsigned char *buf;
	size_t len;
	size_t block;
	size_t offset;
	size_t mapped;
	uint64_t map;
};

/**
 * Begin a walk over the zero and the other extents of a buffer.
 *
 * :param walk:  set by this call; belongs to one thread at a time.
 * :param buf:   the first byte; must stay unchanged until the walk is over.
 * :param len:   bytes, 0 to SIZE_MAX / 2.
 * :param block: bytes in a block, at least 1: extents begin at multiples of
 *               it, and a zero run shorter than a block is counted as data.
 *
 * Since 0.1.
 */
HONE_API void hone_zero_walk_init(
	struct hone_zero_walk *walk, const void *buf, size_t len, size_t block);

/**
 * Take the next extent: as long as possible, so kinds alternate.
 *
 * :param walk:   set up by hone_zero_walk_init().
 * :param extent: set to the extent if there is one.
 * :return: false once the whole buffer has been reported.
 *
 * Since 0.1.
 */
HONE_API bool hone_zero_walk_next(
	struct hone_zero_walk *walk, struct hone_zero_extent *extent);

HONE_END_DECLS

#include <hone/detail/zero.h>
#endif
